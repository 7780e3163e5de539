// Queues: creation and destruction, attributes, soft queues, indices, descriptors and counted queues.
#include <atomic>
#include <bit>
#include <ostream>
#include <set>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/memory.hpp"
#include "support/optional_function.hpp"
#include "support/queues.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, hsa_queue_t** queue) {
  return hsa_queue_create(agent, size, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, queue);
}

class Queue : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    smallest_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MIN_SIZE);
    largest_ = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MAX_SIZE);
    if (largest_ == 0) GTEST_SKIP() << "the agent has no queues";
  }

  uint32_t smallest_ = 0;
  uint32_t largest_ = 0;
};

TEST_P(Queue, HasFieldsOfTheManual) {
  ScopedQueue queue;
  queue.create(agent(), largest_);
  ASSERT_NE(queue.get(), nullptr);
  const hsa_queue_t& public_part = *queue.get();
  EXPECT_EQ(public_part.type, static_cast<uint32_t>(HSA_QUEUE_TYPE_MULTI));
  EXPECT_NE(public_part.features & (HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH),
            0u);
  EXPECT_EQ(public_part.size, largest_);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(public_part.base_address) % 64, 0u);
  EXPECT_NE(public_part.doorbell_signal.handle, 0u);
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue.get()), 0u);
  EXPECT_EQ(hsa_queue_load_write_index_relaxed(queue.get()), 0u);
}

TEST_P(Queue, StartsWithInvalidPackets) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  const char* const ring = static_cast<const char*>(queue.get()->base_address);
  for (uint32_t i = 0; i < queue.get()->size; ++i) {
    uint16_t header = 0;
    std::memcpy(&header, ring + 64 * i, sizeof header);
    ASSERT_EQ(header & 0xff, HSA_PACKET_TYPE_INVALID) << i;
  }
}

TEST_P(Queue, SupportsEverySizeOfTheAgent) {
  for (uint32_t size = smallest_; size != 0 && size <= largest_; size *= 4) {
    hsa_queue_t* queue = nullptr;
    ASSERT_HSA(create(agent(), size, HSA_QUEUE_TYPE_SINGLE, &queue)) << size;
    EXPECT_EQ(queue->size, size);
    EXPECT_HSA(hsa_queue_destroy(queue));
  }
}

TEST_P(Queue, RaisesSizesBelowMinimum) {
  for (uint32_t size = 1; size < smallest_; size *= 2) {
    hsa_queue_t* queue = nullptr;
    ASSERT_HSA(create(agent(), size, HSA_QUEUE_TYPE_MULTI, &queue)) << size;
    EXPECT_EQ(queue->size, smallest_);
    EXPECT_HSA(hsa_queue_destroy(queue));
  }
}

TEST_P(Queue, RejectsInvalidSizes) {
  hsa_queue_t* queue = nullptr;
  for (const uint32_t size : {uint32_t{0}, uint32_t{3}, smallest_ + 1, largest_ - 1, UINT32_MAX}) {
    if (std::has_single_bit(size)) continue;
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, create(agent(), size, HSA_QUEUE_TYPE_MULTI, &queue))
        << size;
  }
  if (largest_ < uint32_t{1} << 31) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                  create(agent(), largest_ * 2, HSA_QUEUE_TYPE_MULTI, &queue));
  }
  EXPECT_EQ(queue, nullptr);
}

TEST_P(Queue, RejectsInvalidArguments) {
  hsa_queue_t* queue = nullptr;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, create(agent(), smallest_, HSA_QUEUE_TYPE_MULTI, nullptr));
  EXPECT_STATUS_IN(create(agent(), smallest_, 77, &queue), HSA_STATUS_ERROR_INVALID_ARGUMENT,
                   HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, create({1}, smallest_, HSA_QUEUE_TYPE_MULTI, &queue));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, create({0}, smallest_, HSA_QUEUE_TYPE_MULTI, &queue));
  EXPECT_EQ(queue, nullptr);
}

