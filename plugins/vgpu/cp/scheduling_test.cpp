// Engines and many queues: random graphs of barriers compared with a reference, in seeded orders and on
// threads; priorities; sleeping and waking; queues that are destroyed while busy.
#include <chrono>
#include <random>

#include "plugins/vgpu/cp/test_device.hpp"

namespace rigel::vgpu::testing {
namespace {

constexpr uint32_t kQueues = 8;
constexpr uint32_t kPackets = 200;

/// Packets over several queues. A packet may depend on signals of earlier packets on any queue, so the graph
/// has no cycles, even with the order within queues. Some packets also wait for signals that the host sets.
struct Graph {
  struct Node {
    uint32_t queue;
    bool any;                        // barrier-OR
    std::vector<uint32_t> on_nodes;  // signals of other packets
    int on_host = -1;                // a signal that the host sets
  };
  std::vector<Node> nodes;
  uint32_t host_signals = 0;

  static Graph random(std::mt19937_64& random) {
    Graph graph;
    for (uint32_t i = 0; i < kPackets; ++i) {
      Node node{static_cast<uint32_t>(random() % kQueues), random() % 4 == 0, {}, -1};
      for (uint32_t n = random() % 5; n > 0 && i > 0; --n) {
        node.on_nodes.push_back(static_cast<uint32_t>(random() % i));
      }
      if (random() % 10 == 0) node.on_host = static_cast<int>(graph.host_signals++);
      graph.nodes.push_back(std::move(node));
    }
    return graph;
  }
};

/// A graph on a device. Completion signals start at 1.
class Placed {
 public:
  Placed(const Graph& graph, FakeBus& bus, CommandProcessor& cp, uint32_t gfx)
      : graph_(graph), signals_(bus, graph.nodes.size() + graph.host_signals + 1) {
    for (uint32_t i = 0; i < kQueues; ++i) {
      queues_.push_back(std::make_unique<TestAqlQueue>(bus, cp, gfx, i, 256, i % 3));
    }
    for (size_t i = 0; i < graph.nodes.size() + graph.host_signals; ++i) signals_.set(i, 1);
    order_.assign(graph.nodes.size(), 0);
  }

  void submit(uint32_t i) {
    const Graph::Node& node = graph_.nodes[i];
    aql::Packet packet = barrier_packet({}, signals_.handle(i), i % 2 != 0,
                                        node.any ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND);
    size_t word = 2;
    for (const uint32_t dependency : node.on_nodes)
      set_quad(packet, word, signals_.handle(dependency)), word += 2;
    if (node.on_host >= 0) set_quad(packet, word, host_signal(static_cast<uint32_t>(node.on_host)));
    queues_[node.queue]->submit(packet);
  }
  void set_host(uint32_t i) { signals_.set(graph_.nodes.size() + i, 0); }
  bool done(uint32_t i) const { return signals_.value(i) == 0; }

  /// Checks that exactly those packets are complete that can be, for the host signals set. This is the
  /// reference.
  void expect_closure(const std::vector<bool>& host) const {
    std::vector<bool> reference(graph_.nodes.size());
    std::vector<bool> blocked(kQueues);
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Graph::Node& node = graph_.nodes[i];
      size_t given = node.on_nodes.size(), met = 0;
      for (const uint32_t dependency : node.on_nodes) met += reference[dependency] ? 1 : 0;
      if (node.on_host >= 0) ++given, met += host[static_cast<size_t>(node.on_host)] ? 1 : 0;
      const bool ready = node.any ? given == 0 || met != 0 : met == given;
      reference[i] = ready && !blocked[node.queue];
      blocked[node.queue] = blocked[node.queue] || !ready;
      ASSERT_EQ(done(i), reference[i]) << "packet " << i;
    }
  }

 private:
  uint64_t host_signal(uint32_t i) const { return signals_.handle(graph_.nodes.size() + i); }

