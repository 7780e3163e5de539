// What a memory instruction moves, apart from where: read off its name, which is regular. All addressing
// modes share it: global_load_ushort, buffer_load_ushort and flat_load_ushort have one shape.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::exec {

enum class Verb : uint8_t { kLoad, kStore, kAtomic };

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

struct Shape {
  Verb verb = Verb::kLoad;
  uint8_t bytes = 4;      ///< In memory, of one lane (scalar memory: of the wave): 1, 2, or dwords. Of one
                          ///< element for the two-address forms of DS.
  bool sign = false;      ///< Sub-dword loads: extended with the sign.
  bool d16 = false;       ///< Goes to or comes from one half of the register, and leaves the other alone.
  bool high = false;      ///< The upper half.
  bool addtid = false;    ///< The lane's number is part of the address.
  bool pair = false;      ///< DS: two addresses.
  bool far_pair = false;  ///< Offsets of the two in units of 64 elements.
  bool returns = false;   ///< DS atomics: gives the old value; others have GLC for that.
  bool source2 = false;   ///< DS: the operand comes from LDS as well.
  Atomic atomic{};

  constexpr unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
};

/// Nothing if the instruction has no such shape: formats, caches, permutations and the like.
std::optional<Shape> shape_of(isa::Op op);

}  // namespace rigel::vgpu::exec
