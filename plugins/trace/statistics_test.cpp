#include "plugins/trace/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace trace {
namespace {

TEST(Durations, ShortOnesAreExact) {
  Durations all;
  for (uint64_t i = 1; i <= 60; ++i) all.add(i);
  EXPECT_EQ(all.count(), 60u);
  EXPECT_EQ(all.total(), 1830u);
  EXPECT_EQ(all.mean(), 30u);
  EXPECT_EQ(all.percentile(0.5), 30u);
  EXPECT_EQ(all.percentile(0.99), 60u);
  EXPECT_EQ(all.percentile(0), 1u);
}

TEST(Durations, PercentilesAreWithinBucketWidth) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> distribution(10, 2);
  Durations all;
  std::vector<uint64_t> sorted;
  for (int i = 0; i < 100'000; ++i) {
    sorted.push_back(static_cast<uint64_t>(distribution(random)));
    all.add(sorted.back());
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact = static_cast<double>(sorted[static_cast<size_t>(share * 100'000) - 1]);
    EXPECT_NEAR(static_cast<double>(all.percentile(share)), exact, exact * 0.016 + 1) << share;
  }
}

TEST(Durations, AcceptMinimumAndMaximum) {
  Durations all;
  EXPECT_EQ(all.percentile(0.5), 0u);
  all.add(UINT64_MAX);
  EXPECT_EQ(all.percentile(0.5), UINT64_MAX);
  all.add(0);
  EXPECT_EQ(all.percentile(0.5), 0u);
}

TEST(Statistics, TableIsSortedByTotalTime) {
  Statistics all;
  for (int i = 0; i < 4; ++i) all.of(Statistics::kCalls, "short").add(25);
  all.of(Statistics::kCalls, "long").add(300);
  all.of(Statistics::kKernels, "k").add(2'500'000);
  EXPECT_EQ(all.text(),
            "     count       total        mean         p50         p99   share  calls\n"
            "         1      300 ns      300 ns      300 ns      300 ns  75.0 %  long\n"
            "         4      100 ns       25 ns       25 ns       25 ns  25.0 %  short\n"
            "\n"
            "     count       total        mean         p50         p99   share  kernels\n"
            "         1     2.50 ms     2.50 ms     2.50 ms     2.50 ms 100.0 %  k\n");
}

TEST(Statistics, TableSumsRowsAboveLimit) {
  Statistics all;
  for (int i = 0; i < 5; ++i) all.of(Statistics::kCopies, std::string(1, static_cast<char>('a' + i))).add(10);
  EXPECT_THAT(
      all.text(2),
      ::testing::HasSubstr("         3       30 ns                                      60.0 %  3 others\n"));
}

}  // namespace
}  // namespace trace
