#include "plugins/vgpu/cp/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace rigel::vgpu {
namespace {

struct alignas(64) ProcessorsAlarm : Alarm {};  // each written by processors of its own

constexpr size_t kAlarms = 1024;
constinit Immortals<ProcessorsAlarm, kAlarms> alarms;

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
  ProcessorsAlarm* const alarm = alarms.take();
  return alarm != nullptr ? *alarm : *new ProcessorsAlarm;
}

void give_alarm(Alarm& alarm) noexcept {
  alarm.wake_up();
  const auto* const own = static_cast<ProcessorsAlarm*>(&alarm);  // take_alarm() has given it
  if (alarms.has(own)) alarms.give(own);
}

}  // namespace rigel::vgpu
