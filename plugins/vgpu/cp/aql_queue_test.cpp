#include <random>

#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

// Work-groups of 1,024 work-items that use all VGPRs of a compute unit (two in WGP mode), and their VGPR
// granules.
constexpr struct FullGroup {
  bool wave32, wgp_mode;
  uint32_t granules;
} kFullGroups[] = {{false, false, 16}, {false, true, 32}, {true, false, 8}, {true, true, 16}};

class AqlQueue : public ::testing::TestWithParam<uint32_t> {
 protected:
  uint32_t gfx() const { return GetParam(); }
  bool gfx8() const { return gfx() < 90000; }
  bool gfx11() const { return gfx() >= 110000; }
  // gfx1100 has one and a half times the VGPRs.
  uint32_t granules_of(const FullGroup& group) const {
    return gfx11() ? group.granules * 3 / 2 : group.granules;
  }

  FakeBus bus;
  HeldDispatches shaders;
  CommandProcessor cp{manual(GetParam()), bus, shaders};
  Signals signals{bus, 16};
  TestAqlQueue queue{bus, cp, GetParam(), 1};
  Buffer inactive_mailbox = bus.allocate(8);

  /// Creates a kernel object that passes every check, with the given code properties.
  uint64_t kernel(uint32_t properties = 0, uint32_t rsrc2 = 0, uint16_t preload = 0) {
    const Buffer object = bus.allocate(512);
    *object.at<int64_t>(16) = 256;
    *object.at<uint32_t>(48) = 3;  // 16 VGPRs (gfx10: 32)
    *object.at<uint32_t>(52) = rsrc2;
    *object.at<uint16_t>(56) = static_cast<uint16_t>(properties);
    *object.at<uint16_t>(58) = preload;
    return object.va;
  }
  aql::Packet dispatch(uint64_t object, uint64_t completion = 0, bool barrier_bit = false) const {
    aql::Packet packet{};
    packet.words[0] =
        HSA_PACKET_TYPE_KERNEL_DISPATCH | (barrier_bit ? 1u << 8 : 0) | 2u << 9 | 2u << 11 | 3u << 16;
    packet.words[1] = 64 | 2u << 16;
    packet.words[2] = 1;
    packet.words[3] = 640, packet.words[4] = 3, packet.words[5] = 1;
    set_quad(packet, 8, object);
    set_quad(packet, 10, 0x1234567890);
    set_quad(packet, 14, completion);
    return packet;
  }
  aql::Packet dispatch_of(const FullGroup& group, uint32_t granules) {
    const Buffer object = bus.allocate(512);
    *object.at<int64_t>(16) = 256;
    *object.at<uint32_t>(48) = (granules - 1) | (group.wgp_mode ? 1u : 0u) << 29;
    *object.at<uint16_t>(56) = group.wave32 ? AMD_KERNEL_CODE_PROPERTIES_ENABLE_WAVEFRONT_SIZE32 : 0;
    aql::Packet packet = dispatch(object.va);
    packet.words[1] = 1024 | 1u << 16;
    return packet;
  }
  void use_inactive_signal(size_t i) {
    queue.amd().queue_inactive_signal.handle = signals.handle(i);
    signals[i].event_mailbox_ptr = inactive_mailbox.va;
    signals[i].event_id = 77;
  }
  /// Submits a packet that must stop the queue with `code`, and checks the signal, mailbox and interrupt.
  void expect_error(const aql::Packet& packet, uint32_t code, const std::string& text) {
    use_inactive_signal(15);
    queue.submit(packet);
    cp.run();
    EXPECT_EQ(signals.value(15), static_cast<int64_t>(code)) << bus.stopped(1);
    EXPECT_NE(bus.stopped(1).find(text), std::string::npos) << bus.stopped(1);
    EXPECT_EQ(*inactive_mailbox.at<uint64_t>(), 77u);
    ASSERT_EQ(bus.interrupts().size(), 1u);
    EXPECT_EQ(bus.interrupts()[0].context_id, 77u);
    EXPECT_EQ(queue.read_index(), 0u);
  }
};

TEST_P(AqlQueue, BarrierCompletesWithSignalMailboxAndInterrupt) {
  const Buffer mailbox = bus.allocate(8);
  *mailbox.at<uint64_t>() = UINT64_MAX;
  signals.set(0, 1);
  signals[0].event_mailbox_ptr = mailbox.va;
  signals[0].event_id = 42;
  queue.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(*mailbox.at<uint64_t>(), 42u);
  ASSERT_EQ(bus.interrupts().size(), 1u);
  EXPECT_EQ(bus.interrupts()[0].source, InterruptSource::kEndOfPipe);
  EXPECT_EQ(bus.interrupts()[0].context_id, 42u);
  EXPECT_EQ(queue.read_index(), 1u);
  EXPECT_EQ(queue.header(0), aql::kInvalidHeader);
}

TEST_P(AqlQueue, SignalWithoutMailboxRaisesNoInterrupt) {
  signals.set(0, 5);
  queue.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_EQ(signals.value(0), 4);
  EXPECT_TRUE(bus.interrupts().empty());
}

