#include "plugins/vgpu/cp/performance_counters.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

constexpr uint32_t kIndex = 0xc200, kLow = 0xd1c0, kControl = 0xd808, kSelect = 0xd9c0;
constexpr uint32_t kBroadcast = 0xe0000000;
constexpr uint32_t engine(uint32_t number) {
  return 0x60000000 | number << 16;
}

class PerformanceCountersTest : public ::testing::Test {
 protected:
  PerformanceCountersTest() {
    counters.write(kIndex, kBroadcast);
    counters.write(kControl, 0);
    counters.write(kSelect, 0x4);                   // waves
    counters.write(kSelect + 1, 0x1a | 0xf << 24);  // vector instructions of all SIMDs
    counters.write(kControl, 1);
  }
  void add(uint64_t waves, uint64_t vector) {
    WaveEvents events;
    events[WaveEvent::kWaves] = waves;
    events[WaveEvent::kVector] = vector;
    counters.add(events);
  }
  uint64_t read(uint32_t counter) const {
    return counters.read(kLow + 2 * counter) | uint64_t{counters.read(kLow + 2 * counter + 1)} << 32;
  }
  uint64_t sum(uint32_t counter) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      counters.write(kIndex, engine(i));
      all += read(counter);
    }
    return all;
  }

  PerformanceCounters counters{SequencerEvents::kVega, {.engines = 4}};
};

TEST_F(PerformanceCountersTest, SumOverEnginesIsExact) {
  add(7, 1'000'000'000'003);
  add(2, 0);
  EXPECT_EQ(sum(0), 9u);
  EXPECT_EQ(sum(1), 1'000'000'000'003u);
  EXPECT_EQ(sum(2), 0u) << "no event is selected";
}

TEST_F(PerformanceCountersTest, EngineThatDoesNotExistReadsZero) {
  add(8, 8);
  counters.write(kIndex, engine(3));
  EXPECT_EQ(read(0), 2u);
  counters.write(kIndex, engine(4));
  EXPECT_EQ(read(0), 0u);
}

TEST_F(PerformanceCountersTest, ControlStartsStopsAndResets) {
  EXPECT_TRUE(counters.is_running());
  add(4, 4);
  counters.write(kControl, 2);
  EXPECT_FALSE(counters.is_running());
  EXPECT_EQ(sum(0), 4u) << "stopped counters keep their value";
  counters.write(kControl, 0);
  EXPECT_EQ(sum(0), 0u);
}

TEST_F(PerformanceCountersTest, UnknownEventIsReturnedAndReadsZero) {
  add(4, 4);
  EXPECT_EQ(counters.write(kSelect, 0x2e), 0x2e) << "cycles of waves";
  EXPECT_EQ(counters.write(kSelect + 1, 0x1e), std::nullopt);
  EXPECT_EQ(sum(0), 0u);
}

TEST_F(PerformanceCountersTest, OwnsItsRegistersOnly) {
  for (const uint32_t address : {kIndex, kControl, kLow, kLow + 31, kSelect, kSelect + 15})
    EXPECT_TRUE(PerformanceCounters::has_register(address)) << address;
  for (const uint32_t address : {kIndex + 1, kControl + 1, kLow - 1, kLow + 32, kSelect - 1, kSelect + 16})
    EXPECT_FALSE(PerformanceCounters::has_register(address)) << address;
}

TEST(PerformanceCountersOfDies, SumOverDiesIsExact) {
  PerformanceCounters counters(SequencerEvents::kVega, {.dies = 8, .engines = 4});
  counters.write(kSelect, 4);
  WaveEvents events;
  events[WaveEvent::kWaves] = 70;
  counters.add(events);
  uint64_t all = 0;
  for (uint32_t die = 0; die < 8; ++die) {
    for (uint32_t i = 0; i < 4; ++i) {
      counters.write(kIndex, engine(i));
      all += counters.read(kLow, die);
    }
  }
  EXPECT_EQ(all, 70u);
}

// As AMD's aqlprofile reads them on gfx11: counter n is selected by register 2 n, one read for each
// processor.
TEST(PerformanceCountersOfProcessors, SumOverProcessorsIsExact) {
  PerformanceCounters counters(SequencerEvents::kNavi3, {.engines = 6, .arrays = 2, .processors = 4});
  counters.write(kSelect, 0x04);
  counters.write(kSelect + 2, 0x3e);
  WaveEvents events;
  events[WaveEvent::kWaves] = 1000;
  events[WaveEvent::kVector] = 77;
  counters.add(events);
  uint64_t waves = 0, vector = 0;
  for (uint32_t i = 0; i < 6 * 2 * 4; ++i) {
    counters.write(kIndex, i / 8 << 16 | i / 4 % 2 << 8 | i % 4 << 2);
    waves += counters.read(kLow);
    vector += counters.read(kLow + 2);
  }
  EXPECT_EQ(waves, 1000u);
  EXPECT_EQ(vector, 77u);
  counters.write(kIndex, 2 << 8);
  EXPECT_EQ(counters.read(kLow), 0u) << "the array does not exist";
  counters.write(kIndex, engine(0));
  EXPECT_EQ(counters.read(kLow), 167u) << "of an engine";
}

// vega10_enum.h, navi10_enum.h, soc21_enum.h, soc24_enum.h and basic_counters.xml: the numbers of
// SQ_INSTS_VALU, and within gfx9 those of SQ_INSTS_SALU, differ.
TEST(SequencerEvent, NumberDependsOnGeneration) {
  EXPECT_EQ(sequencer_event(SequencerEvents::kVega, 0x1a), WaveEvent::kVector);
  EXPECT_EQ(sequencer_event(SequencerEvents::kNavi, 0x40), WaveEvent::kVector);
  EXPECT_EQ(sequencer_event(SequencerEvents::kNavi3, 0x3e), WaveEvent::kVector);
  EXPECT_EQ(sequencer_event(SequencerEvents::kNavi4, 0x32), WaveEvent::kVector);
  EXPECT_EQ(sequencer_event(SequencerEvents::kNavi, 0x1a), std::nullopt);
  EXPECT_EQ(sequencer_event(SequencerEvents::kVolcanicIslands, 30), WaveEvent::kScalar);
  EXPECT_EQ(sequencer_event(SequencerEvents::kVega, 30), WaveEvent::kScalar);
  EXPECT_EQ(sequencer_event(SequencerEvents::kMi100, 31), WaveEvent::kScalar);
  EXPECT_EQ(sequencer_event(SequencerEvents::kMi200, 56), WaveEvent::kScalar);
  EXPECT_EQ(sequencer_event(SequencerEvents::kMi300, 60), WaveEvent::kScalar);
  EXPECT_EQ(sequencer_event(SequencerEvents::kMi200, 30), std::nullopt) << "SQ_INSTS_VALU_TRANS_F16";
}

}  // namespace
}  // namespace rigel::vgpu
