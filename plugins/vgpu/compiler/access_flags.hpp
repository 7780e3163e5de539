// Flags of memory accesses: arguments that kernel_memory.cpp passes to code/accesses.cpp.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec::compiler::access_flags {

constexpr uint32_t kKeeps = 1;    ///< Inactive lanes of the destination keep their values.
constexpr uint32_t kFlat = 2;     ///< Global memory: addresses may be in the apertures of LDS and scratch.
constexpr uint32_t kAligned = 2;  ///< LDS: misaligned accesses fail. (Same bit as kFlat.)
constexpr uint32_t kSigned = 4;   ///< Loads of bytes and words only, like the flags below: sign-extends.
constexpr uint32_t kD16 = 8;
constexpr uint32_t kHigh = 16;
constexpr uint32_t kClearsHalf = 32;

}  // namespace rigel::vgpu::exec::compiler::access_flags
