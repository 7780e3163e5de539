#include "plugins/vgpu/cp/pm4_packets.hpp"
#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

class Pm4Queue : public ::testing::TestWithParam<uint32_t> {
 protected:
  bool gfx8() const { return GetParam() < 90000; }
  bool gfx10() const { return GetParam() >= 100000; }

  FakeBus bus;
  HeldDispatches shaders;
  CommandProcessor cp{manual(GetParam()), bus, shaders};
  TestWordQueue queue{bus, cp, GetParam(), QueueKind::kPm4, 1};
  Buffer memory = bus.allocate(1 << 16);

  static uint32_t header(pm4::Opcode op, uint32_t dwords) { return pm4::header(op, dwords); }
  uint32_t lo(uint64_t offset = 0) const { return low(memory.va + offset); }
  uint32_t hi() const { return high(memory.va); }
  uint32_t word(uint64_t offset = 0) const { return *memory.at<uint32_t>(offset); }

  void run() {
    cp.run();
    EXPECT_EQ(bus.stopped(1), "");
    EXPECT_TRUE(queue.drained());
  }
  void expect_stop(const std::string& text) {
    cp.run();
    EXPECT_NE(bus.stopped(1).find(text), std::string::npos) << bus.stopped(1);
  }
  void release(uint32_t int_select, uint32_t data_select, uint64_t data, uint64_t offset = 0) {
    const uint32_t select = int_select << 24 | data_select << 29;
    if (gfx8()) {
      queue.submit(
          {header(pm4::kReleaseMem, 7), 0x14 | 5u << 8, select, lo(offset), hi(), low(data), high(data)});
    } else {
      queue.submit({header(pm4::kReleaseMem, 8), 0x14 | 5u << 8, select, lo(offset), hi(), low(data),
                    high(data), 0x55});
    }
  }
  /// Sets the state and launches 4 x 1 x 1 work-groups of 64 x 2.
  void launch() {
    queue.submit({header(pm4::kSetShReg, 5), pm4::kNumThreadX - pm4::kShStart, 64, 2, 1});
    queue.submit({header(pm4::kSetShReg, 4), pm4::kPgmLo - pm4::kShStart, 0x12345, 0});
    queue.submit({header(pm4::kSetShReg, 4), pm4::kPgmRsrc1 - pm4::kShStart, 0x77, 4u << 1});
    queue.submit({header(pm4::kSetShReg, 6), pm4::kUserData0 - pm4::kShStart, 1, 2, 3, 4});
    queue.submit({header(pm4::kDispatchDirect, 5), 4, 1, 1, 1});
  }
};

TEST_P(Pm4Queue, WritesData) {
  queue.submit({header(pm4::kWriteData, 6), 5u << 8, lo(), hi(), 1, 2});
  queue.submit({header(pm4::kWriteData, 6), 2u << 8 | 1u << 16, lo(64), hi(), 3, 4});
  run();
  EXPECT_EQ(word(0), 1u);
  EXPECT_EQ(word(4), 2u);
  EXPECT_EQ(word(64), 4u);
  EXPECT_EQ(word(68), 0u);
}

TEST_P(Pm4Queue, CopiesDataBetweenMemoryRegistersImmediatesAndClock) {
  *memory.at<uint64_t>() = 0x1122334455667788;
  const uint32_t wide = 1u << 16;
  queue.submit({header(pm4::kCopyData, 6), 1 | 5u << 8 | wide, lo(), hi(), lo(8), hi()});
  queue.submit({header(pm4::kCopyData, 6), 5 | 5u << 8, 0xabc, 0, lo(16), hi()});
  queue.submit({header(pm4::kCopyData, 6), 9 | 5u << 8 | wide, 0, 0, lo(24), hi()});
  queue.submit({header(pm4::kCopyData, 6), 2 | 0u << 8, lo(), hi(), 0xc123, 0});
  queue.submit({header(pm4::kCopyData, 6), 4 | 2u << 8, 0xc123, 0, lo(32), hi()});
  run();
  EXPECT_EQ(*memory.at<uint64_t>(8), 0x1122334455667788u);
  EXPECT_EQ(word(16), 0xabcu);
  EXPECT_GE(*memory.at<uint64_t>(24), 1000u);
  EXPECT_EQ(word(32), 0x55667788u);
}