TEST_P(AqlQueue, RunsPacketsOnlyAfterDoorbell) {
  signals.set(0, 1);
  queue.write(barrier_packet({}, signals.handle(0)));
  cp.run();  // the first step reads the write pointer, as mapping a queue does
  queue.write(barrier_packet({}, signals.handle(0)));
  EXPECT_EQ(cp.run(), 0u);
  queue.ring(1);
  cp.run();
  EXPECT_EQ(queue.read_index(), 2u);
}

TEST_P(AqlQueue, WaitsForPacketRungBeforeWritten) {
  signals.set(0, 1);
  cp.run();
  queue.ring(0);
  EXPECT_EQ(cp.run(), 0u);
  queue.write(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
}

TEST_P(AqlQueue, AcceptsRingsInAnyOrder) {
  signals.set(0, 3);
  cp.run();
  for (int i = 0; i < 3; ++i) queue.write(barrier_packet({}, signals.handle(0)));
  queue.ring(2);
  queue.ring(0);
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(queue.read_index(), 3u);
}

TEST_P(AqlQueue, WrapsAtEndOfRing) {
  signals.set(0, 1000);
  for (uint64_t i = 0; i < queue.capacity() * 5ull; ++i) {
    queue.submit(barrier_packet({}, signals.handle(0)));
    cp.run();
    ASSERT_EQ(queue.read_index(), i + 1);
  }
  EXPECT_EQ(signals.value(0), 1000 - static_cast<int64_t>(queue.capacity()) * 5);
}

TEST_P(AqlQueue, RunsFullRing) {
  signals.set(0, queue.capacity());
  for (uint32_t i = 0; i < queue.capacity(); ++i) queue.write(barrier_packet({}, signals.handle(0)));
  queue.ring(queue.capacity() - 1);
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
}

TEST_P(AqlQueue, WrongDoorbellDoesNotRepeatPackets) {
  signals.set(0, 10);
  cp.run();
  queue.write(barrier_packet({}, signals.handle(0)));
  queue.ring(10000);
  cp.run();
  EXPECT_EQ(signals.value(0), 9);
  EXPECT_EQ(queue.read_index(), 1u);
}

TEST_P(AqlQueue, BarrierAndWaitsForAllDependencies) {
  for (size_t i = 0; i < 5; ++i) signals.set(i, 1);
  signals.set(5, 1);
  queue.submit(
      barrier_packet({signals.handle(0), 0, signals.handle(1), signals.handle(2)}, signals.handle(5)));
  cp.run();
  signals.set(0, 0), signals.set(1, 0);
  cp.run();
  EXPECT_EQ(signals.value(5), 1);
  signals.set(2, 0);
  cp.run();
  EXPECT_EQ(signals.value(5), 0);
}

TEST_P(AqlQueue, BarrierAndNeedsEachDependencyOnce) {
  signals.set(0, 0), signals.set(1, 1), signals.set(5, 1);
  queue.submit(barrier_packet({signals.handle(0), signals.handle(1)}, signals.handle(5)));
  cp.run();
  signals.set(0, 3), signals.set(1, 0);
  cp.run();
  EXPECT_EQ(signals.value(5), 0);
}

TEST_P(AqlQueue, BarrierOrWaitsForOneDependency) {
  signals.set(0, 1), signals.set(1, 1), signals.set(5, 1);
  queue.submit(barrier_packet({signals.handle(0), signals.handle(1)}, signals.handle(5), false,
                              HSA_PACKET_TYPE_BARRIER_OR));
  cp.run();
  EXPECT_EQ(signals.value(5), 1);
  signals.set(1, 0);
  cp.run();
  EXPECT_EQ(signals.value(5), 0);
}

TEST_P(AqlQueue, BarrierOrWithoutDependenciesCompletes) {
  signals.set(5, 1);
  queue.submit(barrier_packet({}, signals.handle(5), false, HSA_PACKET_TYPE_BARRIER_OR));
  cp.run();
  EXPECT_EQ(signals.value(5), 0);
}

TEST_P(AqlQueue, WritesTimestampsIfProfiling) {
  queue.amd().queue_properties = aql::kPropertyProfiling;
  signals.set(0, 1);
  queue.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_GE(signals[0].start_ts, 1000u);
  EXPECT_GT(signals[0].end_ts, signals[0].start_ts);
}

TEST_P(AqlQueue, WritesNoTimestampsUnlessProfiling) {
  signals.set(0, 1);
  queue.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_EQ(signals[0].start_ts, 0u);
  EXPECT_EQ(signals[0].end_ts, 0u);
}

TEST_P(AqlQueue, UnmappedDependencyIsFault) {
  queue.submit(barrier_packet({0xdead0000}, 0));
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].va, 0xdead0008u);
  EXPECT_EQ(bus.faults()[0].reason, FaultReason::kNotPresent);
  EXPECT_EQ(bus.faults()[0].queue_id, 1u);
  EXPECT_NE(bus.stopped(1).find("dependency"), std::string::npos);
}

TEST_P(AqlQueue, ReadOnlyCompletionSignalIsFault) {
  const Buffer constant = bus.allocate(64, false);
  queue.submit(barrier_packet({}, constant.va));
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].reason, FaultReason::kReadOnly);
}

