// WMMA of RDNA 3 against products of matrices, element by element. The layout of the registers is that of the
// RDNA 3 ISA manual, in the words of its tables: matrix A, row l % 16 in lane l; B, column l % 16; C and D,
// see element_of_sum().
#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/handler_run.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

constexpr unsigned kWaveMatrixVgprs = 64, kFirstOfA = 0, kFirstOfB = 8, kFirstOfC = 16, kFirstOfD = 24;
constexpr Rules kFlushRules{0, false, false};

struct WaveMatrixKind {
  Op op;
  unsigned bits;  // of an element of A and B
  Format sums;    // of C and D; 32 bits for integers
  bool is_bf16 = false, is_integer = false, is_wide = true;
};
const WaveMatrixKind kWaveMatrices[] = {
    {Op::v_wmma_f32_16x16x16_f16, 16, kSingle},
    {Op::v_wmma_f32_16x16x16_bf16, 16, kSingle, true},
    {Op::v_wmma_f16_16x16x16_f16, 16, kHalf, false, false, false},
    {Op::v_wmma_bf16_16x16x16_bf16, 16, kSingle, true, false, false},
    {Op::v_wmma_i32_16x16x16_iu8, 8, kSingle, false, true},
    {Op::v_wmma_i32_16x16x16_iu4, 4, kSingle, false, true},
};

isa::Operand register_group(unsigned first, unsigned dwords) {
  return {static_cast<uint16_t>(isa::code::kVgpr + first), isa::Type::kB256, static_cast<uint8_t>(dwords)};
}

// Register and lane of row i and column j of C and D. In waves of 32, even rows are in lanes 0 to 15; in
// waves of 64, rows 4v to 4v + 3 are in the four groups of 16 lanes.
struct ElementPlace {
  unsigned vgpr, lane;
};
ElementPlace element_of_sum(unsigned i, unsigned j, unsigned wave_size) {
  return wave_size == 32 ? ElementPlace{i / 2, j + 16 * (i % 2)} : ElementPlace{i / 4, j + 16 * (i % 4)};
}

uint64_t element(const State& s, const isa::Instruction& in, const WaveMatrixKind& kind, unsigned source,
                 unsigned line, unsigned k) {
  const unsigned per_dword = 32 / kind.bits;
  const uint32_t dword = s.vgpr[(source == 0 ? kFirstOfA : kFirstOfB) + k / per_dword][line];
  uint64_t x = dword >> kind.bits * (k % per_dword) & ((1u << kind.bits) - 1);
  if (kind.is_integer) return x;
  const uint8_t signs = k % 2 == 0 ? in.neg : in.neg_hi;
  if ((signs >> source & 1) != 0) x ^= 0x8000;
  return kind.is_bf16 ? x << 16 : converted(kHalf, x, Rules{}, kSingle, Rules{});
}

uint32_t expected_element(const State& before, const isa::Instruction& in, const WaveMatrixKind& kind,
                          unsigned i, unsigned j, uint32_t c) {
  if (kind.is_integer) {
    int64_t sum = static_cast<int32_t>(c);
    const auto extended = [&](uint64_t x, unsigned source) {
      const bool is_negative = (in.neg >> source & 1) != 0 && (x >> (kind.bits - 1) & 1) != 0;
      return static_cast<int64_t>(x) - (is_negative ? int64_t{1} << kind.bits : 0);
    };
    for (unsigned k = 0; k < 16; ++k)
      sum +=
          extended(element(before, in, kind, 0, i, k), 0) * extended(element(before, in, kind, 1, j, k), 1);
    if (in.clamp) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
  }
  uint64_t sum = c;
  if (!kind.is_wide) sum = kind.is_bf16 ? uint64_t{c} << 16 : converted(kHalf, c, Rules{}, kSingle, Rules{});
  if ((in.neg_hi >> 2 & 1) != 0) sum &= 0x7fffffff;
  if ((in.neg >> 2 & 1) != 0) sum ^= 0x80000000;
  for (unsigned k = 0; k < 16; ++k) {
    const uint64_t a = element(before, in, kind, 0, i, k), b = element(before, in, kind, 1, j, k);
    sum = add(kSingle, sum, multiply(kSingle, a, b, kFlushRules), kFlushRules);
  }
  if (is_nan(kSingle, sum)) return kind.is_wide ? 0x7fc00000 : kind.is_bf16 ? 0x7fc0 : 0x7e00;
  if (kind.is_wide) return static_cast<uint32_t>(sum);
  if (!kind.is_bf16) return static_cast<uint32_t>(converted(kSingle, sum, Rules{}, kHalf, Rules{}));
  return static_cast<uint32_t>((sum + 0x7fff + (sum >> 16 & 1)) >> 16);
}

