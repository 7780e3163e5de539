// Runs a kernel on a GPU: computes y = a * x + y for four million elements, several times, and prints how
// long the first and the fastest dispatch took. With --bug it runs a kernel that writes past the end of y.
//
//   saxpy [--bug]
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

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

// The kernel's arguments: the layout of the parameters in kernels.cpp.
struct Arguments {
  uint32_t n;
  float a;
  const float* x;
  float* y;
};

struct Found {
  hsa_agent_t cpu{}, gpu{};
  hsa_amd_memory_pool_t kernel_arguments{}, gpu_memory{};
};

hsa_status_t note_agent(hsa_agent_t agent, void* data) {
  auto& found = *static_cast<Found*>(data);
  hsa_device_type_t type{};
  CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU && found.gpu.handle == 0) found.gpu = agent;
  if (type == HSA_DEVICE_TYPE_CPU && found.cpu.handle == 0) found.cpu = agent;
  return HSA_STATUS_SUCCESS;
}

// Finds the agent's first pool of global memory with these flags.
hsa_amd_memory_pool_t find_pool(hsa_agent_t agent, uint32_t flags) {
  struct Search {
    uint32_t flags;
    hsa_amd_memory_pool_t pool;
  } search{flags, {0}};
  hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        hsa_amd_segment_t segment{};
        uint32_t global_flags = 0;
        CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
        if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
        CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &global_flags));
        if ((global_flags & wanted.flags) != wanted.flags) return HSA_STATUS_SUCCESS;
        wanted.pool = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &search);
  if (search.pool.handle == 0) check(HSA_STATUS_ERROR, "finding a memory pool");
  return search.pool;
}

// Allocates memory that the GPU and the CPU can access.
template <class T>
T* allocate(const Found& found, hsa_amd_memory_pool_t pool, size_t count) {
  void* memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &memory));
  const hsa_agent_t agents[] = {found.cpu, found.gpu};
  CHECK(hsa_amd_agents_allow_access(2, agents, nullptr, memory));
  return static_cast<T*>(memory);
}

struct Kernel {
  uint64_t object = 0;
  uint32_t lds = 0, scratch = 0;
};

Kernel load(hsa_agent_t gpu, const char* name) {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "saxpy_kernels.hsaco";
  std::ifstream file(path, std::ios::binary);
  if (!file) check(HSA_STATUS_ERROR_INVALID_FILE, path.c_str());
  static const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  hsa_code_object_reader_t reader{};
  CHECK(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  hsa_executable_t executable{};
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  hsa_executable_symbol_t symbol{};
  CHECK(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol));
  Kernel kernel;
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &kernel.lds));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                       &kernel.scratch));
  return kernel;
}

// The runtime calls this if a kernel accesses memory that is not mapped. The queue ends then.
hsa_status_t end_program(const hsa_amd_event_t* event, void*) {
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
  std::printf("the kernel failed: memory fault at %#llx\n",
              static_cast<unsigned long long>(event->memory_fault.virtual_address));
  std::fflush(stdout);
  std::_Exit(1);
}

// Submits the kernel to the queue and waits for its end.
void dispatch(hsa_queue_t* queue, const Kernel& kernel, void* arguments, uint32_t work_items,
              hsa_signal_t completed) {
  hsa_signal_store_relaxed(completed, 1);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto* const packet = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
  packet->workgroup_size_x = 256;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = work_items;
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->private_segment_size = kernel.scratch;
  packet->group_segment_size = kernel.lds;
  packet->kernel_object = kernel.object;
  packet->kernarg_address = arguments;
  packet->reserved2 = 0;
  packet->completion_signal = completed;
  // The header makes the packet valid. It is stored last, together with the number of dimensions.
  constexpr uint32_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr uint32_t kSetup = 1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(packet))
      .store(kHeader | kSetup << 16, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  while (hsa_signal_wait_scacquire(completed, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) >= 1) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool bug = argc == 2 && std::string_view(argv[1]) == "--bug";
  if (argc > 1 && !bug) {
    std::fputs("usage: saxpy [--bug]\n", stderr);
    return 2;
  }
  CHECK(hsa_init());
  CHECK(hsa_amd_register_system_event_handler(end_program, nullptr));
  Found found;
  CHECK(hsa_iterate_agents(note_agent, &found));
  if (found.gpu.handle == 0) {
    std::fputs("saxpy: no GPU; `vgpu-run --gpu gfx900 saxpy` provides a virtual one\n", stderr);
    return 1;
  }
  found.kernel_arguments = find_pool(found.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  found.gpu_memory = find_pool(found.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);

  constexpr uint32_t kCount = 4 << 20;
  auto* const x = allocate<float>(found, found.gpu_memory, kCount);
  auto* const y = allocate<float>(found, found.gpu_memory, kCount);
  std::fill_n(x, kCount, 1.0f);
  std::fill_n(y, kCount, 0.0f);
  auto* const arguments = allocate<Arguments>(found, found.kernel_arguments, 1);
  *arguments = {kCount, 2.0f, x, y};

  const Kernel kernel = load(found.gpu, bug ? "saxpy_with_a_bug.kd" : "saxpy.kd");
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(found.gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                         &queue));
  hsa_signal_t completed{};
  CHECK(hsa_signal_create(1, 0, nullptr, &completed));

  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  Milliseconds first{}, fastest{};
  uint32_t times = 0;
  const auto begin = Clock::now();
  for (; times < 20 || Clock::now() - begin < std::chrono::seconds(1); ++times) {
    const auto before = Clock::now();
    dispatch(queue, kernel, arguments, kCount, completed);
    const Milliseconds took = Clock::now() - before;
    if (times == 0) first = fastest = took;
    fastest = std::min(fastest, took);
  }

  const float expected = 2.0f * static_cast<float>(times);
  const auto wrong = std::count_if(y, y + kCount, [&](float value) { return value != expected; });
  char name[64] = {};
  CHECK(hsa_agent_get_info(found.gpu, HSA_AGENT_INFO_NAME, name));
  std::printf("%s: %u dispatches of %u work-items: the first took %.1f ms, the fastest %.1f ms\n", name,
              times, kCount, first.count(), fastest.count());
  std::printf("y[0] = %g (expected %g); %lld elements are wrong\n", static_cast<double>(y[0]),
              static_cast<double>(expected), static_cast<long long>(wrong));
  CHECK(hsa_signal_destroy(completed));
  CHECK(hsa_queue_destroy(queue));
  CHECK(hsa_shut_down());
  return wrong == 0 ? 0 : 1;
}
