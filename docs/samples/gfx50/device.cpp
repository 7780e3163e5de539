// Selects the topology nodes that are this chip, and reports its capabilities.
#include <algorithm>
#include <iterator>

#include "gfx50.hpp"

namespace gfx50 {
namespace {

using hsabe::property;
using hsabe::str;

constexpr hsabe_str_t kIsas[] = {str("amdgcn-amd-amdhsa--gfx5000")};
constexpr hsabe_heap_t kHeaps[] = {{sizeof(hsabe_heap_t), HSABE_HEAP_GROUP, 0, 65536, 0}};

uint32_t compute_units(const hsabe_node_t* node) {
  const uint64_t simds = property(node, "simd_count");
  return static_cast<uint32_t>(simds / std::max<uint64_t>(property(node, "simd_per_cu"), 1));
}

uint32_t waves_per_cu(const hsabe_node_t* node) {
  return static_cast<uint32_t>(property(node, "max_waves_per_simd") * property(node, "simd_per_cu"));
}

// Computes the capabilities from the properties of the node, so that it can be tested without a device. It
// does not list local memory, which the runtime reads from the topology.
hsabe_status_t select(const hsabe_host_t* host, const hsabe_node_t* node, hsabe_caps_t* caps) {
  if (node->bus != HSABE_BUS_KFD || node->gfx_major != 50) {
    return hsabe::fail(host, HSA_STATUS_ERROR_INVALID_AGENT, "not a gfx50");
  }
  caps->name = str("gfx5000");
  caps->vendor_name = str("Example");
  caps->product_name = str("Aurora");
  caps->device_type = HSA_DEVICE_TYPE_GPU;
  caps->features = HSABE_FEATURE_KERNEL_DISPATCH;
  caps->doorbell = HSABE_DOORBELL_INDEX64;
  caps->profile = HSA_PROFILE_BASE;
  caps->float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  caps->fast_f16 = 1;
  caps->isa_names = kIsas;
  caps->isa_count = std::size(kIsas);
  caps->heaps = kHeaps;
  caps->heap_count = std::size(kHeaps);
  caps->wavefront_size = 32;
  caps->compute_units = compute_units(node);
  std::fill(std::begin(caps->workgroup_max_dim), std::end(caps->workgroup_max_dim), 1024);
  caps->workgroup_max_size = 1024;
  caps->grid_max_dim[0] = INT32_MAX;
  caps->grid_max_dim[1] = caps->grid_max_dim[2] = UINT16_MAX;
  caps->grid_max_size = UINT32_MAX;
  caps->queues_max = 16;
  caps->queue_min_size = 64;
  caps->queue_max_size = 131072;
  caps->queue_types = 1u << HSA_QUEUE_TYPE_MULTI | 1u << HSA_QUEUE_TYPE_SINGLE;
  caps->group_segment_size = 65536;
  caps->max_clock_mhz = static_cast<uint32_t>(property(node, "max_engine_clk_fcompute"));
  caps->cacheline_size = 128;
  caps->chip_id = static_cast<uint32_t>(property(node, "device_id"));
  caps->max_waves_per_cu = waves_per_cu(node);
  caps->simds_per_cu = static_cast<uint32_t>(property(node, "simd_per_cu"));
  caps->shader_engines = static_cast<uint32_t>(property(node, "array_count"));
  caps->shader_arrays_per_engine = static_cast<uint32_t>(property(node, "simd_arrays_per_engine"));
  caps->bdf_id = static_cast<uint32_t>(property(node, "location_id"));
  return HSA_STATUS_SUCCESS;
}

// The runtime has opened the render node and acquired the address space. A backend for a physical chip would
// install its trap handler here (SET_TRAP_HANDLER).
hsabe_status_t open(const hsabe_host_t* host, const hsabe_node_t* node, void** device) {
  return hsabe::guarded(host, [&]() -> hsabe_status_t {
    hsabe_driver_facts_t facts{};
    facts.struct_size = sizeof facts;
    host->driver->facts(host->self, &facts);
    *device = new Device{host,
                         facts,
                         compute_units(node),
                         waves_per_cu(node),
                         static_cast<uint32_t>(property(node, "ctl_stack_size")),
                         static_cast<uint32_t>(property(node, "cwsr_size"))};
    return HSA_STATUS_SUCCESS;
  });
}

void close(void* device) {
  delete static_cast<Device*>(device);
}

// Reads the clock of packets' time stamps.
hsabe_status_t read_clock(void* pointer, uint64_t* ticks, uint64_t* ticks_per_second) {
  const auto& device = *static_cast<const Device*>(pointer);
  kfd_get_clock_counters clocks{};
  clocks.gpu_id = device.driver.gpu_id;
  if (device.ioctl(KFD_NR_GET_CLOCK_COUNTERS, clocks) != 0) return HSA_STATUS_ERROR;
  *ticks = clocks.gpu_clock_counter;
  *ticks_per_second = 100'000'000;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

const hsabe_device_ops_t kDevice{
    sizeof(hsabe_device_ops_t), nullptr, select, open, close, read_clock, nullptr, nullptr, nullptr};

}  // namespace gfx50