TEST_P(AqlQueue, FaultDoesNotStopOtherQueues) {
  TestAqlQueue other{bus, cp, gfx(), 2};
  signals.set(0, 1);
  queue.submit(barrier_packet({0xdead0000}, 0));
  other.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(bus.stopped(2), "");
}

TEST_P(AqlQueue, RejectsAgentDispatch) {
  expect_error(barrier_packet({}, 0, false, HSA_PACKET_TYPE_AGENT_DISPATCH), 0x20, "AGENT_DISPATCH");
}

TEST_P(AqlQueue, RejectsUnknownType) {
  expect_error(barrier_packet({}, 0, false, 9), 0x20, "type 9");
}

TEST_P(AqlQueue, RejectsUnknownVendorPacket) {
  aql::Packet packet{};
  packet.words[0] = 0x33u << 16;
  expect_error(packet, gfx8() ? 0x20 : 0x100, gfx8() ? "vendor" : "format 51");
}

TEST_P(AqlQueue, DoesNotSignalErrorThatDriverTakes) {
  bus.takes_errors = true;
  use_inactive_signal(15);
  queue.submit(barrier_packet({}, 0, false, 9));
  cp.run();
  EXPECT_EQ(signals.value(15), 0);
  ASSERT_EQ(bus.errors().size(), 1u);
  EXPECT_EQ(bus.errors()[0], QueueError::kBadPacket);
}

// Dispatches
// -------------------------------------------------------------------------------------------------

TEST_P(AqlQueue, PassesDispatchToShaderCores) {
  const uint64_t object = kernel();
  signals.set(0, 1);
  queue.submit(dispatch(object, signals.handle(0)));
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  const Dispatch d = shaders.get(0);
  EXPECT_EQ(d.queue_id, 1u);
  EXPECT_EQ(d.entry_va, object + 256);
  EXPECT_EQ(d.kernarg_va, 0x1234567890u);
  EXPECT_EQ(d.grid_size[0], 640u);
  EXPECT_EQ(d.work_group_size[1], 2u);
  EXPECT_EQ(d.packet_va, queue.slot_va(0));
  EXPECT_EQ(d.queue_va, queue.queue_va());
  EXPECT_TRUE(d.acquire_system);
  EXPECT_EQ(signals.value(0), 1);
  EXPECT_EQ(queue.read_index(), 0u);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(queue.read_index(), 1u);
}

TEST_P(AqlQueue, LoadsUserSgprsInOrder) {
  queue.amd().scratch_resource_descriptor[0] = 0x11;
  queue.amd().scratch_resource_descriptor[3] = 0x44;
  queue.amd().scratch_backing_memory_location = 0x5500001000;
  queue.amd().scratch_wave64_lane_byte_size = 64;
  queue.amd().compute_tmpring_size = 32 | 4u << 12;
  cp.set_scratch_base(0x900000000);
  const uint64_t object = kernel(0x7f, 14u << 1);
  aql::Packet packet = dispatch(object);
  packet.words[6] = 16;    // private
  packet.words[7] = 1000;  // group
  queue.submit(barrier_packet({}));
  queue.submit(packet);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  const Dispatch d = shaders.get(0);
  EXPECT_EQ(d.user_sgpr_count, 14u);
  EXPECT_EQ(d.user_sgprs[0], 0x11u);
  // gfx10: bits for an interleaving by 64, as waves have 64 lanes
  EXPECT_EQ(d.user_sgprs[3], gfx() >= 100000 ? 0x44u | 3u << 21 : 0x44u);
  EXPECT_EQ(d.user_sgprs[4], low(queue.slot_va(1)));
  EXPECT_EQ(d.user_sgprs[6], low(queue.queue_va()));
  EXPECT_EQ(d.user_sgprs[7], high(queue.queue_va()));
  EXPECT_EQ(d.user_sgprs[8], 0x34567890u);
  EXPECT_EQ(d.user_sgprs[9], 0x12u);
  EXPECT_EQ(d.user_sgprs[10], 1u);  // dispatch id
  EXPECT_EQ(d.user_sgprs[12], 0x00001000u);
  EXPECT_EQ(d.user_sgprs[13], gfx8() ? 64u : 0x55u);
  EXPECT_EQ(d.pgm_rsrc2 >> 15 & 0x1ff, 2u);
  EXPECT_EQ(d.lds_bytes, 1024u) << "two granules";
  EXPECT_EQ(d.scratch_va, gfx8() ? 0x5e00001000u : 0x5500001000u);
  EXPECT_EQ(d.scratch_waves, 32u);
  EXPECT_EQ(d.scratch_wave_bytes, gfx11() ? 1024u : 4096u);
}

