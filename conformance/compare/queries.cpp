// Prints a runtime's answers to all queries, as lines that can be compared with those of another runtime:
//
//   agent.1.HSA_AGENT_INFO_NAME = "gfx900"
//   agent.1.HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT = 64 (4)
//
// The number in brackets is the number of bytes that the runtime wrote, found by two queries with different
// bytes in the buffer. Handles, pointers and clocks are shown as "set" or "0".
#include "compare/image_queries.hpp"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

enum class Kind { kValue, kText, kIdentity, kBytes };

struct Attribute {
  int value;
  const char* name;
  Kind kind = Kind::kValue;
};

#define VALUE(name) \
  { static_cast<int>(name), #name, Kind::kValue }
#define TEXT(name) \
  { static_cast<int>(name), #name, Kind::kText }
#define IDENTITY(name) \
  { static_cast<int>(name), #name, Kind::kIdentity }
#define BYTES(name) \
  { static_cast<int>(name), #name, Kind::kBytes }

constexpr Attribute kSystem[] = {
    VALUE(HSA_SYSTEM_INFO_VERSION_MAJOR),
    VALUE(HSA_SYSTEM_INFO_VERSION_MINOR),
    IDENTITY(HSA_SYSTEM_INFO_TIMESTAMP),
    VALUE(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY),
    VALUE(HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT),
    VALUE(HSA_SYSTEM_INFO_ENDIANNESS),
    VALUE(HSA_SYSTEM_INFO_MACHINE_MODEL),
    BYTES(HSA_SYSTEM_INFO_EXTENSIONS),
    VALUE(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED),
    VALUE(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT),
    VALUE(HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED),
    VALUE(HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED),
    VALUE(HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED),
    VALUE(HSA_AMD_SYSTEM_INFO_XNACK_ENABLED),
    VALUE(HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR),
    VALUE(HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR),
};

constexpr Attribute kAgent[] = {
    TEXT(HSA_AGENT_INFO_NAME),
    TEXT(HSA_AGENT_INFO_VENDOR_NAME),
    VALUE(HSA_AGENT_INFO_FEATURE),
    VALUE(HSA_AGENT_INFO_MACHINE_MODEL),
    VALUE(HSA_AGENT_INFO_PROFILE),
    VALUE(HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE),
    VALUE(HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES),
    VALUE(HSA_AGENT_INFO_FAST_F16_OPERATION),
    VALUE(HSA_AGENT_INFO_WAVEFRONT_SIZE),
    BYTES(HSA_AGENT_INFO_WORKGROUP_MAX_DIM),
    VALUE(HSA_AGENT_INFO_WORKGROUP_MAX_SIZE),
    BYTES(HSA_AGENT_INFO_GRID_MAX_DIM),
    VALUE(HSA_AGENT_INFO_GRID_MAX_SIZE),
    VALUE(HSA_AGENT_INFO_FBARRIER_MAX_SIZE),
    VALUE(HSA_AGENT_INFO_QUEUES_MAX),
    VALUE(HSA_AGENT_INFO_QUEUE_MIN_SIZE),
    VALUE(HSA_AGENT_INFO_QUEUE_MAX_SIZE),
    VALUE(HSA_AGENT_INFO_QUEUE_TYPE),
    VALUE(HSA_AGENT_INFO_NODE),
    VALUE(HSA_AGENT_INFO_DEVICE),
    BYTES(HSA_AGENT_INFO_CACHE_SIZE),
    IDENTITY(HSA_AGENT_INFO_ISA),
    BYTES(HSA_AGENT_INFO_EXTENSIONS),
    VALUE(HSA_AGENT_INFO_VERSION_MAJOR),
    VALUE(HSA_AGENT_INFO_VERSION_MINOR),
    VALUE(HSA_AMD_AGENT_INFO_CHIP_ID),
    VALUE(HSA_AMD_AGENT_INFO_CACHELINE_SIZE),
    VALUE(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
    VALUE(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY),
    VALUE(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID),
    VALUE(HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS),
    VALUE(HSA_AMD_AGENT_INFO_BDFID),
    VALUE(HSA_AMD_AGENT_INFO_MEMORY_WIDTH),
    VALUE(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY),
    TEXT(HSA_AMD_AGENT_INFO_PRODUCT_NAME),
    VALUE(HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU),
    VALUE(HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU),
    VALUE(HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES),
    VALUE(HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE),
    IDENTITY(HSA_AMD_AGENT_INFO_HDP_FLUSH),
    VALUE(HSA_AMD_AGENT_INFO_DOMAIN),
    VALUE(HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES),
    TEXT(HSA_AMD_AGENT_INFO_UUID),
    VALUE(HSA_AMD_AGENT_INFO_ASIC_REVISION),
    VALUE(HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS),
    VALUE(HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT),
    VALUE(HSA_AMD_AGENT_INFO_MEMORY_AVAIL),
    VALUE(HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY),
    VALUE(HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID),
    VALUE(HSA_AMD_AGENT_INFO_UCODE_VERSION),
    VALUE(HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION),
    VALUE(HSA_AMD_AGENT_INFO_NUM_SDMA_ENG),
    VALUE(HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG),
    VALUE(HSA_AMD_AGENT_INFO_IOMMU_SUPPORT),
    VALUE(HSA_AMD_AGENT_INFO_NUM_XCC),
    VALUE(HSA_AMD_AGENT_INFO_DRIVER_UID),
    IDENTITY(HSA_AMD_AGENT_INFO_NEAREST_CPU),
    BYTES(HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES),
    BYTES(HSA_AMD_AGENT_INFO_AQL_EXTENSIONS),
    VALUE(HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX),
    VALUE(HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT),
    IDENTITY(HSA_AMD_AGENT_INFO_CLOCK_COUNTERS),
    VALUE(HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS),
    VALUE(HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS),
    VALUE(HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS),
    BYTES(HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS),
    BYTES(HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS),
    BYTES(HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS),
    BYTES(HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS),
    BYTES(HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS),
    VALUE(HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS),
    VALUE(HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES),
    VALUE(HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES),
    VALUE(HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS),
    VALUE(HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT),
};

constexpr Attribute kCache[] = {
    VALUE(HSA_CACHE_INFO_NAME_LENGTH),
    IDENTITY(HSA_CACHE_INFO_NAME),  // a pointer to the text
    VALUE(HSA_CACHE_INFO_LEVEL),
    VALUE(HSA_CACHE_INFO_SIZE),
};

constexpr Attribute kIsa[] = {
    VALUE(HSA_ISA_INFO_NAME_LENGTH),
    TEXT(HSA_ISA_INFO_NAME),
    BYTES(HSA_ISA_INFO_MACHINE_MODELS),
    BYTES(HSA_ISA_INFO_PROFILES),
    BYTES(HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES),
    BYTES(HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES),
    VALUE(HSA_ISA_INFO_FAST_F16_OPERATION),
    BYTES(HSA_ISA_INFO_WORKGROUP_MAX_DIM),
    VALUE(HSA_ISA_INFO_WORKGROUP_MAX_SIZE),
    BYTES(HSA_ISA_INFO_GRID_MAX_DIM),
    VALUE(HSA_ISA_INFO_GRID_MAX_SIZE),
    VALUE(HSA_ISA_INFO_FBARRIER_MAX_SIZE),
};

constexpr Attribute kRegion[] = {
    VALUE(HSA_REGION_INFO_SEGMENT),
    VALUE(HSA_REGION_INFO_GLOBAL_FLAGS),
    VALUE(HSA_REGION_INFO_SIZE),
    VALUE(HSA_REGION_INFO_ALLOC_MAX_SIZE),
    VALUE(HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE),
    VALUE(HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED),
    VALUE(HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE),
    VALUE(HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT),
    VALUE(HSA_AMD_REGION_INFO_HOST_ACCESSIBLE),
    IDENTITY(HSA_AMD_REGION_INFO_BASE),
    VALUE(HSA_AMD_REGION_INFO_BUS_WIDTH),
    VALUE(HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY),
};

constexpr Attribute kPool[] = {
    VALUE(HSA_AMD_MEMORY_POOL_INFO_SEGMENT),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_SIZE),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_LOCATION),
    VALUE(HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE),
};

constexpr size_t kBuffer = 512;

std::string shown(const unsigned char* bytes, size_t size, Kind kind) {
  if (kind == Kind::kText) {
    const auto* text = reinterpret_cast<const char*>(bytes);
    std::string quoted = "\"";
    for (size_t i = 0; i < size && text[i] != 0; ++i)
      quoted += bytes[i] < 0x20 || bytes[i] > 0x7e ? '?' : text[i];
    return quoted + '"';
  }
  bool zero = true;
  for (size_t i = 0; i < size; ++i) zero = zero && bytes[i] == 0;
  if (kind == Kind::kIdentity) return zero ? "0" : "set";
  char text[64];
  if (kind == Kind::kValue && size <= 8) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    std::snprintf(text, sizeof text, "%" PRIu64, value);
    return text;
  }
  std::string hex;
  size_t last = size;
  while (last > 0 && bytes[last - 1] == 0) --last;
  for (size_t i = 0; i < last; ++i) {
    std::snprintf(text, sizeof text, "%02x", bytes[i]);
    hex += text;
  }
  return hex.empty() ? "00" : hex;
}

template <class Get>
void show(const std::string& prefix, const Attribute& attribute, Get get) {
  // Two passes with different buffer contents reveal the number of bytes that the query writes.
  unsigned char first[kBuffer], second[kBuffer];
  std::memset(first, 0xA5, sizeof first);
  std::memset(second, 0x5A, sizeof second);
  const hsa_status_t status = get(attribute.value, first);
  if (status != HSA_STATUS_SUCCESS) {
    std::printf("%s.%s: status %#x\n", prefix.c_str(), attribute.name, static_cast<unsigned>(status));
    return;
  }
  get(attribute.value, second);
  size_t size = kBuffer;
  while (size > 0 && first[size - 1] == 0xA5 && second[size - 1] == 0x5A) --size;
  std::printf("%s.%s = %s (%zu)\n", prefix.c_str(), attribute.name,
              shown(first, size, attribute.kind).c_str(), size);
}

template <size_t kCount, class Get>
void show_all(const std::string& prefix, const Attribute (&attributes)[kCount], Get get) {
  for (const Attribute& attribute : attributes) show(prefix, attribute, get);
}

template <class Handle>
hsa_status_t collect(Handle handle, void* data) {
  static_cast<std::vector<Handle>*>(data)->push_back(handle);
  return HSA_STATUS_SUCCESS;
}

void show_agent(const std::string& prefix, hsa_agent_t agent, const std::vector<hsa_agent_t>& agents) {
  show_all(prefix, kAgent, [&](int attribute, void* value) {
    return hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), value);
  });
  std::vector<hsa_cache_t> caches;
  hsa_agent_iterate_caches(agent, collect<hsa_cache_t>, &caches);
  for (size_t i = 0; i < caches.size(); ++i) {
    show_all(prefix + ".cache." + std::to_string(i), kCache, [&](int attribute, void* value) {
      return hsa_cache_get_info(caches[i], static_cast<hsa_cache_info_t>(attribute), value);
    });
  }
  std::vector<hsa_isa_t> isas;
  hsa_agent_iterate_isas(agent, collect<hsa_isa_t>, &isas);
  for (size_t i = 0; i < isas.size(); ++i) {
    show_all(prefix + ".isa." + std::to_string(i), kIsa, [&](int attribute, void* value) {
      return hsa_isa_get_info_alt(isas[i], static_cast<hsa_isa_info_t>(attribute), value);
    });
  }
  std::vector<hsa_region_t> regions;
  hsa_agent_iterate_regions(agent, collect<hsa_region_t>, &regions);
  for (size_t i = 0; i < regions.size(); ++i) {
    show_all(prefix + ".region." + std::to_string(i), kRegion, [&](int attribute, void* value) {
      return hsa_region_get_info(regions[i], static_cast<hsa_region_info_t>(attribute), value);
    });
  }
  std::vector<hsa_amd_memory_pool_t> pools;
  hsa_amd_agent_iterate_memory_pools(agent, collect<hsa_amd_memory_pool_t>, &pools);
  uint32_t image_handles = 0;
  hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES),
                     &image_handles);
  void* memory = nullptr;
  if (image_handles != 0 &&
      hsa_amd_memory_pool_allocate(pools.at(0), 64 << 10, 0, &memory) == HSA_STATUS_SUCCESS) {
    show_images(prefix, agent, memory);
    hsa_amd_memory_pool_free(memory);
  }
  for (size_t i = 0; i < pools.size(); ++i) {
    const std::string pool = prefix + ".pool." + std::to_string(i);
    show_all(pool, kPool, [&](int attribute, void* value) {
      return hsa_amd_memory_pool_get_info(pools[i], static_cast<hsa_amd_memory_pool_info_t>(attribute),
                                          value);
    });
    for (size_t a = 0; a < agents.size(); ++a) {
      const std::string from = pool + ".from." + std::to_string(a);
      const auto get = [&](int attribute, void* value) {
        return hsa_amd_agent_memory_pool_get_info(
            agents[a], pools[i], static_cast<hsa_amd_agent_memory_pool_info_t>(attribute), value);
      };
      show(from, VALUE(HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS), get);
      show(from, VALUE(HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS), get);
      uint32_t hops = 0;
      if (get(HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS, &hops) == HSA_STATUS_SUCCESS && hops > 0) {
        show(from, BYTES(HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO), get);
      }
    }
  }
}

}  // namespace

int main() {
  const hsa_status_t status = hsa_init();
  if (status != HSA_STATUS_SUCCESS) {
    std::fprintf(stderr, "hsa_init: status %#x\n", static_cast<unsigned>(status));
    return 1;
  }
  show_all("system", kSystem, [](int attribute, void* value) {
    return hsa_system_get_info(static_cast<hsa_system_info_t>(attribute), value);
  });
  std::vector<hsa_agent_t> agents;
  hsa_iterate_agents(collect<hsa_agent_t>, &agents);
  for (size_t i = 0; i < agents.size(); ++i) show_agent("agent." + std::to_string(i), agents[i], agents);
  hsa_shut_down();
  return 0;
}
