#include "plugins/vgpu/analysis/yield_points.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/analysis/test_code.hpp"

namespace rigel::vgpu::analysis {
namespace {

// Instructions of gfx900.
const Words kLdsLoad{0xd86c0000, 0x01000000};      // ds_read_b32 v1, v0
const Words kLdsStore{0xd81a0000, 0x00000100};     // ds_write_b32 v0, v1
const Words kLdsAdd{0xd8000000, 0x00000200};       // ds_add_u32 v0, v2
const Words kLdsFetchAdd{0xd8400000, 0x01000200};  // ds_add_rtn_u32 v1, v0, v2
const Words kLoad{0xdc508000, 0x017f0002};         // global_load_dword v1, v[2:3], off
const Words kStore{0xdc708000, 0x007f0102};        // global_store_dword v[2:3], v1, off
const Words kScalarLoad{0xc0020100, 0};            // s_load_dword s4, s[0:1], 0x0
const Words kWaitForLds{0xbf8cc07f};               // s_waitcnt lgkmcnt(0)
const Words kWaitForLdsButOne{0xbf8cc17f};         // s_waitcnt lgkmcnt(1)
const Words kWait{0xbf8c0f70};                     // s_waitcnt vmcnt(0)
const Words kBarrier{0xbf8a0000};
const Words kMove{0x7e000280};  // v_mov_b32 v0, 0

/// Returns the indices of the instructions after which waves yield.
std::vector<size_t> points_of(const std::vector<Words>& instructions, Yields yields = Yields::kBeforeStores) {
  const FlowGraph graph = graph_of_code(instructions);
  std::vector<size_t> found;
  const std::vector<bool> points = yield_points(graph, yields);
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i]) found.push_back(i);
  }
  return found;
}

using Points = std::vector<size_t>;

TEST(YieldPoints, AreAtWaitBetweenLdsLoadAndStore) {
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kMove, kLdsStore, kEnd}), Points{1});
  EXPECT_EQ(points_of({kLdsFetchAdd, kWaitForLds, kLdsStore, kEnd}), Points{1});
}

TEST(YieldPoints, AreAbsentIfBarrierIsBetween) {
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kBarrier, kLdsStore, kEnd}), Points{});
}

TEST(YieldPoints, AreAbsentIfNoStoreFollows) {
  EXPECT_EQ(points_of({kLdsStore, kLdsLoad, kWaitForLds, kEnd}), Points{});
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kLdsAdd, kEnd}), Points{}) << "atomics are no stores";
}

TEST(YieldPoints, AreAbsentIfWaitIsForOtherMemory) {
  EXPECT_EQ(points_of({kScalarLoad, kWaitForLds, kLdsStore, kEnd}), Points{});
  EXPECT_EQ(points_of({kLdsLoad, kWait, kLdsStore, kEnd}), Points{});
}

TEST(YieldPoints, AreAtLastWaitOnly) {
  EXPECT_EQ(points_of({kLdsLoad, kLdsLoad, kWaitForLdsButOne, kMove, kWaitForLds, kLdsStore, kEnd}),
            Points{4});
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kLdsLoad, kWaitForLds, kLdsStore, kEnd}), Points{3});
}

TEST(YieldPoints, AreAtWaitBetweenGlobalAccessesIfCodeHasBarrier) {
  EXPECT_EQ(points_of({kBarrier, kLoad, kWait, kStore, kEnd}), Points{2});
  EXPECT_EQ(points_of({kLoad, kWait, kStore, kEnd}), Points{}) << "without a barrier";
  EXPECT_EQ(points_of({kBarrier, kLoad, kWait, kLdsStore, kEnd}), Points{}) << "other memory";
}

TEST(YieldPoints, AreFoundOnEachPathThroughBranch) {
  // The store is skipped if no lane is active.
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, skip_if_no_lane(2), kLdsStore, kBarrier, kEnd}), Points{1});
  // The load is skipped.
  EXPECT_EQ(points_of({skip_if_no_lane(2), kLdsLoad, kWaitForLds, kLdsStore, kBarrier, kEnd}), Points{2});
}

TEST(YieldPoints, AreFoundAcrossLoopIterations) {
  // The store precedes the load, and follows it in the next iteration.
  EXPECT_EQ(points_of({kLdsStore, kLdsLoad, kWaitForLds, back_while_lanes(6), kEnd}), Points{2});
  EXPECT_EQ(points_of({kLdsStore, kLdsLoad, kWaitForLds, kBarrier, back_while_lanes(7), kEnd}), Points{});
}

TEST(YieldPoints, AreAbsentIfCodeSleeps) {
  const Words sleep{0xbf8e0001};  // s_sleep 1
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kLdsStore, sleep, kEnd}), Points{});
}

TEST(YieldPoints, AreAllWaitsWithAtWaits) {
  EXPECT_EQ(points_of({kLoad, kWait, kScalarLoad, kWaitForLds, kEnd}, Yields::kAtWaits), (Points{1, 3}));
  EXPECT_EQ(points_of({kLdsLoad, kWaitForLds, kLdsStore, kEnd}, Yields::kNone), Points{});
}

}  // namespace
}  // namespace rigel::vgpu::analysis
