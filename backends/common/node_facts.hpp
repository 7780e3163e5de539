// Properties of one GPU in amdkfd's topology, read once into typed fields.
//
// Pure; any thread. The strings refer to the node.
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

enum Capability : uint32_t {
  kCapabilityAts = 1u << 1,           ///< shares the host's page tables: an APU with an IOMMU
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
  uint32_t max_scratch_slots_per_cu = 0;  ///< waves of a CU that can have scratch at the same time
  uint32_t lds_bytes_per_cu = 0;
  uint32_t wave_size = 0;
  uint32_t max_clock_mhz = 0;
  uint32_t mec_firmware = 0;   ///< version of the compute microcode, 10 bits
  uint32_t sdma_firmware = 0;  ///< version of the copy engines' microcode
  uint32_t xcc_count = 1;
  uint32_t sdma_engines = 0;
  uint32_t sdma_xgmi_engines = 0;
  uint32_t gws_count = 0;
  uint64_t unique_id = 0;
  uint64_t hive_id = 0;
  /// Whether the host and the GPU share a node: an APU with an IOMMU, in Linux up to 6.5. Later, and on newer
  /// chips, an APU has a separate node and is driven like any GPU.
  bool on_host_node = false;
  bool xnack = false;  ///< page faults are retried; see read_node_facts
  /// The device's 64-bit atomics reach host memory; see read_node_facts.
  bool host_atomics = true;

  // Computed by newer kernels for user mode (0: an older kernel).
  uint32_t control_stack_bytes = 0;
  uint32_t save_area_bytes = 0;
  uint32_t end_of_pipe_bytes = 0;

  uint32_t compute_units() const { return simd_count / simds_per_cu; }
  uint32_t engines() const { return array_count / arrays_per_engine; }
  uint32_t doorbell_type() const { return capability >> kCapabilityDoorbellShift & 3; }
};

/// Reads the properties. Two are not in amdkfd's topology; the runtime adds them. `xnack_enabled`: retry of
/// page faults, from the driver; the default is on for an APU with ATS only. `host_atomics`: the links to the
/// host carry atomics; the default is on.
NodeFacts read_node_facts(const hsabe_node_t& node);

}  // namespace rigel::gfx
