#include "plugins/vgpu/cp/performance_counters.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

constexpr uint32_t kIndex = 0xc200, kLow = 0xd1c0, kControl = 0xd808, kSelect = 0xd9c0;
constexpr uint32_t kAddresserLow = 0xd2c0, kAddresserSelect = 0xdac0;
constexpr uint32_t kLauncherHigh = 0xd180, kLauncherSelect = 0xd980;
constexpr uint32_t kBroadcast = 0xe0000000;
constexpr uint32_t kAnyEngine = 0xa0000000, kAnyArray = 0x20000000;  // with an instance
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

  PerformanceCounters counters{EventNumbers::kVega, {.engines = 4}};
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
  EXPECT_EQ(counters.write(kSelect, 0x2e), (UnknownEvent{"SQ", 0x2e})) << "cycles of waves";
  EXPECT_EQ(counters.write(kSelect + 1, 0x1e), std::nullopt);
  EXPECT_EQ(sum(0), 0u);
}

TEST_F(PerformanceCountersTest, OwnsItsRegistersOnly) {
  for (const uint32_t address :
       {kIndex, kControl, kLow, kLow + 31, kSelect, kSelect + 15, kAddresserLow, kAddresserLow + 3,
        kAddresserSelect, kAddresserSelect + 3, kLauncherHigh, kLauncherHigh + 11, kLauncherSelect + 9})
    EXPECT_TRUE(PerformanceCounters::has_register(address)) << address;
  for (const uint32_t address : {kIndex + 1, kControl + 1, kLow - 1, kLow + 32, kSelect - 1, kSelect + 16})
    EXPECT_FALSE(PerformanceCounters::has_register(address)) << address;
}

TEST(PerformanceCountersOfDies, SumOverDiesIsExact) {
  PerformanceCounters counters(EventNumbers::kVega, {.dies = 8, .engines = 4});
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
  PerformanceCounters counters(EventNumbers::kNavi3, {.engines = 6, .arrays = 2, .processors = 4});
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

// As AMD's aqlprofile reads them on gfx9: one read for each instance and engine.
TEST(PerformanceCountersOfAddressers, SumOverInstancesIsExact) {
  PerformanceCounters counters(EventNumbers::kVega, {.engines = 4, .compute_units = 14});
  for (uint32_t i = 0; i < 16; ++i) {
    counters.write(kIndex, kAnyEngine | i);
    counters.write(kAddresserSelect, 101);      // reads
    counters.write(kAddresserSelect + 2, 102);  // writes
  }
  WaveEvents events;
  events[WaveEvent::kFlatRead] = 1001;
  events[WaveEvent::kFlatWrite] = 55;
  counters.add(events);
  uint64_t reads = 0, writes = 0, of_absent = 0;
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t e = 0; e < 4; ++e) {
      counters.write(kIndex, kAnyArray | e << 16 | i);
      reads += counters.read(kAddresserLow);
      writes += counters.read(kAddresserLow + 2);
      if (i >= 14) of_absent += counters.read(kAddresserLow);
    }
  }
  EXPECT_EQ(reads, 1001u);
  EXPECT_EQ(writes, 55u);
  EXPECT_EQ(of_absent, 0u);
}

TEST(PerformanceCountersOfAddressers, EachHasItsEvents) {
  PerformanceCounters counters(EventNumbers::kVega, {.compute_units = 2});
  WaveEvents events;
  events[WaveEvent::kFlatRead] = 20;
  events[WaveEvent::kFlatWrite] = 6;
  counters.write(kIndex, kAnyEngine | 0);
  counters.write(kAddresserSelect, 101);
  counters.write(kIndex, kAnyEngine | 1);
  counters.write(kAddresserSelect, 102);
  counters.add(events);
  EXPECT_EQ(counters.read(kAddresserLow), 3u);
  counters.write(kIndex, kAnyEngine | 0);
  EXPECT_EQ(counters.read(kAddresserLow), 10u);
  counters.write(kIndex, kBroadcast);
  EXPECT_EQ(counters.read(kAddresserLow), 13u);
}

// On gfx12, INSTANCE_INDEX has the work-group processor in bits 7:2.
TEST(PerformanceCountersOfAddressers, SumOverProcessorsIsExact) {
  PerformanceCounters counters(EventNumbers::kNavi4,
                               {.engines = 4, .arrays = 2, .processors = 4, .compute_units = 8});
  counters.write(kIndex, kBroadcast);
  counters.write(kAddresserSelect, 45);
  WaveEvents events;
  events[WaveEvent::kBufferRead] = 777;
  counters.add(events);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 4 * 2 * 4 * 2; ++i) {
    counters.write(kIndex, i / 16 << 16 | i / 8 % 2 << 8 | i / 2 % 4 << 2 | i % 2);
    sum += counters.read(kAddresserLow);
  }
  EXPECT_EQ(sum, 777u);
}