  const Graph& graph_;
  Signals signals_;
  std::vector<std::unique_ptr<TestAqlQueue>> queues_;
  std::vector<uint32_t> order_;
};

class BarrierGraph : public ::testing::TestWithParam<uint32_t> {};

TEST_P(BarrierGraph, CompletedPacketsMatchReferenceInAnyOrder) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = Graph::random(random);
    FakeBus bus;
    NoShaderCores none;
    CommandProcessor cp(manual(GetParam(), seed), bus, none);
    Placed placed(graph, bus, cp, GetParam());
    std::vector<bool> host(graph.host_signals);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      placed.submit(i);
      if (random() % 3 == 0) cp.run(random() % 4);
    }
    cp.run();
    placed.expect_closure(host);
    for (uint32_t i = 0; i < graph.host_signals; ++i) {
      host[i] = true;
      placed.set_host(i);
      if (random() % 2 != 0) continue;
      cp.run();
      placed.expect_closure(host);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
    cp.run();
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) ASSERT_TRUE(placed.done(i)) << seed << " " << i;
  }
}

TEST_P(BarrierGraph, CompletesOnWorkerThreads) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed + 100);
    const Graph graph = Graph::random(random);
    FakeBus bus;
    NoShaderCores none;
    CommandProcessor cp(threaded(GetParam()), bus, none);
    Placed placed(graph, bus, cp, GetParam());
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) placed.submit(i);
    for (uint32_t i = 0; i < graph.host_signals; ++i) placed.set_host(i);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      ASSERT_TRUE(eventually([&] { return placed.done(i); })) << seed << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, BarrierGraph, ::testing::Values(kGfx8, kGfx9, kGfx103, kGfx11, kGfx12),
                         generation_name);

TEST(Engine, OrderDependsOnlyOnSeed) {
  const auto history = [](uint64_t seed) {
    FakeBus bus;
    bus.traces = true;
    NoShaderCores none;
    CommandProcessor cp(manual(kGfx9, seed), bus, none);
    std::vector<std::unique_ptr<TestAqlQueue>> queues;
    for (uint32_t i = 0; i < 4; ++i) queues.push_back(std::make_unique<TestAqlQueue>(bus, cp, kGfx9, i));
    for (int n = 0; n < 20; ++n) {
      for (const auto& queue : queues) queue->submit(barrier_packet({}));
    }
    cp.run();
    return bus.lines();
  };
  EXPECT_EQ(history(3), history(3));
  EXPECT_NE(history(3), history(4));
}

TEST(Engine, HigherPriorityRunsFirst) {
  FakeBus bus;
  bus.traces = true;
  NoShaderCores none;
  CommandProcessor cp(manual(kGfx9, 7), bus, none);
  TestAqlQueue low_queue(bus, cp, kGfx9, 1, 64, 3), high_queue(bus, cp, kGfx9, 2, 64, 11);
  for (int i = 0; i < 10; ++i) {
    low_queue.submit(barrier_packet({}));
    high_queue.submit(barrier_packet({}));
  }
  cp.run();
  const auto lines = bus.lines();
  ASSERT_EQ(lines.size(), 20u);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(lines[i].rfind("queue 2", 0), 0u) << lines[i];
}

TEST(Engine, UpdateChangesPriority) {
  FakeBus bus;
  bus.traces = true;
  NoShaderCores none;
  CommandProcessor cp(manual(kGfx9, 7), bus, none);
  TestAqlQueue first(bus, cp, kGfx9, 1, 64, 3), second(bus, cp, kGfx9, 2, 64, 11);
  ASSERT_EQ(cp.update_queue(1, 0, 0, 15, 100), QueueRequestError::kNone);
  first.submit(barrier_packet({}));
  second.submit(barrier_packet({}));
  cp.run();
  EXPECT_EQ(bus.lines().at(0).rfind("queue 1", 0), 0u);
}

TEST(Engine, LowPriorityRunsBesideBusyHighPriority) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  // A buffer that chains to itself keeps the queue of high priority busy for ever.
  TestWordQueue busy(bus, cp, kGfx9, QueueKind::kPm4, 1);
  ASSERT_EQ(cp.update_queue(1, 0, 0, 15, 100), QueueRequestError::kNone);
  const Buffer ib = bus.allocate(64);
  const uint32_t words[] = {0xc0023f00, low(ib.va), high(ib.va), 4 | 1u << 20};
  std::memcpy(ib.host, words, sizeof words);
  busy.submit({words[0], words[1], words[2], words[3]});
  TestAqlQueue low_priority(bus, cp, kGfx9, 2, 64, 0);
  Signals signals(bus, 1);
  signals.set(0, 1);
  low_priority.submit(barrier_packet({}, signals.handle(0)));
  EXPECT_TRUE(eventually([&] { return signals.value(0) == 0; }));
  EXPECT_EQ(cp.destroy_queue(1), QueueRequestError::kNone);
}

