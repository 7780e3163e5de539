// Barrier packets, and invalid packets: they stop only their queue and call its error callback.
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <atomic>
#include <ostream>
#include <string_view>
#include <thread>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"
#include "support/memory.hpp"
#include "support/sanitized.hpp"

namespace conformance {
namespace {

class BarrierPacket : public DispatchTest {};

TEST_P(BarrierPacket, AndWaitsForAllSignals) {
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  const ScopedSignal done(1);
  hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done);
  packet.dep_signal[0] = first;
  packet.dep_signal[4] = second;
  submit(queue(), packet);
  hsa_signal_store_screlease(second, 0);
  // A packet that does not wait for both signals would complete during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(done.value(), 1);
  hsa_signal_store_screlease(first, 0);
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
}

TEST_P(BarrierPacket, OrWaitsForAnySignal) {
  const ScopedSignal first(1);
  const ScopedSignal second(1);
  const ScopedSignal done(1);
  hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_OR, done);
  packet.dep_signal[1] = first;
  packet.dep_signal[3] = second;
  submit(queue(), packet);
  // A packet that does not wait for a signal would complete during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(done.value(), 1);
  hsa_signal_store_screlease(second, 0);
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
}

TEST_P(BarrierPacket, CompletesWithoutSignals) {
  EXPECT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_AND)));
  EXPECT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_OR)));
}

TEST_P(BarrierPacket, ValueComparesMaskedBits) {
  const struct {
    hsa_signal_condition_t condition;
    hsa_signal_value_t value;
    hsa_signal_value_t before;
    hsa_signal_value_t after;
  } cases[] = {{HSA_SIGNAL_CONDITION_EQ, 0x5, 0xf4, 0xf5},
               {HSA_SIGNAL_CONDITION_NE, 0x5, 0xf5, 0xf4},
               {HSA_SIGNAL_CONDITION_LT, 0x5, 0xf5, 0xf4},
               {HSA_SIGNAL_CONDITION_GTE, 0x5, 0xf4, 0xf5}};
  for (const auto& example : cases) {
    const ScopedSignal watched(example.before);
    const ScopedSignal done(1);
    hsa_amd_barrier_value_packet_t packet{};
    packet.header.header = packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC);
    packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    packet.signal = watched;
    packet.value = example.value;
    packet.mask = 0xf;
    packet.cond = example.condition;
    packet.completion_signal = done;
    submit(queue(), packet);
    // A packet that does not wait for the value would complete during this time.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(done.value(), 1) << "condition " << example.condition;
    hsa_signal_store_screlease(watched, example.after);
    // Polls, because either the signal or the error callback may come first.
    for (int i = 0; i < 5000 && done.value() != 0 && errors().count == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (errors().status == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT) {
      GTEST_SKIP() << "the agent's queues know no barrier-value packets, as those of gfx8";
    }
    EXPECT_EQ(done.value(), 0) << "condition " << example.condition;
  }
}

TEST_P(BarrierPacket, ChainsAcrossQueuesComplete) {
  constexpr int kQueues = 4;
  constexpr int kRounds = 50;
  ScopedQueue queues[kQueues];
  for (ScopedQueue& each : queues) {
    each.create(agent(), queue()->size);
    ASSERT_NE(each.get(), nullptr);
  }
  std::vector<ScopedSignal> signals;
  for (int i = 0; i <= kRounds; ++i) signals.emplace_back(1);
  for (int i = 0; i < kRounds; ++i) {
    hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, signals[i + 1]);
    packet.dep_signal[0] = signals[i];
    submit(queues[i % kQueues].get(), packet);
  }
  hsa_signal_store_screlease(signals[0], 0);
  EXPECT_TRUE(wait_for(signals[kRounds], HSA_SIGNAL_CONDITION_EQ, 0));
}

// Every packet decrements the same signal, so lost and repeated packets are detected.
TEST_P(BarrierPacket, TenMillionPacketsCompleteOnce) {
  constexpr int64_t kPackets = kSanitized ? 200'000 : 10'000'000;
  constexpr int kProducers = 4;
  ScopedQueue many;
  many.create(agent(), std::max(1024u, queue()->size));
  ASSERT_NE(many.get(), nullptr);
  const ScopedSignal left(kPackets);
  const hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, left);
  const size_t resident_before = resident_bytes();
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&] {
      for (int64_t n = 0; n < kPackets / kProducers; ++n) {
        // Yields while the ring is full, because there may be fewer CPUs than producers.
        while (hsa_queue_load_write_index_relaxed(many.get()) -
                   hsa_queue_load_read_index_relaxed(many.get()) >=
               many.get()->size) {
          std::this_thread::yield();
        }
        submit(many.get(), packet);
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(wait_for(left, HSA_SIGNAL_CONDITION_EQ, 0)) << left.value() << " left";
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(many.get()), static_cast<uint64_t>(kPackets));
  EXPECT_EQ(many.errors().count, 0);
  if (!kSanitized) {
    EXPECT_LT(resident_bytes(), resident_before + (size_t{8} << 20)) << "less than a byte for each packet";
  }
}