TEST_P(Pm4Queue, WaitsForMemory) {
  queue.submit({header(pm4::kWaitRegMem, 7), 3 | 1u << 4, lo(), hi(), 5, 0xff, 4});
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(8), hi(), 1});
  cp.run();
  EXPECT_EQ(word(8), 0u);
  *memory.at<uint32_t>() = 0x105;
  run();
  EXPECT_EQ(word(8), 1u);
}

TEST_P(Pm4Queue, WaitRegMem64ExistsFromGfx9On) {
  *memory.at<uint64_t>() = uint64_t{1} << 40;
  queue.submit(
      {header(pm4::kWaitRegMem64, 9), 5 | 1u << 4, lo(), hi(), 0, 1u << 9, UINT32_MAX, UINT32_MAX, 4});
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(8), hi(), 1});
  cp.run();
  if (gfx8()) {
    EXPECT_NE(bus.stopped(1).find("WAIT_REG_MEM64"), std::string::npos);
    return;
  }
  EXPECT_EQ(word(8), 0u);
  *memory.at<uint64_t>() = uint64_t{1} << 41;
  run();
  EXPECT_EQ(word(8), 1u);
}

TEST_P(Pm4Queue, WaitForRegisterStopsIfItCanNeverMatch) {
  queue.submit({header(pm4::kWaitRegMem, 7), 3, 0xc100, 0, 1, 1, 4});
  expect_stop("cannot end");
}

TEST_P(Pm4Queue, ReleaseMemWritesDataAndInterrupts) {
  release(2, 2, 0x1000000123);
  run();
  EXPECT_EQ(*memory.at<uint64_t>(), 0x1000000123u);
  ASSERT_EQ(bus.interrupts().size(), 1u);
  EXPECT_EQ(bus.interrupts()[0].context_id, gfx8() ? 0x123u : 0x55u);
  release(3, 1, 0x777, 16);
  release(0, 3, 0, 24);
  run();
  EXPECT_EQ(*memory.at<uint64_t>(16), 0x777u);
  EXPECT_GE(*memory.at<uint64_t>(24), 1000u);
  EXPECT_EQ(bus.interrupts().size(), 1u);
}

TEST_P(Pm4Queue, EventWriteEopExistsOnGfx8Only) {
  queue.submit({header(pm4::kEventWriteEop, 6), 0x14 | 5u << 8, lo(), hi() | 1u << 29 | 2u << 24, 9, 0});
  cp.run();
  EXPECT_EQ(bus.stopped(1).empty(), gfx8());
  EXPECT_EQ(word(), gfx8() ? 9u : 0u);
}

TEST_P(Pm4Queue, AcceptsAcquireMemOfItsGeneration) {
  if (gfx10()) {
    queue.submit({header(pm4::kAcquireMem, 8), 0, UINT32_MAX, 0xff, 0, 0, 4, 0x4381});
  } else {
    queue.submit({header(pm4::kAcquireMem, 7), 0x28c00000, UINT32_MAX, 0xff, 0, 0, 4});
  }
  run();
}

TEST_P(Pm4Queue, RejectsAcquireMemOfOtherGeneration) {
  if (gfx10()) {
    queue.submit({header(pm4::kAcquireMem, 7), 0, 0, 0, 0, 0, 0});
  } else {
    queue.submit({header(pm4::kAcquireMem, 8), 0, 0, 0, 0, 0, 0, 0});
  }
  expect_stop("ACQUIRE_MEM: invalid size");
}

TEST_P(Pm4Queue, DmaDataCopiesAndFills) {
  const uint32_t bytes = (1 << 20) + 12345;
  const Buffer big = bus.allocate(2 << 20), to = bus.allocate(2 << 20);
  for (uint32_t i = 0; i < bytes; ++i) big.host[i] = static_cast<std::byte>(i * 3);
  queue.submit({header(pm4::kDmaData, 7), 3u << 20 | 3u << 29, low(big.va), high(big.va), low(to.va),
                high(to.va), bytes});
  queue.submit({header(pm4::kDmaData, 7), 3u << 20 | 2u << 29, 0xabcd, 0, lo(), hi(), 64});
  run();
  EXPECT_EQ(std::memcmp(big.host, to.host, bytes), 0);
  EXPECT_EQ(to.host[bytes], std::byte{0});
  EXPECT_EQ(word(60), 0xabcdu);
  EXPECT_EQ(word(64), 0u);
}

