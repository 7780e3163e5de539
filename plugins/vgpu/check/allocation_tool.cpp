// libvgpu_check.so: a tool of the HSA runtime that records the program's allocations for the checks of the
// virtual GPU. It wraps functions of the runtime's table, so it works with ROCr and with Rigel.
//
// Each allocation gets padding, so that an access past its end does not reach another allocation. Freed
// memory is released later, so that an access after the release does not reach a new allocation.
//
// For the check `init`, new device memory is filled with a value that nothing else writes.
//
// Threads: any. Lifetime: OnLoad() to the end of the process; the record remains after OnUnload().
#include <execinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

#include "hsa/hsa_api_trace.h"
#include "hsa_rigel/check.h"

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/allocation_map.hpp"
#include "plugins/vgpu/check/check_options.hpp"

namespace rigel::vgpu::check {
namespace {

constexpr uint64_t kPage = 4096;
// Size of AmdExtTable in ROCm 5.6, which its version contains.
constexpr uint32_t kTableOfRocm56 = sizeof(ApiTableVersion) + 53 * sizeof(void*);

// Larger allocations are not filled, because that would need as much host memory.
constexpr uint64_t kMostFilled = uint64_t{256} << 20;

struct Freed {
  void* pointer;
  uint64_t bytes;
};

// Leaked, because programs free memory in destructors of static objects.
struct State {
  const Options options = Options::from_environment();
  CoreApiTable core{};
  AmdExtTable amd{};
  AllocationMap map;
  const bool fills = Options::from_environment().has(Tool::kInit);
  std::atomic<uint64_t> allocations{0};
  Mutex mutex;
  std::deque<Freed> quarantine RIGEL_GUARDED_BY(mutex);
  uint64_t quarantined RIGEL_GUARDED_BY(mutex) = 0;
};
State& state() {
  static State* const the_state = new State;
  return *the_state;
}

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Returns the stack of the wrapped function's caller.
[[gnu::noinline]] HostStack caller_stack() {
  constexpr int kOwnFrames = 2;
  void* frames[kMostFrames + kOwnFrames];
  const int count = backtrace(frames, kMostFrames + kOwnFrames);
  HostStack stack{};
  for (int i = kOwnFrames; i < count; ++i) stack[static_cast<size_t>(i - kOwnFrames)] = frames[i];
  return stack;
}

// Whether a pool is local memory of a GPU. Host memory may be written before the program gets its address.
bool is_device_pool(hsa_amd_memory_pool_t pool) {
  static const std::vector<uint64_t>* const pools = [] {
    auto* const found = new std::vector<uint64_t>;
    const auto add_pools = [](hsa_agent_t agent, void* list) {
      hsa_device_type_t type{};
      state().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &type);
      if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
      const auto add_pool = [](hsa_amd_memory_pool_t of_agent, void* to) {
        static_cast<std::vector<uint64_t>*>(to)->push_back(of_agent.handle);
        return HSA_STATUS_SUCCESS;
      };
      return state().amd.hsa_amd_agent_iterate_memory_pools_fn(agent, add_pool, list);
    };
    state().core.hsa_iterate_agents_fn(add_pools, found);
    return found;
  }();
  return std::find(pools->begin(), pools->end(), pool.handle) != pools->end();
}

// Returns a value that programs hardly use, different for successive allocations.
uint32_t fill_of(uint64_t serial) {
  uint64_t mixed = (serial + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  return static_cast<uint32_t>(mixed >> 32) | 1;
}

// Fills memory. Returns false if the host cannot write it: the system call reports that, a store would crash.
bool fill(void* pointer, uint64_t bytes, uint32_t value) {
  constexpr uint64_t kBlock = uint64_t{1} << 16;
  const std::vector<uint32_t> block(kBlock / sizeof value, value);
  for (uint64_t done = 0; done < bytes; done += kBlock) {
    const uint64_t size = std::min(kBlock, bytes - done);
    const iovec from{const_cast<uint32_t*>(block.data()), size}, to{static_cast<char*>(pointer) + done, size};
    if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != static_cast<ssize_t>(size)) return false;
  }
  return true;
}

void record(void* pointer, uint64_t bytes, uint64_t padding, bool is_to_be_filled = false) {
  Allocation allocation;
  allocation.begin = address_of(pointer);
  allocation.bytes = bytes;
  allocation.room_bytes = (bytes + padding + kPage - 1) / kPage * kPage;
  allocation.allocated = caller_stack();
  allocation.serial = state().allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint32_t value = fill_of(allocation.serial);
  if (is_to_be_filled && bytes <= kMostFilled && fill(pointer, bytes, value)) allocation.fill = value;
  state().map.add(allocation);
}

// Releases the oldest freed memory until at most `most` bytes are left.
void release_until(uint64_t most) {
  State& s = state();
  for (;;) {
    Freed oldest{};
    {
      const MutexLock lock(s.mutex);
      if (s.quarantine.empty() || s.quarantined <= most) return;
      oldest = s.quarantine.front();
      s.quarantine.pop_front();
      s.quarantined -= oldest.bytes;
    }
    s.map.remove(address_of(oldest.pointer));
    s.amd.hsa_amd_memory_pool_free_fn(oldest.pointer);
  }
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** pointer) {
  State& s = state();
  // Code is read by the instruction fetch only, so it gets no padding.
  const bool is_code = (flags & HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG) != 0;
  const uint64_t padding = !is_code && size <= SIZE_MAX - s.options.padding ? s.options.padding : 0;
  const bool fills = s.fills && !is_code && padding != 0 && is_device_pool(pool);
  hsa_status_t status = s.amd.hsa_amd_memory_pool_allocate_fn(pool, size + padding, flags, pointer);
  if (status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
    release_until(0);
    status = s.amd.hsa_amd_memory_pool_allocate_fn(pool, size + padding, flags, pointer);
  }
  if (status != HSA_STATUS_SUCCESS && padding != 0) {
    // The padding may exceed a limit that the program's size does not exceed.
    status = s.amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, pointer);
    if (status == HSA_STATUS_SUCCESS) record(*pointer, size, 0, fills);
    return status;
  }
  if (status == HSA_STATUS_SUCCESS) record(*pointer, size, padding, fills);
  return status;
}

