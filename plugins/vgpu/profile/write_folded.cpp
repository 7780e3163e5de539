// Collapsed stacks, as flame graph programs read them: "kernel;function;function instructions".
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {

std::string folded_of(const std::vector<Kernel>& kernels) {
  std::map<std::string, uint64_t> stacks;
  const auto frame = [](std::string name) {
    std::replace(name.begin(), name.end(), ';', ':');  // the separator of frames
    return name;
  };
  for (const Kernel& kernel : kernels) {
    for (const auto& [offset, counted] : kernel.instructions) {
      if (counted.count.times == 0) continue;
      std::string stack = frame(kernel.name);
      const auto& positions = counted.instruction.positions;
      for (auto position = positions.rbegin(); position != positions.rend(); ++position) {
        if (!position->function.empty() && position->function != kernel.name)
          stack += ";" + frame(position->function);
      }
      stacks[stack] += counted.count.times;
    }
  }
  std::string text;
  for (const auto& [stack, instructions] : stacks) text += fmt::format("{} {}\n", stack, instructions);
  return text;
}

}  // namespace rigel::vgpu::profile
