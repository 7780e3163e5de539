#include "core/memory/range_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rigel {
namespace {

std::vector<int> around(RangeMap<int>& map, uintptr_t address) {
  std::vector<int> found;
  map.visit_around(address, [&](const RangeMap<int>::Entry& entry) { found.push_back(entry.value); });
  std::sort(found.begin(), found.end());
  return found;
}

TEST(RangeMap, FindsRangeByFirstAndLastByte) {
  RangeMap<int> map;
  map.insert(1000, 10, 1);
  EXPECT_TRUE(around(map, 999).empty());
  EXPECT_EQ(around(map, 1000), std::vector{1});
  EXPECT_EQ(around(map, 1009), std::vector{1});
  EXPECT_TRUE(around(map, 1010).empty());
}

TEST(RangeMap, CoversWholeAddressSpace) {
  RangeMap<int> map;
  map.insert(0, 1, 1);
  map.insert(~uintptr_t{0}, 1, 2);
  map.insert(1, ~size_t{0}, 3);
  EXPECT_EQ(around(map, 0), std::vector{1});
  EXPECT_EQ(around(map, ~uintptr_t{0}), (std::vector{2, 3}));
}

TEST(RangeMap, MatchesLinearSearch) {
  std::mt19937_64 random(3);
  RangeMap<int> map;
  struct Reference {
    uintptr_t start;
    size_t size;
    int value;
    RangeMap<int>::Entry* entry;
  };
  std::vector<Reference> all;
  for (int step = 0; step < 5000; ++step) {
    if (all.size() < 50 || random() % 2 == 0) {
      const uintptr_t start = random() % 100000;
      const size_t size = 1 + random() % (size_t{1} << random() % 17);
      all.push_back({start, size, step, &map.insert(start, size, step)});
    } else {
      const size_t victim = random() % all.size();
      map.erase(*all[victim].entry);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    ASSERT_EQ(map.size(), all.size());
    const uintptr_t address = random() % 110000;
    std::vector<int> expected;
    for (const auto& range : all) {
      if (address - range.start < range.size) expected.push_back(range.value);
    }
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(around(map, address), expected);
  }
}

TEST(RangeMap, VisitsEveryRangeWithSameStart) {
  RangeMap<int> map;
  map.insert(64, 1, 1);
  map.insert(64, 100, 2);
  map.insert(64, 100, 3);
  map.insert(65, 100, 4);
  std::vector<int> found;
  map.visit_starting(64, [&](const RangeMap<int>::Entry& entry) { found.push_back(entry.value); });
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector{1, 2, 3}));
}

}  // namespace
}  // namespace rigel
