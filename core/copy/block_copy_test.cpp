#include "core/copy/block_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace rigel {
namespace {

std::vector<unsigned char> noise(size_t size) {
  std::mt19937_64 random(size);
  std::vector<unsigned char> bytes(size);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

TEST(BlockCopy, CopiesSmallBlocksAtEveryAlignment) {
  const auto source = noise(300);
  for (size_t size = 0; size < 200; ++size) {
    for (size_t from = 0; from < 9; ++from) {
      for (size_t to = 1; to < 9; ++to) {
        std::vector<unsigned char> target(300, 0xcc);
        copy_bytes(target.data() + to, source.data() + from, size);
        ASSERT_EQ(std::memcmp(target.data() + to, source.data() + from, size), 0);
        ASSERT_EQ(target[to - 1], 0xcc);
        ASSERT_EQ(target[to + size], 0xcc);
      }
    }
  }
}

TEST(BlockCopy, CopiesLargeBlocksAtEveryAlignment) {
  const size_t size = (9 << 20) + 77;
  const auto source = noise(size + 64);
  for (const size_t from : {0, 1, 33}) {
    for (const size_t to : {1, 7, 64}) {
      std::vector<unsigned char> target(size + 128, 0xcc);
      copy_bytes(target.data() + to, source.data() + from, size);
      ASSERT_EQ(std::memcmp(target.data() + to, source.data() + from, size), 0);
      ASSERT_EQ(target[to - 1], 0xcc);
      ASSERT_EQ(target[to + size], 0xcc);
    }
  }
}

// The offsets in the page select the method.
TEST(BlockCopy, CopiesAtEveryPageOffset) {
  for (const size_t size :
       {size_t{4095}, size_t{4096}, size_t{4099}, size_t{128} << 10, (size_t{5} << 20) + 3}) {
    const auto source = noise(size + 8192);
    std::vector<unsigned char> target(size + 2 * 8192);
    const auto place =
        (reinterpret_cast<uintptr_t>(source.data()) - reinterpret_cast<uintptr_t>(target.data())) & 4095;
    for (const size_t ahead : {1, 2, 16, 31, 32, 4095}) {
      std::fill(target.begin(), target.end(), static_cast<unsigned char>(0xcc));
      unsigned char* const to = target.data() + place + ahead;
      copy_bytes(to, source.data(), size);
      ASSERT_EQ(std::memcmp(to, source.data(), size), 0) << size << " ahead by " << ahead;
      ASSERT_EQ(to[size], 0xcc);
      ASSERT_EQ(std::count(target.data(), to, 0xcc), to - target.data());
    }
  }
}

TEST(BlockCopy, MovesOverlappingBlocks) {
  for (const size_t size : {size_t{100}, size_t{6} << 20}) {
    for (const std::ptrdiff_t shift : {-64, -3, -1, 0, 1, 3, 64}) {
      auto memory = noise(size + 128);
      const std::vector<unsigned char> expected(memory.begin() + 64,
                                                memory.begin() + 64 + static_cast<std::ptrdiff_t>(size));
      copy_bytes(memory.data() + 64 + shift, memory.data() + 64, size);
      ASSERT_EQ(std::memcmp(memory.data() + 64 + shift, expected.data(), size), 0) << size << " by " << shift;
    }
  }
}

TEST(BlockCopy, FillsWords) {
  for (const uint32_t value : {0u, 0x5a5a5a5au, 0xffffffffu, 0x01020304u, 0x000000ffu}) {
    std::vector<size_t> counts{255, 256, 257, 1000, 5001};
    for (size_t count = 1; count < 70; ++count) counts.push_back(count);
    for (const size_t count : counts) {
      std::vector<uint32_t> target(count + 2, 0x12345678);
      fill_words(target.data() + 1, value, count);
      EXPECT_EQ(target[0], 0x12345678u);
      EXPECT_EQ(target[count + 1], 0x12345678u);
      for (size_t i = 1; i <= count; ++i) ASSERT_EQ(target[i], value);
    }
  }
}

}  // namespace
}  // namespace rigel
