#include "backends/common/blit.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backends/gfx10/chips.hpp"
#include "backends/gfx10/device_code.hpp"
#include "backends/gfx11/device_code.hpp"
#include "backends/gfx12/device_code.hpp"
#include "backends/gfx8/device_code.hpp"
#include "backends/gfx9/chips.hpp"
#include "backends/gfx9/device_code.hpp"

namespace rigel::gfx {
namespace {

/// Returns how often the kernels access each byte of the destination, according to their arguments.
std::vector<uint8_t> touched(const BlitLaunch& launch, uint64_t bytes) {
  const BlitArguments& a = launch.arguments;
  std::vector<uint8_t> count(bytes);
  const auto touch = [&](uint64_t at, uint64_t size) {
    for (uint64_t i = at; i < at + size; ++i) ++count.at(i);
  };
  const uint64_t rest = a.head_bytes + a.chunks * kBlitChunkBytes;
  for (uint64_t group = 0; group < a.groups; ++group) {
    uint64_t chunk = group;
    for (; chunk < a.chunks; chunk += a.groups)
      touch(a.head_bytes + chunk * kBlitChunkBytes, kBlitChunkBytes);
    if (group != a.rest_group) continue;
    EXPECT_EQ(chunk, a.chunks) << "that is where the group then is";
    touch(rest, a.rest_bytes);
  }
  touch(0, a.head_bytes);
  touch(rest + a.rest_bytes, a.tail_bytes);
  return count;
}

TEST(BlitCopy, WritesEveryByteOnce) {
  for (const uint64_t bytes :
       {1u, 2u, 3u, 4u, 15u, 16u, 17u, 19u, 4096u, 4111u, 16384u, 70001u, 300000u, 1000003u}) {
    for (uint64_t destination = 0x1000; destination < 0x1005; ++destination) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes to " << destination);
      const BlitLaunch launch = blit_copy(destination, 0x900000, bytes, 2);
      EXPECT_EQ(touched(launch, bytes), std::vector<uint8_t>(bytes, 1));
      EXPECT_EQ(launch.work_items % kBlitGroupSize, 0u);
      EXPECT_LT(launch.arguments.tail_bytes, 16u);
      EXPECT_LE(launch.arguments.head_bytes, 3u);
      EXPECT_EQ(launch.arguments.groups, launch.work_items / kBlitGroupSize);
    }
  }
}

TEST(BlitCopy, UsesDwordsIfBothSidesAreAligned) {
  EXPECT_EQ(blit_copy(0x1000, 0x2000, 100, 4).kernel, BlitKernel::kCopyAligned);
  EXPECT_EQ(blit_copy(0x1004, 0x2008, 100, 4).kernel, BlitKernel::kCopyAligned);
  EXPECT_EQ(blit_copy(0x1001, 0x2005, 100, 4).kernel, BlitKernel::kCopyAligned);  // after three bytes
  EXPECT_EQ(blit_copy(0x1001, 0x2006, 100, 4).kernel, BlitKernel::kCopyMisaligned);
  EXPECT_EQ(blit_copy(0x1000, 0x2001, 100, 4).kernel, BlitKernel::kCopyMisaligned);
}

TEST(BlitCopy, LimitsGroupsToDevice) {
  EXPECT_EQ(blit_copy(0, 1 << 30, 16, 64).work_items, 256u);
  EXPECT_EQ(blit_copy(0, 1 << 30, kBlitChunkBytes, 64).work_items, 256u);
  EXPECT_EQ(blit_copy(0, 1 << 30, kBlitChunkBytes + 16, 64).work_items, 512u);
  EXPECT_EQ(blit_copy(0, 1ull << 40, 1ull << 36, 64).work_items, 64u * 8 * 256);
}

TEST(BlitCopy, SupportsMaximumSizes) {
  const BlitLaunch launch = blit_copy(3, 1ull << 47, 1ull << 45, 512);
  const BlitArguments& a = launch.arguments;
  EXPECT_EQ(a.head_bytes + a.chunks * kBlitChunkBytes + a.rest_bytes + a.tail_bytes, 1ull << 45);
  EXPECT_LT(a.groups * kBlitChunkBytes, 1ull << 32) << "the kernels' step";
}

TEST(BlitFill, WritesEveryDwordOnce) {
  for (const uint64_t count : {1u, 3u, 4u, 5u, 1023u, 50000u}) {
    const BlitLaunch launch = blit_fill(0x1004, 7, count, 2);
    EXPECT_EQ(launch.kernel, BlitKernel::kFill);
    EXPECT_EQ(launch.arguments.head_bytes, 0u);
    EXPECT_EQ(launch.arguments.tail_bytes % 4, 0u);
    EXPECT_EQ(touched(launch, count * 4), std::vector<uint8_t>(count * 4, 1));
  }
}

struct Generation {
  const char* name;
  std::span<const uint32_t> code;
  bool wave32;
};

class BlitCode : public ::testing::TestWithParam<Generation> {};

TEST_P(BlitCode, StartsWithDescriptorsOfKernels) {
  const auto code = GetParam().code;
  for (uint32_t i = 0; i < kBlitKernels; ++i) {
    const uint32_t* const descriptor = &code[blit_descriptor_offset(static_cast<BlitKernel>(i)) / 4];
    EXPECT_EQ(descriptor[0], 0u) << "group segment";
    EXPECT_EQ(descriptor[1], 0u) << "private segment";
    EXPECT_EQ(descriptor[2], sizeof(BlitArguments));
    const uint64_t entry = blit_descriptor_offset(static_cast<BlitKernel>(i)) + descriptor[4];
    EXPECT_EQ(entry % 256, 0u);
    EXPECT_LT(entry, code.size_bytes());
    EXPECT_EQ(descriptor[14] >> 10 & 1, GetParam().wave32 ? 1u : 0u);
    EXPECT_EQ(descriptor[14] & 0xff, 1u << 3);  // only the arguments' address
    EXPECT_EQ(descriptor[13] >> 1 & 0x1f, 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlitCode,
                         ::testing::Values(Generation{"gfx8", gfx8::blit_code(), false},
                                           Generation{"gfx9", gfx9::blit_code(), false},
                                           Generation{"gfx10", gfx10::blit_code(), true},
                                           Generation{"gfx11", gfx11::blit_code(), true},
                                           Generation{"gfx12", gfx12::blit_code(), true}),
                         [](const auto& generation) { return std::string(generation.param.name); });

TEST(BlitCode, PlacesAccumulatorsAfterRegisters) {
  const auto code = gfx9::blit_code();
  std::vector<uint32_t> plain(code.size()), unified(code.size());
  write_blit_code(code, *find_chip(gfx9::kFamily, {9, 0, 0}), plain.data());
  write_blit_code(code, *find_chip(gfx9::kFamily, {9, 0, 10}), unified.data());
  EXPECT_TRUE(std::equal(code.begin(), code.end(), plain.begin()));
  EXPECT_EQ(plain[12] & 0x3f, 7u);    // 32 registers in granules of 4
  EXPECT_EQ(unified[12] & 0x3f, 3u);  // 32 in granules of 8
  EXPECT_EQ(unified[11], 7u);         // accumulators start at 32
  EXPECT_EQ(unified[12] & ~0x3fu, plain[12] & ~0x3fu);
}

}  // namespace
}  // namespace rigel::gfx
