// Names of target processors in the syntax of the AMDGPU user guide of LLVM ("Target ID"):
// `gfx90a:sramecc+:xnack-` is a processor with two required feature settings; a feature without a setting may
// be on or off.
//
// *Threads:* pure functions over constant tables; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rigel {

/// Prefix of the target id in the name of an AMD GPU's ISA.
constexpr std::string_view kAmdIsaPrefix = "amdgcn-amd-amdhsa--";

/// A setting of the processor that code can depend on.
enum class TargetFeature : uint8_t {
  kAny,  ///< runs with both, or the setting does not exist
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
  bool has_sramecc;  ///< whether the processor has the setting
  bool has_xnack;
  std::string_view name;
  std::string_view generic = {};  ///< name of the generic processor whose code it runs; empty: none
};

/// Returns the processor with that number, or null: a file may be newer than this table.
const AmdProcessor* find_amd_processor(uint32_t mach);
const AmdProcessor* find_amd_processor(std::string_view name);

/// Parses a target id with or without kAmdIsaPrefix. The result refers to `text`. Returns nothing if it is
/// invalid.
std::optional<TargetId> parse_target_id(std::string_view text);

/// Returns the canonical spelling, without prefix.
std::string to_string(const TargetId& target);

/// Parses the name of an ISA, which has one spelling: with the prefix, a processor in the table, and only its
/// features, in the canonical order. The result refers to `name`. Returns nothing if it is invalid.
std::optional<TargetId> parse_isa_name(std::string_view name);

/// Returns the generic target whose code `agent` runs, with its settings, or nothing. The result does not
/// refer to `agent`.
std::optional<TargetId> generic_of(const TargetId& agent);

/// Whether `code` runs on `agent`: the same processor, or the generic one that it belongs to, without
/// contradicting feature settings.
bool runs_on(const TargetId& code, const TargetId& agent);

}  // namespace rigel