hsa_status_t pool_free(void* pointer) {
  State& s = state();
  const auto freed = s.map.mark_freed(address_of(pointer), caller_stack());
  if (!freed) return s.amd.hsa_amd_memory_pool_free_fn(pointer);
  {
    const MutexLock lock(s.mutex);
    s.quarantine.push_back({pointer, freed->room_bytes});
    s.quarantined += freed->room_bytes;
  }
  release_until(s.options.quarantine);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t region_allocate(hsa_region_t region, size_t size, void** pointer) {
  State& s = state();
  const hsa_status_t status = s.core.hsa_memory_allocate_fn(region, size, pointer);
  if (status == HSA_STATUS_SUCCESS) record(*pointer, size, 0);
  return status;
}

hsa_status_t region_free(void* pointer) {
  // Both functions free memory of regions and of pools.
  if (state().map.live_at(address_of(pointer))) return pool_free(pointer);
  return state().core.hsa_memory_free_fn(pointer);
}

hsa_status_t pointer_info(const void* pointer, hsa_amd_pointer_info_t* info, void* (*allocate)(size_t),
                          uint32_t* agent_count, hsa_agent_t** agents) {
  State& s = state();
  const hsa_status_t status = s.amd.hsa_amd_pointer_info_fn(pointer, info, allocate, agent_count, agents);
  if (status != HSA_STATUS_SUCCESS || info == nullptr || info->type != HSA_EXT_POINTER_TYPE_HSA)
    return status;
  // Without the padding.
  if (const auto found = s.map.live_at(address_of(info->agentBaseAddress)))
    info->sizeInBytes = std::min<size_t>(info->sizeInBytes, found->bytes);
  return status;
}

// Runtimes share whole allocations only, and the allocation includes the padding. Programs use the size that
// they requested, or round it up to pages.
template <class Call>
hsa_status_t with_whole_size(size_t size, Call call) {
  hsa_status_t status = call(size);
  if (status != HSA_STATUS_ERROR_INVALID_ARGUMENT) return status;
  const uint64_t padding = state().options.padding;
  for (const size_t whole : {size + padding, (size + kPage - 1) / kPage * kPage + padding}) {
    if (call(whole) == HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  }
  return status;
}

hsa_status_t ipc_create(void* pointer, size_t size, hsa_amd_ipc_memory_t* handle) {
  return with_whole_size(
      size, [&](size_t whole) { return state().amd.hsa_amd_ipc_memory_create_fn(pointer, whole, handle); });
}

hsa_status_t ipc_attach(const hsa_amd_ipc_memory_t* handle, size_t size, uint32_t agent_count,
                        const hsa_agent_t* agents, void** pointer) {
  return with_whole_size(size, [&](size_t whole) {
    return state().amd.hsa_amd_ipc_memory_attach_fn(handle, whole, agent_count, agents, pointer);
  });
}

// Functions for custom allocators (hsa_rigel/check.h).

void client_poison(const void* address, size_t bytes) {
  Allocation region;
  region.begin = address_of(address);
  region.room_bytes = bytes;
  region.is_poisoned = true;
  region.allocated = caller_stack();
  state().map.add_region(region);
}

void client_unpoison(const void* address, size_t bytes) {
  state().map.remove_regions(address_of(address), bytes);
}

void client_allocate(const void* address, size_t bytes, const char* name) {
  Allocation region;
  region.begin = address_of(address);
  region.bytes = region.room_bytes = bytes;
  region.allocated = caller_stack();
  region.set_name(name);
  state().map.add_region(region);
}

void client_free(const void* address) {
  state().map.mark_region_freed(address_of(address), caller_stack());
}

void client_name(const void* address, const char* name) {
  state().map.set_name(address_of(address), name);
}

void client_initialize(const void* address, size_t bytes) {
  state().map.mark_initialized(address_of(address), bytes);
}

constexpr hsa_rigel_check_client_t kClient = {sizeof(hsa_rigel_check_client_t),
                                              client_poison,
                                              client_unpoison,
                                              client_allocate,
                                              client_free,
                                              client_name,
                                              client_initialize};

}  // namespace
}  // namespace rigel::vgpu::check

