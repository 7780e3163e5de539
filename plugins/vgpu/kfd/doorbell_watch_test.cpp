// Stores to doorbells while engines sleep, noticed by signals and polling; doorbell calls.
#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

struct Mode {
  const char* name;
  bool signals;
};

class DoorbellStores : public ::testing::TestWithParam<Mode> {
 protected:
  static ProcessOptions options() {
    ProcessOptions o;
    o.signals = GetParam().signals;
    return o;
  }
  Client client{"gfx900:vram=64M", options()};
};

// Returns the access rights of the page at an address, from /proc.
std::string rights_of(const void* page) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, rights) != 3) continue;
    const auto at = reinterpret_cast<uint64_t>(page);
    if (at >= start && at < end) return rights;
  }
  return "";
}

TEST_P(DoorbellStores, WakeSleepingEngine) {
  ClientQueue queue(client, 0, false, false);
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  for (int i = 0; i < 20; ++i) {
    // The delays vary from none to falling asleep: an engine that is awake is not woken and must poll the
    // doorbell.
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4 * 3));
    signal.value().store(1);
    queue.barrier({}, signal.handle());
    signal.wait("a barrier");
  }
  client.release(memory);
}

TEST_P(DoorbellStores, WakeSleepingEngineFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ClientQueue queue(client, 0, false, false);
      const Client::Memory memory = client.share(4096);
      const ClientSignal signal(memory, 0);
      for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        signal.value().store(1);
        queue.barrier({}, signal.handle());
        signal.wait("a barrier");
      }
      client.release(memory);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// While the compute engine is awake, the page is writable, and this engine polls for the other.
TEST_P(DoorbellStores, WakeSleepingEngineWhileAnotherIsAwake) {
  ClientQueue compute(client, 0, false, false), copies(client, 0, true, false);
  const Client::Memory memory = client.share(8192);
  const ClientSignal barrier(memory, 0), copied(memory, 1);
  for (int i = 0; i < 20; ++i) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(i % 3);
    do {
      barrier.value().store(1);
      compute.barrier({}, barrier.handle());
      barrier.wait("a barrier");
    } while (std::chrono::steady_clock::now() < end);
    copied.value().store(1);
    copies.copy(memory.va() + 4096, memory.va() + 4100, 4, copied);
    copied.wait("a copy");
  }
  client.release(memory);
}

TEST_P(DoorbellStores, ToUnusedSlotsAreIgnored) {
  ClientQueue queue(client, 0, false, false);
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  auto* const unused_doorbell = reinterpret_cast<std::atomic<uint64_t>*>(client.doorbells(0) + 8 * 100);
  for (int i = 0; i < 10; ++i) {
    // The delays vary from none to falling asleep, here and below.
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
    unused_doorbell->store(7);
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    signal.value().store(1);
    queue.barrier({}, signal.handle());
    signal.wait("a barrier");
  }
  client.release(memory);
}

INSTANTIATE_TEST_SUITE_P(, DoorbellStores,
                         ::testing::Values(Mode{"by_signal", true}, Mode{"by_looking", false}),
                         [](const auto& row) { return std::string(row.param.name); });

void complete_a_barrier(Client& client, ClientQueue& queue) {
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  signal.value().store(1);
  queue.barrier({}, signal.handle());
  signal.wait("a barrier");
  client.release(memory);
}

