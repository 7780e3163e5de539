// The supported packets and their fidelity, as data for the fidelity report, error messages, and tests that
// compare the code with it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rigel::vgpu {

enum class PacketSet : uint8_t { kAql, kPm4, kSdma };

/// Behaviour of a packet or field compared with hardware.
enum class Fidelity : uint8_t {
  kExact,        ///< As documented for hardware, as far as a program can see.
  kEquivalent,   ///< Results are hardware's; order, time or visibility differ as hardware permits.
  kApproximate,  ///< Works; `note` describes the difference.
  kAbsent        ///< Stops the queue with an error that names it.
};

/// One row: a packet (empty `field`) or one of its fields.
struct FidelityRow {
  PacketSet set;
  uint16_t code;  ///< AQL: packet type, or 0x100 + AMD format. PM4: opcode. SDMA: op | sub-op << 8.
  uint8_t
      generations;  ///< Chips whose hardware has the packet: bit 0 gfx8, 1 gfx9, 2 gfx10, 3 gfx11, 4 gfx12.
  std::string_view packet;
  std::string_view field;
  Fidelity fidelity;
  std::string_view note;
};

/// All rows, grouped by set and packet. A packet's row precedes its fields' rows.
std::span<const FidelityRow> fidelity_rows();

/// Returns the name of a packet, or "unknown".
std::string_view packet_name(PacketSet set, uint32_t code);

/// Counts an executed packet for the fidelity of the run (fidelity/run_fidelity.hpp), if that is on. `field`:
/// the field's row that describes the execution; empty: the packet's.
void count_packet(PacketSet set, uint32_t code, std::string_view field = {});
/// Counts a packet at which a queue stopped.
void count_rejected_packet(PacketSet set, std::string_view reason);

}  // namespace rigel::vgpu