TEST_P(Queue, IdsAreDistinct) {
  ScopedQueue first;
  ScopedQueue second;
  first.create(agent(), smallest_);
  second.create(agent(), smallest_);
  ASSERT_NE(first.get(), nullptr);
  ASSERT_NE(second.get(), nullptr);
  EXPECT_NE(first.get()->id, second.get()->id);
}

TEST_P(Queue, IsCreatedAndDestroyedByManyThreads) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        hsa_queue_t* queue = nullptr;
        if (create(agent(), smallest_, HSA_QUEUE_TYPE_MULTI, &queue) != HSA_STATUS_SUCCESS) {
          ++failures;
        } else if (hsa_queue_destroy(queue) != HSA_STATUS_SUCCESS) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(Queue, IsRejectedAfterDestruction) {
  hsa_queue_t* queue = nullptr;
  ASSERT_HSA(create(agent(), smallest_, HSA_QUEUE_TYPE_MULTI, &queue));
  ASSERT_HSA(hsa_queue_destroy(queue));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(queue));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_inactivate(queue));
}

// The runtime owns the doorbell, whether it is a register or an ordinary signal.
TEST_P(Queue, RejectsDestructionOfDoorbell) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL, hsa_signal_destroy(queue.get()->doorbell_signal));
  const ScopedSignal done(1);
  submit(queue.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
}

TEST_P(Queue, CompletesNothingAfterInactivation) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  ASSERT_HSA(hsa_queue_inactivate(queue.get()));
  const ScopedSignal done(1);
  submit(queue.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
  // An inactive queue would incorrectly complete the packet during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(done.value(), 1);
  EXPECT_EQ(queue.errors().count, 0) << "to be inactive is no error";
}

TEST_P(Queue, AcceptsPriorities) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  for (const auto priority :
       {HSA_AMD_QUEUE_PRIORITY_LOW, HSA_AMD_QUEUE_PRIORITY_NORMAL, HSA_AMD_QUEUE_PRIORITY_HIGH}) {
    EXPECT_HSA(hsa_amd_queue_set_priority(queue.get(), priority));
  }
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_queue_set_priority(queue.get(), static_cast<hsa_amd_queue_priority_t>(9)));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_queue_set_priority(nullptr, HSA_AMD_QUEUE_PRIORITY_LOW));
}

TEST_P(Queue, ReportsAgent) {
  REQUIRE_HSA(hsa_amd_queue_get_info);
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  hsa_agent_t owner{};
  EXPECT_HSA(hsa_amd_queue_get_info(queue.get(), HSA_AMD_QUEUE_INFO_AGENT, &owner));
  EXPECT_EQ(owner.handle, agent().handle);
  uint64_t doorbell[4];
  EXPECT_HSA(hsa_amd_queue_get_info(queue.get(), HSA_AMD_QUEUE_INFO_DOORBELL_ID, doorbell));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_queue_get_info(queue.get(), static_cast<hsa_queue_info_attribute_t>(77), doorbell));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE,
                hsa_amd_queue_get_info(nullptr, HSA_AMD_QUEUE_INFO_AGENT, &owner));
}

