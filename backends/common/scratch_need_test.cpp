#include "backends/common/scratch_need.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/common/generation.hpp"
#include "backends/common/testing/nodes.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"

namespace rigel::gfx {
namespace {

using ::testing::ElementsAre;

ScratchDispatch dispatch(uint32_t grid, uint32_t workgroup, uint32_t bytes, uint32_t lanes = 64) {
  return {{grid, 1, 1}, {workgroup, 1, 1}, bytes, lanes};
}

TEST(ScratchNeed, CoversEveryWaveSlot) {
  const auto vega = scratch_device({}, testing::vega10().facts());
  const auto need = scratch_need(vega, dispatch(1 << 20, 256, 100));
  ASSERT_TRUE(need);
  EXPECT_EQ(need->lane_bytes, 112u);  // 64 lanes make whole KiB
  EXPECT_EQ(need->wave_bytes, 7168u);
  EXPECT_EQ(need->waves_per_group, 4u);
  EXPECT_EQ(need->device_waves, 64u * 32);
  EXPECT_EQ(need->device_bytes, 64u * 32 * 7168);
  EXPECT_EQ(need->dispatch_bytes, need->device_bytes);
}

TEST(ScratchNeed, IsSmallerForSmallDispatch) {
  const auto vega = scratch_device({}, testing::vega10().facts());
  const auto need = scratch_need(vega, dispatch(1000, 256, 16));
  ASSERT_TRUE(need);
  EXPECT_EQ(need->dispatch_waves, 4u * 4);                                // four work-groups, one per engine
  EXPECT_EQ(scratch_need(vega, dispatch(1, 1, 16))->dispatch_waves, 4u);  // but every engine gets slots
}

// An XCC has 38 compute units in 4 engines; the register cannot count the slots of 304.
TEST(ScratchNeed, IsThatOfAnXccTimesTheirNumber) {
  const auto mi300x = scratch_device({}, testing::mi300x().facts());
  const auto need = scratch_need(mi300x, dispatch(1 << 20, 256, 16));
  ASSERT_TRUE(need);
  EXPECT_EQ(need->wave_bytes, 1024u);
  EXPECT_EQ(need->device_waves, 40u * 32) << "as if all engines had the largest's units";
  EXPECT_EQ(need->device_bytes, 8u * 40 * 32 * 1024);
  // 16 work-groups of 4 waves, 2 on each XCC, which give one engine's share to all 4 engines.
  EXPECT_EQ(scratch_need(mi300x, dispatch(4096, 256, 16))->dispatch_waves, 4u * 4);
  EXPECT_EQ(scratch_need(mi300x, dispatch(4096, 256, 16))->dispatch_bytes, 8u * 16 * 1024);
}

TEST(ScratchNeed, CountsRunsOnGfx10) {
  const auto navi = scratch_device({}, testing::navi10().facts());
  ASSERT_TRUE(navi.interleaves);
  // Two work-groups of 32: 8 of them fit in a run of 256 work-items, on each of four arrays.
  EXPECT_EQ(scratch_need(navi, dispatch(64, 32, 32, 32))->dispatch_waves, 4u * 8);
}

TEST(ScratchNeed, CountsEnginesOfUnequalSize) {
  auto node = testing::make_node({9, 0, 0}, {0x687f, 14, 4, 4, 1, 10, 64, 2});
  const auto device = scratch_device({}, node.facts());
  EXPECT_EQ(device.slots(), 16u * 32);
  // 28 work-groups, two per compute unit: 28 - 2 * 2 even ones are 6 per engine, and 2 more on the larger
  // engine.
  EXPECT_EQ(scratch_need(device, dispatch(28 * 64, 64, 16))->dispatch_waves, 4u * 8);
}

TEST(ScratchNeed, IsLimitedByRegister) {
  const auto vega = scratch_device({}, testing::vega10().facts());
  EXPECT_TRUE(scratch_need(vega, dispatch(64, 64, 131056)));
  EXPECT_FALSE(scratch_need(vega, dispatch(64, 64, 131072)));
  EXPECT_TRUE(scratch_need(vega, dispatch(64, 64, 131072, 32)));
}

TEST(ScratchNeed, IsLimitedTo32BitOffsets) {
  const auto vega = scratch_device({}, testing::vega10().facts());
  const auto small = scratch_need(vega, dispatch(1 << 20, 256, 1024));
  EXPECT_EQ(reachable_scratch_waves(vega, *small, small->device_waves), small->device_waves);
  // 4 MiB for each of 2048 waves: 16 of 32 on each compute unit are within 4 GiB.
  const auto large = scratch_need(vega, dispatch(1 << 20, 256, 65536));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->device_bytes, uint64_t{8} << 30);
  const uint32_t waves = reachable_scratch_waves(vega, *large, large->device_waves);
  EXPECT_EQ(waves, 64u * 16);
  EXPECT_EQ(waves * large->wave_bytes, uint64_t{4} << 30) << "the last one begins below";
  const auto more = scratch_need(vega, dispatch(1 << 20, 256, 65552));
  EXPECT_EQ(reachable_scratch_waves(vega, *more, more->device_waves), 64u * 12)
      << "whole work-groups of four";
  // Work-groups of 16 waves, of nearly 8 MiB each.
  const auto groups = scratch_need(vega, dispatch(1 << 20, 1024, 131056));
  EXPECT_EQ(reachable_scratch_waves(vega, *groups, groups->device_waves), 4u * 128);
}

TEST(ScratchNeed, AcceptsAnyGrid) {
  const auto vega = scratch_device({}, testing::vega10().facts());
  const ScratchDispatch huge{{UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1, 1, 1}, 16, 64};
  EXPECT_EQ(scratch_need(vega, huge)->dispatch_waves, 64u * 32);
  EXPECT_TRUE(scratch_need(vega, {{0, 0, 0}, {0, 0, 0}, 16, 64}));
}

TEST(ScratchLimit, DecreasesByWorkGroupsThenByEngines) {
  const ScratchDevice device{.compute_units = 8, .engines = 4, .slots_per_cu = 32};
  ScratchNeed need;
  need.waves_per_group = 8;
  std::vector<uint32_t> steps;
  for (uint32_t waves = 256; (waves = fewer_scratch_waves(device, need, waves)) != 0;) steps.push_back(waves);
  EXPECT_THAT(steps, ElementsAre(192, 128, 64, 60, 56, 52, 48, 44, 40, 36, 32));
}

TEST(ScratchLimit, EndsBelowSlotsOfWorkGroup) {
  const ScratchDevice device{.compute_units = 2, .engines = 2, .slots_per_cu = 32};
  ScratchNeed need;
  need.waves_per_group = 16;
  EXPECT_EQ(fewer_scratch_waves(device, need, 34), 32u);
  EXPECT_EQ(fewer_scratch_waves(device, need, 32), 0u);
  EXPECT_EQ(fewer_scratch_waves(device, need, 0), 0u);
}

constexpr ScratchMemory kMemory{.va = 0x1234'5678'9000, .bytes = 0x100000, .wave_bytes = 2048};

TEST(ScratchResource, DescribesSwizzledMemory) {
  // Word 3: X Y Z W, UINT, 32 bits, elements of 4 bytes, index stride 64, thread id.
  EXPECT_THAT(scratch_resource_gfx8(kMemory, false),
              ElementsAre(0x56789000, 0x80001234, 0x100000, 0x00ea4fac));
  EXPECT_EQ(scratch_resource_gfx8(kMemory, true)[3], 0x01ea4facu);
  // Format 20 (32 UINT), thread id, resource level, no bounds check.
  EXPECT_THAT(scratch_resource_gfx10(kMemory, false),
              ElementsAre(0x56789000, 0x80001234, 0x100000, 0x21814fac));
  // The swizzle has two bits, and there is no resource level.
  EXPECT_THAT(scratch_resource_gfx11(kMemory, false),
              ElementsAre(0x56789000, 0x40001234, 0x100000, 0x20814fac));
}

// amd_aql_queue.cpp of ROCr: units of 256 bytes, in 15 bits, and waves of a shader array.
TEST(ScratchRegister, CountsWavesOfEngineOnGfx11) {
  const auto navi = scratch_device(gfx11::kFamily.generation->tmpring, testing::navi31().facts());
  const auto need = scratch_need(navi, dispatch(1 << 20, 256, 20, 32));
  ASSERT_TRUE(need);
  EXPECT_EQ(need->lane_bytes, 24u) << "a multiple of 8 bytes for 32 lanes";
  EXPECT_EQ(need->wave_bytes, 768u);
  EXPECT_EQ(need->device_waves, 96u * 32);
  const ScratchMemory memory{.va = 0x1000, .bytes = need->device_bytes, .wave_bytes = need->wave_bytes};
  EXPECT_EQ(tmpring_size(navi, memory), 8u * 32 | 3u << 12);
  EXPECT_TRUE(scratch_need(navi, dispatch(64, 64, 131068)));
  EXPECT_FALSE(scratch_need(navi, dispatch(64, 64, 131072)));
}

// A wave's size has 18 bits on gfx12.
TEST(ScratchRegister, HasLargerWavesOnGfx12) {
  const auto navi = scratch_device(gfx12::kFamily.generation->tmpring, testing::navi48().facts());
  EXPECT_TRUE(scratch_need(navi, dispatch(64, 64, 131072)));
  EXPECT_FALSE(scratch_need(navi, dispatch(64, 64, 1 << 20)));
}

TEST(ScratchRegister, ContainsWavesAndSize) {
  const ScratchDevice device{.compute_units = 64, .engines = 4, .slots_per_cu = 32};
  EXPECT_EQ(tmpring_size(device, kMemory), 512u | 2u << 12);
  EXPECT_EQ(tmpring_size(device, {}), 0u);
  ScratchMemory odd = kMemory;
  odd.bytes = 2048 * 7;  // not a multiple of the engines' shares
  EXPECT_EQ(tmpring_size(device, odd) & 0xfff, 4u);
  odd.bytes = uint64_t{2048} * 5000;
  EXPECT_EQ(tmpring_size(device, odd) & 0xfff, 2048u);
}

TEST(ScratchQueue, ContainsMemory) {
  amd_queue_t queue{};
  set_scratch(queue, kMemory, {1, 2, 3, 4}, 77, 0x9000);
  EXPECT_THAT(queue.scratch_resource_descriptor, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(queue.compute_tmpring_size, 77u);
  EXPECT_EQ(queue.scratch_backing_memory_location, 0x9000u);
  EXPECT_EQ(queue.scratch_backing_memory_byte_size, 0x100000u);
  EXPECT_EQ(queue.scratch_wave64_lane_byte_size, 32u);
}

}  // namespace
}  // namespace rigel::gfx
