#include "plugins/trace/allocated_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kPool = 7;

class AllocatedMemoryTest : public ::testing::Test {
 protected:
  using Change = std::tuple<uint64_t, uint64_t, int64_t>;
  std::vector<Change> until(uint64_t time) {
    std::vector<Change> reported;
    memory.report_until(
        time, [&](uint64_t at, uint64_t pool, int64_t bytes) { reported.emplace_back(at, pool, bytes); });
    return reported;
  }
  AllocatedMemory memory;
};

TEST_F(AllocatedMemoryTest, ReportsChangesInTimeOrder) {
  memory.allocated(10, 0x1000, 100, kPool);
  memory.freed(40, 0x1000);
  memory.allocated(20, 0x2000, 200, kPool);
  memory.freed(30, 0x2000);
  EXPECT_THAT(until(100), ElementsAre(Change{10, kPool, 100}, Change{20, kPool, 200}, Change{30, kPool, -200},
                                      Change{40, kPool, -100}));
}

TEST_F(AllocatedMemoryTest, AcceptsFreeReadBeforeAllocation) {
  memory.freed(20, 0x1000);
  memory.freed(40, 0x1000);
  memory.allocated(10, 0x1000, 100, kPool);
  memory.allocated(30, 0x1000, 300, kPool);
  EXPECT_THAT(until(100), ElementsAre(Change{10, kPool, 100}, Change{20, kPool, -100}, Change{30, kPool, 300},
                                      Change{40, kPool, -300}));
}

TEST_F(AllocatedMemoryTest, HoldsBackChangesFromGivenTime) {
  memory.freed(20, 0x1000);
  EXPECT_THAT(until(20), IsEmpty());
  memory.allocated(10, 0x1000, 100, kPool);
  EXPECT_THAT(until(20), ElementsAre(Change{10, kPool, 100}));
  EXPECT_THAT(until(21), ElementsAre(Change{20, kPool, -100}));
}

TEST_F(AllocatedMemoryTest, SecondAllocationImpliesMissingFree) {
  memory.allocated(10, 0x1000, 100, kPool);
  memory.allocated(20, 0x1000, 200, kPool);
  memory.freed(30, 0x5000);
  EXPECT_THAT(until(100),
              ElementsAre(Change{10, kPool, 100}, Change{20, kPool, -100}, Change{20, kPool, 200}));
}

}  // namespace
}  // namespace trace
