// Queues over a mock backend, which fails on request and records the threads that call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "api/support/backend_report.hpp"
#include "core/queue/queue.hpp"

namespace rigel {
namespace {

constexpr uint32_t kUnits = 64;

std::atomic<int> inside, most_inside, destroyed;
std::atomic<uint32_t> mask_in_force;
std::atomic<hsabe_status_t> answer;
amd_queue_t queue_memory;
uint64_t ring, doorbell;
std::function<void(hsabe_queue_info_t&)> mistake;

// Long enough to detect a second thread.
hsabe_status_t be_inside() {
  const int now = ++inside;
  if (now > most_inside) most_inside = now;
  std::this_thread::yield();
  --inside;
  return answer;
}

LoadedBackend backend() {
  LoadedBackend table;
  table.queue.struct_size = sizeof table.queue;
  table.name = "mistaken";
  table.queue.create = [](void*, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) -> hsabe_status_t {
    if (answer != HSA_STATUS_SUCCESS) return answer;
    queue_memory.hsa_queue = {};
    queue_memory.hsa_queue.base_address = &ring;
    queue_memory.hsa_queue.size = desc->packets;
    queue_memory.hsa_queue.doorbell_signal.handle = desc->doorbell_signal;
    info->queue = info->amd_queue = &queue_memory;
    info->doorbell = &doorbell;
    mistake(*info);
    return HSA_STATUS_SUCCESS;
  };
  table.queue.destroy = [](void*) { ++destroyed; };
  table.queue.inactivate = [](void*) { return be_inside(); };
  table.queue.set_profiling = [](void*, int32_t) { return be_inside(); };
  table.queue.set_priority = [](void*, uint32_t) { return be_inside(); };
  table.queue.set_cu_mask = [](void*, uint32_t, const uint32_t* mask) {
    const hsabe_status_t status = be_inside();
    if (status == HSA_STATUS_SUCCESS) mask_in_force = mask[0];
    return status;
  };
  return table;
}

Capabilities capabilities(uint32_t kind = HSABE_DOORBELL_SIGNAL) {
  Capabilities can;
  can.caps.features = HSABE_FEATURE_KERNEL_DISPATCH;
  can.caps.queue_types = 1u << HSA_QUEUE_TYPE_MULTI;
  can.caps.queue_min_size = can.caps.queue_max_size = 64;
  can.caps.doorbell = kind;
  can.caps.compute_units = kUnits;
  return can;
}

class AgentQueueTest : public ::testing::Test {
 protected:
  AgentQueueTest() : agent_(Node{}, backend_, host_, capabilities(), {}) {
    inside = most_inside = destroyed = 0;
    answer = HSA_STATUS_SUCCESS;
    mistake = [](hsabe_queue_info_t&) {};
  }

  Result<std::shared_ptr<Queue>> create() {
    QueueRequest request;
    request.size = 64;
    return create_agent_queue(agent_, request, 1);
  }

