#include "compare/measured_agent.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace compare {
namespace {

hsa_amd_memory_pool_t find_pool(hsa_agent_t agent, uint32_t flag) {
  struct Search {
    uint32_t flag;
    hsa_amd_memory_pool_t found;
  } search{flag, {0}};
  hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        auto& s = *static_cast<Search*>(data);
        hsa_amd_segment_t segment{};
        uint32_t flags = 0;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if (segment != HSA_AMD_SEGMENT_GLOBAL || (flags & s.flag) == 0) return HSA_STATUS_SUCCESS;
        s.found = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &search);
  return search.found;
}

constexpr uint16_t header(int type) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

}  // namespace

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s: %s\n", what, text != nullptr ? text : "unknown status");
  std::exit(1);
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

MeasuredAgent::MeasuredAgent() {
  check(hsa_init(), "hsa_init");
  hsa_iterate_agents(
      [](hsa_agent_t found, void* data) {
        auto& self = *static_cast<MeasuredAgent*>(data);
        hsa_device_type_t type{};
        hsa_agent_get_info(found, HSA_AGENT_INFO_DEVICE, &type);
        if (type == HSA_DEVICE_TYPE_CPU && self.cpu.handle == 0) self.cpu = found;
        if (type == HSA_DEVICE_TYPE_GPU && !self.gpu) {
          self.agent = found;
          self.gpu = true;
        }
        return HSA_STATUS_SUCCESS;
      },
      this);
  if (!gpu) agent = cpu;
  char name[64] = "";
  hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
  target = gpu ? name : "cpu_x86_64";
  host_pool = find_pool(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  kernarg_pool = find_pool(cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
  device_pool = gpu ? find_pool(agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) : host_pool;
}

MeasuredAgent::~MeasuredAgent() {
  hsa_shut_down();
}

hsa_executable_t MeasuredAgent::load(const std::vector<char>& code) const {
  hsa_executable_t executable{};
  hsa_code_object_reader_t reader{};
  check(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader), "code object reader");
  check(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable),
        "executable");
  check(hsa_executable_load_agent_code_object(executable, agent, reader, nullptr, nullptr), "load");
  check(hsa_executable_freeze(executable, nullptr), "freeze");
  check(hsa_code_object_reader_destroy(reader), "reader");
  return executable;
}

hsa_executable_symbol_t MeasuredAgent::find(hsa_executable_t executable, const char* kernel) const {
  hsa_executable_symbol_t symbol{};
  check(hsa_executable_get_symbol_by_name(executable, kernel, &agent, &symbol), kernel);
  return symbol;
}

LoadedKernel MeasuredAgent::load(const std::vector<char>& code, const char* kernel) const {
  LoadedKernel loaded{load(code), 0};
  const hsa_executable_symbol_t symbol = find(loaded.executable, kernel);
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &loaded.object),
        kernel);
  return loaded;
}

hsa_queue_t* MeasuredAgent::create_queue(uint32_t size) const {
  hsa_queue_t* queue = nullptr;
  check(
      hsa_queue_create(agent, size, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue),
      "hsa_queue_create");
  return queue;
}

void* MeasuredAgent::allocate(hsa_amd_memory_pool_t pool, size_t bytes) const {
  void* memory = nullptr;
  check(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory), "allocate");
  if (gpu) {
    const hsa_agent_t both[] = {cpu, agent};
    hsa_amd_agents_allow_access(2, both, nullptr, memory);
  }
  return memory;
}

void submit(hsa_queue_t* queue, const void* packet) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char* const slot = static_cast<char*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  uint32_t first = 0;
  std::memcpy(&first, packet, 4);
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(slot)).store(first, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

hsa_kernel_dispatch_packet_t dispatch_packet(uint64_t kernel, hsa_signal_t done) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = header(HSA_PACKET_TYPE_KERNEL_DISPATCH);
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = kernel;
  packet.completion_signal = done;
  return packet;
}

hsa_barrier_and_packet_t barrier_packet(hsa_signal_t done) {
  hsa_barrier_and_packet_t packet{};
  packet.header = header(HSA_PACKET_TYPE_BARRIER_AND);
  packet.completion_signal = done;
  return packet;
}

}  // namespace compare
