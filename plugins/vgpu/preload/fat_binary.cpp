#include "plugins/vgpu/preload/fat_binary.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>

#include <fmt/core.h>

#include "plugins/vgpu/devices/gpu_target.hpp"

namespace rigel::vgpu {
namespace {

// Source: clang-offload-bundler of LLVM.
constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
constexpr uint64_t kMaxEntries = 1024, kMaxNameBytes = 1024;
constexpr std::string_view kGpuTriple = "amdgcn-amd-amdhsa-";

uint64_t number_at(const std::byte* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::vector<std::string> bundle_targets(const std::byte* bundle) {
  std::vector<std::string> targets;
  if (std::memcmp(bundle, kBundle.data(), kBundle.size()) != 0) return targets;
  const uint64_t count = number_at(bundle + kBundle.size());
  const std::byte* at = bundle + kBundle.size() + 8;
  for (uint64_t i = 0; i < count && i < kMaxEntries; ++i) {
    const uint64_t length = number_at(at + 16);
    if (length > kMaxNameBytes) break;
    const std::string_view name(reinterpret_cast<const char*>(at + 24), length);
    at += 24 + length;
    // "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-"; the host's entry is empty code.
    const size_t triple = name.find(kGpuTriple);
    if (triple == name.npos) continue;
    std::string_view target = name.substr(triple + kGpuTriple.size());
    while (target.starts_with('-')) target.remove_prefix(1);
    if (!target.empty()) targets.emplace_back(target);
  }
  return targets;
}

std::string gfx_by_environment(std::string gfx, uint32_t node,
                               const std::function<const char*(const char*)>& variable) {
  const std::string node_variable = fmt::format("HSA_OVERRIDE_GFX_VERSION_{}", node);
  for (const char* name : {node_variable.c_str(), "HSA_OVERRIDE_GFX_VERSION"}) {
    const char* const text = variable(name);
    if (text == nullptr || *text == '\0') continue;
    unsigned major = 0, minor = 0, stepping = 0;
    int length = 0;
    if (std::sscanf(text, "%u.%u.%u%n", &major, &minor, &stepping, &length) == 3 && text[length] == '\0') {
      return fmt::format("gfx{}{}{:x}", major, minor, stepping);
    }
    break;  // the runtime reports it and uses the GPU's version
  }
  return gfx;
}

std::string missing_code(const std::string& file, const std::vector<std::string>& targets,
                         const std::vector<GpuName>& gpus) {
  if (targets.empty()) return {};
  std::string missing, missing_gfx;
  std::set<std::string> seen;
  for (const GpuName& gpu : gpus) {
    const auto fits_gpu = [&](const std::string& target) { return fits(target, gpu.gfx); };
    if (std::any_of(targets.begin(), targets.end(), fits_gpu) || !seen.insert(gpu.name).second) continue;
    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", gpu.gfx, gpu.name);
    missing_gfx += fmt::format("{}{}", missing_gfx.empty() ? "" : ",", gpu.gfx);
  }
  if (missing.empty()) return {};
  std::string available;
  for (const std::string& target : targets) available += (available.empty() ? "" : ", ") + target;
  return fmt::format(
      "{}: contains GPU code for {}, but none for {}; compile with --offload-arch={}, or select another GPU "
      "with "
      "vgpu-run --gpu",
      file.empty() ? "HIP program" : file, available, missing, missing_gfx);
}

}  // namespace rigel::vgpu
