#include "plugins/vgpu/exec/check/undefined_bits.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>

namespace rigel::vgpu::exec {
namespace {

using Compute = std::function<uint64_t(uint64_t, uint64_t, uint64_t)>;

struct Operation {
  BitRule rule;
  bool is_exact;
  unsigned width;
  unsigned control_bits[3];  // significant bits of each source
  Compute compute;
};

int64_t as_signed(uint64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

const Operation kOperations[] = {
    {BitRule::kMove, true, 32, {32, 0, 0}, [](auto a, auto, auto) { return a; }},
    {BitRule::kAnd, true, 32, {32, 32, 0}, [](auto a, auto b, auto) { return a & b; }},
    {BitRule::kAndNot, true, 32, {32, 32, 0}, [](auto a, auto b, auto) { return a & ~b; }},
    {BitRule::kOr, true, 32, {32, 32, 0}, [](auto a, auto b, auto) { return a | b; }},
    {BitRule::kOrNot, true, 32, {32, 32, 0}, [](auto a, auto b, auto) { return a | ~b; }},
    {BitRule::kXor, true, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return a ^ b ^ c; }},
    {BitRule::kAndOr, true, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return (a & b) | c; }},
    {BitRule::kOr3, true, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return a | b | c; }},
    {BitRule::kBitSelect, false, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return (a & b) | (~a & c); }},
    {BitRule::kSelect, true, 32, {32, 32, 1}, [](auto a, auto b, auto c) { return c != 0 ? b : a; }},
    {BitRule::kShiftLeft, false, 32, {32, 5, 0}, [](auto a, auto b, auto) { return a << b; }},
    {BitRule::kShiftRight, false, 32, {32, 5, 0}, [](auto a, auto b, auto) { return (a & 0xffffffff) >> b; }},
    {BitRule::kShiftSigned,
     false,
     32,
     {32, 5, 0},
     [](auto a, auto b, auto) { return static_cast<uint64_t>(as_signed(a) >> b); }},
    {BitRule::kShiftLeft, false, 64, {64, 6, 0}, [](auto a, auto b, auto) { return a << b; }},
    {BitRule::kShiftOr, false, 32, {32, 5, 32}, [](auto a, auto b, auto c) { return a << b | c; }},
    {BitRule::kShiftAdd, false, 32, {32, 5, 32}, [](auto a, auto b, auto c) { return (a << b) + c; }},
    {BitRule::kAddShift, false, 32, {32, 32, 5}, [](auto a, auto b, auto c) { return (a + b) << c; }},
    {BitRule::kAlignBits, false, 32, {32, 32, 5}, [](auto a, auto b, auto c) { return (a << 32 | b) >> c; }},
    {BitRule::kAlignBytes,
     false,
     32,
     {32, 32, 2},
     [](auto a, auto b, auto c) { return (a << 32 | b) >> 8 * c; }},
    {BitRule::kExtract,
     false,
     32,
     {32, 5, 5},
     [](auto a, auto b, auto c) { return (a >> b) & ((uint64_t{1} << c) - 1); }},
    {BitRule::kSum, false, 32, {32, 32, 1}, [](auto a, auto b, auto c) { return a - b - c; }},
    {BitRule::kSum, false, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return a * b + c; }},
    {BitRule::kSum24,
     false,
     32,
     {32, 32, 32},
     [](auto a, auto b, auto c) { return (a & 0xffffff) * (b & 0xffffff) + c; }},
    {BitRule::kProductSum, false, 64, {32, 32, 64}, [](auto a, auto b, auto c) { return a * b + c; }},
    {BitRule::kAny, false, 32, {32, 32, 32}, [](auto a, auto b, auto c) { return a % (b | 1) + c / 3; }},
};

class UndefinedBits : public ::testing::Test {
 protected:
  uint64_t random_bits(unsigned count) { return count == 0 ? 0 : random() >> (64 - count); }
  // At most four undefined bits in each source, often none.
  Bits random_source(unsigned bits) {
    Bits source{random_bits(bits), 0};
    for (unsigned i = random() % 5; bits != 0 && i != 0; --i)
      source.undefined |= uint64_t{1} << random() % bits;
    if (random() % 2 == 0) source.undefined = 0;
    return source;
  }
  // A value that agrees with the source's known bits.
  uint64_t outcome(const Bits& source) {
    return (source.value & ~source.undefined) | (random() & source.undefined);
  }

  std::mt19937_64 random{7};
};

TEST_F(UndefinedBits, CoverEveryBitThatDiffersBetweenOutcomes) {
  for (const Operation& operation : kOperations) {
    const uint64_t all = operation.width == 64 ? ~uint64_t{0} : 0xffffffff;
    for (int run = 0; run < 3000; ++run) {
      Bits sources[3];
      for (int i = 0; i < 3; ++i) sources[i] = random_source(operation.control_bits[i]);
      const auto& [a, b, c] = sources;
      const uint64_t undefined = apply(operation.rule, a, b, c, operation.width).undefined;
      const uint64_t expected = operation.compute(a.value, b.value, c.value);
      uint64_t differs = 0;
      for (int i = 0; i < (operation.is_exact ? 256 : 64); ++i)
        differs |= (operation.compute(outcome(a), outcome(b), outcome(c)) ^ expected) & all;
      ASSERT_EQ(differs & ~undefined, 0u)
          << "rule " << static_cast<int>(operation.rule) << std::hex << ": " << a.value << '/' << a.undefined
          << ' ' << b.value << '/' << b.undefined << ' ' << c.value << '/' << c.undefined;
      if (!operation.is_exact) continue;
      ASSERT_EQ(undefined, differs) << "rule " << static_cast<int>(operation.rule);
    }
  }
}

TEST_F(UndefinedBits, EqualityIsDefinedIfKnownBitsDiffer) {
  EXPECT_EQ(apply(BitRule::kEqual, {0x11, 0xf0}, {0x12, 0}, {}, 32).undefined, 0u);
  EXPECT_NE(apply(BitRule::kEqual, {0x12, 0xf0}, {0x12, 0}, {}, 32).undefined, 0u);
}

TEST_F(UndefinedBits, PermutationFollowsSelectors) {
  const Bits high{0, 0x000000ff}, low{0, 0x80000000};
  EXPECT_EQ(apply(BitRule::kPermute, high, low, {0x00000004, 0}, 32).undefined, 0xffu);
  EXPECT_EQ(apply(BitRule::kPermute, high, low, {0x0c030201, 0}, 32).undefined, 0x00800000u);
  EXPECT_EQ(apply(BitRule::kPermute, high, low, {0x0c0c0c09, 0}, 32).undefined, 0xffu)
      << "the sign of the upper half";
}

TEST_F(UndefinedBits, NonzeroIsKnownIfAnyKnownBitIsSet) {
  EXPECT_FALSE(is_zero_undefined({0x5, 0x4}));
  EXPECT_TRUE(is_zero_undefined({0x4, 0x4}));
  EXPECT_FALSE(is_zero_undefined({0, 0}));
}

}  // namespace
}  // namespace rigel::vgpu::exec
