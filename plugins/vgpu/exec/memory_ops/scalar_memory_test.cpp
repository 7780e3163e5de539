#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

class ScalarMemory : public ::testing::TestWithParam<Level> {};
INSTANTIATE_TEST_SUITE_P(Levels, ScalarMemory, ::testing::ValuesIn(all_levels()), level_name);

constexpr unsigned kBase = 4, kData = 20, kOffset = 10;

Instruction smem(Op op, int32_t offset) {
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kSmem;
  i.saddr = sgpr_operand(kBase, 2);
  i.offset = offset;
  const auto shape = memory_shape(op);
  if (!shape || shape->verb == Verb::kLoad) {
    i.vdst = sgpr_operand(kData);
  } else {
    i.vdata = sgpr_operand(kData);
  }
  return i;
}

TEST_P(ScalarMemory, LoadsOfEveryWidthAcrossObjects) {
  for (const Op op :
       {Op::s_load_dword, Op::s_load_dwordx2, Op::s_load_dwordx4, Op::s_load_dwordx8, Op::s_load_dwordx16}) {
    Machine m(GetParam());
    const Buffer a = m.bus.map_at(0x100000, kPage), b = m.bus.map_at(0x100000 + kPage, kPage);
    for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i, b.at<uint32_t>()[i] = 1024 + i;
    m.set_exec(0);  // ignored by scalar loads
    for (const uint32_t offset : {0u, 400u, 4080u, 4092u, 4096u}) {
      m.set_scalar64(kBase, a.va + offset + 1 + 8);
      m.set_scalar(kOffset, 19);
      Instruction i = smem(op, -24);
      i.soffset = sgpr_operand(kOffset);
      for (unsigned d = 0; d < 16; ++d) m.set_scalar(kData + d, 77);
      ASSERT_EQ(m.run(i), Stop::kEnd);
      for (unsigned d = 0; d < 16; ++d) {
        EXPECT_EQ(m.wave.scalars()[kData + d], d < memory_shape(op)->dwords() ? offset / 4 + d : 77)
            << offset;
      }
    }
  }
}

TEST_P(ScalarMemory, UnmappedLoadsFault) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  m.set_scalar64(kBase, a.va + kPage - 8);
  ASSERT_EQ(m.run(smem(Op::s_load_dwordx4, 0)), Stop::kFault);
  EXPECT_EQ(m.wave.fault_va, a.va + kPage);
}

TEST_P(ScalarMemory, BufferRangeCheckIsPerDword) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  for (uint32_t i = 0; i < 1024; ++i) a.at<uint32_t>()[i] = i + 1;
  for (const uint32_t stride : {0u, 4u}) {
    m.set_scalar64(kBase, a.va | uint64_t{stride} << 48);
    m.set_scalar(kBase + 2, stride == 0 ? 24 : 6);
    ASSERT_EQ(m.run(smem(Op::s_buffer_load_dwordx4, 16)), Stop::kEnd);
    EXPECT_EQ(m.wave.scalars()[kData + 1], 6u);
    EXPECT_EQ(m.wave.scalars()[kData + 2], 0u);
    ASSERT_EQ(m.run(smem(Op::s_buffer_load_dwordx4, 4000)), Stop::kEnd);
    EXPECT_EQ(m.wave.scalars()[kData], 0u);
  }
}

TEST_P(ScalarMemory, StoresWriteMemoryAndBuffers) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  m.set_scalar64(kBase, a.va);
  for (unsigned d = 0; d < 4; ++d) m.set_scalar(kData + d, 5 + d);
  ASSERT_EQ(m.run(smem(Op::s_store_dwordx4, 8)), Stop::kEnd);
  EXPECT_EQ(a.at<uint32_t>(8)[3], 8u);
  m.set_scalar(kBase + 2, 12);
  ASSERT_EQ(m.run(smem(Op::s_buffer_store_dwordx2, 8)), Stop::kEnd);
  EXPECT_EQ(a.at<uint32_t>(8)[0], 5u);
  EXPECT_EQ(a.at<uint32_t>(8)[1], 6u);
  ASSERT_EQ(m.run(smem(Op::s_buffer_store_dwordx2, 0)), Stop::kEnd);
  EXPECT_EQ(a.at<uint32_t>(0)[1], 6u);
}

TEST_P(ScalarMemory, ScratchOffsetsAreInUnitsOf64Bytes) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  a.at<uint32_t>(128 + 8)[0] = 55;
  m.set_scalar64(kBase, a.va);
  m.set_scalar(kOffset, 4);
  Instruction i = smem(Op::s_scratch_load_dword, 8 - 128);
  i.soffset = sgpr_operand(kOffset);
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(m.wave.scalars()[kData], 55u);
}

TEST_P(ScalarMemory, AtomicsReturnOldValueWithGlc) {
  Machine m(GetParam());
  const Buffer a = m.bus.allocate(kPage);
  m.set_scalar64(kBase, a.va);
  a.at<uint32_t>()[0] = 5;
  m.set_scalar(kData, 3);
  ASSERT_EQ(m.run(smem(Op::s_atomic_add, 0)), Stop::kEnd);
  EXPECT_EQ(a.at<uint32_t>()[0], 8u);
  EXPECT_EQ(m.wave.scalars()[kData], 3u);
  Instruction i = smem(Op::s_atomic_cmpswap_x2, 0);
  i.glc = true;
  m.set_scalar64(kData, 100), m.set_scalar64(kData + 2, 8);
  ASSERT_EQ(m.run(i), Stop::kEnd);
  EXPECT_EQ(a.at<uint64_t>()[0], 100u);
  EXPECT_EQ(m.scalar64(kData), 8u);
  m.set_scalar64(kBase, 0x10);
  EXPECT_EQ(m.run(i), Stop::kFault);
}

TEST_P(ScalarMemory, ClocksAdvance) {
  Machine m(GetParam());
  for (const Op op : {Op::s_memtime, Op::s_memrealtime}) {
    ASSERT_EQ(m.run(smem(op, 0)), Stop::kEnd);
    const uint64_t first = m.scalar64(kData);
    ASSERT_EQ(m.run(smem(op, 0)), Stop::kEnd);
    EXPECT_GT(m.scalar64(kData), first);
  }
}

TEST_P(ScalarMemory, CacheOperationsChangeNothing) {
  Machine m(GetParam());
  for (const Op op :
       {Op::s_dcache_inv, Op::s_dcache_wb, Op::s_dcache_inv_vol, Op::s_dcache_wb_vol, Op::s_gl1_inv,
        Op::s_dcache_discard, Op::s_dcache_discard_x2, Op::s_atc_probe, Op::s_atc_probe_buffer}) {
    EXPECT_EQ(m.run(smem(op, 0)), Stop::kEnd);
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::testing
