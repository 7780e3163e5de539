#include "plugins/vgpu/exec/opencl_bench/cpu_time.hpp"

#include <time.h>

#include <cstdlib>
#include <filesystem>

namespace rigel::vgpu::bench {
namespace {

// Returns the clock id of a thread's CPU time as the scheduler counts it
// (include/linux/posix-timers_types.h).
clockid_t clock_of_thread(int thread) {
  constexpr unsigned kPerThread = 4, kScheduler = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kPerThread | kScheduler);
}

}  // namespace

double cpu_seconds() {
  double total = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    timespec time{};
    if (clock_gettime(clock_of_thread(std::atoi(entry.path().filename().c_str())), &time) != 0) continue;
    total += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return total;
}

}  // namespace rigel::vgpu::bench
