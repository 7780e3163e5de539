// Writes lcov's tracefile: the number of waves that have executed each source line and function. The count is
// 0 if the line has instructions but no wave has executed one. Format: geninfo(1).
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {

namespace {

struct Function {
  int line = 0;  ///< The first one that has instructions
  uint64_t times = 0;
};

struct File {
  std::map<int, uint64_t> lines;
  std::map<std::string, Function> functions;
};

// A comma would end the name.
std::string without_commas(std::string name) {
  std::erase(name, ',');
  return name;
}

}  // namespace

std::string lcov_of(const std::vector<Kernel>& kernels) {
  std::map<std::string, File> files;
  for (const Kernel& kernel : kernels) {
    // The count of a line or function in a kernel is that of its most often executed instruction.
    std::map<std::pair<std::string, int>, uint64_t> lines;
    std::map<std::pair<std::string, std::string>, uint64_t> functions;
    for (const auto& [offset, counted] : kernel.instructions) {
      for (const Position& position : counted.instruction.positions) {
        if (position.file.empty() || position.line == 0) continue;
        uint64_t& times = lines[{position.file, position.line}];
        times = std::max(times, counted.count.times);
        if (position.function.empty()) continue;
        uint64_t& calls = functions[{position.file, position.function}];
        calls = std::max(calls, counted.count.times);
        int& first = files[position.file].functions[position.function].line;
        if (first == 0 || position.line < first) first = position.line;
      }
    }
    for (const auto& [line, times] : lines) files[line.first].lines[line.second] += times;
    for (const auto& [function, times] : functions)
      files[function.first].functions[function.second].times += times;
  }
  const auto hits = [](const auto& counts, auto times_of) {
    return std::count_if(counts.begin(), counts.end(),
                         [&](const auto& entry) { return times_of(entry.second) != 0; });
  };
  std::string text;
  for (const auto& [path, file] : files) {
    text += fmt::format("TN:gpu\nSF:{}\n", path);
    for (const auto& [name, function] : file.functions)
      text += fmt::format("FN:{},{}\n", function.line, without_commas(name));
    for (const auto& [name, function] : file.functions)
      text += fmt::format("FNDA:{},{}\n", function.times, without_commas(name));
    text += fmt::format("FNF:{}\nFNH:{}\n", file.functions.size(),
                        hits(file.functions, [](const Function& function) { return function.times; }));
    for (const auto& [line, times] : file.lines) text += fmt::format("DA:{},{}\n", line, times);
    text += fmt::format("LF:{}\nLH:{}\nend_of_record\n", file.lines.size(),
                        hits(file.lines, [](uint64_t times) { return times; }));
  }
  return text;
}

}  // namespace rigel::vgpu::profile