TEST_P(Queue, SupportsCooperativeTypeIfAgentReportsIt) {
  const auto type = HSA_QUEUE_TYPE_COOPERATIVE;
  if (!agent_info<bool>(agent(), HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES)) {
    hsa_queue_t* queue = nullptr;
    EXPECT_STATUS_IN(create(agent(), smallest_, type, &queue), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
                     HSA_STATUS_ERROR_INVALID_ARGUMENT);
    return;
  }
  for (int round = 0; round < 2; ++round) {
    ScopedQueue first, second;
    first.create(agent(), smallest_, type);
    second.create(agent(), smallest_, type);
    // Agents have few cooperative queues, so both may be the same.
    for (const ScopedQueue* each : {&first, &second}) {
      ASSERT_NE(each->get(), nullptr);
      EXPECT_EQ(each->get()->type, static_cast<uint32_t>(type));
      const ScopedSignal done(1);
      submit(each->get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
      EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    }
    first.destroy();
    const ScopedSignal done(1);
    submit(second.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  }
}

TEST_P(Queue, InvalidCuMaskFails) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  const uint32_t mask = UINT32_MAX;
  EXPECT_STATUS_IN(hsa_amd_queue_cu_set_mask(queue.get(), 31, &mask), HSA_STATUS_ERROR_INVALID_ARGUMENT,
                   HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_amd_queue_cu_set_mask(nullptr, 32, &mask));
}

TEST_P(Queue, ReportsComputeUnitMask) {
  ScopedQueue queue;
  queue.create(agent(), smallest_);
  ASSERT_NE(queue.get(), nullptr);
  const auto units =
      agent_info<uint32_t>(agent(), static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT));
  const uint32_t words = (units + 31) / 32;
  const auto masks = [&] {
    std::vector<uint32_t> mask(words + 1, 0xabcd);
    EXPECT_HSA(hsa_amd_queue_cu_get_mask(queue.get(), (words + 1) * 32, mask.data()));
    return mask;
  };
  std::vector<uint32_t> selected(words, 0);
  selected[0] = 0xc;  // a pair, because some chips enable compute units in pairs
  const hsa_status_t status = hsa_amd_queue_cu_set_mask(queue.get(), words * 32, selected.data());
  if (status == HSA_STATUS_ERROR_INVALID_QUEUE) GTEST_SKIP() << "its queues are not bound to units";
  ASSERT_EQ(status, HSA_STATUS_SUCCESS);
  selected.push_back(0);
  EXPECT_EQ(masks(), selected);
  EXPECT_HSA(hsa_amd_queue_cu_set_mask(queue.get(), 0, nullptr));
  std::vector<uint32_t> all(words + 1, 0);
  for (uint32_t unit = 0; unit < units; ++unit) all[unit / 32] |= 1u << unit % 32;
  EXPECT_EQ(masks(), all);
  std::vector<uint32_t> more(words + 2, UINT32_MAX);
  EXPECT_HSA(hsa_amd_queue_cu_set_mask(queue.get(), (words + 2) * 32, more.data()));
  EXPECT_EQ(masks(), all);
}

INSTANTIATE_FOR_AGENTS(Queue);

class QueueArguments : public HsaTest {};

TEST_F(QueueArguments, InvalidQueuesAreRejected) {
  hsa_queue_t foreign{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_queue_destroy(nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_queue_inactivate(nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_destroy(&foreign));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_queue_inactivate(&foreign));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE, hsa_amd_profiling_set_profiler_enabled(nullptr, 1));
}

// --- Soft queues and indices -----------------------------------------------------------------------------

class SoftQueue : public HsaTest {
 protected:
  void SetUp() override {
    HsaTest::SetUp();
    if (IsSkipped()) return;
    for (const hsa_agent_t agent : all_agents()) {
      if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_CPU) continue;
      const auto region = find_region(agent, HSA_REGION_GLOBAL_FLAG_FINE_GRAINED);
      if (region) region_ = *region;
    }
    if (region_.handle == 0) GTEST_SKIP() << "no host agent has a fine-grained region";
    ASSERT_HSA(hsa_signal_create(0, 0, nullptr, &doorbell_));
    ASSERT_HSA(hsa_soft_queue_create(region_, 64, HSA_QUEUE_TYPE_MULTI, HSA_QUEUE_FEATURE_AGENT_DISPATCH,
                                     doorbell_, &queue_));
  }
  void TearDown() override {
    if (queue_ != nullptr) {
      EXPECT_HSA(hsa_queue_destroy(queue_));
    }
    if (doorbell_.handle != 0) {
      EXPECT_HSA(hsa_signal_destroy(doorbell_));
    }
  }

  hsa_region_t region_{};
  hsa_signal_t doorbell_{};
  hsa_queue_t* queue_ = nullptr;
};