// Each of the ten alone, all but one, and random sets: a disabled value takes no register.
TEST_P(AqlQueue, LoadsOnlyEnabledUserSgprs) {
  amd_queue_t& q = queue.amd();
  q.scratch_backing_memory_location = 0x5500001000;
  q.scratch_wave64_lane_byte_size = 64;
  q.compute_tmpring_size = 32 | 4u << 12;
  for (uint32_t i = 0; i < 4; ++i) q.scratch_resource_descriptor[i] = 0xd0 + i;
  std::vector<uint32_t> sets;
  for (uint32_t bit = 0; bit < 10; ++bit) sets.insert(sets.end(), {1u << bit, 0x3ffu & ~(1u << bit)});
  std::mt19937 random(1);
  while (sets.size() < 60) sets.push_back(random() & 0x3ff);
  const bool gfx10 = gfx() >= 100000;
  for (size_t i = 0; i < sets.size(); ++i) {
    const uint64_t place = queue.slot_va(i), object = kernel(sets[i], 31u << 1);
    const std::vector<std::vector<uint32_t>> registers = {
        {0xd0, 0xd1, 0xd2, gfx10 ? (0xd3u & ~(3u << 21)) | 3u << 21 : 0xd3u},
        {low(place), high(place)},
        {low(queue.queue_va()), high(queue.queue_va())},
        {0x34567890, 0x12},
        {static_cast<uint32_t>(i), 0},
        gfx8() ? std::vector<uint32_t>{0x00001000, 64} : std::vector<uint32_t>{0x00001000, 0x55},
        {20},  // bytes of scratch of a work-item
        {10},  // work-groups
        {2},
        {1}};
    std::vector<uint32_t> expected;
    for (uint32_t bit = 0; bit < 10; ++bit) {
      if ((sets[i] >> bit & 1) != 0) {
        expected.insert(expected.end(), registers[bit].begin(), registers[bit].end());
      }
    }
    aql::Packet packet = dispatch(object);
    packet.words[6] = 20;
    queue.submit(packet);
    cp.run();
    ASSERT_EQ(shaders.count(), 1u) << bus.stopped(1);
    const Dispatch d = shaders.get(0);
    const std::vector<uint32_t> loaded(d.user_sgprs.begin(), d.user_sgprs.begin() + expected.size());
    EXPECT_EQ(loaded, expected) << std::hex << sets[i];
    shaders.end(0);
    cp.run();
  }
}

// Source: LLVM's AMDGPU user guide, "Preloaded Kernel Arguments".
TEST_P(AqlQueue, PreloadsKernargsIfChipSupportsIt) {
  constexpr uint32_t kLength = 3, kOffset = 2;  // dwords
  const Buffer arguments = bus.allocate(64);
  for (uint32_t i = 0; i < 16; ++i) *arguments.at<uint32_t>(i * 4) = 0xa0 + i;
  const uint64_t object =
      kernel(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_KERNARG_SEGMENT_PTR, 5u << 1, kLength | kOffset << 7);
  aql::Packet packet = dispatch(object);
  set_quad(packet, 10, arguments.va);
  queue.submit(packet);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  const Dispatch d = shaders.get(0);
  EXPECT_EQ(d.user_sgprs[0], low(arguments.va));
  const bool preloads = gfx() == kGfx90a;
  EXPECT_EQ(d.entry_va, object + 256 + (preloads ? 256 : 0)) << "after the code for other firmware";
  for (uint32_t i = 0; i < kLength; ++i) EXPECT_EQ(d.user_sgprs[2 + i], preloads ? 0xa2 + i : 0u) << i;
  EXPECT_EQ(d.user_sgprs[2 + kLength], 0u);
}

TEST_P(AqlQueue, UnmappedPreloadedKernargIsFault) {
  if (gfx() != kGfx90a) GTEST_SKIP() << "preloads nothing";
  queue.submit(dispatch(kernel(0, 16u << 1, 4)));
  cp.run();
  EXPECT_EQ(shaders.count(), 0u);
  ASSERT_EQ(bus.faults().size(), 1u);
}

TEST_P(AqlQueue, Wave32ExistsOnGfx10Only) {
  queue.submit(dispatch(kernel(1u << 10)));
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  EXPECT_EQ(shaders.get(0).wave_size, gfx() >= 100000 ? 32u : 64u);
}

TEST_P(AqlQueue, TrapHandlerPropertyEnablesTraps) {
  queue.amd().queue_properties = aql::kPropertyTrapHandler;
  queue.submit(dispatch(kernel()));
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  EXPECT_TRUE(shaders.get(0).trap_handler);
  EXPECT_EQ(shaders.get(0).pgm_rsrc2 >> 6 & 1, 1u);
}

TEST_P(AqlQueue, RunsDispatchesTogetherUnlessBarrierBitIsSet) {
  const uint64_t object = kernel();
  queue.submit(dispatch(object));
  queue.submit(dispatch(object));
  queue.submit(dispatch(object, 0, true));
  cp.run();
  ASSERT_EQ(shaders.count(), 2u);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(shaders.count(), 1u);
  shaders.end(0);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  EXPECT_EQ(shaders.get(0).packet_id, 2u);
}

