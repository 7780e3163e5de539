// WMMA and SWMMAC of RDNA 4 against products of matrices, element by element. Layouts are written as AMD's
// matrix instruction calculator prints them: where the bits of a row number or of k are.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/handler_run.hpp"
#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

constexpr unsigned kRegisters = 48, kFirstOfA = 0, kFirstOfB = 8, kFirstOfC = 16, kFirstOfD = 24,
                   kIndices = 40;
constexpr Rules kFlush{0, false, false};

struct Place {
  unsigned lane, element;
};

// Bits of a number, the lowest first: e, of the element in the lane; l and h, the lane's bits 4 and 5.
Place place_of(std::string_view bits, unsigned number, unsigned line) {
  Place place{line, 0};
  unsigned e = 0;
  for (size_t n = 0; n < bits.size(); ++n) {
    const unsigned bit = number >> n & 1;
    if (bits[n] == 'e') {
      place.element |= bit << e++;
    } else {
      place.lane |= bit << (bits[n] == 'l' ? 4 : 5);
    }
  }
  return place;
}

/// By bits of an element, number of k and wave size.
const std::map<std::tuple<unsigned, unsigned, unsigned>, std::string_view> kLayouts = {
    {{16, 16, 32}, "eele"}, {{16, 32, 32}, "eeele"}, {{16, 16, 64}, "eelh"},  {{16, 32, 64}, "eeelh"},
    {{8, 16, 32}, "eeel"},  {{8, 32, 32}, "eeeel"},  {{8, 16, 64}, "eehl"},   {{8, 32, 64}, "eeehl"},
    {{4, 16, 32}, "eeel"},  {{4, 32, 32}, "eeeel"},  {{4, 64, 32}, "eeeeel"}, {{4, 16, 64}, "eeel"},
    {{4, 32, 64}, "eeehl"}, {{4, 64, 64}, "eeeehl"},
};

/// What the operation's name says.
struct Kind {
  Op op;
  std::string_view sum, a, b;
  unsigned k = 16;
  bool is_sparse = false;

  explicit Kind(Op operation) : op(operation) {
    const std::string_view name = isa::name(op);
    is_sparse = name.starts_with("v_swmmac_");
    sum = name.substr(name.find('_', 2) + 1);
    k = static_cast<unsigned>(std::stoul(std::string(sum.substr(sum.find('x') + 4))));
    a = sum.substr(sum.find("x16x") + 7);
    sum = sum.substr(0, sum.find('_'));
    b = a.substr(a.find('_') + 1);
    a = a.substr(0, a.find('_'));
  }
  bool is_integer() const { return sum == "i32"; }
  unsigned stored() const { return is_sparse ? k / 2 : k; }
  unsigned sum_bits() const { return sum.ends_with("16") ? 16 : 32; }
};

unsigned bits_of(std::string_view type) {
  return type.ends_with("16") ? 16 : type == "iu4" ? 4 : 8;
}

uint64_t single_of(std::string_view type, uint64_t x) {
  if (type == "f16") return converted(kHalf, x, Rules{}, kSingle, Rules{});
  if (type == "bf16") return x << 16;
  if (type == "f32") return x;
  return single_of_ocp_byte(x, type == "bf8");
}

uint32_t rounded(std::string_view type, uint64_t sum) {
  if (is_nan(kSingle, sum)) return type == "f32" ? 0x7fc00000 : type == "bf16" ? 0x7fc0 : 0x7e00;
  if (type == "f32") return static_cast<uint32_t>(sum);
  if (type == "f16") return static_cast<uint32_t>(converted(kSingle, sum, Rules{}, kHalf, Rules{}));
  return static_cast<uint32_t>((sum + 0x7fff + (sum >> 16 & 1)) >> 16);
}

class SplitMatrix : public ::testing::TestWithParam<bool> {
 protected:
  const Chip chip_{"gfx1201", GetParam()};
  const unsigned wave_size_ = GetParam() ? 32 : 64;

  uint32_t bits_at(const State& s, unsigned first, const Place& place, unsigned bits) const {
    return s.vgpr[first + place.element * bits / 32][place.lane] >> place.element * bits % 32 &
           (bits == 32 ? ~0u : (1u << bits) - 1);
  }
  Place place_of_sum(unsigned i, unsigned j) const {
    return place_of(wave_size_ == 32 ? "eeel" : "eehl", i, j);
  }
  Place place_of_source(std::string_view type, unsigned count, unsigned line, unsigned k) const {
    return place_of(kLayouts.at({bits_of(type), count, wave_size_}), k, line);
  }
  // Of A (source 0) or B, as a number of the sum's type: a single or an integer.
  int64_t source(const State& s, const isa::Instruction& in, unsigned number, std::string_view type,
                 const Place& place) const {
    const unsigned bits = bits_of(type);
    const uint32_t x = bits_at(s, number == 0 ? kFirstOfA : kFirstOfB, place, bits);
    if (type.starts_with("iu")) {
      const bool is_negative = (in.neg >> number & 1) != 0 && (x >> (bits - 1) & 1) != 0;
      return int64_t{x} - (is_negative ? int64_t{1} << bits : 0);
    }
    const uint8_t signs = place.element % 2 == 0 ? in.neg : in.neg_hi;
    const uint64_t single = single_of(type, x);
    return static_cast<int64_t>((signs >> number & 1) != 0 ? single ^ 0x80000000 : single);
  }

