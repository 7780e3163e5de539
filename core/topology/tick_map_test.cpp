#include "core/topology/tick_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "core/topology/device_clock.hpp"

namespace rigel {
namespace {

constexpr double kSecond = 1e9;

// A clock with a variable rate, and readings of it: the system's time before and after each, at a distance of
// the reading's duration.
class Simulation {
 public:
  explicit Simulation(double hertz, uint64_t ticks = 1'000'000'000) : hertz_(hertz), ticks_(double(ticks)) {}

  void set_error(double parts_per_million) { error_ = parts_per_million * 1e-6; }
  void pass(double ns) {
    now_ns_ += ns;
    ticks_ += ns * 1e-9 * hertz_ * (1 + error_);
  }
  uint64_t ticks() const { return static_cast<uint64_t>(ticks_); }
  double now_ns() const { return now_ns_; }

  ClockReading look(double width_ns = 150) {
    ClockReading reading;
    reading.earliest_ns = static_cast<uint64_t>(now_ns_);
    const double part = std::uniform_real_distribution(0., 1.)(random_);
    pass(part * width_ns);
    reading.ticks = ticks();
    pass((1 - part) * width_ns);
    reading.latest_ns = static_cast<uint64_t>(std::ceil(now_ns_));
    return reading;
  }
  std::vector<ClockReading> looks(double width_ns = 150) {
    std::vector<ClockReading> all;
    for (int i = 0; i < 8; ++i) all.push_back(look(width_ns));
    return all;
  }

 private:
  double hertz_;
  double error_ = 0;
  double ticks_;
  double now_ns_ = 5000 * kSecond;
  std::mt19937_64 random_{7};
};

// Records the map's answers, and checks that they never change.
class Answers {
 public:
  explicit Answers(TickMap& map) : map_(map) {}
  double ask(uint64_t tick) {
    const uint64_t ns = map_.to_ns(tick);
    said_.emplace_back(tick, ns);
    return static_cast<double>(ns);
  }
  void check() {
    for (const auto& [tick, ns] : said_) ASSERT_EQ(map_.to_ns(tick), ns) << tick;
    std::ranges::sort(said_);
    for (size_t i = 1; i < said_.size(); ++i) {
      ASSERT_LE(said_[i - 1].second, said_[i].second);
      if (said_[i - 1].first != said_[i].first) {
        ASSERT_LT(said_[i - 1].second, said_[i].second) << "a tick is longer than a nanosecond";
      }
    }
  }