TEST(DoorbellPage, IsReadOnlyWhileEnginesSleepWithSignals) {
  if (kThreadSanitizer || !catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
  Client client("gfx900:vram=64M");
  ClientQueue queue(client, 0, false, false);
  std::string rights;
  // The protection of a page is not reported, so poll for it.
  for (int i = 0; i < 1000 && rights != "r--s"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    rights = rights_of(client.doorbells(0));
  }
  EXPECT_EQ(rights, "r--s");
  complete_a_barrier(client, queue);
}

// A doorbell page as mapped by the program and by the device, watched by signals.
class DoorbellSignalHandler : public ::testing::Test {
 protected:
  static constexpr size_t kPage = 4096;

  void SetUp() override {
    if (kThreadSanitizer || !catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
    const int file = static_cast<int>(syscall(SYS_memfd_create, "doorbells", 0));
    ASSERT_EQ(ftruncate(file, kPage), 0);
    const auto map = [&] {
      return static_cast<std::byte*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    };
    program_ = map(), device_ = map();
    close(file);
    std::memset(device_, 0xff, kPage);
    watch_.emplace(
        log_, [this](uint32_t, uint32_t engine) { woken_.push_back(engine); }, true);
    watch_->add_mapping(0, program_, kPage, 0, device_);
    watch_->add_slot(0, 1, device_ + 8, 8, 8);
    watch_->engine_sleeps(0);
    woken_.clear();
    woken_.reserve(100);  // the signal handler appends to it
  }
  void TearDown() override {
    if (!watch_) return;
    watch_.reset();
    ::munmap(program_, kPage);
    ::munmap(device_, kPage);
  }
  std::atomic<uint64_t>& doorbell() { return *reinterpret_cast<std::atomic<uint64_t>*>(program_ + 8); }
  uint64_t device_value() const { return *reinterpret_cast<std::atomic<uint64_t>*>(device_ + 8); }

  Log log_{"none", ""};
  std::byte *program_ = nullptr, *device_ = nullptr;
  std::vector<uint32_t> woken_;
  std::optional<DoorbellWatch> watch_;
};

TEST_F(DoorbellSignalHandler, ExecutesStoreAndKeepsPageReadOnly) {
  doorbell().store(5, std::memory_order_relaxed);
  EXPECT_EQ(device_value(), 5u);
  EXPECT_EQ(woken_, std::vector<uint32_t>{1});
  doorbell().store(6);  // compiled to XCHG
  EXPECT_EQ(device_value(), 6u);
  EXPECT_EQ(doorbell().exchange(7), 6u);
  EXPECT_EQ(device_value(), 7u);
  EXPECT_EQ(woken_, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(rights_of(program_), "r--s");
}

TEST_F(DoorbellSignalHandler, UnprotectsPageAfterRepeatedStores) {
  watch_->engine_wakes(0);
  uint64_t stores = 0;
  while (rights_of(program_) == "r--s" && stores < 100) {
    doorbell().store(++stores);
    EXPECT_EQ(device_value(), stores);
  }
  EXPECT_EQ(rights_of(program_), "rw-s");
  EXPECT_GT(stores, 1u);
  EXPECT_EQ(woken_.size(), stores);
  doorbell().store(1000);
  EXPECT_EQ(woken_.size(), stores) << "the processor looks itself";
  watch_->engine_sleeps(0);
  EXPECT_EQ(rights_of(program_), "r--s");
  doorbell().store(1001);
  EXPECT_EQ(device_value(), 1001u);
  EXPECT_EQ(rights_of(program_), "r--s") << "it begins again";
}

TEST_F(DoorbellSignalHandler, UnprotectsPageForUnknownInstruction) {
  doorbell().fetch_and(0xff, std::memory_order_relaxed);
  EXPECT_EQ(device_value(), 0xffu);
  EXPECT_EQ(woken_, std::vector<uint32_t>{1});
  EXPECT_EQ(rights_of(program_), "rw-s");
}

// A store for another engine, by a kernel that this engine has just executed.
TEST_F(DoorbellSignalHandler, LeavesDeviceStoresToNextSleepingEngine) {
  auto& slot = *reinterpret_cast<std::atomic<uint64_t>*>(device_ + 8);
  doorbell().store(5);
  watch_->engine_wakes(0);
  slot = ~uint64_t{0};  // the engine has read the doorbell
  slot = 6;
  woken_.clear();
  ASSERT_EQ(rights_of(program_), "r--s");
  watch_->engine_sleeps(0);
  EXPECT_EQ(woken_, std::vector<uint32_t>{1});
}

TEST_F(DoorbellSignalHandler, UnprotectsPageIfProgramReplacesHandler) {
  struct sigaction default_action {
  }, installed{};
  default_action.sa_handler = SIG_DFL;
  ASSERT_EQ(sigaction(SIGSEGV, &default_action, &installed), 0);
  watch_->engine_sleeps(0);
  EXPECT_EQ(rights_of(program_), "rw-s");
  ASSERT_EQ(sigaction(SIGSEGV, &installed, nullptr), 0);
  watch_->engine_wakes(0);
}

TEST_F(DoorbellSignalHandler, WakesAllEnginesForUnusedSlot) {
  reinterpret_cast<std::atomic<uint32_t>*>(program_ + 512)->store(3, std::memory_order_relaxed);
  EXPECT_EQ(*reinterpret_cast<std::atomic<uint32_t>*>(device_ + 512), 3u);
  EXPECT_EQ(woken_, std::vector<uint32_t>{DoorbellWatch::kAllEngines});
}

// Threads store while the watch is destroyed: it waits for threads in the handler.
TEST_F(DoorbellSignalHandler, HandlesStoresWhileWatchIsDestroyed) {
  std::atomic<bool> end{false};
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto* const mine = reinterpret_cast<std::atomic<uint64_t>*>(program_ + 1024 + 64 * t);
      ++running;
      for (uint64_t i = 0; !end; ++i) mine->store(i, std::memory_order_relaxed);
    });
  }
  while (running != 3) std::this_thread::yield();
  watch_.reset();
  EXPECT_EQ(rights_of(program_), "rw-s");
  end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(host_faults_are_caught()) << "no store was taken for the program's own fault";
}

