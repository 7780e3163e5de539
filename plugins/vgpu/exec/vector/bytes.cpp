// Operations on the bytes and shorts of a register: sums of differences, averages, permutation.
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

U32 byte_of(U32 a, unsigned index) {
  return (a >> (index * 8)) & 0xff;
}

/// The sum of the distances of bytes; Masked leaves out those where b's byte is zero.
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

/// Fn(a, b) + c, saturating with clamp.
template <auto Fn>
constexpr Entry accumulated(Op op) {
  return saturating<([](U32 a, U32 b, U32 c) { return saturating_add(Fn(a, b), c); })>(
      rare<([](U32 a, U32 b, U32 c) { return Fn(a, b) + c; })>(op));
}

U32 high_byte_distances(U32 a, U32 b) {
  return byte_distances<false>(a, b) << 16;
}

// The sum of each pair of bytes, halved; the low bit of c's byte rounds it.
U32 averaged(U32 a, U32 b, U32 c) {
  U32 result{};
  for (unsigned i = 0; i < 4; ++i) {
    result |= ((byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1) << (i * 8);
  }
  return result;
}

// Bytes 0 … 3 are b's, 4 … 7 a's; 8 … 11 the sign of bytes 1, 3, 5, 7; 12 is zero, more is ones.
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

/// Four sums, of b with the four bytes of a (eight of them) from each of its first four bytes on.
template <bool Masked>
void slide(U32 low, U32 high, U32 b, U32 (&sums)[4]) {
  for (unsigned i = 0; i < 4; ++i)
    sums[i] = byte_distances<Masked>(funnel_right(high, low, U32{} + i * 8), b);
}

U32 shorts(U32 low, U32 high) {
  return (low & 0xffff) | (high << 16);
}
U32 short_sum(U32 sum, U32 c, bool clamp) {
  return clamp ? min_of(sum + c, U32{} + 0xffff) : sum + c;
}

// The sources of these have two rows, the last one and the result of mqsad_u32 four.
template <bool Masked>
[[gnu::flatten]] void slide_to_shorts(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // Sources have to be gone before the tail call.
    const Lanes<U32, Kind::kAny> a0(op, registers, 0, 0), a1(op, registers, 0, 1), b(op, registers, 1, 0),
        c0(op, registers, 2, 0), c1(op, registers, 2, 1);
    std::byte* const to = registers + op->dst;
    const bool clamp = (op->aux & aux::kClamp) != 0;
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          U32 sums[4];
          slide<Masked>(a0.at(lane), a1.at(lane), b.at(lane), sums);
          const U32 low = c0.at(lane), high = c1.at(lane);
          const U32 first =
              shorts(short_sum(sums[0], low & 0xffff, clamp), short_sum(sums[1], low >> 16, clamp));
          const U32 second =
              shorts(short_sum(sums[2], high & 0xffff, clamp), short_sum(sums[3], high >> 16, clamp));
          put(to + lane * 4, first, bits);
          put(to + row_bytes(op) + lane * 4, second, bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void slide_to_words(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // Sources have to be gone before the tail call.
    const Lanes<U32, Kind::kAny> a0(op, registers, 0, 0), a1(op, registers, 0, 1), b(op, registers, 1, 0);
    const Lanes<U32, Kind::kAny> c0(op, registers, 2, 0), c1(op, registers, 2, 1), c2(op, registers, 2, 2),
        c3(op, registers, 2, 3);
    std::byte* const to = registers + op->dst;
    const bool clamp = (op->aux & aux::kClamp) != 0;
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          U32 sums[4];
          slide<true>(a0.at(lane), a1.at(lane), b.at(lane), sums);
          const U32 addends[4] = {c0.at(lane), c1.at(lane), c2.at(lane), c3.at(lane)};
          for (unsigned i = 0; i < 4; ++i) {
            const U32 sum = clamp ? saturating_add(sums[i], addends[i]) : sums[i] + addends[i];
            put(to + row_bytes(op) * i + lane * 4, sum, bits);
          }
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr Entry wide(Op op, Handler handler, uint8_t rows) {
  Entry entry{op};
  entry.sources = entry.row_sources = 3;
  entry.result_rows = rows;
  entry.generic = handler;
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
    wide(Op::v_qsad_pk_u16_u8, slide_to_shorts<false>, 2),
    wide(Op::v_mqsad_pk_u16_u8, slide_to_shorts<true>, 2),
    wide(Op::v_mqsad_u32_u8, slide_to_words, 4),
};

}  // namespace

Table byte_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