TEST_P(AqlQueue, EndTimestampIsWhenKernelEnds) {
  queue.amd().queue_properties = aql::kPropertyProfiling;
  const uint64_t object = kernel();
  signals.set(0, 1), signals.set(1, 1);
  queue.submit(dispatch(object, signals.handle(0)));
  queue.submit(dispatch(object, signals.handle(1)));
  cp.run();
  ASSERT_EQ(shaders.count(), 2u);
  shaders.end(0);
  const uint64_t between = bus.gpu_clock();
  shaders.end(0);
  const uint64_t after = bus.gpu_clock();
  cp.run();
  ASSERT_EQ(signals.value(0), 0);
  ASSERT_EQ(signals.value(1), 0);
  EXPECT_GT(signals[0].end_ts, signals[0].start_ts);
  EXPECT_LT(signals[0].end_ts, between);
  EXPECT_GT(signals[1].start_ts, signals[0].start_ts);
  EXPECT_GT(signals[1].end_ts, between);
  EXPECT_LT(signals[1].end_ts, after);
}

TEST_P(AqlQueue, ReleasesSlotsInOrder) {
  const uint64_t object = kernel();
  signals.set(0, 1), signals.set(1, 1), signals.set(2, 1);
  queue.submit(dispatch(object, signals.handle(0)));
  queue.submit(dispatch(object, signals.handle(1)));
  queue.submit(barrier_packet({}, signals.handle(2)));
  cp.run();
  shaders.end(1);
  cp.run();
  EXPECT_EQ(signals.value(1), 0);
  EXPECT_EQ(signals.value(2), 0);
  EXPECT_EQ(signals.value(0), 1);
  EXPECT_EQ(queue.read_index(), 0u);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(queue.read_index(), 3u);
}

TEST_P(AqlQueue, RejectsDispatchWithoutDimensions) {
  aql::Packet packet = dispatch(kernel());
  packet.words[0] &= 0xffff;
  expect_error(packet, 0x2, "dimensions");
}

TEST_P(AqlQueue, RejectsEmptyGrid) {
  aql::Packet packet = dispatch(kernel());
  packet.words[4] = 0;
  expect_error(packet, 0x2, "dimension 1");
}

TEST_P(AqlQueue, RejectsTooMuchGroupMemory) {
  aql::Packet packet = dispatch(kernel());
  packet.words[7] = 65537;
  expect_error(packet, 0x4, "65537");
}

TEST_P(AqlQueue, RejectsNullKernelObject) {
  expect_error(dispatch(0), 0x8, "kernel object");
}

TEST_P(AqlQueue, RejectsTooLargeWorkGroup) {
  aql::Packet packet = dispatch(kernel());
  packet.words[1] = 1024 | 2u << 16;
  expect_error(packet, 0x40, "2048");
}

TEST_P(AqlQueue, AcceptsWorkGroupWithAllVgprs) {
  size_t count = 0;
  for (const FullGroup& group : kFullGroups) {
    if (gfx() < 100000 && (group.wave32 || group.wgp_mode)) continue;
    queue.submit(dispatch_of(group, granules_of(group)));
    cp.run();
    EXPECT_EQ(shaders.count(), ++count) << group.wave32 << group.wgp_mode;
  }
}

TEST_P(AqlQueue, RejectsWorkGroupWithTooManyVgprs) {
  expect_error(dispatch_of(kFullGroups[0], granules_of(kFullGroups[0]) + 1), 0x80, "VGPR");
}

TEST_P(AqlQueue, UnmappedKernelObjectIsFault) {
  queue.submit(dispatch(0x77770000));
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].va & ~0xfffull, 0x77770000u);
}

TEST_P(AqlQueue, ErrorOfKernelBecomesQueueError) {
  use_inactive_signal(15);
  queue.submit(dispatch(kernel()));
  cp.run();
  DispatchResult result;
  result.kind = DispatchResult::Kind::kError;
  result.error = QueueError::kTrap;
  result.reason = "s_trap 3";
  shaders.end(0, result);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x80000000);
  EXPECT_NE(bus.stopped(1).find("s_trap 3"), std::string::npos);
}

TEST_P(AqlQueue, FaultOfKernelBecomesQueueFault) {
  queue.submit(dispatch(kernel()));
  cp.run();
  DispatchResult result;
  result.kind = DispatchResult::Kind::kFault;
  result.fault = {0x4000, Access::kWrite, FaultReason::kNotPresent, 0};
  shaders.end(0, result);
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].queue_id, 1u);
}

TEST_P(AqlQueue, DispatchWithoutShaderCoresIsQueueError) {
  NoShaderCores none;
  CommandProcessor bare(manual(gfx()), bus, none);
  TestAqlQueue lonely(bus, bare, gfx(), 9);
  lonely.amd().queue_inactive_signal.handle = signals.handle(3);
  lonely.submit(dispatch(kernel()));
  bare.run();
  EXPECT_EQ(signals.value(3), 0x40000000);
  EXPECT_NE(bus.stopped(9).find("no shader cores"), std::string::npos);
}

// Scratch
// ----------------------------------------------------------------------------------------------------

TEST_P(AqlQueue, RequestsScratchAndRetries) {
  use_inactive_signal(15);
  aql::Packet packet = dispatch(kernel());
  packet.words[6] = 32;
  queue.submit(barrier_packet({}));
  queue.submit(packet);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x1);
  EXPECT_EQ(queue.read_index(), 1u) << "the packet that asks is the one at the read index";
  EXPECT_EQ(shaders.count(), 0u);
  queue.amd().scratch_wave64_lane_byte_size = 32;
  queue.amd().compute_tmpring_size = 16 | 2u << 12;
  queue.amd().scratch_backing_memory_location = 0x3000;
  cp.run();
  EXPECT_EQ(shaders.count(), 0u) << "not before the signal is 0 again";
  signals.set(15, 0);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  EXPECT_EQ(shaders.get(0).private_bytes, 32u);
  EXPECT_EQ(bus.stopped(1), "");
}

