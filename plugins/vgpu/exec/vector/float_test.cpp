// Tests of floating-point operations that the comparison with the reference model does not decide: accuracy
// of transcendental functions, and named cases of modes, modifiers and conversions.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/vector/vector_test_support.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Encoding;
using isa::Op;
using isa::Type;

float f(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
uint32_t u(float value) {
  return std::bit_cast<uint32_t>(value);
}

void set_mode(Machine& m, FloatMode mode) {
  m.context.mode = mode;
  set_mxcsr(mxcsr_of(mode.round32 | static_cast<uint32_t>(mode.denorm32) << 4));
}

/// Restores MXCSR at the end of the scope.
struct MxcsrRestorer {
  uint32_t mxcsr = get_mxcsr();
  ~MxcsrRestorer() { set_mxcsr(mxcsr); }
};

bool same(uint32_t a, uint32_t b) {
  return a == b || (std::isnan(f(a)) && std::isnan(f(b)));
}

float run1(Machine& m, Op op, float a) {
  m.vgpr(0, 0) = u(a);
  EXPECT_EQ(m.run(instruction(op, Encoding::kVop1, {v(3, Type::kF32)}, {v(0, Type::kF32)})), "");
  return f(m.vgpr(3, 0));
}
uint32_t run3(Machine& m, isa::Instruction i, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  m.vgpr(0, 0) = a;
  m.vgpr(1, 0) = b;
  m.vgpr(2, 0) = c;
  EXPECT_EQ(m.run(i), "");
  return m.vgpr(3, 0);
}

// Expected values of sine and cosine. Arguments count turns; subtracting whole turns and quarters is exact.
long double sine(long double turns) {
  const long double rest = turns - std::nearbyint(turns);
  const long double quarter = std::fabs(rest) > 0.25L ? std::copysign(0.5L, rest) - rest : rest;
  return std::sin(quarter * (2 * std::acos(-1.0L)));
}
long double cosine(long double turns) {
  return sine(0.25L - std::fabs(turns - std::nearbyint(turns)));
}

struct Approximation {
  Op half, single, of_double;  // v_nop: not available
  long double (*exact)(long double);
};
const Approximation kApproximations[] = {
    {Op::v_rcp_f16, Op::v_rcp_f32, Op::v_rcp_f64, [](long double x) { return 1 / x; }},
    {Op::v_rsq_f16, Op::v_rsq_f32, Op::v_rsq_f64, [](long double x) { return 1 / std::sqrt(x); }},
    {Op::v_sqrt_f16, Op::v_sqrt_f32, Op::v_sqrt_f64, [](long double x) { return std::sqrt(x); }},
    {Op::v_exp_f16, Op::v_exp_f32, Op::v_nop, [](long double x) { return std::exp2(x); }},
    {Op::v_log_f16, Op::v_log_f32, Op::v_nop, [](long double x) { return std::log2(x); }},
    {Op::v_sin_f16, Op::v_sin_f32, Op::v_nop, sine},
    {Op::v_cos_f16, Op::v_cos_f32, Op::v_nop, cosine},
};

long double value_of_half(uint32_t bits) {
  const uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const long double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nanl("") : sign * static_cast<long double>(INFINITY);
  if (exponent == 0) return sign * std::ldexp(static_cast<long double>(fraction), -24);
  return sign * std::ldexp(static_cast<long double>(fraction | 0x400), static_cast<int>(exponent) - 25);
}

/// Whether a result is within 2^-digits of the exact result, relative to its exponent. Denormals have fewer
/// digits. Overflow may be infinity or the largest number.
bool is_within_a_unit(long double exact, long double result, int digits, int min_exponent,
                      long double largest) {
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) && std::isnan(result);
  if (std::isinf(exact) || std::isinf(result)) {
    return std::signbit(exact) == std::signbit(result) && std::fabs(exact) >= largest &&
           std::fabs(result) >= largest;
  }
  const int exponent = exact == 0 ? min_exponent : std::max(std::ilogb(exact), min_exponent);
  // The last term is the error of long double for results near zero.
  return std::fabs(exact - result) <= std::ldexp(1.0L, exponent - digits) + 1e-19L;
}

