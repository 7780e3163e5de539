// The part of a compute unit that executes an operation: a column of op.inc. Code uses it instead of parsing
// names.
//
// Source: LLVM's description of AMDGPU, through generate_tables.py.
//
// *Threads:* any; constants.
#pragma once

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

enum class OpClass : uint8_t {
  kNone,            ///< Op::none
  kScalar,          ///< SALU, branches, messages
  kVector,          ///< VALU, exact or correctly rounded
  kTranscendental,  ///< VALU, approximate: reciprocals, roots, logarithms, sines
  kMatrix,          ///< Matrices, and moves to and from accumulation registers
  kInterpolation,   ///< Pixel attributes
  kScalarMemory,    ///< Loads, stores and atomics with SGPRs; scalar cache
  kVectorMemory,    ///< Loads, stores and atomics with VGPRs, by flat addresses or buffers
  kDataShare,       ///< LDS, GDS and lane permutations
  kGlobalSync,      ///< Barriers and semaphores between all waves of the GPU
  kImage,
  kExport,
};

namespace detail {
constexpr OpClass kOpClasses[] = {
    OpClass::kNone,
#define RIGEL_OP(name, families, op_class) OpClass::op_class,
#include "plugins/vgpu/isa/op.inc"
#undef RIGEL_OP
};
static_assert(sizeof(kOpClasses) == kOpCount);
}  // namespace detail

/// Whether a wave waits at the instruction for the other waves of its work-group.
constexpr bool waits_at_barrier(Op op) {
  return op == Op::s_barrier || op == Op::s_barrier_wait;
}

/// Returns the operation's class; kNone for an unknown operation.
constexpr OpClass op_class(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? detail::kOpClasses[index] : OpClass::kNone;
}

}  // namespace rigel::vgpu::isa