TEST_P(AqlQueue, RequestsScratchAgainIfNotEnough) {
  use_inactive_signal(15);
  aql::Packet packet = dispatch(kernel());
  packet.words[6] = 32;
  queue.submit(packet);
  cp.run();
  signals.set(15, 0);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x1);
}

TEST_P(AqlQueue, ScratchRequestHasWaveSize) {
  if (gfx() < 100000) GTEST_SKIP() << "wave32 begins with gfx10";
  use_inactive_signal(15);
  queue.amd().scratch_wave64_lane_byte_size = 32;
  aql::Packet packet = dispatch(kernel(1u << 10));
  packet.words[6] = 64;  // a lane of a wave of 32 has twice the bytes
  queue.submit(packet);
  packet.words[6] = 65;
  queue.submit(packet);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x400);
}

TEST_P(AqlQueue, CompletesEarlierDispatchesBeforeScratchRequest) {
  use_inactive_signal(15);
  queue.submit(dispatch(kernel()));
  aql::Packet packet = dispatch(kernel());
  packet.words[6] = 32;
  queue.submit(packet);
  cp.run();
  EXPECT_EQ(signals.value(15), 0);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x1);
}

TEST_P(AqlQueue, ReleasesScratchOfSingleDispatch) {
  use_inactive_signal(15);
  queue.amd().scratch_wave64_lane_byte_size = 32;
  queue.amd().queue_properties = aql::kPropertyScratchOnce;
  aql::Packet packet = dispatch(kernel());
  packet.words[6] = 32;
  queue.submit(packet);
  queue.submit(barrier_packet({}));
  cp.run();
  EXPECT_EQ(signals.value(15), 0);
  shaders.end(0);
  cp.run();
  EXPECT_EQ(signals.value(15), 0x200);
  signals.set(15, 0);  // the property may be cleared later than the signal
  cp.run();
  EXPECT_EQ(queue.read_index(), 2u);
  EXPECT_EQ(signals.value(15), 0);
}

// Vendor packets
// ---------------------------------------------------------------------------------------------

TEST_P(AqlQueue, BarrierValueCompares) {
  if (gfx8()) GTEST_SKIP() << "gfx9 and later";
  struct Case {
    uint32_t condition;
    int64_t value, mask, reference;
    bool holds;
  };
  const Case cases[] = {
      {HSA_SIGNAL_CONDITION_EQ, 0x15, 0xf, 5, true}, {HSA_SIGNAL_CONDITION_EQ, 4, -1, 5, false},
      {HSA_SIGNAL_CONDITION_NE, 4, -1, 5, true},     {HSA_SIGNAL_CONDITION_LT, -3, -1, 0, true},
      {HSA_SIGNAL_CONDITION_LT, 0, -1, 0, false},    {HSA_SIGNAL_CONDITION_GTE, 0, -1, 0, true},
      {HSA_SIGNAL_CONDITION_GTE, -1, -1, 0, false}};
  uint64_t done = 0;
  for (const Case& c : cases) {
    signals.set(0, c.value), signals.set(1, 1);
    aql::Packet packet{};
    packet.words[0] = 2u << 16;
    set_quad(packet, 2, signals.handle(0));
    set_quad(packet, 4, static_cast<uint64_t>(c.reference));
    set_quad(packet, 6, static_cast<uint64_t>(c.mask));
    packet.words[8] = c.condition;
    set_quad(packet, 14, signals.handle(1));
    queue.submit(packet);
    cp.run();
    EXPECT_EQ(signals.value(1) == 0, c.holds) << c.condition << " " << c.value;
    // Fulfil the condition, so that the next case runs.
    signals.set(0, c.condition == HSA_SIGNAL_CONDITION_LT   ? -100
                   : c.condition == HSA_SIGNAL_CONDITION_NE ? 9
                                                            : 5);
    cp.run();
    EXPECT_EQ(queue.read_index(), ++done);
  }
}

TEST_P(AqlQueue, RunsIndirectBuffer) {
  const Buffer target = bus.allocate(64);
  const Buffer ib = bus.allocate(64);
  const uint32_t words[] = {0xc0033700, 5u << 8, low(target.va), high(target.va), 0xcafe};
  std::memcpy(ib.host, words, sizeof words);
  signals.set(0, 1);
  aql::Packet packet{};
  const uint32_t jump[] = {0xc0023f00, low(ib.va), high(ib.va), 5 | 1u << 23};
  if (gfx8()) {
    packet.words[0] = 0xc0031000;  // NOP of 5 dwords
    std::memcpy(packet.words + 5, jump, sizeof jump);
    packet.words[9] = 0xc0054900;  // RELEASE_MEM, event index AQL
    packet.words[10] = 7u << 8;
  } else {
    packet.words[0] = 1u << 16;
    std::memcpy(packet.words + 1, jump, sizeof jump);
    packet.words[5] = 10;
    set_quad(packet, 14, signals.handle(0));
  }
  queue.submit(packet);
  cp.run();
  EXPECT_EQ(*target.at<uint32_t>(), 0xcafeu) << bus.stopped(1);
  EXPECT_EQ(queue.read_index(), 1u);
  EXPECT_EQ(queue.header(0), aql::kInvalidHeader);
  EXPECT_EQ(signals.value(0), gfx8() ? 1 : 0);
}