TEST_P(Pm4Queue, AtomicMemReturnsPreviousValue) {
  *memory.at<uint64_t>() = 10;
  queue.submit({header(pm4::kAtomicMem, 9), 39, lo(), hi(), 99, 0, 0, 0, 0});
  queue.submit({header(pm4::kCopyData, 6), 6 | 5u << 8 | 1u << 16, 0, 0, lo(8), hi()});
  run();
  EXPECT_EQ(*memory.at<uint64_t>(), 99u);
  EXPECT_EQ(*memory.at<uint64_t>(8), 10u);
}

TEST_P(Pm4Queue, CompareAndSwapWaitsForLock) {
  *memory.at<uint32_t>() = 1;
  queue.submit({header(pm4::kAtomicMem, 9), 8 | 1u << 8, lo(), hi(), 7, 0, 0, 0, 4});
  queue.submit({header(pm4::kAtomicMem, 9), 7, lo(8), hi(), 5, 0, 0, 0, 0});
  cp.run();
  EXPECT_EQ(word(8), 0u);
  *memory.at<uint32_t>() = 0;
  run();
  EXPECT_EQ(word(0), 7u);
  EXPECT_EQ(word(8), 5u);
}

TEST_P(Pm4Queue, SkipsNopsFillersAndConditionalPackets) {
  queue.submit({header(pm4::kNop, 3), 1, 2, 0xffff1000, 0x80000000});
  queue.submit(
      {header(pm4::kCondExec, 5), lo(100), hi(), 0, 5, header(pm4::kWriteData, 5), 5u << 8, lo(), hi(), 1});
  *memory.at<uint32_t>(104) = 1;
  queue.submit(
      {header(pm4::kCondExec, 5), lo(104), hi(), 0, 5, header(pm4::kWriteData, 5), 5u << 8, lo(4), hi(), 1});
  run();
  EXPECT_EQ(word(0), 0u);
  EXPECT_EQ(word(4), 1u);
}

TEST_P(Pm4Queue, WaitsForAllSkippedDwords) {
  queue.submit({header(pm4::kCondExec, 5), lo(100), hi(), 0, 5});
  cp.run();
  EXPECT_FALSE(queue.drained());
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(), hi(), 1});
  run();
  EXPECT_EQ(word(0), 0u);
}

TEST_P(Pm4Queue, NestsAndChainsIndirectBuffers) {
  const Buffer outer = bus.allocate(256), inner = bus.allocate(256), tail = bus.allocate(256);
  const uint32_t last[] = {header(pm4::kWriteData, 5), 5u << 8, lo(8), hi(), 3};
  const uint32_t second[] = {header(pm4::kWriteData, 5), 5u << 8, lo(4), hi(), 2};
  const uint32_t first[] = {header(pm4::kIndirectBuffer, 4),
                            low(inner.va),
                            high(inner.va),
                            5,
                            header(pm4::kWriteData, 5),
                            5u << 8,
                            lo(),
                            hi(),
                            1,
                            header(pm4::kIndirectBuffer, 4),
                            low(tail.va),
                            high(tail.va),
                            5 | 1u << 20};
  std::memcpy(tail.host, last, sizeof last);
  std::memcpy(inner.host, second, sizeof second);
  std::memcpy(outer.host, first, sizeof first);
  queue.submit({header(pm4::kIndirectBuffer, 4), low(outer.va), high(outer.va), 13 | 1u << 23});
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(12), hi(), 4});
  run();
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(word(i * 4), i + 1);
}

TEST_P(Pm4Queue, StopsAtTooDeepNesting) {
  const Buffer ib = bus.allocate(64);
  const uint32_t words[] = {header(pm4::kIndirectBuffer, 4), low(ib.va), high(ib.va), 4};
  std::memcpy(ib.host, words, sizeof words);
  queue.submit({words[0], words[1], words[2], words[3]});
  expect_stop("nested too deeply");
}