// The doorbell signal contains the address of its register. Programs and kernels that know amd_signal_t store
// to it directly, also between calls of the API. The packet processor has to accept both, awake or asleep.
TEST_P(BarrierPacket, CompletesAfterStoreToDoorbellRegister) {
  const auto& doorbell = *reinterpret_cast<const amd_signal_t*>(queue()->doorbell_signal.handle);
  if (doorbell.kind != AMD_SIGNAL_KIND_DOORBELL && doorbell.kind != AMD_SIGNAL_KIND_LEGACY_DOORBELL)
    GTEST_SKIP() << "the agent's doorbells have no register";
  char name[64] = {};
  ASSERT_HSA(hsa_agent_get_info(agent(), HSA_AGENT_INFO_NAME, name));
  const bool tonga = std::string_view(name) == "gfx802";
  for (int i = 0; i < 12; ++i) {
    const ScopedSignal done(1);
    if (i % 4 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the device falls asleep
    const uint64_t index = put(queue(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    if (doorbell.kind == AMD_SIGNAL_KIND_DOORBELL) {
      std::atomic_ref(const_cast<uint64_t&>(*doorbell.hardware_doorbell_ptr))
          .store(index, std::memory_order_release);
    } else {
      // The legacy doorbell's lock is not needed, because no other thread submits.
      auto& queue = *reinterpret_cast<amd_queue_t*>(this->queue());
      queue.max_legacy_doorbell_dispatch_id_plus_1 = index + 1;
      const uint64_t in_dwords = (index + 1) % (queue.hsa_queue.size * uint64_t{2}) * 16;
      std::atomic_ref(const_cast<uint32_t&>(*doorbell.legacy_hardware_doorbell_ptr))
          .store(static_cast<uint32_t>(tonga ? in_dwords : index + 1), std::memory_order_release);
    }
    ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0)) << i;
    if (i % 3 == 2) {
      ASSERT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_AND)));
    }
  }
}

INSTANTIATE_FOR_AGENTS(BarrierPacket);

// --- Invalid packets -------------------------------------------------------------------------------------

class InvalidPacket : public DispatchTest {
 protected:
  /// Submits `packet` to a separate queue. It must stop and report one of `statuses`; others must run on.
  template <class Packet>
  void expect_error(const Packet& packet, std::initializer_list<hsa_status_t> statuses, const char* what) {
    ScopedQueue victim;
    victim.create(agent(), queue()->size);
    ASSERT_NE(victim.get(), nullptr);
    const ScopedSignal after(1);
    submit(victim.get(), packet);
    submit(victim.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, after));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (victim.errors().count == 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_EQ(victim.errors().count, 1) << what;
    EXPECT_EQ(victim.errors().queue, victim.get()) << what;
    bool is_expected = false;
    for (const hsa_status_t status : statuses) is_expected = is_expected || victim.errors().status == status;
    EXPECT_TRUE(is_expected) << what << ": told " << status_name(victim.errors().status);
    EXPECT_EQ(after.value(), 1) << what << ": the packet behind it ran";
    victim.destroy();
    EXPECT_TRUE(run(barrier_packet(HSA_PACKET_TYPE_BARRIER_AND))) << what << ": another queue stopped too";
    EXPECT_EQ(errors().count, 0) << what;
  }

  hsa_kernel_dispatch_packet_t good() {
    return dispatch_packet(kernels_.kernel("empty"), kernarg(EmptyArgs{}), 1, 1);
  }
};

TEST_P(InvalidPacket, UnknownTypeStopsQueue) {
  // Each type needs a queue, whose creation is slow on GPUs. GPUs test only a part of the types.
  const bool all = agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU;
  for (int type = 6; type <= 0xff; type += all || type < 16 ? 1 : 31) {
    hsa_barrier_and_packet_t packet = barrier_packet(type);
    expect_error(packet, {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT}, ("type " + std::to_string(type)).c_str());
  }
}

TEST_P(InvalidPacket, CallsErrorCallbackWhileSignalHandlerWaits) {
  struct Waiting {
    const QueueErrors& errors;
    std::atomic<bool> started = false, ended = false;
    int count_in_handler = 0;
  };
  ScopedQueue victim;
  victim.create(agent(), queue()->size);
  ASSERT_NE(victim.get(), nullptr);
  Waiting waiting{victim.errors()};
  const ScopedSignal signal(1);
  const auto handler = [](hsa_signal_value_t, void* data) {
    auto& self = *static_cast<Waiting*>(data);
    self.started = true;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (self.errors.count == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    self.count_in_handler = self.errors.count;
    self.ended = true;
    return false;
  };
  ASSERT_HSA(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, handler, &waiting));
  hsa_signal_store_screlease(signal, 0);
  while (!waiting.started) std::this_thread::yield();
  submit(victim.get(), barrier_packet(200));
  while (!waiting.ended) std::this_thread::yield();
  EXPECT_EQ(waiting.count_in_handler, 1);
}

