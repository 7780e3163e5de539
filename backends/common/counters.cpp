#include "backends/common/counters.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rigel::gfx {
namespace {

using Event = hsa_ven_amd_aqlprofile_event_t;

// Registers by dword address; equal in all generations.
constexpr uint32_t kPerfcountEnable = 0x2e0b;  // COMPUTE_PERFCOUNT_ENABLE, of the queue
constexpr uint32_t kIndex = 0xc200;            // GRBM_GFX_INDEX
constexpr uint32_t kPerfmonControl = 0xd808;   // CP_PERFMON_CNTL
constexpr uint32_t kControl = 0xd9e0;          // SQ_PERFCOUNTER_CTRL
constexpr uint32_t kMask = 0xd9e1;             // SQ_PERFCOUNTER_MASK
constexpr uint32_t kControl2 = 0xd9e2;         // SQ_PERFCOUNTER_CTRL2
constexpr uint32_t kClockControl = 0xdcbf;     // RLC_PERFMON_CLK_CNTL

constexpr uint32_t kReset = 0, kStart = 1, kSample = 1u << 10;  // CP_PERFMON_CNTL
constexpr uint32_t kForceAllProcesses = 0x1ffff;                // SQ_PERFCOUNTER_CTRL2: FORCE_EN, VMID_EN
constexpr uint32_t kAllArrays = 1u << 29, kAllInstances = 1u << 30, kAllEngines = 1u << 31;
constexpr uint32_t kEverywhere = kAllArrays | kAllInstances | kAllEngines;

// Counters of an instance that can count at a time.
constexpr uint32_t counters_of(uint32_t block) {
  return block == kSq ? 8 : block == kTa ? 2 : block == kSpi ? 6 : 0;
}

// Registers of a counter.
struct Registers {
  uint32_t select, low, high;
};

Registers registers_of(const CounterGeneration& generation, uint32_t block, uint32_t counter) {
  switch (block) {
    case kTa:
      return {0xdac0 + 2 * counter, 0xd2c0 + 2 * counter, 0xd2c1 + 2 * counter};
    case kSpi:
      return {counter < 4 ? 0xd980 + counter : generation.fifth_launcher_select + counter - 4,
              0xd181 + 2 * counter, 0xd180 + 2 * counter};
    default:
      return {0xd9c0 + counter * (generation.counts_processors ? 2 : 1), 0xd1c0 + 2 * counter,
              0xd1c1 + 2 * counter};
  }
}

// Returns the counter of event `index`: the events of an instance use its counters in order.
uint32_t counter_of(std::span<const Event> events, size_t index) {
  const auto of_instance = [&](const Event& other) {
    return other.block_name == events[index].block_name && other.block_index == events[index].block_index;
  };
  return static_cast<uint32_t>(
      std::count_if(events.begin(), events.begin() + static_cast<ptrdiff_t>(index), of_instance));
}

// Whether the samples of a block are those of work-group processors, not of shader engines.
bool has_processors(const CounterGeneration& generation, uint32_t block) {
  return (block == kSq && generation.counts_processors) ||
         (block == kTa && generation.numbers_addressers_in_processors);
}

// Returns the first row for the device that `is_wanted`, or null.
template <class Row>
const Row* find_row(std::span<const Row> rows, const CounterDevice& device, const auto& is_wanted) {
  const GfxVersion version = device.facts.version;
  for (const Row& row : rows) {
    if (row.first <= version && version <= row.last && is_wanted(row)) return &row;
  }
  return nullptr;
}

// Writes packets to a buffer, or counts their dwords only.
class Commands {
 public:
  explicit Commands(uint32_t* to) : to_(to) {}

  template <size_t kDwords>
  void add(const pm4::Packet<kDwords>& packet) {
    if (to_ != nullptr) std::copy(packet.begin(), packet.end(), to_ + dwords_);
    dwords_ += kDwords;
  }
  void set(uint32_t address, uint32_t value) { add(pm4::set_uconfig_reg(address, value)); }
  void flush_caches(const Generation& generation) {
    uint32_t packet[kPm4PacketMax];
    const uint32_t* const end = generation.invalidate_code(packet);
    if (to_ != nullptr) std::copy(std::as_const(packet), end, to_ + dwords_);
    dwords_ += static_cast<uint64_t>(end - packet);
  }
  uint64_t dwords() const { return dwords_; }