TEST_P(Pm4Queue, BufferThatChainsToItselfRunsInSteps) {
  const Buffer ib = bus.allocate(64);
  const uint32_t words[] = {header(pm4::kIndirectBuffer, 4), low(ib.va), high(ib.va), 4 | 1u << 20};
  std::memcpy(ib.host, words, sizeof words);
  queue.submit({words[0], words[1], words[2], words[3]});
  EXPECT_EQ(cp.run(1000), 1000u);
  EXPECT_EQ(cp.destroy_queue(1), QueueRequestError::kNone);
}

TEST_P(Pm4Queue, LimitsUnfinishedDispatches) {
  launch();
  cp.run();
  const Buffer ib = bus.allocate(64);
  const uint32_t words[] = {header(pm4::kDispatchDirect, 5), 4,          1,           1,           1,
                            header(pm4::kIndirectBuffer, 4), low(ib.va), high(ib.va), 9 | 1u << 20};
  std::memcpy(ib.host, words, sizeof words);
  queue.submit({words[5], words[6], words[7], 9});
  EXPECT_LT(cp.run(10000), 10000u);
  const size_t held = shaders.count();
  EXPECT_LT(held, 1000u);
  shaders.end(0);
  cp.run(10000);
  EXPECT_EQ(shaders.count(), held);
  while (shaders.count() != 0) shaders.end(0);
  EXPECT_EQ(cp.destroy_queue(1), QueueRequestError::kNone);
}

TEST_P(Pm4Queue, StopsAtPacketLargerThanRing) {
  queue.submit({header(pm4::kNop, 1025), 0, 0, 0});
  expect_stop("NOP of 1025 dwords");
}

// On a worker thread, which executes many short packets per step.
TEST_P(Pm4Queue, StepEndsAfterPieceOfDmaData) {
  CommandProcessor worker{threaded(GetParam()), bus, shaders};
  TestWordQueue transfers(bus, worker, GetParam(), QueueKind::kPm4, 2);
  const Buffer from = bus.allocate(2 << 20), to = bus.allocate(2 << 20);
  for (int i = 0; i < 4; ++i) {
    transfers.write(
        {header(pm4::kDmaData, 7), 0, low(from.va), high(from.va), low(to.va), high(to.va), 0x1ffffc});
  }
  transfers.ring();
  EXPECT_TRUE(eventually([&] { return transfers.drained(); }));
  EXPECT_GE(bus.scopes.load(), 8u);
}

TEST_P(Pm4Queue, AbandonsDmaDataIfPacketIsReplaced) {
  const Buffer from = bus.allocate(4 << 20), to = bus.allocate(4 << 20);
  for (const uint32_t other : {header(pm4::kNop, 7), header(pm4::kDmaData, 7)}) {
    const uint64_t at = queue.written() * 4;
    queue.submit(
        {header(pm4::kDmaData, 7), 0, low(from.va), high(from.va), low(to.va), high(to.va), 0x1ffffc});
    cp.step();
    const uint32_t shorter[] = {other, 0, low(from.va), high(from.va), low(to.va), high(to.va), 4};
    std::memcpy(queue.ring_at(at), shorter, sizeof shorter);
    EXPECT_LT(cp.run(1000), 1000u);
    run();
  }
}

TEST_P(Pm4Queue, StopsAtPacketPastEndOfBuffer) {
  const Buffer ib = bus.allocate(64);
  *ib.at<uint32_t>() = header(pm4::kWriteData, 8);
  queue.submit({header(pm4::kIndirectBuffer, 4), low(ib.va), high(ib.va), 4});
  expect_stop("WRITE_DATA of 8 dwords extends past the end");
}

TEST_P(Pm4Queue, FaultsAtUnmappedIndirectBuffer) {
  queue.submit({header(pm4::kIndirectBuffer, 4), 0xbad0000, 0, 4});
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].va & ~0xfffull, 0xbad0000u);
}

