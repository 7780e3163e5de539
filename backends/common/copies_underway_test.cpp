#include "backends/common/copies_underway.hpp"

#include <array>

#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>

namespace rigel::gfx {
namespace {

struct Signals {
  Signals() {
    for (amd_signal_t& signal : all) signal.kind = AMD_SIGNAL_KIND_USER;
  }
  uint64_t operator[](size_t i) { return reinterpret_cast<uint64_t>(&all[i]); }
  void set(size_t i, int64_t value) { *const_cast<int64_t*>(&all[i].value) = value; }
  int64_t value(size_t i) { return all[i].value; }
  std::array<amd_signal_t, 4> all{};
};

struct Host {
  Host() {
    signal.store = [](void*, uint64_t handle, int64_t value) {
      *const_cast<int64_t*>(&reinterpret_cast<amd_signal_t*>(handle)->value) = value;
    };
    host.signal = &signal;
  }
  hsabe_host_signal_t signal{};
  hsabe_host_t host{};
};

TEST(CopiesUnderway, CountUntilRead) {
  Signals signals;
  CopiesUnderway copies;
  copies.add(signals[0], 10);
  copies.add(signals[1], 20);
  copies.add(signals[0], 30);
  EXPECT_EQ(copies.promised(signals[0]).count, 2);
  EXPECT_EQ(copies.promised(signals[2]).count, 0);
  copies.read(10);
  EXPECT_EQ(copies.promised(signals[0]).count, 1);
  copies.read(30);
  EXPECT_EQ(copies.promised(signals[0]).count, 0);
  EXPECT_EQ(copies.promised(signals[1]).count, 0);
}

TEST(CopiesUnderway, DoNotCountAfterCompletion) {
  Signals signals;
  Host host;
  CopiesUnderway copies;
  for (size_t i = 0; i < 3; ++i) signals.set(i, 1), copies.add(signals[i], 10 * (i + 1));
  copies.read(5, 20);
  EXPECT_EQ(copies.promised(signals[0]).count, 0);
  EXPECT_EQ(copies.promised(signals[1]).count, 0);
  EXPECT_EQ(copies.promised(signals[2]).count, 1);
  EXPECT_EQ(copies.size(), 3u) << "it may have come no further than that";
}

TEST(CopiesUnderway, DoNotCountForRecycledSignal) {
  Signals signals;
  CopiesUnderway copies;
  copies.add(signals[0], 10);
  ++signals.all[0].reserved3[0];  // destroyed and recycled
  EXPECT_EQ(copies.promised(signals[0]).count, 0);
  copies.add(signals[0], 20);
  EXPECT_EQ(copies.promised(signals[0]).count, 1);
}

TEST(CopiesUnderway, AreAfterOpenWaitUntilItEnds) {
  Signals signals;
  CopiesUnderway copies;
  copies.add(signals[0], 10);
  copies.open_wait(10, 14, {signals[3]});
  copies.add(signals[1], 20);
  EXPECT_TRUE(copies.open());
  EXPECT_FALSE(copies.promised(signals[0]).open);
  EXPECT_TRUE(copies.promised(signals[1]).open);
  copies.read(12);
  EXPECT_TRUE(copies.open());
  copies.read(14);
  EXPECT_FALSE(copies.open());
  EXPECT_EQ(copies.promised(signals[1]).count, 1);
  EXPECT_FALSE(copies.promised(signals[1]).open);
}

TEST(CopiesUnderway, AreLostAtWaitForNegativeSignal) {
  Signals signals;
  CopiesUnderway copies;
  copies.add(signals[0], 10);
  copies.open_wait(10, 14, {signals[2], signals[3]});
  signals.set(3, -1);
  EXPECT_FALSE(copies.wait_is_lost()) << "copies before it go on";
  copies.read(10);
  EXPECT_TRUE(copies.wait_is_lost());
  signals.set(3, 0);
  EXPECT_FALSE(copies.wait_is_lost());
}

TEST(CopiesUnderway, FailIfUnread) {
  Signals signals;
  Host host;
  CopiesUnderway copies;
  for (size_t i = 0; i < 4; ++i) signals.set(i, 1), copies.add(signals[i], 10 * (i + 1));
  signals.all[2].kind = AMD_SIGNAL_KIND_INVALID;  // destroyed
  copies.open_wait(20, 24, {});
  copies.read(10);
  copies.fail(&host.host, HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(0), 1);
  EXPECT_EQ(signals.value(1), -HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(2), 1);
  EXPECT_EQ(signals.value(3), -HSA_STATUS_ERROR);
  // The next queue counts from 0.
  EXPECT_FALSE(copies.open());
  copies.add(signals[0], 5);
  EXPECT_EQ(copies.promised(signals[0]).count, 1);
}

TEST(CopiesUnderway, KeepRecycledSignals) {
  for (const uint64_t lag : {uint64_t{0}, uint64_t{100}}) {
    Signals signals;
    Host host;
    CopiesUnderway copies(lag);
    for (size_t i = 0; i < 2; ++i) signals.set(i, 1), copies.add(signals[i], 10);
    ++signals.all[0].reserved3[0];  // destroyed and recycled
    signals.set(0, 7);
    copies.fail(&host.host, HSA_STATUS_ERROR);
    EXPECT_EQ(signals.value(0), 7);
    EXPECT_EQ(signals.value(1), -HSA_STATUS_ERROR);
  }
}

TEST(CopiesUnderway, KeepCompletedSignalsWithNewValues) {
  Signals signals;
  Host host;
  CopiesUnderway copies(100);
  const auto begin = [&](size_t i, int64_t value) {
    signals.set(i, value);
    signals.all[i].end_ts = 5;
    copies.add(CompletionBefore::of(signals[i]), 10);
  };
  const auto end = [&](size_t i) {
    signals.all[i].end_ts = 9;
    signals.set(i, signals.value(i) - 1);
  };
  begin(0, 1), begin(1, 1), begin(2, 2), begin(3, 1);
  end(0), end(2), end(3);
  signals.set(0, 1);
  signals.set(3, 3);
  copies.fail(&host.host, HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(0), 1) << "as the program left it";
  EXPECT_EQ(signals.value(1), -HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(2), -HSA_STATUS_ERROR) << "what was stamped may be another's end";
  EXPECT_EQ(signals.value(3), 3);
}

TEST(CopiesUnderway, UseStateBeforeCopy) {
  Signals signals;
  Host host;
  CopiesUnderway copies(100);
  signals.set(0, 1);
  const CompletionBefore before = CompletionBefore::of(signals[0]);
  ++signals.all[0].reserved3[0];  // completed and destroyed before the queue's owner has recorded the copy
  copies.add(before, 10);
  copies.add(CompletionBefore::of(0), 20);
  EXPECT_EQ(copies.size(), 1u) << "a copy that tells nobody";
  copies.fail(&host.host, HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(0), 1);
}

TEST(CopiesUnderway, OfKernelsAreKeptForLag) {
  Signals signals;
  Host host;
  CopiesUnderway copies(100);
  for (size_t i = 0; i < 3; ++i) signals.set(i, 1), copies.add(signals[i], i == 0 ? 1 : 50 + i);
  copies.read(102);
  EXPECT_EQ(copies.promised(signals[1]).count, 0) << "it has begun: whether it is done, the signal says";
  signals.set(2, 0);
  copies.fail(&host.host, HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(0), 1) << "so far back that it is done";
  EXPECT_EQ(signals.value(1), -HSA_STATUS_ERROR);
  EXPECT_EQ(signals.value(2), 0);
}

}  // namespace
}  // namespace rigel::gfx
