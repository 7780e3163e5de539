#include "plugins/vgpu/check/problem.hpp"

#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu::check {
namespace {

constexpr std::string_view kNames[kTools] = {"memory", "races", "sync", "waits", "init"};

constexpr ProblemEntry kProblems[] = {
    {kPastEnd, Tool::kMemory, "memory/out-of-bounds",
     "An instruction accesses bytes outside of an allocation."},
    {kFreed, Tool::kMemory, "memory/use-after-free",
     "An instruction accesses memory that the program has freed."},
    {kOutsideLds, Tool::kMemory, "memory/lds",
     "An instruction accesses bytes outside of the work-group's LDS."},
    {kOutsidePrivate, Tool::kMemory, "memory/private",
     "An instruction accesses bytes outside of the work-item's private memory."},
    {kLdsRace, Tool::kRaces, "races/lds",
     "Two waves access the same bytes of LDS, and nothing orders the accesses."},
    {kMemoryRace, Tool::kRaces, "races/memory",
     "Two waves of a work-group access the same bytes of memory, and nothing orders the accesses."},
    {kGroupRace, Tool::kRaces, "races/work-groups",
     "Two work-groups access the same bytes of memory, and nothing orders the accesses."},
    {kKernelRace, Tool::kRaces, "races/kernels",
     "Two kernels access the same bytes of memory, and nothing orders the kernels."},
    {kPartialBarrier, Tool::kSync, "sync/partial-barrier",
     "Some work-items of a wave do not take part in a barrier and continue after it."},
    {kDifferentBarriers, Tool::kSync, "sync/different-barriers",
     "Two waves of a work-group wait at different barriers."},
    {kMissedBarrier, Tool::kSync, "sync/missed-barrier",
     "Waves end before a barrier for which other waves wait."},
    {kMissingWait, Tool::kWaits, "waits/missing-wait",
     "An instruction uses a register before the load that writes it has completed."},
    {kUndefinedUse, Tool::kInit, "init/undefined-value",
     "A branch, an address or an atomic operation depends on bits that were never written."},
};

constexpr bool is_ordered() {
  for (size_t i = 0; i < std::size(kProblems); ++i) {
    if (kProblems[i].problem != i) return false;
  }
  return true;
}
static_assert(is_ordered());

}  // namespace

std::string_view name(Tool tool) {
  return kNames[static_cast<uint32_t>(tool)];
}

tl::expected<uint32_t, std::string> parse_tools(std::string_view list) {
  constexpr uint32_t kAll = (1u << kTools) - 1;
  uint32_t tools = 0;
  for (const std::string_view word : split(list, ',')) {
    if (word == "all") tools = kAll;
    uint32_t index = 0;
    while (index != kTools && kNames[index] != word) ++index;
    if (index != kTools) {
      tools |= 1u << index;
    } else if (word != "all") {
      std::vector<std::string_view> words(std::begin(kNames), std::end(kNames));
      words.emplace_back("all");
      return tl::unexpected(fmt::format("unknown check {}{}", in_quotes(word), remedy(word, words)));
    }
  }
  return tools;
}

std::span<const ProblemEntry> problems() {
  return kProblems;
}

}  // namespace rigel::vgpu::check