TEST_P(Pm4Queue, CsPartialFlushWaitsForDispatch) {
  launch();
  queue.submit({header(pm4::kEventWrite, 2), pm4::kCsPartialFlush | 4u << 8});
  release(1, 0, 1);
  cp.run();
  ASSERT_EQ(shaders.count(), 1u);
  const Dispatch d = shaders.get(0);
  EXPECT_EQ(d.entry_va, 0x1234500u);
  EXPECT_EQ(d.grid_size[0], 256u);
  EXPECT_EQ(d.grid_size[1], 2u);
  EXPECT_EQ(d.work_group_size[0], 64u);
  EXPECT_EQ(d.user_sgpr_count, 4u);
  EXPECT_EQ(d.user_sgprs[3], 4u);
  EXPECT_EQ(d.wave_size, 64u);
  EXPECT_TRUE(bus.interrupts().empty());
  shaders.end(0);
  run();
  EXPECT_EQ(bus.interrupts().size(), 1u);
}

TEST_P(Pm4Queue, DispatchIndirectReadsSizesFromMemory) {
  queue.submit({header(pm4::kSetShReg, 5), pm4::kNumThreadX - pm4::kShStart, 32, 1, 1});
  memory.at<uint32_t>()[0] = 100, memory.at<uint32_t>()[1] = 1, memory.at<uint32_t>()[2] = 1;
  queue.submit({header(pm4::kDispatchIndirect, 4), lo(), hi(), 1 | 1u << 5 | 1u << 15});
  cp.run();
  ASSERT_EQ(shaders.count(), 1u) << bus.stopped(1);
  EXPECT_EQ(shaders.get(0).grid_size[0], 100u);
  EXPECT_EQ(shaders.get(0).wave_size, gfx10() ? 32u : 64u);
  shaders.end(0);
  run();
}

TEST_P(Pm4Queue, StopsIfDispatchFails) {
  launch();
  cp.run();
  DispatchResult result;
  result.kind = DispatchResult::Kind::kError;
  result.reason = "v_nonsense";
  shaders.end(0, result);
  expect_stop("v_nonsense");
}

TEST_P(Pm4Queue, WrapsAtEndOfRing) {
  for (uint32_t i = 0; i < 3000; ++i) {
    queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(), hi(), i});
    cp.run();
    ASSERT_EQ(word(), i);
  }
  run();
}

TEST_P(Pm4Queue, WaitsForRestOfPacket) {
  queue.submit({header(pm4::kWriteData, 5), 5u << 8});
  EXPECT_EQ(cp.run(), 0u);
  queue.submit({lo(), hi(), 8});
  run();
  EXPECT_EQ(word(), 8u);
}

TEST_P(Pm4Queue, StopsAtUnsupportedOpcode) {
  queue.submit({pm4::header(0x1d, 3), 0, 0});
  expect_stop("0x1d (ATOMIC_GDS)");
}

TEST_P(Pm4Queue, StopsAtTypeZeroHeader) {
  queue.submit({0x00001234});
  expect_stop("type 0");
}

TEST_P(Pm4Queue, StopsAtUnsupportedRegister) {
  queue.submit({header(pm4::kWriteData, 5), 0, 0x2c10, 0, 1});
  expect_stop("register 0x2c10");
}

// tinygrad sets CP_COHER_START_DELAY this way, which the packet cannot reach on gfx10.
TEST_P(Pm4Queue, SetShRegWarnsOncePerIgnoredRegister) {
  for (int i = 0; i < 2; ++i) queue.submit({header(pm4::kSetShReg, 3), 0x32db - pm4::kShStart, 0x20});
  queue.submit({header(pm4::kSetShReg, 5), 0x10, 1, 2, 3});
  queue.submit({header(pm4::kSetShReg, 4), pm4::kComputeStart - 1 - pm4::kShStart, 1, 2});
  queue.submit({header(pm4::kCopyData, 6), 0 | 1u << 8, pm4::kComputeStart, 0, lo(), hi()});
  run();
  EXPECT_EQ(word(), 2u) << "compute registers are set beside others";
  ASSERT_EQ(bus.warnings().size(), 3u);
  EXPECT_NE(bus.warnings()[0].find("0x32db"), std::string::npos);
  EXPECT_NE(bus.warnings()[1].find("0x2c10"), std::string::npos);
}