 private:
  uint32_t* const to_;
  uint64_t dwords_ = 0;
};

// Returns the bits of GRBM_GFX_INDEX that select the instance of an event.
uint32_t instance_of(const CounterGeneration& generation, const Event& event, uint32_t processor) {
  const uint32_t of_processor = has_processors(generation, event.block_name) ? processor << 2 : 0;
  if (event.block_name == kTa) return of_processor | event.block_index;
  return event.block_name == kSq && generation.counts_processors ? of_processor : kAllInstances;
}

void select(const CounterDevice& device, std::span<const Event> events, Commands& commands) {
  const CounterGeneration& generation = *device.generation.counters;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const Registers registers = registers_of(generation, event.block_name, counter_of(events, i));
    if (event.block_name != kTa) {
      const uint32_t select_bits = event.block_name == kSq ? generation.select : 0;
      commands.set(registers.select, event.counter_id | select_bits);
      continue;
    }
    hsabe_counter_block_t block{};
    describe_block(device, event.block_name, block);
    for (uint32_t processor = 0; processor < block.processors; ++processor) {
      commands.set(kIndex, kAllEngines | kAllArrays | instance_of(generation, event, processor));
      commands.set(registers.select, event.counter_id);
    }
    commands.set(kIndex, kEverywhere);
  }
}

void start(const CounterDevice& device, std::span<const Event> events, Commands& commands) {
  const CounterGeneration& counters = *device.generation.counters;
  commands.add(pm4::wait_for_dispatches());
  commands.set(kIndex, kEverywhere);
  if (counters.gates_clocks) commands.set(kClockControl, 1);
  commands.set(kPerfmonControl, kReset);
  if (counters.counts_processors) commands.set(kControl2, kForceAllProcesses);
  if (counters.has_mask) commands.set(kMask, UINT32_MAX);
  commands.set(kControl, counters.control);
  select(device, events, commands);
  commands.add(pm4::set_sh_reg(kPerfcountEnable, 1));
  commands.set(kPerfmonControl, kReset);
  commands.set(kPerfmonControl, kStart);
  commands.add(pm4::wait_for_dispatches());
}

// Stores the samples of the die that executes the commands. Returns the end of their memory.
uint64_t store_samples(const CounterDevice& device, std::span<const Event> events, uint64_t va,
                       Commands& commands) {
  const CounterGeneration& generation = *device.generation.counters;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    hsabe_counter_block_t block{};
    describe_block(device, event.block_name, block);
    const Registers registers = registers_of(generation, event.block_name, counter_of(events, i));
    const bool processors = has_processors(generation, event.block_name);
    const bool is_wide = event.block_name != kSq || !generation.counts_processors;
    for (uint32_t engine = 0; engine < block.engines; ++engine) {
      for (uint32_t place = 0; place < block.arrays * block.processors; ++place) {
        const uint32_t array = place / block.processors, processor = place % block.processors;
        commands.set(kIndex, engine << 16 | (processors ? array << 8 : kAllArrays) |
                                 instance_of(generation, event, processor));
        commands.add(pm4::store_register(registers.low, va));
        if (is_wide) commands.add(pm4::store_register(registers.high, va + 4));
        va += sizeof(uint64_t);
      }
    }
  }
  return va;
}

void read(const CounterDevice& device, std::span<const Event> events, uint64_t output, Commands& commands) {
  const uint32_t dies = device.facts.xcc_count;
  commands.add(pm4::wait_for_dispatches());
  commands.set(kPerfmonControl, kStart | kSample);
  for (uint32_t die = 0; die < dies; ++die) {
    if (dies > 1) {
      Commands of_die(nullptr);
      store_samples(device, events, output, of_die);
      commands.add(pm4::pred_exec(die, static_cast<uint32_t>(of_die.dwords())));
    }
    output = store_samples(device, events, output, commands);
  }
  commands.set(kIndex, kEverywhere);
  commands.flush_caches(device.generation);
}

void stop(const CounterGeneration& counters, Commands& commands) {
  commands.set(kPerfmonControl, counters.stop);
  if (counters.gates_clocks) commands.set(kClockControl, 0);
  commands.add(pm4::wait_for_dispatches());
}

}  // namespace

