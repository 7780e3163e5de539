#include "plugins/vgpu/exec/opencl_bench/gpu.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace rigel::vgpu::bench {
namespace {

constexpr size_t kKernargBytes = 512;

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  fail(std::string(what) + ": " + (text != nullptr ? text : "unknown status"));
}

hsa_agent_t find_agent(hsa_device_type_t wanted) {
  struct Search {
    hsa_device_type_t wanted;
    hsa_agent_t found;
  } search{wanted, {0}};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        auto& s = *static_cast<Search*>(data);
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type != s.wanted) return HSA_STATUS_SUCCESS;
        s.found = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &search);
  return search.found;
}

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
  if (search.found.handle == 0) fail("the CPU agent lacks a memory pool");
  return search.found;
}

}  // namespace

Gpu::Gpu(const std::string& folder) {
  check(hsa_init(), "hsa_init");
  gpu_ = find_agent(HSA_DEVICE_TYPE_GPU);
  cpu_ = find_agent(HSA_DEVICE_TYPE_CPU);
  if (gpu_.handle == 0) fail("no GPU agent: run this under tools/vgpu-run --gpu gfx900");
  char name[64] = "";
  hsa_agent_get_info(gpu_, HSA_AGENT_INFO_NAME, name);
  target_ = name;
  host_pool_ = find_pool(cpu_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  kernarg_pool_ = find_pool(cpu_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);

  const std::string path = folder + "/kernels_" + target_ + ".co";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("no kernels for this GPU: " + path);
  hsa_code_object_reader_t reader{};
  check(hsa_code_object_reader_create_from_file(file, &reader), "reading the code object");
  check(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR, nullptr,
                                  &executable_),
        "creating the executable");
  check(hsa_executable_load_agent_code_object(executable_, gpu_, reader, nullptr, nullptr),
        "loading the code object");
  check(hsa_executable_freeze(executable_, nullptr), "freezing the executable");
  hsa_code_object_reader_destroy(reader);
  close(file);

  check(
      hsa_queue_create(gpu_, 1024, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue_),
      "creating a queue");
  check(hsa_signal_create(0, 0, nullptr, &done_), "creating a signal");
  check(hsa_amd_memory_pool_allocate(kernarg_pool_, kKernargBytes, 0, reinterpret_cast<void**>(&kernarg_)),
        "allocating the kernel's arguments");
  check(hsa_amd_agents_allow_access(1, &gpu_, nullptr, kernarg_), "mapping the kernel's arguments");
}

Gpu::~Gpu() {
  hsa_queue_destroy(queue_);
  hsa_signal_destroy(done_);
  hsa_executable_destroy(executable_);
  hsa_shut_down();
}

void* Gpu::allocate(size_t bytes) {
  void* memory = nullptr;
  check(hsa_amd_memory_pool_allocate(host_pool_, bytes, 0, &memory), "allocating");
  check(hsa_amd_agents_allow_access(1, &gpu_, nullptr, memory), "mapping");
  std::memset(memory, 0, bytes);
  return memory;
}

void Gpu::prepare(const Case& work) {
  hsa_executable_symbol_t symbol{};
  check(hsa_executable_get_symbol_by_name(executable_, (work.name + ".kd").c_str(), &gpu_, &symbol),
        work.name.c_str());
  packet_ = {};
  packet_.setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  for (int i = 0; i < 3; ++i) {
    (&packet_.workgroup_size_x)[i] = static_cast<uint16_t>(work.group[i]);
    (&packet_.grid_size_x)[i] = static_cast<uint32_t>(work.grid[i]);
  }
  const auto get = [&](hsa_executable_symbol_info_t what, void* value) {
    check(hsa_executable_symbol_get_info(symbol, what, value), "asking about the kernel");
  };
  uint32_t kernarg_bytes = 0;
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &packet_.kernel_object);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &packet_.private_segment_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &packet_.group_segment_size);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_bytes);
  if (kernarg_bytes > kKernargBytes) fail("too many arguments");

  // Explicit arguments at their natural alignment; the hidden ones behind them are offsets, all zero.
  std::memset(kernarg_, 0, kKernargBytes);
  size_t at = 0;
  const auto put = [&](const void* value, size_t bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    std::memcpy(kernarg_ + at, value, bytes);
    at += bytes;
  };
  for (const Argument& argument : work.arguments) {
    if (const auto* buffer = std::get_if<Buffer>(&argument)) {
      put(&buffer->memory, sizeof buffer->memory);
    } else {
      std::visit([&](const auto& value) { put(&value, 4); }, argument);
    }
  }
  packet_.kernarg_address = kernarg_;
  packet_.completion_signal = done_;
}

void Gpu::run() {
  hsa_signal_store_relaxed(done_, 1);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
  auto* slot =
      static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + (index & (queue_->size - 1));
  std::memcpy(reinterpret_cast<std::byte*>(slot) + 4, reinterpret_cast<const std::byte*>(&packet_) + 4,
              sizeof packet_ - 4);
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(slot))
      .store(header | uint32_t{packet_.setup} << 16, std::memory_order_release);
  hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  if (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) < 0) {
    fail("the kernel failed");
  }
}

}  // namespace rigel::vgpu::bench
