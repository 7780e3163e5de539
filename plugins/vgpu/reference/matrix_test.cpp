// Compares matrix instructions with a model, which takes sizes from the operation's name and places from the
// other direction: from an element of a matrix to its register and lane.
//
// Places: AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator), "Matrix element to
// register mapping".
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <regex>

#include <boost/multiprecision/cpp_int.hpp>

#include "plugins/vgpu/isa/effects.hpp"
#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/expected.hpp"
#include "plugins/vgpu/reference/handler_run.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Encoding;
using isa::Op;

struct Matrices {
  unsigned m, n, k, blocks, bits;  // bits of an element of A and B
  std::string result, element;     // "f32", "f16"

  explicit Matrices(const std::string& name) {
    std::smatch parts;
    EXPECT_TRUE(std::regex_match(
        name, parts,
        std::regex("v_(mfma|smfmac)_(f32|i32|f64)_(\\d+)x(\\d+)x(\\d+)_?(xf32|f32|f16|bf16|i8|f64|fp8|bf8)"
                   "(_1k|_fp8|_bf8)?")))
        << name;
    m = static_cast<unsigned>(std::stoul(parts[3]));
    n = static_cast<unsigned>(std::stoul(parts[4]));
    k = static_cast<unsigned>(std::stoul(parts[5]));
    result = parts[2];
    element = parts[6];
    other = element == "fp8" || element == "bf8" ? parts[7].str().substr(1) : element;
    is_sparse = parts[1] == "smfmac";
    bits = element == "f64"                                          ? 64
           : element == "f32" || element == "xf32"                   ? 32
           : element == "i8" || element == "fp8" || element == "bf8" ? 8
                                                                     : 16;
    // A lane has one or two registers of A; BF16 without _1K has one. Operands of gfx942's I8 with more than
    // 8 k of 32×32, or 16 of 16×16, have two, as XF32.
    const bool is_wide = element == "i8" && m * k > 256;
    const bool has_one_register =
        element == "f32" || (element == "i8" && !is_wide) || (element == "bf16" && !parts[7].matched);
    per_lane = bits == 64 ? 1 : (has_one_register && !is_sparse ? 32 : 64) / bits;
    if (is_sparse) per_lane *= 2;  // of B
    blocks = 64 * per_lane / (m * k);
  }
  bool is_sparse;
  std::string other;  // elements of B
  unsigned per_lane;

  struct Place {
    unsigned lane, element;
  };
  /// Of A[i][k]; B[k][j] with n and j.
  Place of_source(unsigned side, unsigned i, unsigned kk, unsigned block) const {
    return {i + side * block + side * blocks * (kk / per_lane), kk % per_lane};
  }
  Place of_result(unsigned i, unsigned j, unsigned block) const {
    if (result == "f64") return m == 16 ? Place{j + 16 * (i % 4), i / 4} : Place{j + 4 * block + 16 * i, 0};
    if (m == 4) return {j + 4 * block, i};
    if (m == 16) return {j + 16 * (i / 4), i % 4 + 4 * block};
    return {j + 32 * (i / 4 % 2), i % 4 + 4 * (i / 8) + 16 * block};
  }
};

