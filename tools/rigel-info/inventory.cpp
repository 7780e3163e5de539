#include "inventory.hpp"

#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace rigel_info {
namespace {

std::string describe(const char* function, hsa_status_t status) {
  const char* text = nullptr;
  if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || text == nullptr) text = "unknown status";
  return std::string(function) + ": " + text;
}

void check(const char* function, hsa_status_t status) {
  if (status != HSA_STATUS_SUCCESS) throw HsaError(function, status);
}

// --- Attributes ------------------------------------------------------------------------------------------

// `get` is an object's query function: (attribute, buffer) -> status.
template <class T, class Get>
std::optional<T> optional(const Get& get, int attribute) {
  T value{};
  if (get(attribute, &value) != HSA_STATUS_SUCCESS) return std::nullopt;
  return value;
}

template <class T, class Get>
T required(const char* function, const Get& get, int attribute) {
  T value{};
  check(function, get(attribute, &value));
  return value;
}

template <size_t kSize, class Get>
std::optional<std::string> optional_text(const Get& get, int attribute) {
  std::array<char, kSize + 1> text{};
  if (get(attribute, text.data()) != HSA_STATUS_SUCCESS) return std::nullopt;
  std::string result(text.data(), strnlen(text.data(), kSize));
  result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

// Returns the items that an iteration function visits.
template <class Item, class Iterate>
std::vector<Item> collect(const char* function, const Iterate& iterate) {
  std::vector<Item> items;
  check(function, iterate(
                      [](Item item, void* data) {
                        static_cast<std::vector<Item>*>(data)->push_back(item);
                        return HSA_STATUS_SUCCESS;
                      },
                      &items));
  return items;
}

// --- Parts -----------------------------------------------------------------------------------------------

Cache describe_cache(hsa_cache_t cache) {
  const auto get = [cache](int attribute, void* value) {
    return hsa_cache_get_info(cache, static_cast<hsa_cache_info_t>(attribute), value);
  };
  const auto name = optional<const char*>(get, HSA_CACHE_INFO_NAME);
  Cache result;
  if (name && *name != nullptr) result.name = *name;
  result.level = optional<uint8_t>(get, HSA_CACHE_INFO_LEVEL).value_or(0);
  result.bytes = optional<uint32_t>(get, HSA_CACHE_INFO_SIZE).value_or(0);
  return result;
}

Pool describe_pool(hsa_amd_memory_pool_t pool) {
  constexpr const char* kFunction = "hsa_amd_memory_pool_get_info";
  const auto get = [pool](int attribute, void* value) {
    return hsa_amd_memory_pool_get_info(pool, static_cast<hsa_amd_memory_pool_info_t>(attribute), value);
  };
  Pool result;
  switch (required<hsa_amd_segment_t>(kFunction, get, HSA_AMD_MEMORY_POOL_INFO_SEGMENT)) {
    case HSA_AMD_SEGMENT_GLOBAL: {
      result.segment = "global";
      const auto flags = required<uint32_t>(kFunction, get, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
      if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) result.flags.emplace_back("fine-grained");
      if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) result.flags.emplace_back("coarse-grained");
      if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED) {
        result.flags.emplace_back("extended-scope fine-grained");
      }
      if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) result.flags.emplace_back("kernarg");
      break;
    }
    case HSA_AMD_SEGMENT_READONLY:
      result.segment = "readonly";
      break;
    case HSA_AMD_SEGMENT_PRIVATE:
      result.segment = "private";
      break;
    case HSA_AMD_SEGMENT_GROUP:
      result.segment = "group";
      break;
  }
  result.bytes = required<size_t>(kFunction, get, HSA_AMD_MEMORY_POOL_INFO_SIZE);
  result.largest_allocation = optional<size_t>(get, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE).value_or(0);
  if (required<bool>(kFunction, get, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)) {
    result.granule = optional<size_t>(get, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE);
    result.alignment = optional<size_t>(get, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT);
  }
  result.accessible_by_all = optional<bool>(get, HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL);
  return result;
}

Isa describe_isa(hsa_isa_t isa) {
  const auto get = [isa](int attribute, void* value) {
    return hsa_isa_get_info_alt(isa, static_cast<hsa_isa_info_t>(attribute), value);
  };
  Isa result;
  // Runtimes disagree on whether the length counts the final NUL.
  std::string name(optional<uint32_t>(get, HSA_ISA_INFO_NAME_LENGTH).value_or(0) + 1, '\0');
  check("hsa_isa_get_info_alt", get(HSA_ISA_INFO_NAME, name.data()));
  result.name = name.c_str();
  uint32_t wavefront = 0;
  hsa_isa_iterate_wavefronts(
      isa,
      [](hsa_wavefront_t first, void* size) {
        hsa_wavefront_get_info(first, HSA_WAVEFRONT_INFO_SIZE, size);
        return HSA_STATUS_INFO_BREAK;
      },
      &wavefront);
  if (wavefront != 0) result.wavefront_size = wavefront;
  result.workgroup_max_size = optional<uint32_t>(get, HSA_ISA_INFO_WORKGROUP_MAX_SIZE);
  result.grid_max_size = optional<uint64_t>(get, HSA_ISA_INFO_GRID_MAX_SIZE);
  return result;
}

