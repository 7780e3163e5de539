// Operations on the bytes and 16-bit parts of a register: sums of absolute differences, averages,
// permutation.
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

U32 byte_of(U32 a, unsigned index) {
  return (a >> (index * 8)) & 0xff;
}

/// Returns the sum of absolute differences of bytes. Masked excludes bytes where b's byte is 0.
template <bool Masked>
U32 byte_distances(U32 a, U32 b) {
  U32 sum{};
  for (unsigned i = 0; i < 4; ++i) {
    const U32 difference = distance(byte_of(a, i), byte_of(b, i));
    sum += Masked ? difference & bits_as<U32>(byte_of(b, i) != 0) : difference;
  }
  return sum;
}
U32 short_distances(U32 a, U32 b) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}

/// Fn(a, b) + c, saturating if clamp is set.
template <auto Fn>
constexpr Entry accumulated(Op op) {
  return saturating<([](U32 a, U32 b, U32 c) { return saturating_add(Fn(a, b), c); })>(
      rare<([](U32 a, U32 b, U32 c) { return Fn(a, b) + c; })>(op));
}

U32 high_byte_distances(U32 a, U32 b) {
  return byte_distances<false>(a, b) << 16;
}

// Averages pairs of bytes. The low bit of c's byte is added before halving.
U32 averaged(U32 a, U32 b, U32 c) {
  U32 result{};
  for (unsigned i = 0; i < 4; ++i) {
    result |= ((byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1) << (i * 8);
  }
  return result;
}

// Selectors 0 … 3 are b's bytes, 4 … 7 a's bytes. 8 … 11 are the sign of bytes 1, 3, 5, 7. 12 is 0x00,
// higher values are 0xff.
U32 permuted(U32 a, U32 b, U32 selectors) {
  U32 result{};
  for (unsigned i = 0; i < 4; ++i) {
    const U32 selector = byte_of(selectors, i);
    const U32 plain = ((selector & 4) != 0 ? a : b) >> ((selector & 3) * 8);
    const U32 signed_from = (selector & 2) != 0 ? a : b;
    const U32 top = (selector & 1) != 0 ? signed_from >> 31 : (signed_from >> 15) & 1;
    U32 byte = plain & 0xff;
    byte = selector >= 8 ? top * 0xff : byte;
    byte = selector == 12 ? U32{} : byte;
    byte = selector > 12 ? U32{} + 0xff : byte;
    result |= byte << (i * 8);
  }
  return result;
}

/// Returns four sums of absolute differences: of b with four bytes of a, starting at each of a's first four
/// bytes.
template <bool Masked>
Rows<4> slide(Rows<2> a, U32 b) {
  Rows<4> sums;
  for (unsigned i = 0; i < 4; ++i)
    sums.row[i] = byte_distances<Masked>(funnel_right(a.row[1], a.row[0], U32{} + i * 8), b);
  return sums;
}

// Adds each sum to a 16-bit part of c, saturating if clamp is set.
template <bool Masked>
Rows<2> slide_to_shorts(Rows<2> a, U32 b, Rows<2> c, Control control) {
  const Rows<4> sums = slide<Masked>(a, b);
  const bool clamp = (control.aux & aux::kClamp) != 0;
  const auto sum = [&](unsigned i, U32 addend) {
    return clamp ? min_of(sums.row[i] + addend, U32{} + 0xffff) : (sums.row[i] + addend) & 0xffff;
  };
  const auto pair = [&](unsigned i) {
    const U32 addends = c.row[i];
    return sum(i * 2, addends & 0xffff) | (sum(i * 2 + 1, addends >> 16) << 16);
  };
  return {{pair(0), pair(1)}};
}

Rows<4> slide_to_words(Rows<2> a, U32 b, Rows<4> c, Control control) {
  Rows<4> sums = slide<true>(a, b);
  for (unsigned i = 0; i < 4; ++i) {
    U32& sum = sums.row[i];
    sum = (control.aux & aux::kClamp) != 0 ? saturating_add(sum, c.row[i]) : sum + c.row[i];
  }
  return sums;
}

/// Marks an entry whose function handles clamp itself.
constexpr Entry clamping(Entry entry) {
  entry.takes_clamp = true;
  return entry;
}

constexpr Entry kTable[] = {
    accumulated<byte_distances<false>>(Op::v_sad_u8),
    accumulated<high_byte_distances>(Op::v_sad_hi_u8),
    accumulated<short_distances>(Op::v_sad_u16),
    accumulated<([](U32 a, U32 b) { return distance(a, b); })>(Op::v_sad_u32),
    accumulated<byte_distances<true>>(Op::v_msad_u8),
    rare<averaged>(Op::v_lerp_u8),
    hot<permuted>(Op::v_perm_b32),
    clamping(rare<slide_to_shorts<false>>(Op::v_qsad_pk_u16_u8)),
    clamping(rare<slide_to_shorts<true>>(Op::v_mqsad_pk_u16_u8)),
    clamping(rare<slide_to_words>(Op::v_mqsad_u32_u8)),
};

}  // namespace

Table byte_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
