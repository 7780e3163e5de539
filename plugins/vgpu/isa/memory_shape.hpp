// What a memory operation moves, apart from where: a row of memory_shapes.inc. All addressing modes share it, and most
// operations that differ in how they address: global_load_ushort, buffer_load_ushort and flat_load_ushort are one
// shape of three spaces.
//
// Source: LLVM's description of AMDGPU, by generate_tables.py. Threads: constants; any.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

enum class Verb : uint8_t { kLoad, kStore, kAtomic };

/// How an operation addresses memory.
enum class Space : uint8_t {
  kGlobal,   ///< Virtual addresses
  kFlat,     ///< … and the apertures of LDS and scratch among them
  kScratch,  ///< The lane's own (scalar memory: the wave's)
  kBuffer,   ///< By a descriptor
  kLds,      ///< Or GDS, where the instruction says so
};

enum class Atomic : uint8_t {
  kSwap,
  kCmpSwap,
  kAdd,
  kSub,
  kReverseSub,
  kSmin,
  kUmin,
  kSmax,
  kUmax,
  kAnd,
  kOr,
  kXor,
  kInc,
  kDec,
  kClampSub,  ///< csub: not below zero
  kMaskOr,    ///< (old & ~first) | second
  kWrap,      ///< old >= first ? old - first : old + second
  kCondXchg,  ///< Each dword, if its highest bit is set, without that bit.
  kFloatCmpSwap,
  kFloatMin,
  kFloatMax,
  kFloatAdd,
  kPackedAddF16,
};

constexpr bool is_float(Atomic atomic) {
  return atomic == Atomic::kFloatAdd || atomic == Atomic::kFloatMin || atomic == Atomic::kFloatMax ||
         atomic == Atomic::kFloatCmpSwap || atomic == Atomic::kPackedAddF16;
}

constexpr bool has_two_operands(Atomic atomic) {
  return atomic == Atomic::kCmpSwap || atomic == Atomic::kFloatCmpSwap || atomic == Atomic::kMaskOr ||
         atomic == Atomic::kWrap;
}

struct MemoryShape {
  Verb verb = Verb::kLoad;
  Space space = Space::kGlobal;
  uint8_t bytes = 4;       ///< In memory, of one lane (scalar memory: of the wave): 1, 2, or dwords. Of one
                           ///< element for the two-address forms of DS. 0 where a format says.
  uint8_t components = 0;  ///< In registers, of formatted loads and stores; 0: there is no format.
  bool sign = false;       ///< Sub-dword loads: extended with the sign.
  bool d16 = false;        ///< Goes to or comes from one half of the register, and leaves the other alone.
                           ///< Formats: components are halves.
  bool high = false;       ///< The upper half.
  bool addtid = false;     ///< The lane's number is part of the address.
  bool pair = false;       ///< DS: two addresses.
  bool far_pair = false;   ///< Offsets of the two in units of 64 elements.
  bool returns = false;    ///< DS atomics: gives the old value; others have GLC for that.
  bool source2 = false;    ///< DS: the operand comes from LDS as well.
  Atomic atomic{};         ///< Of atomics

  constexpr unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
  constexpr bool operator==(const MemoryShape&) const = default;
};

/// The operation's row; nullptr if it moves nothing between memory and registers (caches, permutations, counters
/// of lanes, synchronisation), and of images, which image_shapes.inc describes.
const MemoryShape* memory_shape(Op op);

}  // namespace rigel::vgpu::isa