// The high half precedes the low one. The registers of the fifth counter depend on the generation.
TEST(PerformanceCountersOfLaunchers, CountWorkGroupsAndWaves) {
  for (const bool is_gfx12 : {false, true}) {
    PerformanceCounters counters(is_gfx12 ? EventNumbers::kNavi4 : EventNumbers::kVega, {.engines = 2});
    counters.write(kIndex, kBroadcast);
    counters.write(kLauncherSelect + 1, is_gfx12 ? 47 : 65);
    counters.write(kLauncherSelect + (is_gfx12 ? 4 : 8), is_gfx12 ? 50 : 68);
    WaveEvents events;
    events[WaveEvent::kWorkGroups] = 0x600000000;
    events[WaveEvent::kWaves] = 9;
    counters.add(events);
    EXPECT_EQ(counters.read(kLauncherHigh + 2), 3u);
    EXPECT_EQ(counters.read(kLauncherHigh + 3), 0u);
    EXPECT_EQ(counters.read(kLauncherHigh + 9), 5u);
    counters.write(kIndex, engine(1));
    EXPECT_EQ(counters.read(kLauncherHigh + 9), 4u);
  }
}

TEST(PerformanceCountersOfLds, AreRequestedBySelection) {
  PerformanceCounters counters(EventNumbers::kNavi3, {});
  EXPECT_FALSE(counters.selects_lds());
  counters.write(kSelect + 1, 256);
  EXPECT_FALSE(counters.selects_lds()) << "the register of no counter";
  counters.write(kSelect + 2, 256);
  EXPECT_TRUE(counters.selects_lds());
  counters.write(kSelect + 2, 4);
  EXPECT_FALSE(counters.selects_lds());
}

// Profilers select events between a reset and the start, and do not clear registers that they do not use.
TEST(PerformanceCountersOfLds, AreNotRequestedBySelectionOfEarlierProfile) {
  PerformanceCounters counters(EventNumbers::kVega, {});
  counters.write(kControl, 0);
  counters.write(kSelect, 93);
  counters.write(kSelect + 1, 98);
  counters.write(kControl, 0);
  counters.write(kControl, 1);
  EXPECT_TRUE(counters.selects_lds());
  counters.write(kControl, 2);
  counters.write(kControl, 0);
  counters.write(kSelect, 4);
  counters.write(kControl, 0);
  counters.write(kControl, 1);
  EXPECT_FALSE(counters.selects_lds());
}

TEST(UnknownEvents, NameTheirBlock) {
  PerformanceCounters counters(EventNumbers::kVega, {});
  EXPECT_EQ(counters.write(kAddresserSelect, 15), (UnknownEvent{"TA", 15})) << "TA_BUSY";
  EXPECT_EQ(counters.write(kLauncherSelect, 64), (UnknownEvent{"SPI", 64})) << "CSN_BUSY";
  EXPECT_EQ(PerformanceCounters::selected_elsewhere(0xd840, 0), (UnknownEvent{"GRBM", 0})) << "COUNT";
  EXPECT_EQ(PerformanceCounters::selected_elsewhere(0xdb80, 20), (UnknownEvent{"TCC, GL2C", 20}));
  EXPECT_EQ(PerformanceCounters::selected_elsewhere(0xdb80, 0), std::nullopt);
  EXPECT_EQ(PerformanceCounters::selected_elsewhere(0xdcbf, 1), std::nullopt) << "RLC_PERFMON_CLK_CNTL";
}

// gfx_8_0_enum.h, vega10_enum.h, navi10_enum.h, soc21_enum.h, soc24_enum.h and counter_defs.yaml.
TEST(CountedEvent, NumberDependsOnGeneration) {
  const auto of_sequencer = [](EventNumbers numbers, uint32_t number) {
    return counted_event(numbers, CounterBlock::kSequencer, number);
  };
  EXPECT_EQ(of_sequencer(EventNumbers::kVega, 0x1a), WaveEvent::kVector);
  EXPECT_EQ(of_sequencer(EventNumbers::kNavi, 0x40), WaveEvent::kVector);
  EXPECT_EQ(of_sequencer(EventNumbers::kNavi3, 0x3e), WaveEvent::kVector);
  EXPECT_EQ(of_sequencer(EventNumbers::kNavi4, 0x32), WaveEvent::kVector);
  EXPECT_EQ(of_sequencer(EventNumbers::kNavi, 0x1a), std::nullopt);
  EXPECT_EQ(of_sequencer(EventNumbers::kVolcanicIslands, 30), WaveEvent::kScalar);
  EXPECT_EQ(of_sequencer(EventNumbers::kVega, 30), WaveEvent::kScalar);
  EXPECT_EQ(of_sequencer(EventNumbers::kMi100, 31), WaveEvent::kScalar);
  EXPECT_EQ(of_sequencer(EventNumbers::kMi200, 56), WaveEvent::kScalar);
  EXPECT_EQ(of_sequencer(EventNumbers::kMi300, 60), WaveEvent::kScalar);
  EXPECT_EQ(of_sequencer(EventNumbers::kMi200, 30), std::nullopt) << "SQ_INSTS_VALU_TRANS_F16";
  EXPECT_EQ(of_sequencer(EventNumbers::kMi200, 63), WaveEvent::kExportOrGds);
  EXPECT_EQ(of_sequencer(EventNumbers::kVega, 0), std::nullopt);
  EXPECT_EQ(counted_event(EventNumbers::kMi300, CounterBlock::kAddresser, 52), WaveEvent::kFlatRead);
  EXPECT_EQ(counted_event(EventNumbers::kMi200, CounterBlock::kAddresser, 101), WaveEvent::kFlatRead);
  EXPECT_EQ(counted_event(EventNumbers::kMi100, CounterBlock::kLauncher, 49), WaveEvent::kWorkGroups);
  EXPECT_EQ(counted_event(EventNumbers::kVega, CounterBlock::kLauncher, 49), std::nullopt);
}

}  // namespace
}  // namespace rigel::vgpu