  const LoadedBackend backend_ = backend();
  const hsabe_host_t host_{};
  const Agent agent_;
};

TEST_F(AgentQueueTest, CallsBackendFromOneThreadAtATime) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 50; ++i) {
        const uint32_t mask[2] = {1u << (t * 8 + i % 8), 0};
        EXPECT_EQ((*queue)->set_cu_mask(kUnits, mask), HSA_STATUS_SUCCESS);
        EXPECT_EQ((*queue)->set_priority(t % 3), HSA_STATUS_SUCCESS);
        EXPECT_EQ((*queue)->set_profiling(i % 2 == 0), HSA_STATUS_SUCCESS);
        if (i % 10 == 0) {
          EXPECT_EQ((*queue)->inactivate(), HSA_STATUS_SUCCESS);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most_inside, 1);
  uint32_t told[2] = {};
  EXPECT_EQ((*queue)->get_cu_mask(kUnits, told), HSA_STATUS_SUCCESS);
  EXPECT_EQ(told[0], mask_in_force) << "what is told is not what the backend was given last";
}

// Other owners of the object, such as its callback, may outlive the device.
TEST_F(AgentQueueTest, CloseReleasesBackendQueue) {
  auto queue = create();
  ASSERT_TRUE(queue);
  (*queue)->close();
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ((*queue)->set_priority(HSABE_PRIORITY_HIGH), HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ((*queue)->inactivate(), HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ(most_inside, 0);
  (*queue)->raise(HSA_STATUS_ERROR);
  *queue = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST_F(AgentQueueTest, CanBeClosedInCallback) {
  static Queue* raised;
  QueueRequest request;
  request.size = 64;
  request.callback = [](hsa_status_t, hsa_queue_t*, void*) {
    raised->close();
    EXPECT_EQ(destroyed, 1);
  };
  const auto queue = create_agent_queue(agent_, request, 1);
  ASSERT_TRUE(queue);
  raised = queue->get();
  raised->raise(HSA_STATUS_ERROR);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(AgentQueueTest, DropsReportsOfItsFailures) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  answer = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const uint32_t mask[2] = {1, 0};
  const auto expect_refused = [&](auto&& call) {
    backend_report::keep("the driver says no");
    EXPECT_EQ(call(), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    EXPECT_EQ(backend_report::take(), "");
  };
  expect_refused([&] { return (*queue)->set_cu_mask(kUnits, mask); });
  expect_refused([&] { return (*queue)->set_priority(0); });
  expect_refused([&] { return (*queue)->set_profiling(true); });
  expect_refused([&] { return (*queue)->inactivate(); });
  expect_refused([&] { return create().error(); });
}

TEST_F(AgentQueueTest, KeepsMaskIfNewMaskIsRejected) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  const uint32_t one[2] = {1, 0}, other[2] = {2, 0};
  EXPECT_EQ((*queue)->set_cu_mask(kUnits, one), HSA_STATUS_SUCCESS);
  answer = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ((*queue)->set_cu_mask(kUnits, other), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  uint32_t told[2] = {};
  EXPECT_EQ((*queue)->get_cu_mask(kUnits, told), HSA_STATUS_SUCCESS);
  EXPECT_EQ(told[0], 1u);
}

TEST_F(AgentQueueTest, CreationFailsForInvalidDescription) {
  const Agent with_register(Node{}, backend_, host_, capabilities(HSABE_DOORBELL_INDEX64), {});
  const struct {
    const char* what;
    std::function<void(hsabe_queue_info_t&)> make;
  } mistakes[] = {
      {"queue is NULL", [](hsabe_queue_info_t& info) { info.queue = nullptr; }},
      {"amd_queue is NULL", [](hsabe_queue_info_t& info) { info.amd_queue = nullptr; }},
      {"the base address of the ring is NULL",
       [](hsabe_queue_info_t&) { queue_memory.hsa_queue.base_address = nullptr; }},
      {"the size is not a power of two", [](hsabe_queue_info_t&) { queue_memory.hsa_queue.size = 0; }},
      {"doorbell_signal is not", [](hsabe_queue_info_t&) { queue_memory.hsa_queue.doorbell_signal = {0}; }},
      {"doorbell is NULL", [](hsabe_queue_info_t& info) { info.doorbell = nullptr; }}};
  int made = 0;
  for (const auto& [what, make] : mistakes) {
    mistake = make;
    ::testing::internal::CaptureStderr();
    const auto queue = create_agent_queue(with_register, {.size = 64}, 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr(std::string("backend mistaken: created an invalid queue: ") + what));
    ASSERT_FALSE(queue);
    EXPECT_EQ(queue.error(), HSA_STATUS_ERROR);
    made += std::string(what) == "queue is NULL" ? 0 : 1;
    EXPECT_EQ(destroyed, made) << what;
  }
  EXPECT_TRUE(create()) << "without a register there is none to name";
}

}  // namespace
}  // namespace rigel
