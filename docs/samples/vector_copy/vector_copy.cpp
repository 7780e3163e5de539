// Copies a vector with a kernel, in the steps of every HSA program: find an agent, load the code, allocate
// memory, fill in a packet, ring the doorbell, wait.
//
//   vector_copy [<number of words>]
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
#include <optional>
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

// Arguments of the kernel, with the layout of CopyArgs in kernels.cpp.
struct CopyArgs {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t reserved;
};

// Finds the first host agent that executes kernel dispatches. (The kernel here is compiled for the CPU.)
std::optional<hsa_agent_t> find_agent() {
  hsa_agent_t found{};
  const hsa_status_t status = hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        hsa_device_type_t type{};
        uint32_t features = 0;
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_FEATURE, &features));
        if (type != HSA_DEVICE_TYPE_CPU || (features & HSA_AGENT_FEATURE_KERNEL_DISPATCH) == 0) {
          return HSA_STATUS_SUCCESS;  // go on
        }
        *static_cast<hsa_agent_t*>(data) = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &found);
  return status == HSA_STATUS_INFO_BREAK ? std::optional(found) : std::nullopt;
}

// Finds the agent's pool with these flags.
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

template <class T>
T* allocate(hsa_amd_memory_pool_t pool, size_t count) {
  void* pointer = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &pointer));
  return static_cast<T*>(pointer);
}

std::vector<char> read_kernels() {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "vector_copy_kernels.hsaco";
  std::ifstream file(path, std::ios::binary);
  if (!file) check(HSA_STATUS_ERROR_INVALID_FILE, path.c_str());
  return {std::istreambuf_iterator<char>(file), {}};
}

void print_agents() {
  CHECK(hsa_iterate_agents(
      [](hsa_agent_t agent, void*) {
        char name[64] = {};
        uint32_t features = 0;
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name));
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_FEATURE, &features));
        std::printf("agent: %s%s\n", name,
                    features & HSA_AGENT_FEATURE_KERNEL_DISPATCH ? " (takes kernel dispatches)" : "");
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1 << 20);
  if (count == 0) {
    std::fputs("usage: vector_copy [<number of words>]\n", stderr);
    return 2;
  }
  CHECK(hsa_init());
  print_agents();
  const auto agent = find_agent();
  if (!agent) check(HSA_STATUS_ERROR_INVALID_AGENT, "finding a host agent that takes kernel dispatches");

  // Loads the code: creates an executable with one code object and freezes it, so that its kernels have
  // addresses.
  const std::vector<char> code = read_kernels();
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t symbol{};
  uint64_t kernel = 0;
  CHECK(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, *agent, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  CHECK(hsa_executable_get_symbol_by_name(executable, "vector_copy.kd", &*agent, &symbol));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel));

  // Allocates the data and the arguments, each in a pool that the agent can access.
  const hsa_amd_memory_pool_t data_pool = find_pool(*agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
  const hsa_amd_memory_pool_t kernarg_pool = find_pool(*agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  auto* const from = allocate<uint32_t>(data_pool, count);
  auto* const to = allocate<uint32_t>(data_pool, count);
  auto* const args = allocate<CopyArgs>(kernarg_pool, 1);
  for (uint32_t i = 0; i < count; ++i) from[i] = i * 2654435761u;
  std::fill_n(to, count, 0u);
  *args = {from, to, count, 0};

  // Creates the queue and a signal for the end, and fills in the packet. Its first word is stored last and
  // publishes it.
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  CHECK(
      hsa_queue_create(*agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  CHECK(hsa_signal_create(1, 0, nullptr, &done));
  CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto& packet = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address)[index % queue->size];
  packet.workgroup_size_x = 256;
  packet.workgroup_size_y = 1;
  packet.workgroup_size_z = 1;
  packet.grid_size_x = count;
  packet.grid_size_y = 1;
  packet.grid_size_z = 1;
  packet.private_segment_size = 0;
  packet.group_segment_size = 0;
  packet.kernel_object = kernel;
  packet.kernarg_address = args;
  packet.completion_signal = done;
  constexpr uint32_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr uint32_t kSetup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  std::atomic_ref(packet.full_header).store(kHeader | kSetup << 16, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));

  // A wait can end spuriously, so it is in a loop.
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >=
         1) {
  }

  const bool same = std::memcmp(from, to, count * sizeof *from) == 0;
  hsa_amd_profiling_dispatch_time_t time{};
  uint64_t frequency = 0;
  char name[64] = {};
  CHECK(hsa_amd_profiling_get_dispatch_time(*agent, done, &time));
  CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
  CHECK(hsa_agent_get_info(*agent, HSA_AGENT_INFO_NAME, name));
  std::printf("vector_copy: packet %llu of queue %llu, %u work-items in work-groups of 256 on %s\n",
              static_cast<unsigned long long>(index), static_cast<unsigned long long>(queue->id), count,
              name);
  std::printf("vector_copy: %zu bytes in %.1f us; the copy is %s\n", count * sizeof *from,
              1e6 * static_cast<double>(time.end - time.start) / static_cast<double>(frequency),
              same ? "right" : "WRONG");

  CHECK(hsa_signal_destroy(done));
  CHECK(hsa_queue_destroy(queue));
  CHECK(hsa_amd_memory_pool_free(args));
  CHECK(hsa_amd_memory_pool_free(to));
  CHECK(hsa_amd_memory_pool_free(from));
  CHECK(hsa_executable_destroy(executable));
  CHECK(hsa_code_object_reader_destroy(reader));
  CHECK(hsa_shut_down());
  return same ? 0 : 1;
}
