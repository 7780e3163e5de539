// What amdkfd's topology says of one GPU, read once into typed fields.
//
// Pure: any thread, no state. The strings refer to the node that they were read from.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::gfx {

struct GfxVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t stepping = 0;

  auto operator<=>(const GfxVersion&) const = default;
};

/// Bits of the topology's `capability` that backends look at.
enum Capability : uint32_t {
  kCapabilityAts = 1u << 1,           ///< shares the host's page tables: an APU behind an IOMMU
  kCapabilityDoorbellShift = 12,      ///< two bits: 0 gfx7, 1 gfx8, 2 gfx9 and later
  kCapabilityDoubledRing = 1u << 14,  ///< the driver maps queues' rings twice
  kCapabilitySramEcc = 1u << 26,
  kCapabilitySvm = 1u << 27,
};

struct NodeFacts {
  GfxVersion version;
  std::string_view name;     ///< the node's `name`: a code name, or "ip discovery"
  uint32_t device_id = 0;    ///< PCI
  uint32_t location_id = 0;  ///< PCI bus << 8 | device << 3 | function
  uint32_t pci_domain = 0;
  uint32_t capability = 0;
  uint32_t simd_count = 0;
  uint32_t simds_per_cu = 1;
  uint32_t array_count = 1;  ///< shader arrays of the whole device
  uint32_t arrays_per_engine = 1;
  uint32_t max_waves_per_simd = 0;
  uint32_t max_scratch_slots_per_cu = 0;  ///< waves of a CU that can have scratch at a time
  uint32_t lds_bytes_per_cu = 0;
  uint32_t wave_size = 0;
  uint32_t max_clock_mhz = 0;
  uint32_t mec_firmware = 0;   ///< version of the compute microcode, 10 bits
  uint32_t sdma_firmware = 0;  ///< likewise of the copy engines'
  uint32_t xcc_count = 1;
  uint32_t sdma_engines = 0;
  uint32_t sdma_xgmi_engines = 0;
  uint32_t gws_count = 0;
  uint64_t unique_id = 0;
  uint64_t hive_id = 0;
  /// Its node is the host's: an APU behind the IOMMU, as Linux has them up to 6.5. Since then, and before on newer chips,
  /// an APU has a node of its own and is driven like any GPU.
  bool on_host_node = false;
  bool xnack = false;  ///< page faults are retried; see read_node_facts
  /// The device's 64-bit atomics reach host memory; see read_node_facts.
  bool host_atomics = true;

  // What newer kernels compute for user mode (0: an older one).
  uint32_t control_stack_bytes = 0;
  uint32_t save_area_bytes = 0;
  uint32_t end_of_pipe_bytes = 0;

  uint32_t compute_units() const { return simd_count / simds_per_cu; }
  uint32_t engines() const { return array_count / arrays_per_engine; }
  uint32_t doorbell_type() const { return capability >> kCapabilityDoorbellShift & 3; }
};

/// Reads them. Whether faults are retried is no property of amdkfd's: the runtime, which asks the driver,
/// says it with a property `xnack_enabled`; without one, it is what an APU with ATS always does. Nor is
/// whether the links on the way to the host carry atomics: a property `host_atomics` says it, and without one
/// they do.
NodeFacts read_node_facts(const hsabe_node_t& node);

}  // namespace rigel::gfx
