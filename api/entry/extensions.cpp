#include "api/entry/extensions.hpp"

#include <hsa/hsa_ven_amd_loader.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>

#include "api/entry/fence.hpp"
#include "api/entry/tables.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

// A table's functions outlive hsa_shut_down in the hands of the caller, so each looks whether it may run.
template <auto kFunction, class Type = decltype(kFunction)>
struct Guarded;

template <auto kFunction, class... Args>
struct Guarded<kFunction, hsa_status_t (*)(Args...)> {
  static hsa_status_t call(Args... args) {
    return is_open() ? Fenced<kFunction>::call(args...) : HSA_STATUS_ERROR_NOT_INITIALIZED;
  }
};

// --- Loader ----------------------------------------------------------------------------------------------

// --- Discovery report ------------------------------------------------------------------------------------

hsa_status_t discovery_report(hsa_ven_rigel_report_format_t format,
                              hsa_status_t (*callback)(const char*, size_t, void*), void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const DiscoveryReport& report = Runtime::current().report();
  std::string text;
  switch (static_cast<uint32_t>(format)) {
    case HSA_VEN_RIGEL_REPORT_TEXT: text = report.to_text(); break;
    case HSA_VEN_RIGEL_REPORT_JSON: text = report.to_json(); break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return callback(text.c_str(), text.size(), data);
}

constexpr hsa_ven_rigel_report_1_pfn_t kReport{Guarded<&discovery_report>::call};

constexpr Extension kSupported[] = {
    {HSA_EXTENSION_RIGEL_REPORT, 1, 0, &kReport, sizeof kReport, [](uint16_t) { return sizeof kReport; }},
};

}  // namespace

std::span<const Extension> supported_extensions() { return kSupported; }

const Extension* find_extension(uint16_t number) {
  for (const Extension& extension : kSupported) {
    if (extension.number == number) return &extension;
  }
  return nullptr;
}

const char* extension_name(uint16_t number) {
  switch (number) {
    case HSA_EXTENSION_FINALIZER: return "HSA_EXTENSION_FINALIZER";
    case HSA_EXTENSION_IMAGES: return "HSA_EXTENSION_IMAGES";
    case HSA_EXTENSION_PERFORMANCE_COUNTERS: return "HSA_EXTENSION_PERFORMANCE_COUNTERS";
    case HSA_EXTENSION_PROFILING_EVENTS: return "HSA_EXTENSION_PROFILING_EVENTS";
    case HSA_EXTENSION_AMD_PROFILER: return "HSA_EXTENSION_AMD_PROFILER";
    case HSA_EXTENSION_AMD_LOADER: return "HSA_EXTENSION_AMD_LOADER";
    case HSA_EXTENSION_AMD_AQLPROFILE: return "HSA_EXTENSION_AMD_AQLPROFILE";
    case HSA_EXTENSION_AMD_PC_SAMPLING: return "HSA_EXTENSION_AMD_PC_SAMPLING";
    case HSA_EXTENSION_RIGEL_REPORT: return "HSA_EXTENSION_RIGEL_REPORT";
    default: return nullptr;
  }
}

}  // namespace rigel::api