/// Test parameters for the approximations of one type; each round has 64 arguments.
struct Precision {
  Op Approximation::*op;
  Type type;
  unsigned dwords, rounds, seed;
  void (*draw)(Machine&, uint32_t lane, unsigned round, std::mt19937&);  // writes the argument to v0
  long double (*value)(Machine&, uint32_t row, uint32_t lane);
  int digits, min_exponent;
  long double largest;
};

void expect_within_a_unit(const Precision& precision) {
  constexpr uint32_t kResult = 4;
  MxcsrRestorer keep;
  for (const Approximation& approximation : kApproximations) {
    const Op op = approximation.*precision.op;
    if (op == Op::v_nop) continue;
    for (const SimdLevel level : simd_levels()) {
      Machine m(level, 64, {10, 3, 0});
      set_mode(m, {});
      const auto in = instruction(op, Encoding::kVop1, {v(kResult, precision.type, precision.dwords)},
                                  {v(0, precision.type, precision.dwords)});
      std::mt19937 random(precision.seed);
      for (unsigned round = 0; round < precision.rounds; ++round) {
        for (uint32_t lane = 0; lane < 64; ++lane) precision.draw(m, lane, round, random);
        ASSERT_EQ(m.run(in), "");
        for (uint32_t lane = 0; lane < 64; ++lane) {
          const long double x = precision.value(m, 0, lane), result = precision.value(m, kResult, lane);
          ASSERT_TRUE(is_within_a_unit(approximation.exact(x), result, precision.digits,
                                       precision.min_exponent, precision.largest))
              << isa::name(op) << " of " << x << " is " << result << " level " << int(level);
        }
      }
    }
  }
}

TEST(VectorFloats, HalfTranscendentalsAreWithinOneUlp) {
  expect_within_a_unit(
      {&Approximation::half, Type::kF16, 1, 0x10000 / 64, 0,
       [](Machine& m, uint32_t lane, unsigned round, std::mt19937&) { m.vgpr(0, lane) = round * 64 + lane; },
       [](Machine& m, uint32_t row, uint32_t lane) { return value_of_half(m.vgpr(row, lane) & 0xffff); }, 10,
       -14, 65504});
}

TEST(VectorFloats, SingleTranscendentalsAreWithinOneUlp) {
  expect_within_a_unit(
      {&Approximation::single, Type::kF32, 1, 1000, 3,
       [](Machine& m, uint32_t lane, unsigned round, std::mt19937& random) {
         // Any exponent, or exponents of numbers with digits on both sides of the point.
         const auto bits = static_cast<uint32_t>(random());
         m.vgpr(0, lane) = round % 2 == 0 ? bits : (bits & 0x807fffff) | (112 + random() % 24) << 23;
       },
       [](Machine& m, uint32_t row, uint32_t lane) { return static_cast<long double>(f(m.vgpr(row, lane))); },
       23, -126, 0x1.fffffep127L});
}

TEST(VectorFloats, DoubleTranscendentalsAreWithinOneUlp) {
  expect_within_a_unit({&Approximation::of_double, Type::kF64, 2, 200, 5,
                        [](Machine& m, uint32_t lane, unsigned, std::mt19937& random) {
                          m.vgpr(0, lane) = static_cast<uint32_t>(random());
                          m.vgpr(1, lane) = static_cast<uint32_t>(random());
                        },
                        [](Machine& m, uint32_t row, uint32_t lane) {
                          return static_cast<long double>(std::bit_cast<double>(m.vgpr64(row, lane)));
                        },
                        52, -1022, 0x1.fffffffffffffp1023L});
}

