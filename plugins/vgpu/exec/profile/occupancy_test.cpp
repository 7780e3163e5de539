#include "plugins/vgpu/exec/profile/occupancy.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::exec {
namespace {

/// A kernel in single-wave work-groups, and the occupancy that clang 19 prints for it.
struct Row {
  uint32_t version, simds, max_waves;
  uint32_t vgpr_blocks;  // granulated_workitem_vgpr_count
  double waves;
};

TEST(Occupancy, IsThatOfLlvmForRegisters) {
  constexpr Row kRows[] = {
      {80003, 4, 10, 3, 10},   {80003, 4, 10, 8, 7},    {80003, 4, 10, 25, 2},  {90000, 4, 10, 8, 7},
      {90000, 4, 10, 15, 4},   {90000, 4, 10, 31, 2},   {90010, 4, 8, 7, 8},    {90010, 4, 8, 12, 4},
      {90010, 4, 8, 15, 4},    {100100, 2, 20, 4, 20},  {100100, 2, 20, 7, 16}, {100100, 2, 20, 12, 9},
      {100300, 2, 16, 7, 16},  {100300, 2, 16, 12, 9},  {100300, 2, 16, 15, 8}, {110000, 2, 16, 7, 16},
      {110000, 2, 16, 12, 12}, {110000, 2, 16, 15, 10}, {110002, 2, 16, 12, 9}, {110002, 2, 16, 15, 8},
  };
  for (const Row& row : kRows) {
    OccupancyInputs inputs;
    inputs.simds = row.simds;
    inputs.max_waves = row.max_waves;
    inputs.rsrc1 = row.vgpr_blocks;
    inputs.sgprs = 16;
    const profile::Occupancy occupancy = occupancy_of(*find_dialect(row.version), inputs);
    EXPECT_EQ(occupancy.waves_of_simd(), row.waves) << row.version << ", " << row.vgpr_blocks;
    EXPECT_EQ(occupancy.limit, row.waves < row.max_waves ? "VGPRs" : "") << row.version;
  }
}

TEST(Occupancy, IsThatOfLlvmForSgprs) {
  OccupancyInputs inputs;
  inputs.sgprs = 96;
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).waves_of_simd(), 8);
  inputs.sgprs = 112;
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).waves_of_simd(), 7);
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).limit, "SGPRs");
  EXPECT_EQ(occupancy_of(*find_dialect(100300), inputs).limit, "");
}

TEST(Occupancy, IsThatOfLlvmForLds) {
  OccupancyInputs inputs;
  inputs.lds_bytes_of_group = 20480;
  inputs.waves_of_group = 4;
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).waves_of_simd(), 3);
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).limit, "LDS");
  inputs.lds_bytes_of_group = 32768;
  inputs.waves_of_group = 16;
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).waves_of_simd(), 8);
  // A pair of compute units, waves of 32.
  inputs = {.simds = 2, .max_waves = 16, .units = 2, .waves_of_group = 8, .lds_bytes_of_group = 20480};
  EXPECT_EQ(occupancy_of(*find_dialect(100300), inputs).waves_of_simd(), 12);
}

// LLVM ignores these limits.
TEST(Occupancy, CountsWholeWorkGroups) {
  OccupancyInputs inputs;
  inputs.waves_of_group = 16;
  profile::Occupancy occupancy = occupancy_of(*find_dialect(90000), inputs);
  EXPECT_EQ(occupancy.waves_of_simd(), 8);
  EXPECT_EQ(occupancy.limit, "the size of work-groups");
  inputs.waves_of_group = 2;
  occupancy = occupancy_of(*find_dialect(90000), inputs);
  EXPECT_EQ(occupancy.waves_of_simd(), 8);
  EXPECT_EQ(occupancy.limit, "barriers");
}

TEST(Occupancy, ScratchSlotsLimitWaves) {
  OccupancyInputs inputs;
  inputs.scratch_slots = 32;
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).waves_of_simd(), 8);
  EXPECT_EQ(occupancy_of(*find_dialect(90000), inputs).limit, "scratch");
}

}  // namespace
}  // namespace rigel::vgpu::exec
