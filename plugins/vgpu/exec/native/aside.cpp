#include "plugins/vgpu/exec/native/aside.hpp"

#include <pthread.h>

#include <atomic>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

class Workers {
 public:
  bool add(size_t cost, std::function<void()> job) {
    const MutexLock lock(mutex_);
    if (idle_ <= jobs_.size() && threads_ < compilers_at_a_time()) start();
    if (threads_ == 0) return false;
    jobs_.emplace(cost, std::move(job));
    added_.notify_one();
    return true;
  }

 private:
  void start() RIGEL_REQUIRES(mutex_) {
    const ProgramSignalsBlocked blocked;
    try {
      std::thread([this] { work(); }).detach();
      ++threads_;
      ++idle_;
    } catch (const std::system_error&) {
    }
  }

  [[noreturn]] void work() {
    pthread_setname_np(pthread_self(), "vgpu-compiler");
    const OwnCalls own_calls;
    MutexLock lock(mutex_);
    for (;;) {
      while (jobs_.empty()) added_.wait(lock);
      std::function<void()> job = std::move(jobs_.begin()->second);
      jobs_.erase(jobs_.begin());
      --idle_;
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
      ++idle_;
    }
  }

  Mutex mutex_;
  Condition added_;
  std::multimap<size_t, std::function<void()>> jobs_ RIGEL_GUARDED_BY(mutex_);  // by cost
  unsigned threads_ RIGEL_GUARDED_BY(mutex_) = 0;
  unsigned idle_ RIGEL_GUARDED_BY(mutex_) = 0;  // threads that wait for a job, or are about to
};

std::atomic<Workers*> current_workers{nullptr};

// Never destroyed: its threads live as long as the process. A child lacks the threads, and its copy of the
// mutex may be locked.
Workers& workers() {
  static const int once = [] {
    current_workers = new Workers;
    return pthread_atfork(nullptr, nullptr, [] { current_workers = new Workers; });
  }();
  (void)once;
  return *current_workers;
}

}  // namespace

bool do_aside(size_t cost, std::function<void()> job) {
  return workers().add(cost, std::move(job));
}

}  // namespace rigel::vgpu::exec::compiler