// gfx8 and gfx9 accept 256 turns in either direction. Larger angles count as 0.
TEST(VectorFloats, AnglesBeyond256TurnsNeedGfx10) {
  for (const SimdLevel level : simd_levels()) {
    for (const isa::Target target : {isa::Target{8, 0, 3}, isa::Target{9, 0, 6}, isa::Target{10, 1, 0}}) {
      Machine m(level, 64, target);
      const bool accepts_all = target.major == 10;
      for (const float beyond : {256.25f, -300.25f, 70000.75f}) {
        const auto expected_sine = static_cast<float>(sine(beyond));
        EXPECT_EQ(run1(m, Op::v_sin_f32, beyond), accepts_all ? expected_sine : 0);
        EXPECT_NEAR(run1(m, Op::v_cos_f32, beyond), accepts_all ? 0 : 1, 0);
      }
      EXPECT_EQ(run1(m, Op::v_sin_f32, 255.25f), 1);
      EXPECT_EQ(run1(m, Op::v_sin_f32, -256), 0);
      EXPECT_EQ(run1(m, Op::v_cos_f32, 256), 1);
      EXPECT_TRUE(std::isnan(run1(m, Op::v_sin_f32, INFINITY)));
      EXPECT_TRUE(std::isnan(run1(m, Op::v_sin_f32, NAN)));
    }
  }
}

TEST(VectorFloats, TranscendentalsOfSpecialValues) {
  const float infinity = INFINITY;
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    EXPECT_EQ(run1(m, Op::v_exp_f32, infinity), infinity);
    EXPECT_EQ(run1(m, Op::v_exp_f32, -infinity), 0);
    EXPECT_EQ(run1(m, Op::v_exp_f32, 3), 8);
    EXPECT_EQ(run1(m, Op::v_log_f32, 0), -infinity);
    EXPECT_EQ(run1(m, Op::v_log_f32, 8), 3);
    EXPECT_TRUE(std::isnan(run1(m, Op::v_log_f32, -1)));
    EXPECT_EQ(run1(m, Op::v_sin_f32, 0.25f), 1);
    EXPECT_EQ(run1(m, Op::v_sin_f32, 17.5f), 0);
    EXPECT_EQ(run1(m, Op::v_cos_f32, 0.25f), 0);
    EXPECT_EQ(run1(m, Op::v_cos_f32, 0.5f), -1);
    EXPECT_TRUE(std::isnan(run1(m, Op::v_cos_f32, infinity)));
    EXPECT_EQ(run1(m, Op::v_rsq_f32, 0), infinity);
    EXPECT_EQ(run1(m, Op::v_rsq_f32, infinity), 0);
    EXPECT_EQ(run1(m, Op::v_rsq_f32, 0x1p-149f), 0x1.6a09e6p74f);
    EXPECT_EQ(run1(m, Op::v_fract_f32, -0x1p-40f), 0x1.fffffep-1f);
    EXPECT_EQ(run1(m, Op::v_frexp_mant_f32, 0x1.8p-140f), 0.75f);
    EXPECT_EQ(static_cast<int>(u(run1(m, Op::v_frexp_exp_i32_f32, 0x1.8p-140f))), -139);
  }
}

TEST(VectorFloats, MinHandlesNansAccordingToIeeeMode) {
  const uint32_t quiet = 0x7fc00001, signaling = 0x7f800001, one = u(1);
  const auto min =
      instruction(Op::v_min_f32, Encoding::kVop2, {v(3, Type::kF32)}, {v(0, Type::kF32), v(1, Type::kF32)});
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    m.context.mode.ieee = true;
    EXPECT_EQ(run3(m, min, quiet, one), one);
    EXPECT_EQ(run3(m, min, one, quiet), one);
    EXPECT_EQ(run3(m, min, signaling, one), 0x7fc00001u);
    EXPECT_EQ(run3(m, min, one, signaling), 0x7fc00001u);
    EXPECT_EQ(run3(m, min, 0x80000000, 0), 0x80000000u);
    EXPECT_EQ(run3(m, min, 0, 0x80000000), 0x80000000u);
    m.context.mode.ieee = false;
    EXPECT_EQ(run3(m, min, signaling, one), one);
    EXPECT_EQ(run3(m, min, one, signaling), one);
  }
}

