// A model of the duty of waiting in the driver (event_duty.hpp), small enough to enumerate every interleaving
// (core/signal/testing/explore.hpp).
//
// Each thread waits for a separate value; a device, or a thread of the process, changes it. The model follows
// Wait::sleep_until_posted, event_duty::sleep and awake, Signal::notify, and the driver's events that reset
// themselves. A section under a mutex is one step. The heavy fence makes W1 precede W3 for a thread that
// checks the waiters after W3 (wake_protocol_test.cpp); this model assumes it. The model is also run without
// each of its essential steps.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/signal/testing/explore.hpp"

namespace rigel {
namespace {

using testing::explore;

enum class Without {
  kNothing,
  kNotifying,     // the leader leaves at once when it finds its change
  kHandingOver,   // the leader leaves without handing the duty over
  kCalling,       // the next leader is not woken
  kWakeInDriver,  // a store of the process wakes futex sleepers only
  kLinkingFirst,  // the last poll precedes linking
  kExclusion,     // several threads wait in the driver
};

class DutyModel {
 public:
  static constexpr int kMostWaiters = 3;
  static constexpr int kMaxChangers = 3;

 private:
  // State of the process and the driver:
  enum : int { kEvent, kLeaderEvent, kHolder, kChangers, kWaiters = kChangers + kMaxChangers };
  // State of each waiter:
  enum : int { kPc, kValue, kFlags, kFieldsOfWaiter };
  enum : uint8_t {
    kLinked = 1,
    kReleased = 2,
    kAsleep = 4,     // in the word: the owner sleeps on it or is about to
    kInDriver = 8,   // in the word
    kCalled = 16,    // in the word
    kFollows = 32,   // in the list of followers
    kLeads = 64,     // has the duty
    kBlocked = 128,  // in the kernel, on the word or on the events
  };

 public:
  using State = std::array<uint8_t, kWaiters + kMostWaiters * kFieldsOfWaiter>;

  /// One waiter per change: first those of devices, then those of the process.
  DutyModel(int by_device, int by_process, Without without = Without::kNothing)
      : by_device_(by_device), by_process_(by_process), without_(without) {}

  State initial() const { return {}; }

  bool finished(const State& state) const {
    for (int i = 0; i < count(); ++i) {
      if (at(state, i, kPc) != kDone) return false;
    }
    return true;
  }

  void successors(const State& state, std::vector<State>& next) const {
    for (int i = 0; i < count(); ++i) {
      State of_waiter = state;
      if (at(state, i, kPc) != kDone && wait(of_waiter, i)) next.push_back(of_waiter);
      State of_changer = state;
      if (change(of_changer, i)) next.push_back(of_changer);
    }
  }

 private:
  static constexpr uint8_t kDone = 0xff;

  int count() const { return by_device_ + by_process_; }
  static uint8_t at(const State& state, int waiter, int field) {
    return state[kWaiters + waiter * kFieldsOfWaiter + field];
  }
  static uint8_t& at(State& state, int waiter, int field) {
    return state[kWaiters + waiter * kFieldsOfWaiter + field];
  }
  static bool has(const State& state, int waiter, uint8_t flag) {
    return (at(state, waiter, kFlags) & flag) != 0;
  }
  static void put(State& state, int waiter, uint8_t flag) { at(state, waiter, kFlags) |= flag; }
  static void drop(State& state, int waiter, uint8_t flag) {
    at(state, waiter, kFlags) = static_cast<uint8_t>(at(state, waiter, kFlags) & ~flag);
  }

  // SET_EVENT, or a device's interrupt: the thread in the driver returns; otherwise the event stays set.
  void set_event(State& state, int event) const {
    bool taken = false;
    for (int i = 0; i < count(); ++i) {
      if (!has(state, i, kInDriver) || !has(state, i, kBlocked)) continue;
      drop(state, i, kBlocked);
      taken = true;
    }
    if (!taken) state[event] = 1;
  }

  void post(State& state, int waiter) const {
    const bool in_driver = has(state, waiter, kInDriver);
    put(state, waiter, kReleased);
    if (in_driver && without_ != Without::kWakeInDriver) {
      set_event(state, kLeaderEvent);
    } else if (!in_driver) {
      drop(state, waiter, kBlocked);
    }
  }

  // Models Signal::notify for one signal.
  void notify(State& state, int waiter) const {
    if (!has(state, waiter, kLinked) || at(state, waiter, kValue) == 0) return;
    drop(state, waiter, kLinked);
    post(state, waiter);
  }

  void hand_over(State& state) const {
    state[kHolder] = 0;
    for (int i = 0; i < count(); ++i) {
      if (!has(state, i, kFollows) || has(state, i, kReleased)) continue;
      drop(state, i, kFollows);
      put(state, i, kLeads);
      state[kHolder] = 1;
      if (without_ == Without::kCalling) return;
      put(state, i, kCalled);
      if (has(state, i, kAsleep)) drop(state, i, kBlocked);
      return;
    }
  }

