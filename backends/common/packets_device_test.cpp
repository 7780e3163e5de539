// The packets of this directory, executed by a device: the virtual GPU's driver transport.
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "backends/common/generation.hpp"
#include "backends/common/testing/every_board.hpp"

namespace rigel::gfx {
namespace {

using testing::eventually;

class Packets : public testing::EveryBoard {};

std::vector<uint32_t> invalidate_code(const Family& family) {
  std::vector<uint32_t> words(kPm4PacketMax);
  words.resize(static_cast<size_t>(family.generation->invalidate_code(words.data()) - words.data()));
  return words;
}

template <size_t kDwords>
void append(std::vector<uint32_t>& to, const pm4::Packet<kDwords>& packet) {
  to.insert(to.end(), packet.begin(), packet.end());
}

std::vector<uint8_t> noise(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  std::minstd_rand random(1);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random() >> 8 | 1);
  return data;
}

TEST_P(Packets, RunPm4InAqlQueue) {
  testing::VirtualAqlQueue queue(gpu(), 64);
  auto* const data = static_cast<uint32_t*>(gpu().share(4096));
  const auto va = reinterpret_cast<uint64_t>(data);
  // More often than the ring has slots.
  for (uint32_t round = 1; round <= 2 * queue.capacity() + 3; ++round) {
    std::vector<uint32_t> words = invalidate_code(gpu().family());
    append(words, pm4::write_data(va, round));
    append(words, pm4::wait_mem(va, pm4::Compare::kEqual, round, UINT32_MAX));
    append(words, pm4::write_data(va + 4, round + 1));
    ASSERT_TRUE(queue.run_pm4(words)) << round;
    ASSERT_EQ(data[0], round);
    ASSERT_EQ(data[1], round + 1);
  }
  EXPECT_EQ(queue.inactive().value(), 0);
}

TEST_P(Packets, ReleaseMemory) {
  testing::VirtualAqlQueue queue(gpu(), 64);
  auto* const data = static_cast<uint64_t*>(gpu().share(4096));
  const pm4::Release quad{.va = reinterpret_cast<uint64_t>(data),
                          .value = 0x1234'5678'9abc'def0,
                          .data = pm4::ReleaseData::kQuad};
  const pm4::Release clock{.va = reinterpret_cast<uint64_t>(data + 1), .data = pm4::ReleaseData::kClock};
  std::vector<uint32_t> words(2 * kPm4PacketMax);
  const Generation& generation = *gpu().family().generation;
  uint32_t* const end = generation.release(generation.release(words.data(), quad), clock);
  words.resize(static_cast<size_t>(end - words.data()));
  ASSERT_TRUE(queue.run_pm4(words));
  EXPECT_TRUE(eventually([&] { return data[0] == 0x1234'5678'9abc'def0 && data[1] != 0; }));
}

TEST_P(Packets, CopyFillAndAnnounce) {
  testing::VirtualSdmaQueue engine(gpu());
  const SdmaEncoder& encoder = engine.encoder();
  constexpr size_t kBytes = 9'000'001;  // more than one packet if packets are small
  auto* const from = static_cast<uint8_t*>(gpu().share(kBytes));
  auto* const to = static_cast<uint8_t*>(gpu().share(kBytes + 64));
  auto* const times = static_cast<uint64_t*>(gpu().share(4096));
  const auto data = noise(kBytes);
  std::memcpy(from, data.data(), kBytes);
  const testing::VirtualSignal before(gpu(), 0x1'0000'0001), after(gpu(), 1);
  SdmaCompletion completion{.value_va = after.value_va()};

  std::vector<uint32_t> words(encoder.wait_zero_dwords(before.value()) + encoder.begin_dwords() +
                              2 * SdmaEncoder::kTimestampDwords + encoder.copy_dwords(kBytes) +
                              encoder.fill_dwords(32) + encoder.end_dwords() +
                              encoder.completion_dwords(completion));
  uint32_t* at = encoder.wait_zero(words.data(), before.value_va(), before.value());
  at = encoder.begin(at);
  at = encoder.timestamp(at, reinterpret_cast<uint64_t>(times));
  at = encoder.copy(at, reinterpret_cast<uint64_t>(to) + 1, reinterpret_cast<uint64_t>(from), kBytes);
  at = encoder.fill(at, reinterpret_cast<uint64_t>(to) + 128, 0x01020304, 32);
  at = encoder.timestamp(at, reinterpret_cast<uint64_t>(times) + SdmaEncoder::kTimestampAlignment);
  at = encoder.end(at);
  at = encoder.completion(at, completion);
  ASSERT_EQ(at, words.data() + words.size());
  engine.submit(words);

  // Time for packets that incorrectly ignore their signal.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(after.value(), 1);
  EXPECT_EQ(to[1], 0) << "the copy waits for the signal";
  before.set(1);
  before.set(0);
  ASSERT_TRUE(eventually([&] { return after.value() == 0; }));
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(std::memcmp(to + 1, data.data(), 127), 0);
  EXPECT_EQ(to[128], 4);
  EXPECT_EQ(to[159], 1);
  EXPECT_EQ(std::memcmp(to + 160, data.data() + 159, kBytes - 159), 0);
  EXPECT_EQ(to[kBytes + 1], 0);
  EXPECT_GT(times[0], 0u);
  EXPECT_GE(times[4], times[0]);
  EXPECT_TRUE(eventually([&] { return engine.drained(); }));
}

TEST_P(Packets, WrapAroundCopyRing) {
  testing::VirtualSdmaQueue engine(gpu());
  const SdmaEncoder& encoder = engine.encoder();
  const testing::VirtualSignal done(gpu(), 5000);
  const SdmaCompletion completion{.value_va = done.value_va()};
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint32_t> words(encoder.completion_dwords(completion));
    encoder.completion(words.data(), completion);
    engine.submit(words);
    if (i % 200 == 199) {
      ASSERT_TRUE(eventually([&] { return engine.drained(); }));
    }
  }
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
}

TEST_P(Packets, AnnounceWithoutAtomics) {
  testing::VirtualSdmaQueue engine(gpu());
  const SdmaEncoder& encoder = engine.encoder();
  const testing::VirtualSignal done(gpu(), 0x7'0000'0001);
  const SdmaCompletion completion{.value_va = done.value_va(), .atomics = false, .plain_value = -3};
  std::vector<uint32_t> words(encoder.completion_dwords(completion));
  encoder.completion(words.data(), completion);
  engine.submit(words);
  EXPECT_TRUE(eventually([&] { return done.value() == -3; }));
}

TEST_P(Packets, CopyToTwoPlaces) {
  testing::VirtualSdmaQueue engine(gpu());
  const SdmaEncoder& encoder = engine.encoder();
  if (!encoder.can_broadcast()) GTEST_SKIP() << "the dialect has no such packet";
  auto* const memory = static_cast<uint8_t*>(gpu().share(3 * 4096));
  const auto data = noise(1000);
  std::memcpy(memory, data.data(), data.size());
  std::vector<uint32_t> words(encoder.broadcast_dwords(1000));
  const auto va = reinterpret_cast<uint64_t>(memory);
  encoder.broadcast(words.data(), va + 4096, va + 8192, va, 1000);
  engine.submit(words);
  EXPECT_TRUE(eventually([&] {
    return std::memcmp(memory + 4096, data.data(), 1000) == 0 &&
           std::memcmp(memory + 8192, data.data(), 1000) == 0;
  }));
}

TEST_P(Packets, CopyBoxes) {
  testing::VirtualSdmaQueue engine(gpu());
  const SdmaEncoder& encoder = engine.encoder();
  auto* const from = static_cast<uint8_t*>(gpu().share(1 << 20));
  auto* const to = static_cast<uint8_t*>(gpu().share(1 << 20));
  const auto data = noise(1 << 20);
  std::memcpy(from, data.data(), data.size());
  const SdmaRect rect{reinterpret_cast<uint64_t>(from) + 5,
                      1024,
                      65536,
                      reinterpret_cast<uint64_t>(to) + 2,
                      512,
                      32768,
                      301,
                      40,
                      7};
  const size_t dwords = encoder.rect_dwords(rect);
  if (dwords == 0) GTEST_SKIP() << "the dialect has no such packet";
  const testing::VirtualSignal done(gpu(), 1);
  const SdmaCompletion completion{.value_va = done.value_va()};
  std::vector<uint32_t> words(dwords + encoder.completion_dwords(completion));
  encoder.completion(encoder.rect(words.data(), rect), completion);
  engine.submit(words);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  std::vector<uint8_t> expected(1 << 20);
  for (size_t z = 0; z < 7; ++z)
    for (size_t y = 0; y < 40; ++y)
      std::memcpy(&expected[2 + y * 512 + z * 32768], &data[5 + y * 1024 + z * 65536], 301);
  EXPECT_EQ(std::memcmp(to, expected.data(), expected.size()), 0);
}

RIGEL_ON_EVERY_BOARD(Packets);

}  // namespace
}  // namespace rigel::gfx
