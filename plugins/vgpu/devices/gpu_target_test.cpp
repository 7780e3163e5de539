#include "plugins/vgpu/devices/gpu_target.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

TEST(GpuTarget, FitsProcessorAndFamily) {
  EXPECT_TRUE(fits("gfx906:sramecc+:xnack-", "gfx906"));
  EXPECT_FALSE(fits("gfx906", "gfx900"));
  EXPECT_FALSE(fits("gfx90", "gfx906"));
  EXPECT_TRUE(fits("gfx9-generic", "gfx90c"));
  EXPECT_FALSE(fits("gfx9-generic", "gfx942"));
  EXPECT_TRUE(fits("gfx9-4-generic", "gfx942"));
  EXPECT_TRUE(fits("gfx10-3-generic:xnack-", "gfx1032"));
  EXPECT_FALSE(fits("gfx10-1-generic", "gfx1030"));
  EXPECT_TRUE(fits("gfx11-generic", "gfx1100"));
  EXPECT_TRUE(fits("gfx11-generic", "gfx1151"));
  EXPECT_FALSE(fits("gfx11-generic", "gfx1030"));
  EXPECT_TRUE(fits("gfx12-generic", "gfx1200"));
  EXPECT_FALSE(fits("gfx12-generic", "gfx1151"));
}

}  // namespace
}  // namespace rigel::vgpu