TEST(VectorFloats, DenormalsFollowMode) {
  MxcsrRestorer keep;
  auto add =
      instruction(Op::v_add_f32, Encoding::kVop2, {v(3, Type::kF32)}, {v(0, Type::kF32), v(1, Type::kF32)});
  auto mad = instruction(Op::v_mad_f32, Encoding::kVop3, {v(3, Type::kF32)},
                         {v(0, Type::kF32), v(1, Type::kF32), v(2, Type::kF32)});
  auto max = add;
  max.op = Op::v_max_f32;
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    set_mode(m, {});
    EXPECT_EQ(run3(m, add, 1, 1), 2u);
    EXPECT_EQ(run3(m, mad, 1, u(1), 0), 0u) << "never has denormals";
    EXPECT_EQ(run3(m, add, 1, 1), 2u) << "MXCSR is as before";
    EXPECT_EQ(run3(m, max, 1, 0), 1u);
    FloatMode flush;
    flush.denorm32 = 0;
    set_mode(m, flush);
    EXPECT_EQ(run3(m, add, 1, 1), 0u);
    EXPECT_EQ(run3(m, max, 1, 0), 0u);
    m.context.target = {8, 0, 3};
    EXPECT_EQ(run3(m, max, 1, 0), 1u) << "gfx8's extrema keep them";
  }
}

TEST(VectorFloats, ClampAndOmodModifyResults) {
  MxcsrRestorer keep;
  auto add =
      instruction(Op::v_add_f32, Encoding::kVop3, {v(3, Type::kF32)}, {v(0, Type::kF32), v(1, Type::kF32)});
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    set_mode(m, {});
    add.clamp = true;
    EXPECT_EQ(run3(m, add, u(3), u(1)), u(1));
    EXPECT_EQ(run3(m, add, u(-3), u(1)), u(0));
    EXPECT_EQ(run3(m, add, 0x7fc00000, u(1)), u(0));
    FloatMode no_dx10;
    no_dx10.dx10_clamp = false;
    set_mode(m, no_dx10);
    EXPECT_TRUE(std::isnan(f(run3(m, add, 0x7fc00000, u(1)))));
    add.clamp = false;
    add.omod = 1;
    set_mode(m, {});
    EXPECT_EQ(run3(m, add, u(3), u(1)), u(4)) << "ignored with IEEE or denormals";
    FloatMode flush;
    flush.ieee = false;
    flush.denorm32 = 0;
    set_mode(m, flush);
    EXPECT_EQ(run3(m, add, u(3), u(1)), u(8));
    add.omod = 3;
    EXPECT_EQ(run3(m, add, u(3), u(1)), u(2));
    EXPECT_EQ(run3(m, add, 0x80000000, 0x80000000), 0u) << "-0 becomes +0";
    add.omod = 0;
  }
}

TEST(VectorFloats, ConversionsSaturateAndRound) {
  MxcsrRestorer keep;
  auto convert = [](Op op) { return instruction(op, Encoding::kVop1, {v(3)}, {v(0, Type::kF32)}); };
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    set_mode(m, {});
    EXPECT_EQ(run3(m, convert(Op::v_cvt_i32_f32), u(-1.9f)), ~0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_i32_f32), u(3e9f)), 0x7fffffffu);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_i32_f32), u(-3e9f)), 0x80000000u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_i32_f32), 0x7fc00000), 0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_u32_f32), u(-1)), 0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_u32_f32), u(3e9f)), 3000000000u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_u32_f32), u(5e9f)), ~0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_u32_f32), 0xffc00000), 0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f32_u32), 0xffffffff), u(0x1p32f));
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f32_u32), 0x80000001), u(0x1p31f));
    EXPECT_EQ(run3(m, convert(Op::v_cvt_rpi_i32_f32), u(0.49999997f)), 0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_rpi_i32_f32), u(-1.5f)), ~0u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f16_f32), u(65520)) & 0xffff, 0x7c00u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f16_f32), u(0x1.002p0f)) & 0xffff, 0x3c00u);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f16_f32), u(0x1p-24f)) & 0xffff, 1u);
    FloatMode up;
    up.round64 = 1;
    set_mode(m, up);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f16_f32), u(0x1.002p0f)) & 0xffff, 0x3c01u);
    up.round64 = 3;
    set_mode(m, up);
    EXPECT_EQ(run3(m, convert(Op::v_cvt_f16_f32), u(70000)) & 0xffff, 0x7bffu);
  }
}

