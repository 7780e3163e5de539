#include "plugins/vgpu/analysis/wait_check.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/analysis/test_code.hpp"

namespace rigel::vgpu::analysis {
namespace {

// Instructions of gfx900.
const Words kLdsLoadV1{0xd86c0000, 0x01000000};  // ds_read_b32 v1, v0
const Words kLdsLoadV5{0xd86c0000, 0x05000000};  // ds_read_b32 v5, v0
const Words kLoadV1{0xdc508000, 0x017f0002};     // global_load_dword v1, v[2:3], off
const Words kLoadV5{0xdc508000, 0x057f0002};     // global_load_dword v5, v[2:3], off
const Words kStoreV1{0xdc708000, 0x007f0102};    // global_store_dword v[2:3], v1, off
const Words kStoreV7{0xdc708000, 0x007f0702};    // global_store_dword v[2:3], v7, off
const Words kScalarLoadS4{0xc0020100, 0};        // s_load_dword s4, s[0:1], 0x0
const Words kWaitLgkm0{0xbf8cc07f};              // s_waitcnt lgkmcnt(0)
const Words kWaitLgkm1{0xbf8cc17f};              // s_waitcnt lgkmcnt(1)
const Words kWaitVm0{0xbf8c0f70};                // s_waitcnt vmcnt(0)
const Words kWaitVm1{0xbf8c0f71};                // s_waitcnt vmcnt(1)
const Words kReadV1{0x7e000301};                 // v_mov_b32 v0, v1
const Words kReadV5{0x7e000305};                 // v_mov_b32 v0, v5
const Words kWriteV1{0x7e020280};                // v_mov_b32 v1, 0
const Words kReadS4{0x7e000204};                 // v_mov_b32 v0, s4

std::vector<MissingWait> found_in(const std::vector<Words>& instructions) {
  return missing_waits(graph_of_code(instructions));
}

/// "2<0 v1 vmcnt(0)": instruction 2 uses v1 of load 0 before vmcnt(0).
std::string text_of(const std::vector<MissingWait>& all) {
  std::string text;
  for (const MissingWait& missing : all) {
    text += text.empty() ? "" : "; ";
    text += std::to_string(missing.node) + "<" + std::to_string(missing.load) + " " + missing.register_name +
            " " + missing.wait;
  }
  return text;
}

TEST(MissingWaits, IsEmptyAfterSufficientWait) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kWaitVm0, kReadV1, kEnd})), "");
  EXPECT_EQ(text_of(found_in({kLdsLoadV1, kWaitLgkm0, kReadV1, kEnd})), "");
  EXPECT_EQ(text_of(found_in({kScalarLoadS4, kWaitLgkm0, kReadS4, kEnd})), "");
  EXPECT_EQ(text_of(found_in({kLoadV1, kLoadV5, kWaitVm1, kReadV1, kEnd})), "") << "loads are in order";
}

TEST(MissingWaits, FindsReadBeforeWait) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kReadV1, kWaitVm0, kEnd})), "1<0 v1 vmcnt(0)");
  EXPECT_EQ(text_of(found_in({kLdsLoadV1, kReadV1, kEnd})), "1<0 v1 lgkmcnt(0)");
  EXPECT_EQ(text_of(found_in({kScalarLoadS4, kReadS4, kEnd})), "1<0 s4 lgkmcnt(0)");
  EXPECT_EQ(text_of(found_in({kLoadV1, kStoreV1, kEnd})), "1<0 v1 vmcnt(0)");
}

TEST(MissingWaits, FindsWaitForOtherCounter) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kWaitLgkm0, kReadV1, kEnd})), "2<0 v1 vmcnt(0)");
  EXPECT_EQ(text_of(found_in({kLdsLoadV1, kWaitVm0, kReadV1, kEnd})), "2<0 v1 lgkmcnt(0)");
}

