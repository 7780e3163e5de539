// The checks and the problems that they find.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace rigel::vgpu::check {

/// A kind of mistake that the virtual GPU looks for.
enum class Tool : uint8_t { kMemory, kRaces, kSync, kWaits, kInit };
constexpr uint32_t kTools = 5;

/// "memory", "races", "sync", "waits", "init".
std::string_view name(Tool tool);

/// Returns the tools of a list such as "memory,races"; "all" selects every tool. An error names the unknown
/// word.
tl::expected<uint32_t, std::string> parse_tools(std::string_view list);

/// A problem that a check finds. Users see its name in suppressions and in SARIF files.
enum Problem : uint8_t {
  kPastEnd,
  kFreed,
  kOutsideLds,
  kOutsidePrivate,
  kLdsRace,
  kMemoryRace,
  kGroupRace,
  kKernelRace,
  kPartialBarrier,
  kDifferentBarriers,
  kMissedBarrier,
  kMissingWait,
  kUndefinedUse,
};

struct ProblemEntry {
  Problem problem;
  Tool tool;
  std::string_view name;         ///< "memory/out-of-bounds"
  std::string_view description;  ///< One sentence
};

/// All problems, in the order of their numbers.
std::span<const ProblemEntry> problems();

inline const ProblemEntry& entry_of(Problem problem) {
  return problems()[problem];
}

}  // namespace rigel::vgpu::check