TEST(Engine, BlockedQueueDoesNotBlockOthers) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  Signals signals(bus, 3);
  for (size_t i = 0; i < 3; ++i) signals.set(i, 1);
  TestAqlQueue blocked(bus, cp, kGfx9, 1, 64, 15), free(bus, cp, kGfx9, 2, 64, 0);
  TestWordQueue polling(bus, cp, kGfx9, QueueKind::kSdma, 3), copying(bus, cp, kGfx9, QueueKind::kSdma, 4);
  const Buffer memory = bus.allocate(64);
  blocked.submit(barrier_packet({signals.handle(0)}, signals.handle(1)));
  polling.submit({8 | 3u << 28 | 1u << 31, low(memory.va), high(memory.va), 1, 1, 0});
  free.submit(barrier_packet({}, signals.handle(2)));
  copying.submit({5, low(memory.va + 8), high(memory.va), 6});
  EXPECT_TRUE(eventually([&] { return signals.value(2) == 0; }));
  EXPECT_TRUE(eventually([&] { return copying.drained(); }));
  EXPECT_EQ(signals.value(1), 1);
  signals.set(0, 0);
  std::atomic_ref<uint32_t>(*memory.at<uint32_t>()).store(1);
  EXPECT_TRUE(eventually([&] { return signals.value(1) == 0 && polling.drained(); }));
}

TEST(Engine, SdmaAndComputeQueuesWaitForEachOther) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  Signals signals(bus, 3);
  TestAqlQueue compute(bus, cp, kGfx9, 1);
  TestWordQueue sdma(bus, cp, kGfx9, QueueKind::kSdma, 2, 1 << 16);
  for (int round = 0; round < 200; ++round) {
    signals.set(0, 1), signals.set(1, 1), signals.set(2, 1);
    const uint64_t first = signals.handle(0) + 8, second = signals.handle(1) + 8;
    sdma.submit({8 | 3u << 28 | 1u << 31, low(second), high(second), 0, UINT32_MAX, 0});
    sdma.submit({10 | 47u << 25, low(first), high(first), UINT32_MAX, UINT32_MAX, 0, 0, 0});
    compute.submit(barrier_packet({}, signals.handle(1)));
    compute.submit(barrier_packet({signals.handle(0)}, signals.handle(2)));
    ASSERT_TRUE(eventually([&] { return signals.value(2) == 0; })) << round;
  }
}

TEST(Engine, SleepsWhenIdleAndWakesForDoorbellCall) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  Signals signals(bus, 1);
  TestAqlQueue queue(bus, cp, kGfx9, 1);
  signals.set(0, 1000);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(eventually([&] { return bus.watchers.load() == 1; })) << "the worker went to sleep";
    queue.submit(barrier_packet({}, signals.handle(0)));
    ASSERT_TRUE(eventually([&] { return signals.value(0) == 999 - i; }));
  }
}

TEST(Engine, PollsRarelyWhileIdleOrBlocked) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  Signals signals(bus, 1);
  signals.set(0, 1);
  TestAqlQueue idle(bus, cp, kGfx9, 1), blocked(bus, cp, kGfx9, 2);
  blocked.submit(barrier_packet({signals.handle(0)}));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // past the first, short polls
  const auto start = std::chrono::steady_clock::now();
  const uint64_t before = bus.scopes.load();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const uint64_t polls = bus.scopes.load() - before;
  const auto passed = std::chrono::steady_clock::now() - start;
  // One poll per millisecond; a spinning worker polls thousands of times.
  EXPECT_LT(polls, 10u + 4 * static_cast<uint64_t>(passed / std::chrono::milliseconds(1)));
}

TEST(Engine, SeesStoredDoorbellBeforeItSleeps) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  const Buffer doorbells = bus.allocate(64);
  std::memset(doorbells.host, 0xff, 64);
  TestAqlQueue queue(bus, cp, kGfx9, 1, 64, 7, doorbells.host);
  Signals signals(bus, 1);
  signals.set(0, 100);
  for (uint64_t i = 0; i < 50; ++i) {
    queue.write(barrier_packet({}, signals.handle(0)));
    std::atomic_ref<uint64_t>(*doorbells.at<uint64_t>()).store(i, std::memory_order_release);
    // Acts as the watcher: checks the slot while workers sleep, and wakes them.
    ASSERT_TRUE(eventually([&] {
      if (bus.watchers.load() != 0) cp.wake();
      return signals.value(0) == static_cast<int64_t>(99 - i);
    }));
  }
}

