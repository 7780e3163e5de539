#include "backends/cpu/capabilities.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <hsa/hsa.h>

#include "api/support/mutex.hpp"
#include "backends/cpu/features.hpp"

namespace rigel::cpu {
namespace {

constexpr hsabe_heap_t heap(uint32_t kind, uint32_t flags, uint64_t size = 0) {
  return {sizeof(hsabe_heap_t), kind, flags, size, 0};
}

constexpr hsabe_heap_t kHeaps[] = {
    heap(HSABE_HEAP_HOST, HSABE_HEAP_FINE_GRAINED | HSABE_HEAP_HOST_VISIBLE),
    heap(HSABE_HEAP_HOST, HSABE_HEAP_FINE_GRAINED | HSABE_HEAP_KERNARG | HSABE_HEAP_HOST_VISIBLE),
    heap(HSABE_HEAP_HOST, HSABE_HEAP_COARSE_GRAINED | HSABE_HEAP_HOST_VISIBLE),
    heap(HSABE_HEAP_GROUP, 0, kGroupSegmentSize),
};

// Copies strings, because capabilities outlive the node's properties and the CPU's name is their only dynamic
// string. A machine has one or two names, so copies are never freed.
hsabe_str_t keep(std::string_view name) noexcept {
  constexpr size_t kNameMax = 63;
  struct Name {
    std::array<char, kNameMax + 1> text;
    size_t size;
  };
  static constinit Mutex mutex;
  static constinit std::array<Name, 8> names{};

  name = name.substr(0, kNameMax);
  if (name.empty()) return hsabe::str("CPU");
  const MutexLock lock(mutex);
  for (Name& kept : names) {
    if (kept.size == 0) {
      std::copy(name.begin(), name.end(), kept.text.begin());
      kept.size = name.size();
    }
    if (std::string_view(kept.text.data(), kept.size) == name) return {kept.text.data(), kept.size};
  }
  return hsabe::str("CPU");
}

uint32_t property32(const hsabe_node_t* node, std::string_view name) {
  return static_cast<uint32_t>(std::min<uint64_t>(hsabe::property(node, name), UINT32_MAX));
}

}  // namespace

hsabe_status_t select(const hsabe_node_t* node, uint64_t features, hsabe_caps_t* caps) noexcept {
  if (node->bus != HSABE_BUS_CPU) return HSA_STATUS_ERROR_INVALID_AGENT;
  const auto isas = isa_names(features);
  const auto caches = host_caches();

  caps->name = keep(hsabe::view(node->name));
  caps->vendor_name = hsabe::str("CPU");
  caps->product_name = caps->name;
  caps->device_type = HSA_DEVICE_TYPE_CPU;
  caps->features = HSABE_FEATURE_KERNEL_DISPATCH | HSABE_FEATURE_AGENT_DISPATCH;
  caps->doorbell = HSABE_DOORBELL_SIGNAL;
  caps->profile = HSA_PROFILE_FULL;
  caps->float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  caps->fast_f16 = half_is_fast(features);
  caps->isa_names = isas.data();
  caps->isa_count = isas.size();
  caps->heaps = kHeaps;
  caps->heap_count = std::size(kHeaps);
  caps->caches = caches.data();
  caps->cache_count = caches.size();
  caps->wavefront_size = kWavefrontSize;
  caps->compute_units = std::max(property32(node, "cpu_cores_count"), 1u);
  std::fill(std::begin(caps->workgroup_max_dim), std::end(caps->workgroup_max_dim), kWorkgroupMaxSize);
  caps->workgroup_max_size = kWorkgroupMaxSize;
  std::fill(std::begin(caps->grid_max_dim), std::end(caps->grid_max_dim), UINT32_MAX);
  caps->grid_max_size = kGridMaxSize;
  caps->queues_max = 128;
  caps->queue_min_size = 1;
  caps->queue_max_size = kQueueMaxPackets;
  caps->queue_types = 1u << HSA_QUEUE_TYPE_MULTI | 1u << HSA_QUEUE_TYPE_SINGLE;
  caps->group_segment_size = kGroupSegmentSize;
  caps->private_segment_max_size = kPrivateSegmentMax;
  caps->max_clock_mhz = property32(node, "cpu_max_clock_mhz");
  caps->cacheline_size = std::max(property32(node, "cacheline_bytes"), 1u);
  caps->max_waves_per_cu = 1;
  caps->simds_per_cu = 1;
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::cpu
