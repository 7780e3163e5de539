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

constexpr unsigned kBlockRegisters = 32;

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
  /// Lanes exchange parts of their elements (transposed_from()).
  bool transposes = false;
  /// Up to kBlockRegisters elements of one dword: bit n of M0 selects register n and dword n in memory.
  bool is_block = false;
  Atomic atomic{};  ///< Atomics only.

  constexpr unsigned dwords() const { return bytes < 4 ? 1 : bytes / 4; }
  /// Number of registers that one operand of the instruction names, without a format.
  constexpr unsigned registers() const { return is_block ? kBlockRegisters : dwords(); }
  constexpr bool operator==(const MemoryShape&) const = default;
};

/// Part of a lane's element.
struct ElementPart {
  unsigned lane = 0;
  unsigned part = 0;
};
constexpr unsigned kTransposedParts = 8;

/// Returns the part of a loaded element that becomes part `part` of a lane's result, for transposing loads of
/// elements of 8 parts of `part_bytes` bytes, in waves of 32. Groups of lanes exchange parts, so that a lane
/// gets a column. With 2 bytes, lane l gets part l % 8 of each lane of its group of 8; measured on gfx1201
/// (Tessera, docs). With 1 byte, the first dword comes from the lanes 0 to 3 (lanes 8 to 15: 4 to 7) of a
/// group of 16, the second from those 8 lanes further; as in AMD's emulator (rocjitsu).
constexpr ElementPart transposed_from(unsigned part_bytes, unsigned lane, unsigned part) {
  const unsigned source =
      part_bytes == 2 ? lane / 8 * 8 + part : lane / 16 * 16 + part / 4 * 8 + lane % 16 / 8 * 4 + part % 4;
  return {source, lane % kTransposedParts};
}

/// Returns the operation's row. Null for operations that do not transfer between memory and registers
/// (caches, permutations, counters, synchronization), and for images, which image_shapes.inc describes.
const MemoryShape* memory_shape(Op op);

/// The same, with what depends on the chip.
const MemoryShape* memory_shape(Op op, const Traits& traits);

/// Whether the operation accesses a block of registers (MemoryShape::is_block).
inline bool accesses_block(Op op) {
  const MemoryShape* const shape = memory_shape(op);
  return shape != nullptr && shape->is_block;
}

}  // namespace rigel::vgpu::isa
