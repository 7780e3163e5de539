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
  kApproximate,  ///< Works; `note` describes the difference.
  kAbsent        ///< Stops the queue with an error that names it.
};

/// One row: a packet (empty `field`) or one of its fields.
struct FidelityRow {
  PacketSet set;
  uint16_t code;        ///< AQL: packet type, or 0x100 + AMD format. PM4: opcode. SDMA: op | sub-op << 8.
  uint8_t generations;  ///< Chips whose hardware has the packet: bit 0 gfx8, 1 gfx9, 2 gfx10, 3 gfx11.
  std::string_view packet;
  std::string_view field;
  Fidelity fidelity;
  std::string_view note;
};

/// All rows, grouped by set and packet. A packet's row precedes its fields' rows.
std::span<const FidelityRow> fidelity_rows();

/// Returns the name of a packet, or "unknown".
std::string_view packet_name(PacketSet set, uint32_t code);

}  // namespace rigel::vgpu
