// What the command processors know of each packet, and how faithfully, as data: for the fidelity report, for
// error messages, and for tests that hold the code to it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rigel::vgpu {

enum class PacketSet : uint8_t { kAql, kPm4, kSdma };

/// How a packet or a field of it behaves compared with hardware.
enum class Fidelity : uint8_t {
  kExact,        ///< As documented for hardware, as far as a program can tell.
  kApproximate,  ///< Works; `note` says what differs.
  kAbsent        ///< Stops the queue with a report that names it.
};

/// One row: a packet (empty `field`) or one of its fields.
struct FidelityRow {
  PacketSet set;
  uint16_t code;        ///< AQL: packet type, or 0x100 + AMD format. PM4: opcode. SDMA: op | sub-op << 8.
  uint8_t generations;  ///< Bit 0 gfx8, 1 gfx9, 2 gfx10: where the packet exists on hardware.
  std::string_view packet;
  std::string_view field;
  Fidelity fidelity;
  std::string_view note;
};

/// All rows, grouped by set and packet; a packet's own row comes before its fields'.
std::span<const FidelityRow> fidelity_rows();

/// Name of a packet, or "unknown".
std::string_view packet_name(PacketSet set, uint32_t code);

}  // namespace rigel::vgpu
