#include "core/topology/gpu_settings.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "core/topology/cu_mask.hpp"

namespace rigel {
namespace {

class Reader {
 public:
  Reader(const LoaderEnvironment& environment, DiscoveryReport& report)
      : environment_(environment), report_(report) {}

  void complain(const char* name, std::string_view text) {
    report_.add(Stage::kConfig, Outcome::kWarning, name, text);
  }

  std::optional<bool> flag(const char* name) {
    const char* const text = environment_.get(name);
    if (text == nullptr) return std::nullopt;
    if (std::string_view(text) == "0") return false;
    if (std::string_view(text) == "1") return true;
    complain(name, fmt::format("invalid value '{}'; ignored; use 0 or 1", text));
    return std::nullopt;
  }

  /// Parses a number of any length; larger numbers become the maximum.
  std::optional<uint64_t> number(const char* name) {
    const char* const text = environment_.get(name);
    if (text == nullptr) return std::nullopt;
    uint64_t value = 0;
    for (const char* digit = text; *digit != '\0'; ++digit) {
      if (*digit < '0' || *digit > '9') {
        complain(name, fmt::format("invalid value '{}'; ignored; use a decimal number", text));
        return std::nullopt;
      }
      const auto last = static_cast<uint64_t>(*digit - '0');
      value = value > (UINT64_MAX - last) / 10 ? UINT64_MAX : value * 10 + last;
    }
    return value;
  }

 private:
  const LoaderEnvironment& environment_;
  DiscoveryReport& report_;
};

uint32_t count(const std::vector<uint32_t>& units) {
  uint32_t sum = 0;
  for (const uint32_t word : units) sum += static_cast<uint32_t>(std::popcount(word));
  return sum;
}

/// Whether units of one group, `together` units each, have different states.
bool splits(const std::vector<uint32_t>& units, uint32_t compute_units, uint32_t together) {
  const auto has = [&](uint32_t i) { return (units[i / 32] >> i % 32 & 1) != 0; };
  for (uint32_t i = 0; i < compute_units; ++i) {
    if (has(i) != has(i - i % together)) return true;
  }
  return false;
}

}  // namespace

GpuSettings GpuSettings::read(const LoaderEnvironment& environment, DiscoveryReport& report) {
  Reader reader(environment, report);
  GpuSettings settings;
  settings.xnack = reader.flag("HSA_XNACK");
  settings.sramecc = reader.flag("HSA_ENABLE_SRAMECC");
  if (const auto queues = reader.number("HSA_MAX_QUEUES"); queues && *queues != 0)
    settings.queues_max = static_cast<uint32_t>(std::min<uint64_t>(*queues, UINT32_MAX));
  settings.scratch_limit = reader.number("HSA_SCRATCH_SINGLE_LIMIT");
  if (const char* const list = environment.get("HSA_CU_MASK"); list != nullptr) {
    settings.units = parse_cu_mask_list(list);
    if (!settings.units.wrong.empty())
      reader.complain("HSA_CU_MASK", settings.units.wrong + "; the rest is ignored");
    if (settings.units.left_out)
      reader.complain("HSA_CU_MASK", "some compute units have higher numbers than any GPU; they are ignored");
  }
  settings.units_at_first = !reader.flag("HSA_CU_MASK_SKIP_INIT").value_or(false);
  settings.counts_cooperative = reader.flag("HSA_COOP_CU_COUNT").value_or(false);
  // Other components read these when needed.
  for (const char* name : {"HSA_ENABLE_SDMA", "HSA_FORCE_FINE_GRAIN_PCIE", "HSA_ENABLE_IPC_MODE_LEGACY",
                           "HSA_ENABLE_VM_FAULT_MESSAGE"}) {
    reader.flag(name);
  }
  return settings;
}

AgentLimits GpuSettings::restrict(uint32_t gpu, hsabe_caps_t& caps, bool has_masks, std::string_view subject,
                                  DiscoveryReport& report) const {
  if (queues_max) caps.queues_max = std::min(caps.queues_max, *queues_max);
  AgentLimits limits;
  limits.units_at_first = units_at_first;
  const auto say = [&](Outcome outcome, std::string_view text) {
    report.add(Stage::kConfig, outcome, "HSA_CU_MASK", fmt::format("{}: {}", subject, text));
  };
  if (const auto* const asked = units.find(gpu); asked != nullptr) {
    limits.units = grant_units(*asked, {}, caps.compute_units).words;
    const uint32_t left = count(limits.units);
    const uint32_t together = std::max(caps.compute_units_together, 1u);
    std::string ignored;
    if (!has_masks) {
      ignored = "its queues do not support CU masks";
    } else if (left == 0) {
      ignored = fmt::format("it selects none of the {} compute units", caps.compute_units);
    } else if (splits(limits.units, caps.compute_units, together)) {
      ignored = fmt::format("it must select compute units in groups of {}, starting at 0", together);
    } else if (left != count(*asked)) {
      say(Outcome::kWarning, fmt::format("it names compute units past the {} of this GPU; they are ignored",
                                         caps.compute_units));
    }
    if (!ignored.empty()) say(Outcome::kWarning, ignored + "; ignored");
    if (ignored.empty() && left != caps.compute_units) {
      say(Outcome::kSkipped, fmt::format("{} of {} compute units", left, caps.compute_units));
    } else {
      limits.units.clear();
    }
  }
  // As in ROCr, masked compute units disable cooperative dispatches.
  if (counts_cooperative && !limits.units.empty()) {
    limits.cooperative_units = 0;
  } else if (counts_cooperative && caps.cooperative_compute_units != 0) {
    limits.cooperative_units = caps.cooperative_compute_units;
  }
  return limits;
}

void GpuSettings::conclude(size_t gpus, DiscoveryReport& report) const {
  for (const CuMaskList::Entry& entry : units.entries) {
    if (entry.gpu < gpus) continue;
    report.add(Stage::kConfig, Outcome::kWarning, "HSA_CU_MASK",
               fmt::format("there is no GPU {} ({} GPUs are in use)", entry.gpu, gpus));
    break;
  }
}

}  // namespace rigel
