// Two kernels, a barrier and an asynchronous copy on the CPU agent. Each waits for the previous one. An
// example program for the tool; docs/samples/vector_copy explains the steps of an HSA program.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s failed: %s\n", what, text != nullptr ? text : "unknown status");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr uint32_t kCount = 1000;

// The layout of TwiceArgs in kernels.cpp.
struct TwiceArgs {
  uint32_t* numbers;
  uint64_t count;
};

hsa_agent_t find_cpu() {
  hsa_agent_t found{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        hsa_device_type_t type{};
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
        if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
        *static_cast<hsa_agent_t*>(data) = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &found);
  if (found.handle == 0) check(HSA_STATUS_ERROR_INVALID_AGENT, "finding the CPU agent");
  return found;
}

// Finds the agent's first pool with this flag.
template <class T>
T* allocate(hsa_agent_t agent, uint32_t flag, size_t count) {
  struct Search {
    uint32_t flag;
    hsa_amd_memory_pool_t pool;
  } search{flag, {0}};
  hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        uint32_t flags = 0;
        if (hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags) !=
                HSA_STATUS_SUCCESS ||
            (flags & wanted.flag) == 0)
          return HSA_STATUS_SUCCESS;
        wanted.pool = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &search);
  void* pointer = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(search.pool, count * sizeof(T), 0, &pointer));
  return static_cast<T*>(pointer);
}

std::vector<char> read_kernels() {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "pipeline_kernels.hsaco";
  std::ifstream file(path, std::ios::binary);
  if (!file) check(HSA_STATUS_ERROR_INVALID_FILE, path.c_str());
  return {std::istreambuf_iterator<char>(file), {}};
}

// Header of packets that start when all earlier packets are complete, and see their writes.
constexpr uint32_t header(uint32_t type) {
  return type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER |
         HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
         HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
}

// Writes a packet into the next slot, its first word last, and rings the doorbell.
template <class Packet>
void submit(hsa_queue_t* queue, uint32_t first_word, const Packet& packet) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  char* const slot = static_cast<char*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 4, reinterpret_cast<const char*>(&packet) + 4, 60);
  std::atomic_ref(*reinterpret_cast<uint32_t*>(slot)).store(first_word, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

}  // namespace

int main() {
  CHECK(hsa_init());
  const hsa_agent_t agent = find_cpu();
  const std::vector<char> code = read_kernels();
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t symbol{};
  hsa_kernel_dispatch_packet_t dispatch{};
  CHECK(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, agent, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  CHECK(hsa_executable_get_symbol_by_name(executable, "twice.kd", &agent, &symbol));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &dispatch.kernel_object));

  auto* const numbers = allocate<uint32_t>(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, kCount);
  auto* const result = allocate<uint32_t>(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, kCount);
  auto* const args = allocate<TwiceArgs>(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, 1);
  for (uint32_t i = 0; i < kCount; ++i) numbers[i] = i;
  *args = {numbers, kCount};

  hsa_queue_t* queue = nullptr;
  hsa_signal_t computed{}, copied{};
  CHECK(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  CHECK(hsa_signal_create(1, 0, nullptr, &computed));
  CHECK(hsa_signal_create(1, 0, nullptr, &copied));
  dispatch.workgroup_size_x = 250;
  dispatch.workgroup_size_y = dispatch.workgroup_size_z = 1;
  dispatch.grid_size_x = kCount;
  dispatch.grid_size_y = dispatch.grid_size_z = 1;
  dispatch.kernarg_address = args;
  constexpr uint32_t kOneDimension = 1u << 16 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  for (int i = 0; i < 2; ++i)
    submit(queue, header(HSA_PACKET_TYPE_KERNEL_DISPATCH) | kOneDimension, dispatch);
  hsa_barrier_and_packet_t barrier{};
  barrier.completion_signal = computed;
  submit(queue, header(HSA_PACKET_TYPE_BARRIER_AND), barrier);
  CHECK(hsa_amd_memory_async_copy(result, agent, numbers, agent, kCount * sizeof *result, 1, &computed,
                                  copied));
  while (hsa_signal_wait_scacquire(copied, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >=
         1) {
  }

  std::printf("pipeline: number %u became %u\n", kCount - 1, result[kCount - 1]);
  CHECK(hsa_queue_destroy(queue));
  for (const hsa_signal_t signal : {computed, copied}) CHECK(hsa_signal_destroy(signal));
  for (void* const block :
       {static_cast<void*>(args), static_cast<void*>(result), static_cast<void*>(numbers)})
    CHECK(hsa_amd_memory_pool_free(block));
  CHECK(hsa_executable_destroy(executable));
  CHECK(hsa_code_object_reader_destroy(reader));
  CHECK(hsa_shut_down());
  return 0;
}
