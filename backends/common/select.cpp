#include "backends/common/select.hpp"

#include <algorithm>

#include <hsa/hsa.h>

#include "backends/common/generation.hpp"

namespace rigel::gfx {
namespace {

constexpr hsabe_heap_t kHeaps[] = {{sizeof(hsabe_heap_t), HSABE_HEAP_GROUP, 0, 65536, 0}};

}  // namespace

const hsabe_str_t& isa_name(const Chip& chip, const NodeFacts& facts) {
  const bool sramecc = chip.features.has_sramecc && (facts.capability & kCapabilitySramEcc) != 0;
  const bool xnack = chip.features.has_xnack && facts.xnack;
  return chip.isa_names[static_cast<size_t>(sramecc) << 1 | static_cast<size_t>(xnack)];
}

hsabe_status_t select(const Family& family, const hsabe_node_t& node, hsabe_caps_t* caps, const char** why) {
  const auto refuse = [&](const char* reason) {
    *why = reason;
    return HSA_STATUS_ERROR_INVALID_AGENT;
  };
  if (node.bus != HSABE_BUS_KFD) return refuse("not an amdkfd node");
  const NodeFacts facts = read_node_facts(node);
  const Chip* chip = find_chip(family, facts.version);
  if (chip == nullptr) return refuse("unknown target version");
  if (facts.compute_units() == 0) return refuse("the node has no compute units");
  const bool wide = facts.doorbell_type() == 2;
  if (facts.doorbell_type() > 2 || wide != (family.doorbell == HSABE_DOORBELL_INDEX64))
    return refuse("the doorbell type does not match this generation");

  const std::string_view code_name = find_code_name(family, facts.device_id);
  caps->name = hsabe::str(chip->processor);
  caps->vendor_name = hsabe::str("AMD");
  caps->product_name = hsabe::str(code_name.empty() ? chip->processor : code_name);
  caps->device_type = HSA_DEVICE_TYPE_GPU;
  caps->features = HSABE_FEATURE_KERNEL_DISPATCH;
  caps->doorbell = aql_doorbell(family, facts);
  caps->profile = (facts.capability & kCapabilityAts) != 0 ? HSA_PROFILE_FULL : HSA_PROFILE_BASE;
  caps->float_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR;
  caps->fast_f16 = 1;
  caps->isa_names = &isa_name(*chip, facts);
  caps->isa_count = 1;  // the runtime adds the generic target's
  caps->heaps = kHeaps;
  caps->heap_count = std::size(kHeaps);
  caps->quirks = find_quirks(family.quirks, facts);
  caps->wavefront_size = facts.wave_size != 0 ? facts.wave_size : family.wave_size;
  caps->compute_units = facts.compute_units();
  std::fill(std::begin(caps->workgroup_max_dim), std::end(caps->workgroup_max_dim), kWorkgroupMaxSize);
  caps->workgroup_max_size = kWorkgroupMaxSize;
  caps->grid_max_dim[0] = INT32_MAX;
  caps->grid_max_dim[1] = caps->grid_max_dim[2] = UINT16_MAX;
  caps->grid_max_size = UINT32_MAX;
  caps->fbarrier_max_size = 32;
  caps->queues_max = kQueuesMax;
  caps->queue_min_size = kQueueMinPackets;
  caps->queue_max_size = (caps->quirks & kQuirkRingDoubled) != 0 ? kQueueMaxPackets / 2 : kQueueMaxPackets;
  caps->queue_types = 1u << HSA_QUEUE_TYPE_MULTI | 1u << HSA_QUEUE_TYPE_SINGLE;
  if (facts.gws_count != 0) caps->queue_types |= 1u << HSA_QUEUE_TYPE_COOPERATIVE;
  caps->group_segment_size = family.workgroup_lds_max;
  caps->private_segment_max_size = kPrivateSegmentMax;
  caps->max_clock_mhz = facts.max_clock_mhz;
  caps->cacheline_size = 64;
  caps->chip_id = facts.device_id;
  caps->asic_revision = facts.capability >> 22 & 0xf;
  caps->max_waves_per_cu = facts.max_waves_per_simd * facts.simds_per_cu;
  caps->simds_per_cu = facts.simds_per_cu;
  caps->shader_engines = facts.engines();
  caps->shader_arrays_per_engine = facts.arrays_per_engine;
  caps->bdf_id = facts.location_id;
  caps->pci_domain = facts.pci_domain;
  // a runtime before 1.4
  if (!HSABE_HAS(caps, hsabe_caps_t, cooperative_compute_units)) return HSA_STATUS_SUCCESS;
  caps->compute_units_together = family.generation->cu_pairs ? 2 : 1;
  if ((caps->quirks & kQuirkCooperativeCuCount) != 0)
    caps->cooperative_compute_units = std::max(caps->compute_units / 8, 2u) * 8 - 8;
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::gfx
