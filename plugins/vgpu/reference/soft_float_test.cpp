// Compares the software arithmetic with the CPU's.
#include "plugins/vgpu/reference/soft_float.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

namespace rigel::vgpu::exec::reference {
namespace {

class Numbers {
 public:
  template <typename Bits>
  Bits next() {
    constexpr int kBits = sizeof(Bits) * 8;
    constexpr Format kFormat = kBits == 32 ? kSingle : kDouble;
    const uint64_t bits = engine_();
    switch (engine_() % 8) {
      case 0: {
        const uint64_t specials[] = {0,
                                     kFormat.one(),
                                     kFormat.infinity(),
                                     kFormat.largest(),
                                     1,
                                     kFormat.infinity() | 1,
                                     uint64_t{1} << kFormat.fraction_bits,
                                     (uint64_t{1} << kFormat.fraction_bits) - 1};
        return static_cast<Bits>(specials[bits % 8] | (bits & kFormat.sign_bit()));
      }
      case 1:
        return static_cast<Bits>(bits >> (64 - kFormat.fraction_bits));  // A denormal.
      case 2:
      case 3:  // Near one.
        return static_cast<Bits>((bits & ~kFormat.infinity()) |
                                 (kFormat.one() + ((bits >> 60) << kFormat.fraction_bits)));
      default:
        return static_cast<Bits>(bits);
    }
  }

 private:
  std::mt19937_64 engine_{42};
};

template <typename F, typename Bits>
void expect_same(uint64_t expected_bits, F actual, const char* operation, Bits a, Bits b, Bits c, int round) {
  constexpr Format kFormat = sizeof(F) == 4 ? kSingle : kDouble;
  if (std::isnan(actual) && is_nan(kFormat, expected_bits)) return;
  EXPECT_EQ(std::bit_cast<Bits>(actual), expected_bits)
      << operation << " of " << std::hex << a << ", " << b << ", " << c << " rounded " << round;
}

template <typename F, typename Bits>
void compare_with_processor() {
  constexpr Format kFormat = sizeof(F) == 4 ? kSingle : kDouble;
  constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  Numbers numbers;
  for (int i = 0; i < 40'000; ++i) {
    const Bits a = numbers.next<Bits>(), b = numbers.next<Bits>(), c = numbers.next<Bits>();
    const volatile F fa = std::bit_cast<F>(a), fb = std::bit_cast<F>(b), fc = std::bit_cast<F>(c);
    for (uint8_t round = 0; round < 4; ++round) {
      const Rules rules{round, true, true};
      std::fesetround(kModes[round]);
      const volatile F s = fa + fb, p = fa * fb, m = std::fma(fa, fb, fc), r = std::nearbyint(fa);
      std::fesetround(FE_TONEAREST);
      expect_same<F, Bits>(add(kFormat, a, b, rules), s, "sum", a, b, c, round);
      expect_same<F, Bits>(multiply(kFormat, a, b, rules), p, "product", a, b, c, round);
      expect_same<F, Bits>(fused(kFormat, a, b, c, rules), m, "fused", a, b, c, round);
      expect_same<F, Bits>(integral(kFormat, a, round, rules), r, "integral", a, b, c, round);
    }
    const int order = compare(kFormat, a, b);
    EXPECT_EQ(order == -1, fa < fb);
    EXPECT_EQ(order == 0, fa == fb);
    EXPECT_EQ(order == 1, fa > fb);
  }
}

TEST(SoftFloat, MatchesCpuInSinglePrecision) {
  compare_with_processor<float, uint32_t>();
}
TEST(SoftFloat, MatchesCpuInDoublePrecision) {
  compare_with_processor<double, uint64_t>();
}

TEST(SoftFloat, ConversionsMatchCpu) {
  Numbers numbers;
  for (int i = 0; i < 40'000; ++i) {
    const uint64_t d = numbers.next<uint64_t>();
    const volatile double value = std::bit_cast<double>(d);
    expect_same<float, uint32_t>(converted(kDouble, d, {}, kSingle, {}), static_cast<float>(value),
                                 "to single", 0, 0, 0, 0);
    const uint32_t s = numbers.next<uint32_t>();
    const volatile float single = std::bit_cast<float>(s);
    expect_same<double, uint64_t>(converted(kSingle, s, {}, kDouble, {}), single, "to double", 0, 0, 0, 0);
    if (std::fabs(value) < 2e9) {
      EXPECT_EQ(to_integer(kDouble, d, 3, 32, true, {}), static_cast<uint32_t>(static_cast<int32_t>(value)));
    }
    expect_same<float, uint32_t>(from_integer(kSingle, d, true, 64, {}),
                                 static_cast<float>(static_cast<int64_t>(d)), "from integer", 0, 0, 0, 0);
  }
}

TEST(SoftFloat, FlushesDenormalsToSignedZeros) {
  const Rules flush_inputs{0, false, true}, flush_results{0, true, false};
  EXPECT_EQ(add(kSingle, 0x80000001, 0x80000000, flush_inputs), 0x80000000u);
  EXPECT_EQ(multiply(kSingle, 0x00800000, 0x3f000000, flush_results), 0u);
  EXPECT_EQ(multiply(kSingle, 0x00800000, 0xbf000000, flush_results), 0x80000000u);
  EXPECT_EQ(multiply(kSingle, 0x00800000, 0x3f800000, flush_results), 0x00800000u);
}

TEST(SoftFloat, RoundsHalvesOnce) {
  EXPECT_EQ(converted(kSingle, 0x3f801000, {}, kHalf, {}), 0x3c00u);  // A tie rounds to even.
  EXPECT_EQ(converted(kSingle, 0x3f803000, {}, kHalf, {}), 0x3c02u);
  EXPECT_EQ(converted(kSingle, 0x3f801001, {}, kHalf, {}), 0x3c01u);
  EXPECT_EQ(converted(kSingle, 0x477ff000, {}, kHalf, {}), 0x7c00u);  // 65520 overflows.
  EXPECT_EQ(converted(kSingle, 0x477ff000, {}, kHalf, Rules{3}), 0x7bffu);
  EXPECT_EQ(converted(kSingle, 0x33000000, {}, kHalf, {}), 0u);  // Half of the smallest value.
  EXPECT_EQ(converted(kSingle, 0x33000001, {}, kHalf, {}), 1u);
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