TEST_P(Pm4Queue, WriteWaitWriteFlushesHostDataPath) {
  const uint32_t request = gfx8() ? 0x1537 : 0xe26, done = request + 1;
  constexpr uint32_t kWriteWaitWrite = 1u << 6, kNotLess = 5;
  queue.submit({header(pm4::kWaitRegMem, 7), kNotLess | kWriteWaitWrite, request, done, ~0u, ~0u, 4});
  queue.submit({header(pm4::kWaitRegMem, 7), 3 | kWriteWaitWrite, request, done, 4, 4, 32});
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(), hi(), 1});
  run();
  EXPECT_EQ(word(), 1u);
}

TEST_P(Pm4Queue, WriteWaitWriteNamesUnsupportedRegister) {
  queue.submit({header(pm4::kWaitRegMem, 7), 3 | 1u << 6, 0x123, 0x124, 1, 1, 4});
  expect_stop("write register 0x123");
}

TEST_P(Pm4Queue, WriteDataFaultsAtUnmappedAddress) {
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, 0x100, 0, 1});
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].va, 0x100u);
}

TEST_P(Pm4Queue, TracesPackets) {
  bus.traces = true;
  queue.submit({header(pm4::kWriteData, 5), 5u << 8, lo(), hi(), 8});
  run();
  ASSERT_FALSE(bus.lines().empty());
  EXPECT_NE(bus.lines()[0].find("WRITE_DATA 0x500"), std::string::npos) << bus.lines()[0];
}

// The order of packets is that of AMD's aqlprofile: reset, select, start; dispatches; stop, read.
TEST_P(Pm4Queue, PerformanceCountersCountDispatchesOfEnabledQueue) {
  constexpr uint32_t kIndex = 0xc200, kCounterLow = 0xd1c0, kControl = 0xd808, kSelect = 0xd9c0;
  const auto set = [&](uint32_t address, uint32_t value) {
    queue.submit({header(pm4::kSetUconfigReg, 3), address - pm4::kUconfigStart, value});
  };
  const auto enable = [&](uint32_t value) {
    queue.submit({header(pm4::kSetShReg, 3), pm4::kPerfcountEnable - pm4::kShStart, value});
  };
  const auto run_dispatch = [&](uint64_t waves) {
    launch();
    cp.run();
    ASSERT_EQ(shaders.count(), 1u);
    EXPECT_EQ(shaders.get(0).counts_events, waves != 0);
    DispatchResult result;
    if (waves != 0) {
      WaveEvents events;
      events[WaveEvent::kWaves] = waves;
      result.events = std::make_shared<const WaveEvents>(events);
    }
    shaders.end(0, std::move(result));
    cp.run();
  };
  set(kIndex, 0xe0000000);
  set(kControl, 0);
  // SQ_PERF_SEL_WAVES on all generations. From gfx11 on every second register selects an event.
  set(kSelect + (GetParam() >= kGfx11 ? 6 : 3), 4);
  set(kControl, 1);
  run_dispatch(0);  // The queue is not enabled.
  enable(1);
  run_dispatch(5);
  run_dispatch(6);
  set(kControl, 2);
  run_dispatch(0);
  set(kIndex, 0x60000000);
  queue.submit({header(pm4::kCopyData, 6), 4 | 5u << 8 | 1u << 16, kCounterLow + 6, 0, lo(), hi()});
  run();
  EXPECT_EQ(word(0), 11u);
  EXPECT_EQ(word(4), 0u);
}

TEST_P(Pm4Queue, PerformanceEventThatCannotBeCountedIsReportedOnce) {
  for (int i = 0; i < 2; ++i) queue.submit({header(pm4::kSetUconfigReg, 3), 0xd9c0 - pm4::kUconfigStart, 2});
  run();
  ASSERT_EQ(bus.warnings().size(), 1u);
  EXPECT_NE(bus.warnings()[0].find("performance event 2 of SQ is not counted"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Generations, Pm4Queue, ::testing::Values(kGfx8, kGfx9, kGfx103, kGfx11, kGfx12),
                         generation_name);

}  // namespace
}  // namespace rigel::vgpu::testing
