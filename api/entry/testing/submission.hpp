// Barrier packets and signals on the CPU agent, for tests of tools.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

namespace rigel::testing {

inline hsa_agent_t cpu_agent() {
  hsa_agent_t found{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* out) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
        *static_cast<hsa_agent_t*>(out) = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &found);
  return found;
}

inline hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal{};
  EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  return signal;
}

inline hsa_barrier_and_packet_t barrier(hsa_signal_t completion, hsa_signal_t dependency = {0}) {
  hsa_barrier_and_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  packet.completion_signal = completion;
  packet.dep_signal[0] = dependency;
  return packet;
}

inline void ring(hsa_queue_t* queue, uint64_t index) {
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

// Enqueues as a program does: takes a slot, waits until it is free, writes the header last. Returns the index
// for the doorbell.
inline uint64_t enqueue(hsa_queue_t* queue, const hsa_barrier_and_packet_t& packet) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) std::this_thread::yield();
  auto* const slot = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
  std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4,
              sizeof packet - 4);
  uint32_t first = 0;
  std::memcpy(&first, &packet, sizeof first);
  std::atomic_ref(*reinterpret_cast<uint32_t*>(slot)).store(first, std::memory_order_release);
  return index;
}

inline void submit(hsa_queue_t* queue, const hsa_barrier_and_packet_t& packet) {
  ring(queue, enqueue(queue, packet));
}

inline bool wait_until(hsa_signal_t signal, hsa_signal_value_t value) {
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) == value;
}

}  // namespace rigel::testing
