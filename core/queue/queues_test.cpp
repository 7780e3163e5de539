// Creation and destruction of queues: checks of arguments, limits of the agent, cooperative queues, and
// release of all resources after a failure.
#include "core/queue/queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "api/support/testing/failing_requests.hpp"
#include "core/memory/memory_fixture.hpp"
#include "core/queue/intercept_queue.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {
namespace {

std::atomic<int> made;
std::atomic<uint32_t> packets_of_last;
// State of the device's only cooperative queue.
std::atomic<bool> cooperative_is_there, cooperative_is_ending;
std::function<void()> while_it_ends;
std::function<void()> during_creation;  // called once
amd_queue_t queue_memory;

LoadedBackend backend() {
  LoadedBackend table;
  table.queue.struct_size = sizeof table.queue;
  table.queue.create = [](void*, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) -> hsabe_status_t {
    if (desc->type == HSA_QUEUE_TYPE_COOPERATIVE && cooperative_is_there.exchange(true))
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    ++made;
    if (const auto call = std::exchange(during_creation, nullptr)) call();
    packets_of_last = desc->packets;
    queue_memory.hsa_queue.base_address = &queue_memory;
    queue_memory.hsa_queue.size = desc->packets;
    queue_memory.hsa_queue.doorbell_signal.handle = desc->doorbell_signal;
    info->queue = info->amd_queue = &queue_memory;
    return HSA_STATUS_SUCCESS;
  };
  table.queue.destroy = [](void*) {
    if (cooperative_is_there) {
      cooperative_is_ending = true;
      if (while_it_ends) while_it_ends();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cooperative_is_there = false;
    }
    --made;
  };
  return table;
}

Capabilities capabilities(uint32_t features) {
  Capabilities can;
  can.caps.features = features;
  can.caps.queue_types = 1u << HSA_QUEUE_TYPE_MULTI | 1u << HSA_QUEUE_TYPE_COOPERATIVE;
  can.caps.queue_min_size = 64;
  can.caps.queue_max_size = 1024;
  can.caps.queues_max = 1;
  can.caps.doorbell = HSABE_DOORBELL_SIGNAL;
  return can;
}

struct NoTools final : QueueTools {
  bool wants_queues() const noexcept override { return false; }
  Result<bool> add_to(InterceptQueue&, const Agent&) override { return false; }
};

class QueuesTest : public ::testing::Test {
 protected:
  QueuesTest() {
    made = 0;
    cooperative_is_there = false;
  }

  hsa_agent_t add_agent(uint32_t features) {
    return machine_.add_agent(Node{}, backend_, host_, capabilities(features), std::vector<const Isa*>{})
        .handle();
  }
  /// Provides memory for intercepted queues.
  void add_host() {
    constexpr hsa_agent_t kHost{1};
    memory_.agents.add({.handle = kHost, .type = HSA_DEVICE_TYPE_CPU, .node = 0});
    memory_.heaps.add_host_heaps({{.agent = kHost, .numa_node = 0, .size = 1 << 30}});
  }
  Status create(hsa_agent_t agent, const QueueRequest& request) {
    hsa_queue_t* queue = nullptr;
    const Status status = queues_.create(agent, request, &queue);
    EXPECT_EQ(queue != nullptr, status == HSA_STATUS_SUCCESS);
    return status;
  }

