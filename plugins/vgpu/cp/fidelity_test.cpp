// The tables of what is known are held against what the code does.
#include "plugins/vgpu/cp/fidelity.hpp"

#include <set>

#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

/// Why a queue of this kind stops at a packet of zeros with this code, or empty if it takes it.
std::string stops_at(uint32_t gfx, PacketSet set, uint32_t code) {
  FakeBus bus;
  bus.map_at(kPage, kPage);
  HeldDispatches shaders;
  CommandProcessor cp(manual(gfx), bus, shaders);
  if (set == PacketSet::kAql) {
    TestAqlQueue queue(bus, cp, gfx, 1);
    aql::Packet packet{};
    packet.words[0] = code >= 0x100 ? (code & 0xff) << 16 : code;
    if (code == 0) packet.words[0] = 0xc0001000;
    queue.submit(packet);
    cp.run();
    return bus.stopped(1);
  }
  const bool pm4 = set == PacketSet::kPm4;
  TestWordQueue queue(bus, cp, gfx, pm4 ? QueueKind::kPm4 : QueueKind::kSdma, 1);
  queue.write_word(pm4 ? 0xc0000000 | code << 8 | 6u << 16 : code);
  for (int i = 0; i < 20; ++i) queue.write_word(0);
  queue.ring();
  cp.run();
  return bus.stopped(1);
}

TEST(Fidelity, WhatIsAbsentStopsTheQueueByName) {
  for (const FidelityRow& row : fidelity_rows()) {
    if (!row.field.empty() || row.fidelity != Fidelity::kAbsent) continue;
    for (const uint32_t gfx : {kGfx8, kGfx9, kGfx103}) {
      const std::string why = stops_at(gfx, row.set, row.code);
      EXPECT_NE(why.find(row.packet), std::string::npos) << row.packet << " on " << gfx << ": " << why;
    }
  }
}

TEST(Fidelity, WhatAGenerationDoesNotHaveIsUnknownThere) {
  const uint32_t gfx[] = {kGfx8, kGfx9, kGfx103};
  for (const FidelityRow& row : fidelity_rows()) {
    if (!row.field.empty() || row.set == PacketSet::kAql || row.fidelity == Fidelity::kAbsent) continue;
    for (unsigned i = 0; i < 3; ++i) {
      const std::string why = stops_at(gfx[i], row.set, row.code);
      const bool unknown = why.find("is not known on this GPU") != std::string::npos;
      EXPECT_EQ(unknown, (row.generations >> i & 1) == 0) << row.packet << " on " << gfx[i] << ": " << why;
    }
  }
}

TEST(Fidelity, EveryOpcodeEitherHasARowOrIsUnknown) {
  for (uint32_t op = 0; op < 256; ++op) {
    const bool known = stops_at(kGfx103, PacketSet::kPm4, op).find("is not known") == std::string::npos;
    EXPECT_TRUE(!known || packet_name(PacketSet::kPm4, op) != "unknown") << op;
    for (uint32_t sub = 0; sub < 10; ++sub) {
      const uint32_t code = op | sub << 8;
      const bool sdma = stops_at(kGfx103, PacketSet::kSdma, code).find("is not known") == std::string::npos;
      EXPECT_TRUE(!sdma || packet_name(PacketSet::kSdma, code) != "unknown") << op << "." << sub;
    }
  }
}

TEST(Fidelity, RowsAreUniqueAndFieldsFollowTheirPacket) {
  std::set<std::string> seen, packets;
  for (const FidelityRow& row : fidelity_rows()) {
    const auto packet = std::to_string(static_cast<int>(row.set)) + "/" + std::string(row.packet);
    EXPECT_TRUE(seen.insert(packet + "/" + std::string(row.field)).second) << packet << " " << row.field;
    if (row.field.empty()) packets.insert(packet);
    EXPECT_TRUE(packets.contains(packet)) << packet;
    EXPECT_TRUE(row.fidelity != Fidelity::kApproximate || !row.note.empty())
        << packet << ": say what differs";
  }
}

}  // namespace
}  // namespace rigel::vgpu::testing
