#include "backends/cpu/grid_engine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace rigel::cpu {
namespace {

// The entry of the tests' grids: calls a function of the test for each work-group.
struct Body {
  void (*call)(void* context, uint64_t group);
  void* context;
};

void entry(const hsa_cpu_dispatch_t* dispatch, const hsa_cpu_worker_t*, uint64_t first, uint64_t count) {
  const auto& body = *static_cast<const Body*>(dispatch->kernarg);
  for (uint64_t group = first; group < first + count; ++group) body.call(body.context, group);
}

template <class Function>
bool run(Engine& engine, uint64_t groups, Function&& function, Cost& cost,
         const std::atomic<bool>* cancelled = nullptr, uint32_t priority = 0) {
  const Body body{[](void* context, uint64_t group) { (*static_cast<Function*>(context))(group); },
                  &function};
  Grid grid;
  grid.dispatch.kernarg = &body;
  grid.entry = entry;
  grid.groups = groups;
  grid.cancelled = cancelled;
  grid.priority = priority;
  Worker self(1000);
  return engine.run(grid, self, cost);
}

void busy_us(double microseconds) {
  const uint64_t begin = ticks();
  while (static_cast<double>(ticks() - begin) < microseconds * 1000 * ticks_per_ns()) relax();
}

constexpr uint64_t kSpin = 20'000;

TEST(CpuEngine, RunsEveryGroupOnce) {
  for (const uint32_t helpers : {0u, 1u, 3u}) {
    Engine engine(processors_of_node(0), helpers, kSpin);
    for (const uint64_t groups : {1u, 2u, 3u, 100u, 50'000u}) {
      std::vector<uint32_t> visits(groups);
      Cost cost;
      // Twice: with an unknown and a known cost.
      for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(run(
            engine, groups, [&](uint64_t group) { ++visits[group]; }, cost));
      for (const uint32_t each : visits)
        ASSERT_EQ(each, 2u) << groups << " groups, " << helpers << " helpers";
    }
  }
}

TEST(CpuEngine, WritesOfGroupsAreVisibleAfterGrid) {
  Engine engine(processors_of_node(0), 2, kSpin);
  std::vector<uint64_t> values(2000);
  Cost cost{1e6};  // assumed to be worth sharing
  for (uint64_t round = 1; round < 20; ++round) {
    ASSERT_TRUE(run(
        engine, values.size(), [&](uint64_t group) { values[group] += group + round; }, cost));
    cost.per_group = 1e6;
    for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], round * i + round * (round + 1) / 2);
  }
}

TEST(CpuEngine, SharesLongGrids) {
  Engine engine(processors_of_node(0), 1, kSpin);
  Cost cost;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Even on a busy machine, a helper joins within 4000 times 100 us.
  for (int i = 0; i < 4000 && threads.size() < 2; ++i) {
    run(
        engine, 8,
        [&](uint64_t) {
          busy_us(100);
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        },
        cost);
  }
  EXPECT_EQ(threads.size(), 2u);
}

TEST(CpuEngine, DoesNotShareShortGrids) {
  Engine engine(processors_of_node(0), 1, kSpin);
  const auto self = std::this_thread::get_id();
  Cost cost{1};
  for (int i = 0; i < 100; ++i) {
    cost.per_group = 1;
    ASSERT_TRUE(run(
        engine, 10, [&](uint64_t) { ASSERT_EQ(std::this_thread::get_id(), self); }, cost));
  }
}

TEST(CpuEngine, SeveralOwnersShareHelpers) {
  Engine engine(processors_of_node(0), 2, kSpin);
  std::vector<std::thread> owners;
  std::atomic<uint64_t> total{0};
  for (int owner = 0; owner < 4; ++owner) {
    owners.emplace_back([&, owner] {
      Cost cost;
      for (int i = 0; i < 100; ++i) {
        std::atomic<uint64_t> own{0};
        cost.per_group = 1e5;
        run(
            engine, 64, [&](uint64_t group) { own += group; }, cost, nullptr,
            static_cast<uint32_t>(owner % 3));
        EXPECT_EQ(own, 64u * 63 / 2);
        total += own;
      }
    });
  }
  for (auto& owner : owners) owner.join();
  EXPECT_EQ(total, 4u * 100 * 64 * 63 / 2);
}

