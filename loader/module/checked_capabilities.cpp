#include "loader/module/checked_capabilities.hpp"

#include <hsa/hsa.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>

namespace rigel {
namespace {

constexpr uint64_t kMaxElements = 256;
constexpr uint64_t kMaxElementSize = 4096;
constexpr uint64_t kMaxIsaName = 256;
constexpr uint64_t kMaxAgentText = 63;
constexpr uint64_t kMaxUuid = 20;

using Check = Explained<void>;

template <class... Args>
tl::unexpected<std::string> no(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(fmt::format(format, std::forward<Args>(args)...));
}

Check check_text(hsabe_str_t text, const char* what, uint64_t longest) {
  if (text.size > longest) return no("{}: {} bytes exceed the maximum of {}", what, text.size, longest);
  if (text.size != 0 && text.data == nullptr) return no("{}: is NULL", what);
  return {};
}

// Copies an array whose elements all have the size in the first one.
template <class T>
Check copy_array(const T* from, uint64_t count, uint64_t least, const char* what, std::vector<T>& to) {
  if (count == 0) return {};
  if (from == nullptr || count > kMaxElements)
    return no("{}: invalid array ({} elements at {})", what, count, static_cast<const void*>(from));
  const uint64_t stride = from->struct_size;
  if (stride < least || stride > kMaxElementSize || stride % alignof(T) != 0) {
    return no("{}: invalid element size {}; version 1.0 has {} bytes", what, stride, least);
  }
  const auto* bytes = reinterpret_cast<const char*>(from);
  for (uint64_t i = 0; i < count; ++i, bytes += stride) {
    T element{};
    std::memcpy(&element, bytes, static_cast<size_t>(std::min<uint64_t>(stride, sizeof element)));
    if (element.struct_size != stride)
      return no("{}: the size of element {} differs from that of the first", what, i);
    to.push_back(element);
  }
  return {};
}

Check check_isa_names(const hsabe_caps_t& caps, std::vector<std::string_view>& to) {
  if (caps.isa_count == 0) return {};
  if (caps.isa_names == nullptr || caps.isa_count > kMaxElements) {
    return no("isa_names: invalid array ({} elements at {})", caps.isa_count,
              static_cast<const void*>(caps.isa_names));
  }
  for (uint64_t i = 0; i < caps.isa_count; ++i) {
    const hsabe_str_t name = caps.isa_names[i];
    if (auto good = check_text(name, "a name of isa_names", kMaxIsaName); !good) return good;
    if (name.size == 0) return no("isa_names: a name is empty");
    to.emplace_back(name.data, static_cast<size_t>(name.size));
  }
  return {};
}

Check check_heaps(const LoadedBackend& backend, const std::vector<hsabe_heap_t>& heaps) {
  for (const auto& heap : heaps) {
    if (heap.kind < HSABE_HEAP_HOST || heap.kind > HSABE_HEAP_GROUP)
      return no("heap: unknown kind {}", heap.kind);
    if (heap.granule != 0 && !std::has_single_bit(heap.granule)) {
      return no("heap: granule {} is not a power of two", heap.granule);
    }
    if (heap.kind != HSABE_HEAP_LOCAL) continue;
    if (!backend.has_memory()) return no("local heap: the memory group is missing");
    if (heap.size == 0) return no("local heap: the size is 0");
    if ((heap.flags & HSABE_HEAP_HOST_VISIBLE) == 0 && backend.memory.copy == nullptr) {
      return no("local heap: not host-visible, and the memory group has no function 'copy'");
    }
  }
  return {};
}

Check check_queues(const LoadedBackend& backend, const hsabe_caps_t& caps) {
  if (!backend.has_queue()) return no("features {:#x}: the queue group is missing", caps.features);
  if (caps.doorbell < HSABE_DOORBELL_INDEX64 || caps.doorbell > HSABE_DOORBELL_DWORDS32_LEGACY) {
    return no("unknown doorbell kind {}", caps.doorbell);
  }
  if (caps.queues_max == 0) return no("queues_max is 0");
  if (caps.queue_types == 0) return no("queue_types is 0");
  if (!std::has_single_bit(caps.queue_min_size) || !std::has_single_bit(caps.queue_max_size) ||
      caps.queue_min_size > caps.queue_max_size) {
    return no("queue sizes {} to {}: both must be powers of two, in this order", caps.queue_min_size,
              caps.queue_max_size);
  }
  return {};
}

Check check_dispatch(const LoadedBackend& backend, const Capabilities& device) {
  const hsabe_caps_t& caps = device.caps;
  if (!backend.has_code()) return no("kernel dispatch: the code group is missing");
  if (device.isa_names.empty()) return no("kernel dispatch: isa_names is empty");
  if (!std::has_single_bit(caps.wavefront_size)) {
    return no("wavefront_size {} is not a power of two", caps.wavefront_size);
  }
  const auto positive = [](uint32_t value) { return value != 0; };
  if (caps.workgroup_max_size == 0 ||
      !std::all_of(caps.workgroup_max_dim, caps.workgroup_max_dim + 3, positive)) {
    return no("a work-group limit is 0");
  }
  if (caps.grid_max_size == 0 || !std::all_of(caps.grid_max_dim, caps.grid_max_dim + 3, positive)) {
    return no("a grid limit is 0");
  }
  return {};
}

Check check_scalars(const hsabe_caps_t& caps) {
  if (caps.name.size == 0) return no("name is empty");
  if (auto good = check_text(caps.name, "name", kMaxAgentText); !good) return good;
  if (auto good = check_text(caps.vendor_name, "vendor_name", kMaxAgentText); !good) return good;
  if (auto good = check_text(caps.product_name, "product_name", kMaxAgentText); !good) return good;
  if (auto good = check_text(caps.uuid, "uuid", kMaxUuid); !good) return good;
  if (caps.device_type > HSA_DEVICE_TYPE_AIE) return no("unknown device_type {}", caps.device_type);
  if (caps.profile > HSA_PROFILE_FULL) return no("unknown profile {}", caps.profile);
  if (caps.float_rounding > HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR) {
    return no("unknown float_rounding {}", caps.float_rounding);
  }
  return {};
}

}  // namespace

Explained<Capabilities> check_capabilities(const LoadedBackend& backend, const hsabe_caps_t& caps) {
  Capabilities device;
  device.caps = caps;
  auto good = check_scalars(caps);
  if (good) good = check_isa_names(caps, device.isa_names);
  if (good)
    good = copy_array(caps.heaps, caps.heap_count, HSABE_END(hsabe_heap_t, granule), "heaps", device.heaps);
  if (good)
    good = copy_array(caps.caches, caps.cache_count, HSABE_END(hsabe_cache_t, size), "caches", device.caches);
  if (good) good = check_heaps(backend, device.heaps);
  if (good && caps.features != 0) good = check_queues(backend, caps);
  if (good && device.has(HSABE_FEATURE_KERNEL_DISPATCH)) good = check_dispatch(backend, device);
  if (!good) return tl::unexpected(good.error());

  // Callers must use the checked copies.
  device.caps.isa_names = nullptr;
  device.caps.heaps = nullptr;
  device.caps.caches = nullptr;
  return device;
}

}  // namespace rigel
