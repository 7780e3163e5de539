#include "backends/common/save_area.hpp"

#include <gtest/gtest.h>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

SaveArea area_of(const Family& family, testing::Node node) {
  const NodeFacts facts = node.facts();
  return save_area(family, *find_chip(family, facts.version), facts);
}

struct Row {
  const char* board;
  const Family& family;
  testing::Node node;
  uint32_t control_stack, area, debug;
};

// The sizes that amdkfd computes for these boards.
TEST(SaveArea, HasSizesOfDriver) {
  const Row rows[] = {
      {"Fiji", gfx8::kFamily, testing::fiji(), 0x5000, 0x1545000, 0x10000},
      {"Polaris10", gfx8::kFamily, testing::polaris10(), 0x3000, 0xbf7000, 0xb400},
      {"Vega10", gfx9::kFamily, testing::vega10(), 0x5000, 0x1545000, 0x10000},
      {"Vega20", gfx9::kFamily, testing::vega20(), 0x5000, 0x13f1000, 0x10000},
      {"MI100", gfx9::kFamily, testing::mi100(), 0x9000, 0x45e1000, 0x20000},
      {"MI210", gfx9::kFamily, testing::mi210(), 0x9000, 0x3c91000, 0x20000},
      {"Navi10", gfx10::kFamily, testing::navi10(), 0x4000, 0xd4c000, 0xa000},
      {"Navi21", gfx10::kFamily, testing::navi21(), 0x7000, 0x1a97000, 0x14000},
      {"Navi31", gfx11::kFamily, testing::navi31(), 0xa000, 0x2bea000, 0x18000},
      {"Navi33", gfx11::kFamily, testing::navi33(), 0x4000, 0xaa4000, 0x8000},
      // As a Radeon AI PRO R9700 reports them: ctl_stack_size 28672, cwsr_size 30699520.
      {"Navi48", gfx12::kFamily, testing::navi48(), 0x7000, 0x1d47000, 0x10000},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.board);
    const SaveArea area = area_of(row.family, row.node);
    EXPECT_EQ(area.control_stack_bytes, row.control_stack);
    EXPECT_EQ(area.area_bytes, row.area);
    EXPECT_EQ(area.debug_bytes, row.debug);
    EXPECT_EQ(area.allocation_bytes, (uint64_t{row.area} + row.debug + 0xfff) & ~0xfffull);
  }
}

TEST(SaveArea, IsDoubledForChipsWithAccumulators) {
  auto vega = testing::vega20(), arcturus = testing::make_node({9, 0, 8}, {0x738c, 60, 4, 4, 1, 10, 64, 2});
  EXPECT_EQ(area_of(gfx9::kFamily, arcturus).area_bytes - area_of(gfx9::kFamily, vega).area_bytes,
            60u * 0x40000);
}

TEST(SaveArea, UsesSizeReportedByKernel) {
  const SaveArea area =
      area_of(gfx9::kFamily, testing::vega10().set("ctl_stack_size", 0x6000).set("cwsr_size", 0x1600000));
  EXPECT_EQ(area.control_stack_bytes, 0x6000u);
  EXPECT_EQ(area.area_bytes, 0x1600000u);
}

TEST(SaveArea, IsAllocatedForEachXcc) {
  const SaveArea one = area_of(gfx9::kFamily, testing::vega10());
  // Twice the compute units and engines, in two XCCs.
  auto two_xccs = testing::make_node({9, 0, 0}, {0x687f, 128, 4, 8, 1, 10, 64, 2}).set("num_xcc", 2);
  const SaveArea two = area_of(gfx9::kFamily, two_xccs);
  EXPECT_EQ(two.area_bytes, one.area_bytes);
  EXPECT_EQ(two.allocation_bytes, 2 * one.allocation_bytes);
}

TEST(SaveArea, OfMi300xHasTheUnitsOfAnXcc) {
  const SaveArea area = area_of(gfx9::kFamily, testing::mi300x());
  EXPECT_EQ(area.control_stack_bytes, 0x3000u) << "1520 waves";
  EXPECT_EQ(area.area_bytes, 0x3000u + 38 * 0x95000);
  EXPECT_EQ(area.debug_bytes, 1520u * 32);
  EXPECT_EQ(area.allocation_bytes, (8 * (uint64_t{area.area_bytes} + area.debug_bytes) + 0xfff) & ~0xfffull);
}

// It cannot save waves, but amdkfd's kfd_queue.c has no exception, and rejects queues without a save area.
TEST(SaveArea, IsAllocatedForTonga) {
  const SaveArea area = area_of(gfx8::kFamily, testing::tonga());
  EXPECT_EQ(area.control_stack_bytes, 0x3000u);
  EXPECT_EQ(area.area_bytes, 0x3000u + 32 * 0x55000);
}

TEST(EndOfPipeBuffer, IsOnePageExceptForTonga) {
  EXPECT_EQ(end_of_pipe_bytes(gfx8::kFamily, testing::fiji().facts()), 4096u);
  EXPECT_EQ(end_of_pipe_bytes(gfx8::kFamily, testing::tonga().facts()), 32768u);
  EXPECT_EQ(end_of_pipe_bytes(gfx10::kFamily, testing::navi21().facts()), 4096u);
  EXPECT_EQ(end_of_pipe_bytes(gfx10::kFamily, testing::navi21().set("eop_buffer_size", 8192).facts()), 8192u);
}

TEST(DoorbellSlice, IsTwoPagesFromGfx9On) {
  EXPECT_EQ(doorbell_slice_bytes(gfx8::kFamily), 4096u);
  EXPECT_EQ(doorbell_slice_bytes(gfx9::kFamily), 8192u);
}

}  // namespace
}  // namespace rigel::gfx