TEST(CpuEngine, StopsWhenCancelled) {
  for (const uint32_t helpers : {0u, 2u}) {
    Engine engine(processors_of_node(0), helpers, kSpin);
    std::atomic<bool> cancelled{false};
    std::atomic<uint64_t> done{0};
    Cost cost;
    constexpr uint64_t kGroups = 1'000'000;
    EXPECT_FALSE(run(
        engine, kGroups,
        [&](uint64_t) {
          busy_us(5);
          if (++done == 100) cancelled = true;
        },
        cost, &cancelled));
    EXPECT_LT(done, kGroups / 2);
  }
}

TEST(CpuEngine, MeasuresCostOfGroup) {
  Engine engine(processors_of_node(0), 0, kSpin);
  Cost cost;
  run(
      engine, 10, [&](uint64_t) { busy_us(20); }, cost);
  EXPECT_GE(cost.per_group, 20'000 * ticks_per_ns());
}

TEST(CpuSharingCost, StaysWithinBounds) {
  SharingCost cost(10, 100);
  for (int i = 0; i < 50; ++i) cost.learn(1e9);
  EXPECT_EQ(cost.ticks(), 100);
  cost.learn(-1e9);
  EXPECT_EQ(cost.ticks(), 10);
}

TEST(CpuSharingCost, DecreasesWithoutMeasurements) {
  SharingCost cost(10, 100);
  for (int i = 0; i < 50; ++i) cost.learn(100);
  const double high = cost.ticks();
  cost.forget();
  EXPECT_LT(cost.ticks(), high);
  for (int i = 0; i < 1000; ++i) cost.forget();
  EXPECT_EQ(cost.ticks(), 10);
}

TEST(CpuPatience, EndsWhenConditionHolds) {
  Patience patience(1'000'000'000);
  int looks = 0;
  EXPECT_TRUE(patience.wait([&] { return ++looks == 5; }));
  EXPECT_EQ(looks, 5);
}

TEST(CpuPatience, DecreasesAfterFailures) {
  constexpr uint64_t kMost = 1u << 24;
  Patience patience(kMost);
  const auto vain = [&patience] {
    const uint64_t begin = ticks();
    EXPECT_FALSE(patience.wait([] { return false; }));
    return ticks() - begin;
  };
  EXPECT_GE(vain(), kMost);
  uint64_t least = kMost;
  for (int i = 0; i < 8; ++i) least = std::min(least, vain());
  EXPECT_LT(least, kMost / 2);
  // A successful wait makes it long again.
  int looks = 0;
  EXPECT_TRUE(patience.wait([&] { return ++looks == 2; }));
  EXPECT_GE(vain(), kMost);
}

TEST(CpuWorker, GrowsMemory) {
  Worker worker(0);
  ASSERT_TRUE(worker.prepare(0, 0));
  EXPECT_EQ(worker.view()->group_segment, nullptr);
  for (const uint64_t size : {1u, 64u, 1000u, 70'000u, 100u, 262'144u}) {
    ASSERT_TRUE(worker.prepare(size, size * 3));
    for (void* const memory : {worker.view()->group_segment, worker.view()->private_segment}) {
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    }
    memset(worker.view()->group_segment, 1, size);
    memset(worker.view()->private_segment, 1, size * 3);
  }
}

TEST(CpuWorker, PrepareFailsWithoutMemory) {
  Worker worker(0);
  EXPECT_FALSE(worker.prepare(0, uint64_t{1} << 60));
  EXPECT_TRUE(worker.prepare(64, 64));
}

}  // namespace
}  // namespace rigel::cpu
