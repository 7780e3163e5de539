// What an access to memory is told beside its places: code/accesses.cpp, which kernel_memory.cpp calls.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec::compiler::access_flags {

constexpr uint32_t kKeeps = 1;    ///< Lanes that are not active keep what they have.
constexpr uint32_t kFlat = 2;     ///< Of global memory: addresses may be those of LDS and scratch.
constexpr uint32_t kAligned = 2;  ///< Of LDS: accesses have to be aligned.
constexpr uint32_t kSigned = 4;   ///< Of bytes and words, as are the rest
constexpr uint32_t kD16 = 8;
constexpr uint32_t kHigh = 16;

}  // namespace rigel::vgpu::exec::compiler::access_flags