  bool wait(State& state, int self) const {
    enum : uint8_t {
      kLink,
      kLook,
      kTakePart,
      kTurn,
      kEnter,
      kSleep,
      kReturn,
      kTell,
      kPark,
      kParked,
      kLeave,
      kAwake
    };
    uint8_t& pc = at(state, self, kPc);
    switch (pc) {
      case kLink:
        if (without_ == Without::kLinkingFirst && at(state, self, kValue) != 0) {
          pc = kDone;
          return true;
        }
        pc = without_ == Without::kLinkingFirst ? kTakePart : kLook;
        if (without_ == Without::kLinkingFirst) {
          // The next step links the node.
          return true;
        }
        put(state, self, kLinked);
        return true;
      case kLook:
        pc = at(state, self, kValue) != 0 ? kLeave : kTakePart;
        return true;
      case kTakePart:
        put(state, self, kLinked);
        put(state, self, kFollows);
        if (without_ == Without::kExclusion) {
          drop(state, self, kFollows);
          put(state, self, kLeads);
        } else if (state[kHolder] == 0) {
          hand_over(state);
        }
        pc = kTurn;
        return true;
      case kTurn:
        pc = has(state, self, kReleased) ? kLeave : has(state, self, kLeads) ? kEnter : kPark;
        return true;
      case kEnter:  // Parker::enter_driver
        if (has(state, self, kReleased)) {
          pc = kTurn;
          return true;
        }
        put(state, self, kInDriver);
        pc = kSleep;
        return true;
      case kSleep:  // WAIT_EVENTS: takes an event that is set, or sleeps
        if (state[kEvent] == 0 && state[kLeaderEvent] == 0) put(state, self, kBlocked);
        state[kEvent] = state[kLeaderEvent] = 0;
        pc = kReturn;
        return true;
      case kReturn:
        if (has(state, self, kBlocked)) return false;
        drop(state, self, kInDriver);
        pc = kTell;
        if (without_ == Without::kNotifying && at(state, self, kValue) != 0) {
          drop(state, self, kLinked);
          put(state, self, kReleased);
          pc = kTurn;
        }
        return true;
      case kTell:
        for (int i = 0; i < count(); ++i) notify(state, i);
        pc = kTurn;
        return true;
      case kPark:  // Parker::park
        if (has(state, self, kReleased) || has(state, self, kCalled)) {
          drop(state, self, kCalled);
          pc = kTurn;
          return true;
        }
        put(state, self, kAsleep);
        pc = kParked;
        if (!has(state, self, kCalled)) put(state, self, kBlocked);
        return true;
      case kParked:
        if (has(state, self, kBlocked)) return false;
        drop(state, self, kAsleep);
        pc = kPark;
        return true;
      case kLeave:  // unlink
        drop(state, self, kLinked);
        pc = kAwake;
        return true;
      case kAwake:
        if (has(state, self, kLeads)) {
          drop(state, self, kLeads);
          if (without_ != Without::kExclusion && without_ != Without::kHandingOver) hand_over(state);
        } else {
          drop(state, self, kFollows);
        }
        pc = kDone;
        return true;
    }
    return false;
  }

  bool change(State& state, int which) const {
    enum : uint8_t { kStore, kTellOf, kOver };
    uint8_t& pc = state[kChangers + which];
    switch (pc) {
      case kStore:
        at(state, which, kValue) = 1;
        pc = kTellOf;
        return true;
      case kTellOf:
        if (which < by_device_) {
          set_event(state, kEvent);
        } else {
          notify(state, which);
        }
        pc = kOver;
        return true;
    }
    return false;
  }

  const int by_device_;
  const int by_process_;
  const Without without_;
};

TEST(EventDutyProtocol, KeepsAllWakeUps) {
  for (const auto& [device, process] :
       {std::pair{1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}, {3, 0}, {2, 1}, {1, 2}}) {
    const auto result = explore(DutyModel(device, process));
    EXPECT_EQ(result.stuck, 0u) << device << " by devices, " << process << " by the process";
    EXPECT_GT(result.finished, 0u);
    EXPECT_GT(result.states, 20u);
  }
}

TEST(EventDutyProtocol, LosesWakeUpsIfLeaderDoesNotNotify) {
  EXPECT_GT(explore(DutyModel(2, 0, Without::kNotifying)).stuck, 0u);
}

TEST(EventDutyProtocol, LosesWakeUpsWithoutHandOver) {
  EXPECT_GT(explore(DutyModel(2, 0, Without::kHandingOver)).stuck, 0u);
}

TEST(EventDutyProtocol, LosesWakeUpsIfNextLeaderIsNotCalled) {
  EXPECT_GT(explore(DutyModel(2, 0, Without::kCalling)).stuck, 0u);
}

TEST(EventDutyProtocol, LosesLeaderWithoutWakeInDriver) {
  EXPECT_GT(explore(DutyModel(0, 1, Without::kWakeInDriver)).stuck, 0u);
}

TEST(EventDutyProtocol, LosesWaiterThatPollsBeforeLinking) {
  EXPECT_GT(explore(DutyModel(2, 0, Without::kLinkingFirst)).stuck, 0u);
}

TEST(EventDutyProtocol, LosesWakeUpsIfTwoThreadsWaitInDriver) {
  EXPECT_GT(explore(DutyModel(3, 0, Without::kExclusion)).stuck, 0u);
}

}  // namespace
}  // namespace rigel