extern "C" [[gnu::visibility("default")]] const hsa_rigel_check_client_t* hsa_rigel_check_client_v1() {
  return &rigel::vgpu::check::kClient;
}

using rigel::vgpu::check::state;

[[gnu::visibility("default")]] rigel::vgpu::check::Allocations* vgpu_check_allocations_v1() {
  return &state().map;
}

/// Called by the HSA runtime when it has been initialised.
extern "C" [[gnu::visibility("default")]] bool OnLoad(void* runtime_table, uint64_t /*runtime_version*/,
                                                      uint64_t /*failed_tool_count*/,
                                                      const char* const* /*failed_tools*/) {
  namespace check = rigel::vgpu::check;
  auto& table = *static_cast<HsaApiTable*>(runtime_table);
  auto& saved = state();
  const auto wrap = [](auto& entry, auto& original, auto* wrapper) {
    original = entry;
    entry = wrapper;
  };
  AmdExtTable& amd = *table.amd_ext_;
  saved.core.hsa_iterate_agents_fn = table.core_->hsa_iterate_agents_fn;
  saved.core.hsa_agent_get_info_fn = table.core_->hsa_agent_get_info_fn;
  saved.amd.hsa_amd_agent_iterate_memory_pools_fn = amd.hsa_amd_agent_iterate_memory_pools_fn;
  wrap(table.core_->hsa_memory_allocate_fn, saved.core.hsa_memory_allocate_fn, &check::region_allocate);
  wrap(table.core_->hsa_memory_free_fn, saved.core.hsa_memory_free_fn, &check::region_free);
  wrap(amd.hsa_amd_memory_pool_allocate_fn, saved.amd.hsa_amd_memory_pool_allocate_fn, &check::pool_allocate);
  wrap(amd.hsa_amd_memory_pool_free_fn, saved.amd.hsa_amd_memory_pool_free_fn, &check::pool_free);
  // ROCm 5.6 inserted two functions before these.
  auto& later = *reinterpret_cast<AmdExtTable*>(reinterpret_cast<void**>(&amd) -
                                                (amd.version.minor_id < check::kTableOfRocm56 ? 2 : 0));
  wrap(later.hsa_amd_pointer_info_fn, saved.amd.hsa_amd_pointer_info_fn, &check::pointer_info);
  wrap(later.hsa_amd_ipc_memory_create_fn, saved.amd.hsa_amd_ipc_memory_create_fn, &check::ipc_create);
  wrap(later.hsa_amd_ipc_memory_attach_fn, saved.amd.hsa_amd_ipc_memory_attach_fn, &check::ipc_attach);
  return true;
}

extern "C" [[gnu::visibility("default")]] void OnUnload() {
  rigel::vgpu::check::release_until(0);
}
