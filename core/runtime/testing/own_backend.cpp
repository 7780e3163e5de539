// A backend whose devices are not in the topology. It also accepts devices of amdkfd if a manifest names
// them. The host cannot access their memory: the device's addresses are inaccessible, and `copy` uses other
// addresses. Options:
// - `devices`: number of devices
// - `visible`: the host can access their memory; with `fine`, as fine-grained memory
// - `kernels`: they support kernels
// - `throws`: name of the function that throws
// - `on_open`: address of a test function (Hook) that `open` calls
#include <hsa_backend/hsa_backend.hpp>

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

namespace {

using hsabe::str;

constexpr uint64_t kBytes = 64 << 20;

struct Device {
  const hsabe_host_t* host;
  std::byte* window;  // address of its memory for the device
  std::byte* store;   // address of the contents: different if the host has no access
  std::atomic<uint64_t> used;
};

std::byte* map(int protection) {
  return static_cast<std::byte*>(
      ::mmap(nullptr, kBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void throw_if_told(const hsabe_host_t* host, std::string_view function) {
  if (hsabe::view(host->config->get_string(host->self, str("throws"), str(""))) == function)
    throw std::runtime_error("as it was told");
}

using Hook = void (*)(const hsabe_host_t* host);
void call_hook(const hsabe_host_t* host, std::string_view name) {
  if (const int64_t address = host->config->get_integer(host->self, str(name), 0); address != 0)
    reinterpret_cast<Hook>(address)(host);
}

bool is_visible(const hsabe_host_t* host) {
  return host->config->get_boolean(host->self, str("visible"), 0) != 0;
}

hsabe_status_t enumerate(const hsabe_host_t* host, const hsabe_node_sink_t* sink) {
  throw_if_told(host, "enumerate");
  for (uint32_t i = 0; i < host->config->get_integer(host->self, str("devices"), 1); ++i) {
    hsabe_node_t node{};
    node.struct_size = sizeof node;
    node.bus = HSABE_BUS_OWN;
    node.node_id = i;
    node.name = str("own");
    sink->add(sink->self, &node);
  }
  return HSA_STATUS_SUCCESS;
}

// Kernels are loaded and never run, because there are no queues for them.
void claim_kernels(hsabe_caps_t& caps) {
  static constexpr hsabe_str_t kIsa = str("x86_64-unknown-linux-gnu--x86-64");
  caps.features = HSABE_FEATURE_KERNEL_DISPATCH;
  caps.profile = HSA_PROFILE_FULL;
  caps.isa_names = &kIsa;
  caps.isa_count = 1;
  caps.wavefront_size = 1;
  caps.doorbell = HSABE_DOORBELL_SIGNAL;
  caps.queues_max = caps.queue_min_size = caps.queue_max_size = 1;
  caps.queue_types = 1u << HSA_QUEUE_TYPE_MULTI;
  caps.workgroup_max_size = caps.workgroup_max_dim[0] = caps.workgroup_max_dim[1] =
      caps.workgroup_max_dim[2] = 1;
  caps.grid_max_size = caps.grid_max_dim[0] = caps.grid_max_dim[1] = caps.grid_max_dim[2] = 1;
}

hsabe_status_t select(const hsabe_host_t* host, const hsabe_node_t* node, hsabe_caps_t* caps) {
  static constexpr auto heap = [](uint32_t flags) {
    return hsabe_heap_t{sizeof(hsabe_heap_t), HSABE_HEAP_LOCAL, flags, kBytes, 0};
  };
  static constexpr hsabe_heap_t kHidden = heap(HSABE_HEAP_COARSE_GRAINED),
                                kVisible = heap(HSABE_HEAP_COARSE_GRAINED | HSABE_HEAP_HOST_VISIBLE),
                                kFine = heap(HSABE_HEAP_FINE_GRAINED | HSABE_HEAP_HOST_VISIBLE);
  if (node->node_id == 0) throw_if_told(host, "select");
  caps->name = str("own");
  caps->device_type = HSA_DEVICE_TYPE_DSP;
  const bool is_fine = host->config->get_boolean(host->self, str("fine"), 0) != 0;
  caps->heaps = is_fine ? &kFine : is_visible(host) ? &kVisible : &kHidden;
  caps->heap_count = 1;
  if (host->config->get_boolean(host->self, str("kernels"), 0) != 0) claim_kernels(*caps);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t open(const hsabe_host_t* host, const hsabe_node_t* node, void** device) {
  *device = reinterpret_cast<void*>(1);  // the output before an exception must be ignored
  if (node->node_id == 0) throw_if_told(host, "open");
  call_hook(host, "on_open");
  std::byte* const store = map(PROT_READ | PROT_WRITE);
  *device = new Device{host, is_visible(host) ? store : map(PROT_NONE), store, 0};
  return HSA_STATUS_SUCCESS;
}

void close(void* device) {
  auto* const closed = static_cast<Device*>(device);
  if (closed->window != closed->store) ::munmap(closed->window, kBytes);
  ::munmap(closed->store, kBytes);
  delete closed;
}

// Memory is not reused: releasing has no effect.
hsabe_status_t allocate(void* device, uint32_t, uint64_t size, uint64_t alignment, uint64_t* address) {
  auto& of = *static_cast<Device*>(device);
  const uint64_t taken = size + alignment;
  const uint64_t at = of.used.fetch_add(taken);
  if (at + taken > kBytes)
    return hsabe::fail(of.host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no memory is left");
  *address = (reinterpret_cast<uint64_t>(of.window) + at + alignment - 1) & ~(alignment - 1);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t release(void*, uint32_t, uint64_t, uint64_t) {
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t copy(void* device, uint64_t destination, uint64_t source, uint64_t size) {
  const auto& of = *static_cast<Device*>(device);
  const auto bytes = [&](uint64_t address) {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(of.window);
    return offset < kBytes ? of.store + offset : reinterpret_cast<std::byte*>(address);
  };
  std::memmove(bytes(destination), bytes(source), size);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t create(void*, const hsabe_queue_desc_t*, hsabe_queue_info_t*) {
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}
void destroy(void*) {}
hsabe_status_t inactivate(void*) {
  return HSA_STATUS_SUCCESS;
}

uint32_t accepts(void*, const hsabe_code_target_t*) {
  return 1;
}

hsabe_status_t resolve(void*, hsabe_str_t, uint64_t* address) {
  *address = 1;
  return HSA_STATUS_SUCCESS;
}

// The device must have received the bytes.
hsabe_status_t load(void* device, const hsabe_segment_t* segment, const hsabe_code_symbol_t*, uint64_t,
                    void** image) {
  const auto& of = *static_cast<Device*>(device);
  *image = device;
  const uint64_t offset = segment->device_address - reinterpret_cast<uint64_t>(of.window);
  if (offset >= kBytes)
    return hsabe::fail(of.host, HSA_STATUS_ERROR, "the code is not in the device's memory");
  const bool in_place = segment->host_address == of.window + offset;
  if (in_place != (of.window == of.store))
    return hsabe::fail(of.host, HSA_STATUS_ERROR, "the host's address is not that of memory which it sees");
  if (std::memcmp(of.store + offset, segment->host_address, segment->size) != 0)
    return hsabe::fail(of.host, HSA_STATUS_ERROR, "the code is not there yet");
  return HSA_STATUS_SUCCESS;
}

void unload(void*, void*) {}

hsabe_status_t describe_kernel(void*, const void*, hsabe_kernel_info_t*) {
  return HSA_STATUS_SUCCESS;
}

constexpr hsabe_device_ops_t kDevice{
    sizeof(hsabe_device_ops_t), enumerate, select, open, close, nullptr, nullptr, nullptr, nullptr};
constexpr hsabe_queue_ops_t kQueue{
    sizeof(hsabe_queue_ops_t), create, destroy, inactivate, nullptr, nullptr, nullptr};
constexpr hsabe_code_ops_t kCode{sizeof(hsabe_code_ops_t), accepts, resolve, load, unload, describe_kernel};
constexpr hsabe_memory_ops_t kMemory{sizeof(hsabe_memory_ops_t), allocate, release, copy};
constexpr hsabe_backend_t kBackend{sizeof(hsabe_backend_t),
                                   HSABE_ABI_MAJOR,
                                   HSABE_ABI_MINOR,
                                   str("own"),
                                   str("1.0"),
                                   str(""),
                                   HSABE_SANITIZER,
                                   0,
                                   &kDevice,
                                   &kQueue,
                                   &kCode,
                                   &kMemory,
                                   nullptr,
                                   0,
                                   nullptr,
                                   nullptr,
                                   nullptr};

}  // namespace

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t, uint32_t) {
  return &kBackend;
}
