// Kernels that copy and fill, run by a device's shader cores.
#include "backends/common/blit.hpp"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "backends/common/generation.hpp"
#include "backends/common/testing/every_board.hpp"

namespace rigel::gfx {
namespace {

class BlitKernels : public testing::EveryBoard {
 protected:
  void SetUp() override {
    EveryBoard::SetUp();
    const auto code = gpu().family().generation->blit_code();
    code_ = static_cast<std::byte*>(gpu().share(code.size_bytes()));
    write_blit_code(code, gpu().chip(), code_);
    arguments_ = static_cast<BlitArguments*>(gpu().share(4096));
    queue_ = std::make_unique<testing::VirtualAqlQueue>(gpu(), 64);
  }
  void TearDown() override { queue_.reset(); }

  bool run(const BlitLaunch& launch) {
    *arguments_ = launch.arguments;
    return queue_->launch(code_ + blit_descriptor_offset(launch.kernel), launch.work_items, kBlitGroupSize,
                          arguments_);
  }

  std::byte* code_ = nullptr;
  BlitArguments* arguments_ = nullptr;
  std::unique_ptr<testing::VirtualAqlQueue> queue_;
};

constexpr size_t kRoom = 1 << 20;
constexpr uint8_t kUntouched = 0xee;

TEST_P(BlitKernels, CopyBytesAtAnyAlignment) {
  auto* const from = static_cast<uint8_t*>(gpu().share(kRoom));
  auto* const to = static_cast<uint8_t*>(gpu().share(kRoom));
  std::minstd_rand random(1);
  for (size_t i = 0; i < kRoom; ++i) from[i] = static_cast<uint8_t>(random() >> 8);
  for (const size_t bytes : {1u, 3u, 4u, 15u, 16u, 31u, 100u, 4096u, 16387u, 70001u, 500003u}) {
    for (const auto& [a, b] :
         {std::pair{0u, 0u}, {4u, 8u}, {1u, 1u}, {0u, 1u}, {3u, 0u}, {2u, 3u}, {1u, 15u}}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes from " << a << " to " << b);
      std::memset(to, kUntouched, bytes + 64);
      // Few compute units, so that work-items have several iterations.
      ASSERT_TRUE(
          run(blit_copy(reinterpret_cast<uint64_t>(to) + b, reinterpret_cast<uint64_t>(from) + a, bytes, 1)));
      for (size_t i = 0; i < b; ++i) ASSERT_EQ(to[i], kUntouched);
      ASSERT_EQ(std::memcmp(to + b, from + a, bytes), 0);
      for (size_t i = b + bytes; i < bytes + 64; ++i) ASSERT_EQ(to[i], kUntouched);
    }
  }
}

TEST_P(BlitKernels, DoNotReadPastSource) {
  // The source ends with its allocation: a read past it would fault.
  auto* const from = static_cast<uint8_t*>(gpu().share(8192));
  auto* const to = static_cast<uint8_t*>(gpu().share(8192));
  for (size_t i = 0; i < 8192; ++i) from[i] = static_cast<uint8_t>(i * 7);
  for (const size_t bytes : {17u, 64u, 255u, 4001u}) {
    for (size_t to_offset = 0; to_offset < 4; ++to_offset) {
      const uint8_t* const source = from + 8192 - bytes;
      ASSERT_TRUE(run(blit_copy(reinterpret_cast<uint64_t>(to) + to_offset,
                                reinterpret_cast<uint64_t>(source), bytes, 4)));
      ASSERT_EQ(std::memcmp(to + to_offset, source, bytes), 0);
    }
  }
}

TEST_P(BlitKernels, FillDwords) {
  auto* const to = static_cast<uint32_t*>(gpu().share(kRoom));
  for (const size_t count : {1u, 3u, 4u, 7u, 1000u, 100001u}) {
    SCOPED_TRACE(count);
    std::memset(to, kUntouched, (count + 16) * 4);
    ASSERT_TRUE(run(blit_fill(reinterpret_cast<uint64_t>(to + 1), 0x12345678, count, 1)));
    ASSERT_EQ(to[0], 0xeeeeeeee);
    for (size_t i = 1; i <= count; ++i) ASSERT_EQ(to[i], 0x12345678u) << i;
    ASSERT_EQ(to[count + 1], 0xeeeeeeee);
  }
}

RIGEL_ON_EVERY_BOARD(BlitKernels);

}  // namespace
}  // namespace rigel::gfx
