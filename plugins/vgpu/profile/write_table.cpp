// The table: kernels by instructions, for people.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {
namespace {

// Returns a number with at most four digits and a unit: "123", "4.56 k", "78.9 M".
std::string short_number(uint64_t number) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  auto value = static_cast<double>(number);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{}", number);
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, digits, kUnits[unit]);
}

std::string percent(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Returns a line for each operation whose results may differ from hardware's, with the number of executions.
std::string approximations_of(const Kernel& kernel) {
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> times;
  for (const auto& [offset, counted] : kernel.instructions) {
    const Instruction& instruction = counted.instruction;
    const std::string_view text = instruction.text;
    if (!instruction.approximation.empty())
      times[{text.substr(0, text.find(' ')), instruction.approximation}] += counted.count.times;
  }
  std::string lines;
  for (const auto& [operation, count] : times) {
    if (count != 0)
      lines += fmt::format("  approximate   {} {}: {}\n", count, operation.first, operation.second);
  }
  return lines;
}

std::string lines_of(const Summary& sum) {
  const MemoryCount& memory = sum.memory;
  return fmt::format("  lines         {} of 64 bytes read, {} written; {} LDS conflicts, {}B in scratch\n",
                     short_number(memory.lines_read), short_number(memory.lines_written),
                     short_number(memory.lds_conflicts), short_number(memory.scratch_bytes));
}

std::string occupancy_of(const Occupancy& occupancy) {
  if (occupancy.simds == 0) return {};
  const std::string limit = occupancy.limit.empty() ? "" : fmt::format(", limited by {}", occupancy.limit);
  return fmt::format("  occupancy     {} of {} waves for each SIMD{}\n", occupancy.waves_of_simd(),
                     occupancy.max_waves, limit);
}

}  // namespace

std::string table_of(const std::vector<Kernel>& kernels) {
  uint64_t all = 0, launches = 0;
  for (const Kernel& kernel : kernels) {
    all += summary_of(kernel).instructions;
    launches += kernel.totals.launches;
  }
  std::string text = fmt::format("profile: {} {}, {} {}, {} instructions of waves\n", kernels.size(),
                                 kernels.size() == 1 ? "kernel" : "kernels", launches,
                                 launches == 1 ? "launch" : "launches", all);
  for (const Kernel& kernel : kernels) {
    const Summary sum = summary_of(kernel);
    const Resources& resources = kernel.resources;
    const auto waves = static_cast<double>(std::max<uint64_t>(kernel.totals.waves, 1));
    text += fmt::format("\n{}\n", kernel.name);
    text += fmt::format("  launches      {}; {} work-groups, {} waves of {}, {} work-items; {:.3f} ms\n",
                        kernel.totals.launches, kernel.totals.work_groups, kernel.totals.waves,
                        resources.wave_size, kernel.totals.work_items,
                        static_cast<double>(kernel.totals.nanoseconds) / 1e6);
    text += fmt::format("  instructions  {} ({} of all), {:.1f} for each wave\n", sum.instructions,
                        percent(ratio(sum.instructions, all)), static_cast<double>(sum.instructions) / waves);
    text += "  by kind      ";
    for (size_t i = 0; i < kKinds; ++i) {
      if (sum.by_kind[i] != 0)
        text += fmt::format(" {} {}", name(static_cast<Kind>(i)), short_number(sum.by_kind[i]));
    }
    text += fmt::format("\n  active lanes  {} of vector instructions\n",
                        percent(sum.active_lanes(resources.wave_size)));
    text += fmt::format("  memory        {}B read, {}B written, {}B in LDS (before caches)\n",
                        short_number(sum.read_bytes), short_number(sum.written_bytes),
                        short_number(sum.lds_bytes));
    if (kernel.has_memory_counts) text += lines_of(sum);
    text += fmt::format("  resources     {} VGPRs, {} SGPRs, {} bytes of LDS, {} bytes of scratch\n",
                        resources.vgprs, resources.sgprs, resources.lds_bytes, resources.private_bytes);
    text += occupancy_of(resources.occupancy);
    text += approximations_of(kernel);
  }
  return text;
}

}  // namespace rigel::vgpu::profile