TEST_F(SoftQueue, HasRequestedProperties) {
  EXPECT_EQ(queue_->type, static_cast<uint32_t>(HSA_QUEUE_TYPE_MULTI));
  EXPECT_EQ(queue_->features, static_cast<uint32_t>(HSA_QUEUE_FEATURE_AGENT_DISPATCH));
  EXPECT_EQ(queue_->size, 64u);
  EXPECT_EQ(queue_->doorbell_signal.handle, doorbell_.handle);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(queue_->base_address) % 64, 0u);
  for (uint32_t i = 0; i < 64; ++i) {
    uint16_t header = 0;
    std::memcpy(&header, static_cast<char*>(queue_->base_address) + 64 * i, sizeof header);
    EXPECT_EQ(header & 0xff, HSA_PACKET_TYPE_INVALID);
  }
}

TEST_F(SoftQueue, CreationRejectsInvalidArguments) {
  hsa_queue_t* queue = nullptr;
  const auto create_queue = [&](hsa_region_t region, uint32_t size, uint32_t type, hsa_signal_t doorbell) {
    return hsa_soft_queue_create(region, size, type, HSA_QUEUE_FEATURE_AGENT_DISPATCH, doorbell, &queue);
  };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, create_queue(region_, 0, HSA_QUEUE_TYPE_MULTI, doorbell_));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                create_queue(region_, 63, HSA_QUEUE_TYPE_MULTI, doorbell_));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, create_queue(region_, 64, 9, doorbell_));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, create_queue(region_, 64, HSA_QUEUE_TYPE_MULTI, {0}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_REGION, create_queue({1}, 64, HSA_QUEUE_TYPE_MULTI, doorbell_));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_soft_queue_create(region_, 64, HSA_QUEUE_TYPE_MULTI, HSA_QUEUE_FEATURE_AGENT_DISPATCH,
                                      doorbell_, nullptr));
}

TEST_F(SoftQueue, WriteIndexSupportsStoreAddAndCompareSwap) {
  EXPECT_EQ(hsa_queue_load_write_index_scacquire(queue_), 0u);
  hsa_queue_store_write_index_relaxed(queue_, 5);
  EXPECT_EQ(hsa_queue_load_write_index_relaxed(queue_), 5u);
  hsa_queue_store_write_index_screlease(queue_, 6);
  hsa_queue_store_write_index_release(queue_, 7);
  EXPECT_EQ(hsa_queue_load_write_index_acquire(queue_), 7u);

  uint64_t expected = 7;
  for (const auto add : {hsa_queue_add_write_index_relaxed, hsa_queue_add_write_index_scacquire,
                         hsa_queue_add_write_index_screlease, hsa_queue_add_write_index_scacq_screl,
                         hsa_queue_add_write_index_acquire, hsa_queue_add_write_index_release,
                         hsa_queue_add_write_index_acq_rel}) {
    EXPECT_EQ(add(queue_, 3), expected);
    expected += 3;
  }
  for (const auto swap : {hsa_queue_cas_write_index_relaxed, hsa_queue_cas_write_index_scacquire,
                          hsa_queue_cas_write_index_screlease, hsa_queue_cas_write_index_scacq_screl,
                          hsa_queue_cas_write_index_acquire, hsa_queue_cas_write_index_release,
                          hsa_queue_cas_write_index_acq_rel}) {
    EXPECT_EQ(swap(queue_, expected + 1, 0), expected) << "no swap";
    EXPECT_EQ(swap(queue_, expected, expected + 1), expected);
    ++expected;
    EXPECT_EQ(hsa_queue_load_write_index_relaxed(queue_), expected);
  }
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue_), 0u) << "the other index is not touched";
}

