#include "plugins/validate/waits.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include <fmt/core.h>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"

namespace validate {

uint64_t thread_number() {
  static thread_local const auto number = static_cast<uint64_t>(::syscall(SYS_gettid));
  return number;
}

Waits::Waits() {
  static constinit std::atomic<uint64_t> numbers{0};
  number_ = ++numbers;
}

void Waits::add_thread() {
  static thread_local uint64_t registered_in = 0;
  if (registered_in == number_) return;
  const rigel::MutexLock lock(mutex_);
  threads_.insert(thread_number());
  registered_in = number_;
}

bool Waits::begin_handler() {
  const rigel::MutexLock lock(mutex_);
  return threads_.insert(thread_number()).second;
}

void Waits::end_handler(uint64_t now) {
  const rigel::MutexLock lock(mutex_);
  threads_.erase(thread_number());
  last_end_ = now;
}

void Waits::begin(Wait wait) {
  wait.thread = thread_number();
  const rigel::MutexLock lock(mutex_);
  waits_.push_back(std::move(wait));
}

std::vector<uint64_t> Waits::end() {
  const uint64_t thread = thread_number();
  const rigel::MutexLock lock(mutex_);
  // A callback may wait during a wait of its thread. The thread's last entry is the innermost wait.
  const auto found =
      std::find_if(waits_.rbegin(), waits_.rend(), [&](const Wait& wait) { return wait.thread == thread; });
  if (found == waits_.rend()) return {};
  std::vector<uint64_t> signals = std::move(found->signals);
  waits_.erase(std::next(found).base());
  return signals;
}

void Waits::watch(uint32_t stall_seconds, std::function<bool()> may_progress, std::function<uint64_t()> now,
                  std::function<void(const Wait&)> report) {
  const rigel::ProgramSignalsBlocked blocked;
  watcher_ = std::thread([=, this] {
    const auto interval = std::chrono::milliseconds(std::max(100u, stall_seconds * 250));
    rigel::MutexLock lock(mutex_);
    for (;;) {
      const auto end = std::chrono::steady_clock::now() + interval;
      while (!stop_ && stopped_.wait_until(lock, end) == std::cv_status::no_timeout) {
      }
      if (stop_) return;
      lock.unlock();
      check_stall(uint64_t{stall_seconds} * 1'000'000'000, now(), may_progress, report);
      lock.lock();
    }
  });
}

void Waits::stop() {
  {
    const rigel::MutexLock lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void Waits::check_stall(uint64_t stall_ns, uint64_t now, const std::function<bool()>& may_progress,
                        const std::function<void(const Wait&)>& report) {
  std::vector<Wait> endless;
  const auto is_stalled = [&](const Wait& wait) { return wait.endless && wait.since + stall_ns <= now; };
  {
    const rigel::MutexLock lock(mutex_);
    for (auto thread = threads_.begin(); thread != threads_.end();) {
      std::error_code error;
      if (!std::filesystem::exists(fmt::format("/proc/self/task/{}", *thread), error)) {
        thread = threads_.erase(thread);
        last_end_ = now;
        continue;
      }
      const bool waits = std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
        return wait.thread == *thread && is_stalled(wait);
      });
      if (!waits) return;
      ++thread;
    }
    if (last_end_ + stall_ns > now) return;
    for (const Wait& wait : waits_) {
      if (is_stalled(wait) && !wait.reported) endless.push_back(wait);
    }
  }
  if (endless.empty() || may_progress()) return;
  {
    const rigel::MutexLock lock(mutex_);
    for (Wait& wait : waits_) wait.reported = true;
  }
  for (const Wait& wait : endless) report(wait);
}

}  // namespace validate
