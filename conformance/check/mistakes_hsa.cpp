// Runs the kernels of a code object (mistakes.cl) with functions of HSA alone. Each gets new memory, so that
// findings do not depend on the order.
//
//   mistakes_hsa <code object>...
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kElements = 1000, kGroup = 256, kGrid = 1024;

void succeed(hsa_status_t status, const char* call) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "mistakes_hsa: error: %s: %s\n", call, text == nullptr ? "unknown status" : text);
  std::exit(1);
}
#define HSA_OK(call) succeed(call, #call)

struct Gpu {
  hsa_agent_t agent{};
  hsa_amd_memory_pool_t device_pool{}, host_pool{}, kernel_arguments{};
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
};

hsa_status_t find_agents(hsa_agent_t agent, void* data) {
  auto& gpu = *static_cast<Gpu*>(data);
  hsa_device_type_t type{};
  HSA_OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU) gpu.agent = agent;
  const auto find_pool = [](hsa_amd_memory_pool_t pool, void* pools) {
    auto& found = *static_cast<Gpu*>(pools);
    hsa_amd_segment_t segment{};
    uint32_t flags = 0;
    bool can_allocate = false;
    HSA_OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    HSA_OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    HSA_OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &can_allocate));
    if (segment != HSA_AMD_SEGMENT_GLOBAL || !can_allocate) return HSA_STATUS_SUCCESS;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) found.kernel_arguments = pool;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) found.device_pool = pool;
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) found.host_pool = pool;
    return HSA_STATUS_SUCCESS;
  };
  // The GPU's coarse-grained pool, and the host's others.
  Gpu pools;
  HSA_OK(hsa_amd_agent_iterate_memory_pools(agent, find_pool, &pools));
  if (type == HSA_DEVICE_TYPE_GPU) gpu.device_pool = pools.device_pool;
  if (type == HSA_DEVICE_TYPE_CPU && pools.kernel_arguments.handle != 0)
    gpu.kernel_arguments = pools.kernel_arguments, gpu.host_pool = pools.host_pool;
  return HSA_STATUS_SUCCESS;
}

void* allocate(const Gpu& gpu, hsa_amd_memory_pool_t pool, size_t bytes) {
  void* memory = nullptr;
  HSA_OK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
  HSA_OK(hsa_amd_agents_allow_access(1, &gpu.agent, nullptr, memory));
  return memory;
}

void run(const Gpu& gpu, hsa_executable_symbol_t kernel) {
  uint64_t object = 0;
  uint32_t argument_bytes = 0, lds_bytes = 0, private_bytes = 0;
  HSA_OK(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  HSA_OK(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                                        &argument_bytes));
  HSA_OK(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                        &lds_bytes));
  HSA_OK(hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                        &private_bytes));

  struct Arguments {
    void *a, *b, *freed, *host;
    uint32_t n;
  };
  constexpr size_t kBytes = kElements * sizeof(int);
  Arguments values{allocate(gpu, gpu.device_pool, kBytes), allocate(gpu, gpu.device_pool, kBytes),
                   allocate(gpu, gpu.device_pool, kBytes), allocate(gpu, gpu.host_pool, kBytes), kElements};
  for (void* const memory : {values.a, values.b, values.freed, values.host})
    HSA_OK(hsa_amd_memory_fill(memory, 0, kElements));
  HSA_OK(hsa_amd_memory_pool_free(values.freed));
  void* const arguments = allocate(gpu, gpu.kernel_arguments, argument_bytes);
  std::memset(arguments, 0, argument_bytes);
  std::memcpy(arguments, &values, sizeof values < argument_bytes ? sizeof values : argument_bytes);

  const uint64_t index = hsa_queue_load_write_index_relaxed(gpu.queue);
  auto& packet = static_cast<hsa_kernel_dispatch_packet_t*>(gpu.queue->base_address)[index % gpu.queue->size];
  std::memset(&packet, 0, sizeof packet);
  packet.workgroup_size_x = kGroup;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = kGrid;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = private_bytes;
  packet.group_segment_size = lds_bytes;
  packet.kernel_object = object;
  packet.kernarg_address = arguments;
  packet.completion_signal = gpu.done;
  hsa_signal_store_relaxed(gpu.done, 1);
  constexpr uint32_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr uint32_t kSetup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  __atomic_store_n(reinterpret_cast<uint32_t*>(&packet), kHeader | kSetup << 16, __ATOMIC_RELEASE);
  hsa_queue_store_write_index_relaxed(gpu.queue, index + 1);
  hsa_signal_store_screlease(gpu.queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  hsa_signal_wait_scacquire(gpu.done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  for (void* const memory : {values.a, values.b, values.host, arguments})
    HSA_OK(hsa_amd_memory_pool_free(memory));
}

int run_all(const Gpu& gpu, const char* path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string code(std::istreambuf_iterator<char>(stream), {});
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  HSA_OK(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  HSA_OK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                   &executable));
  HSA_OK(hsa_executable_load_agent_code_object(executable, gpu.agent, reader, nullptr, nullptr));
  HSA_OK(hsa_executable_freeze(executable, nullptr));
  std::vector<hsa_executable_symbol_t> kernels;
  const auto add_kernel = [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* list) {
    hsa_symbol_kind_t kind{};
    HSA_OK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    if (kind == HSA_SYMBOL_KIND_KERNEL)
      static_cast<std::vector<hsa_executable_symbol_t>*>(list)->push_back(symbol);
    return HSA_STATUS_SUCCESS;
  };
  HSA_OK(hsa_executable_iterate_agent_symbols(executable, gpu.agent, add_kernel, &kernels));
  for (const hsa_executable_symbol_t kernel : kernels) run(gpu, kernel);
  HSA_OK(hsa_executable_destroy(executable));
  HSA_OK(hsa_code_object_reader_destroy(reader));
  return static_cast<int>(kernels.size());
}

}  // namespace

int main(int argc, char** argv) {
  HSA_OK(hsa_init());
  Gpu gpu;
  HSA_OK(hsa_iterate_agents(find_agents, &gpu));
  HSA_OK(hsa_queue_create(gpu.agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                          &gpu.queue));
  HSA_OK(hsa_signal_create(1, 0, nullptr, &gpu.done));
  int kernels = 0;
  for (int i = 1; i < argc; ++i) kernels += run_all(gpu, argv[i]);
  std::printf("mistakes_hsa: %d kernels\n", kernels);
  HSA_OK(hsa_signal_destroy(gpu.done));
  HSA_OK(hsa_queue_destroy(gpu.queue));
  HSA_OK(hsa_shut_down());
}