  uint32_t expected(const State& s, const isa::Instruction& in, const Kind& kind, unsigned i, unsigned j,
                    uint32_t c) const {
    int64_t sum = static_cast<int32_t>(c);
    uint64_t single = 0;
    if (!kind.is_integer()) {
      single = single_of(kind.sum, c);
      if ((in.neg_hi >> 2 & 1) != 0) single &= 0x7fffffff;
      if ((in.neg >> 2 & 1) != 0) single ^= 0x80000000;
    }
    for (unsigned n = 0; n < kind.stored(); ++n) {
      const Place of_a = place_of_source(kind.a, kind.stored(), i, n);
      unsigned k = n;
      if (kind.is_sparse) {
        // Two bits for each element that the lane has.
        const unsigned first = kind.stored() * 16 / wave_size_ * 2 * in.index_key;
        k = n / 2 * 4 + (s.vgpr[kIndices][of_a.lane] >> (first + of_a.element * 2) & 3);
      }
      const int64_t a = source(s, in, 0, kind.a, of_a);
      const int64_t b = source(s, in, 1, kind.b, place_of_source(kind.b, kind.k, j, k));
      sum += kind.is_integer() ? a * b : 0;
      if (!kind.is_integer())
        single = add(kSingle, single,
                     multiply(kSingle, static_cast<uint64_t>(a), static_cast<uint64_t>(b), kFlush), kFlush);
    }
    if (!kind.is_integer()) return rounded(kind.sum, single);
    if (in.clamp) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
  }
};

isa::Operand register_group(unsigned first, unsigned dwords) {
  return {static_cast<uint16_t>(isa::code::kVgpr + first), isa::Type::kB32, static_cast<uint8_t>(dwords)};
}

// Values near one, so that sums are finite.
void draw_near_one(Draw& draw, State& state, unsigned first, unsigned end, std::string_view type) {
  const uint32_t keep = type == "f32" ? 0x80ffffff : type.ends_with("16") ? 0x83ff83ff : 0x83838383;
  const uint32_t near = type == "f32"    ? 0x3f000000
                        : type == "f16"  ? 0x38003800
                        : type == "bf16" ? 0x3f003f00
                        : type == "bf8"  ? 0x3c3c3c3c
                                         : 0x38383838;
  for (unsigned n = first; n < end; ++n)
    for (uint32_t& lane : state.vgpr[n]) lane = (static_cast<uint32_t>(draw.bits()) & keep) | near;
}

TEST_P(SplitMatrix, IsSumOfProducts) {
  const isa::Target target = target_of(chip_);
  Draw draw = draw_for(chip_);
  std::set<Op> ops;
  for_each_row(chip_, {isa::Encoding::kVop3p}, [&](uint16_t, Op op) {
    const std::string_view name = isa::name(op);
    if (name.starts_with("v_wmma_") || name.starts_with("v_swmmac_")) ops.insert(op);
  });
  EXPECT_TRUE(is_of_one_operation() || ops.size() == 22) << ops.size();
  for (const Op op : ops) {
    const Kind kind(op);
    SCOPED_TRACE(isa::name(op));
    for (unsigned round = 0; round < 8; ++round) {
      State before = draw.state(target);
      restrict_to_host(before);
      before.vgpr.resize(kRegisters);
      for (auto& row : before.vgpr)
        for (uint32_t& lane : row) lane = draw.value();
      for (uint32_t& lane : before.vgpr[kIndices]) lane = static_cast<uint32_t>(draw.bits());
      if (round % 4 != 0 && !kind.is_integer()) {
        draw_near_one(draw, before, kFirstOfA, kFirstOfB, kind.a);
        draw_near_one(draw, before, kFirstOfB, kFirstOfC, kind.b);
        draw_near_one(draw, before, kFirstOfC, kIndices, kind.sum);
      }
      const auto registers = [&](std::string_view type, unsigned count) {
        return std::max(count * 16 * bits_of(type) / wave_size_ / 32, 1u);
      };
      isa::Instruction in;
      in.op = op;
      in.encoding = isa::Encoding::kVop3p;
      const unsigned sums = 256 * kind.sum_bits() / 32 / wave_size_;
      in.src[0] = register_group(kFirstOfA, registers(kind.a, kind.stored()));
      in.src[1] = register_group(kFirstOfB, registers(kind.b, kind.k));
      in.src[2] = kind.is_sparse ? register_group(kIndices, 1) : register_group(kFirstOfC, sums);
      const unsigned first_of_c = kind.is_sparse || draw.one_in(2) ? kFirstOfC : kFirstOfD;
      in.dst[0] = register_group(first_of_c, sums);
      if (kind.is_sparse) {
        in.index_key = static_cast<uint8_t>(draw.below(kind.stored() * 16 / wave_size_ > 8 ? 1 : 2));
      }
      const bool signs_sources = bits_of(kind.a) == 16 || kind.is_integer();
      in.neg = static_cast<uint8_t>(draw.below(kind.is_sparse || kind.is_integer() ? 4 : 8));
      if (!kind.is_integer()) in.neg_hi = static_cast<uint8_t>(draw.below(kind.is_sparse ? 4 : 8));
      if (!signs_sources) in.neg &= 4, in.neg_hi &= 4;
      in.clamp = kind.is_integer() && draw.one_in(2);
      for (const SimdLevel level : simd_levels()) {
        State after = before;
        ASSERT_EQ(run_handlers({&in, 1}, level, after).refusal, "");
        for (unsigned i = 0; i < 16; ++i) {
          for (unsigned j = 0; j < 16; ++j) {
            const Place place = place_of_sum(i, j);
            const uint32_t c = bits_at(before, kFirstOfC, place, kind.sum_bits()),
                           now = bits_at(after, first_of_c, place, kind.sum_bits()),
                           wanted = expected(before, in, kind, i, j, c);
            ASSERT_EQ(now, wanted) << "row " << i << ", column " << j;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SplitMatrix, ::testing::Bool(),
                         [](const auto& wave32) { return wave32.param ? "Wave32" : "Wave64"; });

}  // namespace
}  // namespace rigel::vgpu::exec::reference