TEST_P(AqlQueue, NamesUnknownPm4Opcode) {
  const Buffer ib = bus.allocate(64);
  *ib.at<uint32_t>() = 0xc000ee00;
  aql::Packet packet{};
  const uint32_t jump[] = {0xc0023f00, low(ib.va), high(ib.va), 2 | 1u << 23};
  if (gfx8()) {
    packet.words[0] = 0xc00a1000;
    std::memcpy(packet.words + 12, jump, sizeof jump);
  } else {
    packet.words[0] = 1u << 16;
    std::memcpy(packet.words + 1, jump, sizeof jump);
  }
  expect_error(packet, 0x100, "0xee");
}

// Lifetime
// -------------------------------------------------------------------------------------------------------

TEST_P(AqlQueue, SuspendedQueueRunsNothing) {
  cp.run();
  signals.set(0, 2);
  ASSERT_EQ(cp.update_queue(1, 0, 0, 7, 0), QueueRequestError::kNone);
  queue.submit(barrier_packet({}, signals.handle(0)));
  EXPECT_EQ(cp.run(), 0u);
  ASSERT_EQ(cp.update_queue(1, 0, 0, 7, 100), QueueRequestError::kNone);
  cp.run();
  EXPECT_EQ(signals.value(0), 1);
}

TEST_P(AqlQueue, DestroyCancelsRunningDispatch) {
  signals.set(0, 1);
  queue.submit(dispatch(kernel(), signals.handle(0)));
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  ASSERT_EQ(cp.destroy_queue(1), QueueRequestError::kNone);
  EXPECT_EQ(shaders.count(), 0u);
  EXPECT_EQ(signals.value(0), 1);
  EXPECT_EQ(cp.destroy_queue(1), QueueRequestError::kNoSuchQueue);
}

TEST_P(AqlQueue, TakesDoorbellFromMemory) {
  const Buffer doorbells = bus.allocate(64);
  std::memset(doorbells.host, 0xff, 64);
  TestAqlQueue with_slot(bus, cp, gfx(), 5, 64, 7, doorbells.host);
  cp.run();
  signals.set(0, 2);
  with_slot.write(barrier_packet({}, signals.handle(0)));
  with_slot.write(barrier_packet({}, signals.handle(0)));
  EXPECT_EQ(cp.run(), 0u);
  if (gfx8()) {
    *doorbells.at<uint32_t>() = 2;
  } else {
    // The ring of packet 1 came first and was overwritten by the later ring of packet 0.
    *doorbells.at<uint64_t>() = 0;
  }
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(*doorbells.at<uint32_t>(), UINT32_MAX);
}

TEST_P(AqlQueue, TakesDoorbellFromMemoryWhileSuspended) {
  const Buffer doorbells = bus.allocate(64);
  std::memset(doorbells.host, 0xff, 64);
  TestAqlQueue with_slot(bus, cp, gfx(), 5, 64, 7, doorbells.host);
  cp.run();
  signals.set(0, 1);
  ASSERT_EQ(cp.update_queue(5, 0, 0, 7, 0), QueueRequestError::kNone);
  with_slot.write(barrier_packet({}, signals.handle(0)));
  if (gfx8()) {
    *doorbells.at<uint32_t>() = 1;
  } else {
    *doorbells.at<uint64_t>() = 0;
  }
  EXPECT_EQ(cp.run(), 0u);
  EXPECT_EQ(*doorbells.at<uint32_t>(), UINT32_MAX) << "who watches doorbells would never sleep";
  ASSERT_EQ(cp.update_queue(5, 0, 0, 7, 100), QueueRequestError::kNone);
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
}

TEST_P(AqlQueue, DropsLegacyRingThatGoesBack) {
  if (!gfx8()) GTEST_SKIP() << "gfx8";
  signals.set(0, 2);
  queue.submit(barrier_packet({}, signals.handle(0)));
  queue.submit(barrier_packet({}, signals.handle(0)));
  cp.run();
  cp.ring_doorbell(1, 1);
  EXPECT_EQ(cp.run(), 0u);
  EXPECT_EQ(bus.stopped(1), "");
}

