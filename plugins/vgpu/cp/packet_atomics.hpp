// Memory atomics of PM4's ATOMIC_MEM and SDMA's ATOMIC. A 7-bit code selects the operation.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/vgpu/cp/gpu_memory.hpp"

namespace rigel::vgpu {

enum class AtomicStatus : uint8_t { kDone, kCompareFailed, kFault, kUnknown };

struct AtomicResult {
  AtomicStatus status = AtomicStatus::kUnknown;
  uint64_t old = 0;
};

/// Executes operation `code` at `va`. kCompareFailed: a compare-and-swap found another value and left it.
AtomicResult do_atomic(GpuMemory& memory, uint32_t code, uint64_t va, uint64_t source, uint64_t compare);

/// Returns the operation's name, or an empty string if do_atomic() does not support it.
std::string_view atomic_name(uint32_t code);

}  // namespace rigel::vgpu
