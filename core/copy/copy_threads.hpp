// A few threads that copy host memory for callers that do not wait. They start on first use and sleep while
// there are no tasks.
//
// A task has pieces, which the threads take one at a time from the oldest task that has any left. All threads
// share a large copy, and a small one after it waits for a thread only, not for the end of the large one.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "api/support/mutex.hpp"

namespace rigel {

class CopyTask {
 public:
  explicit CopyTask(uint32_t pieces) : pieces_(pieces), unfinished_(pieces) {}
  virtual ~CopyTask() = default;
  CopyTask(const CopyTask&) = delete;
  CopyTask& operator=(const CopyTask&) = delete;

 protected:
  /// Runs piece `index`. Called once for each piece, concurrently, from any thread.
  virtual void run(uint32_t index) noexcept = 0;
  /// Called by the thread that ran the last piece, after all of them. The last access to the task.
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
  boost::intrusive::list_member_hook<> link_;  // in CopyThreads::tasks_
};

class CopyThreads {
 public:
  explicit CopyThreads(unsigned most_threads) : most_threads_(most_threads) {}
  ~CopyThreads();
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  /// Submits a task; the caller's earlier writes are visible to it. Returns false if no thread runs or can be
  /// started: the caller then keeps the task. Any thread.
  bool submit(CopyTask& task) noexcept;

  /// Runs a task's pieces with the calling thread and idle threads of the pool. When it returns, the caller's
  /// pieces are complete; `finish` reports the end of all. Works without threads.
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
  boost::intrusive::list<CopyTask,
                         boost::intrusive::member_hook<CopyTask, decltype(CopyTask::link_), &CopyTask::link_>>
      tasks_ RIGEL_GUARDED_BY(mutex_);  // tasks with untaken pieces, oldest first
  std::vector<pthread_t> threads_ RIGEL_GUARDED_BY(mutex_);
  unsigned idle_ RIGEL_GUARDED_BY(mutex_) = 0;
  bool stopping_ RIGEL_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> queued_{0};  // pieces that no thread has taken
};

}  // namespace rigel
