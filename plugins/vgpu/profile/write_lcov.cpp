// Writes lcov's tracefile: the number of waves that have executed each source line. The count is 0 if the
// line has instructions but no wave has executed one. Format: geninfo(1).
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {

std::string lcov_of(const std::vector<Kernel>& kernels) {
  std::map<std::string, std::map<int, uint64_t>> files;
  for (const Kernel& kernel : kernels) {
    // The count of a line in a kernel is that of its most often executed instruction.
    std::map<std::pair<std::string, int>, uint64_t> lines;
    for (const auto& [offset, counted] : kernel.instructions) {
      for (const Position& position : counted.instruction.positions) {
        if (position.file.empty() || position.line == 0) continue;
        uint64_t& times = lines[{position.file, position.line}];
        times = std::max(times, counted.count.times);
      }
    }
    for (const auto& [line, times] : lines) files[line.first][line.second] += times;
  }
  std::string text;
  for (const auto& [file, lines] : files) {
    text += fmt::format("TN:gpu\nSF:{}\n", file);
    for (const auto& [line, times] : lines) text += fmt::format("DA:{},{}\n", line, times);
    const auto hit =
        std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.second != 0; });
    text += fmt::format("LF:{}\nLH:{}\nend_of_record\n", lines.size(), hit);
  }
  return text;
}

}  // namespace rigel::vgpu::profile