// As on Tonga: rings of up to a full ring, at every position.
TEST_P(AqlQueue, LegacyRingInDwordsCoversBothMappings) {
  if (!gfx8()) GTEST_SKIP() << "gfx8";
  TestAqlQueue in_dwords(bus, cp, gfx(), 5, 64, 7, nullptr, true);
  uint64_t sent = 0;
  signals.set(0, 0);
  for (const uint64_t count : {1u, 64u, 63u, 64u, 64u, 2u}) {
    for (uint64_t i = 0; i < count; ++i) in_dwords.write(barrier_packet({}, signals.handle(0)));
    EXPECT_EQ(cp.run(), 0u) << "before it is rung";
    in_dwords.ring((sent += count) - 1);
    cp.run();
    EXPECT_EQ(signals.value(0), -static_cast<int64_t>(sent));
    EXPECT_EQ(in_dwords.read_index(), sent);
  }
  cp.ring_doorbell(5, (sent - 1) % 128 * 16);  // goes back
  EXPECT_EQ(cp.run(), 0u);
  EXPECT_EQ(bus.stopped(5), "");
}

// The write index counts packets, also if doorbells count dwords.
TEST_P(AqlQueue, ReadsWriteIndexInPacketsIfDoorbellsAreInDwords) {
  if (!gfx8()) GTEST_SKIP() << "gfx8";
  TestAqlQueue in_dwords(bus, cp, gfx(), 5, 64, 7, nullptr, true);
  cp.run();
  ASSERT_EQ(cp.update_queue(5, 0, 0, 7, 0), QueueRequestError::kNone);
  signals.set(0, 3);
  for (int i = 0; i < 3; ++i) in_dwords.write(barrier_packet({}, signals.handle(0)));
  in_dwords.amd().max_legacy_doorbell_dispatch_id_plus_1 = 3;
  EXPECT_EQ(cp.run(), 0u);
  const QueueConfig& config = in_dwords.config();
  ASSERT_EQ(cp.update_queue(5, config.ring_va, static_cast<uint32_t>(config.ring_bytes), 7, 100),
            QueueRequestError::kNone);
  cp.run();
  EXPECT_EQ(signals.value(0), 0);
}

TEST_P(AqlQueue, TracesPackets) {
  bus.traces = true;
  signals.set(0, 1);
  queue.submit(barrier_packet({}, signals.handle(0), true));
  cp.run();
  ASSERT_FALSE(bus.lines().empty());
  EXPECT_NE(bus.lines()[0].find("BARRIER_AND barrier acquire 2"), std::string::npos) << bus.lines()[0];
}

INSTANTIATE_TEST_SUITE_P(Generations, AqlQueue,
                         ::testing::Values(kGfx8, kGfx9, kGfx90a, kGfx101, kGfx103, kGfx11, kGfx12),
                         generation_name);

// Each XCC has the slots of COMPUTE_TMPRING_SIZE.
TEST(CommandProcessor, ScratchIsThatOfAllXccs) {
  FakeBus bus;
  HeldDispatches shaders;
  DeviceConfig config = manual(kGfx90a);
  config.xcc_count = 4;
  CommandProcessor cp(config, bus, shaders);
  TestAqlQueue queue(bus, cp, kGfx90a, 1);
  queue.amd().scratch_backing_memory_location = 0x5500001000;
  queue.amd().scratch_wave64_lane_byte_size = 64;
  queue.amd().compute_tmpring_size = 32 | 4u << 12;
  const Buffer object = bus.allocate(512);
  *object.at<int64_t>(16) = 256;
  aql::Packet packet{};
  packet.words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << 16;
  packet.words[1] = 64 | 1u << 16;
  packet.words[2] = packet.words[4] = packet.words[5] = 1;
  packet.words[3] = 64;
  packet.words[6] = 16;
  set_quad(packet, 8, object.va);
  queue.submit(packet);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  EXPECT_EQ(shaders.get(0).scratch_waves, 128u);
  EXPECT_EQ(shaders.get(0).scratch_bytes, 128u * 4096);
}

// From gfx11 on the register counts the waves of a shader engine, in units of 256 bytes and 15 bits.
TEST(CommandProcessor, ScratchIsThatOfAllShaderEngines) {
  const TmpringLayout& layout = find_dialect(kGfx11)->tmpring;
  EXPECT_EQ(layout.waves(32 | 0x7fffu << 12, 6), 192u);
  EXPECT_EQ(layout.wave_bytes(32 | 0x7fffu << 12), 0x7fffu * 256);
  EXPECT_EQ(find_dialect(kGfx103)->tmpring.waves(32, 6), 32u);
}

TEST(CommandProcessor, RejectsInvalidQueueConfig) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(manual(kGfx9), bus, none);
  TestAqlQueue queue(bus, cp, kGfx9, 1);
  QueueConfig config = queue.config();
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kIdInUse);
  config.queue_id = 2;
  config.ring_bytes = 4095;
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kBadRing);
  config.ring_bytes = 4096;
  config.ring_va += 64;
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kBadRing);
  config.ring_va -= 64;
  config.read_pointer_va += 4;
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kBadValue);
  config.read_pointer_va -= 4;
  config.priority = 16;
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kBadValue);
  config.priority = 15;
  config.kind = QueueKind::kSdma;
  config.sdma_engine = 2;
  EXPECT_EQ(cp.create_queue(config), QueueRequestError::kNoSuchEngine);
  EXPECT_EQ(cp.update_queue(99, 0, 0, 7, 100), QueueRequestError::kNoSuchQueue);
  cp.ring_doorbell(99, 0);  // an unknown queue
}

}  // namespace
}  // namespace rigel::vgpu::testing
