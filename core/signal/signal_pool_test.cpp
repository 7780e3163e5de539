#include "core/signal/signal_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace rigel {
namespace {

TEST(SignalPool, FindsLiveSignalByHandle) {
  Signal* signal = signal_pool::create(1);
  ASSERT_NE(signal, nullptr);
  EXPECT_EQ(Signal::from_handle(signal->handle()), signal);
  EXPECT_TRUE(signal_pool::destroy(*signal));
  EXPECT_EQ(Signal::from_handle(signal->handle()), nullptr);
}

TEST(SignalPool, RejectsForeignHandles) {
  Signal* signal = signal_pool::create(1);
  const uint64_t handle = signal->handle().handle;
  EXPECT_EQ(Signal::from_handle({0}), nullptr);
  EXPECT_EQ(Signal::from_handle({1}), nullptr);
  EXPECT_EQ(Signal::from_handle({handle + 8}), nullptr) << "misaligned";
  EXPECT_EQ(Signal::from_handle({handle + 64}), nullptr) << "the middle of a signal";
  EXPECT_EQ(Signal::from_handle({UINT64_MAX & ~uint64_t{127}}), nullptr);
  alignas(128) amd_signal_t made_up{};
  made_up.kind = AMD_SIGNAL_KIND_USER;
  EXPECT_EQ(Signal::from_handle({reinterpret_cast<uint64_t>(&made_up)}), nullptr);
  // The slab contains many slots that are not signals yet.
  const uint64_t last_of_slab = (handle | (signal_pool::kSlabBytes - 1)) & ~uint64_t{127};
  EXPECT_EQ(Signal::from_handle({last_of_slab}), nullptr);
  signal_pool::destroy(*signal);
}

TEST(SignalPool, DestroysOnce) {
  Signal* signal = signal_pool::create(1);
  EXPECT_TRUE(signal_pool::destroy(*signal));
  EXPECT_FALSE(signal_pool::destroy(*signal));
  Signal* first = signal_pool::create(1);
  Signal* second = signal_pool::create(2);
  EXPECT_NE(first, second) << "a signal that was destroyed twice must not be handed out twice";
  signal_pool::destroy(*first);
  signal_pool::destroy(*second);
}

TEST(SignalPool, DestroySucceedsInOneOfManyThreads) {
  for (int round = 0; round < 200; ++round) {
    Signal* signal = signal_pool::create(1);
    std::atomic<int> successes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] { successes += signal_pool::destroy(*signal); });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(successes, 1);
  }
}

TEST(SignalPool, ReusesDestroyedSignalAsNew) {
  Signal* signal = signal_pool::create(1, kSignalGpuOnly);
  signal->abi.event_mailbox_ptr = 1;
  signal->abi.event_id = 2;
  signal->abi.start_ts = 3;
  signal->abi.end_ts = 4;
  signal->copy_start_ts = 5;
  signal->copy_end_ts = 6;
  const uint32_t first_generation = signal->abi.reserved3[0];
  signal_pool::destroy(*signal);
  Signal* again = signal_pool::create(9);
  ASSERT_EQ(again, signal) << "the last one freed is the first one used";
  EXPECT_EQ(again->load(), 9);
  EXPECT_EQ(again->abi.kind, AMD_SIGNAL_KIND_USER);
  EXPECT_EQ(again->abi.event_mailbox_ptr, 0u);
  EXPECT_EQ(again->abi.event_id, 0u);
  EXPECT_EQ(again->abi.start_ts, 0u);
  EXPECT_EQ(again->abi.end_ts, 0u);
  EXPECT_EQ(again->copy_start_ts, 0u);
  EXPECT_EQ(again->copy_end_ts, 0u);
  EXPECT_EQ(again->attributes.load(), 0u);
  EXPECT_NE(again->abi.reserved3[0], first_generation) << "by which backends tell them apart";
  signal_pool::destroy(*again);
}

TEST(SignalPool, IgnoresStoresToDestroyedSignal) {
  Signal* signal = signal_pool::create(3);
  signal_pool::destroy(*signal);
  ::testing::internal::CaptureStderr();
  signal->store(4);
  signal->add(1);
  EXPECT_EQ(signal->exchange(5), 0);
  signal->notify();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("destroyed"), std::string::npos);
  EXPECT_EQ(signal->load(), 3);
}

