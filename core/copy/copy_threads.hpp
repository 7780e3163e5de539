// The few threads that copy host memory for callers who do not want to wait. They start when first needed and
// sleep when there is nothing to do.
//
// A task is cut into pieces, which the threads take one after the other from the oldest task that has some
// left: a large copy is shared by all of them, and a small one behind it waits for a thread, not for the
// large one's end.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/support/mutex.hpp"

namespace rigel {

class CopyTask {
 public:
  explicit CopyTask(uint32_t pieces) : pieces_(pieces), unfinished_(pieces) {}
  virtual ~CopyTask() = default;
  CopyTask(const CopyTask&) = delete;
  CopyTask& operator=(const CopyTask&) = delete;

 protected:
  /// Does piece `index`. Called once for each, several at a time, from any thread.
  virtual void run(uint32_t index) noexcept = 0;
  /// Called by whoever did the last piece, after all of them. Nobody touches the task afterwards.
  virtual void finish() noexcept = 0;

 private:
  friend class CopyThreads;
  void run_and_count(uint32_t index) noexcept {
    run(index);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) finish();
  }

  const uint32_t pieces_;
  uint32_t taken_ = 0;  // under the threads' mutex
  std::atomic<uint32_t> unfinished_;
  CopyTask* next_ = nullptr;
};

class CopyThreads {
 public:
  explicit CopyThreads(unsigned most_threads) : most_threads_(most_threads) {}
  /// Finishes what was submitted, then ends the threads.
  ~CopyThreads();
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  /// Hands a task over, and what the caller wrote before is visible to it. False if there is no thread and
  /// none can be had: the task is then still the caller's. Any thread.
  bool submit(CopyTask& task) noexcept;

  /// Does a task's pieces with the calling thread, and with the pool's if they have time. When it returns,
  /// the pieces that the caller took are done; `finish` says when all are. Works without any thread.
  void share(CopyTask& task) noexcept;

 private:
  static void* enter(void* self);
  void work() noexcept;
  bool enqueue(CopyTask& task) noexcept;
  bool start_thread() noexcept RIGEL_REQUIRES(mutex_);
  /// Takes a piece of the oldest task, or of `only`.
  CopyTask* take(uint32_t& index, CopyTask* only) noexcept RIGEL_REQUIRES(mutex_);

  const unsigned most_threads_;
  Mutex mutex_;
  Condition wake_;
  CopyTask* oldest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  CopyTask* newest_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  std::vector<pthread_t> threads_ RIGEL_GUARDED_BY(mutex_);
  unsigned idle_ RIGEL_GUARDED_BY(mutex_) = 0;
  bool stopping_ RIGEL_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> queued_{0};  // pieces nobody has taken
};

}  // namespace rigel
