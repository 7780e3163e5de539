// Models of the wake protocols, small enough to enumerate every interleaving
// (core/signal/testing/explore.hpp). A CPU's store buffer is part of a model's state: a plain store enters it
// and reaches memory at any later time.
//
// The models follow Signal::notify, Wait::sleep, Parker, signal_pool::destroy and ReadyQueue step by step.
// Each is also run without its essential step, to show that the checker detects the lost wake-up.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/signal/testing/explore.hpp"

namespace rigel {
namespace {

using testing::explore;

// -----------------------------------------------------------------------------------------------------------
// Threads that wait for value >= 1, threads that store 1, and optionally one that destroys the signal.

enum class Fence {
  kMembarrier,      // the waiter runs a fence on all CPUs
  kNone,            // no fence: must fail
  kSignaller,       // signaller and waiter each run a fence
  kSignallerAlone,  // only the signaller does, and the waiter's store stays in its buffer: must fail
};

class WakeModel {
 public:
  static constexpr int kMaxThreads = 4;
  using State = std::array<uint8_t, 5 + 4 * kMaxThreads>;

  WakeModel(int waiters, int signallers, bool destroyer, Fence fence, bool checks_generation = true)
      : waiters_(waiters),
        signallers_(signallers),
        destroyer_(destroyer),
        fence_(fence),
        checks_generation_(checks_generation) {}

  State initial() const {
    State state{};
    for (int thread = 0; thread < waiters_; ++thread) word(state, thread) = 1;
    return state;
  }

  bool finished(const State& state) const {
    for (int thread = 0; thread < threads(); ++thread) {
      if (state[kPc + thread] != kDone) return false;
    }
    return true;
  }

  void successors(const State& state, std::vector<State>& next) const {
    for (int thread = 0; thread < threads(); ++thread) {
      // The buffer may drain at any time.
      if (state[kBuffer + thread] != 0) {
        State drained = state;
        drain(drained, thread);
        next.push_back(drained);
      }
      State stepped = state;
      if (state[kPc + thread] != kDone && step(stepped, thread)) next.push_back(stepped);
    }
  }

 private:
  // Memory: the value, the waiters bit, the lock's holder (plus one), the generation.
  enum : int { kValue, kAttention, kLock, kGeneration, kFenced, kPc };
  enum : int { kWord = kPc + kMaxThreads, kLinked = kWord + kMaxThreads, kBuffer = kLinked + kMaxThreads };
  static constexpr uint8_t kDone = 0xff;
  static constexpr uint8_t kAsleep = 0x80;    // in a word: the parker's bit
  static constexpr uint8_t kInKernel = 0x40;  // in a word: the thread is in futex_wait
  enum : uint8_t { kBufferedValue = 1, kBufferedAttention = 2 };

  int threads() const { return waiters_ + signallers_ + destroyer_; }
  static uint8_t& word(State& state, int thread) { return state[kWord + thread]; }

  static void drain(State& state, int thread) {
    if (state[kBuffer + thread] & kBufferedValue) state[kValue] = 1;
    if (state[kBuffer + thread] & kBufferedAttention) state[kAttention] = 1;
    state[kBuffer + thread] = 0;
  }

  bool lock(State& state, int thread) const {
    if (state[kLock] != 0) return false;
    drain(state, thread);  // a locked instruction
    state[kLock] = static_cast<uint8_t>(thread + 1);
    return true;
  }

  void unlink(State& state, int waiter) const {
    state[kLinked + waiter] = 0;
    for (int other = 0; other < waiters_; ++other) {
      if (state[kLinked + other]) return;
    }
    state[kAttention] = 0;
  }

  static void post_and_wake(State& state, int waiter) {
    uint8_t& its = word(state, waiter);
    its = static_cast<uint8_t>(its & kInKernel);  // exchange(0)
    // The wake-up comes after the release of the lock; the delay has no visible effect on other threads.
    if (its & kInKernel) its = 0;
  }

  bool step(State& state, int thread) const {
    if (thread < waiters_) return waiter_step(state, thread);
    if (thread < waiters_ + signallers_) return signaller_step(state, thread);
    return destroyer_step(state, thread);
  }

