#include <numeric>
#include <random>

#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

class SdmaQueue : public ::testing::TestWithParam<uint32_t> {
 protected:
  bool v3() const { return GetParam() < 90000; }
  bool v7() const { return GetParam() >= 120000; }
  uint32_t count(uint32_t bytes) const { return v3() ? bytes : bytes - 1; }

  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp{manual(GetParam()), bus, none};
  TestWordQueue queue{bus, cp, GetParam(), QueueKind::kSdma, 1};
  Buffer source = bus.allocate(64 << 10);
  Buffer target = bus.allocate(64 << 10);

  void SetUp() override {
    for (uint64_t i = 0; i < source.bytes; ++i) source.host[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  void copy(uint64_t to, uint64_t from, uint32_t bytes) {
    queue.submit({1, count(bytes), 0, low(from), high(from), low(to), high(to)});
  }
  void run() {
    cp.run();
    EXPECT_EQ(bus.stopped(1), "");
    EXPECT_TRUE(queue.drained());
  }
  void expect_stop(const std::string& word) {
    cp.run();
    EXPECT_NE(bus.stopped(1).find(word), std::string::npos) << bus.stopped(1);
  }
};

TEST_P(SdmaQueue, CopiesAnyLengthAndAlignment) {
  for (const uint32_t bytes : {1u, 3u, 4u, 63u, 64u, 4096u, 4097u, 20000u}) {
    for (const uint32_t shift : {0u, 1u, 5u, 4090u}) {
      std::memset(target.host, 0xee, target.bytes);
      copy(target.va + shift, source.va + 3, bytes);
      run();
      EXPECT_EQ(std::memcmp(target.host + shift, source.host + 3, bytes), 0) << bytes;
      EXPECT_EQ(target.host[shift + bytes], std::byte{0xee});
    }
  }
}

TEST_P(SdmaQueue, CopiesLargestPacket) {
  const uint32_t bytes = 0x3fffe0;
  const Buffer from = bus.allocate(bytes), to = bus.allocate(bytes);
  std::mt19937 random(1);
  for (uint64_t i = 0; i + 4 <= bytes; i += 4) *from.at<uint32_t>(i) = random();
  copy(to.va, from.va, bytes);
  run();
  EXPECT_EQ(std::memcmp(to.host, from.host, bytes), 0);
}

TEST_P(SdmaQueue, CopiesAcrossObjects) {
  const Buffer a = bus.map_at(0x500000000000, kPage), b = bus.map_at(0x500000001000, kPage);
  copy(a.va + 100, source.va, 5000);
  run();
  EXPECT_EQ(std::memcmp(a.host + 100, source.host, 3996), 0);
  EXPECT_EQ(std::memcmp(b.host, source.host + 3996, 1004), 0);
}

TEST_P(SdmaQueue, CopyPastEndOfObjectFaults) {
  copy(target.va + target.bytes - 16, source.va, 64);
  cp.run();
  ASSERT_EQ(bus.faults().size(), 1u);
  EXPECT_EQ(bus.faults()[0].va, target.va + target.bytes);
  EXPECT_EQ(bus.faults()[0].access, Access::kWrite);
  EXPECT_NE(bus.stopped(1).find("COPY_LINEAR"), std::string::npos);
}

TEST_P(SdmaQueue, CopiesToTwoDestinations) {
  const Buffer second = bus.allocate(4096);
  queue.submit({1 | 1u << 27, count(1000), 0, low(source.va), high(source.va), low(target.va),
                high(target.va), low(second.va), high(second.va)});
  run();
  EXPECT_EQ(std::memcmp(target.host, source.host, 1000), 0);
  EXPECT_EQ(std::memcmp(second.host, source.host, 1000), 0);
}

TEST_P(SdmaQueue, CopiesSubWindow) {
  // 4-byte elements; a window of 5 x 3 x 2 out of pitch 32, slice 32 * 8, into pitch 16, slice 16 * 4.
  const uint32_t pitch_shift = v3() || v7() ? 16 : 13;
  queue.submit({1 | 4u << 8 | 2u << 29, low(source.va), high(source.va), 2 | 1u << 16, 1 | 31u << pitch_shift,
                255, low(target.va), high(target.va), 3 | 2u << 16, 0 | 15u << pitch_shift, 63, 4 | 2u << 16,
                1});
  run();
  const auto* from = source.at<uint32_t>();
  const auto* to = target.at<uint32_t>();
  size_t written = 0;
  for (uint32_t i = 0; i < 1024; ++i) written += to[i] != 0;
  EXPECT_EQ(written, 30u);
  for (uint32_t z = 0; z < 2; ++z) {
    for (uint32_t y = 0; y < 3; ++y) {
      for (uint32_t x = 0; x < 5; ++x) {
        EXPECT_EQ(to[z * 64 + (2 + y) * 16 + 3 + x], from[(1 + z) * 256 + (1 + y) * 32 + 2 + x]);
      }
    }
  }
}

TEST_P(SdmaQueue, WritesWords) {
  queue.submit({2, low(target.va), high(target.va), v3() ? 3u : 2u, 10, 20, 30});
  run();
  EXPECT_EQ(target.at<uint32_t>()[2], 30u);
  EXPECT_EQ(target.at<uint32_t>()[3], 0u);
}

TEST_P(SdmaQueue, WritesWordsThatWrapInRing) {
  for (int i = 0; i < 1015; ++i) queue.write({0});
  queue.ring();
  cp.run();
  queue.write({2, low(target.va), high(target.va), v3() ? 8u : 7u, 1, 2, 3, 4, 5, 6, 7, 8});
  queue.ring();
  run();
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(target.at<uint32_t>()[i], i + 1);
}

TEST_P(SdmaQueue, FillsByElementSize) {
  queue.submit({11 | 2u << 30, low(target.va), high(target.va), 0x11223344, v3() ? 64u : 60u});
  queue.submit({11 | 1u << 30, low(target.va + 0x1000), high(target.va), 0xaabb, v3() ? 10u : 8u});
  queue.submit({11, low(target.va + 0x2001), high(target.va), 0xcc, count(7)});
  run();
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(target.at<uint32_t>()[i], 0x11223344u);
  EXPECT_EQ(target.at<uint32_t>()[16], 0u);
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(target.at<uint16_t>(0x1000)[i], 0xaabbu);
  EXPECT_EQ(target.at<uint16_t>(0x1000)[5], 0u);
  for (uint32_t i = 0; i < 7; ++i) EXPECT_EQ(target.host[0x2001 + i], std::byte{0xcc});
  EXPECT_EQ(target.host[0x2008], std::byte{0});
}

TEST_P(SdmaQueue, FillsAcrossObjects) {
  const Buffer a = bus.map_at(0x600000000000, 0x7000);
  const Buffer b = bus.map_at(0x600000007000, 2 << 20);
  queue.submit({11 | 2u << 30, low(a.va + 2), high(a.va), 0x01020304, v3() ? 0x180000u : 0x17fffcu});
  run();
  const auto byte_at = [&](uint64_t offset) {
    return offset < 0x7000 ? a.host[offset] : b.host[offset - 0x7000];
  };
  for (uint64_t i = 0; i < 0x180000; i += 1021) {
    EXPECT_EQ(static_cast<int>(byte_at(2 + i)), static_cast<int>(4 - i % 4)) << i;
  }
  EXPECT_EQ(byte_at(2 + 0x180000), std::byte{0});
}

TEST_P(SdmaQueue, RunsFenceTrapAndTimestamp) {
  queue.submit({5, low(target.va), high(target.va), 0xfeed});
  queue.submit({13 | 2u << 8, low(target.va + 32), high(target.va)});
  queue.submit({6, 0xf0000123});
  run();
  EXPECT_EQ(*target.at<uint32_t>(), 0xfeedu);
  EXPECT_EQ(*target.at<uint32_t>(4), 0u);
  EXPECT_GE(*target.at<uint64_t>(32), 1000u);
  ASSERT_EQ(bus.interrupts().size(), 1u);
  EXPECT_EQ(bus.interrupts()[0].source, InterruptSource::kSdmaTrap);
  EXPECT_EQ(bus.interrupts()[0].context_id, 0x123u);
}

TEST_P(SdmaQueue, PollsUntilComparisonHolds) {
  struct Case {
    uint32_t function, before, after;
  };
  for (const Case c : {Case{1, 10, 9}, {2, 11, 10}, {3, 9, 10}, {4, 10, 11}, {5, 9, 10}, {6, 10, 11}}) {
    auto& value = *target.at<uint32_t>();
    value = c.before | 0xff00;
    *target.at<uint32_t>(8) = 0;
    queue.submit({8 | c.function << 28 | 1u << 31, low(target.va), high(target.va), 10, 0xff, 0x0fff0004});
    queue.submit({5, low(target.va + 8), high(target.va), 1});
    cp.run();
    EXPECT_EQ(*target.at<uint32_t>(8), 0u) << c.function;
    value = c.after | 0xff00;
    run();
    EXPECT_EQ(*target.at<uint32_t>(8), 1u) << c.function;
  }
}

TEST_P(SdmaQueue, AcceptsBothFormsOfHdpFlush) {
  queue.submit({8, 0, 0x80000000, 0, 0, 0});
  queue.submit({8 | 1u << 26 | 3u << 28, 0x1000, 0x1004, 1, 1, 0});
  run();
}

TEST_P(SdmaQueue, RunsAtomics) {
  *target.at<uint64_t>() = 5;
  const uint64_t minus_one = UINT64_MAX;
  queue.submit({10 | 47u << 25, low(target.va), high(target.va), low(minus_one), high(minus_one), 0, 0, 0});
  run();
  EXPECT_EQ(*target.at<uint64_t>(), 4u);
}

TEST_P(SdmaQueue, CompareAndSwapLoopsUntilItSwaps) {
  *target.at<uint32_t>() = 1;
  queue.submit({10 | 1u << 16 | 8u << 25, low(target.va), high(target.va), 7, 0, 2, 0, 0});
  cp.run();
  EXPECT_EQ(*target.at<uint32_t>(), 1u);
  *target.at<uint32_t>() = 2;
  run();
  EXPECT_EQ(*target.at<uint32_t>(), 7u);
}

TEST_P(SdmaQueue, CondExeSkipsPackets) {
  *target.at<uint32_t>() = 1;
  queue.submit({9, low(target.va), high(target.va), 1, 4, 5, low(target.va + 8), high(target.va), 11});
  queue.submit({9, low(target.va), high(target.va), 0, 4, 5, low(target.va + 16), high(target.va), 22});
  queue.submit({5, low(target.va + 24), high(target.va), 33});
  run();
  EXPECT_EQ(*target.at<uint32_t>(8), 11u);
  EXPECT_EQ(*target.at<uint32_t>(16), 0u);
  EXPECT_EQ(*target.at<uint32_t>(24), 33u);
}

TEST_P(SdmaQueue, RunsIndirectBuffer) {
  const Buffer ib = bus.allocate(256);
  const uint32_t words[] = {
      0, 5, low(target.va), high(target.va), 1, 2, low(target.va + 8), high(target.va), v3() ? 2u : 1u, 8, 9};
  std::memcpy(ib.host, words, sizeof words);
  queue.submit({4, low(ib.va), high(ib.va), 11, 0, 0});
  queue.submit({5, low(target.va + 4), high(target.va), 2});
  run();
  EXPECT_EQ(*target.at<uint32_t>(), 1u);
  EXPECT_EQ(*target.at<uint32_t>(4), 2u);
  EXPECT_EQ(*target.at<uint32_t>(12), 9u);
}

TEST_P(SdmaQueue, StopsAtPacketPastEndOfIndirectBuffer) {
  const Buffer ib = bus.allocate(256);
  *ib.at<uint32_t>() = 1;
  queue.submit({4, low(ib.va), high(ib.va), 3, 0, 0});
  expect_stop("COPY_LINEAR extends past the end");
}

TEST_P(SdmaQueue, SkipsFillersAndPadding) {
  queue.submit(
      {0, 0, 0, 3u << 16, 0xffffffff, 0xffffffff, 0xffffffff, 5, low(target.va), high(target.va), 3});
  run();
  EXPECT_EQ(*target.at<uint32_t>(), 3u);
}

TEST_P(SdmaQueue, WaitsForRestOfPacket) {
  queue.submit({5, low(target.va)});
  EXPECT_EQ(cp.run(), 0u);
  queue.submit({high(target.va), 4});
  run();
  EXPECT_EQ(*target.at<uint32_t>(), 4u);
}

TEST_P(SdmaQueue, WrapsAtEndOfRing) {
  for (uint32_t i = 0; i < 3000; ++i) {  // 5 dwords do not divide the ring: every position occurs
    queue.submit({5, low(target.va), high(target.va), i, 0});
    cp.run();
    ASSERT_EQ(*target.at<uint32_t>(), i);
  }
  EXPECT_TRUE(queue.drained());
}

TEST_P(SdmaQueue, GcrExistsFromVersion5On) {
  queue.submit({17 | 1u << 8, 0, 0, 0, 0});
  cp.run();
  EXPECT_EQ(bus.stopped(1).empty(), GetParam() >= 100000);
}

TEST_P(SdmaQueue, NamesUnsupportedPacket) {
  queue.submit({1 | 1u << 8, 0, 0});
  expect_stop("COPY_TILED");
}

TEST_P(SdmaQueue, StopsAtPrivilegedPacket) {
  queue.submit({14, 0, 0});
  expect_stop("SRBM_WRITE");
}

TEST_P(SdmaQueue, StopsAtUnsupportedRegister) {
  queue.submit({8 | 3u << 28, 0x1234, 0, 1, 1, 0});
  expect_stop("register 0x1234");
}

TEST_P(SdmaQueue, StopsAtUnsupportedAtomic) {
  queue.submit({10 | 2u << 25, low(target.va), high(target.va), 0, 0, 0, 0, 0});
  expect_stop("operation 0x2");
}

TEST_P(SdmaQueue, StopsIfWritePointerExceedsRing) {
  if (v3()) GTEST_SKIP() << "32-bit indices wrap into the ring";
  cp.ring_doorbell(1, 8192);
  expect_stop("invalid write pointer");
}

TEST_P(SdmaQueue, SharesEngineDuringLongCopy) {
  TestWordQueue second(bus, cp, GetParam(), QueueKind::kSdma, 2);
  const Buffer from = bus.allocate(4 << 20), to = bus.allocate(4 << 20);
  copy(to.va, from.va, 0x3fffe0);
  second.submit({5, low(target.va), high(target.va), 1});
  uint64_t steps = 0;
  while (*target.at<uint32_t>() == 0 && steps < 100) cp.step(), ++steps;
  cp.run();
  EXPECT_TRUE(queue.drained() && second.drained());
}

TEST_P(SdmaQueue, DestroyStopsBetweenPiecesOfCopy) {
  const Buffer from = bus.allocate(4 << 20), to = bus.allocate(4 << 20);
  std::memset(from.host, 1, from.bytes);
  copy(to.va, from.va, 0x3fffe0);
  cp.step();
  ASSERT_EQ(cp.destroy_queue(1), QueueRequestError::kNone);
  EXPECT_EQ(cp.run(), 0u);
  EXPECT_EQ(to.host[0], std::byte{1});
  EXPECT_EQ(to.host[0x3ffff0 - 64], std::byte{0});
}

// On a worker thread, which executes many short packets per step. Interrupts are delivered after the step.
TEST_P(SdmaQueue, StepEndsAfterPieceOfCopyOrInterrupt) {
  CommandProcessor worker{threaded(GetParam()), bus, none};
  TestWordQueue copies(bus, worker, GetParam(), QueueKind::kSdma, 2);
  const Buffer from = bus.allocate(4 << 20), to = bus.allocate(4 << 20);
  const auto scopes = [&](int packets, const auto& write) {
    const uint64_t before = bus.scopes.load();
    target.at<uint32_t>()[0] = 0;
    for (int i = 0; i < packets; ++i) write();
    copies.submit({5, low(target.va), high(target.va), 1});
    EXPECT_TRUE(eventually([&] {
      return std::atomic_ref(*target.at<uint32_t>()).load(std::memory_order_acquire) == 1 && copies.drained();
    }));
    return bus.scopes.load() - before;
  };
  const auto copy_of = [&](uint32_t bytes) {
    return [&, bytes] {
      copies.write({1, count(bytes), 0, low(from.va), high(from.va), low(to.va), high(to.va)});
    };
  };
  EXPECT_GE(scopes(3, copy_of(0x3fffe0)), 12u);
  EXPECT_GE(scopes(8, copy_of(1 << 20)), 8u);
  EXPECT_GE(scopes(8, copy_of(1 << 19)), 4u);
  EXPECT_GE(scopes(8, [&] { copies.write({6, 7}); }), 8u);
  EXPECT_LT(scopes(8, copy_of(64)), 8u);
}

TEST_P(SdmaQueue, SubWindowCopyOfManyRowsTakesSeveralSteps) {
  constexpr uint32_t kRows = 16384;
  const Buffer from = bus.allocate(kRows * 4), to = bus.allocate(kRows * 4);
  std::memset(from.host, 1, from.bytes);
  const uint32_t pitch = v3() || v7() ? 3u << 16 : 3u << 13;
  queue.submit({1 | 4u << 8, low(from.va), high(from.va), 0, pitch, kRows * 4 - 1, low(to.va), high(to.va), 0,
                pitch, kRows * 4 - 1, (kRows - 1) << 16, 0});
  cp.step();
  EXPECT_EQ(to.host[0], std::byte{1});
  EXPECT_EQ(to.host[(kRows - 1) * 4], std::byte{0});
  run();
  EXPECT_EQ(to.host[(kRows - 1) * 4], std::byte{1});
}

TEST_P(SdmaQueue, CompletesSignalAsRuntimesDo) {
  const Buffer mailbox = bus.allocate(8);
  Signals signals(bus, 1);
  signals.set(0, 1);
  const uint64_t value = signals.handle(0) + 8;
  copy(target.va, source.va, 4096);
  queue.submit({10 | 47u << 25, low(value), high(value), UINT32_MAX, UINT32_MAX, 0, 0, 0});
  queue.submit({5, low(mailbox.va), high(mailbox.va), 9});
  queue.submit({6, 9});
  run();
  EXPECT_EQ(signals.value(0), 0);
  EXPECT_EQ(*mailbox.at<uint32_t>(), 9u);
  EXPECT_EQ(bus.interrupts().size(), 1u);
}

TEST_P(SdmaQueue, CountHasWidthOfVersion) {
  // A count of 2^22 + 7: chips with 22-bit counts see 7.
  const Buffer from = bus.allocate(5 << 20), to = bus.allocate(5 << 20);
  std::memset(from.host, 1, from.bytes);
  queue.submit({1, (1u << 22) + count(8), 0, low(from.va), high(from.va), low(to.va), high(to.va)});
  run();
  EXPECT_EQ(to.host[7], std::byte{1});
  EXPECT_EQ(to.host[8], GetParam() >= 100300 ? std::byte{1} : std::byte{0});
}

class SdmaQueueOnGfx12 : public SdmaQueue {};

// ROCr, sdma_registers.h: x, y, width, height and pitch have 16 bits, z and depth 14, slices 32.
TEST_P(SdmaQueueOnGfx12, CopiesWindowsOfWideFields) {
  const Buffer from = bus.allocate(1 << 20), to = bus.allocate(1 << 20);
  for (uint64_t i = 0; i < from.bytes; ++i) from.host[i] = static_cast<std::byte>(i * 7 + i / 251);
  // Bytes; a window of 0x8002 x 2 x 2 at x = 0x4001, y = 1, z = 1 of rows of 0x10000 bytes.
  queue.submit({1 | 4u << 8, low(from.va), high(from.va), 0x4001 | 1u << 16, 1 | 0xffffu << 16, 0x3ffff,
                low(to.va), high(to.va), 0, 0xffffu << 16, 0x1ffff, 0x8001 | 1u << 16, 1});
  run();
  for (uint64_t z = 0; z < 2; ++z) {
    for (uint64_t y = 0; y < 2; ++y) {
      const auto* const row = to.host + z * 0x20000 + y * 0x10000;
      EXPECT_EQ(std::memcmp(row, from.host + (z + 1) * 0x40000 + (y + 1) * 0x10000 + 0x4001, 0x8002), 0);
      EXPECT_EQ(row[0x8002], std::byte{0});
    }
  }
}

// Linux, sdma_v7_0_emit_copy_buffer: the packet has an eighth dword.
TEST_P(SdmaQueueOnGfx12, CopiesWithoutCompression) {
  queue.submit({1 | 1u << 19, count(100), 0, low(source.va), high(source.va), low(target.va), high(target.va),
                0, 0 /* NOP */});
  run();
  EXPECT_EQ(std::memcmp(target.host, source.host, 100), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, SdmaQueueOnGfx12, ::testing::Values(kGfx12), generation_name);
INSTANTIATE_TEST_SUITE_P(Versions, SdmaQueue,
                         ::testing::Values(kGfx8, kGfx9, kGfx101, kGfx103, kGfx11, kGfx12), generation_name);

}  // namespace
}  // namespace rigel::vgpu::testing