std::string type_of(hsa_device_type_t type) {
  switch (type) {
    case HSA_DEVICE_TYPE_CPU:
      return "CPU";
    case HSA_DEVICE_TYPE_GPU:
      return "GPU";
    case HSA_DEVICE_TYPE_DSP:
      return "DSP";
    case HSA_DEVICE_TYPE_AIE:
      return "AIE";
  }
  return "device of type " + std::to_string(static_cast<int>(type));
}

Agent describe_agent(hsa_agent_t agent) {
  constexpr const char* kFunction = "hsa_agent_get_info";
  const auto get = [agent](int attribute, void* value) {
    return hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), value);
  };
  Agent result;
  result.name = optional_text<64>(get, HSA_AGENT_INFO_NAME).value_or("");
  result.vendor = optional_text<64>(get, HSA_AGENT_INFO_VENDOR_NAME).value_or("");
  result.product = optional_text<64>(get, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  result.uuid = optional_text<21>(get, HSA_AMD_AGENT_INFO_UUID);
  result.type = type_of(required<hsa_device_type_t>(kFunction, get, HSA_AGENT_INFO_DEVICE));
  const auto features = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_FEATURE);
  const bool dispatches = (features & HSA_AGENT_FEATURE_KERNEL_DISPATCH) != 0;
  if (dispatches) result.features.emplace_back("kernel dispatch");
  if (features & HSA_AGENT_FEATURE_AGENT_DISPATCH) result.features.emplace_back("agent dispatch");
  result.profile =
      required<hsa_profile_t>(kFunction, get, HSA_AGENT_INFO_PROFILE) == HSA_PROFILE_FULL ? "full" : "base";
  result.node = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_NODE);
  result.compute_units = optional<uint32_t>(get, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  result.max_clock_mhz = optional<uint32_t>(get, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
  result.chip_id = optional<uint32_t>(get, HSA_AMD_AGENT_INFO_CHIP_ID);
  result.cacheline_bytes = optional<uint32_t>(get, HSA_AMD_AGENT_INFO_CACHELINE_SIZE);
  result.memory_available = optional<uint64_t>(get, HSA_AMD_AGENT_INFO_MEMORY_AVAIL);
  result.queues_max = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_QUEUES_MAX);
  result.queue_min_packets = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_QUEUE_MIN_SIZE);
  result.queue_max_packets = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_QUEUE_MAX_SIZE);
  if (dispatches) {
    result.workgroup_max_size = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
    result.wavefront_size = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_WAVEFRONT_SIZE);
    result.fbarriers = required<uint32_t>(kFunction, get, HSA_AGENT_INFO_FBARRIER_MAX_SIZE);
  }
  for (const hsa_isa_t isa : collect<hsa_isa_t>("hsa_agent_iterate_isas", [agent](auto callback, void*data) {
         return hsa_agent_iterate_isas(agent, callback, data);
       })) {
    result.isas.push_back(describe_isa(isa));
  }
  for (const hsa_cache_t cache : collect<hsa_cache_t>(
           "hsa_agent_iterate_caches",
           [agent](auto callback, void*data) { return hsa_agent_iterate_caches(agent, callback, data); })) {
    result.caches.push_back(describe_cache(cache));
  }
  for (const hsa_amd_memory_pool_t pool : collect<hsa_amd_memory_pool_t>(
           "hsa_amd_agent_iterate_memory_pools", [agent](auto callback, void*data) {
             return hsa_amd_agent_iterate_memory_pools(agent, callback, data);
           })) {
    result.pools.push_back(describe_pool(pool));
  }
  return result;
}

std::vector<std::string> supported_extensions() {
  constexpr uint16_t kKnown[] = {HSA_EXTENSION_FINALIZER,      HSA_EXTENSION_IMAGES,
                                 HSA_EXTENSION_AMD_PROFILER,   HSA_EXTENSION_AMD_LOADER,
                                 HSA_EXTENSION_AMD_AQLPROFILE, HSA_EXTENSION_AMD_PC_SAMPLING,
                                 HSA_EXTENSION_RIGEL_REPORT};
  std::vector<std::string> result;
  for (const uint16_t extension : kKnown) {
    bool supported = false;
    uint16_t minor = 0;
    if (hsa_system_major_extension_supported(extension, 1, &minor, &supported) != HSA_STATUS_SUCCESS ||
        !supported) {
      continue;
    }
    const char* name = nullptr;
    if (hsa_extension_get_name(extension, &name) != HSA_STATUS_SUCCESS) continue;
    result.push_back(std::string(name) + " 1." + std::to_string(minor));
  }
  return result;
}

