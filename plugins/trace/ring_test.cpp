#include "plugins/trace/ring.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace trace {
namespace {

TEST(Ring, ReserveFailsAboveCapacity) {
  Ring ring(256);
  ASSERT_NE(ring.reserve(64, 192), nullptr);
  EXPECT_EQ(ring.reserve(64, 193), nullptr);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(ring.reserve(64, 0), nullptr);
    ring.commit(64);
  }
  EXPECT_EQ(ring.reserve(1, 0), nullptr);
  ring.release(64);
  EXPECT_NE(ring.reserve(64, 0), nullptr);
  EXPECT_EQ(ring.reserve(64, 1), nullptr);
}

TEST(Ring, RequestsReaderOncePerFill) {
  Ring ring(256);
  EXPECT_FALSE(ring.fills_up());
  for (int i = 0; i < 3; ++i) {
    ring.reserve(64, 0);
    ring.commit(64);
  }
  EXPECT_TRUE(ring.fills_up());
  EXPECT_FALSE(ring.fills_up());
  ring.release(ring.end());
  EXPECT_FALSE(ring.fills_up());
  for (int i = 0; i < 3; ++i) {
    ring.reserve(64, 0);
    ring.commit(64);
  }
  EXPECT_TRUE(ring.fills_up());
}

TEST(Ring, DeliversWholeRecordsInOrder) {
  constexpr uint64_t kRecords = 300'000;
  Ring ring(1024);
  std::thread owner([&ring] {
    for (uint64_t i = 0; i < kRecords; ++i) {
      const size_t length = 2 + i * 7 % (Ring::kLongest - 1);
      uint64_t* words = nullptr;
      while ((words = ring.reserve(length, 0)) == nullptr) std::this_thread::yield();
      words[0] = length;
      for (size_t w = 1; w < length; ++w) words[w] = i * 100 + w;
      ring.commit(length);
    }
  });
  uint64_t wrong_words = 0;
  for (uint64_t i = 0; i < kRecords;) {
    const uint64_t end = ring.end();
    uint64_t at = ring.begin();
    if (at == end) std::this_thread::yield();
    for (; at != end; ++i) {
      const uint64_t* const words = ring.at(at);
      for (size_t w = 1; w < words[0]; ++w) wrong_words += words[w] != i * 100 + w;
      at += words[0];
    }
    ring.release(at);
  }
  owner.join();
  EXPECT_EQ(wrong_words, 0u);
}

}  // namespace
}  // namespace trace
