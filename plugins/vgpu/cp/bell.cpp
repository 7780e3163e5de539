#include "plugins/vgpu/cp/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace rigel::vgpu {
namespace {

struct alignas(64) WorkerAlarm : Alarm {};  // separate cache lines

constexpr size_t kAlarms = 1024;
constinit Immortals<WorkerAlarm, kAlarms> alarms;

}  // namespace

constinit Immortals<Bell, kBells> bells;

void Alarm::sleep(uint32_t seen, std::optional<std::chrono::nanoseconds> longest) noexcept {
  timespec limit{};
  if (longest) {
    limit.tv_sec = static_cast<time_t>(longest->count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(longest->count() % 1'000'000'000);
  }
  syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, longest ? &limit : nullptr, nullptr, 0);
}

void Alarm::wake_sleeper() noexcept {
  syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Alarm& take_alarm() {
  WorkerAlarm* const alarm = alarms.take();
  return alarm != nullptr ? *alarm : *new WorkerAlarm;
}

void give_alarm(Alarm& alarm) noexcept {
  alarm.wake_up();
  const auto* const worker_alarm = static_cast<WorkerAlarm*>(&alarm);  // take_alarm() returned it
  if (alarms.has(worker_alarm)) alarms.give(worker_alarm);
}

}  // namespace rigel::vgpu
