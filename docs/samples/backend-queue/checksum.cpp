// Computes checksums on the sample accelerator: finds the agent, fills packets, rings the doorbell, waits.
// Then submits a packet that the accelerator rejects, and prints the status that the queue's error callback
// receives.
#include <hsa/hsa.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "accelerator.hpp"

namespace {

// Every HSA call returns a status. This program ends at the first status other than success.
void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s failed: %s\n", what, text != nullptr ? text : "unknown status");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

hsa_agent_t find_accelerator() {
  hsa_agent_t found{};
  const hsa_status_t status = hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        char name[64] = {};
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name));
        if (std::strcmp(name, "accelerator") != 0) return HSA_STATUS_SUCCESS;  // go on
        *static_cast<hsa_agent_t*>(data) = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &found);
  if (status != HSA_STATUS_INFO_BREAK) check(HSA_STATUS_ERROR_INVALID_AGENT, "finding the accelerator");
  return found;
}

// Writes a packet into the next slot, its first word last, and rings the doorbell. At most queue->size
// packets may be unprocessed.
template <class Packet>
void submit(hsa_queue_t* queue, int type, uint16_t second_half, const Packet& packet) {
  static_assert(sizeof packet == 64);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  char* const slot = static_cast<char*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 4, reinterpret_cast<const char*>(&packet) + 4, 60);
  const uint32_t header = static_cast<uint32_t>(type) << HSA_PACKET_HEADER_TYPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(slot))
      .store(header | uint32_t{second_half} << 16, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void wait_for_zero(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) !=
         0) {
  }
}

}  // namespace

int main() {
  CHECK(hsa_init());
  const hsa_agent_t agent = find_accelerator();
  hsa_queue_t* queue = nullptr;
  hsa_signal_t go{}, done{}, failed{};
  CHECK(hsa_signal_create(1, 0, nullptr, &go));
  CHECK(hsa_signal_create(2, 0, nullptr, &done));
  CHECK(hsa_signal_create(1, 0, nullptr, &failed));
  CHECK(hsa_queue_create(
      agent, 64, HSA_QUEUE_TYPE_MULTI,
      [](hsa_status_t status, hsa_queue_t*, void* data) {
        const char* text = nullptr;
        hsa_status_string(status, &text);
        std::printf("the queue stopped: %s\n", text);
        hsa_signal_store_screlease(*static_cast<hsa_signal_t*>(data), 0);
      },
      &failed, UINT32_MAX, UINT32_MAX, &queue));

  // The second checksum waits, after a barrier, for a signal of the program.
  static constexpr const char* kTexts[] = {"123456789", "The quick brown fox jumps over the lazy dog"};
  uint32_t sums[2] = {};
  for (int i = 0; i < 2; ++i) {
    if (i == 1) {
      hsa_barrier_and_packet_t barrier{};
      barrier.dep_signal[0] = go;
      submit(queue, HSA_PACKET_TYPE_BARRIER_AND, 0, barrier);
    }
    hsa_agent_dispatch_packet_t packet{};
    packet.return_address = &sums[i];
    packet.arg[0] = reinterpret_cast<uint64_t>(kTexts[i]);
    packet.arg[1] = std::strlen(kTexts[i]);
    packet.completion_signal = done;
    submit(queue, HSA_PACKET_TYPE_AGENT_DISPATCH, kCrc32, packet);
  }
  hsa_signal_store_screlease(go, 0);
  wait_for_zero(done);
  for (int i = 0; i < 2; ++i) std::printf("crc32(\"%s\") = %08" PRIx32 "\n", kTexts[i], sums[i]);

  submit(queue, HSA_PACKET_TYPE_AGENT_DISPATCH, kCrc32 + 1, hsa_agent_dispatch_packet_t{});
  wait_for_zero(failed);

  CHECK(hsa_queue_destroy(queue));
  for (const hsa_signal_t signal : {go, done, failed}) CHECK(hsa_signal_destroy(signal));
  CHECK(hsa_shut_down());
  return 0;
}
