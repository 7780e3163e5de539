#include "plugins/vgpu/exec/opencl_bench/own_run.hpp"

#include <cstdio>
#include <filesystem>

namespace rigel::vgpu::bench {

bool run_own(const std::string& environment, const std::string& options,
             const std::vector<std::string>& kernels,
             const std::function<void(const std::string& kernel, double ms)>& on_time,
             const std::function<void(const char* line)>& on_line) {
  std::string command = "exec env " + environment + " '" +
                        std::filesystem::read_symlink("/proc/self/exe").string() + "' --alone " + options;
  for (const std::string& kernel : kernels) command += " '" + kernel + "'";
  if (on_line) command += " 2>&1";
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return false;
  char line[256], name[64], more = 0;
  double ms = 0;
  while (std::fgets(line, sizeof line, output) != nullptr) {
    if (std::sscanf(line, "%63s %lf %c", name, &ms, &more) == 2) {
      on_time(name, ms);
    } else if (on_line) {
      on_line(line);
    }
  }
  return pclose(output) == 0;
}

}  // namespace rigel::vgpu::bench