  bool waiter_step(State& state, int thread) const {
    uint8_t& pc = state[kPc + thread];
    enum : uint8_t { kEnter, kLink, kUnlock, kHeavy, kLook, kPark, kSleep, kWake, kLeave, kUnlink };
    switch (pc) {
      case kEnter:
        if (!lock(state, thread)) return false;
        pc = kLink;
        return true;
      case kLink:
        state[kLinked + thread] = 1;
        if (fence_ == Fence::kSignallerAlone) {
          state[kBuffer + thread] |= kBufferedAttention;
        } else {
          state[kAttention] = 1;
        }
        // The generation is read under the same lock, after the bit is set: destruction may come between.
        pc = kUnlock;
        return true;
      case kUnlock:
        if (checks_generation_ && state[kGeneration] != 0) {
          unlink(state, thread);
          state[kLock] = 0;
          pc = kDone;
          return true;
        }
        state[kLock] = 0;  // a plain store, which does not order later accesses
        pc = kHeavy;
        return true;
      case kHeavy:
        if (fence_ == Fence::kMembarrier) {
          // The kernel interrupts one CPU after another.
          const int reached = state[kFenced] >> (2 * thread) & 3;
          if (reached == 0) drain(state, thread);
          drain(state, reached);
          if (reached + 1 < threads()) {
            state[kFenced] = static_cast<uint8_t>(state[kFenced] + (1 << (2 * thread)));
            return true;
          }
        } else if (fence_ == Fence::kSignaller) {
          drain(state, thread);
        }
        pc = kLook;
        return true;
      case kLook:
        pc = state[kValue] >= 1 ? kLeave : kPark;
        return true;
      case kPark:
        if ((word(state, thread) & 1) == 0) {
          pc = kLeave;
          return true;
        }
        word(state, thread) |= kAsleep;
        pc = kSleep;
        return true;
      case kSleep:
        // futex_wait compares and sleeps atomically.
        if (word(state, thread) == (kAsleep | 1)) word(state, thread) |= kInKernel;
        pc = kWake;
        return true;
      case kWake:
        if (word(state, thread) & kInKernel) return false;
        pc = kPark;
        return true;
      case kLeave:
        if (!lock(state, thread)) return false;
        pc = kUnlink;
        return true;
      case kUnlink:
        if (state[kLinked + thread]) unlink(state, thread);
        state[kLock] = 0;
        pc = kDone;
        return true;
    }
    return false;
  }

  bool signaller_step(State& state, int thread) const {
    uint8_t& pc = state[kPc + thread];
    enum : uint8_t { kStore, kFence, kLookForWaiters, kNotify, kTakeLock, kWalk };
    switch (pc) {
      case kStore:
        state[kBuffer + thread] |= kBufferedValue;
        pc = kFence;
        return true;
      case kFence:
        if (fence_ == Fence::kSignaller || fence_ == Fence::kSignallerAlone) drain(state, thread);
        pc = kLookForWaiters;
        return true;
      case kLookForWaiters:
        pc = state[kAttention] != 0 ? uint8_t{kNotify} : kDone;
        return true;
      case kNotify:
        drain(state, thread);
        pc = kTakeLock;
        return true;
      case kTakeLock:
        if (!lock(state, thread)) return false;
        pc = kWalk;
        return true;
      case kWalk:
        for (int waiter = 0; waiter < waiters_; ++waiter) {
          if (!state[kLinked + waiter] || state[kValue] < 1) continue;
          unlink(state, waiter);
          post_and_wake(state, waiter);
        }
        state[kLock] = 0;
        pc = kDone;
        return true;
    }
    return false;
  }

  bool destroyer_step(State& state, int thread) const {
    uint8_t& pc = state[kPc + thread];
    enum : uint8_t { kMoveOn, kLookForWaiters, kTakeLock, kRelease };
    switch (pc) {
      case kMoveOn:
        state[kGeneration] = 1;  // a locked instruction
        pc = kLookForWaiters;
        return true;
      case kLookForWaiters:
        pc = state[kAttention] != 0 ? uint8_t{kTakeLock} : kDone;
        return true;
      case kTakeLock:
        if (!lock(state, thread)) return false;
        pc = kRelease;
        return true;
      case kRelease:
        for (int waiter = 0; waiter < waiters_; ++waiter) {
          if (!state[kLinked + waiter]) continue;
          unlink(state, waiter);
          post_and_wake(state, waiter);
        }
        state[kLock] = 0;
        pc = kDone;
        return true;
    }
    return false;
  }

  const int waiters_;
  const int signallers_;
  const bool destroyer_;
  const Fence fence_;
  const bool checks_generation_;
};

TEST(WakeProtocol, KeepsWakeUpsWithMembarrier) {
  for (const auto& [waiters, signallers] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}}) {
    const auto result = explore(WakeModel(waiters, signallers, false, Fence::kMembarrier));
    EXPECT_EQ(result.stuck, 0u) << waiters << " waiters, " << signallers << " signallers";
    EXPECT_GT(result.finished, 0u);
    EXPECT_GT(result.states, 50u);
  }
}

