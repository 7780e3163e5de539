// Which part of a compute unit executes an operation: a column of op.inc. Operations are asked for it instead of
// being recognised by their names, which are for people to read.
//
// Source: LLVM's description of AMDGPU, by generate_tables.py. Threads: constants; any.
#pragma once

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

enum class OpClass : uint8_t {
  kNone,            ///< Op::none
  kScalar,          ///< Arithmetic of SGPRs, branches, messages
  kVector,          ///< Arithmetic of VGPRs, exact or rounded correctly
  kTranscendental,  ///< … by approximation: reciprocals, roots, logarithms, sines
  kMatrix,          ///< Matrices, and moves to and from accumulation registers
  kInterpolation,   ///< Attributes of pixels
  kScalarMemory,    ///< Loads, stores, atomics of SGPRs, and the scalar cache
  kVectorMemory,    ///< Those of VGPRs, by flat addresses or buffers
  kDataShare,       ///< LDS and GDS, and what goes through their crossbar
  kGlobalSync,      ///< Barriers and semaphores of all waves of the GPU
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

/// The operation's class; kNone for what is no operation.
constexpr OpClass op_class(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? detail::kOpClasses[index] : OpClass::kNone;
}

}  // namespace rigel::vgpu::isa
