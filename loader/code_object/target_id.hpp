// Names of the processors that code is made for, as the AMDGPU user guide of LLVM spells them ("Target ID"):
// `gfx90a:sramecc+:xnack-` is a processor with two features that the code insists on; a feature that is not
// named may be on or off.
//
// Pure functions over constant tables, for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rigel {

/// What precedes the target id in the name of an AMD GPU's ISA.
constexpr std::string_view kAmdIsaPrefix = "amdgcn-amd-amdhsa--";

/// A setting of the processor that code can depend on.
enum class TargetFeature : uint8_t {
  kAny,  ///< works with both, or there is no such setting
  kOff,
  kOn,
};

struct TargetId {
  std::string_view processor;
  TargetFeature sramecc = TargetFeature::kAny;
  TargetFeature xnack = TargetFeature::kAny;

  bool operator==(const TargetId&) const = default;
};

/// A value of EF_AMDGPU_MACH.
struct AmdProcessor {
  uint8_t mach;
  bool has_sramecc;  ///< the processor has the setting
  bool has_xnack;
  std::string_view name;
  std::string_view generic = {};  ///< the name of the generic processor whose code it runs; empty: none
};

/// The processor with that number, or null: a file may be newer than this table.
const AmdProcessor* find_amd_processor(uint32_t mach);
const AmdProcessor* find_amd_processor(std::string_view name);

/// `text` is a target id with or without kAmdIsaPrefix. The result refers to it. None if it is neither.
std::optional<TargetId> parse_target_id(std::string_view text);

/// The canonical spelling, without prefix.
std::string to_string(const TargetId& target);

/// `name` is that of an ISA, of which there is one spelling: with the prefix, of a processor in the table, with no
/// features but its own, in the canonical order. The result refers to it. None if it is not.
std::optional<TargetId> parse_isa_name(std::string_view name);

/// The generic target whose code `agent` runs, with its settings. The result does not refer to `agent`. None if there is
/// none.
std::optional<TargetId> generic_of(const TargetId& agent);

/// Whether code for `code` runs where `agent` says what is on and off: the same processor, or the generic one that
/// it belongs to, and nothing insisted on that is otherwise.
bool runs_on(const TargetId& code, const TargetId& agent);

}  // namespace rigel
