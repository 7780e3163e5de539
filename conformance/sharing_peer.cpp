// conformance_peer: the other process of the sharing tests (support/sharing_peer.hpp).
#include "support/sharing_peer.hpp"

#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <vector>

namespace conformance {
namespace {

bool receive(PeerMessage& message) {
  return read(0, &message, sizeof message) == static_cast<ssize_t>(sizeof message);
}

void send(const PeerMessage& message) {
  static_cast<void>(!write(1, &message, sizeof message));
}

/// Returns whether `status` is success. Stores the first failure in `message`.
bool succeeded(PeerMessage& message, hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return true;
  std::fprintf(stderr, "peer: %s: %#x\n", what, status);
  if (message.status == HSA_STATUS_SUCCESS) message.status = status;
  return false;
}

hsa_status_t write_pattern(void* memory, uint64_t bytes, uint64_t seed) {
  std::vector<uint32_t> words(bytes / 4);
  for (size_t i = 0; i < words.size(); ++i) words[i] = pattern(seed, i);
  return hsa_memory_copy(memory, words.data(), words.size() * 4);
}

hsa_status_t check_pattern(const void* memory, uint64_t bytes, uint64_t seed, uint64_t& wrong) {
  std::vector<uint32_t> words(bytes / 4);
  const hsa_status_t status = hsa_memory_copy(words.data(), memory, words.size() * 4);
  wrong = 0;
  for (size_t i = 0; i < words.size(); ++i) wrong += words[i] != pattern(seed, i);
  return status;
}

// Attaches memory that the test exported, checks its pattern and writes another one.
void attach_memory(PeerMessage& message) {
  void* memory = nullptr;
  const hsa_status_t attached = hsa_amd_ipc_memory_attach(&message.name, message.bytes, 0, nullptr, &memory);
  if (!succeeded(message, attached, "attach")) return;
  if (succeeded(message, check_pattern(memory, message.bytes, message.seed, message.wrong_words), "read")) {
    succeeded(message, write_pattern(memory, message.bytes, message.seed_after), "write");
  }
  succeeded(message, hsa_amd_ipc_memory_detach(memory), "detach");
}

hsa_status_t find_pool(hsa_amd_memory_pool_t& found) {
  return hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
        return hsa_amd_agent_iterate_memory_pools(
            agent,
            [](hsa_amd_memory_pool_t pool, void* out) {
              hsa_amd_segment_t segment{};
              hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
              if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
              *static_cast<hsa_amd_memory_pool_t*>(out) = pool;
              return HSA_STATUS_INFO_BREAK;
            },
            data);
      },
      &found);
}

// Exports memory, then checks the pattern that the test wrote to it.
void share_memory(PeerMessage& message) {
  hsa_amd_memory_pool_t pool{};
  void* memory = nullptr;
  find_pool(pool);
  if (!succeeded(message, hsa_amd_memory_pool_allocate(pool, message.bytes, 0, &memory), "allocate")) return;
  succeeded(message, write_pattern(memory, message.bytes, message.seed), "write");
  succeeded(message, hsa_amd_ipc_memory_create(memory, message.bytes, &message.name), "create");
  send(message);
  PeerMessage unused;
  if (!receive(unused)) return;
  succeeded(message, check_pattern(memory, message.bytes, message.seed_after, message.wrong_words), "read");
  succeeded(message, hsa_amd_memory_pool_free(memory), "free");
}

// Attaches the test's signal, waits until it is 1 and stores `seed_after`.
void attach_signal(PeerMessage& message) {
  hsa_signal_t signal{};
  if (!succeeded(message, hsa_amd_ipc_signal_attach(&message.name, &signal), "attach")) return;
  send(message);
  hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  hsa_signal_store_screlease(signal, static_cast<hsa_signal_value_t>(message.seed_after));
  succeeded(message, hsa_signal_destroy(signal), "destroy");
}

int run(std::string_view task) {
  PeerMessage message;
  if (hsa_init() != HSA_STATUS_SUCCESS || !receive(message)) return 2;
  if (task == "attach-memory") {
    attach_memory(message);
  } else if (task == "share-memory") {
    share_memory(message);
  } else if (task == "attach-signal") {
    attach_signal(message);
  } else {
    return 2;
  }
  send(message);
  hsa_shut_down();
  return message.status == HSA_STATUS_SUCCESS && message.wrong_words == 0 ? 0 : 1;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  return argc == 2 ? conformance::run(argv[1]) : 2;
}
