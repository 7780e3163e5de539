// Time of the HSA system domain: nanoseconds of CLOCK_BOOTTIME, which amdkfd reports as its system clock
// (drivers/gpu/drm/amd/amdkfd/kfd_chardev.c, get_clock_counters). GPU timestamps therefore convert to it
// without a jump across suspend.
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
