#include "plugins/vgpu/devices/driver_traits.hpp"

namespace rigel::vgpu {
namespace {

constexpr DriverTraits kVolcanicIslands{
    .is_apu = false,
    .doorbell_bytes = 4,
    .end_of_pipe_bytes = 0x1000,
    .maps_aql_rings_twice = true,
    .has_unit_pairs = false,
    .needs_parameter_for_gws = false,
    .has_scheduler_firmware = false,
    .queues_of_process = 127,
    .reserved_sdma_queues = 0,
    .end_of_pipe_event_bits = 28,
    .wave_message_event_bits = 8,
    .saves_waves = true,
    .has_wave_state_header = false,
    .saved_waves_per_unit = 40,
    .saved_waves_per_engine = 512,
    .saved_vgpr_bytes = 0x40000,
    .control_bytes_per_wave = 8,
    .control_stack_limit = ~uint32_t{0},
    .has_xnack_per_process = false,
    .has_xgmi_bandwidth = false,
    .has_remapped_registers = false,
    .has_alternate_aperture = true,
    .has_high_addresses = false,
    .has_tile_tables = true,
    .has_gddr6 = false,
    .address_bits = 40,
    .lds_aperture = uint64_t{1} << 61,
    .scratch_aperture = (uint64_t{1} << 61) + (uint64_t{1} << 32),
};

constexpr DriverTraits kTonga = [] {
  DriverTraits traits = kVolcanicIslands;
  traits.end_of_pipe_bytes = 0x8000;
  traits.saves_waves = false;
  return traits;
}();

constexpr DriverTraits kVega{
    .is_apu = false,
    .doorbell_bytes = 8,
    .end_of_pipe_bytes = 0x1000,
    .maps_aql_rings_twice = false,
    .has_unit_pairs = false,
    .needs_parameter_for_gws = false,
    .has_scheduler_firmware = false,
    .queues_of_process = 127,
    .reserved_sdma_queues = 0,
    .end_of_pipe_event_bits = 32,
    .wave_message_event_bits = 24,
    .saves_waves = true,
    .has_wave_state_header = true,
    .saved_waves_per_unit = 40,
    .saved_waves_per_engine = 512,
    .saved_vgpr_bytes = 0x40000,
    .control_bytes_per_wave = 8,
    .control_stack_limit = ~uint32_t{0},
    .has_xnack_per_process = false,
    .has_xgmi_bandwidth = false,
    .has_remapped_registers = true,
    .has_alternate_aperture = false,
    .has_high_addresses = true,
    .has_tile_tables = false,
    .has_gddr6 = false,
    .address_bits = 47,
    .lds_aperture = uint64_t{1} << 48,
    .scratch_aperture = uint64_t{2} << 48,
};

constexpr DriverTraits kArcturus = [] {
  DriverTraits traits = kVega;
  traits.saved_vgpr_bytes = 0x80000;
  return traits;
}();

constexpr DriverTraits kAldebaran = [] {
  DriverTraits traits = kArcturus;
  traits.has_xnack_per_process = true;
  traits.has_xgmi_bandwidth = true;
  return traits;
}();

constexpr DriverTraits kAquaVanjaram = [] {
  DriverTraits traits = kAldebaran;
  traits.queues_of_process = 255;
  return traits;
}();

constexpr DriverTraits kRdna2 = [] {
  DriverTraits traits = kVega;
  traits.has_unit_pairs = true;
  traits.saved_waves_per_unit = 32;
  traits.saved_waves_per_engine = 0;
  traits.control_bytes_per_wave = 12;
  traits.control_stack_limit = 0x7000;
  traits.has_gddr6 = true;
  return traits;
}();

constexpr DriverTraits kRdna = [] {
  DriverTraits traits = kRdna2;
  traits.needs_parameter_for_gws = true;
  return traits;
}();

constexpr DriverTraits kRdna3 = [] {
  DriverTraits traits = kRdna2;
  traits.has_scheduler_firmware = true;
  traits.reserved_sdma_queues = 2;
  traits.control_stack_limit = ~uint32_t{0};
  return traits;
}();

constexpr DriverTraits kLargeRdna3 = [] {
  DriverTraits traits = kRdna3;
  traits.saved_vgpr_bytes = 0x60000;
  return traits;
}();

/// Returns the traits of the same chip as an APU.
constexpr DriverTraits apu(DriverTraits traits) {
  traits.is_apu = true;
  return traits;
}

struct Row {
  uint32_t version;
  DriverTraits traits;
};

constexpr Row kRows[] = {
    {80001, apu(kVolcanicIslands)},
    {80002, kTonga},
    {80003, kVolcanicIslands},
    {80005, kVolcanicIslands},
    {80100, apu(kVolcanicIslands)},
    {90000, kVega},
    {90002, apu(kVega)},
    {90004, kVega},
    {90006, kVega},
    {90008, kArcturus},
    {90009, apu(kVega)},
    {90010, kAldebaran},
    {90012, apu(kVega)},
    {90402, kAquaVanjaram},
    {100100, kRdna},
    {100101, kRdna},
    {100102, kRdna},
    {100103, apu(kRdna)},
    {100300, kRdna2},
    {100301, kRdna2},
    {100302, kRdna2},
    {100303, apu(kRdna2)},
    {100304, kRdna2},
    {100305, apu(kRdna2)},
    {100306, apu(kRdna2)},
    {110000, kLargeRdna3},
    {110001, kLargeRdna3},
    {110002, kRdna3},
    {110003, apu(kRdna3)},
    {110500, apu(kRdna3)},
    {110501, apu(kLargeRdna3)},
    {120000, kLargeRdna3},
    {120001, kLargeRdna3},
};

}  // namespace

const DriverTraits* find_driver_traits(uint32_t version) {
  for (const Row& row : kRows) {
    if (row.version == version) return &row.traits;
  }
  return nullptr;
}

}  // namespace rigel::vgpu
