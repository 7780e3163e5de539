#include "core/copy/copy_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "api/support/clock.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "api/support/spin.hpp"

namespace rigel {
namespace {

// Time for which a thread polls after its last piece before it sleeps: about the time of a wake-up.
constexpr uint64_t kSpinNs = 5'000;

}  // namespace

CopyThreads::~CopyThreads() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

bool CopyThreads::submit(CopyTask& task) noexcept {
  return enqueue(task);
}

bool CopyThreads::enqueue(CopyTask& task) noexcept {
  const uint32_t pieces = task.pieces_;  // the task may be destroyed once the lock is released
  unsigned wanted = 0;
  {
    const MutexLock lock(mutex_);
    const uint32_t waiting = queued_.load(std::memory_order_relaxed) + pieces;
    while (waiting > idle_ && threads_.size() < most_threads_ && threads_.size() < waiting) {
      if (!start_thread()) break;
    }
    if (threads_.empty()) return false;
    tasks_.push_back(task);
    queued_.store(waiting, std::memory_order_relaxed);
    wanted = std::min<unsigned>(pieces, idle_);
  }
  for (; wanted > 0; --wanted) wake_.notify_one();
  return true;
}

void CopyThreads::share(CopyTask& task) noexcept {
  // Keeps the task alive while this function uses it.
  task.unfinished_.fetch_add(1, std::memory_order_relaxed);
  if (!enqueue(task)) {
    for (uint32_t i = 0; i < task.pieces_; ++i) task.run_and_count(i);
  } else {
    for (;;) {
      uint32_t index = 0;
      {
        const MutexLock lock(mutex_);
        if (take(index, &task) == nullptr) break;
      }
      task.run_and_count(index);
    }
  }
  if (task.unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) task.finish();
}

CopyTask* CopyThreads::take(uint32_t& index, CopyTask* only) noexcept {
  CopyTask* task = only;
  if (task == nullptr && !tasks_.empty()) task = &tasks_.front();
  if (task == nullptr || task->taken_ == task->pieces_) return nullptr;
  index = task->taken_++;
  queued_.store(queued_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (task->taken_ == task->pieces_) tasks_.erase(tasks_.iterator_to(*task));
  return task;
}

bool CopyThreads::start_thread() noexcept {
  try {
    threads_.reserve(most_threads_);
  } catch (const std::exception&) {
    return false;
  }
  const ProgramSignalsBlocked blocked;
  pthread_t thread;
  const int failure = pthread_create(&thread, nullptr, enter, this);
  if (failure != 0) {
    log_message(LogLevel::kWarn, LogTopic::kMemory,
                "copy thread: cannot be started: {}; other threads copy instead", std::strerror(failure));
    return false;
  }
  pthread_setname_np(thread, "hsa-copy");
  threads_.push_back(thread);
  return true;
}

void* CopyThreads::enter(void* self) {
  static_cast<CopyThreads*>(self)->work();
  return nullptr;
}

void CopyThreads::work() noexcept {
  for (;;) {
    uint32_t index = 0;
    CopyTask* task = nullptr;
    {
      MutexLock lock(mutex_);
      task = take(index, nullptr);
      if (task == nullptr && stopping_) return;
    }
    if (task != nullptr) {
      task->run_and_count(index);
      continue;
    }

    for (const uint64_t until = system_time_ns() + kSpinNs;
         queued_.load(std::memory_order_relaxed) == 0 && system_time_ns() < until;) {
      cpu_relax();
    }
    MutexLock lock(mutex_);
    ++idle_;
    while (tasks_.empty() && !stopping_) wake_.wait(lock);
    --idle_;
  }
}

}  // namespace rigel
