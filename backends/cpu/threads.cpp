#include "backends/cpu/threads.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "api/support/program_signals.hpp"

namespace rigel::cpu {
namespace {

constexpr size_t kStackSize = 4u << 20;

uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

double measure_ticks_per_ns() noexcept {
#if defined(__aarch64__)
  uint64_t hertz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return static_cast<double>(hertz) / 1e9;
#else
  constexpr uint64_t kInterval = 50'000;
  const uint64_t begin = nanoseconds(CLOCK_MONOTONIC), first = ticks();
  uint64_t end;
  do {
    end = nanoseconds(CLOCK_MONOTONIC);
  } while (end - begin < kInterval);
  const auto rate = static_cast<double>(ticks() - first) / static_cast<double>(end - begin);
  return rate > 0 ? rate : 1;
#endif
}

// Parses "0-3,8-11", the kernel's format of CPU lists.
cpu_set_t parse_list(const char* text) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  while (*text >= '0' && *text <= '9') {
    char* end;
    const unsigned long first = strtoul(text, &end, 10);
    unsigned long last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
    text = *end == ',' ? end + 1 : end;
  }
  return set;
}

}  // namespace

double ticks_per_ns() noexcept {
  static const double rate = measure_ticks_per_ns();
  return rate;
}

uint64_t system_time_ns() noexcept {
  return nanoseconds(CLOCK_BOOTTIME);
}

cpu_set_t processors_of_node(uint32_t node) noexcept {
  cpu_set_t permitted;
  CPU_ZERO(&permitted);
  if (sched_getaffinity(0, sizeof permitted, &permitted) != 0) {
    for (long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1; cpu >= 0; --cpu) CPU_SET(cpu, &permitted);
  }
  char path[64];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", node);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return permitted;
  char text[4096];
  const ssize_t size = ::read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = '\0';
  const cpu_set_t own = parse_list(text);
  cpu_set_t both;
  CPU_AND(&both, &permitted, &own);
  return CPU_COUNT(&both) > 0 ? both : permitted;
}

bool start_thread(pthread_t* thread, const char* prefix, uint64_t number, const cpu_set_t& processors,
                  void* (*main)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackSize);
  pthread_attr_setaffinity_np(&attributes, sizeof processors, &processors);
  bool started;
  {
    // Aborts of kernels must reach the application's handlers, and samples its profiler.
    const ProgramSignalsBlocked blocked({SIGABRT, SIGPROF});
    started = pthread_create(thread, &attributes, main, argument) == 0;
  }
  pthread_attr_destroy(&attributes);
  if (started) {
    char name[64];
    snprintf(name, sizeof name, "%s%llu", prefix, static_cast<unsigned long long>(number));
    name[15] = '\0';  // maximum length in Linux
    pthread_setname_np(*thread, name);
  }
  return started;
}

}  // namespace rigel::cpu
