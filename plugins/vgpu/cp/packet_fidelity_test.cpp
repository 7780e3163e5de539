// Compares the tables of supported packets with the code.
#include "plugins/vgpu/cp/packet_fidelity.hpp"

#include <iterator>
#include <set>
#include <vector>

#include "plugins/vgpu/cp/pm4_packets.hpp"
#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

/// Returns why a queue stops at a packet of zeros with this code, or an empty string.
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

TEST(PacketFidelity, AbsentPacketStopsQueueByName) {
  for (const FidelityRow& row : fidelity_rows()) {
    if (!row.field.empty() || row.fidelity != Fidelity::kAbsent) continue;
    for (const uint32_t gfx : {kGfx8, kGfx9, kGfx103, kGfx11, kGfx12}) {
      const std::string why = stops_at(gfx, row.set, row.code);
      EXPECT_NE(why.find(row.packet), std::string::npos) << row.packet << " on " << gfx << ": " << why;
    }
  }
}

/// A packet that uses an absent field.
struct AbsentField {
  PacketSet set;
  std::string_view packet, field;
  std::vector<uint32_t> words;
  uint32_t gfx = kGfx9;
};

std::vector<AbsentField> absent_fields() {
  const auto packet = [](uint32_t op, std::initializer_list<uint32_t> body) {
    std::vector<uint32_t> words = {pm4::header(op, static_cast<uint32_t>(body.size()) + 1)};
    words.insert(words.end(), body);
    return words;
  };
  const auto low = static_cast<uint32_t>(kPage);
  const auto start = [&](std::initializer_list<uint32_t> registers) {
    auto words = packet(pm4::kSetShReg, registers);
    for (const uint32_t w : packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable}))
      words.push_back(w);
    return words;
  };
  constexpr auto kPm4 = PacketSet::kPm4;
  constexpr auto kSdma = PacketSet::kSdma;
  constexpr uint32_t kStart = pm4::kStartX - pm4::kShStart, kFloatAdd = 0x0e, kEndOfPipe = 0x514;
  constexpr std::string_view kElsewhere = "registers, GDS, fixed addresses";
  return {
      {kPm4, "DISPATCH_DIRECT", "COMPUTE_START_*", start({kStart, 1, 0, 0, 64, 1, 1})},
      {kPm4, "DISPATCH_DIRECT", "COMPUTE_START_*", start({kStart, 0, 0, 1, 64, 1, 1})},
      {kPm4, "ATOMIC_MEM", "float operations", packet(pm4::kAtomicMem, {kFloatAdd, low, 0, 1, 0, 0, 0, 0})},
      {kPm4, "WRITE_DATA", "GDS destination", packet(pm4::kWriteData, {3 << 8, 0, 0, 1})},
      {kPm4, "COPY_DATA", "GDS", packet(pm4::kCopyData, {3 | 1 << 8, 0, 0, low, 0})},
      {kPm4, "COPY_DATA", "GDS", packet(pm4::kCopyData, {1 | 3 << 8, low, 0, 0, 0})},
      {kPm4, "RELEASE_MEM", "conditional interrupts",
       packet(pm4::kReleaseMem, {kEndOfPipe, 1 << 29 | 5 << 24, low, 0, 1, 0, 0})},
      {kPm4, "RELEASE_MEM", "GDS data", packet(pm4::kReleaseMem, {kEndOfPipe, 5u << 29, low, 0, 1, 0, 0})},
      {kPm4, "DMA_DATA", kElsewhere, packet(pm4::kDmaData, {1 << 20, low, 0, low, 0, 4})},
      {kPm4, "DMA_DATA", kElsewhere, packet(pm4::kDmaData, {1 << 29, low, 0, low, 0, 4})},
      {kPm4, "DMA_DATA", kElsewhere, packet(pm4::kDmaData, {0, low, 0, low, 0, 4 | 1 << 26})},
      {kPm4, "DMA_DATA", kElsewhere, packet(pm4::kDmaData, {0, low, 0, low, 0, 4 | 1 << 29})},
      {kSdma, "COPY_LINEAR", "endian swap", {1, 3, 1 << 16, low, 0, low, 0}},
      {kSdma, "COPY_LINEAR", "endian swap", {1, 4, 1 << 24, low, 0, low, 0}, kGfx8},
      {kSdma, "COPY_LINEAR", "compression", {1 | 1 << 19, 3, 0, low, 0, low, 0, 1 << 24}, kGfx12},
      {kSdma, "ATOMIC", "float operations", {10 | kFloatAdd << 25, low, 0, 1, 0, 0, 0, 0}},
  };
}

TEST(PacketFidelity, AbsentFieldStopsQueue) {
  std::set<std::string> tested;
  for (const AbsentField& absent : absent_fields()) {
    FakeBus bus;
    bus.map_at(kPage, kPage);
    HeldDispatches shaders;
    CommandProcessor cp(manual(absent.gfx), bus, shaders);
    TestWordQueue queue(bus, cp, absent.gfx,
                        absent.set == PacketSet::kPm4 ? QueueKind::kPm4 : QueueKind::kSdma, 1);
    for (const uint32_t word : absent.words) queue.write_word(word);
    queue.ring();
    cp.run();
    const std::string name = std::string(absent.packet) + "." + std::string(absent.field);
    EXPECT_NE(bus.stopped(1), "") << name;
    EXPECT_EQ(bus.stopped(1).find("fault"), std::string::npos) << name << ": " << bus.stopped(1);
    tested.insert(std::to_string(static_cast<int>(absent.set)) + name);
  }
  for (const FidelityRow& row : fidelity_rows()) {
    if (row.field.empty() || row.fidelity != Fidelity::kAbsent) continue;
    EXPECT_TRUE(tested.contains(std::to_string(static_cast<int>(row.set)) + std::string(row.packet) + "." +
                                std::string(row.field)))
        << row.packet << " " << row.field << " is asked for by no test";
  }
}

TEST(PacketFidelity, PacketOfOtherGenerationIsUnknown) {
  const uint32_t gfx[] = {kGfx8, kGfx9, kGfx103, kGfx11, kGfx12};
  for (const FidelityRow& row : fidelity_rows()) {
    if (!row.field.empty() || row.set == PacketSet::kAql || row.fidelity == Fidelity::kAbsent) continue;
    for (unsigned i = 0; i < std::size(gfx); ++i) {
      const std::string why = stops_at(gfx[i], row.set, row.code);
      const bool unknown = why.find("unknown ") != std::string::npos;
      EXPECT_EQ(unknown, (row.generations >> i & 1) == 0) << row.packet << " on " << gfx[i] << ": " << why;
    }
  }
}

TEST(PacketFidelity, EveryOpcodeHasRowOrIsUnknown) {
  for (uint32_t op = 0; op < 256; ++op) {
    const bool known = stops_at(kGfx103, PacketSet::kPm4, op).find("unknown ") == std::string::npos;
    EXPECT_TRUE(!known || packet_name(PacketSet::kPm4, op) != "unknown") << op;
    for (uint32_t sub = 0; sub < 10; ++sub) {
      const uint32_t code = op | sub << 8;
      const bool sdma = stops_at(kGfx103, PacketSet::kSdma, code).find("unknown ") == std::string::npos;
      EXPECT_TRUE(!sdma || packet_name(PacketSet::kSdma, code) != "unknown") << op << "." << sub;
    }
  }
}

TEST(PacketFidelity, RowsAreUniqueAndFieldsFollowTheirPacket) {
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
