#include "plugins/vgpu/exec/opencl_bench/instruction_counts.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "plugins/vgpu/exec/opencl_bench/own_run.hpp"

namespace rigel::vgpu::bench {

std::map<std::string, uint64_t> instruction_counts(const std::vector<std::string>& kernels) {
  std::map<std::string, uint64_t> counts;
  // A dispatch's log line precedes the completion of the dispatch, and therefore the program's line.
  uint64_t latest = 0;
  run_own(
      "-u VGPU_LOG_FILE VGPU_LOG=dispatch", "--repetitions 1", kernels,
      [&](const std::string& kernel, double) {
        if (latest != 0) counts[kernel] = std::exchange(latest, 0);
      },
      [&](const char* line) {
        const char* const end = std::strstr(line, " work-groups, ");
        if (end != nullptr) std::sscanf(end, " work-groups, %" SCNu64, &latest);
      });
  return counts;
}

}  // namespace rigel::vgpu::bench
