// Descriptions of addresses that a GPU cannot access.
#include "plugins/vgpu/kfd/nearby.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

namespace rigel::vgpu {
namespace {

// Far from all mappings of this program, including AddressSanitizer's shadow below 16 TiB.
constexpr uint64_t kBase = 0x300000000000;

TEST(DescribeAddress, NamesNearestBuffer) {
  const std::vector<NearbyBuffer> buffers = {{kBase, 4096, true, true, false},
                                             {kBase + 0x100000, 2000000, false, true, false}};
  EXPECT_EQ(describe_address(kBase + 4096, buffers),
            "0x300000001000 is directly past the 4,096 bytes at 0x300000000000 of GPU memory");
  EXPECT_EQ(describe_address(kBase + 4100, buffers),
            "0x300000001004 is 4 bytes past the 4,096 bytes at 0x300000000000 of GPU memory");
  EXPECT_EQ(describe_address(kBase + 0xfffff, buffers),
            "0x3000000fffff is 1 byte before the 2,000,000 bytes at 0x300000100000 of host memory");
  EXPECT_EQ(describe_address(kBase + (uint64_t{1} << 45), buffers),
            "0x500000000000 is not near any memory of the GPU");
  EXPECT_EQ(describe_address(kBase, {}), "0x300000000000 is not near any memory of the GPU");
}

TEST(DescribeAddress, NamesInaccessibleAndFreedBuffers) {
  EXPECT_EQ(describe_address(kBase + 16, {{kBase, 4096, true, false, false}}),
            "0x300000000010 is 16 bytes into the 4,096 bytes at 0x300000000000 of GPU memory, not accessible "
            "by this "
            "GPU");
  EXPECT_EQ(describe_address(kBase + 16, {{kBase - 4096, 4096, true, true, false},
                                          {kBase, 8192, true, false, true},
                                          {kBase, 4096, true, false, true}}),
            "0x300000000010 is 16 bytes into the freed 8,192 bytes at 0x300000000000");
}

TEST(DescribeAddress, NamesHostMemory) {
  int local = 0;
  const auto va = reinterpret_cast<uint64_t>(&local);
  const std::string description = describe_address(va, {});
  EXPECT_EQ(description.find(fmt::format("{:#x} is host memory", va)), 0u) << description;
}

}  // namespace
}  // namespace rigel::vgpu
