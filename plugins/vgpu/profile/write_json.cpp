// JSON, for programs and for compare(). Version 1.
#include <nlohmann/json.hpp>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {
namespace {

nlohmann::ordered_json json_of(const MemoryCount& memory) {
  return {{"lines_read", memory.lines_read},
          {"lines_written", memory.lines_written},
          {"lds_conflicts", memory.lds_conflicts},
          {"scratch_bytes", memory.scratch_bytes}};
}

bool moves_memory(const MemoryCount& memory) {
  return (memory.lines_read | memory.lines_written | memory.lds_conflicts | memory.scratch_bytes) != 0;
}

}  // namespace

std::string json_of(const std::vector<Kernel>& kernels) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Kernel& kernel : kernels) {
    const Summary sum = summary_of(kernel);
    nlohmann::ordered_json kinds;
    for (size_t i = 0; i < kKinds; ++i) kinds[std::string(name(static_cast<Kind>(i)))] = sum.by_kind[i];
    nlohmann::ordered_json code = nlohmann::ordered_json::array();
    for (const auto& [offset, counted] : kernel.instructions) {
      nlohmann::ordered_json row = {{"offset", offset},
                                    {"instruction", counted.instruction.text},
                                    {"times", counted.count.times},
                                    {"lanes", counted.count.lanes}};
      if (kernel.has_memory_counts && moves_memory(counted.memory)) row["memory"] = json_of(counted.memory);
      if (!counted.instruction.approximation.empty())
        row["approximation"] = counted.instruction.approximation;
      if (!counted.instruction.positions.empty()) {
        const Position& position = counted.instruction.positions.front();
        row["file"] = position.file;
        row["line"] = position.line;
      }
      code.push_back(std::move(row));
    }
    nlohmann::ordered_json object = {{"name", kernel.name},
                                     {"launches", kernel.totals.launches},
                                     {"work_groups", kernel.totals.work_groups},
                                     {"waves", kernel.totals.waves},
                                     {"work_items", kernel.totals.work_items},
                                     {"nanoseconds", kernel.totals.nanoseconds},
                                     {"wave_size", kernel.resources.wave_size},
                                     {"vgprs", kernel.resources.vgprs},
                                     {"sgprs", kernel.resources.sgprs},
                                     {"lds_bytes", kernel.resources.lds_bytes},
                                     {"private_bytes", kernel.resources.private_bytes},
                                     {"occupancy",
                                      {{"waves_per_simd", kernel.resources.occupancy.waves_of_simd()},
                                       {"max_waves_per_simd", kernel.resources.occupancy.max_waves},
                                       {"limited_by", kernel.resources.occupancy.limit}}},
                                     {"instructions", sum.instructions},
                                     {"instructions_by_kind", std::move(kinds)},
                                     {"active_lanes", sum.active_lanes(kernel.resources.wave_size)},
                                     {"bytes_read", sum.read_bytes},
                                     {"bytes_written", sum.written_bytes},
                                     {"bytes_in_lds", sum.lds_bytes}};
    if (kernel.has_memory_counts) object["memory"] = json_of(sum.memory);
    object["code"] = std::move(code);
    all.push_back(std::move(object));
  }
  const nlohmann::ordered_json document = {{"version", 1}, {"kernels", std::move(all)}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rigel::vgpu::profile