TEST_F(SoftQueue, ReadIndexSupportsStoreAndLoad) {
  hsa_queue_store_read_index_relaxed(queue_, 5);
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue_), 5u);
  hsa_queue_store_read_index_screlease(queue_, UINT64_MAX - 1);
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(queue_), UINT64_MAX - 1);
  hsa_queue_store_read_index_release(queue_, 9);
  EXPECT_EQ(hsa_queue_load_read_index_acquire(queue_), 9u);
  EXPECT_EQ(hsa_queue_load_write_index_relaxed(queue_), 0u);
}

TEST_F(SoftQueue, ReservationsOfManyThreadsDoNotOverlap) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 5000;
  std::vector<std::vector<uint64_t>> indices(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTimes; ++i) indices[t].push_back(hsa_queue_add_write_index_relaxed(queue_, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& each : indices) all.insert(each.begin(), each.end());
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads * kTimes));
  EXPECT_EQ(*all.rbegin(), static_cast<uint64_t>(kThreads * kTimes - 1));
}

// The application is both producer and consumer.
TEST_F(SoftQueue, CarriesPacketsFromProducersToConsumer) {
  constexpr int kProducers = 3;
  constexpr int kPackets = 1500;
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int i = 0; i < kPackets; ++i) {
        hsa_agent_dispatch_packet_t packet{};
        packet.header = packet_header(HSA_PACKET_TYPE_AGENT_DISPATCH);
        packet.arg[0] = static_cast<uint64_t>(p);
        packet.arg[1] = static_cast<uint64_t>(i);
        submit(queue_, packet);
      }
    });
  }
  std::vector<uint64_t> next(kProducers, 0);
  bool in_order = true;
  for (uint64_t read = 0; read < kProducers * kPackets; ++read) {
    auto* const packet =
        static_cast<hsa_agent_dispatch_packet_t*>(queue_->base_address) + read % queue_->size;
    std::atomic_ref<uint16_t> header(packet->header);
    while ((header.load(std::memory_order_acquire) & 0xff) == HSA_PACKET_TYPE_INVALID)
      std::this_thread::yield();
    in_order = in_order && packet->arg[0] < kProducers && packet->arg[1] == next[packet->arg[0]]++;
    header.store(HSA_PACKET_TYPE_INVALID, std::memory_order_relaxed);
    hsa_queue_store_read_index_screlease(queue_, read + 1);
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(in_order);
}

// --- Queues by descriptors, and counted queues -------------------------------------------------------------

TEST_P(Queue, DescriptorsCreateSupportedQueues) {
  REQUIRE_HSA(hsa_amd_queue_create);
  REQUIRE_HSA(hsa_amd_queue_get_info);
  hsa_amd_queue_create_desc_t descriptors[3] = {};
  for (auto& descriptor : descriptors) {
    descriptor.version = HSA_AMD_QUEUE_CREATE_DESC_VERSION;
    descriptor.queue_size_bytes = smallest_ * 64;
    descriptor.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
    descriptor.engine.compute.private_segment_size = HSA_AMD_PRIVATE_SEGMENT_SIZE_DEFAULT;
    descriptor.engine.compute.type = HSA_QUEUE_TYPE_MULTI;
  }
  descriptors[1].engine_type = HSA_AMD_QUEUE_ENGINE_AIE;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, hsa_amd_queue_create(agent(), descriptors, 3));
  EXPECT_EQ(descriptors[1].queue, nullptr);
  for (hsa_queue_t* const queue : {descriptors[0].queue, descriptors[2].queue}) {
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(queue->size, smallest_);
    hsa_amd_queue_engine_t engine = HSA_AMD_QUEUE_ENGINE_AIE;
    EXPECT_HSA(hsa_amd_queue_get_info(queue, HSA_AMD_QUEUE_INFO_ENGINE_TYPE, &engine));
    EXPECT_EQ(engine, HSA_AMD_QUEUE_ENGINE_COMPUTE);
    uint64_t write = 0;
    EXPECT_HSA(hsa_amd_queue_get_info(queue, HSA_AMD_QUEUE_INFO_WRITE_POINTER, &write));
    hsa_queue_add_write_index_relaxed(queue, 1);
    EXPECT_EQ(*reinterpret_cast<volatile uint64_t*>(write), 1u);
    uint32_t users = 0;
    EXPECT_HSA(hsa_amd_queue_get_info(queue, HSA_QUEUE_INFO_USE_COUNT, &users));
    EXPECT_EQ(users, UINT32_MAX) << "it is not counted";
    bool faulted = true;
    EXPECT_HSA(hsa_amd_queue_get_info(queue, HSA_AMD_QUEUE_INFO_VM_FAULT_STATUS, &faulted));
    EXPECT_FALSE(faulted);
    EXPECT_HSA(hsa_queue_destroy(queue));
  }
}

