#include "loader/code_object/target_id.hpp"

#include <algorithm>

namespace rigel {
namespace {

constexpr bool kYes = true;
constexpr bool kNo = false;

// Sorted by mach. Source: LLVM AMDGPU user guide, "EF_AMDGPU_MACH Values", "AMDGPU Processors", "AMDGPU
// Generic Processors".
constexpr AmdProcessor kProcessors[] = {
    // clang-format off
    {0x20, kNo,  kNo,  "gfx600"},
    {0x21, kNo,  kNo,  "gfx601"},
    {0x22, kNo,  kNo,  "gfx700"},
    {0x23, kNo,  kNo,  "gfx701"},
    {0x24, kNo,  kNo,  "gfx702"},
    {0x25, kNo,  kNo,  "gfx703"},
    {0x26, kNo,  kNo,  "gfx704"},
    {0x28, kNo,  kYes, "gfx801"},
    {0x29, kNo,  kNo,  "gfx802"},
    {0x2a, kNo,  kNo,  "gfx803"},
    {0x2b, kNo,  kYes, "gfx810"},
    {0x2c, kNo,  kYes, "gfx900",  "gfx9-generic"},
    {0x2d, kNo,  kYes, "gfx902",  "gfx9-generic"},
    {0x2e, kNo,  kYes, "gfx904",  "gfx9-generic"},
    {0x2f, kYes, kYes, "gfx906",  "gfx9-generic"},
    {0x30, kYes, kYes, "gfx908"},
    {0x31, kNo,  kYes, "gfx909",  "gfx9-generic"},
    {0x32, kNo,  kYes, "gfx90c",  "gfx9-generic"},
    {0x33, kNo,  kYes, "gfx1010", "gfx10-1-generic"},
    {0x34, kNo,  kYes, "gfx1011", "gfx10-1-generic"},
    {0x35, kNo,  kYes, "gfx1012", "gfx10-1-generic"},
    {0x36, kNo,  kNo,  "gfx1030", "gfx10-3-generic"},
    {0x37, kNo,  kNo,  "gfx1031", "gfx10-3-generic"},
    {0x38, kNo,  kNo,  "gfx1032", "gfx10-3-generic"},
    {0x39, kNo,  kNo,  "gfx1033", "gfx10-3-generic"},
    {0x3a, kNo,  kNo,  "gfx602"},
    {0x3b, kNo,  kNo,  "gfx705"},
    {0x3c, kNo,  kNo,  "gfx805"},
    {0x3d, kNo,  kNo,  "gfx1035", "gfx10-3-generic"},
    {0x3e, kNo,  kNo,  "gfx1034", "gfx10-3-generic"},
    {0x3f, kYes, kYes, "gfx90a"},
    {0x40, kYes, kYes, "gfx940",  "gfx9-4-generic"},
    {0x41, kNo,  kNo,  "gfx1100", "gfx11-generic"},
    {0x42, kNo,  kYes, "gfx1013", "gfx10-1-generic"},
    {0x43, kNo,  kNo,  "gfx1150", "gfx11-generic"},
    {0x44, kNo,  kNo,  "gfx1103", "gfx11-generic"},
    {0x45, kNo,  kNo,  "gfx1036", "gfx10-3-generic"},
    {0x46, kNo,  kNo,  "gfx1101", "gfx11-generic"},
    {0x47, kNo,  kNo,  "gfx1102", "gfx11-generic"},
    {0x48, kNo,  kNo,  "gfx1200", "gfx12-generic"},
    {0x49, kYes, kYes, "gfx1250", "gfx12-5-generic"},
    {0x4a, kNo,  kNo,  "gfx1151", "gfx11-generic"},
    {0x4b, kYes, kYes, "gfx941",  "gfx9-4-generic"},
    {0x4c, kYes, kYes, "gfx942",  "gfx9-4-generic"},
    {0x4e, kNo,  kNo,  "gfx1201", "gfx12-generic"},
    {0x4f, kYes, kYes, "gfx950",  "gfx9-4-generic"},
    {0x51, kNo,  kYes, "gfx9-generic"},
    {0x52, kNo,  kYes, "gfx10-1-generic"},
    {0x53, kNo,  kNo,  "gfx10-3-generic"},
    {0x54, kNo,  kNo,  "gfx11-generic"},
    {0x55, kNo,  kNo,  "gfx1152", "gfx11-generic"},
    {0x58, kNo,  kNo,  "gfx1153", "gfx11-generic"},
    {0x59, kNo,  kNo,  "gfx12-generic"},
    {0x5a, kYes, kYes, "gfx1251", "gfx12-5-generic"},
    {0x5b, kYes, kYes, "gfx12-5-generic"},
    {0x5f, kYes, kYes, "gfx9-4-generic"},
    // clang-format on
};
static_assert(std::is_sorted(std::begin(kProcessors), std::end(kProcessors),
                             [](const auto& a, const auto& b) { return a.mach < b.mach; }));

constexpr std::string_view kSramecc = "sramecc";
constexpr std::string_view kXnack = "xnack";

bool satisfies(TargetFeature code, TargetFeature agent) {
  return code == TargetFeature::kAny || code == agent;
}

}  // namespace

const AmdProcessor* find_amd_processor(uint32_t mach) {
  const auto found =
      std::lower_bound(std::begin(kProcessors), std::end(kProcessors), mach,
                       [](const AmdProcessor& entry, uint32_t value) { return entry.mach < value; });
  return found != std::end(kProcessors) && found->mach == mach ? found : nullptr;
}

const AmdProcessor* find_amd_processor(std::string_view name) {
  const auto found = std::find_if(std::begin(kProcessors), std::end(kProcessors),
                                  [name](const AmdProcessor& entry) { return entry.name == name; });
  return found == std::end(kProcessors) ? nullptr : found;
}

std::optional<TargetId> parse_target_id(std::string_view text) {
  if (text.starts_with(kAmdIsaPrefix)) text.remove_prefix(kAmdIsaPrefix.size());
  bool more = true;
  const auto next_word = [&] {
    const size_t colon = text.find(':');
    more = colon != text.npos;
    const auto word = text.substr(0, colon);
    if (more) text.remove_prefix(colon + 1);
    return word;
  };
  TargetId target{.processor = next_word()};
  if (target.processor.empty()) return std::nullopt;
  while (more) {
    auto word = next_word();
    if (word.empty()) return std::nullopt;
    const char sign = word.back();
    word.remove_suffix(1);
    TargetFeature* feature = word == kSramecc ? &target.sramecc : word == kXnack ? &target.xnack : nullptr;
    if (feature == nullptr || *feature != TargetFeature::kAny || (sign != '+' && sign != '-'))
      return std::nullopt;
    *feature = sign == '+' ? TargetFeature::kOn : TargetFeature::kOff;
  }
  return target;
}

std::string to_string(const TargetId& target) {
  std::string text(target.processor);
  const auto append = [&text](std::string_view name, TargetFeature feature) {
    if (feature == TargetFeature::kAny) return;
    text += ':';
    text += name;
    text += feature == TargetFeature::kOn ? '+' : '-';
  };
  append(kSramecc, target.sramecc);
  append(kXnack, target.xnack);
  return text;
}

std::optional<TargetId> parse_isa_name(std::string_view name) {
  const auto target = parse_target_id(name);
  const AmdProcessor* processor = target ? find_amd_processor(target->processor) : nullptr;
  if (processor == nullptr) return std::nullopt;
  const bool features_are_its_own = (processor->has_sramecc || target->sramecc == TargetFeature::kAny) &&
                                    (processor->has_xnack || target->xnack == TargetFeature::kAny);
  if (!features_are_its_own || name != std::string(kAmdIsaPrefix) + to_string(*target)) return std::nullopt;
  return target;
}

std::optional<TargetId> generic_of(const TargetId& agent) {
  const AmdProcessor* const processor = find_amd_processor(agent.processor);
  const AmdProcessor* const generic = processor == nullptr ? nullptr : find_amd_processor(processor->generic);
  if (generic == nullptr) return std::nullopt;
  return TargetId{generic->name, generic->has_sramecc ? agent.sramecc : TargetFeature::kAny,
                  generic->has_xnack ? agent.xnack : TargetFeature::kAny};
}

bool runs_on(const TargetId& code, const TargetId& agent) {
  const auto generic = generic_of(agent);
  const bool serves = code.processor == agent.processor || (generic && code.processor == generic->processor);
  return serves && satisfies(code.sramecc, agent.sramecc) && satisfies(code.xnack, agent.xnack);
}

}  // namespace rigel
