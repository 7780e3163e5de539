// Tests of integer operations against scalar expressions.
#include <gtest/gtest.h>

#include "plugins/vgpu/exec/vector/vector_test_support.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Encoding;
using isa::Op;

struct Case {
  Op op;
  unsigned sources;
  std::function<uint32_t(uint32_t, uint32_t, uint32_t)> expected;
};

int32_t sx(uint32_t a) {
  return static_cast<int32_t>(a);
}
int32_t sx24(uint32_t a) {
  return sx(a << 8) >> 8;
}
uint32_t ux(int64_t a) {
  return static_cast<uint32_t>(a);
}

#define CASE1(op, expression)                                                        \
  {                                                                                  \
    Op::op, 1, [](uint32_t a, uint32_t, uint32_t) -> uint32_t { return expression; } \
  }
#define CASE2(op, expression)                                                          \
  {                                                                                    \
    Op::op, 2, [](uint32_t a, uint32_t b, uint32_t) -> uint32_t { return expression; } \
  }
#define CASE3(op, expression)                                                            \
  {                                                                                      \
    Op::op, 3, [](uint32_t a, uint32_t b, uint32_t c) -> uint32_t { return expression; } \
  }

std::vector<Case> cases() {
  return {
      CASE1(v_mov_b32, a),
      CASE1(v_not_b32, ~a),
      CASE2(v_and_b32, a & b),
      CASE2(v_or_b32, a | b),
      CASE2(v_xor_b32, a ^ b),
      CASE2(v_xnor_b32, ~(a ^ b)),
      CASE3(v_and_or_b32, (a & b) | c),
      CASE3(v_or3_b32, a | b | c),
      CASE3(v_xor3_b32, a ^ b ^ c),
      CASE2(v_lshlrev_b32, b << (a & 31)),
      CASE2(v_lshrrev_b32, b >> (a & 31)),
      CASE2(v_ashrrev_i32, ux(sx(b) >> (a & 31))),
      CASE3(v_lshl_add_u32, (a << (b & 31)) + c),
      CASE3(v_add_lshl_u32, (a + b) << (c & 31)),
      CASE3(v_lshl_or_b32, (a << (b & 31)) | c),
      CASE3(v_alignbit_b32, ux(static_cast<int64_t>((uint64_t{a} << 32 | b) >> (c & 31)))),
      CASE3(v_alignbyte_b32, ux(static_cast<int64_t>((uint64_t{a} << 32 | b) >> (c & 3) * 8))),
      CASE2(v_add_u32, a + b),
      CASE2(v_sub_u32, a - b),
      CASE2(v_subrev_u32, b - a),
      CASE3(v_add3_u32, a + b + c),
      CASE3(v_xad_u32, (a ^ b) + c),
      CASE2(v_mul_lo_u32, a * b),
      CASE2(v_mul_hi_u32, ux(static_cast<int64_t>(uint64_t{a} * b >> 32))),
      CASE2(v_mul_hi_i32, ux(int64_t{sx(a)} * sx(b) >> 32)),
      CASE2(v_mul_u32_u24, (a & 0xffffff) * (b & 0xffffff)),
      CASE2(v_mul_i32_i24, ux(int64_t{sx24(a)} * sx24(b))),
      CASE2(v_mul_hi_u32_u24, ux(static_cast<int64_t>(uint64_t{a & 0xffffff} * (b & 0xffffff) >> 32))),
      CASE2(v_mul_hi_i32_i24, ux(int64_t{sx24(a)} * sx24(b) >> 32)),
      CASE3(v_mad_u32_u24, (a & 0xffffff) * (b & 0xffffff) + c),
      CASE3(v_mad_i32_i24, ux(int64_t{sx24(a)} * sx24(b) + c)),
      CASE2(v_min_u32, std::min(a, b)),
      CASE2(v_max_i32, ux(std::max(sx(a), sx(b)))),
      CASE3(v_med3_i32, ux(std::max(std::min(sx(a), sx(b)), std::min(std::max(sx(a), sx(b)), sx(c))))),
      CASE3(v_bfe_u32, (a >> (b & 31)) & ((1u << (c & 31)) - 1)),
      CASE3(v_bfe_i32,
            (c & 31) == 0 ? 0 : ux(sx(ux(sx(a) >> (b & 31)) << (32 - (c & 31))) >> (32 - (c & 31)))),
      CASE3(v_bfi_b32, (a & b) | (~a & c)),
      CASE2(v_bfm_b32, ((1u << (a & 31)) - 1) << (b & 31)),
      CASE2(v_bcnt_u32_b32, static_cast<uint32_t>(__builtin_popcount(a)) + b),
      CASE1(v_ffbh_u32, a == 0 ? ~0u : static_cast<uint32_t>(__builtin_clz(a))),
      CASE1(v_ffbl_b32, a == 0 ? ~0u : static_cast<uint32_t>(__builtin_ctz(a))),
      CASE1(v_ffbh_i32, a == 0 || a == ~0u ? ~0u : static_cast<uint32_t>(__builtin_clrsb(sx(a)) + 1)),
      CASE1(v_bfrev_b32,
            [](uint32_t x) {
              uint32_t reversed = 0;
              for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
              return reversed;
            }(a)),
  };
}

// Each source is a row, a scalar or a constant. In some rounds the destination is also a source.
TEST(VectorIntegers, MatchScalarExpressions) {
  for (const Case& c : cases()) {
    for (const SimdLevel level : simd_levels()) {
      for (const uint32_t wave_size : {64u, 32u}) {
        Numbers numbers(7);
        for (unsigned round = 0; round < 12; ++round) {
          Machine m(level, wave_size, {10, 3, 0});
          for (uint32_t r = 0; r < 5; ++r) {
            for (uint32_t lane = 0; lane < wave_size; ++lane) m.vgpr(r, lane) = numbers.next();
          }
          for (uint32_t i = 0; i < 3; ++i) m.scalar(4 + i) = numbers.next();
          const uint64_t exec = round % 3 == 0 ? ~uint64_t{0} : round == 1 ? 0 : numbers.next64();
          m.set_exec(exec);
          const uint32_t dst = round % 2 == 0 ? 4 : 1;
          auto i = instruction(c.op, Encoding::kVop3, {v(dst)}, {v(0), v(1), v(2)});
          const unsigned uniform = round % 8;  // bit i: source i is not a row
          i.literal = numbers.next();
          for (unsigned k = 0; k < c.sources; ++k) {
            if ((uniform >> k & 1) != 0) i.src[k] = round % 5 == 4 && k == 0 ? literal() : s(4 + k);
          }
          for (unsigned k = c.sources; k < 3; ++k) i.src[k] = {};
          Machine before = m;
          before.wave.registers = reinterpret_cast<std::byte*>(before.memory.data());
          ASSERT_EQ(m.run(i), "") << isa::name(c.op);
          for (uint32_t lane = 0; lane < wave_size; ++lane) {
            uint32_t operand[3];
            for (unsigned k = 0; k < 3; ++k) {
              operand[k] = i.src[k].is_literal() ? i.literal
                           : i.src[k].is_vgpr()  ? before.vgpr(k, lane)
                                                 : before.scalar(4 + k);
            }
            const uint32_t expected = (exec >> lane & 1) != 0 ? c.expected(operand[0], operand[1], operand[2])
                                                              : before.vgpr(dst, lane);
            ASSERT_EQ(m.vgpr(dst, lane), expected)
                << isa::name(c.op) << " level " << int(level) << " lane " << lane << std::hex << " a "
                << operand[0] << " b " << operand[1] << " c " << operand[2] << " round " << round;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec
