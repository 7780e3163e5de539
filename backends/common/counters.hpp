// Performance counters of AMD GPUs: the events of a generation, and the PM4 that counts them.
//
// Events of the sequencers (SQ), texture addressers (TA) and launchers of waves (SPI) are supported, and only
// those that count work. Other blocks are listed, without events, because profilers ask for their names.
// Facts that depend on the generation are in tables (CounterGeneration: backends/gfx*/counters.cpp).
//
// Sources: Linux (asic_reg/gc/gc_*_offset.h, vega10_enum.h, navi10_enum.h, soc21_enum.h, soc24_enum.h) and
// counter_defs.yaml of rocprofiler-sdk; the blocks, registers and order of packets of AMD's aqlprofile
// (gfxip/gfx*/gfx*_block_table.h, pmc_builder.h). Pure; any thread.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/common/generation.hpp"

namespace rigel::gfx {

// Blocks with supported events.
inline constexpr auto kSq = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ;
inline constexpr auto kTa = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA;
inline constexpr auto kSpi = HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI;

/// TA_PERFCOUNT_SEL of all generations but MI300: total, buffer and flat wavefronts; of these, reads, writes
/// and atomics.
inline constexpr uint16_t kAddresserEvents[] = {32, 44, 45, 46, 47, 100, 101, 102, 103};

/// A kind of block of chips from `first` to `last`.
struct CounterBlock {
  hsa_ven_amd_aqlprofile_block_name_t id;
  std::string_view name;  ///< as AMD's profilers know it
  uint32_t instances;
  GfxVersion first{};
  GfxVersion last{UINT32_MAX, 0, 0};
};

/// Supported events of a block, sorted, of chips from `first` to `last`.
struct CounterEvents {
  hsa_ven_amd_aqlprofile_block_name_t id;
  std::span<const uint16_t> numbers;
  GfxVersion first{};
  GfxVersion last{UINT32_MAX, 0, 0};
};

/// Of several rows that match a chip, the first counts.
struct CounterGeneration {
  std::span<const CounterBlock> blocks;
  std::span<const CounterEvents> events;
  uint32_t select;   ///< bits of SQ_PERFCOUNTERn_SELECT beside the event
  uint32_t control;  ///< SQ_PERFCOUNTER_CTRL: kinds of waves that count
  /// Each work-group processor has counters of SQ, of 32 bits: SELECT register 2 n belongs to counter n.
  /// Otherwise each shader engine has counters of 64 bits.
  bool counts_processors;
  /// An addresser is selected by its processor and its number there. Otherwise by its number in the array.
  bool numbers_addressers_in_processors;
  uint32_t fifth_launcher_select;  ///< SPI_PERFCOUNTER4_SELECT; that of the next counter follows
  bool has_mask;                   ///< SQ_PERFCOUNTER_MASK: compute units that count
  bool gates_clocks;               ///< RLC_PERFMON_CLK_CNTL stops the clock of counters
  uint32_t stop;                   ///< CP_PERFMON_CNTL to stop counters
};

struct CounterDevice {
  const Generation& generation;
  const NodeFacts& facts;
};

hsabe_status_t describe_block(const CounterDevice& device, uint32_t block, hsabe_counter_block_t& out);
bool counts_event(const CounterDevice& device, const hsa_ven_amd_aqlprofile_event_t& event);
/// See hsabe_counter_ops_t::write_commands.
uint64_t write_counter_commands(const CounterDevice& device, uint32_t action,
                                std::span<const hsa_ven_amd_aqlprofile_event_t> events, uint64_t output,
                                uint32_t* commands);
void make_counter_packet(uint64_t commands, uint64_t dwords, hsa_ext_amd_aql_pm4_packet_t& packet);
/// gfx8: a barrier packet, the PM4, and a barrier packet with the completion signal.
void convert_counter_packet(const hsa_ext_amd_aql_pm4_packet_t& packet,
                            std::span<std::byte, HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE> slots);

}  // namespace rigel::gfx