// Products plus a third half, where rounding once differs from rounding twice.
TEST(VectorFloats, HalfFmaRoundsOnce) {
  const auto fma = instruction(Op::v_fma_f16, Encoding::kVop3, {v(3, Type::kF16)},
                               {v(0, Type::kF16), v(1, Type::kF16), v(2, Type::kF16)});
  // 1.5 * 2^-10 * 1 + 1 is the midpoint of two halves except for the product's last term.
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    // (1 + 2^-10) * (1 + 2^-10) * 2^-11 … + 1: the product's last digit decides.
    EXPECT_EQ(run3(m, fma, 0x3c01, 0x1001, 0x3c00) & 0xffff, 0x3c01u);  // 2^-11 (1 + 2^-9 + 2^-20) + 1
    EXPECT_EQ(run3(m, fma, 0x3c00, 0x1000, 0x3c00) & 0xffff, 0x3c00u);  // tie: even
    EXPECT_EQ(run3(m, fma, 0x0001, 0x0001, 0x3c00) & 0xffff, 0x3c00u);
    EXPECT_EQ(run3(m, fma, 0x0400, 0x3800, 0x0001) & 0xffff, 0x0201u);
  }
}

// The sequence that compilers emit for a division, with operands that use each of its steps.
TEST(VectorFloats, DivisionSequenceIsCorrectlyRounded) {
  MxcsrRestorer keep;
  for (const SimdLevel level : simd_levels()) {
    Machine m(level);
    set_mode(m, {});
    const auto vf = [](uint32_t index) { return v(index, Type::kF32); };
    const auto op = [&](Op o, std::initializer_list<isa::Operand> dst,
                        std::initializer_list<isa::Operand> src, uint8_t neg = 0) {
      auto i = instruction(o, Encoding::kVop3, dst, src);
      i.neg = neg;
      ASSERT_EQ(m.run(i), "") << isa::name(o);
    };
    Numbers numbers(17);
    for (int round = 0; round < 60; ++round) {
      for (uint32_t lane = 0; lane < 64; ++lane) {
        m.vgpr(0, lane) = numbers.next();
        m.vgpr(1, lane) = numbers.next();
      }
      const auto one = s(242, Type::kF32);
      op(Op::v_div_scale_f32, {vf(2), s(8, Type::kMask, 2)}, {vf(1), vf(1), vf(0)});
      op(Op::v_div_scale_f32, {vf(3), s(106, Type::kMask, 2)}, {vf(0), vf(1), vf(0)});
      op(Op::v_rcp_f32, {vf(4)}, {vf(2)});
      op(Op::v_fma_f32, {vf(5)}, {vf(2), vf(4), one}, 1);
      op(Op::v_fma_f32, {vf(4)}, {vf(5), vf(4), vf(4)});
      op(Op::v_mul_f32, {vf(5)}, {vf(3), vf(4)});
      op(Op::v_fma_f32, {vf(6)}, {vf(2), vf(5), vf(3)}, 1);
      op(Op::v_fma_f32, {vf(5)}, {vf(6), vf(4), vf(5)});
      op(Op::v_fma_f32, {vf(3)}, {vf(2), vf(5), vf(3)}, 1);
      op(Op::v_div_fmas_f32, {vf(2)}, {vf(3), vf(4), vf(5)});
      op(Op::v_div_fixup_f32, {vf(2)}, {vf(2), vf(1), vf(0)});
      for (uint32_t lane = 0; lane < 64; ++lane) {
        const float a = f(m.vgpr(0, lane)), b = f(m.vgpr(1, lane));
        const float quotient = a / b;
        if (std::fabs(quotient) < 0x1p-126f && quotient != 0) continue;  // these round twice
        ASSERT_PRED2(same, m.vgpr(2, lane), u(quotient)) << a << " / " << b << " level " << int(level);
      }
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec
