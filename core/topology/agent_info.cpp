// hsa_agent_get_info: one line per attribute, in the manual's order, then AMD's.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

#include "api/support/clock.hpp"
#include "api/support/query.hpp"
#include "core/topology/agent.hpp"

#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>
#include <hsa_plugin/kfd_abi.h>

namespace rigel {
namespace {

constexpr size_t kNameBytes = 64;
constexpr size_t kUuidBytes = 21;  // "GPU-" and 16 digits

std::string_view view(hsabe_str_t text) {
  return {text.data, static_cast<size_t>(text.size)};
}

uint32_t property32(const Node& node, std::string_view name) {
  const auto found = node.properties.find(name);
  return found == node.properties.end() ? 0 : static_cast<uint32_t>(found->second);
}

}  // namespace

Status Agent::info(uint32_t attribute, void* value, const AgentSurroundings& surroundings) const {
  if (value == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "agent attribute {:#x}: value is NULL", attribute);
  switch (attribute) {
    case HSA_AGENT_INFO_NAME:
      return answer_string(value, view(caps().name), kNameBytes);
    case HSA_AGENT_INFO_VENDOR_NAME:
      return answer_string(value, view(caps().vendor_name), kNameBytes);
    case HSA_AGENT_INFO_FEATURE: {
      uint32_t features = 0;
      if (caps().features & HSABE_FEATURE_KERNEL_DISPATCH) features |= HSA_AGENT_FEATURE_KERNEL_DISPATCH;
      if (caps().features & HSABE_FEATURE_AGENT_DISPATCH) features |= HSA_AGENT_FEATURE_AGENT_DISPATCH;
      return answer(value, static_cast<hsa_agent_feature_t>(features));
    }
    case HSA_AGENT_INFO_MACHINE_MODEL:
      return answer(value, HSA_MACHINE_MODEL_LARGE);
    case HSA_AGENT_INFO_PROFILE:
      return answer(value, static_cast<hsa_profile_t>(caps().profile));
    case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
    case HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
      return answer(value, static_cast<hsa_default_float_rounding_mode_t>(caps().float_rounding));
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
      return answer(value, caps().fast_f16 != 0);
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
      return answer(value, caps().wavefront_size);
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM: {
      uint16_t dim[3];
      for (int i = 0; i < 3; ++i)
        dim[i] = static_cast<uint16_t>(std::min(caps().workgroup_max_dim[i], 0xffffu));
      return answer(value, dim);
    }
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
      return answer(value, caps().workgroup_max_size);
    case HSA_AGENT_INFO_GRID_MAX_DIM:
      return answer(value,
                    hsa_dim3_t{caps().grid_max_dim[0], caps().grid_max_dim[1], caps().grid_max_dim[2]});
    case HSA_AGENT_INFO_GRID_MAX_SIZE:  // 32 bits in the manual, although a grid can be larger
      return answer(value, static_cast<uint32_t>(std::min<uint64_t>(caps().grid_max_size, UINT32_MAX)));
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
      return answer(value, caps().fbarrier_max_size);
    case HSA_AGENT_INFO_QUEUES_MAX:
      return answer(value, caps().queues_max);
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
      return answer(value, caps().queue_min_size);
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
      return answer(value, caps().queue_max_size);
    case HSA_AGENT_INFO_QUEUE_TYPE: {
      const bool multi = (caps().queue_types & 1u << HSA_QUEUE_TYPE_MULTI) != 0;
      return answer(value,
                    static_cast<hsa_queue_type32_t>(multi ? HSA_QUEUE_TYPE_MULTI : HSA_QUEUE_TYPE_SINGLE));
    }
    case HSA_AGENT_INFO_NODE:
      return answer(value, node_.node_id);
    case HSA_AGENT_INFO_DEVICE:
      return answer(value, static_cast<hsa_device_type_t>(caps().device_type));
    case HSA_AGENT_INFO_CACHE_SIZE: {
      uint32_t sizes[4] = {};
      for (const Cache& cache : caches_) {
        if (cache.level >= 1 && cache.level <= 4) sizes[cache.level - 1] = cache.size;
      }
      return answer(value, sizes);
    }
    case HSA_AGENT_INFO_ISA:
      return answer(value, isas_.empty() ? hsa_isa_t{0} : isas_.front()->handle());
    case HSA_AGENT_INFO_VERSION_MAJOR:
      return answer(value, uint16_t{1});
    case HSA_AGENT_INFO_VERSION_MINOR:
      return answer(value, uint16_t{1});
    default:
      return amd_info(attribute, value, surroundings);
  }
}

Status Agent::amd_info(uint32_t attribute, void* value, const AgentSurroundings& surroundings) const {
  switch (attribute) {
    case HSA_AMD_AGENT_INFO_CHIP_ID:
      return answer(value, caps().chip_id);
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
      return answer(value, caps().cacheline_size);
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
      return answer(value, caps().compute_units);
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
      return answer(value, caps().max_clock_mhz);
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
      return answer(value, node_.node_id);
    case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS: {
      // KFD reports the logarithm, in bits 11:8 of the capability word.
      const uint32_t capability = property32(node_, "capability");
      const uint32_t points = capability & 1u << 7 ? 1u << (capability >> 8 & 0xf) : 0;
      return answer(value, points);
    }
    case HSA_AMD_AGENT_INFO_BDFID:
      return answer(value, caps().bdf_id);
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
      return answer(value, caps().memory_width_bits);
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
      return answer(value, caps().memory_max_clock_mhz);
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
      return answer_string(
          value, surroundings.product_name.empty() ? view(caps().product_name) : surroundings.product_name,
          kNameBytes);
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
      return answer(value, caps().max_waves_per_cu);
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
      return answer(value, caps().simds_per_cu);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
      return answer(value, caps().shader_engines);
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
      return answer(value, caps().shader_arrays_per_engine);
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
      return answer(value, surroundings.registers == nullptr
                               ? hsa_amd_hdp_flush_t{nullptr, nullptr}
                               : hsa_amd_hdp_flush_t{surroundings.registers, surroundings.registers + 1});
    case HSA_AMD_AGENT_INFO_DOMAIN:
      return answer(value, caps().pci_domain);
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
      return answer(value, (caps().queue_types & 1u << HSA_QUEUE_TYPE_COOPERATIVE) != 0);
    case HSA_AMD_AGENT_INFO_UUID: {
      if (caps().uuid.size != 0) return answer_string(value, view(caps().uuid), kUuidBytes);
      const auto id = node_.properties.find("unique_id");
      if (id != node_.properties.end() && id->second != 0) {
        return answer_string(value, fmt::format("GPU-{:016x}", id->second), kUuidBytes);
      }
      return answer_string(value, is_cpu() ? "CPU-XX" : "GPU-XX", kUuidBytes);
    }
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
      return answer(value, caps().asic_revision);
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
      return answer(value, is_cpu() || (property32(node_, "capability") & KFD_CAP_COHERENT_HOST_ACCESS) != 0);
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
      // Independent of cooperative queues: HIP uses it as the size of a device.
      return answer(value, is_cpu() ? 0u : limits_.cooperative_units.value_or(caps().compute_units));
    case HSA_AMD_AGENT_INFO_MEMORY_AVAIL:
      return answer(value, surroundings.memory_available);
    case HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY: {
      uint64_t ticks = 0;
      uint64_t frequency = 0;
      const Status status = read_clock(ticks, frequency);
      return status == HSA_STATUS_SUCCESS ? answer(value, frequency) : status;
    }
    case HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID:
      return answer(value, property32(node_, "family_id"));
    case HSA_AMD_AGENT_INFO_UCODE_VERSION:
      return answer(value, property32(node_, "fw_version") & KFD_FIRMWARE_VERSION_MASK);
    case HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION:
      return answer(value, property32(node_, "sdma_fw_version") & KFD_FIRMWARE_VERSION_MASK);
    case HSA_AMD_AGENT_INFO_NUM_SDMA_ENG:
      return answer(value, property32(node_, "num_sdma_engines"));
    case HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG:
      return answer(value, property32(node_, "num_sdma_xgmi_engines"));
    case HSA_AMD_AGENT_INFO_IOMMU_SUPPORT:
      return answer(value, (property32(node_, "capability") & KFD_CAP_ATS) != 0 ? HSA_IOMMU_SUPPORT_V2
                                                                                : HSA_IOMMU_SUPPORT_NONE);
    case HSA_AMD_AGENT_INFO_NUM_XCC:
      return answer(value, is_cpu() ? 0u : std::max(1u, property32(node_, "num_xcc")));
    case HSA_AMD_AGENT_INFO_DRIVER_UID:
      return answer(value, property32(node_, "gpu_id"));
    case HSA_AMD_AGENT_INFO_NEAREST_CPU:
      return answer(value, is_cpu() ? handle() : surroundings.nearest_cpu);
    case HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES: {
      uint8_t properties[8] = {};
      if (surroundings.is_apu) hsa_flag_set64(properties, HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU);
      return answer(value, properties);
    }
    case HSA_AMD_AGENT_INFO_AQL_EXTENSIONS: {
      const uint8_t none[8] = {};
      return answer(value, none);
    }
    case HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX:
    case HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT: {
      uint64_t most = 0;
      uint64_t now = 0;
      scratch_limits(most, now);
      return answer(value, attribute == HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX ? most : now);
    }
    case HSA_AMD_AGENT_INFO_CLOCK_COUNTERS: {
      hsa_amd_clock_counters_t counters{};
      uint64_t frequency = 0;
      const Status status = read_clock(counters.gpu_clock_counter, frequency);
      if (status != HSA_STATUS_SUCCESS) return status;
      counters.system_clock_counter = system_time_ns();
      counters.cpu_clock_counter = counters.system_clock_counter;
      counters.system_clock_frequency = kSystemClockHz;
      return answer(value, counters);
    }
    case HSA_AMD_AGENT_INFO_PM4_EMULATION:
    case HSA_AMD_AGENT_INFO_HAS_EXPERT_SCHED_MODE:
      return answer(value, false);
    case HSA_AMD_AGENT_INFO_LUID:
      return answer(value, hsa_luid_t{0, 0});
    case HSA_AMD_AGENT_INFO_CUID: {
      const uint8_t none[16] = {};
      return answer(value, none);
    }
    case HSA_AMD_AGENT_INFO_KERNEL_WG_MAX_DIM:
      // A dispatch counts work-items in 32 bits, and a work-group can have one.
      return answer(value,
                    hsa_amd_dim3_t{caps().grid_max_dim[0], caps().grid_max_dim[1], caps().grid_max_dim[2]});
    case HSA_AMD_AGENT_INFO_KERNEL_WG_MAX_SIZE:
      return answer(value, uint64_t{caps().grid_max_size});
    case HSA_AMD_AGENT_INFO_KERNEL_CLUSTER_MAX_DIM:
    case HSA_AMD_AGENT_INFO_CLUSTER_MAX_DIM:
      return answer(value, hsa_amd_dim3_t{0, 0, 0});
    case HSA_AMD_AGENT_INFO_KERNEL_CLUSTER_MAX_SIZE:
    case HSA_AMD_AGENT_INFO_CLUSTER_MAX_SIZE:
      return answer(value, uint64_t{0});
    case HSA_AMD_AGENT_INFO_MAX_DATA_PREFETCH_REGIONS:
      return answer(value, uint32_t{0});
    case HSA_AMD_AGENT_INFO_HOST_ALLOC_DMABUF_SUPPORTED:
      return answer(value, false);
    default:
      return image_info(attribute, value);
  }
}

Status Agent::image_info(uint32_t attribute, void* value) const {
  if (value == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "agent attribute {:#x}: value is NULL", attribute);
  hsabe_image_limits_t limits{};  // all 0 for an agent without images
  limits.struct_size = sizeof limits;
  if (backend_.has_image()) backend_.image.limits(device_, &limits);
  const auto most = [&](hsa_ext_image_geometry_t geometry, size_t dimensions) {
    std::memcpy(value, limits.most[geometry], dimensions * sizeof(uint32_t));
    return HSA_STATUS_SUCCESS;
  };
  switch (attribute) {
    case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_1D, 1);
    case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_1DA, 1);
    case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_1DB, 1);
    case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_2D, 2);
    case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_2DA, 2);
    case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, 2);
    case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_2DADEPTH, 2);
    case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
      return most(HSA_EXT_IMAGE_GEOMETRY_3D, 3);
    case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS:
      return answer(value, limits.most[HSA_EXT_IMAGE_GEOMETRY_2DA][3]);
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES:
      return answer(value, limits.read_handles);
    case HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES:
      return answer(value, limits.write_handles);
    case HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS:
      return answer(value, limits.samplers);
    case HSA_EXT_AGENT_INFO_IMAGE_SUPPORT:
      return answer(value, backend_.has_image());
    case HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT:
      return answer(value, limits.row_pitch_alignment);
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown agent attribute {:#x}", attribute);
  }
}

}  // namespace rigel
