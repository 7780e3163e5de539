#include "backends/common/node_facts.hpp"

#include <algorithm>

#include <hsa_plugin/kfd_abi.h>

namespace rigel::gfx {
namespace {

class Properties {
 public:
  explicit Properties(const hsabe_node_t& node) : node_(node) {}

  uint64_t wide(std::string_view name, uint64_t fallback = 0) const {
    return hsabe::property(&node_, name, fallback);
  }
  uint32_t operator()(std::string_view name, uint32_t fallback = 0) const {
    return static_cast<uint32_t>(std::min<uint64_t>(wide(name, fallback), UINT32_MAX));
  }
  /// For divisors.
  uint32_t at_least_one(std::string_view name) const { return std::max((*this)(name), 1u); }

 private:
  const hsabe_node_t& node_;
};

}  // namespace

NodeFacts read_node_facts(const hsabe_node_t& node) {
  const Properties property(node);
  NodeFacts facts;
  facts.version = {node.gfx_major, node.gfx_minor, node.gfx_stepping};
  facts.name = hsabe::view(node.name);
  facts.device_id = property("device_id");
  facts.location_id = property("location_id");
  facts.pci_domain = property("domain");
  facts.capability = property("capability");
  facts.simd_count = property("simd_count");
  facts.simds_per_cu = property.at_least_one("simd_per_cu");
  facts.array_count = property.at_least_one("array_count");
  facts.arrays_per_engine = property.at_least_one("simd_arrays_per_engine");
  facts.max_waves_per_simd = property("max_waves_per_simd");
  facts.max_scratch_slots_per_cu = property("max_slots_scratch_cu");
  facts.lds_bytes_per_cu = std::min(property("lds_size_in_kb"), 1u << 20) * 1024;
  facts.wave_size = property("wave_front_size");
  facts.max_clock_mhz = property("max_engine_clk_fcompute");
  facts.mec_firmware = static_cast<uint32_t>(property.wide("fw_version") & KFD_FIRMWARE_VERSION_MASK);
  facts.sdma_firmware = static_cast<uint32_t>(property.wide("sdma_fw_version") & KFD_FIRMWARE_VERSION_MASK);
  facts.xcc_count = property.at_least_one("num_xcc");
  facts.sdma_engines = property("num_sdma_engines");
  facts.sdma_xgmi_engines = property("num_sdma_xgmi_engines");
  facts.gws_count = property("num_gws");
  facts.unique_id = property.wide("unique_id");
  facts.hive_id = property.wide("hive_id");
  facts.on_host_node = property("cpu_cores_count") != 0;
  facts.xnack = property("xnack_enabled", (facts.capability & kCapabilityAts) != 0 ? 1 : 0) != 0;
  facts.host_atomics = property("host_atomics", 1) != 0;
  facts.control_stack_bytes = property("ctl_stack_size");
  facts.save_area_bytes = property("cwsr_size");
  facts.end_of_pipe_bytes = property("eop_buffer_size");
  return facts;
}

}  // namespace rigel::gfx
