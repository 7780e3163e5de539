// What the tracer knows of each function of the API: how much of its arguments to keep, what it gives back in
// places that arguments point to, and what it means for flows and for memory.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/trace/records.hpp"

namespace trace {

enum class FunctionRole : uint8_t {
  kOther,
  kCreates,    ///< the output is what has been made
  kAllocates,  ///< its output is memory: of the pool of its first argument, as many bytes as its second says
  kFrees,      ///< memory at its first argument
  kFreezes,    ///< an executable: its kernels have addresses from here on
  kCopies,     ///< asynchronously: its activity tells of the call
  kWaits,      ///< for the signal of its first argument
  kWaitsForAny,    ///< of several: its output is the one that has changed
  kWaitsForAll,    ///< its outputs are the signals, as far as there is room
  kDestroysSignal  ///< of its first argument
};

struct FunctionFacts {
  static constexpr size_t kMaxTexts = 4;

  const hsatool_function_t* function = nullptr;
  FunctionRole role = FunctionRole::kOther;
  uint8_t argument_bytes = 0;  ///< that are kept
  uint8_t texts = 0;
  uint16_t output = 0;  ///< offset of the argument that points to what has been made, for the roles with one
  uint16_t text_offsets[kMaxTexts] = {};
};

/// Of all functions, by index.
std::vector<FunctionFacts> describe_functions(std::span<const hsatool_function_t* const> functions);

inline std::string_view view(hsatool_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

}  // namespace trace
