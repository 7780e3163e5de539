// Grids of all shapes: every work-item runs once with the correct ids; and the sample kernels.
#include "backends/cpu/packet_grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/kernels/args.hpp"
#include "backends/cpu/testing/kernels.hpp"
#include "backends/cpu/testing/rig.hpp"

namespace rigel::cpu {
namespace {

using namespace testing;

class CpuDispatch : public ::testing::TestWithParam<int64_t> {
 protected:
  CpuDispatch() {
    rig.load(TEST_KERNELS);
    rig.load(TEST_C_KERNELS);
    rig.load(SAMPLE_KERNELS);
    queue = std::make_unique<TestQueue>(rig);
  }

  void expect_right_numbers(const char* kernel, Extent grid, Extent group) {
    SCOPED_TRACE(::testing::Message() << kernel << " " << grid.x << "x" << grid.y << "x" << grid.z << " in "
                                      << group.x << "x" << group.y << "x" << group.z);
    std::vector<ItemRecord> records(size_t{grid.x} * grid.y * grid.z);
    alignas(16) RecordIdsArgs args{records.data()};
    ASSERT_TRUE(queue->run(rig.kernel(kernel), &args, grid, group));
    const uint32_t full[3] = {group.x, group.y, group.z}, whole[3] = {grid.x, grid.y, grid.z};
    size_t index = 0;
    for (uint32_t z = 0; z < grid.z; ++z) {
      for (uint32_t y = 0; y < grid.y; ++y) {
        for (uint32_t x = 0; x < grid.x; ++x, ++index) {
          const ItemRecord& record = records[index];
          ASSERT_EQ(record.visits, 1u) << x << "," << y << "," << z;
          const uint32_t id[3] = {x, y, z};
          for (unsigned d = 0; d < 3; ++d) {
            ASSERT_EQ(record.local[d], id[d] % full[d]);
            ASSERT_EQ(record.group[d], id[d] / full[d]);
            ASSERT_EQ(record.size[d], std::min(full[d], whole[d] - id[d] / full[d] * full[d]));
          }
          ASSERT_EQ(record.flat, x % full[0] + full[0] * (y % full[1] + full[1] * (z % full[2])));
        }
      }
    }
  }

