// Initialisation, system attributes, and extensions.
#include <algorithm>
#include <cstring>

#include "api/entry/aqlprofile.hpp"
#include "api/entry/extensions.hpp"
#include "api/entry/tables.hpp"
#include "api/entry/tool_events.hpp"
#include "api/entry/tools.hpp"
#include "api/support/clock.hpp"
#include "api/support/query.hpp"
#include "api/support/undo.hpp"
#include "core/runtime/runtime.hpp"

#include "rigel_version.h"

namespace rigel::api {
namespace {

constexpr uint16_t kSpecificationMajor = 1;
constexpr uint16_t kSpecificationMinor = 1;

// Tools may call the API while they are loaded and unloaded.
Status open_gate(Runtime& runtime) {
  ApiTables& tables = prepare_open_tables();
  publish_open_tables();
  Undo unload(unload_tools);
  const Status status = load_tools(tables, runtime);
  unload.cancel();
  return status;
}

void abandon_gate() {
  publish_closed_tables();
  abandon_tools();
  abandon_aqlprofile();
}

constexpr ApiGate kGate{.open = open_gate,
                        .leave = unload_tools,
                        .close = publish_closed_tables,
                        .abandon = abandon_gate,
                        .notify_scratch = tell_scratch};

}  // namespace

hsa_status_t hsa_init() {
  return Runtime::acquire(kGate);
}

hsa_status_t hsa_shut_down() {
  return Runtime::release();
}

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void* value) {
  if (value == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_system_get_info: value is NULL");
  switch (static_cast<uint32_t>(attribute)) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
      return answer(value, kSpecificationMajor);
    case HSA_SYSTEM_INFO_VERSION_MINOR:
      return answer(value, kSpecificationMinor);
    case HSA_SYSTEM_INFO_TIMESTAMP:
      return answer(value, system_time_ns());
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
      return answer(value, kSystemClockHz);
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
      return answer(value, UINT64_MAX);
    case HSA_SYSTEM_INFO_ENDIANNESS:
      return answer(value, HSA_ENDIANNESS_LITTLE);
    case HSA_SYSTEM_INFO_MACHINE_MODEL:
      return answer(value, HSA_MACHINE_MODEL_LARGE);
    case HSA_SYSTEM_INFO_EXTENSIONS:
      return answer(value, extension_mask([](const Extension&) { return true; }));
    case HSA_AMD_SYSTEM_INFO_BUILD_VERSION:
      return answer(value, static_cast<const char*>("rigel " RIGEL_VERSION));
    // For GPUs. CPU agents share all memory.
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED: {
      const KfdSvm* const svm = Runtime::current().svm();
      return answer(value, svm != nullptr && svm->complete());
    }
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT: {
      const KfdSvm* const svm = Runtime::current().svm();
      return answer(value, svm != nullptr && svm->accessible_by_default());
    }
    case HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED:
      return answer(value, false);
    case HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED: {
      Gpus* const gpus = Runtime::current().gpus();
      return answer(value, gpus != nullptr && gpus->kfd().exports_dmabufs());
    }
    case HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED: {  // for memory of GPUs
      Gpus* const gpus = Runtime::current().gpus();
      return answer(value, gpus != nullptr && gpus->kfd().manages_virtual_memory());
    }
    case HSA_AMD_SYSTEM_INFO_XNACK_ENABLED: {
      Gpus* const gpus = Runtime::current().gpus();
      return answer(value, gpus != nullptr && gpus->xnack_enabled());
    }
    case HSA_AMD_SYSTEM_INFO_FABRIC_HANDLES_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_HOST_ALLOC_DMA_BUF_SUPPORTED:
      return answer(value, false);
    case HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR:
      return answer(value, uint16_t{HSA_AMD_INTERFACE_VERSION_MAJOR});
    case HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR:
      return answer(value, uint16_t{HSA_AMD_INTERFACE_VERSION_MINOR});
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_system_get_info: unknown attribute {:#x}",
              static_cast<uint32_t>(attribute));
}

hsa_status_t hsa_extension_get_name(uint16_t extension, const char** name) {
  if (name == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *name = extension_name(extension);
  return *name == nullptr ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t version_major,
                                            uint16_t version_minor, bool* result) {
  if (result == nullptr || extension_name(extension) == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const Extension* found = find_extension(extension);
  *result = found != nullptr && found->major == version_major && found->minor >= version_minor;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_major_extension_supported(uint16_t extension, uint16_t version_major,
                                                  uint16_t* version_minor, bool* result) {
  if (result == nullptr || version_minor == nullptr || extension_name(extension) == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const Extension* found = find_extension(extension);
  *result = found != nullptr && found->major == version_major;
  if (*result) *version_minor = found->minor;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
                                                  size_t table_length, void* table) {
  const Extension* found = find_extension(extension);
  if (table == nullptr || table_length == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (found == nullptr || found->major != version_major) {
    return fail(HSA_STATUS_ERROR, "extension {:#x}: major version {} is not supported", extension,
                version_major);
  }
  std::memcpy(table, found->table, std::min<size_t>(table_length, found->table_size));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_extension_table(uint16_t extension, uint16_t version_major,
                                            uint16_t version_minor, void* table) {
  const Extension* found = find_extension(extension);
  if (table == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (found == nullptr || found->major != version_major || found->minor < version_minor) {
    return fail(HSA_STATUS_ERROR, "extension {:#x}: version {}.{} is not supported", extension, version_major,
                version_minor);
  }
  // The caller's buffer has the size of the requested version's table.
  std::memcpy(table, found->table, found->size_of_minor(version_minor));
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::api
