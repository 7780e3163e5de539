#include "plugins/vgpu/compiler/aside.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

class Worker {
 public:
  bool add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (!running_ && !start()) return false;
    jobs_.push_back(std::move(job));
    added_.notify_one();
    return true;
  }

 private:
  // Signals are for the program's threads.
  bool start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { work(); }).detach();
      running_ = true;
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return running_;
  }

  [[noreturn]] void work() {
    pthread_setname_np(pthread_self(), "vgpu-compiler");
    const OwnCalls ours;
    std::unique_lock lock(mutex_);
    for (;;) {
      added_.wait(lock, [&] { return !jobs_.empty(); });
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::function<void()>> jobs_;  // under mutex_
  bool running_ = false;                    // under mutex_
};

std::atomic<Worker*> current{nullptr};

// Never destroyed: its thread lives as long as the process. A child has no such thread, and its copy of the mutex may be locked.
Worker& worker() {
  static const int once = [] {
    current = new Worker;
    return pthread_atfork(nullptr, nullptr, [] { current = new Worker; });
  }();
  (void)once;
  return *current;
}

}  // namespace

bool do_aside(std::function<void()> job) {
  return worker().add(std::move(job));
}

}  // namespace rigel::vgpu::exec::compiler