TEST(WakeProtocol, KeepsWakeUpsWhenBothSidesFence) {
  for (const auto& [waiters, signallers] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    EXPECT_EQ(explore(WakeModel(waiters, signallers, false, Fence::kSignaller)).stuck, 0u);
  }
}

TEST(WakeProtocol, LosesWakeUpsWithoutFence) {
  EXPECT_GT(explore(WakeModel(1, 1, false, Fence::kNone)).stuck, 0u);
  EXPECT_GT(explore(WakeModel(2, 1, false, Fence::kNone)).stuck, 0u);
}

TEST(WakeProtocol, LosesWakeUpsIfOnlySignallerFences) {
  EXPECT_GT(explore(WakeModel(1, 1, false, Fence::kSignallerAlone)).stuck, 0u);
}

TEST(WakeProtocol, ReleasesAllWaitersWhenSignalIsDestroyed) {
  EXPECT_EQ(explore(WakeModel(1, 0, true, Fence::kMembarrier)).stuck, 0u);
  EXPECT_EQ(explore(WakeModel(2, 0, true, Fence::kMembarrier)).stuck, 0u);
  EXPECT_EQ(explore(WakeModel(2, 1, true, Fence::kMembarrier)).stuck, 0u);
}

TEST(WakeProtocol, LosesWaiterThatIgnoresGeneration) {
  EXPECT_GT(explore(WakeModel(1, 0, true, Fence::kMembarrier, false)).stuck, 0u);
}

// -----------------------------------------------------------------------------------------------------------
// Producers that push one item each, and the dispatcher that must take all items.

class QueueModel {
 public:
  static constexpr int kMaxProducers = 3;
  using State = std::array<uint8_t, 5 + kMaxProducers>;

  QueueModel(int producers, bool looks_again) : producers_(producers), looks_again_(looks_again) {}

  State initial() const {
    State state{};
    state[kWord] = 1;
    return state;
  }

  bool finished(const State& state) const { return state[kTaken] == producers_; }

  void successors(const State& state, std::vector<State>& next) const {
    for (int producer = 0; producer < producers_; ++producer) {
      State stepped = state;
      if (produce(stepped, stepped[kProducers + producer])) next.push_back(stepped);
    }
    State stepped = state;
    if (!finished(state) && consume(stepped)) next.push_back(stepped);
  }

 private:
  enum : int { kPending, kTaken, kWord, kInKernel, kPc, kProducers };
  static constexpr uint8_t kAsleep = 0x80;

  static bool produce(State& state, uint8_t& pc) {
    enum : uint8_t { kPush, kPost, kWake, kDone };
    switch (pc) {
      case kPush:
        ++state[kPending];
        pc = kPost;
        return true;
      case kPost:
        pc = state[kWord] == (kAsleep | 1) ? kWake : kDone;
        state[kWord] = 0;
        return true;
      case kWake:
        state[kInKernel] = 0;
        pc = kDone;
        return true;
    }
    return false;
  }

  bool consume(State& state) const {
    uint8_t& pc = state[kPc];
    enum : uint8_t { kTake, kRearm, kLook, kPark, kSleep, kAwake };
    switch (pc) {
      case kTake:
        pc = state[kPending] == 0 ? kRearm : kTake;
        state[kTaken] = static_cast<uint8_t>(state[kTaken] + state[kPending]);
        state[kPending] = 0;
        return true;
      case kRearm:
        state[kWord] = 1;
        pc = looks_again_ ? kLook : kPark;
        return true;
      case kLook:
        pc = state[kPending] != 0 ? kTake : kPark;
        return true;
      case kPark:
        if ((state[kWord] & 1) == 0) {
          pc = kTake;
          return true;
        }
        state[kWord] |= kAsleep;
        pc = kSleep;
        return true;
      case kSleep:
        state[kInKernel] = state[kWord] == (kAsleep | 1);
        pc = kAwake;
        return true;
      case kAwake:
        if (state[kInKernel]) return false;
        pc = kPark;
        return true;
    }
    return false;
  }

  const int producers_;
  const bool looks_again_;
};

TEST(WakeProtocol, DispatcherTakesAllPushedItems) {
  for (int producers = 1; producers <= QueueModel::kMaxProducers; ++producers) {
    const auto result = explore(QueueModel(producers, true));
    EXPECT_EQ(result.stuck, 0u);
    EXPECT_GT(result.finished, 0u);
  }
}

TEST(WakeProtocol, DispatcherMissesPushWithoutLastCheck) {
  EXPECT_GT(explore(QueueModel(1, false)).stuck, 0u);
}

}  // namespace
}  // namespace rigel
