// Tests of DS instructions against a simple model.
#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

constexpr unsigned kAddress = 2, kData = 8, kData2 = 12, kResult = 16;

Instruction ds(Op op) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kDs;
  i.vaddr = vgpr_operand(kAddress);
  const auto shape = memory_shape(op);
  const unsigned dwords = shape ? shape->dwords() : 1;
  const unsigned elements = shape && shape->pair ? 2 : 1;
  const bool load = shape && shape->verb == Verb::kLoad;
  if (!load) i.vdata = vgpr_operand(kData, dwords);
  if (!load && shape && shape->pair) i.vdata2 = vgpr_operand(kData2, dwords);
  if (load || !shape || shape->returns) i.vdst = vgpr_operand(kResult, dwords * elements);
  return i;
}

class Lds : public ::testing::TestWithParam<Level> {
 protected:
  uint32_t width() const { return GetParam().wave_size; }

  static void fill(Machine& m) {
    auto* bytes = reinterpret_cast<uint8_t*>(m.group.lds);
    for (uint32_t i = 0; i < Machine::kLdsBytes; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
    for (uint32_t i = 0; i < 64; ++i) bytes[Machine::kLdsBytes + i] = 0xee;
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Lds, ::testing::ValuesIn(all_levels()), level_name);

constexpr Op kReads[] = {Op::ds_read_u8,        Op::ds_read_i8,         Op::ds_read_u16,
                         Op::ds_read_i16,       Op::ds_read_b32,        Op::ds_read_b64,
                         Op::ds_read_b96,       Op::ds_read_b128,       Op::ds_read_u8_d16,
                         Op::ds_read_i8_d16,    Op::ds_read_u16_d16,    Op::ds_read_u8_d16_hi,
                         Op::ds_read_i8_d16_hi, Op::ds_read_u16_d16_hi, Op::ds_read2_b32,
                         Op::ds_read2_b64,      Op::ds_read2st64_b32,   Op::ds_read2st64_b64};
constexpr Op kWrites[] = {Op::ds_write_b8,       Op::ds_write_b16,       Op::ds_write_b32,
                          Op::ds_write_b64,      Op::ds_write_b96,       Op::ds_write_b128,
                          Op::ds_write2_b32,     Op::ds_write2_b64,      Op::ds_write2st64_b32,
                          Op::ds_write2st64_b64, Op::ds_write_b8_d16_hi, Op::ds_write_b16_d16_hi};

struct Elements {
  uint32_t offsets[2];
  unsigned count;
};

Elements elements_of(Instruction& i) {
  const Shape shape = *memory_shape(i.op);
  if (!shape.pair) {
    i.offset = 24;
    return {{24, 0}, 1};
  }
  i.offset = 1, i.offset1 = 3;
  const uint32_t unit = shape.bytes * (shape.far_pair ? 64 : 1);
  return {{unit, 3 * unit}, 2};
}

TEST_P(Lds, ReadsOfEveryWidthAndPattern) {
  for (const Op op : kReads) {
    for (const auto& pattern : patterns(300)) {
      for (const uint64_t exec : execs()) {
        for (const uint32_t skew : {0u, 1u}) {
          Machine m(GetParam());
          fill(m);
          m.set_exec(exec);
          const Shape shape = *memory_shape(op);
          Instruction i = ds(op);
          const Elements elements = elements_of(i);
          for (unsigned lane = 0; lane < width(); ++lane) {
            m.vgpr(kAddress)[lane] = pattern[lane] * shape.bytes + skew;
            for (unsigned d = 0; d < 4; ++d) m.vgpr(kResult + d)[lane] = 0x11111111 * (d + 1);
          }
          ASSERT_EQ(m.run(i), Stop::kEnd);
          for (unsigned lane = 0; lane < width(); ++lane) {
            for (unsigned e = 0; e < elements.count; ++e) {
              const uint32_t at = pattern[lane] * shape.bytes + skew + elements.offsets[e];
              uint32_t values[4] = {};
              if (at + shape.bytes <= m.group.lds_bytes) std::memcpy(values, m.group.lds + at, shape.bytes);
              const std::string_view name = isa::name(op);
              if (name.find("_i8") != name.npos) values[0] = ((values[0] & 0xff) ^ 0x80) - 0x80;
              if (name.find("_i16") != name.npos)
                values[0] = static_cast<uint32_t>(static_cast<int16_t>(values[0]));
              if (shape.d16)
                values[0] = shape.high ? 0x1111 | values[0] << 16 : 0x11110000 | (values[0] & 0xffff);
              for (unsigned d = 0; d < shape.dwords(); ++d) {
                const unsigned r = e * shape.dwords() + d;
                ASSERT_EQ(m.vgpr(kResult + r)[lane], m.active(lane) ? values[d] : 0x11111111 * (r + 1))
                    << name << " lane " << lane << " dword " << r << " exec " << std::hex << exec;
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(Lds, WritesOfEveryWidthAndPattern) {
  for (const Op op : kWrites) {
    for (const auto& pattern : patterns(300)) {
      for (const uint64_t exec : execs()) {
        Machine m(GetParam());
        fill(m);
        std::vector<std::byte> expected(m.group.lds, m.group.lds + Machine::kLdsBytes + 64);
        m.set_exec(exec);
        const Shape shape = *memory_shape(op);
        Instruction i = ds(op);
        const Elements elements = elements_of(i);
        for (unsigned e = 0; e < elements.count; ++e) {
          for (unsigned lane = 0; lane < width(); ++lane) {
            m.vgpr(kAddress)[lane] = pattern[lane] * shape.bytes;
            uint32_t values[4];
            for (unsigned d = 0; d < 4; ++d) {
              values[d] = m.vgpr((e == 0 ? kData : kData2) + d)[lane] = 0x01020304 * (lane + 1) + d + e * 77;
            }
            if (!m.active(lane)) continue;
            if (shape.high) values[0] >>= 16;
            const uint32_t at = pattern[lane] * shape.bytes + elements.offsets[e];
            if (at + shape.bytes <= m.group.lds_bytes) std::memcpy(expected.data() + at, values, shape.bytes);
          }
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        ASSERT_EQ(std::memcmp(m.group.lds, expected.data(), expected.size()), 0)
            << isa::name(op) << " exec " << std::hex << exec;
      }
    }
  }
}

TEST_P(Lds, AddressesPastAllocationReadZeroAndDiscardWrites) {
  Machine m(GetParam());
  fill(m);
  m.group.lds_bytes = 64;
  const std::vector<std::byte> before(m.group.lds, m.group.lds + Machine::kLdsBytes);
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = 60 + lane * 8;
  ASSERT_EQ(m.run(ds(Op::ds_read_b64)), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) EXPECT_EQ(m.vgpr(kResult)[lane], 0u);
  ASSERT_EQ(m.run(ds(Op::ds_write_b64)), Stop::kEnd);
  EXPECT_EQ(std::memcmp(m.group.lds, before.data(), before.size()), 0);
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = 0xfffffffc;
  Instruction i = ds(Op::ds_read_b32);
  i.offset = 8;  // wraps to 4
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.vgpr(kResult)[3], m.lds_dwords()[1]);
}

TEST_P(Lds, M0LimitsAddressesOnGfx8) {
  Machine m(GetParam(), {8, 0, 3});
  fill(m);
  m.set_scalar(isa::code::kM0, 32);
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kAddress)[lane] = lane * 4 + 1;  // aligned down
  ASSERT_EQ(m.run(ds(Op::ds_read_b32)), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) {
    EXPECT_EQ(m.vgpr(kResult)[lane], lane < 8 ? m.lds_dwords()[lane] : 0) << lane;
  }
}

TEST_P(Lds, ElementsAreAlignedDownOnGfx8) {
  if (width() == 32) return;
  for (const Op op : {Op::ds_read_b32, Op::ds_read_b64, Op::ds_read_b128, Op::ds_read2_b32, Op::ds_read2_b64,
                      Op::ds_read2st64_b32, Op::ds_read_u16}) {
    for (const auto& pattern : patterns(60)) {
      for (const uint32_t skew : {0u, 1u}) {
        Machine m(GetParam(), {8, 0, 3});
        fill(m);
        m.set_scalar(isa::code::kM0, 1024);
        const Shape shape = *memory_shape(op);
        Instruction i = ds(op);
        if (shape.pair) i.offset = 1, i.offset1 = 2;
        for (unsigned lane = 0; lane < width(); ++lane) {
          m.vgpr(kAddress)[lane] = pattern[lane] * shape.bytes + skew;
        }
        ASSERT_EQ(m.run(i), Stop::kEnd);
        const uint32_t unit = shape.bytes * (shape.far_pair ? 64 : 1);
        for (unsigned lane = 0; lane < width(); ++lane) {
          for (unsigned e = 0; e < (shape.pair ? 2 : 1); ++e) {
            const uint32_t at = pattern[lane] * shape.bytes + (shape.pair ? (e + 1) * unit : 0);
            uint32_t values[4] = {};
            if (at + shape.bytes <= 1024) std::memcpy(values, m.group.lds + at, shape.bytes);
            for (unsigned d = 0; d < shape.dwords(); ++d) {
              ASSERT_EQ(m.vgpr(kResult + e * shape.dwords() + d)[lane], values[d]) << isa::name(op);
            }
          }
        }
      }
    }
  }
}

TEST_P(Lds, AddTidAddressesAreConsecutive) {
  Machine m(GetParam());
  fill(m);
  m.set_scalar(isa::code::kM0, 0xabc00010);
  Instruction i = ds(Op::ds_read_addtid_b32);
  i.vaddr = {};
  i.offset = 4;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  for (unsigned lane = 0; lane < width(); ++lane) EXPECT_EQ(m.vgpr(kResult)[lane], m.lds_dwords()[5 + lane]);
}

// Runs an atomic in lane 3 only. `old` is the memory's value, `a` and `b` are the operands.
struct Outcome {
  uint64_t memory;
  uint64_t result;
};
Outcome atomic(Level level, Op op, uint64_t old, uint64_t a, uint64_t b = 0) {
  Machine m(level);
  m.set_exec(8);
  std::memcpy(m.group.lds + 40, &old, 8);
  m.vgpr(kAddress)[3] = 40;
  Instruction i = ds(op);
  const unsigned dwords = memory_shape(op)->dwords();
  i.vdata2 = vgpr_operand(kData2, dwords);
  for (unsigned d = 0; d < dwords; ++d) {
    m.vgpr(kData + d)[3] = static_cast<uint32_t>(a >> 32 * d);
    m.vgpr(kData2 + d)[3] = static_cast<uint32_t>(b >> 32 * d);
  }
  EXPECT_EQ(m.run(i), Stop::kEnd);
  Outcome outcome{};
  std::memcpy(&outcome.memory, m.group.lds + 40, dwords * 4);
  outcome.result = m.vgpr(kResult)[3];
  if (dwords == 2) outcome.result |= uint64_t{m.vgpr(kResult + 1)[3]} << 32;
  return outcome;
}

uint64_t f(float value) {
  return std::bit_cast<uint32_t>(value);
}

TEST_P(Lds, AtomicsReturnOldValueAndStoreNewValue) {
  const struct {
    Op op;
    uint64_t old, a, b, next;
  } kCases[] = {
      {Op::ds_add_rtn_u32, 5, 0xffffffff, 0, 4},
      {Op::ds_sub_rtn_u32, 5, 7, 0, 0xfffffffe},
      {Op::ds_rsub_rtn_u32, 5, 7, 0, 2},
      {Op::ds_inc_rtn_u32, 5, 5, 0, 0},
      {Op::ds_inc_rtn_u32, 5, 6, 0, 6},
      {Op::ds_dec_rtn_u32, 0, 6, 0, 6},
      {Op::ds_dec_rtn_u32, 7, 6, 0, 6},
      {Op::ds_dec_rtn_u32, 6, 6, 0, 5},
      {Op::ds_min_rtn_i32, 5, 0xffffffff, 0, 0xffffffff},
      {Op::ds_max_rtn_i32, 5, 0xffffffff, 0, 5},
      {Op::ds_min_rtn_u32, 5, 0xffffffff, 0, 5},
      {Op::ds_max_rtn_u32, 5, 0xffffffff, 0, 0xffffffff},
      {Op::ds_and_rtn_b32, 6, 3, 0, 2},
      {Op::ds_or_rtn_b32, 6, 3, 0, 7},
      {Op::ds_xor_rtn_b32, 6, 3, 0, 5},
      {Op::ds_mskor_rtn_b32, 0xff, 0x0f, 0x105, 0x1f5},
      {Op::ds_wrxchg_rtn_b32, 6, 3, 0, 3},
      {Op::ds_cmpst_rtn_b32, 6, 6, 9, 9},
      {Op::ds_cmpst_rtn_b32, 6, 5, 9, 6},
      {Op::ds_cmpst_rtn_f32, 0x80000000, 0, 9, 9},
      {Op::ds_wrap_rtn_b32, 6, 4, 100, 2},
      {Op::ds_wrap_rtn_b32, 3, 4, 100, 103},
      {Op::ds_add_rtn_f32, f(1.5f), f(2.25f), 0, f(3.75f)},
      {Op::ds_min_rtn_f32, f(1.5f), f(-2.0f), 0, f(-2.0f)},
      {Op::ds_max_rtn_f32, f(1.5f), f(-2.0f), 0, f(1.5f)},
      {Op::ds_add_rtn_u64, 0xffffffff, 1, 0, 0x100000000},
      {Op::ds_min_rtn_i64, 5, ~uint64_t{0}, 0, ~uint64_t{0}},
      {Op::ds_cmpst_rtn_b64, 0x100000006, 0x100000006, 9, 9},
      {Op::ds_condxchg32_rtn_b64, 0x0000000500000006, 0x8000000700000009, 0, 0x0000000700000006},
  };
  for (const auto& c : kCases) {
    const Outcome outcome = atomic(GetParam(), c.op, c.old, c.a, c.b);
    EXPECT_EQ(outcome.result, c.old) << isa::name(c.op);
    EXPECT_EQ(outcome.memory, c.next) << isa::name(c.op);
  }
}

TEST_P(Lds, AtomicsOfAllLanesAccumulate) {
  for (const uint64_t exec : execs()) {
    Machine m(GetParam());
    m.set_exec(exec);
    for (unsigned lane = 0; lane < width(); ++lane) {
      m.vgpr(kAddress)[lane] = 16 + lane % 4 * 4;
      m.vgpr(kData)[lane] = lane;
    }
    uint32_t sums[4] = {}, olds[64];
    for (unsigned lane = 0; lane < width(); ++lane) {
      olds[lane] = sums[lane % 4];
      if (m.active(lane)) sums[lane % 4] += lane;
    }
    ASSERT_EQ(m.run(ds(Op::ds_add_rtn_u32)), Stop::kEnd);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(m.lds_dwords()[4 + i], sums[i]);
    for (unsigned lane = 0; lane < width(); ++lane) {
      if (m.active(lane)) {
        EXPECT_EQ(m.vgpr(kResult)[lane], olds[lane]);
      }
    }
    ASSERT_EQ(m.run(ds(Op::ds_add_u32)), Stop::kEnd);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(m.lds_dwords()[4 + i], 2 * sums[i]);
  }
}

TEST_P(Lds, FloatAddFollowsDenormalModeAndRoundsToNearest) {
  for (const bool keep : {true, false}) {
    Machine m(GetParam());
    m.context.mode.denorm32 = keep ? 3 : 0;
    m.context.mode.round32 = 3;
    m.set_exec(1);
    m.lds_dwords()[0] = 1;  // the smallest denormal
    m.vgpr(kAddress)[0] = 0;
    m.vgpr(kData)[0] = 2;
    ASSERT_EQ(m.run(ds(Op::ds_add_f32)), Stop::kEnd);
    EXPECT_EQ(m.lds_dwords()[0], keep ? 3u : 0u);
  }
}

TEST_P(Lds, FloatAtomicsHandleNansAndZerosAsInManuals) {
  constexpr uint32_t kOne = 0x3f800000, kMinusOne = 0xbf800000, kZero = 0, kMinusZero = 0x80000000,
                     kSmall = 1, kMinusSmall = 0x80000001, kQuiet = 0x7fc01234, kQuietToo = 0xffc05678,
                     kSignaling = 0x7f801234, kSignalingToo = 0xff805678, kInfinity = 0x7f800000,
                     kMinusInfinity = 0xff800000;
  struct Case {
    Op op;
    uint32_t memory, operand, kept, flushed;  // memory after the atomic, by denormal mode
  };
  const Case cases[] = {
      {Op::ds_min_f32, kOne, kMinusOne, kMinusOne, kMinusOne},
      {Op::ds_min_f32, kZero, kMinusZero, kMinusZero, kMinusZero},
      {Op::ds_min_f32, kQuiet, kOne, kOne, kOne},
      {Op::ds_min_f32, kMinusInfinity, kQuiet, kMinusInfinity, kMinusInfinity},
      {Op::ds_min_f32, kQuiet, kQuietToo, kQuiet, kQuiet},
      {Op::ds_min_f32, kOne, kSignaling, kQuiet, kQuiet},
      {Op::ds_min_f32, kSignalingToo, kSignaling, kQuietToo, kQuietToo},
      {Op::ds_min_f32, kQuiet, kSignalingToo, kQuietToo, kQuietToo},
      {Op::ds_min_f32, kSmall, kZero, kZero, kSmall},
      {Op::ds_min_f32, kZero, kMinusSmall, kMinusSmall, kMinusSmall},
      {Op::ds_max_f32, kOne, kMinusOne, kOne, kOne},
      {Op::ds_max_f32, kMinusZero, kZero, kZero, kZero},
      {Op::ds_max_f32, kQuiet, kMinusInfinity, kMinusInfinity, kMinusInfinity},
      {Op::ds_max_f32, kInfinity, kQuiet, kInfinity, kInfinity},
      {Op::ds_max_f32, kZero, kSmall, kSmall, kZero},
      {Op::ds_add_f32, kQuiet, kQuietToo, kQuiet, kQuiet},
      {Op::ds_add_f32, kSignalingToo, kQuiet, kQuietToo, kQuietToo},
      {Op::ds_add_f32, kOne, kSignaling, kQuiet, kQuiet},
      {Op::ds_add_f32, kInfinity, kMinusInfinity, 0xffc00000, 0xffc00000},
      {Op::ds_add_f32, kMinusZero, kZero, kZero, kZero},
  };
  for (const Case& test_case : cases) {
    for (const bool keep : {true, false}) {
      Machine m(GetParam());
      m.context.mode.denorm32 = keep ? 3 : 0;
      m.set_exec(1);
      m.lds_dwords()[0] = test_case.memory;
      m.vgpr(kAddress)[0] = 0;
      m.vgpr(kData)[0] = test_case.operand;
      ASSERT_EQ(m.run(ds(test_case.op)), Stop::kEnd);
      EXPECT_EQ(m.lds_dwords()[0], keep ? test_case.kept : test_case.flushed)
          << isa::name(test_case.op) << std::hex << ' ' << test_case.memory << ' ' << test_case.operand;
    }
  }
}

TEST_P(Lds, FloatCompareAndStoreComparesValues) {
  struct Case {
    uint32_t memory, expected, operand, kept, flushed;  // memory after the atomic, by denormal mode
  };
  constexpr Case kCases[] = {
      {0, 0x80000000, 5 << 23, 5 << 23, 5 << 23},                 // zeros of both signs
      {0x7fc00000, 0x7fc00000, 5 << 23, 0x7fc00000, 0x7fc00000},  // NaNs
      {1, 0, 5 << 23, 1, 5 << 23},                                // a denormal
      {0, 0, 0x80000001, 0x80000001, 0x80000000},
  };
  for (const Case& test_case : kCases) {
    for (const bool keep : {true, false}) {
      Machine m(GetParam());
      m.context.mode.denorm32 = keep ? 3 : 0;
      m.set_exec(1);
      m.lds_dwords()[0] = test_case.memory;
      m.vgpr(kAddress)[0] = 0;
      m.vgpr(kData)[0] = test_case.expected, m.vgpr(kData2)[0] = test_case.operand;
      Instruction i = ds(Op::ds_cmpst_f32);
      i.vdata2 = vgpr_operand(kData2);
      ASSERT_EQ(m.run(i), Stop::kEnd);
      EXPECT_EQ(m.lds_dwords()[0], keep ? test_case.kept : test_case.flushed) << std::hex << test_case.memory;
    }
  }
}

TEST_P(Lds, Exchange2SwapsBothElements) {
  Machine m(GetParam());
  fill(m);
  const uint32_t first = m.lds_dwords()[1], second = m.lds_dwords()[3];
  m.set_exec(1);
  m.vgpr(kData)[0] = 5, m.vgpr(kData2)[0] = 6;
  Instruction i = ds(Op::ds_wrxchg2_rtn_b32);
  i.offset = 1, i.offset1 = 3;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.vgpr(kResult)[0], first);
  EXPECT_EQ(m.vgpr(kResult + 1)[0], second);
  EXPECT_EQ(m.lds_dwords()[1], 5u);
  EXPECT_EQ(m.lds_dwords()[3], 6u);
}

TEST_P(Lds, Src2OperandsAreInLds) {
  Machine m(GetParam());
  m.set_exec(1);
  m.lds_dwords()[10] = 5, m.lds_dwords()[13] = 7, m.lds_dwords()[8] = 9;
  m.vgpr(kAddress)[0] = 40;
  Instruction i = ds(Op::ds_add_src2_u32);
  i.offset = 3;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.lds_dwords()[10], 12u);
  i.op = Op::ds_write_src2_b32;
  i.offset = 0x7ffe;  // -2
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.lds_dwords()[10], 9u);
}

TEST_P(Lds, AppendAndConsumeCountLanes) {
  Machine m(GetParam());
  m.set_exec(0xf3);
  m.set_scalar(isa::code::kM0, 8);
  m.lds_dwords()[3] = 100;
  Instruction i = ds(Op::ds_append);
  i.vaddr = i.vdata = {};
  i.offset = 4;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.lds_dwords()[3], 106u);
  EXPECT_EQ(m.vgpr(kResult)[7], 100u);
  EXPECT_EQ(m.vgpr(kResult)[2], 0u);
  i.op = Op::ds_consume;
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.lds_dwords()[3], 100u);
  EXPECT_EQ(m.vgpr(kResult)[7], 106u);
}

TEST_P(Lds, GwsBarrierReleasesWhenAllWavesArrived) {
  Machine m(GetParam());
  m.set_scalar(isa::code::kM0, 2 << 16);
  Instruction i = ds(Op::ds_gws_init);
  i.vaddr = {};
  i.gds = true;
  i.offset = 3;
  for (unsigned lane = 0; lane < width(); ++lane) m.vgpr(kData)[lane] = lane;
  m.set_exec(~uint64_t{3});  // two waves, and the last one to arrive
  ASSERT_EQ(m.run(i), Stop::kEnd);
  i.op = Op::ds_gws_barrier;
  for (int round = 0; round < 3; ++round) {
    m.wave.sync_round = 0;
    EXPECT_EQ(m.run(i), Stop::kSleep);
    const uint64_t first = m.wave.sync_round;
    EXPECT_EQ(m.run(i), Stop::kSleep);  // polls again, does not arrive twice
    m.wave.sync_round = 0;
    EXPECT_EQ(m.run(i), Stop::kSleep);
    m.wave.sync_round = 0;
    EXPECT_EQ(m.run(i), Stop::kEnd);
    m.wave.sync_round = first;
    EXPECT_EQ(m.run(i), Stop::kEnd);
    EXPECT_EQ(m.wave.sync_round, 0u);
  }
}

TEST_P(Lds, GwsSemaphoreBlocksUntilReleased) {
  Machine m(GetParam());
  m.set_scalar(isa::code::kM0, 0);
  Instruction i;
  i.encoding = Encoding::kDs;
  i.gds = true;
  i.op = Op::ds_gws_sema_p;
  EXPECT_EQ(m.run(i), Stop::kSleep);
  i.op = Op::ds_gws_sema_v;
  EXPECT_EQ(m.run(i), Stop::kEnd);
  i.op = Op::ds_gws_sema_p;
  EXPECT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.run(i), Stop::kSleep);
}

TEST_P(Lds, GwsSemaphoreReleasesAllWaiters) {
  Machine m(GetParam());
  m.set_scalar(isa::code::kM0, 0);
  Instruction i;
  i.encoding = Encoding::kDs;
  i.gds = true;
  i.op = Op::ds_gws_sema_p;
  uint64_t waiting[2] = {};
  for (uint64_t& wave : waiting) {
    m.wave.sync_round = 0;
    EXPECT_EQ(m.run(i), Stop::kSleep);
    EXPECT_EQ(m.run(i), Stop::kSleep);  // repeated polls count as one waiting wave
    wave = m.wave.sync_round;
  }
  i.op = Op::ds_gws_sema_release_all;
  EXPECT_EQ(m.run(i), Stop::kEnd);
  i.op = Op::ds_gws_sema_p;
  for (const uint64_t wave : waiting) {
    m.wave.sync_round = wave;
    EXPECT_EQ(m.run(i), Stop::kEnd);
  }
  EXPECT_EQ(m.run(i), Stop::kSleep);
}

TEST_P(Lds, BpermuteReadsFromLane) {
  for (const uint8_t major : {9, 10}) {
    for (const uint64_t exec : execs()) {
      for (const auto& pattern : patterns(256)) {
        Machine m(GetParam(), chip_of(major));
        m.set_exec(exec);
        for (unsigned lane = 0; lane < width(); ++lane) {
          m.vgpr(kAddress)[lane] = pattern[lane] * 4 + 3;
          m.vgpr(kData)[lane] = 1000 + lane;
          m.vgpr(kResult)[lane] = 7;
        }
        Instruction i = ds(Op::ds_bpermute_b32);
        i.offset = 4;
        ASSERT_EQ(m.run(i), Stop::kEnd);
        for (unsigned lane = 0; lane < width(); ++lane) {
          const uint32_t address_lane = (pattern[lane] * 4 + 7) / 4;
          const uint32_t source =
              width() == 64 && major == 10 ? (lane & 32) | (address_lane & 31) : address_lane % width();
          const uint32_t expected = !m.active(lane) ? 7 : m.active(source) ? 1000 + source : 0;
          ASSERT_EQ(m.vgpr(kResult)[lane], expected) << lane;
        }
      }
    }
  }
}

TEST_P(Lds, PermuteWritesToLane) {
  for (const uint64_t exec : execs()) {
    Machine m(GetParam());
    m.set_exec(exec);
    std::vector<uint32_t> expected(64);
    for (unsigned lane = 0; lane < width(); ++lane) {
      const uint32_t target = lane * 7 / 2 % width();
      m.vgpr(kAddress)[lane] = target * 4;
      m.vgpr(kData)[lane] = 1000 + lane;
      m.vgpr(kResult)[lane] = 7;
      if (m.active(lane)) expected[target] = 1000 + lane;
    }
    ASSERT_EQ(m.run(ds(Op::ds_permute_b32)), Stop::kEnd);
    for (unsigned lane = 0; lane < width(); ++lane) {
      EXPECT_EQ(m.vgpr(kResult)[lane], m.active(lane) ? expected[lane] : 7) << lane;
    }
  }
}

TEST_P(Lds, SwizzlePatterns) {
  const struct {
    uint32_t pattern;
    uint32_t (*source)(uint32_t lane);
  } kCases[] = {
      {0x041f, [](uint32_t lane) { return lane ^ 1; }},
      {0x7c1f, [](uint32_t lane) { return lane ^ 31; }},
      {0x0010, [](uint32_t lane) { return lane & ~15u; }},
      {0x801b, [](uint32_t lane) { return lane ^ 3; }},
      {0xc020, [](uint32_t lane) { return (lane & 32) | ((lane + 1) & 31); }},
      {0xc420, [](uint32_t lane) { return (lane & 32) | ((lane - 1) & 31); }},
      {0xe01f, [](uint32_t lane) { return lane; }},
  };
  for (const auto& c : kCases) {
    for (const uint64_t exec : execs()) {
      Machine m(GetParam());
      m.set_exec(exec);
      for (unsigned lane = 0; lane < width(); ++lane) {
        m.vgpr(kAddress)[lane] = 1000 + lane;
        m.vgpr(kResult)[lane] = 7;
      }
      Instruction i = ds(Op::ds_swizzle_b32);
      i.vdata = {};
      i.offset = static_cast<int32_t>(c.pattern);
      ASSERT_EQ(m.run(i), Stop::kEnd);
      for (unsigned lane = 0; lane < width(); ++lane) {
        const uint32_t source = c.source(lane);
        EXPECT_EQ(m.vgpr(kResult)[lane], !m.active(lane)    ? 7
                                         : m.active(source) ? 1000 + source
                                                            : 0)
            << std::hex << c.pattern << " lane " << std::dec << lane;
      }
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::testing