TEST(SignalPool, GrowsPastOneSlab) {
  std::vector<Signal*> signals;
  for (size_t i = 0; i < 3 * signal_pool::kSignalsPerSlab; ++i) {
    signals.push_back(signal_pool::create(static_cast<int64_t>(i)));
    ASSERT_NE(signals.back(), nullptr);
  }
  EXPECT_EQ(std::set<Signal*>(signals.begin(), signals.end()).size(), signals.size());
  for (size_t i = 0; i < signals.size(); ++i) {
    ASSERT_EQ(signals[i]->load(), static_cast<int64_t>(i));
    ASSERT_EQ(Signal::from_handle(signals[i]->handle()), signals[i]);
  }
  for (Signal* signal : signals) ASSERT_TRUE(signal_pool::destroy(*signal));
}

TEST(SignalPool, CapacityIsMaximumOfLiveSignals) {
  std::vector<Signal*> alive;
  for (int i = 0; i < 1000; ++i) alive.push_back(signal_pool::create(i));
  const size_t before = signal_pool::capacity();
  for (int i = 0; i < 1'000'000; ++i) {
    Signal*& slot = alive[static_cast<size_t>(i) * 7 % alive.size()];
    signal_pool::destroy(*slot);
    slot = signal_pool::create(i);
  }
  EXPECT_EQ(signal_pool::capacity(), before);
  for (Signal* signal : alive) signal_pool::destroy(*signal);
}

TEST(SignalPool, ReusesSignalsFreedByEndedThreads) {
  const auto live_and_end = [] {
    std::vector<Signal*> signals;
    for (int i = 0; i < 100; ++i) signals.push_back(signal_pool::create(i));
    for (Signal* signal : signals) signal_pool::destroy(*signal);
  };
  std::thread(live_and_end).join();
  const size_t before = signal_pool::capacity();
  for (int i = 0; i < 100; ++i) std::thread(live_and_end).join();
  EXPECT_EQ(signal_pool::capacity(), before);
}

TEST(SignalPool, ReusesSignalsFreedByOtherThread) {
  constexpr int kSignals = 10'000;  // each takes two time slices of the scheduler on a busy machine
  const size_t before = signal_pool::capacity();
  std::atomic<Signal*> handed_over{nullptr};
  std::thread destroyer([&] {
    for (int i = 0; i < kSignals; ++i) {
      Signal* signal;
      while ((signal = handed_over.exchange(nullptr)) == nullptr) std::this_thread::yield();
      if (!signal_pool::destroy(*signal)) ADD_FAILURE() << "signal " << i;
    }
  });
  for (int i = 0; i < kSignals; ++i) {
    Signal* expected = nullptr;
    Signal* const signal = signal_pool::create(i);
    while (!handed_over.compare_exchange_weak(expected, signal)) {
      expected = nullptr;
      std::this_thread::yield();
    }
  }
  destroyer.join();
  EXPECT_LE(signal_pool::capacity(), before + 96) << "what the other keeps, and what is made at once";
}

struct FreedAtThreadEnd {
  Signal* signal = nullptr;
  ~FreedAtThreadEnd() {
    if (signal != nullptr) signal_pool::destroy(*signal);
  }
};

TEST(SignalPool, ReusesSignalsFreedDuringThreadEnd) {
  const auto end = [] {
    // destroyed after the pool's own thread-local data, which is created later
    static thread_local FreedAtThreadEnd last;
    last.signal = signal_pool::create(1);
    signal_pool::destroy(*signal_pool::create(2));
  };
  std::thread(end).join();
  const size_t before = signal_pool::capacity();
  for (int i = 0; i < 200; ++i) std::thread(end).join();
  EXPECT_EQ(signal_pool::capacity(), before);
}

