// A backend for devices that do not exist: each has some local memory, which is host memory, and supports no
// packets. The smallest backend that shows these parts: enumeration, capabilities, opening, and memory.
// docs/extend/backend.md explains the other parts.
#include <hsa_backend/hsa_backend.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

namespace {

using hsabe::str;

constexpr uint64_t kGranule = 4096;

// An open device. The runtime stores it as an opaque pointer.
struct Device {
  const hsabe_host_t* host;
  uint64_t size;
  std::mutex mutex;
  uint64_t used = 0;  // guarded by mutex
};

uint64_t memory_bytes(const hsabe_host_t* host) {
  const int64_t bytes = host->config->get_integer(host->self, str("memory_bytes"), 1 << 20);
  return static_cast<uint64_t>(std::max<int64_t>(bytes, kGranule)) / kGranule * kGranule;
}

// --- Devices ---------------------------------------------------------------------------------------------

// Lists the devices, because only the backend can find them. Values that `select` needs are properties of the
// node.
hsabe_status_t enumerate(const hsabe_host_t* host, const hsabe_node_sink_t* sink) {
  const int64_t count = host->config->get_integer(host->self, str("devices"), 1);
  for (int64_t i = 0; i < count; ++i) {
    const hsabe_property_t properties[] = {{str("memory_bytes"), memory_bytes(host)}};
    hsabe_node_t node{};
    node.struct_size = sizeof node;
    node.bus = HSABE_BUS_OWN;
    node.node_id = static_cast<uint32_t>(i);
    node.name = str("sample");
    node.properties = properties;
    node.property_count = std::size(properties);
    sink->add(sink->self, &node);
  }
  return HSA_STATUS_SUCCESS;
}

// Computes the capabilities from the properties of the node, without other effects, so that it can be tested
// without a device. Its pointers refer to static storage. The heap is the exception, because its size is a
// property of the node: the runtime copies it before the thread can call again.
hsabe_status_t select(const hsabe_host_t*, const hsabe_node_t* node, hsabe_caps_t* caps) {
  thread_local hsabe_heap_t heap;
  heap = {};
  heap.struct_size = sizeof heap;
  heap.kind = HSABE_HEAP_LOCAL;
  heap.flags = HSABE_HEAP_COARSE_GRAINED | HSABE_HEAP_HOST_VISIBLE;
  heap.size = hsabe::property(node, "memory_bytes");
  heap.granule = kGranule;
  caps->name = str("sample");
  caps->vendor_name = str("Example");
  caps->product_name = str("Sample accelerator");
  caps->device_type = HSA_DEVICE_TYPE_DSP;
  caps->profile = HSA_PROFILE_BASE;
  caps->float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  caps->heaps = &heap;
  caps->heap_count = 1;
  caps->compute_units = 1;
  return HSA_STATUS_SUCCESS;
}

// `guarded` converts exceptions to a status and a line of the report. No exception may reach the runtime.
hsabe_status_t open(const hsabe_host_t* host, const hsabe_node_t* node, void** device) {
  return hsabe::guarded(host, [&] {
    *device = new Device{host, hsabe::property(node, "memory_bytes"), {}};
    return hsabe_status_t{HSA_STATUS_SUCCESS};
  });
}

void close(void* device) {
  delete static_cast<Device*>(device);
}

// --- Memory ----------------------------------------------------------------------------------------------

hsabe_status_t allocate(void* pointer, uint32_t, uint64_t size, uint64_t alignment, uint64_t* address) {
  auto& device = *static_cast<Device*>(pointer);
  const std::lock_guard lock(device.mutex);
  if (size > device.size - device.used) {
    return hsabe::fail(device.host, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                       "the sample device's memory is used up");
  }
  void* const memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) return hsabe::fail(device.host, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no host memory");
  device.used += size;
  *address = reinterpret_cast<uint64_t>(memory);
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t release(void* pointer, uint32_t, uint64_t address, uint64_t size) {
  auto& device = *static_cast<Device*>(pointer);
  const std::lock_guard lock(device.mutex);
  std::free(reinterpret_cast<void*>(address));
  device.used -= size;
  return HSA_STATUS_SUCCESS;
}

hsabe_status_t copy(void*, uint64_t destination, uint64_t source, uint64_t size) {
  std::memcpy(reinterpret_cast<void*>(destination), reinterpret_cast<const void*>(source), size);
  return HSA_STATUS_SUCCESS;
}

// --- The table -------------------------------------------------------------------------------------------

constexpr hsabe_device_ops_t kDevice{
    sizeof(hsabe_device_ops_t), enumerate, select, open, close, nullptr, nullptr, nullptr, nullptr};
constexpr hsabe_memory_ops_t kMemory{sizeof(hsabe_memory_ops_t), allocate, release, copy};
constexpr hsabe_backend_t kBackend{sizeof(hsabe_backend_t),
                                   HSABE_ABI_MAJOR,
                                   HSABE_ABI_MINOR,
                                   str("sample"),
                                   str("1.0"),
                                   str(""),
                                   HSABE_SANITIZER,
                                   0,
                                   &kDevice,
                                   nullptr,  // no queues
                                   nullptr,  // no code
                                   &kMemory,
                                   nullptr,
                                   0,
                                   nullptr,   // no copy engine
                                   nullptr,   // no images
                                   nullptr};  // no images

}  // namespace

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSABE_ABI_MAJOR ? &kBackend : nullptr;
}
