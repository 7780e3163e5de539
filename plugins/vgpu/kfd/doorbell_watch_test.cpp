// Doorbells that are stored to while the processors sleep, in each of the ways in which they are noticed.
#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

struct Way {
  const char* name;
  bool signals;
};

class Doorbells : public ::testing::TestWithParam<Way> {
 protected:
  static ProcessOptions options() {
    ProcessOptions o;
    o.signals = GetParam().signals;
    return o;
  }
  Client client{"gfx900:vram=64M", options()};
};

// What /proc says that may be done with the page at an address.
std::string rights_of(const void* page) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    const auto at = reinterpret_cast<uint64_t>(page);
    if (at >= begin && at < end) return rights;
  }
  return "";
}

TEST_P(Doorbells, WakeWhatSleeps) {
  ClientQueue queue(client, 0, false, false);
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4 * 3));
    signal.value().store(1);
    queue.barrier({}, signal.handle());
    signal.wait("a barrier");
  }
  client.release(memory);
}

TEST_P(Doorbells, ManyThreadsAtOnceWakeWhatSleeps) {
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

// While the compute engine is awake the page can be written to, and it looks for the other.
TEST_P(Doorbells, OfAnEngineThatSleepsAreSeenWhileAnotherIsAwake) {
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

TEST_P(Doorbells, ThatAreNobodysAreStoredToInVain) {
  ClientQueue queue(client, 0, false, false);
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  auto* const nobodys = reinterpret_cast<std::atomic<uint64_t>*>(client.doorbells(0) + 8 * 100);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
    nobodys->store(7);
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    signal.value().store(1);
    queue.barrier({}, signal.handle());
    signal.wait("a barrier");
  }
  client.release(memory);
}

INSTANTIATE_TEST_SUITE_P(, Doorbells, ::testing::Values(Way{"by_signal", true}, Way{"by_looking", false}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DoorbellPages, AreReadOnlyWhileEverybodySleepsIfSignalsWatchThem) {
  if (kThreadSanitizer || !catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
  Client client("gfx900:vram=64M");
  ClientQueue queue(client, 0, false, false);
  std::string rights;
  for (int i = 0; i < 1000 && rights != "r--s"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    rights = rights_of(client.doorbells(0));
  }
  EXPECT_EQ(rights, "r--s");
  const Client::Memory memory = client.share(4096);
  const ClientSignal signal(memory, 0);
  signal.value().store(1);
  queue.barrier({}, signal.handle());
  signal.wait("a barrier");
  client.release(memory);
}

}  // namespace
}  // namespace rigel::vgpu
