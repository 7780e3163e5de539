#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {
namespace {

using Counts = std::map<std::string, uint64_t>;  // by name of the count

Counts counts_of(const Kernel& kernel) {
  const Summary sum = summary_of(kernel);
  Counts counts{{"instructions", sum.instructions},
                {"bytes read", sum.read_bytes},
                {"bytes written", sum.written_bytes},
                {"bytes in LDS", sum.lds_bytes}};
  for (size_t i = 0; i < kKinds; ++i) counts[std::string(name(static_cast<Kind>(i)))] = sum.by_kind[i];
  if (kernel.has_memory_counts) {
    counts["lines read"] = sum.memory.lines_read;
    counts["lines written"] = sum.memory.lines_written;
    counts["LDS conflicts"] = sum.memory.lds_conflicts;
    counts["bytes in scratch"] = sum.memory.scratch_bytes;
  }
  return counts;
}

Counts counts_of(const nlohmann::json& kernel) {
  Counts counts{{"instructions", kernel.at("instructions")},
                {"bytes read", kernel.at("bytes_read")},
                {"bytes written", kernel.at("bytes_written")},
                {"bytes in LDS", kernel.at("bytes_in_lds")}};
  for (const auto& [kind, count] : kernel.at("instructions_by_kind").items()) counts[kind] = count;
  if (const auto memory = kernel.find("memory"); memory != kernel.end()) {
    counts["lines read"] = memory->at("lines_read");
    counts["lines written"] = memory->at("lines_written");
    counts["LDS conflicts"] = memory->at("lds_conflicts");
    counts["bytes in scratch"] = memory->at("scratch_bytes");
  }
  return counts;
}

}  // namespace

Comparison compare(const std::vector<Kernel>& kernels, std::string_view json, std::string_view name) {
  Comparison result;
  std::map<std::string, Counts> before;
  try {
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const nlohmann::json& kernel : document.at("kernels")) before[kernel.at("name")] = counts_of(kernel);
  } catch (const nlohmann::json::exception&) {
    result.is_valid = false;
    result.text =
        fmt::format("vgpu: error: {}: not a profile; write one with vgpu-run --profile=FILE.json\n", name);
    return result;
  }
  for (const Kernel& kernel : kernels) {
    const auto found = before.find(kernel.name);
    if (found == before.end()) {
      result.text += fmt::format("profile: {}: a new kernel\n", kernel.name);
      result.grew = true;
      continue;
    }
    for (const auto& [count, value] : counts_of(kernel)) {
      const auto old_count = found->second.find(count);
      if (old_count == found->second.end() || old_count->second == value) continue;
      const uint64_t old = old_count->second;
      result.text += fmt::format("profile: {}: {}: {} before, {} now\n", kernel.name, count, old, value);
      result.grew |= value > old;
    }
    before.erase(found);
  }
  for (const auto& [kernel, counts] : before)
    result.text += fmt::format("profile: {}: was not launched\n", kernel);
  if (result.text.empty()) result.text = fmt::format("profile: all counts are those of {}\n", name);
  return result;
}

}  // namespace rigel::vgpu::profile
