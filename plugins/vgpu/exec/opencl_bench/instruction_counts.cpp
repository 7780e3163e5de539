#include "plugins/vgpu/exec/opencl_bench/instruction_counts.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace rigel::vgpu::bench {

std::map<std::string, uint64_t> instruction_counts(const std::vector<std::string>& kernels) {
  // The log says what a dispatch has executed before the program hears of its end, and shows its line.
  std::string command = "VGPU_LOG=dispatch exec env -u VGPU_LOG_FILE '" +
                        std::filesystem::read_symlink("/proc/self/exe").string() +
                        "' --alone --repetitions 1";
  for (const std::string& kernel : kernels) command += " '" + kernel + "'";
  std::map<std::string, uint64_t> counts;
  std::FILE* const output = popen((command + " 2>&1").c_str(), "r");
  if (output == nullptr) return counts;
  char line[256], name[64], more = 0;
  double time = 0;
  uint64_t latest = 0;
  while (std::fgets(line, sizeof line, output) != nullptr) {
    const char* const end = std::strstr(line, " work-groups, ");
    if (std::strstr(line, " ended: ") != nullptr && end != nullptr) {
      std::sscanf(end, " work-groups, %" SCNu64, &latest);
    } else if (std::sscanf(line, "%63s %lf %c", name, &time, &more) == 2 && latest != 0) {
      counts[name] = std::exchange(latest, 0);
    }
  }
  pclose(output);
  return counts;
}

}  // namespace rigel::vgpu::bench