TEST(MissingWaits, FindsWaitForTooFew) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kLoadV5, kWaitVm1, kReadV5, kEnd})), "3<1 v5 vmcnt(0)");
  EXPECT_EQ(text_of(found_in({kLoadV1, kLoadV5, kReadV1, kEnd})), "2<0 v1 vmcnt(1)");
}

TEST(MissingWaits, CountsStoresOfGfx9) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kStoreV7, kWaitVm1, kReadV1, kEnd})), "");
}

TEST(MissingWaits, ScalarLoadsNeedWaitForZero) {
  EXPECT_EQ(text_of(found_in({kScalarLoadS4, kLdsLoadV1, kWaitLgkm1, kReadS4, kEnd})), "3<0 s4 lgkmcnt(0)");
  EXPECT_EQ(text_of(found_in({kLdsLoadV1, kScalarLoadS4, kWaitLgkm1, kReadV1, kEnd})), "3<0 v1 lgkmcnt(0)");
}

TEST(MissingWaits, CountersOfGfx12AreSeparate) {
  const Words load_v1{0xee05007c, 0x00000001, 0x00000002};  // global_load_b32 v1, v[2:3], off
  const Words lds_load_v5{0xd8d80000, 0x05000000};          // ds_load_b32 v5, v0
  const Words scalar_load_s4{0xf4000100, 0xf8000000};       // s_load_b32 s4, s[0:1], 0x0
  const Words wait_load{0xbfc00000}, wait_ds{0xbfc60000}, wait_km{0xbfc70000}, wait_load_ds{0xbfc80000},
      wait_store{0xbfc10000}, end{0xbfb00000};
  const auto text = [](const std::vector<Words>& instructions) {
    return text_of(missing_waits(graph_of_code(instructions, {.major = 12, .minor = 0, .stepping = 1})));
  };
  EXPECT_EQ(text({load_v1, wait_load, kReadV1, end}), "");
  EXPECT_EQ(text({load_v1, wait_store, kReadV1, end}), "2<0 v1 loadcnt(0)");
  EXPECT_EQ(text({lds_load_v5, wait_ds, kReadV5, end}), "");
  EXPECT_EQ(text({lds_load_v5, wait_km, kReadV5, end}), "2<0 v5 dscnt(0)");
  EXPECT_EQ(text({scalar_load_s4, wait_km, kReadS4, end}), "");
  EXPECT_EQ(text({scalar_load_s4, wait_load_ds, kReadS4, end}), "2<0 s4 kmcnt(0)");
  EXPECT_EQ(text({load_v1, lds_load_v5, wait_load_ds, kReadV1, kReadV5, end}), "");
}

TEST(MissingWaits, FindsWriteBeforeLoadCompletes) {
  const auto found = found_in({kLoadV1, kWriteV1, kEnd});
  EXPECT_EQ(text_of(found), "1<0 v1 vmcnt(0)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].is_read);
}

TEST(MissingWaits, LaterLoadMayWriteSameRegister) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kLoadV1, kWaitVm0, kReadV1, kEnd})), "");
  EXPECT_EQ(text_of(found_in({kLdsLoadV1, kLoadV1, kEnd})), "1<0 v1 lgkmcnt(0)") << "of another counter";
}

TEST(MissingWaits, FindsPathWithoutWait) {
  EXPECT_EQ(text_of(found_in({kLoadV1, skip_if_no_lane(1), kWaitVm0, kReadV1, kEnd})), "3<0 v1 vmcnt(0)");
}

TEST(MissingWaits, FindsUseInNextIteration) {
  // 0: v_mov v0, v5; 1: load v5; 2: branch back to 0
  EXPECT_EQ(text_of(found_in({kReadV5, kLoadV5, back_while_lanes(4), kEnd})), "0<1 v5 vmcnt(0)");
}

TEST(MissingWaits, ReportsLoadOnce) {
  EXPECT_EQ(text_of(found_in({kLoadV1, kReadV1, kReadV1, kEnd})), "1<0 v1 vmcnt(0)");
}

}  // namespace
}  // namespace rigel::vgpu::analysis
