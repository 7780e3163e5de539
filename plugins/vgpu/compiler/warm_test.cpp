#include "plugins/vgpu/compiler/warm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rigel::vgpu::exec::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

runner::Kernel kernel_with_maximum(uint32_t items) {
  runner::Kernel kernel;
  kernel.max_group_items = items;
  return kernel;
}

TEST(GroupSizes, AreTheRequiredSizeOfTheKernel) {
  runner::Kernel kernel = kernel_with_maximum(256);
  kernel.required_group = {32, 4, 1};
  const GroupSize requested[] = {{64, 1, 1}};
  EXPECT_THAT(group_sizes(kernel, 1, {}), ElementsAre(GroupSize{32, 4, 1}));
  EXPECT_THAT(group_sizes(kernel, 1, requested), ElementsAre(GroupSize{32, 4, 1}));
}

TEST(GroupSizes, AreRequestedSizesThatTheKernelPermits) {
  const GroupSize requested[] = {{64, 1, 1}, {16, 16, 1}, {1024, 1, 1}};
  EXPECT_THAT(group_sizes(kernel_with_maximum(256), 3, requested),
              ElementsAre(GroupSize{64, 1, 1}, GroupSize{16, 16, 1}));
  EXPECT_THAT(group_sizes(kernel_with_maximum(0), 1, requested),
              ElementsAre(requested[0], requested[1], requested[2]));
  EXPECT_THAT(group_sizes(kernel_with_maximum(32), 1, requested), IsEmpty());
}

TEST(GroupSizes, HaveDimensionsOfTheIdsByDefault) {
  EXPECT_THAT(group_sizes(kernel_with_maximum(1024), 1, {}), ElementsAre(GroupSize{256, 1, 1}));
  EXPECT_THAT(group_sizes(kernel_with_maximum(1024), 2, {}), ElementsAre(GroupSize{16, 16, 1}));
  EXPECT_THAT(group_sizes(kernel_with_maximum(1024), 3, {}), ElementsAre(GroupSize{8, 8, 4}));
}

TEST(GroupSizes, StayBelowTheMaximumOfTheKernel) {
  EXPECT_THAT(group_sizes(kernel_with_maximum(64), 1, {}), ElementsAre(GroupSize{64, 1, 1}));
  EXPECT_THAT(group_sizes(kernel_with_maximum(64), 2, {}), ElementsAre(GroupSize{8, 8, 1}));
  EXPECT_THAT(group_sizes(kernel_with_maximum(1), 3, {}), ElementsAre(GroupSize{1, 1, 1}));
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