class WaveMatrix : public ::testing::TestWithParam<bool> {};

TEST_P(WaveMatrix, IsSumOfProducts) {
  const Chip chip{"gfx1100", GetParam()};
  const unsigned wave_size = chip.wave32 ? 32 : 64, sums = wave_size == 32 ? 8 : 4;
  Draw draw = draw_for(chip);
  for (const WaveMatrixKind& kind : kWaveMatrices) {
    for (unsigned round = 0; round < 40; ++round) {
      State before = draw.state(target_of(chip));
      restrict_to_host(before);
      before.vgpr.resize(kWaveMatrixVgprs);
      for (auto& row : before.vgpr) {
        for (uint32_t& lane : row) {
          // Halves near one, so that sums are finite; sometimes any.
          lane = round % 4 == 0 ? draw.value() : static_cast<uint32_t>(draw.bits());
          if (round % 4 != 0 && !kind.is_integer) {
            const uint32_t near = kind.is_bf16 ? 0x3f003f00 : 0x38003800;
            lane = (lane & 0x83ff83ff) | near;
          }
        }
      }
      isa::Instruction in;
      in.op = kind.op;
      in.encoding = isa::Encoding::kVop3p;
      in.dst[0] = register_group(draw.one_in(2) ? kFirstOfC : kFirstOfD, sums);
      in.src[0] = register_group(kFirstOfA, kind.bits / 2);
      in.src[1] = register_group(kFirstOfB, kind.bits / 2);
      in.src[2] = register_group(kFirstOfC, sums);
      in.neg = static_cast<uint8_t>(draw.below(kind.is_integer ? 4 : 8));
      if (!kind.is_integer) in.neg_hi = static_cast<uint8_t>(draw.below(8));
      in.clamp = kind.is_integer && draw.one_in(2);
      if (!kind.is_wide && draw.one_in(2)) in.op_sel = 4;
      const unsigned shift = in.op_sel != 0 ? 16 : 0;
      for (const SimdLevel level : simd_levels()) {
        State after = before;
        ASSERT_EQ(run_handlers({&in, 1}, level, after).refusal, "");
        for (unsigned i = 0; i < 16; ++i) {
          for (unsigned j = 0; j < 16; ++j) {
            const ElementPlace place = element_of_sum(i, j, wave_size);
            const unsigned d = in.dst[0].vgpr() + place.vgpr;
            const uint32_t old = before.vgpr[kFirstOfC + place.vgpr][place.lane],
                           now = after.vgpr[d][place.lane];
            const uint32_t mask = kind.is_wide || kind.is_integer ? ~0u : 0xffff;
            const uint32_t expected = expected_element(before, in, kind, i, j, old >> shift & mask);
            ASSERT_EQ(now >> shift & mask, expected)
                << isa::name(kind.op) << ", row " << i << ", column " << j;
            // The other half stays.
            if (mask != ~0u) {
              EXPECT_EQ(now >> (16 - shift) & mask, before.vgpr[d][place.lane] >> (16 - shift) & mask);
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, WaveMatrix, ::testing::Bool(),
                         [](const auto& wave32) { return wave32.param ? "Wave32" : "Wave64"; });

}  // namespace
}  // namespace rigel::vgpu::exec::reference