TEST(DoorbellPage, IsPolledBeforeWaitForEvents) {
  Log log("none", "");
  std::atomic<int> wakes{0};
  DoorbellWatch watch(
      log, [&](uint32_t, uint32_t) { ++wakes; }, false);
  std::atomic<uint64_t> slot{~uint64_t{0}};
  // Below vm.mmap_min_addr, so that no stack or heap can be there and become read-only.
  auto* const unmapped_address = reinterpret_cast<void*>(0x1000);
  watch.add_slot(0, 1, &slot, 0, 8);
  watch.add_mapping(0, unmapped_address, 4096, 0, static_cast<std::byte*>(unmapped_address));
  watch.engine_sleeps(0);
  int noticed = 0;
  for (int i = 0; i < 20; ++i) {
    slot.store(7);
    const int before = wakes;
    watch.poll_now();
    noticed += wakes > before ? 1 : 0;
    slot.store(~uint64_t{0});
  }
  EXPECT_EQ(noticed, 20);
  watch.engine_wakes(0);
  watch.remove_slot(0, &slot);
}

// Doorbell calls ------------------------------------------------------------------------------------------

TEST(DoorbellCalls, WakeSleepingEngine) {
  Client client("gfx900:vram=64M");
  ClientQueue queue(client, 0, false, true), copies(client, 0, true, true);
  const Client::Memory memory = client.share(4096);
  const ClientSignal done(memory, 0);
  for (int i = 0; i < 50; ++i) {
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i % 5));
    done.value().store(2);
    queue.barrier({}, done.handle());
    copies.copy(memory.va() + 2048, memory.va() + 1024, 4, done);
    done.wait("a barrier and a copy");
  }
  client.release(memory);
}

// Threads ring while the queue is destroyed, its place is reused, and the virtual system is destroyed.
TEST(DoorbellCalls, AreIgnoredAfterQueueOrSystemIsDestroyed) {
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  std::vector<Process::DoorbellHook> hooks;
  std::mutex mutex;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (uint64_t value = 0; !end.load(std::memory_order_relaxed); ++value) {
        Process::DoorbellHook hook;
        {
          const std::lock_guard lock(mutex);
          if (!hooks.empty()) hook = hooks[value % hooks.size()];
        }
        for (int i = 0; i < 100 && hook.ring != nullptr; ++i) hook.ring(hook.context, value % 4);
      }
    });
  }
  for (int round = 0; round < 3; ++round) {
    Client client("gfx900:vram=64M");
    for (int i = 0; i < 20; ++i) {
      ClientQueue queue(client, 0, i % 2 != 0, true);
      {
        const std::lock_guard lock(mutex);
        hooks.push_back(queue.hook());
      }
      if (i % 2 != 0) continue;
      complete_a_barrier(client, queue);
    }
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rigel::vgpu
