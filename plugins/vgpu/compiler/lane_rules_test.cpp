// Compares the rules on random affine operands with the instructions, lane by lane: if all guards hold, every
// lane of the result is right.
#include "plugins/vgpu/compiler/lane_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "plugins/vgpu/exec/native/test_plans.hpp"
#include "plugins/vgpu/exec/operands.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// A run-time value: 32 or 64 bits, or a condition.
struct Number {
  uint64_t value = 0;
  unsigned bits = 32;

  Number with(uint64_t other) const {
    return {bits == 64 ? other : other & ((uint64_t{1} << bits) - 1), bits};
  }
  Number operator!() const { return with(~value); }
};
Number operator+(Number x, Number y) {
  return x.with(x.value + y.value);
}
Number operator-(Number x, Number y) {
  return x.with(x.value - y.value);
}
Number operator*(Number x, Number y) {
  return x.with(x.value * y.value);
}
Number operator&(Number x, Number y) {
  return x.with(x.value & y.value);
}
Number operator|(Number x, Number y) {
  return x.with(x.value | y.value);
}
Number operator^(Number x, Number y) {
  return x.with(x.value ^ y.value);
}
Number operator==(Number x, Number y) {
  return {x.value == y.value ? 1u : 0u, 1};
}
Number operator+(Number x, uint32_t y) {
  return x.with(x.value + y);
}
Number operator*(Number x, uint32_t y) {
  return x.with(x.value * y);
}
Number operator&(Number x, uint32_t y) {
  return x.with(x.value & y);
}
Number operator<<(Number x, uint32_t y) {
  return x.with(x.value << y);
}
Number operator>>(Number x, uint32_t y) {
  return x.with(x.value >> y);
}

constexpr unsigned kLanesOfWave = 64;

// A vector register: its shape and the values of base and pitch.
struct Row {
  ShapePointer shape;
  Number base, pitch;
  bool is_ordered = false;

  uint32_t lane(unsigned l) const {
    return static_cast<uint32_t>(base.value + shape->offsets[l] + pitch.value * shape->pitches[l]);
  }
  // Whether values increase with offsets.
  bool has_order() const {
    std::array<std::pair<int32_t, uint32_t>, kLanesOfWave> lanes;
    for (unsigned l = 0; l < kLanesOfWave; ++l) lanes[l] = {static_cast<int32_t>(shape->offsets[l]), lane(l)};
    std::sort(lanes.begin(), lanes.end());
    return std::is_sorted(lanes.begin(), lanes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  }
};
using Rows = std::map<unsigned, Row>;

class ConcreteNumbers {
 public:
  using Number = compiler::Number;

  ConcreteNumbers(const isa::Instruction& in, const Rows& rows, std::map<uint16_t, Number>& carries)
      : in_(in), rows_(rows), carries_(carries) {}

  static Number is_below(Number x, Number y) { return {x.value < y.value ? 1u : 0u, 1}; }
  static Number is_below(Number x, uint32_t y) { return is_below(x, Number{y}); }
  static Number shifted_signed(Number x, uint32_t y) {
    return x.with(static_cast<uint32_t>(static_cast<int32_t>(x.value) >> y));
  }
  static bool is_same(Number x, Number y) { return x.value == y.value; }
  static Number widened(Number x) { return {x.value, 64}; }
  static Number widened_signed(Number x) {
    return {static_cast<uint64_t>(int64_t{static_cast<int32_t>(x.value)}), 64};
  }
  static Number narrowed(Number x) { return {x.value & 0xffffffff, 32}; }

  Number base(unsigned i, unsigned part) {
    if (in_.src[i].is_vgpr()) return rows_.at(in_.src[i].vgpr() + part).base;
    uint64_t bits = 0;
    EXPECT_TRUE(constant_of(in_.src[i], in_, bits));
    return {bits >> (part * 32) & 0xffffffff};
  }
  Number pitch(unsigned i, unsigned part) { return rows_.at(in_.src[i].vgpr() + part).pitch; }
  bool is_ordered(unsigned i, unsigned part) {
    return in_.src[i].is_vgpr() && rows_.at(in_.src[i].vgpr() + part).is_ordered;
  }
  Number constant(uint32_t value) { return {value}; }
  Number by_operation() {
    is_by_operation = true;
    return {};
  }
  Number carry(uint16_t code) { return carries_.at(code); }
  void set_carry(uint16_t code, Number carry) { carries_[code] = carry; }
  void set_carry_of_sum(uint16_t code, Number x, Number y) {
    set_carry(code, (widened(x) + widened(y)) >> 32);
  }
  Number sum_above(uint16_t code, Number x, Number y) { return x + y + narrowed(carry(code)); }
  void guard(Number is) { holds &= is.value != 0; }

