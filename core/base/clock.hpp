// Time as the HSA system domain sees it: nanoseconds of CLOCK_BOOTTIME, the clock that amdkfd reports as
// its system clock (drivers/gpu/drm/amd/amdkfd/kfd_chardev.c, get_clock_counters), so that GPU timestamps
// convert to it without a jump across suspend.
#pragma once

#include <time.h>

#include <cstdint>

namespace rigel {

constexpr uint64_t kSystemClockHz = 1'000'000'000;

inline uint64_t system_time_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSystemClockHz + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace rigel
