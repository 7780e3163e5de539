#include "core/signal/shared_signals.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "api/support/clock.hpp"
#include "api/support/testing/failing_requests.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_api.hpp"
#include "core/signal/testing/others_asleep.hpp"
#include "core/signal/wait.hpp"

namespace rigel {
namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

// The connection of the last request may still be closing.
bool descriptors_come_down_to(size_t count) {
  for (int tries = 0; tries < 1000 && open_descriptors() > count; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return open_descriptors() <= count;
}

// Two attachments in one process are as independent as those of two processes.
class SharedSignals : public ::testing::Test {
 protected:
  SharedSignals() { shared_signals::use_server(&server_); }
  ~SharedSignals() override { shared_signals::use_server(nullptr); }

  static hsa_signal_t create(int64_t value) {
    hsa_signal_t signal{};
    EXPECT_EQ(signal_api::create(value, 0, nullptr, HSA_AMD_SIGNAL_IPC, &signal), HSA_STATUS_SUCCESS);
    return signal;
  }
  static hsa_signal_t attach_to(hsa_signal_t signal) {
    hsa_amd_ipc_signal_t name;
    hsa_signal_t other{};
    EXPECT_EQ(signal_api::ipc_create(signal, &name), HSA_STATUS_SUCCESS);
    EXPECT_EQ(signal_api::ipc_attach(&name, &other), HSA_STATUS_SUCCESS);
    return other;
  }
  static Signal& of(hsa_signal_t signal) { return Signal::of_live(signal); }

  DescriptorServer server_;
};

TEST_F(SharedSignals, HaveDistinctGenerations) {
  const hsa_signal_t first = create(1);
  const uint32_t first_generation = of(first).abi.reserved3[0];
  ASSERT_EQ(signal_api::destroy(first), HSA_STATUS_SUCCESS);
  const hsa_signal_t second = create(1);
  EXPECT_NE(of(second).abi.reserved3[0], first_generation);
  const hsa_signal_t other = attach_to(second);
  EXPECT_EQ(of(other).abi.reserved3[0], of(second).abi.reserved3[0]) << "it is one signal";
  for (const hsa_signal_t signal : {second, other})
    EXPECT_EQ(signal_api::destroy(signal), HSA_STATUS_SUCCESS);
}

TEST_F(SharedSignals, ShareOneValueBetweenTwoHandles) {
  const hsa_signal_t one = create(5);
  const hsa_signal_t other = attach_to(one);
  EXPECT_NE(one.handle, other.handle);
  EXPECT_EQ(of(other).load(), 5);
  of(other).add(2);
  EXPECT_EQ(of(one).load(), 7);
  EXPECT_EQ(of(one).exchange(1), 7);
  EXPECT_EQ(signal_api::destroy(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(of(other).load(), 1) << "the others keep it";
  EXPECT_EQ(signal_api::destroy(other), HSA_STATUS_SUCCESS);
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(SharedSignals, HaveDistinctSlotsAfterOutOfMemory) {
  const size_t descriptors = open_descriptors();
  std::vector<Signal*> all;
  std::set<Signal*> places;
  while (all.size() < 600) {  // one slab has 512 slots
    Signal* signal = nullptr;
    for (int request = 0; signal == nullptr; ++request) {
      ASSERT_LT(request, 100);
      request_that_fails = request;
      signal = shared_signals::create(static_cast<int64_t>(all.size()), 0);
      request_that_fails = -1;
    }
    all.push_back(signal);
    ASSERT_TRUE(places.insert(signal).second) << "it has the place of another";
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->load(), static_cast<int64_t>(i));
    EXPECT_TRUE(shared_signals::destroy(*all[i]));
  }
  EXPECT_TRUE(descriptors_come_down_to(descriptors));
}
#endif

TEST_F(SharedSignals, WakeWaitersOnBothHandles) {
  const hsa_signal_t one = create(1);
  const hsa_signal_t other = attach_to(one);
  struct Sides {
    hsa_signal_t waited, stored;
  };
  for (const Sides& sides : {Sides{one, other}, {other, one}, {one, one}}) {
    of(one).store(1);
    std::thread waker([&] {
      testing::await_others_asleep();
      of(sides.stored).store<std::memory_order_release>(0);
    });
    EXPECT_EQ(wait(of(sides.waited), HSA_SIGNAL_CONDITION_EQ, 0), 0);
    waker.join();
  }
  signal_api::destroy(one);
  signal_api::destroy(other);
}

// Two processes, each of which sleeps until the other has changed the value. A lost wake-up would last for
// minutes, because neither process polls.
TEST_F(SharedSignals, WakeOtherProcessesWithoutPolling) {
  constexpr int64_t kRounds = 20'000;
  constexpr uint64_t kMinute = 60'000'000'000;
  const hsa_signal_t one = create(0);
  const hsa_signal_t other = attach_to(one);
  const auto sleep_until = [](hsa_signal_t signal, int64_t wanted) {
    ChangeNotifier* const notifier = shared_signals::notifier_of(of(signal));
    const std::atomic<uint32_t> word{0};
    for (;;) {
      ChangeListener listener;
      listener.listen(*notifier);
      if (of(signal).load<std::memory_order_acquire>() == wanted) return true;
      const uint64_t begin = system_time_ns();
      if (!listener.sleep(word, 0, kMinute)) return false;
      if (system_time_ns() - begin > kMinute / 2) return false;
    }
  };
  {
    ChangeListener listener;
    listener.listen(*shared_signals::notifier_of(of(one)));
    const std::atomic<uint32_t> word{1};
    if (!listener.sleep(word, 0, 0)) GTEST_SKIP() << "the kernel lets no thread sleep on several words";
  }
  const pid_t child = fork();
  if (child == 0) {
    bool woken = true;
    for (int64_t i = 0; i < kRounds && woken; ++i) {
      woken = sleep_until(other, 2 * i + 1);
      of(other).store<std::memory_order_release>(2 * i + 2);
    }
    _exit(woken ? 0 : 1);
  }
  bool woken = true;
  for (int64_t i = 0; i < kRounds && woken; ++i) {
    of(one).store<std::memory_order_release>(2 * i + 1);
    woken = sleep_until(one, 2 * i + 2);
  }
  EXPECT_TRUE(woken) << "at " << of(one).load();
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  signal_api::destroy(one);
  signal_api::destroy(other);
}

TEST_F(SharedSignals, WakeAllWaiters) {
  constexpr int kThreads = 6;
  constexpr int64_t kRounds = 500;
  const hsa_signal_t one = create(0);
  const hsa_signal_t other = attach_to(one);
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Signal& signal = of(thread % 2 == 0 ? one : other);
      for (int64_t round = 1; round <= kRounds; ++round) {
        EXPECT_GE(wait(signal, HSA_SIGNAL_CONDITION_GTE, round), round);
        ++arrived;
      }
    });
  }
  for (int64_t round = 1; round <= kRounds; ++round) {
    of(round % 2 == 0 ? one : other).store<std::memory_order_release>(round);
    while (arrived < kThreads * round) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  signal_api::destroy(one);
  signal_api::destroy(other);
}

TEST_F(SharedSignals, CallHandlersForChangesByOtherHandle) {
  AsyncDispatcher dispatcher;
  const hsa_signal_t one = create(1);
  const hsa_signal_t other = attach_to(one);
  std::atomic<int64_t> seen{-1};
  ASSERT_EQ(dispatcher.watch(
                of(one), HSA_SIGNAL_CONDITION_EQ, 9,
                [](hsa_signal_value_t value, void* place) {
                  *static_cast<std::atomic<int64_t>*>(place) = value;
                  return false;
                },
                &seen),
            HSA_STATUS_SUCCESS);
  of(other).store(9);
  while (seen != 9) std::this_thread::yield();
  signal_api::destroy(one);
  signal_api::destroy(other);
}

TEST_F(SharedSignals, ReleaseWaitersWhenDestroyed) {
  const hsa_signal_t one = create(1);
  const hsa_signal_t other = attach_to(one);
  std::thread waiter([&] { wait(of(one), HSA_SIGNAL_CONDITION_EQ, 0); });
  testing::await_others_asleep();
  EXPECT_EQ(signal_api::destroy(one), HSA_STATUS_SUCCESS);
  waiter.join();
  EXPECT_EQ(of(other).load(), 1);
  EXPECT_EQ(signal_api::destroy(other), HSA_STATUS_SUCCESS);
}

TEST_F(SharedSignals, AreInvalidAfterDestruction) {
  const hsa_signal_t one = create(1);
  hsa_amd_ipc_signal_t name;
  hsa_signal_t attached{};
  ASSERT_EQ(signal_api::ipc_create(one, &name), HSA_STATUS_SUCCESS);
  EXPECT_EQ(signal_api::destroy(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(signal_api::destroy(one), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(signal_api::ipc_create(one, &name), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(signal_api::ipc_attach(&name, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  of(one).store(3);  // a late access is harmless
  EXPECT_EQ(Signal::from_handle(one), nullptr);
}

TEST_F(SharedSignals, NameRequiresIpcAttribute) {
  hsa_signal_t plain{};
  hsa_amd_ipc_signal_t name{};
  hsa_signal_t attached{};
  ASSERT_EQ(signal_api::create(1, 0, nullptr, 0, &plain), HSA_STATUS_SUCCESS);
  EXPECT_EQ(signal_api::ipc_create(plain, &name), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::ipc_attach(&name, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(signal_api::ipc_attach(nullptr, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  signal_api::destroy(plain);
  const hsa_signal_t one = create(1);
  EXPECT_EQ(signal_api::ipc_create(one, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  signal_api::destroy(one);
}

TEST_F(SharedSignals, AttachRejectsOtherDescriptors) {
  const auto ticket = server_.offer(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING), {});
  ASSERT_TRUE(ticket);
  const auto name = ipc_name::encode(ipc_name::Kind::kSignalTicket, ipc_name::ByTicket{.ticket = *ticket});
  hsa_signal_t attached{};
  EXPECT_EQ(signal_api::ipc_attach(&name, &attached), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(SharedSignals, CloseDescriptorsOnDestruction) {
  const auto round = [] {
    const hsa_signal_t one = create(1);
    const hsa_signal_t other = attach_to(one);
    signal_api::destroy(one);
    signal_api::destroy(other);
  };
  round();
  const size_t before = open_descriptors();
  for (int i = 0; i < 2000; ++i) round();
  EXPECT_TRUE(descriptors_come_down_to(before)) << open_descriptors();
}

TEST_F(SharedSignals, AreCreatedAndDestroyedDuringOtherWaits) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        const hsa_signal_t one = create(1);
        const hsa_signal_t other = attach_to(one);
        std::thread waker([&] { of(other).store<std::memory_order_release>(0); });
        EXPECT_EQ(wait(of(one), HSA_SIGNAL_CONDITION_EQ, 0), 0);
        waker.join();
        signal_api::destroy(one);
        signal_api::destroy(other);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rigel