TEST_P(Queue, InvalidDescriptorCreatesNoQueue) {
  REQUIRE_HSA(hsa_amd_queue_create);
  using Descriptor = hsa_amd_queue_create_desc_t;
  const auto status_with = [&](auto&& change) {
    Descriptor descriptor{};
    descriptor.version = HSA_AMD_QUEUE_CREATE_DESC_VERSION;
    descriptor.queue_size_bytes = smallest_ * 64;
    descriptor.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
    change(descriptor);
    const hsa_status_t status = hsa_amd_queue_create(agent(), &descriptor, 1);
    EXPECT_EQ(descriptor.queue, nullptr);
    return status;
  };
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.version = 2; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.queue_size_bytes = 0; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.queue_size_bytes = 96; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.engine_type = 3; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.reserved[19] = 1; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.traffic_class = 1; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                status_with([](Descriptor& descriptor) { descriptor.engine.compute.cu_mask_count = 33; }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, status_with([](Descriptor& descriptor) {
                  descriptor.engine_type = HSA_AMD_QUEUE_ENGINE_SDMA;
                }));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_create(agent(), nullptr, 1));
  Descriptor none{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_queue_create(agent(), &none, 0));
}

TEST_P(Queue, CountedQueuesAreForGpusAndReleasedOnce) {
  REQUIRE_HSA(hsa_amd_counted_queue_acquire);
  REQUIRE_HSA(hsa_amd_counted_queue_release);
  REQUIRE_HSA(hsa_amd_queue_get_info);
  const auto acquire = [&](hsa_queue_t** queue) {
    return hsa_amd_counted_queue_acquire(agent(), HSA_QUEUE_TYPE_MULTI, HSA_AMD_QUEUE_PRIORITY_NORMAL,
                                         nullptr, nullptr, 0, queue);
  };
  hsa_queue_t* first = nullptr;
  if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) {
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, acquire(&first));
    return;
  }
  hsa_queue_t* second = nullptr;
  ASSERT_HSA(acquire(&first));
  ASSERT_HSA(acquire(&second));
  EXPECT_NE(first, second);
  uint32_t users = 0;
  EXPECT_HSA(hsa_amd_queue_get_info(first, HSA_QUEUE_INFO_USE_COUNT, &users));
  EXPECT_EQ(users, 1u);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE,
                hsa_amd_queue_set_priority(first, HSA_AMD_QUEUE_PRIORITY_LOW));
  EXPECT_HSA(hsa_amd_counted_queue_release(first));
  EXPECT_STATUS(HSA_STATUS_ERROR, hsa_amd_counted_queue_release(first));
  EXPECT_HSA(hsa_amd_counted_queue_release(second));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_counted_queue_release(nullptr));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
                hsa_amd_counted_queue_acquire(agent(), HSA_QUEUE_TYPE_COOPERATIVE,
                                              HSA_AMD_QUEUE_PRIORITY_NORMAL, nullptr, nullptr, 0, &first));
}

}  // namespace
}  // namespace conformance