 private:
  TickMap& map_;
  std::vector<std::pair<uint64_t, uint64_t>> said_;
};

TEST(TickMap, IsWithinReadings) {
  Simulation clock(27e6);
  const ClockReading first = clock.look();
  clock.pass(0.01 * kSecond);
  TickMap map(first, clock.looks(), 27'000'000);
  for (int i = 0; i < 1000; ++i) {
    clock.pass(997);
    EXPECT_NEAR(static_cast<double>(map.to_ns(clock.ticks())), clock.now_ns(), 150);
  }
  EXPECT_EQ(map.segments(), 1u);
}

TEST(TickMap, MeasuresRateFromDistantReadings) {
  Simulation clock(100e6);
  clock.set_error(80);
  const ClockReading first = clock.look();
  clock.pass(10 * kSecond);
  const uint64_t middle = clock.ticks();
  const double middle_ns = clock.now_ns();
  clock.pass(10 * kSecond);
  TickMap map(first, clock.looks(), 100'000'000);
  EXPECT_NEAR(static_cast<double>(map.to_ns(middle)), middle_ns, 250);
  EXPECT_NEAR(static_cast<double>(map.to_ns(first.ticks)), static_cast<double>(first.latest_ns), 400);
}

TEST(TickMap, MeasuresUnknownRate) {
  Simulation clock(24e6);
  const ClockReading first = clock.look();
  clock.pass(kSecond);
  TickMap map(first, clock.looks(), 0);
  clock.pass(kSecond);
  EXPECT_NEAR(static_cast<double>(map.to_ns(clock.ticks())), clock.now_ns(), 1000);
}

TEST(TickMap, ConvertsTicksBeforeFirstReading) {
  Simulation clock(100e6, 1'000'000'000'000);
  const uint64_t early = clock.ticks();
  const double early_ns = clock.now_ns();
  clock.pass(kSecond);
  const ClockReading first = clock.look();
  clock.pass(kSecond);
  TickMap map(first, clock.looks(), 100'000'000);
  Answers answers(map);
  EXPECT_NEAR(answers.ask(early), early_ns, 1000);
  for (uint64_t i = 0; i < 1000; ++i) answers.ask(first.ticks - i);
  answers.check();
  EXPECT_EQ(map.to_ns(1), 0u) << "the system's clock began later";
}

// Clocks drift: a crystal with its temperature, the system's when it is disciplined.
TEST(TickMap, FollowsDriftWithoutChangingAnswers) {
  for (const double hertz : {25e6, 27e6, 100e6}) {
    SCOPED_TRACE(hertz);
    Simulation clock(hertz);
    clock.set_error(50);
    const ClockReading first = clock.look();
    clock.pass(0.002 * kSecond);
    TickMap map(first, clock.looks(), static_cast<uint64_t>(hertz));
    Answers answers(map);
    std::mt19937_64 random(1);
    double worst = 0;
    for (int second = 0; second < 600; ++second) {
      clock.set_error(50 + 20 * std::sin(second / 40.));  // by up to half a millionth per second
      for (int i = 0; i < 50; ++i) {
        clock.pass(std::uniform_real_distribution(0., 0.04)(random) * kSecond);
        const double error = std::abs(answers.ask(clock.ticks()) - clock.now_ns());
        if (second > 10) worst = std::max(worst, error);
        // Older ticks, and some in the future.
        answers.ask(clock.ticks() - random() % 100'000'000);
        if (i % 10 == 0) answers.ask(clock.ticks() + random() % 100'000);
      }
      map.calibrate(clock.looks());
    }
    answers.check();
    EXPECT_LT(worst, 2000);
    EXPECT_GT(map.segments(), 50u);
  }
}

TEST(TickMap, FollowsClockAfterJump) {
  for (const double jump_ns : {300 * kSecond, 0.4 * kSecond, 20'000.}) {
    SCOPED_TRACE(jump_ns);
    Simulation device(100e6);
    const ClockReading first = device.look();
    device.pass(kSecond);
    TickMap map(first, device.looks(), 100'000'000);
    Answers answers(map);
    answers.ask(device.ticks());
    // The device stands still while the system's clock continues, as during suspend; then the reverse.
    device.set_error(-1e6);
    device.pass(jump_ns);
    device.set_error(0);
    const auto run = [&](int seconds) {
      for (int i = 0; i < 100 * seconds; ++i) {
        device.pass(kSecond / 100);
        answers.ask(device.ticks());
        if (i % 100 == 99) map.calibrate(device.looks());
      }
      EXPECT_NEAR(answers.ask(device.ticks()), device.now_ns(), 1000);
    };
    run(8);
    device.set_error(1e6);  // twice as fast
    device.pass(std::min(jump_ns, kSecond));
    device.set_error(0);
    run(8);
    answers.check();
  }
}

TEST(TickMap, GivesThreadsSameAnswerDuringCalibration) {
  Simulation clock(100e6);
  const ClockReading first = clock.look();
  clock.pass(kSecond);
  TickMap map(first, clock.looks(), 100'000'000);
  const uint64_t begin = clock.ticks();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> said(3);
  for (auto& mine : said) {
    threads.emplace_back([&] {
      std::mt19937_64 random(3);  // the same in all threads
      for (uint64_t i = 0; i < 200'000 || !done; ++i) {
        const uint64_t tick = begin + i % 200'000 * 50'000 + random() % 100;
        const uint64_t ns = map.to_ns(tick);
        if (i < 200'000) mine.emplace_back(tick, ns);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    clock.set_error(i % 2 == 0 ? 300 : -300);
    clock.pass(0.05 * kSecond);
    map.calibrate(clock.looks());
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(map.segments(), 500u);
  EXPECT_TRUE(said[0] == said[1] && said[1] == said[2]);
  std::ranges::sort(said[0]);
  for (size_t i = 1; i < said[0].size(); ++i) ASSERT_LE(said[0][i - 1].second, said[0][i].second);
  for (const auto& [tick, ns] : said[0]) ASSERT_EQ(map.to_ns(tick), ns);
}

TEST(TickMap, IgnoresResetClock) {
  Simulation clock(100e6), reset(100e6, 5);
  const ClockReading first = clock.look();
  clock.pass(kSecond);
  reset.pass(kSecond);
  TickMap map(first, clock.looks(), 100'000'000);
  const uint64_t tick = clock.ticks(), ns = map.to_ns(tick);
  EXPECT_TRUE(map.fits(clock.looks()));
  EXPECT_FALSE(map.fits(reset.looks()));
  map.calibrate(reset.looks());
  EXPECT_EQ(map.segments(), 1u);
  EXPECT_EQ(map.to_ns(tick), ns);
}

TEST(TickMap, IgnoresInvalidTicks) {
  Simulation clock(100e6);
  const ClockReading first = clock.look();
  clock.pass(kSecond);
  TickMap map(first, clock.looks(), 100'000'000);
  const uint64_t promised = map.promised();
  map.to_ns(UINT64_MAX);
  map.to_ns(clock.ticks() + 1'000'000'000'000);  // hours from now
  EXPECT_EQ(map.promised(), promised) << "drift is followed all the same";
}

// A device's clock as in the runtime: read by a function, and reused by the next runtime.
TEST(DeviceClock, KeepsTimesInNextRuntime) {
  Simulation clock(100e6);
  const DeviceClock::Source source{"a clock of this test",
                                   [&](ClockReading& reading) {
                                     reading = clock.look();
                                     return true;
                                   },
                                   [] { return uint64_t{100'000'000}; }};
  uint64_t tick = 0, ns = 0;
  {
    DeviceClock first(source, nullptr);
    clock.pass(kSecond);
    tick = clock.ticks();
    const double now = clock.now_ns();
    ns = first.to_ns(tick);
    EXPECT_NEAR(static_cast<double>(ns), now, 500);
  }
  clock.pass(kSecond);
  {
    DeviceClock again(source, nullptr);
    clock.pass(kSecond);
    const double now = clock.now_ns();
    EXPECT_NEAR(static_cast<double>(again.to_ns(clock.ticks())), now, 500);
    EXPECT_EQ(again.to_ns(tick), ns);
  }
  clock = Simulation(100e6, 3);
  clock.pass(10 * kSecond);
  DeviceClock reset(source, nullptr);
  clock.pass(kSecond);
  const double now = clock.now_ns();
  EXPECT_NEAR(static_cast<double>(reset.to_ns(clock.ticks())), now, 500);
}

TEST(DeviceClock, KeepsMapIfClockWithSameNameStarts) {
  Simulation clock(100e6);
  Simulation faster(1e9, 3);
  const auto source_of = [](Simulation& simulation, uint64_t ticks_per_second) {
    const auto read = [&simulation](ClockReading& reading) {
      reading = simulation.look();
      return true;
    };
    return DeviceClock::Source{"two equal devices", read, [ticks_per_second] { return ticks_per_second; }};
  };
  const auto both_tell_the_time = [&](DeviceClock& one, DeviceClock& other) {
    for (Simulation* const simulation : {&clock, &faster}) simulation->pass(kSecond);
    const double now = clock.now_ns(), now_of_faster = faster.now_ns();
    EXPECT_NEAR(static_cast<double>(one.to_ns(clock.ticks())), now, 500);
    EXPECT_NEAR(static_cast<double>(other.to_ns(faster.ticks())), now_of_faster, 500);
  };
  uint64_t tick = 0, ns = 0;
  {
    DeviceClock one(source_of(clock, 100'000'000), nullptr);
    DeviceClock other(source_of(faster, 1'000'000'000), nullptr);
    for (int i = 0; i < 3; ++i) both_tell_the_time(one, other);
    tick = clock.ticks();
    ns = one.to_ns(tick);
  }
  DeviceClock other(source_of(faster, 1'000'000'000), nullptr);
  DeviceClock one(source_of(clock, 100'000'000), nullptr);
  both_tell_the_time(one, other);
  EXPECT_EQ(one.to_ns(tick), ns) << "in its next life, too";
}

TEST(DeviceClock, ReturnsZeroForUnreadableClock) {
  DeviceClock clock({"none", [](ClockReading&) { return false; }, [] { return uint64_t{0}; }}, nullptr);
  EXPECT_EQ(clock.to_ns(5), 0u);
  clock.calibrate();
}

}  // namespace
}  // namespace rigel