TEST(SignalPool, GivesEachSignalToOneThread) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<int> violations{0};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&violations, thread] {
      std::vector<Signal*> mine;
      for (int i = 0; i < 20'000; ++i) {
        if (mine.size() < 50 && i % 3 != 0) {
          mine.push_back(signal_pool::create(thread));
        } else if (!mine.empty()) {
          const size_t victim = static_cast<size_t>(i) % mine.size();
          if (mine[victim]->exchange(-1) != thread) ++violations;
          if (!signal_pool::destroy(*mine[victim])) ++violations;
          mine[victim] = mine.back();
          mine.pop_back();
        }
      }
      for (Signal* signal : mine) {
        if (signal->load() != thread) ++violations;
        signal_pool::destroy(*signal);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(violations, 0);
}

struct TestSlabs {
  static void* allocate(void* context) noexcept {
    auto& self = *static_cast<TestSlabs*>(context);
    ++self.allocated;
    if (self.empty) return nullptr;
    void* slab =
        // never freed, as the contract requires
        std::aligned_alloc(signal_pool::kSlabBytes, signal_pool::kSlabBytes);
    std::fill_n(static_cast<std::byte*>(slab), signal_pool::kSlabBytes, std::byte{0});
    self.slab = slab;
    return slab;
  }
  static void retire(void* context, void* slab) noexcept {
    auto& self = *static_cast<TestSlabs*>(context);
    self.retired = slab;
  }
  int allocated = 0;
  bool empty = false;
  void* slab = nullptr;
  void* retired = nullptr;
};

TEST(SignalPool, TakesSlabsFromInstalledAllocator) {
  Signal* old_one = signal_pool::create(1);
  Signal* old_two = signal_pool::create(2);
  signal_pool::destroy(*old_two);
  TestSlabs slabs;
  const signal_pool::SlabAllocator allocator{TestSlabs::allocate, TestSlabs::retire, &slabs, false};
  signal_pool::install_allocator(&allocator);

  Signal* young = signal_pool::create(3);
  ASSERT_NE(young, nullptr);
  EXPECT_EQ(slabs.allocated, 1);
  const auto slab = reinterpret_cast<uintptr_t>(slabs.slab);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(young) / signal_pool::kSlabBytes, slab / signal_pool::kSlabBytes);
  EXPECT_EQ(Signal::from_handle(young->handle()), young);
  EXPECT_EQ(Signal::from_handle(old_one->handle()), old_one) << "signals outlive the change";

  signal_pool::destroy(*old_one);
  Signal* younger = signal_pool::create(4);
  EXPECT_NE(younger, old_one) << "an old slab's signal must not come back";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(younger) / signal_pool::kSlabBytes, slab / signal_pool::kSlabBytes);

  signal_pool::install_allocator(nullptr);
  EXPECT_EQ(slabs.retired, slabs.slab);
  signal_pool::destroy(*young);
  signal_pool::destroy(*younger);
}

TEST(SignalPool, ReturnsNullWithoutMemory) {
  TestSlabs slabs;
  slabs.empty = true;
  const signal_pool::SlabAllocator allocator{TestSlabs::allocate, nullptr, &slabs, false};
  signal_pool::install_allocator(&allocator);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(signal_pool::create(1), nullptr);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("signals: out of memory"), std::string::npos);
  slabs.empty = false;
  Signal* signal = signal_pool::create(1);
  EXPECT_NE(signal, nullptr) << "a failure is not for ever";
  signal_pool::destroy(*signal);
  signal_pool::install_allocator(nullptr);
}

TEST(SignalPool, StartsEmptyInForkedChild) {
  Signal* parents = signal_pool::create(7);
  parents->wake_lock.lock();  // as if another thread had held it during the fork
  parents->attention.fetch_or(Signal::kWaiters);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    signal_pool::reset_after_fork();
    if (Signal::from_handle(parents->handle()) != nullptr) _exit(1);
    parents->store(8);  // invalid, but harmless
    Signal* own = signal_pool::create(1);
    if (own == nullptr || own == parents) _exit(2);
    if (Signal::from_handle(own->handle()) != own) _exit(3);
    own->store(2);
    _exit(signal_pool::destroy(*own) ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  parents->attention.fetch_and(~Signal::kWaiters);
  parents->wake_lock.unlock();
  EXPECT_EQ(parents->load(), 7);
  signal_pool::destroy(*parents);
}

}  // namespace
}  // namespace rigel
