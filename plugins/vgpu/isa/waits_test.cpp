#include "plugins/vgpu/isa/waits.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::isa {
namespace {

Waits waits_of(const char* chip, uint32_t word) {
  const Target target = *target_of(chip);
  Instruction instruction;
  EXPECT_EQ(decode(target, &word, 1, instruction), DecodeStatus::kOk);
  return isa::waits_of(instruction, target);
}

TEST(IsaWaits, HaveTheLimitsOfEachCounter) {
  const Waits waits = waits_of("gfx90a", 0xbf8c4172);  // s_waitcnt vmcnt(18) lgkmcnt(1)
  EXPECT_EQ(waits.limit(WaitCounter::kVector), 18u);
  EXPECT_EQ(waits.limit(WaitCounter::kExport), std::nullopt);
  EXPECT_EQ(waits.limit(WaitCounter::kShared), 1u);
  EXPECT_EQ(waits.limit(WaitCounter::kVectorStore), std::nullopt);
}

TEST(IsaWaits, DependOnTheSizesOfFields) {
  EXPECT_EQ(waits_of("gfx803", 0xbf8c0f7f).limit(WaitCounter::kVector),
            std::nullopt);  // 15, the most of gfx8
  EXPECT_EQ(waits_of("gfx900", 0xbf8c0f7f).limit(WaitCounter::kVector), 15u);
  EXPECT_EQ(waits_of("gfx900", 0xbf8c0f7f).limit(WaitCounter::kShared), std::nullopt);
  EXPECT_EQ(waits_of("gfx1010", 0xbf8c0f7f).limit(WaitCounter::kShared), 15u);
}

TEST(IsaWaits, AreOfOneCounter) {
  const Waits stores = waits_of("gfx1030", 0xbbfd0003);  // s_waitcnt_vscnt null, 0x3
  EXPECT_EQ(stores.limit(WaitCounter::kVectorStore), 3u);
  EXPECT_EQ(stores.limit(WaitCounter::kVector), std::nullopt);
  EXPECT_TRUE(waits_of("gfx1030", 0xbbfd003f).is_empty());
}

TEST(IsaWaits, AreSplitOnGfx12) {
  EXPECT_EQ(waits_of("gfx1200", 0xbfc00003).limit(WaitCounter::kVector), 3u);  // s_wait_loadcnt 0x3
  const Waits scalar = waits_of("gfx1201", 0xbfc70000);                        // s_wait_kmcnt 0x0
  EXPECT_EQ(scalar.limit(WaitCounter::kScalar), 0u);
  EXPECT_EQ(scalar.limit(WaitCounter::kShared), std::nullopt);
  const Waits both = waits_of("gfx1201", 0xbfc80205);  // s_wait_loadcnt_dscnt 0x205
  EXPECT_EQ(both.limit(WaitCounter::kVector), 2u);
  EXPECT_EQ(both.limit(WaitCounter::kShared), 5u);
  EXPECT_TRUE(waits_of("gfx1201", 0xbfc7001f).is_empty());
}

TEST(IsaWaits, AreEmptyForOtherInstructions) {
  EXPECT_TRUE(waits_of("gfx900", 0xbf810000).is_empty());  // s_endpgm
}

}  // namespace
}  // namespace rigel::vgpu::isa
