#include "plugins/vgpu/cp/bell.hpp"

#include "api/support/futex.hpp"

namespace rigel::vgpu {
namespace {

struct alignas(64) WorkerAlarm : Alarm {};  // separate cache lines

constexpr size_t kAlarms = 1024;
constinit Immortals<WorkerAlarm, kAlarms> alarms;

}  // namespace

constinit Immortals<Bell, kBells> bells;

void Alarm::sleep(uint32_t seen, std::optional<std::chrono::nanoseconds> longest) noexcept {
  futex_wait(wakes_, seen, longest ? static_cast<uint64_t>(longest->count()) : kLongestFutexSleepNs);
}

void Alarm::wake_sleeper() noexcept {
  futex_wake_all(&wakes_);
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
