// What a memory operation transfers, independent of the address: a row of memory_shapes.inc. Operations that
// differ only in their addressing mode have the same shape in different spaces, for example
// global_load_ushort, buffer_load_ushort and flat_load_ushort.
//
// Source: LLVM's description of AMDGPU, through generate_tables.py.
//
// *Threads:* any; constants.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

struct Traits;

enum class Verb : uint8_t { kLoad, kStore, kAtomic };

/// How an operation addresses memory.
enum class Space : uint8_t {
  kGlobal,   ///< Virtual addresses.
  kFlat,     ///< Virtual addresses, including the apertures of LDS and scratch.
  kScratch,  ///< The lane's private memory; scalar memory: the wave's.
  kBuffer,   ///< Through a descriptor.
  kLds,      ///< LDS, or GDS if the instruction has GDS set.
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
  kClampSub,  ///< csub: does not subtract below zero.
  kCondSub,   ///< Subtracts unless the result is below zero.
  kMaskOr,    ///< (old & ~first) | second
  kWrap,      ///< old >= first ? old - first : old + second
  kCondXchg,  ///< Each dword: if its highest bit is set, exchanged without that bit.
  kFloatCmpSwap,
  kFloatMin,
  kFloatMax,
  kFloatAdd,
  kPackedAddF16,
  kPackedAddBf16,
};

constexpr bool is_float(Atomic atomic) {
  return atomic == Atomic::kFloatAdd || atomic == Atomic::kFloatMin || atomic == Atomic::kFloatMax ||
         atomic == Atomic::kFloatCmpSwap || atomic == Atomic::kPackedAddF16 ||
         atomic == Atomic::kPackedAddBf16;
}

constexpr bool has_two_operands(Atomic atomic) {
  return atomic == Atomic::kCmpSwap || atomic == Atomic::kFloatCmpSwap || atomic == Atomic::kMaskOr ||
         atomic == Atomic::kWrap;
}

struct MemoryShape {
  Verb verb = Verb::kLoad;
  Space space = Space::kGlobal;
  /// Size in memory of one lane's element: 1, 2, or a multiple of 4; scalar memory: of the wave. 0 if a
  /// format determines it.
  uint8_t bytes = 4;
  uint8_t components = 0;  ///< Number of register components of formatted loads and stores; 0: no format.
  bool sign = false;       ///< Sub-dword loads: sign-extends.
  /// Accesses one half of the register. Formats: components are halves.
  bool d16 = false;
  bool clears_half = false;  ///< D16 loads: the other half becomes 0. Depends on the chip.
  bool high = false;         ///< D16: the upper half.
  bool addtid = false;       ///< The lane number is added to the address.
  bool pair = false;         ///< DS: two addresses.
  bool far_pair = false;     ///< DS with two offsets: they count 64 elements.
  bool returns = false;      ///< DS atomics: returns the old value. Other atomics have GLC instead.
  bool source2 = false;      ///< DS atomics: the operand is in LDS.
  Atomic atomic{};           ///< Atomics only.

  constexpr unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
  constexpr bool operator==(const MemoryShape&) const = default;
};

/// Returns the operation's row. Null for operations that do not transfer between memory and registers
/// (caches, permutations, counters, synchronization), and for images, which image_shapes.inc describes.
const MemoryShape* memory_shape(Op op);

/// The same, with what depends on the chip.
const MemoryShape* memory_shape(Op op, const Traits& traits);

}  // namespace rigel::vgpu::isa