  bool holds = true, is_by_operation = false;

 private:
  const isa::Instruction& in_;
  const Rows& rows_;
  std::map<uint16_t, Number>& carries_;
};

Row row_of(const Affine<Number>& known) {
  Row row{known.shape, known.base, known.pitch, known.is_ordered};
  if (known.shape->base) row.base = {*known.shape->base};
  return row;
}

class Random {
 public:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_() % limit); }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<uint32_t>(list.size())));
  }
  Row row() {
    Shape shape;
    const auto step = one_of<uint32_t>({1, 2, 4, 8, 64, 1 << 12, 1 << 18, ~0u, ~3u});
    const auto far = [&] {
      return one_of<uint32_t>({0, 1, 2, ~0u, 5, 1 << 20, 1 << 24, (1 << 24) - 1, 0xff000000});
    };
    const uint32_t even = far(), odd = far(), kind = below(5);
    for (unsigned l = 0; l < kLanesOfWave; ++l) {
      shape.offsets[l] = kind == 0   ? 0
                         : kind == 1 ? l * step
                         : kind == 2 ? (l % 2 == 0 ? even : odd)
                                     : l % 16 * step;
      if (kind == 3) shape.pitches[l] = static_cast<uint8_t>(l / 16);
    }
    uint32_t base =
        one_of<uint32_t>({0, 1, 1 << 24, (1u << 30) - 32, (1u << 31) - 32, ~31u, ~0u, 0x3fffffc0});
    if (below(3) == 0) base = engine_();
    if (below(3) == 0) base &= ~0xfffu;
    if (below(2) == 0) shape.zeros = std::min(12, std::countr_zero(base));
    if (kind != 3 && below(4) == 0) shape.base = base;
    Row row{normalized(shape), {base}, {}, false};
    if (row.shape->base) row.base.value = *row.shape->base;
    if (kind == 3) row.pitch.value = one_of<uint32_t>({0, 1, 16, 4096, (1 << 24) - 1, 1 << 24, ~0u});
    row.is_ordered = kind != 3 && below(2) == 0 && row.has_order();
    return row;
  }

 private:
  std::mt19937 engine_{1};
};

struct Result {
  uint64_t value = 0;
  bool is_wide = false;
  bool carry = false;
};
// Arguments: the lanes of v6, v7, v10, v12 and v13.
using Lanes = std::function<Result(uint32_t a, uint32_t high, uint32_t b, uint32_t x, uint32_t y)>;
struct Case {
  const char* name;
  std::vector<uint32_t> code;
  Lanes truth;
  bool is_low_zero = false;
};

uint64_t pair_of(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"v_ashrrev_i32 31",
       {0x22100c9f},
       [](auto a, auto, auto, auto, auto) {
         return Result{static_cast<uint32_t>(static_cast<int32_t>(a) >> 31)};
       }},
      {"v_lshlrev_b64 8",
       {0xd28f0008, 0x00020c88},
       [](auto a, auto h, auto, auto, auto) {
         return Result{pair_of(a, h) << 8, true};
       }},
      {"v_lshlrev_b64 2",
       {0xd28f0008, 0x00020c82},
       [](auto a, auto h, auto, auto, auto) {
         return Result{pair_of(a, h) << 2, true};
       }},
      {"v_ashrrev_i64 30",
       {0xd2910008, 0x00020c9e},
       [](auto a, auto h, auto, auto, auto) {
         return Result{static_cast<uint64_t>(static_cast<int64_t>(pair_of(a, h)) >> 30), true};
       },
       true},
      {"v_add_co_u32",
       {0x32101506},
       [](auto a, auto, auto b, auto, auto) {
         return Result{a + b, false, uint64_t{a} + b > ~0u};
       }},
      {"v_add_u32", {0x68101506}, [](auto a, auto, auto b, auto, auto) { return Result{a + b}; }},
      {"v_sub_u32", {0x6a101506}, [](auto a, auto, auto b, auto, auto) { return Result{a - b}; }},
      {"v_and_b32", {0x26101506}, [](auto a, auto, auto b, auto, auto) { return Result{a & b}; }},
      {"v_or_b32", {0x28101506}, [](auto a, auto, auto b, auto, auto) { return Result{a | b}; }},
      {"v_xor_b32", {0x2a101506}, [](auto a, auto, auto b, auto, auto) { return Result{a ^ b}; }},
      {"v_lshrrev_b32 3", {0x20100c83}, [](auto a, auto, auto, auto, auto) { return Result{a >> 3}; }},
      {"v_bfe_u32 3 4",
       {0xd1c80008, 0x02110706},
       [](auto a, auto, auto, auto, auto) { return Result{a >> 3 & 15}; }},
      {"v_lshlrev_b32 4", {0x24100c84}, [](auto a, auto, auto, auto, auto) { return Result{a << 4}; }},
      {"v_lshl_add_u32 5",
       {0xd1fd0008, 0x04290b06},
       [](auto a, auto, auto b, auto, auto) { return Result{(a << 5) + b}; }},
      {"v_lshl_or_b32 5",
       {0xd2000008, 0x04290b06},
       [](auto a, auto, auto b, auto, auto) { return Result{a << 5 | b}; }},
      {"v_add_lshl_u32 3",
       {0xd1fe0008, 0x020e1506},
       [](auto a, auto, auto b, auto, auto) { return Result{(a + b) << 3}; }},
      {"v_mul_lo_u32",
       {0xd2850008, 0x00021906},
       [](auto a, auto, auto, auto x, auto) { return Result{a * x}; }},
      {"v_mad_u64_u32",
       {0xd1e86a08, 0x041a1b0c},
       [](auto a, auto h, auto, auto x, auto y) {
         const uint64_t product = uint64_t{x} * y, sum = product + pair_of(a, h);
         return Result{sum, true, sum < product};
       }},
  };
  return all;
}