TEST(Engine, BellWakesSleepingWorker) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  TestAqlQueue queue(bus, cp, kGfx9, 1);
  Signals signals(bus, 1);
  signals.set(0, 100);
  Bell* const bell = cp.bell(1);
  ASSERT_NE(bell, nullptr);
  EXPECT_EQ(cp.bell(2), nullptr);
  for (uint64_t i = 0; i < 50; ++i) {
    // The worker falls asleep now and then and must be woken.
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    queue.write(barrier_packet({}, signals.handle(0)));
    bell->ring(i);
    ASSERT_TRUE(eventually([&] { return signals.value(0) == static_cast<int64_t>(99 - i); }));
  }
}

TEST(Engine, LateRingOfBellIsHarmless) {
  std::atomic<bool> end{false};
  std::atomic<Bell*> bell{nullptr};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (uint64_t value = 0; !end; ++value) {
        if (Bell* const b = bell.load()) b->ring(value % 4);
      }
    });
  }
  for (int life = 0; life < 10; ++life) {
    FakeBus bus;
    NoShaderCores none;
    CommandProcessor cp(threaded(kGfx9), bus, none);
    Signals signals(bus, 1);
    for (uint32_t id = 0; id < 20; ++id) {
      TestAqlQueue queue(bus, cp, kGfx9, id);
      bell = cp.bell(id);
      signals.set(0, 1);
      queue.submit(barrier_packet({}, signals.handle(0)));
      ASSERT_TRUE(eventually([&] { return signals.value(0) == 0; }));
      ASSERT_EQ(cp.destroy_queue(id), QueueRequestError::kNone);
    }
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

// A kernel stores without a watcher, and may wait for the result.
TEST(Engine, SeesDoorbellStoredByKernel) {
  FakeBus bus;
  HeldDispatches shaders;
  CommandProcessor cp(threaded(kGfx9), bus, shaders);
  const Buffer doorbells = bus.allocate(64), object = bus.allocate(512);
  std::memset(doorbells.host, 0xff, 64);
  *object.at<int64_t>(16) = 256;
  TestAqlQueue kernels(bus, cp, kGfx9, 1), queue(bus, cp, kGfx9, 2, 64, 7, doorbells.host);
  Signals signals(bus, 1);
  signals.set(0, 100);
  aql::Packet dispatch{};
  dispatch.words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << 16;
  dispatch.words[1] = 1 | 1u << 16, dispatch.words[2] = 1;
  dispatch.words[3] = dispatch.words[4] = dispatch.words[5] = 1;
  set_quad(dispatch, 8, object.va);
  kernels.submit(dispatch);
  ASSERT_TRUE(eventually([&] { return shaders.count() == 1; }));
  for (uint64_t i = 0; i < 10; ++i) {
    // The worker falls asleep and must poll doorbells.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    queue.write(barrier_packet({}, signals.handle(0)));
    std::atomic_ref<uint64_t>(*doorbells.at<uint64_t>()).store(i, std::memory_order_release);
    ASSERT_TRUE(eventually([&] { return signals.value(0) == static_cast<int64_t>(99 - i); }));
  }
}

/// Shader cores without threads: a dispatch completes after 1,000 calls of lend_thread().
class NoThreads final : public DispatchSink {
 public:
  void start(const Dispatch&, Done done) override {
    const std::lock_guard lock(mutex_);
    done_ = std::move(done);
    remaining_calls_ = 1000;
    wants_.store(true);
  }
  void cancel(uint32_t) override {}
  bool wants_thread() const noexcept override { return wants_.load(); }
  bool lend_thread() override {
    Done done;
    {
      const std::lock_guard lock(mutex_);
      if (remaining_calls_ == 0) return false;
      if (--remaining_calls_ != 0) return true;
      done = std::exchange(done_, {});
    }
    done({});
    return true;
  }

 private:
  std::mutex mutex_;
  Done done_;
  int remaining_calls_ = 0;
  std::atomic<bool> wants_{false};
};

TEST(Engine, LendsThreadToShaderCoresWithoutThreads) {
  FakeBus bus;
  NoThreads shaders;
  CommandProcessor cp(threaded(kGfx9), bus, shaders);
  const Buffer object = bus.allocate(512);
  *object.at<int64_t>(16) = 256;
  TestAqlQueue kernels(bus, cp, kGfx9, 1), others(bus, cp, kGfx9, 2);
  Signals signals(bus, 2);
  signals.set(0, 20);
  signals.set(1, 20);
  aql::Packet dispatch{};
  dispatch.words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << 8 | 1u << 16;
  dispatch.words[1] = 1 | 1u << 16, dispatch.words[2] = 1;
  dispatch.words[3] = dispatch.words[4] = dispatch.words[5] = 1;
  set_quad(dispatch, 8, object.va);
  set_quad(dispatch, 14, signals.handle(0));
  for (int i = 0; i < 20; ++i) {
    kernels.submit(dispatch);
    others.submit(barrier_packet({}, signals.handle(1)));
  }
  EXPECT_TRUE(eventually([&] { return signals.value(0) == 0 && signals.value(1) == 0; }));
}

TEST(Engine, DestroyedQueueIsNotAccessed) {
  FakeBus bus;
  HeldDispatches shaders;
  CommandProcessor cp(threaded(kGfx9), bus, shaders);
  Signals signals(bus, 1);
  signals.set(0, 1);
  const Buffer object = bus.allocate(512);
  *object.at<int64_t>(16) = 256;
  for (uint32_t round = 0; round < 100; ++round) {
    TestAqlQueue queue(bus, cp, kGfx9, round);
    aql::Packet dispatch{};
    dispatch.words[0] = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << 16;
    dispatch.words[1] = 1 | 1u << 16, dispatch.words[2] = 1;
    dispatch.words[3] = dispatch.words[4] = dispatch.words[5] = 1;
    set_quad(dispatch, 8, object.va);
    for (int i = 0; i < 10; ++i) queue.submit(i % 3 == 0 ? dispatch : barrier_packet({}));
    queue.submit(barrier_packet({signals.handle(0)}));
    if (round % 2 != 0) std::this_thread::yield();
    ASSERT_EQ(cp.destroy_queue(round), QueueRequestError::kNone);
    // The device must not access the queue after it is destroyed.
    std::memset(&queue.amd(), 0x5a, sizeof(amd_queue_t));
    const uint64_t index = queue.read_index();
    std::this_thread::yield();
    ASSERT_EQ(queue.read_index(), index);
  }
  EXPECT_EQ(shaders.count(), 0u);
}

TEST(Engine, SuspendIsSynchronous) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  Signals signals(bus, 1);
  signals.set(0, 1 << 20);
  TestAqlQueue queue(bus, cp, kGfx9, 1, 256);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 50; ++i) queue.submit(barrier_packet({}, signals.handle(0)));
    ASSERT_EQ(cp.update_queue(1, 0, 0, 7, 0), QueueRequestError::kNone);
    const int64_t value = signals.value(0);
    std::this_thread::yield();
    ASSERT_EQ(signals.value(0), value);
    ASSERT_EQ(cp.update_queue(1, 0, 0, 7, 100), QueueRequestError::kNone);
    ASSERT_TRUE(eventually([&] { return signals.value(0) == (1 << 20) - 50 * (round + 1); }));
  }
}

TEST(Engine, RunsPacketsOfConcurrentProducers) {
  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp(threaded(kGfx9), bus, none);
  constexpr int kThreads = 4, kEach = 300;
  Signals signals(bus, 8);
  std::vector<std::unique_ptr<TestAqlQueue>> queues;
  for (uint32_t i = 0; i < 8; ++i) {
    signals.set(i, kThreads * kEach / 4);
    queues.push_back(std::make_unique<TestAqlQueue>(bus, cp, kGfx9, i, 256));
  }
  std::mutex locks[8];
  std::vector<std::thread> producers;
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < kEach * 2; ++i) {
        const auto q = static_cast<uint32_t>(t * 2 + i) % 8;
        uint64_t index;
        {
          std::lock_guard lock(locks[q]);
          index = queues[q]->write(barrier_packet({}, signals.handle(q), i % 2 != 0));
        }
        queues[q]->ring(index);  // rings of producers overtake each other
        while (index - queues[q]->read_index() > 100 && index > queues[q]->read_index())
          std::this_thread::yield();
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  for (uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(eventually([&] { return signals.value(i) == 0; })) << i;
}

}  // namespace
}  // namespace rigel::vgpu::testing