  Rig rig{{"threads", GetParam()}};
  std::unique_ptr<TestQueue> queue;
};

INSTANTIATE_TEST_SUITE_P(Threads, CpuDispatch, ::testing::Values(1, 2, 5),
                         ::testing::PrintToStringParamName());

TEST_P(CpuDispatch, RunsEveryWorkItemOnce) {
  expect_right_numbers("record_ids", {1}, {1});
  expect_right_numbers("record_ids", {1}, {64});
  expect_right_numbers("record_ids", {1000}, {64});
  expect_right_numbers("record_ids", {1024}, {64});
  expect_right_numbers("record_ids", {4097}, {kWorkgroupMaxSize});
  expect_right_numbers("record_ids", {33, 17}, {8, 4});
  expect_right_numbers("record_ids", {7, 5, 3}, {2, 2, 2});
  expect_right_numbers("record_ids", {1, 1, 50}, {1, 1, 7});
  expect_right_numbers("record_ids", {64, 64, 8}, {16, 4, 2});
  expect_right_numbers("record_ids", {50'000}, {1});
}

TEST_P(CpuDispatch, RunsEveryWorkItemOfRandomShapes) {
  uint32_t state = 7;
  const auto draw = [&state](uint32_t most) {
    state = state * 1664525u + 1013904223u;
    return 1 + (state >> 16) % most;
  };
  for (int i = 0; i < 40; ++i) {
    expect_right_numbers("record_ids", {draw(90), draw(20), draw(9)}, {draw(32), draw(8), draw(8)});
  }
}

TEST_P(CpuDispatch, UsesRequiredWorkgroupSize) {
  expect_right_numbers("record_ids_4x3x2", {4, 3, 2}, {4, 3, 2});
  expect_right_numbers("record_ids_4x3x2", {40, 30, 20}, {4, 3, 2});
  expect_right_numbers("record_ids_4x3x2", {41, 31, 21}, {4, 3, 2});
}

TEST_P(CpuDispatch, SupportsLargeGrids) {
  uint64_t items = 0, groups = 0;
  alignas(16) CountArgs args{&items, &groups};
  ASSERT_TRUE(queue->run(rig.kernel("count"), &args, {1'000'003}, {7}));
  EXPECT_EQ(items, 1'000'003u);
  EXPECT_EQ(groups, (1'000'003u + 6) / 7);
}

TEST_P(CpuDispatch, RunsManyDispatchesOfChangingSize) {
  uint64_t items = 0, groups = 0, expected = 0;
  alignas(16) CountArgs args{&items, &groups};
  for (uint32_t i = 1; i < 300; ++i) {
    const uint32_t size = i % 3 == 0 ? i * 401 : i;
    ASSERT_TRUE(queue->run(rig.kernel("count"), &args, {size}, {16}));
    expected += size;
  }
  EXPECT_EQ(items, expected);
}

TEST_P(CpuDispatch, ProvidesDynamicGroupMemory) {
  constexpr uint32_t kGroup = 100, kSize = 1010;  // the last group has 10
  std::vector<uint32_t> values(kSize), expected(kSize);
  std::iota(values.begin(), values.end(), 0u);
  for (uint32_t i = 0; i < kSize; ++i) {
    const uint32_t begin = i / kGroup * kGroup, size = std::min(kGroup, kSize - begin);
    expected[i] = begin + size - 1 - (i - begin);
  }
  uint64_t dynamic_size = 0;
  alignas(16) ReverseArgs args{values.data(), &dynamic_size};
  Packet packet = kernel_packet(rig.kernel("reverse"), &args, {kSize}, {kGroup});
  packet.kernel.group_segment_size += kGroup * sizeof(uint32_t);
  ASSERT_TRUE(queue->run(packet));
  EXPECT_EQ(values, expected);
  EXPECT_EQ(dynamic_size, kGroup * sizeof(uint32_t));
}

TEST_P(CpuDispatch, CallsMathLibrary) {
  std::vector<double> values{0, 1, -2, 0.5};
  alignas(16) ExponentialArgs args{values.data()};
  ASSERT_TRUE(queue->run(rig.kernel("exponential"), &args, {4}, {4}));
  EXPECT_DOUBLE_EQ(values[1], std::exp(1.0));
  EXPECT_DOUBLE_EQ(values[2], std::exp(-2.0));
}

TEST_P(CpuDispatch, RunsKernelsWrittenInC) {
  struct alignas(16) {
    uint32_t* values;
    uint32_t value, reserved;
  } args{};
  std::vector<uint32_t> values(1000);
  args.values = values.data();
  args.value = 77;
  ASSERT_TRUE(queue->run(rig.kernel("fill_c"), &args, {999}, {64}));
  EXPECT_EQ(std::count(values.begin(), values.end(), 77u), 999);
  EXPECT_EQ(values.back(), 0u);
}

TEST_P(CpuDispatch, GroupMemoryEndsAtUnmappedPage) {
  const auto overrun = [this] {
    alignas(16) OverrunArgs args{64};
    Packet packet = kernel_packet(rig.kernel("overrun_group_memory"), &args, {}, {});
    packet.kernel.group_segment_size = 64;
    queue->run(packet);
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(overrun(), "");
}

TEST_P(CpuDispatch, VectorCopy) {
  std::vector<uint32_t> from(100'001), to(from.size() + 1);
  std::iota(from.begin(), from.end(), 5u);
  alignas(16) samples::VectorCopyArgs args{from.data(), to.data(), from.size()};
  ASSERT_TRUE(queue->run(rig.kernel("vector_copy"), &args, {100'352}, {256}));
  EXPECT_EQ(to.back(), 0u) << "work-items beyond the count do nothing";
  to.pop_back();
  EXPECT_EQ(to, from);
}

TEST_P(CpuDispatch, Saxpy) {
  std::vector<float> x(10'007), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(i % 13);
  std::vector<float> expected(y);
  for (size_t i = 0; i < x.size(); ++i) expected[i] += 2 * x[i];
  alignas(16) samples::SaxpyArgs args{2, static_cast<uint32_t>(x.size()), x.data(), y.data()};
  ASSERT_TRUE(queue->run(rig.kernel("saxpy"), &args, {10'007}, {64}));
  EXPECT_EQ(y, expected);
}

TEST_P(CpuDispatch, Sgemm) {
  constexpr uint32_t kSize = 80;
  std::vector<float> a(kSize * kSize), b(a.size()), c(a.size(), -1), expected(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7) - 3;
    b[i] = static_cast<float>(i % 5) - 2;
  }
  for (size_t row = 0; row < kSize; ++row) {
    for (size_t column = 0; column < kSize; ++column) {
      for (size_t k = 0; k < kSize; ++k)
        expected[row * kSize + column] += a[row * kSize + k] * b[k * kSize + column];
    }
  }
  alignas(16) samples::SgemmArgs args{a.data(), b.data(), c.data(), kSize};
  ASSERT_TRUE(queue->run(rig.kernel("sgemm"), &args, {kSize, kSize}, {16, 16}));
  EXPECT_EQ(c, expected);  // integers, small enough to be exact in any order
}

TEST_P(CpuDispatch, Reduce) {
  constexpr uint32_t kCount = 10'000, kGroups = (kCount + 255) / 256;
  std::vector<uint32_t> values(kCount);
  std::iota(values.begin(), values.end(), 1u);
  std::vector<uint64_t> sums(kGroups, ~uint64_t{0});
  alignas(16) samples::ReduceArgs args{values.data(), sums.data(), kCount};
  ASSERT_TRUE(queue->run(rig.kernel("reduce"), &args, {kCount}, {256}));
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}), uint64_t{kCount} * (kCount + 1) / 2);
  EXPECT_EQ(sums[0], uint64_t{256} * 257 / 2);
}

TEST_P(CpuDispatch, Histogram) {
  std::vector<uint8_t> values(200'000);
  std::vector<uint32_t> bins(samples::kBins), expected(samples::kBins);
  uint32_t state = 1;
  for (auto& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<uint8_t>(state >> 24 & state >> 16);
    ++expected[value];
  }
  alignas(16) samples::HistogramArgs args{values.data(), bins.data(), values.size()};
  ASSERT_TRUE(queue->run(rig.kernel("histogram"), &args, {200'000}, {1024}));
  EXPECT_EQ(bins, expected);
}

}  // namespace
}  // namespace rigel::cpu