class LaneRules : public PlanTest, public ::testing::WithParamInterface<size_t> {};

TEST_P(LaneRules, MatchInstructionsIfGuardsHold) {
  const Case& test_case = cases()[GetParam()];
  std::vector<uint32_t> code = test_case.code;
  // v_addc_co_u32 v11, vcc, 0, v7, vcc; global_store_dwordx4 v[0:1], v[8:11], off
  code.insert(code.end(), {0x38160e80, 0xdc7c8000, 0x007f0800});
  const auto plan = plan_of(code);
  Random random;
  unsigned known = 0, held = 0;
  for (int time = 0; time < 2000; ++time) {
    Rows rows;
    for (const unsigned index : {6u, 7u, 10u, 12u, 13u}) rows[index] = random.row();
    // 64-bit rules need a uniform upper half.
    if (random.below(4) != 0) {
      for (const unsigned index : {7u, 12u, 13u}) rows[index].shape = scalar_shape();
    }
    if (test_case.is_low_zero) rows[6] = {constant_shape(0), {0}, {}, false};
    Shapes shapes;
    shapes.full.set(isa::code::kExecLo);
    for (const auto& [index, row] : rows) shapes.rows[index] = row.shape;
    std::map<uint16_t, Number> carries;
    const auto results_of = [&](uint32_t node, bool& holds) {
      ConcreteNumbers numbers(plan->graph.nodes[node].instruction, rows, carries);
      const auto results = Rules<ConcreteNumbers>(*plan, node, 0, shapes, numbers).results();
      holds = numbers.holds && !numbers.is_by_operation;
      return results;
    };
    bool holds = false;
    const auto results = results_of(0, holds);
    if (results.low.shape == nullptr) continue;
    ++known;
    if (!holds) continue;
    ++held;
    const Row low = row_of(results.low);
    ASSERT_TRUE(!low.is_ordered || low.has_order()) << time;
    const bool has_carry = results.has_carry;
    if (has_carry) shapes.uniform_masks.set(isa::code::kVccLo);
    const bool carry = has_carry && carries.at(isa::code::kVccLo).value != 0;
    bool add_holds = false;
    const auto carry_sum = has_carry ? results_of(1, add_holds) : results;
    for (unsigned l = 0; l < kLanesOfWave; ++l) {
      const Result expected = test_case.truth(rows[6].lane(l), rows[7].lane(l), rows[10].lane(l),
                                              rows[12].lane(l), rows[13].lane(l));
      ASSERT_EQ(low.lane(l), static_cast<uint32_t>(expected.value)) << "lane " << l << " of " << time;
      if (results.high.shape != nullptr) {
        ASSERT_TRUE(expected.is_wide);
        const Row high = row_of(results.high);
        ASSERT_EQ(high.lane(l), static_cast<uint32_t>(expected.value >> 32))
            << "lane " << l << " of " << time;
      }
      if (!has_carry) continue;
      ASSERT_EQ(carry, expected.carry) << "lane " << l << " of " << time;
      if (carry_sum.low.shape == nullptr || !add_holds) continue;
      const Row sum = row_of(carry_sum.low);
      ASSERT_EQ(sum.lane(l), rows[7].lane(l) + (expected.carry ? 1 : 0)) << "lane " << l << " of " << time;
    }
  }
  EXPECT_GT(known, 100u);
  EXPECT_GT(held, 40u) << "of " << known;
}

INSTANTIATE_TEST_SUITE_P(, LaneRules, ::testing::Range(size_t{0}, cases().size()), [](const auto& of) {
  std::string name = cases()[of.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
