// A program for any HSA runtime with an error that the GPU detects.
//
//   mistake_program out_of_bounds|use_after_free|trap|assert|undefined|endless|other_gpu CODE_OBJECT
//   mistake_program stuck_queues
//
// Runs until the queue has an error or the kernel has completed, and prints which. The stuck queues never
// complete.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <fcntl.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "mistakes.hpp"

namespace {

void check(hsa_status_t status, const char* call) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "?";
  hsa_status_string(status, &text);
  std::printf("%s: %s\n", call, text);
  std::fflush(stdout);
  std::_Exit(1);
}
#define CHECK(call) check(call, #call)

hsa_agent_t gpu{};
hsa_amd_memory_pool_t kernargs{}, vram{};
std::atomic<bool> failed{false};

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* gpu_agent) {
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (gpu_agent != nullptr) {
    if (vram.handle == 0) vram = pool;
  } else if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) {
    kernargs = pool;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t find_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  const bool is_gpu = type == HSA_DEVICE_TYPE_GPU;
  if (is_gpu) gpu = agent;
  return hsa_amd_agent_iterate_memory_pools(agent, find_pool, is_gpu ? &gpu : nullptr);
}

hsa_executable_symbol_t load(const char* path, const char* kernel) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  hsa_code_object_reader_t reader;
  CHECK(hsa_code_object_reader_create_from_file(file, &reader));
  hsa_executable_t executable;
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  hsa_executable_symbol_t symbol;
  CHECK(hsa_executable_get_symbol_by_name(executable, kernel, &gpu, &symbol));
  return symbol;
}

void* allocate(hsa_amd_memory_pool_t pool, size_t bytes) {
  void* memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
  CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
  return memory;
}

constexpr uint16_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;

struct Mistake {
  const char* kernel;
  size_t bytes;  // size of the buffer
  long index;
};

// Runtimes sub-allocate small blocks from larger buffers, in which a GPU detects no errors.
constexpr size_t kLargeBytes = size_t{16} << 20;
constexpr size_t kHugeBytes = size_t{512} << 20;  // no runtime caches it after it was freed

const std::map<std::string, Mistake> kMistakes = {
    {"out_of_bounds", {"_Z5shift16MistakeArguments.kd", kLargeBytes, kLargeBytes / 4 - 100}},
    {"use_after_free", {"_Z5shift16MistakeArguments.kd", kHugeBytes, 0}},
    {"trap", {"_Z5check16MistakeArguments.kd", 4096, 0}},
    {"assert", {"_Z11check_calls16MistakeArguments.kd", 4096, 0}},
    {"undefined", {"_Z9undefined16MistakeArguments.kd", 4096, 1}},
    {"endless", {"_Z8wait_for16MistakeArguments.kd", 4096, 1}},
    {"other_gpu", {"_Z5shift16MistakeArguments.kd", 4096, 0}},
};

}  // namespace

namespace {

hsa_queue_t* new_queue() {
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(
      gpu, 64, HSA_QUEUE_TYPE_SINGLE, [](hsa_status_t, hsa_queue_t*, void*) { failed = true; }, nullptr,
      UINT32_MAX, UINT32_MAX, &queue));
  return queue;
}

// One queue waits for a signal that is never decremented. In the other, the doorbell is rung for a missing
// packet.
void block_queues() {
  hsa_queue_t* const waiting_queue = new_queue();
  hsa_barrier_and_packet_t packet{};
  CHECK(hsa_signal_create(1, 0, nullptr, &packet.dep_signal[0]));
  packet.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
  hsa_queue_add_write_index_relaxed(waiting_queue, 1);
  auto* const slot = static_cast<hsa_barrier_and_packet_t*>(waiting_queue->base_address);
  const uint16_t header = packet.header;
  packet.header = HSA_PACKET_TYPE_INVALID;
  *slot = packet;
  __atomic_store_n(&slot->header, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(waiting_queue->doorbell_signal, 0);
  hsa_queue_t* const queue_without_packet = new_queue();
  hsa_queue_add_write_index_relaxed(queue_without_packet, 1);
  hsa_signal_store_screlease(queue_without_packet->doorbell_signal, 0);
  std::printf("running\n");
  std::fflush(stdout);
  for (;;)
    hsa_signal_wait_scacquire(packet.dep_signal[0], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                              HSA_WAIT_STATE_BLOCKED);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "stuck_queues") {
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(find_agent, nullptr));
    block_queues();
  }
  if (count != 3 || kMistakes.count(arguments[1]) == 0) return 2;
  const std::string name = arguments[1];
  const Mistake& mistake = kMistakes.at(name);
  CHECK(hsa_init());
  CHECK(hsa_iterate_agents(find_agent, nullptr));
  const hsa_executable_symbol_t symbol = load(arguments[2], mistake.kernel);
  hsa_kernel_dispatch_packet_t packet{};
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &packet.kernel_object));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                       &packet.private_segment_size));
  auto* const kernarg = static_cast<MistakeArguments*>(allocate(kernargs, sizeof(MistakeArguments)));
  // The endless kernel writes to memory that the host can read.
  *kernarg = {static_cast<int*>(allocate(name == "endless" ? kernargs : vram, mistake.bytes)), mistake.index};
  if (name == "use_after_free") CHECK(hsa_amd_memory_pool_free(kernarg->data));
  if (name == "trap") CHECK(hsa_amd_memory_fill(kernarg->data, 0, 256));
  if (name == "endless") std::memset(kernarg->data, 0, mistake.bytes);

  CHECK(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t*, void*) {
        failed = true;
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
  hsa_queue_t* const queue = new_queue();
  packet.setup = 1;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = 128;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernarg_address = kernarg;
  CHECK(hsa_signal_create(1, 0, nullptr, &packet.completion_signal));
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto* const slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index;
  std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4,
              sizeof packet - 4);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), kHeader | uint32_t{packet.setup} << 16,
                   __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  while (name == "endless" && __atomic_load_n(kernarg->data + 1, __ATOMIC_RELAXED) != 128) sched_yield();
  std::printf("running\n");
  std::fflush(stdout);
  while (!failed && hsa_signal_wait_scacquire(packet.completion_signal, HSA_SIGNAL_CONDITION_LT, 1,
                                              100'000'000, HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  std::printf("%s\n", failed ? "failed" : "ended");
  std::fflush(stdout);
  std::_Exit(failed ? 3 : 0);
}