std::string library_path() {
  Dl_info info{};
  if (dladdr(dlsym(RTLD_DEFAULT, "hsa_init"), &info) == 0 || info.dli_fname == nullptr)
    return "libhsa-runtime64";
  const std::unique_ptr<char, void (*)(void*)> real(realpath(info.dli_fname, nullptr), std::free);
  return real ? real.get() : info.dli_fname;
}

}  // namespace

HsaError::HsaError(const char* function, hsa_status_t status)
    : std::runtime_error(describe(function, status)) {}

Inventory take_inventory() {
  const auto get = [](int attribute, void* value) {
    return hsa_system_get_info(static_cast<hsa_system_info_t>(attribute), value);
  };
  const auto version = [&get](int major_attribute, int minor_attribute) -> std::optional<std::string> {
    const auto major = optional<uint16_t>(get, major_attribute);
    const auto minor = optional<uint16_t>(get, minor_attribute);
    if (!major || !minor) return std::nullopt;
    return std::to_string(*major) + "." + std::to_string(*minor);
  };
  Inventory result;
  result.library = library_path();
  if (const auto build = optional<const char*>(get, HSA_AMD_SYSTEM_INFO_BUILD_VERSION);
      build && *build != nullptr) {
    result.build = *build;
  }
  result.hsa_version =
      version(HSA_SYSTEM_INFO_VERSION_MAJOR, HSA_SYSTEM_INFO_VERSION_MINOR).value_or("unknown");
  result.amd_version = version(HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR, HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR);
  result.timestamp_hz = required<uint64_t>("hsa_system_get_info", get, HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY);
  result.extensions = supported_extensions();
  for (const hsa_agent_t agent : collect<hsa_agent_t>("hsa_iterate_agents", [](auto callback, void*data) {
         return hsa_iterate_agents(callback, data);
       })) {
    result.agents.push_back(describe_agent(agent));
  }
  return result;
}

namespace {

// Unsupported functions are null, and all are on another runtime.
hsa_ven_rigel_report_1_pfn_t report_functions() {
  hsa_ven_rigel_report_1_pfn_t table{};
  if (hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof table, &table) !=
      HSA_STATUS_SUCCESS) {
    table = {};
  }
  return table;
}

Tool describe_tool(const hsa_ven_rigel_tool_t& tool) {
  Tool result;
  switch (tool.state) {
    case HSA_VEN_RIGEL_TOOL_LOADED:
      result.state = "loaded";
      break;
    case HSA_VEN_RIGEL_TOOL_FAILED:
      result.state = "failed";
      break;
    case HSA_VEN_RIGEL_TOOL_DISABLED:
      result.state = "disabled";
      break;
    default:
      result.state = "installed";
  }
  result.name = tool.name;
  result.version = tool.version;
  result.library = tool.library;
  result.abi = tool.abi;
  result.named_by = tool.named_by;
  result.reason = tool.reason;
  result.functions.assign(tool.functions, tool.functions + tool.function_count);
  result.packets = tool.packets != 0;
  if (tool.activities & HSA_VEN_RIGEL_TOOL_KERNELS) result.activities.emplace_back("kernels");
  if (tool.activities & HSA_VEN_RIGEL_TOOL_BARRIERS) result.activities.emplace_back("barriers");
  if (tool.activities & HSA_VEN_RIGEL_TOOL_COPIES) result.activities.emplace_back("copies");
  return result;
}

}  // namespace

std::optional<std::vector<Tool>> known_tools() {
  const auto table = report_functions();
  if (table.hsa_ven_rigel_iterate_tools == nullptr) return std::nullopt;
  std::vector<Tool> tools;
  check("hsa_ven_rigel_iterate_tools",
        table.hsa_ven_rigel_iterate_tools(
            [](const hsa_ven_rigel_tool_t* tool, void* data) {
              static_cast<std::vector<Tool>*>(data)->push_back(describe_tool(*tool));
              return HSA_STATUS_SUCCESS;
            },
            &tools));
  return tools;
}

std::optional<std::string> discovery_report(bool json) {
  const auto table = report_functions();
  if (table.hsa_ven_rigel_discovery_report == nullptr) return std::nullopt;
  std::string report;
  check("hsa_ven_rigel_discovery_report", table.hsa_ven_rigel_discovery_report(
                                              json ? HSA_VEN_RIGEL_REPORT_JSON : HSA_VEN_RIGEL_REPORT_TEXT,
                                              [](const char* text, size_t size, void* data) {
                                                static_cast<std::string*>(data)->assign(text, size);
                                                return HSA_STATUS_SUCCESS;
                                              },
                                              &report));
  return report;
}

}  // namespace rigel_info
