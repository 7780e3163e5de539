// JSON, for programs and for compare(). Version 1.
#include <nlohmann/json.hpp>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {

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
      if (!counted.instruction.approximation.empty())
        row["approximation"] = counted.instruction.approximation;
      if (!counted.instruction.positions.empty()) {
        const Position& position = counted.instruction.positions.front();
        row["file"] = position.file;
        row["line"] = position.line;
      }
      code.push_back(std::move(row));
    }
    all.push_back({{"name", kernel.name},
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
                   {"instructions", sum.instructions},
                   {"instructions_by_kind", std::move(kinds)},
                   {"active_lanes", sum.active_lanes(kernel.resources.wave_size)},
                   {"bytes_read", sum.read_bytes},
                   {"bytes_written", sum.written_bytes},
                   {"bytes_in_lds", sum.lds_bytes},
                   {"code", std::move(code)}});
  }
  const nlohmann::ordered_json document = {{"version", 1}, {"kernels", std::move(all)}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rigel::vgpu::profile