  const LoadedBackend backend_ = backend();
  const hsabe_host_t host_{};
  Machine machine_;
  testing::TestMemory memory_;
  AsyncDispatcher dispatcher_;
  NoTools tools_;
  QueueTable table_;
  Queues queues_{machine_, memory_.heaps, dispatcher_, tools_, table_};
};

TEST_F(QueuesTest, CreateRejectsArgumentsBeforeCallingBackend) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH), mute = add_agent(0);
  const QueueRequest right{.size = 64};
  EXPECT_EQ(queues_.create(agent, right, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create({1}, right), HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(create(mute, right), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  for (const uint32_t size : {0u, 48u, 96u, 2048u})
    EXPECT_EQ(create(agent, {.size = size}), HSA_STATUS_ERROR_INVALID_ARGUMENT) << size;
  EXPECT_EQ(create(agent, {.size = 64, .type = 9}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create(agent, {.size = 64, .type = HSA_QUEUE_TYPE_SINGLE}),
            HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(made, 0);
}

TEST_F(QueuesTest, CreateRaisesSizeToMinimumOfAgent) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_amd_queue_create_desc_t described{};
  described.version = HSA_AMD_QUEUE_CREATE_DESC_VERSION;
  described.queue_size_bytes = 2 * sizeof(hsa_kernel_dispatch_packet_t);
  described.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
  const auto make = [&](uint32_t size, hsa_queue_t*& queue) {
    if (size != 2) return queues_.create(agent, {.size = size}, &queue);
    const Status status = queues_.create_described(agent, &described, 1);
    queue = described.queue;
    return status;
  };
  for (const uint32_t size : {1u, 2u, 32u, 128u}) {
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(make(size, queue), HSA_STATUS_SUCCESS) << size;
    EXPECT_EQ(packets_of_last, std::max(size, 64u));
    EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
  }
}

TEST_F(QueuesTest, CreateFailsAtLimitOfAgent) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(queues_.create(agent, {.size = 64}, &queue), HSA_STATUS_SUCCESS);
  EXPECT_EQ(create(agent, {.size = 64}), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
  EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(create(agent, {.size = 64}), HSA_STATUS_SUCCESS);
}

constexpr QueueRequest kCooperative{.size = 64, .type = HSA_QUEUE_TYPE_COOPERATIVE};

TEST_F(QueuesTest, CreateFailsIfLastQueueIsCreatedMeanwhile) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_queue_t *queue = nullptr, *late = nullptr;
  during_creation = [&] { EXPECT_EQ(queues_.create(agent, {.size = 64}, &queue), HSA_STATUS_SUCCESS); };
  EXPECT_EQ(queues_.create(agent, {.size = 64}, &late), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(late, nullptr);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
}

TEST_F(QueuesTest, CooperativeQueueIsCreatedAfterPreviousOneEnds) {
  add_host();
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  for (const bool intercepted : {false, true}) {
    SCOPED_TRACE(intercepted);
    hsa_queue_t *first = nullptr, *second = nullptr;
    ASSERT_EQ(intercepted ? queues_.intercept_create(agent, kCooperative, &first)
                          : queues_.create(agent, kCooperative, &first),
              HSA_STATUS_SUCCESS);
    cooperative_is_ending = false;
    std::thread destroyer([&] { EXPECT_EQ(queues_.destroy(first), HSA_STATUS_SUCCESS); });
    while (!cooperative_is_ending) std::this_thread::yield();
    EXPECT_EQ(queues_.create(agent, kCooperative, &second), HSA_STATUS_SUCCESS);
    destroyer.join();
    EXPECT_EQ(queues_.destroy(second), HSA_STATUS_SUCCESS);
  }
}

TEST_F(QueuesTest, CooperativeDestroyWaitsForCallbackThatCreatesOne) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  static std::atomic<bool> in_callback, asks;
  in_callback = asks = false;
  QueueRequest request = kCooperative;
  struct Other {
    Queues& queues;
    hsa_agent_t agent;
  } other{queues_, agent};
  request.data = &other;
  request.callback = [](hsa_status_t, hsa_queue_t*, void* data) {
    in_callback = true;
    while (!asks) std::this_thread::yield();
    const Other& wanted = *static_cast<Other*>(data);
    hsa_queue_t* none = nullptr;
    EXPECT_EQ(wanted.queues.create(wanted.agent, kCooperative, &none), HSA_STATUS_ERROR_OUT_OF_RESOURCES)
        << "the failed queue is still the device's only cooperative queue";
  };
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(queues_.create(agent, request, &queue), HSA_STATUS_SUCCESS);
  const auto failing = table_.find(queue);
  std::thread driver([&] { failing->raise(HSA_STATUS_ERROR); });
  while (!in_callback) std::this_thread::yield();
  std::thread destroyer([&] { EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS); });
  while (table_.find(queue) != nullptr) std::this_thread::yield();
  asks = true;
  driver.join();
  destroyer.join();
  EXPECT_EQ(made, 0);
}

// A device waits for a queue's callbacks before it ends the queue. If a callback waited for the end of that
// queue, neither would continue.
TEST_F(QueuesTest, CooperativeCreateFailsInCallbackOfEndingQueue) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(queues_.create(agent, kCooperative, &queue), HSA_STATUS_SUCCESS);
  Status in_callback = HSA_STATUS_SUCCESS;
  while_it_ends = [&] {
    std::thread device([&] {
      const InQueueCallback callback;
      in_callback = create(agent, kCooperative);
    });
    device.join();
  };
  EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
  while_it_ends = nullptr;
  EXPECT_EQ(in_callback, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(made, 0);
}

// Tools that call `make` once, when they are offered the first queue.
struct MakingTools final : QueueTools {
  std::function<void()> make;
  bool wants_queues() const noexcept override { return make != nullptr; }
  Result<bool> add_to(InterceptQueue&, const Agent&) override {
    std::exchange(make, nullptr)();
    return false;
  }
};

TEST_F(QueuesTest, CooperativeCreateFailsInToolDuringCreation) {
  add_host();
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  MakingTools tools;
  Queues queues{machine_, memory_.heaps, dispatcher_, tools, table_};
  Status in_tool = HSA_STATUS_SUCCESS;
  hsa_queue_t *asked = nullptr, *none = nullptr, *others = nullptr;
  std::thread other;
  tools.make = [&] {
    in_tool = queues.create(agent, kCooperative, &none);
    other = std::thread([&] { EXPECT_EQ(queues.create(agent, kCooperative, &others), HSA_STATUS_SUCCESS); });
  };
  EXPECT_EQ(queues.create(agent, kCooperative, &asked), HSA_STATUS_SUCCESS);
  other.join();
  EXPECT_EQ(in_tool, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(others, asked) << "a thread that waits for a queue's creation shares the queue";
  EXPECT_EQ(queues.destroy(others), HSA_STATUS_SUCCESS);
  EXPECT_EQ(queues.destroy(asked), HSA_STATUS_SUCCESS);
  EXPECT_EQ(made, 0);
}

TEST_F(QueuesTest, QueriesFindQueueByHandle) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(queues_.create(agent, {.size = 64}, &queue), HSA_STATUS_SUCCESS);
  hsa_queue_t other{};
  EXPECT_EQ(queues_.inactivate(nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queues_.inactivate(&other), HSA_STATUS_ERROR_INVALID_QUEUE);
  // AMD's functions return the same status for NULL and for an invalid handle.
  for (hsa_queue_t* const wrong : {static_cast<hsa_queue_t*>(nullptr), &other}) {
    hsa_agent_t of{};
    EXPECT_EQ(queues_.get_info(wrong, HSA_AMD_QUEUE_INFO_AGENT, &of), HSA_STATUS_ERROR_INVALID_QUEUE);
    EXPECT_EQ(queues_.cu_set_mask(wrong, 7, nullptr), HSA_STATUS_ERROR_INVALID_QUEUE);
  }
  hsa_agent_t of{};
  EXPECT_EQ(queues_.get_info(queue, HSA_AMD_QUEUE_INFO_AGENT, &of), HSA_STATUS_SUCCESS);
  EXPECT_EQ(of.handle, agent.handle);
  EXPECT_EQ(queues_.get_info(queue, HSA_AMD_QUEUE_INFO_AGENT, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(queues_.cu_set_mask(queue, 7, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_F(QueuesTest, CreateWithoutMemoryReleasesAll) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  const size_t signals = signal_pool::capacity();
  hsa_queue_t* queue = nullptr;
  int request = 0;
  for (; queue == nullptr; ++request) {
    request_that_fails = request;
    try {
      EXPECT_EQ(queues_.create(agent, {.size = 64}, &queue), HSA_STATUS_SUCCESS);
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(queue, nullptr) << "request " << request;
      EXPECT_EQ(made, 0);
    }
    request_that_fails = -1;
    ASSERT_LT(request, 100);
  }
  EXPECT_GT(request, 3);
  EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
  // Enough repetitions to detect lost doorbells.
  for (size_t i = 0; i < 2 * signal_pool::kSignalsPerSlab; ++i) {
    request_that_fails = 0;
    EXPECT_THROW(static_cast<void>(queues_.create(agent, {.size = 64}, &queue)), std::bad_alloc);
    request_that_fails = -1;
  }
  EXPECT_LE(signal_pool::capacity(), signals + signal_pool::kSignalsPerSlab);
}

TEST_F(QueuesTest, FailedSoftQueueReleasesMemory) {
  alignas(64) unsigned char memory[4096];
  int given_back = 0;
  request_that_fails = 0;
  EXPECT_THROW(create_soft_queue({.memory = memory, .size = 4, .features = 1, .doorbell = {}},
                                 [&](void* block) { given_back += block == memory; }),
               std::bad_alloc);
  request_that_fails = -1;
  EXPECT_EQ(given_back, 1);
}

TEST_F(QueuesTest, FailedInterceptQueueReleasesAll) {
  alignas(64) unsigned char memory[4096];
  int given_back = 0;
  const auto create_one = [&] {
    const auto release = [&](void* block) { given_back += block == memory; };
    static_cast<void>(create_intercept_queue({{.size = 4}, memory, release, nullptr}, 1));
  };
  create_one();
  EXPECT_EQ(std::exchange(given_back, 0), 1) << "after the queue's end";
  const size_t signals = signal_pool::capacity();
  // Enough repetitions to detect lost doorbells.
  for (size_t i = 0; i < 2 * signal_pool::kSignalsPerSlab; ++i) {
    request_that_fails = static_cast<int>(i % 3);  // the allocation of the queue, or of its list of handlers
    try {
      create_one();
    } catch (const std::bad_alloc&) {
    }
    request_that_fails = -1;
    ASSERT_EQ(std::exchange(given_back, 0), 1);
  }
  EXPECT_LE(signal_pool::capacity(), signals + signal_pool::kSignalsPerSlab);
}
#endif

TEST_F(QueuesTest, IdsAreUniqueAcrossRuntimes) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    Queues queues{machine_, memory_.heaps, dispatcher_, tools_, table_};
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(queues.create(agent, {.size = 64}, &queue), HSA_STATUS_SUCCESS);
    EXPECT_GT(queue->id, last);
    last = queue->id;
    EXPECT_EQ(queues.destroy(queue), HSA_STATUS_SUCCESS);
  }
}

TEST_F(QueuesTest, DoorbellHasNoDispatchTimes) {
  const hsa_agent_t agent = add_agent(HSABE_FEATURE_KERNEL_DISPATCH);
  hsa_amd_profiling_dispatch_time_t time{};
  for (const auto& [kind, status] : {std::pair{AMD_SIGNAL_KIND_DOORBELL, HSA_STATUS_ERROR_INVALID_SIGNAL},
                                     std::pair{AMD_SIGNAL_KIND_USER, HSA_STATUS_SUCCESS}}) {
    Signal* const signal = signal_pool::create(0, 0, kind);
    ASSERT_NE(signal, nullptr);
    EXPECT_EQ(queues_.profiling_get_dispatch_time(agent, signal->handle(), &time), status);
    EXPECT_TRUE(signal_pool::destroy(*signal));
  }
}

TEST_F(QueuesTest, SoftQueueRequiresHostAccessibleRegion) {
  HeapFacts facts;
  facts.size = facts.allocation_limit = 1 << 20;
  Signal* const doorbell = signal_pool::create(0);
  ASSERT_NE(doorbell, nullptr);
  for (const bool seen : {true, false}) {
    facts.host_accessible = seen;
    const Heap& heap = memory_.heaps.add_heap(facts, std::make_unique<HostProvider>(HostProvider::kAnyNode));
    hsa_queue_t* queue = nullptr;
    EXPECT_EQ(queues_.soft_create(heap.region(), 64, HSA_QUEUE_TYPE_MULTI, HSA_QUEUE_FEATURE_AGENT_DISPATCH,
                                  doorbell->handle(), &queue),
              seen ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION);
    if (queue != nullptr) {
      EXPECT_EQ(queues_.destroy(queue), HSA_STATUS_SUCCESS);
    }
  }
  EXPECT_TRUE(signal_pool::destroy(*doorbell));
}

// A queue's callback may end the runtime and with it the owner of the queue's memory. The queue must release
// the memory before, although the caller of the callback still references the queue.
TEST_F(QueuesTest, InterceptQueueClosedInCallbackReleasesMemory) {
  static Queue* raised;
  static int given_back;
  given_back = 0;
  const Agent* const agent = machine_.find_agent(add_agent(HSABE_FEATURE_KERNEL_DISPATCH));
  const QueueRequest request{.size = 64, .callback = [](hsa_status_t, hsa_queue_t*, void*) {
                               raised->close();
                               EXPECT_EQ(given_back, 1);
                             }};
  void* const memory = std::aligned_alloc(64, intercept_queue_bytes(request.size));
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 0, intercept_queue_bytes(request.size));
  const auto give_back = [](void* what) {
    ++given_back;
    std::free(what);
  };
  auto queue = create_intercept_queue({request, memory, give_back, &dispatcher_}, 1);
  ASSERT_TRUE(queue);
  ASSERT_EQ((*queue)->start(*agent, 1), HSA_STATUS_SUCCESS);
  raised = queue->get();
  raised->raise(HSA_STATUS_ERROR);
  *queue = nullptr;
  EXPECT_EQ(given_back, 1);
}

}  // namespace
}  // namespace rigel
