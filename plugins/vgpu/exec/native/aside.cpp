#include "plugins/vgpu/exec/native/aside.hpp"

#include <pthread.h>

#include <atomic>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

class Worker {
 public:
  bool add(std::function<void()> job) {
    const MutexLock lock(mutex_);
    if (!running_ && !start()) return false;
    jobs_.push_back(std::move(job));
    added_.notify_one();
    return true;
  }

 private:
  bool start() RIGEL_REQUIRES(mutex_) {
    const ProgramSignalsBlocked blocked;
    try {
      std::thread([this] { work(); }).detach();
      running_ = true;
    } catch (const std::system_error&) {
    }
    return running_;
  }

  [[noreturn]] void work() {
    pthread_setname_np(pthread_self(), "vgpu-compiler");
    const OwnCalls own_calls;
    MutexLock lock(mutex_);
    for (;;) {
      while (jobs_.empty()) added_.wait(lock);
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  Mutex mutex_;
  Condition added_;
  std::deque<std::function<void()>> jobs_ RIGEL_GUARDED_BY(mutex_);
  bool running_ RIGEL_GUARDED_BY(mutex_) = false;
};

std::atomic<Worker*> current_worker{nullptr};

// Never destroyed: its thread lives as long as the process. A child lacks the thread, and its copy of the
// mutex may be locked.
Worker& worker() {
  static const int once = [] {
    current_worker = new Worker;
    return pthread_atfork(nullptr, nullptr, [] { current_worker = new Worker; });
  }();
  (void)once;
  return *current_worker;
}

}  // namespace

bool do_aside(std::function<void()> job) {
  return worker().add(std::move(job));
}

}  // namespace rigel::vgpu::exec::compiler