uint64_t read(const std::vector<std::array<uint32_t, 64>>& file, unsigned first, unsigned lane,
              unsigned element, unsigned bits) {
  const unsigned bit = element * bits;
  uint64_t value = file[first + bit / 32][lane] >> bit % 32;
  if (bits == 64) value |= uint64_t{file[first + bit / 32 + 1][lane]} << 32;
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

/// Adds exactly, with 2^-kPoint as the unit, and rounds once to single precision.
class ExactSum {
 public:
  void add_product(float a, float b) { add(mantissa(a) * mantissa(b), exponent(a) + exponent(b)); }
  void add(float a) { add(mantissa(a), exponent(a)); }
  float rounded() const {
    using boost::multiprecision::cpp_int;
    if (sum_ == 0) return 0;
    const cpp_int magnitude = abs(sum_);
    const int top = static_cast<int>(msb(magnitude));
    const int least = std::max(top - 23, kPoint - 149);  // unit of the result's last bit
    if (least <= 0) return std::ldexp(static_cast<float>(sum_), -kPoint);
    cpp_int kept = magnitude >> least;
    const cpp_int rest = magnitude - (kept << least), half = cpp_int(1) << (least - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    const double value = std::ldexp(kept.convert_to<double>(), least - kPoint);
    return static_cast<float>(sum_ < 0 ? -value : value);
  }

 private:
  static constexpr int kPoint = 400;
  static boost::multiprecision::cpp_int mantissa(float a) {
    int power;
    return static_cast<int64_t>(std::ldexp(std::frexp(a, &power), 24));
  }
  static int exponent(float a) {
    int power;
    std::frexp(a, &power);
    return power - 24;
  }
  void add(const boost::multiprecision::cpp_int& value, int power) {
    sum_ += value * (boost::multiprecision::cpp_int(1) << (kPoint + power));
  }
  boost::multiprecision::cpp_int sum_ = 0;
};

float single_of(const std::string& element, uint64_t bits, bool flushes) {
  if (element == "xf32") return std::bit_cast<float>(static_cast<uint32_t>(bits & ~uint64_t{0x1fff}));
  if (element == "fp8" || element == "bf8") {
    if (bits == 0x80) return NAN;
    const bool is_fp8 = element == "fp8";
    const int fraction = is_fp8 ? 3 : 2, bias = is_fp8 ? 8 : 16;
    const auto size = static_cast<int>(bits & 0x7f);
    const double part = std::ldexp(size & ((1 << fraction) - 1), -fraction);
    const int exponent = size >> fraction;
    const double value = exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias);
    return static_cast<float>((bits & 0x80) != 0 ? -value : value);
  }
  if (element == "f32") return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const unsigned exponent = element == "f16" ? bits >> 10 & 31 : bits >> 7 & 255;
  if (flushes && exponent == 0 && (bits & 0x7fff) != 0) bits = 0;
  if (element == "bf16") return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const auto fraction = static_cast<float>(bits & 1023);
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
}

float flushed(float value, bool flushes) {
  return flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

unsigned lane_of_b(unsigned lane, unsigned pattern) {
  if (pattern == 0) return lane;
  if (pattern == 1 || pattern == 2) return lane % 32 + 32 * (pattern - 1);
  return pattern == 3 ? (lane + 16) % 64 : lane % 16 + 16 * (pattern - 4);
}

// gfx942's sums, as formulas of MMA-Sim on fractions between 1 and 2 with their exponents.
struct Scientific {
  double fraction;
  int exponent;
};

Scientific scientific(double value, const std::string& element) {
  if (value == 0) return {0, -126};
  if (!std::isfinite(value)) return {value, 0};  // The sum is then not finite either.
  const int least = element == "f16" ? -14 : element == "fp8" ? -7 : element == "bf8" ? -15 : -126;
  const int exponent = std::max(std::ilogb(value), least);
  return {std::ldexp(value, -exponent), exponent};
}

double cut(double value, int bits, int exponent, double (*round)(double)) {
  return std::ldexp(round(std::ldexp(value, bits + exponent)), -bits);
}

Scientific truncated_products(const std::vector<Scientific>& products) {
  int largest = products[0].exponent;
  for (const Scientific& product : products) largest = std::max(largest, product.exponent);
  double sum = 0;
  for (const Scientific& product : products)
    sum += cut(product.fraction, 24, product.exponent - largest, std::trunc);
  return {sum, largest};
}

float truncated(const std::vector<float>& xs, const std::vector<float>& ys, const std::string& x_type,
                const std::string& y_type, float start) {
  double plain = start;
  bool over = false, under = false;
  std::vector<Scientific> products, halves[2];
  for (size_t k = 0; k < xs.size(); ++k) {
    const double product = double{xs[k]} * ys[k];
    plain += product;
    over = over || product >= 0x1p128;
    under = under || product <= -0x1p128;
    const Scientific x = scientific(xs[k], x_type), y = scientific(ys[k], y_type);
    products.push_back({x.fraction * y.fraction, x.exponent + y.exponent});
    halves[k % 2].push_back(products.back());
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  if (over || under) return over && under ? NAN : over ? INFINITY : -INFINITY;
  const Scientific c = scientific(start, "f32");
  const bool is_of_bytes = x_type == "fp8" || x_type == "bf8";
  Scientific sum{};
  if (is_of_bytes) {
    const Scientific even = truncated_products(halves[0]), odd = truncated_products(halves[1]);
    sum.exponent = std::max(even.exponent, odd.exponent);
    sum.fraction = cut(even.fraction, 24, even.exponent - sum.exponent, std::floor) +
                   cut(odd.fraction, 24, odd.exponent - sum.exponent, std::floor);
  } else {
    sum = truncated_products(products);
  }
  const int exponent = std::max(sum.exponent, c.exponent);
  double all = cut(sum.fraction, 31, sum.exponent - exponent, std::floor);
  if (!is_of_bytes || c.exponent >= exponent - 25)
    all += cut(c.fraction, 24, c.exponent - exponent, std::floor);
  return static_cast<float>(std::ldexp(all, exponent));
}

constexpr unsigned kA = 0, kB = 8, kC = 16, kD = 64, kIndices = 112;

class MatrixInstructions : public testing::Test {
 protected:
  /// Runs a drawn form of the instruction and compares all of D.
  void compare(const Chip& chip, Draw& draw, uint16_t row) {
    const isa::Target target = target_of(chip);
    const bool is_unified = chip.name != std::string("gfx908"),
               is_gfx942 = chip.name == std::string("gfx942");
    isa::Instruction in;
    uint32_t words[5];
    if (!draw.instruction(target, row, in, words)) return;
    const Matrices sizes{std::string(isa::name(in.op))};
    State state = draw.state(target);
    state.wave_size = 64;
    state.mode &= ~(1u << 27);  // GPR_IDX_EN
    for (auto* file : {&state.vgpr, &state.agpr}) {
      file->resize(128);
      for (auto& lanes : *file) {
        for (uint32_t& value : lanes) value = source(draw, sizes);
      }
    }
    for (uint32_t& value : state.vgpr[kIndices]) value = indices(draw);
    const bool accumulates_in_vgprs = is_unified && draw.one_in(2);
    const auto& base = accumulates_in_vgprs ? isa::code::kVgpr : isa::code::kAgpr;
    in.src[0].code = static_cast<uint16_t>((draw.one_in(2) ? isa::code::kVgpr : isa::code::kAgpr) + kA);
    in.src[1].code = static_cast<uint16_t>((draw.one_in(2) ? isa::code::kVgpr : isa::code::kAgpr) + kB);
    const bool has_constant = !sizes.is_sparse && draw.one_in(4);
    const bool in_place = sizes.is_sparse || (!has_constant && draw.one_in(3));
    in.src[2].code = static_cast<uint16_t>(has_constant ? isa::code::kZero : base + kC);
    if (sizes.is_sparse) in.src[2].code = isa::code::kVgpr + kIndices;
    in.dst[0].code = static_cast<uint16_t>(base + (in_place ? kC : kD));
    const State before = state;
    for (const SimdLevel level : simd_levels()) {
      State actual = before;
      const HandlerResult result = run_handlers({&in, 1}, level, actual);
      ASSERT_EQ(result.refusal, "") << isa::name(in.op);
      const auto& a = in.src[0].is_agpr() ? before.agpr : before.vgpr;
      const auto& b = in.src[1].is_agpr() ? before.agpr : before.vgpr;
      const auto& c = in.dst[0].is_agpr() ? before.agpr : before.vgpr;
      const auto& d = in.dst[0].is_agpr() ? actual.agpr : actual.vgpr;
      const Sums sums = is_gfx942 ? Sums::kTruncated : is_unified ? Sums::kFlushed : Sums::kExact;
      expect_product(sizes, in, a, b, has_constant ? nullptr : &c, d, in_place ? kC : kD, sums,
                     before.vgpr[kIndices]);
      if (HasFailure()) {
        ADD_FAILURE() << isa::name(in.op) << " on " << chip.name << ", cbsz " << int{in.cbsz} << ", abid "
                      << int{in.abid} << ", blgp " << int{in.blgp};
        return;
      }
    }
  }

 private:
  using File = std::vector<std::array<uint32_t, 64>>;
  enum class Sums { kExact, kFlushed, kTruncated };

  // Of each pair the first index is less than the second.
  static uint32_t indices(Draw& draw) {
    constexpr uint32_t kPairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
    uint32_t value = 0;
    for (unsigned bit = 0; bit < 32; bit += 4) value |= kPairs[draw.below(6)] << bit;
    return value;
  }

  // Mostly small numbers, so that errors are not hidden by infinities.
  static uint32_t source(Draw& draw, const Matrices& sizes) {
    const uint32_t value = draw.value();
    if (sizes.element == "i8" || draw.one_in(50)) return value;
    if (sizes.bits == 8) return value & ~0x40404040u;  // below 2
    if (sizes.element == "f16") return (value & 0x83ff83ff) | 0x38003c00;
    if (sizes.element == "f64") return (value & 0x800fffff) | 0x3fe00000;
    return (value & 0x807fffff) | (0x3e000000 + (value & 3) * 0x00800000);
  }

  // gfx90a: separate roundings, denormals flushed.
  static float pairwise(const std::vector<float>& xs, const std::vector<float>& ys, float start) {
    std::vector<float> terms;
    for (size_t k = 0; k < xs.size(); ++k) terms.push_back(flushed(xs[k] * ys[k], true));
    while (terms.size() > 1) {
      std::vector<float> sums;
      for (size_t k = 0; k < terms.size(); k += 2) sums.push_back(flushed(terms[k] + terms[k + 1], true));
      terms = sums;
    }
    if (std::fpclassify(start) == FP_SUBNORMAL) start = 0;
    return flushed(start + terms[0], true);
  }

  // gfx908: one rounding.
  static float exact(const std::vector<float>& xs, const std::vector<float>& ys, float start) {
    double plain = start;
    for (size_t k = 0; k < xs.size(); ++k) plain += double{xs[k]} * ys[k];
    if (!std::isfinite(plain)) return static_cast<float>(plain);
    ExactSum sum;
    sum.add(start);
    for (size_t k = 0; k < xs.size(); ++k) sum.add_product(xs[k], ys[k]);
    const float rounded = sum.rounded();
    return rounded == 0 ? static_cast<float>(plain) : rounded;  // with the sign of a zero
  }

  void expect_product(const Matrices& sizes, const isa::Instruction& in, const File& a, const File& b,
                      const File* c, const File& d, unsigned first_d, Sums sums,
                      const std::array<uint32_t, 64>& indices) {
    const bool is_double = sizes.result == "f64";
    const bool is_half = sizes.element == "f16" || sizes.element == "bf16";
    const bool flushes = sums == Sums::kFlushed && is_half;
    const bool is_wide = sizes.element == "xf32" || (sizes.bits == 8 && sizes.per_lane > 4);
    const bool has_controls = !is_double && !is_wide && !sizes.is_sparse;
    const unsigned group = has_controls ? std::min(1u << in.cbsz, sizes.blocks) : 1;
    const unsigned pattern = has_controls ? in.blgp : 0;
    const unsigned negations = is_double && sums == Sums::kTruncated ? in.blgp : 0;
    // Whether k is stored in a sparse row, and where in the lane.
    const auto stored_at = [&](unsigned lane, unsigned element) -> std::optional<unsigned> {
      if (!sizes.is_sparse) return element;
      const unsigned width = sizes.per_lane;  // bits of a lane's indices
      const unsigned set = (in.cbsz & 3) != 0 ? 0 : in.abid % (32 / width);
      for (unsigned n = 0; n < 2; ++n) {
        const unsigned stored = element / 4 * 2 + n;
        if ((indices[lane] >> (set * width + 2 * stored) & 3) == element % 4) return stored;
      }
      return std::nullopt;
    };
    for (unsigned block = 0; block < sizes.blocks; ++block) {
      const unsigned a_block = block / group * group + in.abid % group;
      for (unsigned i = 0; i < sizes.m; ++i) {
        for (unsigned j = 0; j < sizes.n; ++j) {
          const Matrices::Place place = sizes.of_result(i, j, block);
          const unsigned result_bits = is_double ? 64 : 32;
          const uint64_t start = c == nullptr ? 0 : read(*c, kC, place.lane, place.element, result_bits);
          const uint64_t actual = read(d, first_d, place.lane, place.element, result_bits);
          float single = std::bit_cast<float>(static_cast<uint32_t>(start));
          auto integer = static_cast<uint32_t>(start);
          double wide = std::bit_cast<double>(start);
          if ((negations & 4) != 0) wide = -wide;
          if (flushes && std::fpclassify(single) == FP_SUBNORMAL) single = 0;
          const bool has_pairs = sizes.element == "bf16" && (sums == Sums::kExact || sizes.per_lane == 2);
          unsigned step = has_pairs ? 2 : 4;
          if (sums == Sums::kTruncated && is_half) step = 8;
          if (sizes.element == "fp8" || sizes.element == "bf8") step = 16;
          if (sizes.m == 4 || sizes.blocks > 1) step = std::min(step, sizes.k);
          std::vector<float> xs, ys;
          for (unsigned k = 0; k < sizes.k; ++k) {
            const Matrices::Place from_a = sizes.of_source(sizes.m, i, k, a_block);
            const Matrices::Place from_b = sizes.of_source(sizes.n, j, k, block);
            const std::optional<unsigned> stored = stored_at(from_a.lane, from_a.element);
            if (!stored) continue;
            const uint64_t x = read(a, kA, from_a.lane, *stored, sizes.bits);
            const uint64_t y = read(b, kB, lane_of_b(from_b.lane, pattern), from_b.element, sizes.bits);
            if (sizes.element == "i8") {
              integer += static_cast<uint32_t>(static_cast<int8_t>(x) * static_cast<int8_t>(y));
            } else if (is_double) {
              const double left = std::bit_cast<double>(x), right = std::bit_cast<double>(y);
              wide =
                  std::fma((negations & 1) != 0 ? -left : left, (negations & 2) != 0 ? -right : right, wide);
            } else if (sizes.element == "f32") {
              single = std::fma(std::bit_cast<float>(static_cast<uint32_t>(x)),
                                std::bit_cast<float>(static_cast<uint32_t>(y)), single);
            } else {
              xs.push_back(single_of(sizes.element, x, flushes));
              ys.push_back(single_of(sizes.other, y, flushes));
              if (xs.size() < step) continue;
              single = sums == Sums::kTruncated ? truncated(xs, ys, sizes.element, sizes.other, single)
                       : flushes                ? pairwise(xs, ys, single)
                                                : exact(xs, ys, single);
              xs.clear();
              ys.clear();
            }
          }
          uint64_t expected = integer;
          if (is_double) {
            expected = std::isnan(wide) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(wide);
          } else if (sizes.element != "i8") {
            expected = std::isnan(single) ? 0x7fc00000 : std::bit_cast<uint32_t>(single);
          }
          ASSERT_EQ(actual, expected) << "D[" << i << "][" << j << "] of block " << block;
        }
      }
    }
  }
};

TEST_F(MatrixInstructions, MatchModel) {
  for (const Chip& chip : kChipsCompared) {
    if (!isa::traits_of(target_of(chip)).has_agprs) continue;
    Draw draw = draw_for(chip);
    unsigned compared = 0;
    for_each_row(chip, {Encoding::kVop3, Encoding::kVop3p}, [&](uint16_t row, Op op) {
      const bool is_product = isa::name(op).starts_with("v_mfma") || isa::name(op).starts_with("v_smfmac");
      if (!is_product || HasFailure()) return;
      for (uint64_t i = 0; i < draws_per_row(); ++i) compare(chip, draw, row);
      ++compared;
    });
    EXPECT_TRUE(is_of_one_operation() || compared >= 20) << chip.name << ": " << compared;
  }
}

TEST_F(MatrixInstructions, IgnoreExecAndWriteAllLanes) {
  const isa::Target target = target_of(kChipsCompared[0]);
  isa::Instruction in;
  in.op = Op::v_mfma_f32_4x4x1f32;
  in.encoding = Encoding::kVop3p;
  in.dst[0] = {isa::code::kVgpr + 4, isa::Type::kB128, 4};
  in.src[0] = in.src[1] = {isa::code::kVgpr, isa::Type::kF32, 1};
  in.src[2] = {isa::code::kZero, isa::Type::kB128, 4};
  const isa::Effects effects = isa::effects_of(in, target, 64);
  EXPECT_TRUE(effects.writes_inactive_lanes);
  EXPECT_EQ(effects.lanes, isa::LaneUse::kAcross);
  State state;
  state.target = {.major = 9, .minor = 0, .stepping = 10};
  state.vgpr.resize(8);
  for (uint32_t& value : state.vgpr[0]) value = std::bit_cast<uint32_t>(2.0f);
  EXPECT_EQ(run_handlers({&in, 1}, simd_levels().back(), state).refusal, "");
  for (unsigned v = 4; v < 8; ++v) {
    for (const uint32_t value : state.vgpr[v]) EXPECT_EQ(value, std::bit_cast<uint32_t>(4.0f));
  }
}

TEST_F(MatrixInstructions, MovesOfAccumulatorsObeyExec) {
  State state;
  state.target = {.major = 9, .minor = 0, .stepping = 10};
  state.vgpr.resize(4);
  state.agpr.resize(4);
  state.set_pair(isa::code::kExecLo, 0xf0);
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[1][lane] = lane + 1;
  const auto move = [&](Op op, uint16_t to, uint16_t from) {
    isa::Instruction in;
    in.op = op;
    in.encoding = Encoding::kVop3p;
    in.dst[0] = {to, isa::Type::kB32, 1};
    in.src[0] = {from, isa::Type::kB32, 1};
    EXPECT_EQ(run_handlers({&in, 1}, simd_levels().back(), state).refusal, "");
  };
  move(Op::v_accvgpr_write_b32, isa::code::kAgpr + 2, isa::code::kVgpr + 1);
  move(Op::v_accvgpr_mov_b32, isa::code::kAgpr + 3, isa::code::kAgpr + 2);
  move(Op::v_accvgpr_read_b32, isa::code::kVgpr + 3, isa::code::kAgpr + 3);
  move(Op::v_accvgpr_write_b32, isa::code::kAgpr + 0, isa::code::kZero + 7);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool is_active = lane >= 4 && lane < 8;
    EXPECT_EQ(state.vgpr[3][lane], is_active ? lane + 1 : 0);
    EXPECT_EQ(state.agpr[0][lane], is_active ? 7u : 0);
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
