// The backends and the virtual GPU have tables of performance events and registers, from AMD's headers. They
// must agree on each chip: an event that only one of them knows would read 0 or be rejected.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/common/counters.hpp"
#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"
#include "plugins/vgpu/cp/performance_counters.hpp"

namespace rigel::vgpu {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;

struct Block {
  hsa_ven_amd_aqlprofile_block_name_t id;
  CounterBlock block;
};
constexpr Block kBlocks[] = {{HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, CounterBlock::kSequencer},
                             {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA, CounterBlock::kAddresser},
                             {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, CounterBlock::kLauncher}};
const gfx::Family* const kFamilies[] = {&gfx8::kFamily, &gfx9::kFamily, &gfx10::kFamily, &gfx11::kFamily,
                                        &gfx12::kFamily};
constexpr uint32_t kNumbers = 1024;

// A chip that both know.
struct Pair {
  std::string name;
  const gfx::Family& family;
  gfx::GfxVersion version;
  EventNumbers numbers;
};

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const gfx::Family* const family : kFamilies) {
    for (const gfx::Chip& chip : family->chips) {
      const auto [major, minor, stepping] = chip.version;
      const Dialect* const dialect = find_dialect(major * 10000 + minor * 100 + stepping);
      if (dialect != nullptr)
        all.push_back({std::string(chip.processor), *family, chip.version, dialect->event_numbers});
    }
  }
  return all;
}

TEST(BackendCounters, HaveTheEventsOfTheVirtualGpuOnEachChip) {
  std::set<EventNumbers> compared;
  for (const Pair& pair : pairs()) {
    compared.insert(pair.numbers);
    gfx::NodeFacts facts = gfx::testing::vega10().facts();
    facts.version = pair.version;
    for (const Block& block : kBlocks) {
      for (uint32_t number = 0; number < kNumbers; ++number) {
        EXPECT_EQ(gfx::counts_event({*pair.family.generation, facts}, {block.id, 0, number}),
                  counted_event(pair.numbers, block.block, number).has_value())
            << pair.name << ", block " << static_cast<int>(block.id) << ", event " << number;
      }
    }
  }
  EXPECT_EQ(compared.size(), static_cast<size_t>(EventNumbers::kCount));
}

// A GPU that executes the packets of counters.
class Gpu {
 public:
  Gpu(EventNumbers numbers, const gfx::NodeFacts& facts)
      : counters_(numbers, {.dies = facts.xcc_count,
                            .engines = facts.engines() / facts.xcc_count,
                            .arrays = facts.arrays_per_engine,
                            .processors = share(facts.compute_units() / 2, facts.array_count),
                            .compute_units = share(facts.compute_units(), facts.array_count)}) {}

  // Returns the 32-bit words that the commands store, by address.
  std::map<uint64_t, uint32_t> run(const std::vector<uint32_t>& commands) {
    std::map<uint64_t, uint32_t> stored;
    uint32_t die = 0;
    size_t die_end = commands.size();
    for (size_t i = 0; i < commands.size();) {
      if (i == die_end) die = 0;
      const uint32_t* const packet = &commands[i];
      i += (packet[0] >> 16 & 0x3fff) + 2;
      switch (packet[0] >> 8 & 0xff) {
        case gfx::pm4::kSetUconfigReg:
          if (PerformanceCounters::has_register(0xc000 + packet[1])) {
            EXPECT_EQ(counters_.write(0xc000 + packet[1], packet[2]), std::nullopt);
          }
          break;
        case gfx::pm4::kCopyData:
          stored[uint64_t{packet[5]} << 32 | packet[4]] = counters_.read(packet[2], die);
          break;
        case gfx::pm4::kPredExec:
          die = static_cast<uint32_t>(__builtin_ctz(packet[1] >> 24));
          die_end = i + (packet[1] & 0x3fff);
          break;
        default:
          break;
      }
    }
    return stored;
  }
  PerformanceCounters& counters() { return counters_; }

 private:
  static uint32_t share(uint32_t sum, uint32_t parts) { return (sum + parts - 1) / parts; }

  PerformanceCounters counters_;
};

std::vector<uint32_t> commands_of(const gfx::CounterDevice& device, uint32_t action,
                                  const std::vector<Event>& events) {
  std::vector<uint32_t> commands(gfx::write_counter_commands(device, action, events, 0, nullptr));
  gfx::write_counter_commands(device, action, events, 0, commands.data());
  return commands;
}

struct Board {
  const char* name;
  const gfx::Family& family;
  gfx::NodeFacts facts;
};

std::vector<Board> boards() {
  using namespace gfx::testing;  // NOLINT(google-build-using-namespace)
  return {{"Fiji", gfx8::kFamily, fiji().facts()},       {"Vega 10", gfx9::kFamily, vega10().facts()},
          {"MI100", gfx9::kFamily, mi100().facts()},     {"MI210", gfx9::kFamily, mi210().facts()},
          {"MI300X", gfx9::kFamily, mi300x().facts()},   {"Navi 10", gfx10::kFamily, navi10().facts()},
          {"Navi 21", gfx10::kFamily, navi21().facts()}, {"Navi 31", gfx11::kFamily, navi31().facts()},
          {"Navi 48", gfx12::kFamily, navi48().facts()}};
}

// Each event, in the first and in the second counter of each instance, reads the sum of that event.
TEST(BackendCounters, CommandsReadTheSelectedEvents) {
  WaveEvents counted;
  for (size_t i = 0; i < kWaveEvents; ++i) counted[static_cast<WaveEvent>(i)] = 10007 * (i + 1);
  for (const Board& board : boards()) {
    const gfx::CounterDevice device{*board.family.generation, board.facts};
    const auto [major, minor, stepping] = board.facts.version;
    const Dialect* const dialect = find_dialect(major * 10000 + minor * 100 + stepping);
    ASSERT_NE(dialect, nullptr) << board.name;
    for (const Block& block : kBlocks) {
      hsabe_counter_block_t described{};
      ASSERT_EQ(gfx::describe_block(device, block.id, described), HSA_STATUS_SUCCESS);
      uint32_t previous = 0;
      for (uint32_t number = 0; number < kNumbers; ++number) {
        const auto event = counted_event(dialect->event_numbers, block.block, number);
        if (!event) continue;
        if (previous == 0) previous = number;
        std::vector<Event> events;
        for (uint32_t instance = 0; instance < described.instances; ++instance) {
          events.push_back({block.id, instance, previous});
          events.push_back({block.id, instance, number});
        }
        Gpu gpu(dialect->event_numbers, board.facts);
        gpu.run(commands_of(device, HSABE_COUNTERS_START, events));
        ASSERT_TRUE(gpu.counters().is_running());
        gpu.counters().add(counted);
        const auto stored = gpu.run(commands_of(device, HSABE_COUNTERS_STOP, events));
        const uint64_t samples = uint64_t{described.engines} * described.arrays * described.processors;
        uint64_t sums[2] = {};
        for (const auto& [address, word] : stored) {
          const uint64_t sample = address / 8 / samples;
          sums[sample % 2] += uint64_t{word} << (address % 8 * 8);
        }
        const auto event_before = counted_event(dialect->event_numbers, block.block, previous);
        EXPECT_EQ(sums[0], counted[*event_before]) << board.name << ", event " << previous;
        EXPECT_EQ(sums[1], counted[*event]) << board.name << ", event " << number;
        EXPECT_FALSE(gpu.counters().is_running());
        previous = number;
      }
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu
