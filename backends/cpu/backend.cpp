// The backend's tables: C functions that call the other files and let no exception pass.
#include "backends/cpu/backend.hpp"

#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/code_store.hpp"
#include "backends/cpu/device.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/queue.hpp"

namespace rigel::cpu {
namespace {

Device& as_device(void* device) {
  return *static_cast<Device*>(device);
}
Queue& as_queue(void* queue) {
  return *static_cast<Queue*>(queue);
}

constexpr hsabe_device_ops_t kDevice = {
    .struct_size = sizeof(hsabe_device_ops_t),
    .enumerate = nullptr,
    .select = [](const hsabe_host_t*, const hsabe_node_t* node, hsabe_caps_t* caps) -> hsabe_status_t {
      return select(node, host_features(), caps);
    },
    .open = [](const hsabe_host_t* host, const hsabe_node_t* node, void** device) -> hsabe_status_t {
      return hsabe::guarded(host, [&]() -> hsabe_status_t {
        if (node->bus != HSABE_BUS_CPU) {
          return hsabe::fail(host, HSA_STATUS_ERROR_INVALID_AGENT, "not a NUMA node");
        }
        *device = new Device(host, node);
        return HSA_STATUS_SUCCESS;
      });
    },
    .close = [](void* device) { delete &as_device(device); },
    .read_clock = nullptr,
    .trim = nullptr,
    .set_scratch_limit = nullptr,
    .scratch_limits = nullptr,
};

constexpr hsabe_queue_ops_t kQueue = {
    .struct_size = sizeof(hsabe_queue_ops_t),
    .create = [](void* device, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info) -> hsabe_status_t {
      return hsabe::guarded(as_device(device).host,
                            [&] { return Queue::create(as_device(device), *desc, info); });
    },
    .destroy = [](void* queue) { delete &as_queue(queue); },
    .inactivate = [](void* queue) -> hsabe_status_t {
      as_queue(queue).inactivate();
      return HSA_STATUS_SUCCESS;
    },
    .set_profiling = [](void* queue, int32_t enabled) -> hsabe_status_t {
      as_queue(queue).set_profiling(enabled != 0);
      return HSA_STATUS_SUCCESS;
    },
    .set_priority = [](void* queue, uint32_t priority) -> hsabe_status_t {
      if (priority > HSABE_PRIORITY_HIGH) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      as_queue(queue).set_priority(priority);
      return HSA_STATUS_SUCCESS;
    },
    .set_cu_mask = nullptr,
};

constexpr hsabe_code_ops_t kCode = {
    .struct_size = sizeof(hsabe_code_ops_t),
    .accepts = [](void* device, const hsabe_code_target_t* target) -> uint32_t {
      uint32_t fit = 0;
      hsabe::guarded(as_device(device).host, [&]() -> hsabe_status_t {
        fit = as_device(device).code.accepts(*target);
        return HSA_STATUS_SUCCESS;
      });
      return fit;
    },
    .resolve = [](void* device, hsabe_str_t name, uint64_t* address) -> hsabe_status_t {
      return hsabe::guarded(as_device(device).host,
                            [&] { return as_device(device).code.resolve(hsabe::view(name), address); });
    },
    .load = [](void* device, const hsabe_segment_t* segment, const hsabe_code_symbol_t* symbols,
               uint64_t symbol_count, void** image) -> hsabe_status_t {
      return hsabe::guarded(as_device(device).host, [&] {
        return as_device(device).code.load(*segment, symbols, symbol_count, image);
      });
    },
    .unload = [](void* device, void* image) { as_device(device).code.unload(image); },
    .describe_kernel = [](void* device, const void* descriptor, hsabe_kernel_info_t* info) -> hsabe_status_t {
      return describe_kernel(as_device(device).host, descriptor, info);
    },
};

}  // namespace

constinit const hsabe_backend_t kBackend = {
    .struct_size = sizeof(hsabe_backend_t),
    .abi_major = HSABE_ABI_MAJOR,
    .abi_minor = HSABE_ABI_MINOR,
    .name = hsabe::str("cpu"),
    .version = hsabe::str(RIGEL_VERSION),
    .build_id = {},
    .sanitizer = HSABE_SANITIZER,
    .reserved0 = 0,
    .device = &kDevice,
    .queue = &kQueue,
    .code = &kCode,
    .memory = nullptr,
    .extensions = nullptr,
    .extension_count = 0,
    .copy = nullptr,
    .image = nullptr,
    .counters = nullptr,
};

}  // namespace rigel::cpu
