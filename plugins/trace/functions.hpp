// Properties of the API's functions: the arguments to record, the outputs that arguments point to, and the
// role for flows and memory.
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
  kCreates,        ///< creates the object in the output
  kAllocates,      ///< allocates the memory in the output: first argument: pool, second: bytes
  kFrees,          ///< frees the memory of the first argument
  kFreezes,        ///< freezes an executable, whose kernels have addresses afterwards
  kCopies,         ///< copies asynchronously: the activity contains the call's id
  kWaits,          ///< waits for the signal of the first argument
  kWaitsForAny,    ///< waits for several signals: the output is the satisfied one
  kWaitsForAll,    ///< waits for several signals: the outputs are the first kMaxOutputs signals
  kDestroysSignal  ///< destroys the signal of the first argument
};

struct FunctionInfo {
  static constexpr size_t kMaxTexts = 4;

  const hsatool_function_t* function = nullptr;
  FunctionRole role = FunctionRole::kOther;
  uint8_t argument_bytes = 0;  ///< recorded part of the arguments
  uint8_t texts = 0;
  uint16_t output = 0;  ///< offset of the argument that points to the output, for roles with outputs
  uint16_t text_offsets[kMaxTexts] = {};
};

/// Returns the properties of all functions, by index.
std::vector<FunctionInfo> describe_functions(std::span<const hsatool_function_t* const> functions);

inline std::string_view view(hsatool_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

}  // namespace trace