hsabe_status_t describe_block(const CounterDevice& device, uint32_t id, hsabe_counter_block_t& out) {
  const auto* const block = find_row(device.generation.counters->blocks, device,
                                     [&](const CounterBlock& row) { return row.id == id; });
  if (block == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const NodeFacts& facts = device.facts;
  out.name = {block->name.data(), block->name.size()};
  out.instances = block->instances;
  out.counters = counters_of(id);
  out.dies = out.engines = out.arrays = out.processors = 1;
  if (out.counters == 0) return HSA_STATUS_SUCCESS;
  out.dies = facts.xcc_count;
  out.engines = facts.engines() / facts.xcc_count;
  if (has_processors(*device.generation.counters, id)) {
    const uint32_t processors = facts.compute_units() / 2;
    out.arrays = facts.arrays_per_engine;
    out.processors = (processors + facts.array_count - 1) / facts.array_count;
  }
  return HSA_STATUS_SUCCESS;
}

bool counts_event(const CounterDevice& device, const Event& event) {
  const auto of_block = [&](const auto& row) { return row.id == event.block_name; };
  const auto* const block = find_row(device.generation.counters->blocks, device, of_block);
  const auto* const events = find_row(device.generation.counters->events, device, of_block);
  return block != nullptr && events != nullptr && event.block_index < block->instances &&
         std::binary_search(events->numbers.begin(), events->numbers.end(), event.counter_id);
}

uint64_t write_counter_commands(const CounterDevice& device, uint32_t action, std::span<const Event> events,
                                uint64_t output, uint32_t* to) {
  Commands commands(to);
  switch (action) {
    case HSABE_COUNTERS_START:
      start(device, events, commands);
      break;
    case HSABE_COUNTERS_STOP:
      read(device, events, output, commands);
      stop(*device.generation.counters, commands);
      break;
    case HSABE_COUNTERS_READ:
      read(device, events, output, commands);
      break;
    case HSABE_COUNTERS_ENABLE:
    case HSABE_COUNTERS_DISABLE:
      commands.add(pm4::set_sh_reg(kPerfcountEnable, action == HSABE_COUNTERS_ENABLE ? 1 : 0));
      break;
    case HSABE_COUNTERS_WAIT:
      commands.add(pm4::wait_for_dispatches());
      break;
    default:
      break;
  }
  return commands.dwords();
}

void make_counter_packet(uint64_t commands, uint64_t dwords, hsa_ext_amd_aql_pm4_packet_t& packet) {
  const pm4::Slot slot = pm4::aql_slot_vendor(commands, static_cast<uint32_t>(dwords), 0, 0);
  // Without the header, in the first two bytes, and the signal, in the last eight.
  constexpr size_t kHeader = sizeof packet.header,
                   kSignal = offsetof(hsa_ext_amd_aql_pm4_packet_t, completion_signal);
  std::memcpy(packet.pm4_command, reinterpret_cast<const std::byte*>(slot.data()) + kHeader,
              kSignal - kHeader);
}

void convert_counter_packet(const hsa_ext_amd_aql_pm4_packet_t& packet,
                            std::span<std::byte, HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE> slots) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&packet);
  uint32_t jump[4];
  std::memcpy(jump, bytes + 4, sizeof jump);
  const uint64_t commands = uint64_t{jump[2]} << 32 | jump[1];
  const uint32_t dwords = jump[3] & 0xfffff;

  const auto barrier = static_cast<uint16_t>((packet.header & ~0xff) | HSA_PACKET_TYPE_BARRIER_AND);
  hsa_barrier_and_packet_t before{}, after{};
  before.header = barrier;
  after.header = static_cast<uint16_t>(barrier | 1u << HSA_PACKET_HEADER_BARRIER);
  after.completion_signal = packet.completion_signal;
  const pm4::Slot slot = pm4::aql_slot_gfx8(commands, dwords);
  static_assert(sizeof before + sizeof slot + sizeof after == HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE);
  std::memcpy(slots.data(), &before, sizeof before);
  std::memcpy(slots.data() + sizeof before, slot.data(), sizeof slot);
  std::memcpy(slots.data() + sizeof before + sizeof slot, &after, sizeof after);
}

}  // namespace rigel::gfx