TEST_P(InvalidPacket, UnknownVendorFormatStopsQueue) {
  for (const int format : {0, 7, 0x42, 0xff}) {
    hsa_amd_barrier_value_packet_t packet{};
    packet.header.header = packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC);
    packet.header.AmdFormat = static_cast<uint8_t>(format);
    expect_error(packet, {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT},
                 ("format " + std::to_string(format)).c_str());
  }
}

TEST_P(InvalidPacket, InvalidGridStopsQueue) {
  const auto statuses = {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, HSA_STATUS_ERROR_INVALID_ARGUMENT,
                         HSA_STATUS_ERROR_INVALID_PACKET_FORMAT};
  hsa_kernel_dispatch_packet_t packet = good();
  packet.setup = 0;
  expect_error(packet, statuses, "no dimensions");
  packet = good();
  packet.grid_size_x = 0;
  expect_error(packet, statuses, "an empty grid");
  packet = good();
  packet.workgroup_size_x = 0;
  expect_error(packet, statuses, "an empty work-group");
  packet = good();
  packet.setup = 2;
  packet.grid_size_y = 0;
  expect_error(packet, statuses, "an empty second dimension");
}

TEST_P(InvalidPacket, OversizedWorkgroupStopsQueue) {
  hsa_kernel_dispatch_packet_t packet = good();
  packet.setup = 3;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1000;
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1000;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS},
               "a thousand million work-items");
}

TEST_P(InvalidPacket, ExcessiveGroupMemoryStopsQueue) {
  hsa_kernel_dispatch_packet_t packet = good();
  packet.group_segment_size = 0xf0000000;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_OUT_OF_RESOURCES},
               "four gigabytes of group memory");
}

TEST_P(InvalidPacket, InvalidKernelObjectStopsQueue) {
  if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_CPU) {
    GTEST_SKIP() << "a device that reads a wrong address faults, which is for another test";
  }
  hsa_kernel_dispatch_packet_t packet = good();
  packet.kernel_object = 0;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_CODE_OBJECT}, "no kernel");
  packet.kernel_object = 64;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_CODE_OBJECT}, "an address where nothing is");
  packet.kernel_object = good().kernel_object + 8;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_CODE_OBJECT}, "an address inside a descriptor");
}

TEST_P(InvalidPacket, UnknownAgentFunctionStopsQueue) {
  if ((agent_info<uint32_t>(agent(), HSA_AGENT_INFO_FEATURE) & HSA_AGENT_FEATURE_AGENT_DISPATCH) == 0) {
    GTEST_SKIP() << "the agent takes no agent dispatches";
  }
  hsa_agent_dispatch_packet_t packet{};
  packet.header = packet_header(HSA_PACKET_TYPE_AGENT_DISPATCH);
  packet.type = 0xfffe;
  expect_error(packet, {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, HSA_STATUS_ERROR_INVALID_ARGUMENT},
               "function 0xfffe");
}

TEST_P(InvalidPacket, QueueWithoutCallbackStopsSilently) {
  hsa_queue_t* victim = nullptr;
  ASSERT_HSA(hsa_queue_create(agent(), queue()->size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                              UINT32_MAX, &victim));
  const ScopedSignal after(1);
  submit(victim, barrier_packet(0x77));
  submit(victim, barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, after));
  // A packet after the invalid one would incorrectly complete during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(after.value(), 1);
  EXPECT_HSA(hsa_queue_destroy(victim));
}

TEST_P(InvalidPacket, UnwrittenSlotIsWaitedFor) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue(), 1);
  hsa_signal_store_screlease(queue()->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  // The unwritten packet would be taken incorrectly during this time.
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(hsa_queue_load_read_index_relaxed(queue()), index);
  EXPECT_EQ(errors().count, 0);
  const ScopedSignal done(1);
  hsa_barrier_and_packet_t packet = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done);
  char* const slot = static_cast<char*>(queue()->base_address) + 64 * (index % queue()->size);
  std::memcpy(slot + 4, reinterpret_cast<char*>(&packet) + 4, 60);
  uint32_t first = 0;
  std::memcpy(&first, &packet, 4);
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(slot)).store(first, std::memory_order_release);
  hsa_signal_store_screlease(queue()->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
}

INSTANTIATE_FOR_AGENTS(InvalidPacket);

}  // namespace
}  // namespace conformance
