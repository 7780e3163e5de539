#include "api/entry/extensions.hpp"

#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>

#include "api/entry/aqlprofile.hpp"
#include "api/entry/guarded.hpp"
#include "api/entry/tools.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

// --- Loader ----------------------------------------------------------------------------------------------

hsa_status_t query_host_address(const void* device_address, const void** host_address) {
  return Runtime::current().executables().ven_amd_loader_query_host_address(device_address, host_address);
}

hsa_status_t query_segment_descriptors(hsa_ven_amd_loader_segment_descriptor_t* descriptors, size_t* count) {
  return Runtime::current().executables().ven_amd_loader_query_segment_descriptors(descriptors, count);
}

hsa_status_t query_executable(const void* device_address, hsa_executable_t* executable) {
  return Runtime::current().executables().ven_amd_loader_query_executable(device_address, executable);
}

hsa_status_t iterate_loaded_code_objects(hsa_executable_t executable,
                                         hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t,
                                                                  void*),
                                         void* data) {
  return Runtime::current().executables().ven_amd_loader_executable_iterate_loaded_code_objects(
      executable, callback, data);
}

hsa_status_t loaded_code_object_info(hsa_loaded_code_object_t object,
                                     hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) {
  return Runtime::current().executables().ven_amd_loader_loaded_code_object_get_info(object, attribute,
                                                                                     value);
}

hsa_status_t reader_from_part_of_file(hsa_file_t file, size_t offset, size_t size,
                                      hsa_code_object_reader_t* reader) {
  return Runtime::current().executables().ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
      file, offset, size, reader);
}

hsa_status_t iterate_executables(hsa_status_t (*callback)(hsa_executable_t, void*), void* data) {
  return Runtime::current().executables().ven_amd_loader_iterate_executables(callback, data);
}

constexpr hsa_ven_amd_loader_1_03_pfn_t kLoader{
    Guarded<&query_host_address>::call,      Guarded<&query_segment_descriptors>::call,
    Guarded<&query_executable>::call,        Guarded<&iterate_loaded_code_objects>::call,
    Guarded<&loaded_code_object_info>::call, Guarded<&reader_from_part_of_file>::call,
    Guarded<&iterate_executables>::call,
};

size_t loader_table_size(uint16_t minor) {
  switch (minor) {
    case 0:
      return sizeof(hsa_ven_amd_loader_1_00_pfn_t);
    case 1:
      return sizeof(hsa_ven_amd_loader_1_01_pfn_t);
    case 2:
      return sizeof(hsa_ven_amd_loader_1_02_pfn_t);
    default:
      return sizeof(hsa_ven_amd_loader_1_03_pfn_t);
  }
}

// --- Discovery report ------------------------------------------------------------------------------------

hsa_status_t discovery_report(hsa_ven_rigel_report_format_t format,
                              hsa_status_t (*callback)(const char*, size_t, void*), void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const DiscoveryReport& report = Runtime::current().report();
  std::string text;
  switch (static_cast<uint32_t>(format)) {
    case HSA_VEN_RIGEL_REPORT_TEXT:
      text = report.to_text();
      break;
    case HSA_VEN_RIGEL_REPORT_JSON:
      text = report.to_json();
      break;
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return callback(text.c_str(), text.size(), data);
}

hsa_status_t tools(hsa_status_t (*callback)(const hsa_ven_rigel_tool_t*, void*), void* data) {
  if (callback == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return iterate_tools(Runtime::current(), callback, data);
}

constexpr hsa_ven_rigel_report_1_pfn_t kReport{Guarded<&discovery_report>::call, Guarded<&tools>::call};

size_t report_table_size(uint16_t minor) {
  return minor == 0 ? offsetof(hsa_ven_rigel_report_1_pfn_t, hsa_ven_rigel_iterate_tools) : sizeof kReport;
}

// --- PC sampling -----------------------------------------------------------------------------------------

// The exported functions, as for images.
constexpr hsa_ven_amd_pc_sampling_1_00_pfn_t kSampling{
    ::hsa_ven_amd_pcs_iterate_configuration,
    ::hsa_ven_amd_pcs_create,
    ::hsa_ven_amd_pcs_create_from_id,
    ::hsa_ven_amd_pcs_destroy,
    ::hsa_ven_amd_pcs_start,
    ::hsa_ven_amd_pcs_stop,
    ::hsa_ven_amd_pcs_flush,
};

size_t sampling_table_size(uint16_t) {
  return sizeof kSampling;
}

// --- Images ----------------------------------------------------------------------------------------------

// The exported functions, so that tools observe these calls too.
constexpr hsa_ext_images_1_pfn_t kImages{
    ::hsa_ext_image_get_capability,
    ::hsa_ext_image_data_get_info,
    ::hsa_ext_image_create,
    ::hsa_ext_image_destroy,
    ::hsa_ext_image_copy,
    ::hsa_ext_image_import,
    ::hsa_ext_image_export,
    ::hsa_ext_image_clear,
    ::hsa_ext_sampler_create,
    ::hsa_ext_sampler_destroy,
    ::hsa_ext_image_get_capability_with_layout,
    ::hsa_ext_image_data_get_info_with_layout,
    ::hsa_ext_image_create_with_layout,
    ::hsa_ext_sampler_create_v2,
};

size_t image_table_size(uint16_t) {
  return sizeof(hsa_ext_images_1_00_pfn_t);
}

constexpr Extension kSupported[] = {
    {HSA_EXTENSION_IMAGES, 1, 0, &kImages, sizeof kImages, image_table_size},
    {HSA_EXTENSION_AMD_LOADER, 1, 3, &kLoader, sizeof kLoader, loader_table_size},
    {HSA_EXTENSION_AMD_PC_SAMPLING, 1, 0, &kSampling, sizeof kSampling, sampling_table_size},
    {HSA_EXTENSION_RIGEL_REPORT, 1, 1, &kReport, sizeof kReport, report_table_size},
};

}  // namespace

ExtensionMask extension_mask(const std::function<bool(const Extension&)>& has) {
  ExtensionMask mask;
  const auto add = [&](const Extension& extension) {
    if (extension.number / 8 >= sizeof mask.bytes || !has(extension)) return;
    mask.bytes[extension.number / 8] |= static_cast<uint8_t>(1u << extension.number % 8);
  };
  for (const Extension& extension : kSupported) add(extension);
  add(find_aqlprofile());
  return mask;
}

const Extension* find_extension(uint16_t number) {
  if (number == HSA_EXTENSION_AMD_AQLPROFILE) return &find_aqlprofile();
  for (const Extension& extension : kSupported) {
    if (extension.number == number) return &extension;
  }
  return nullptr;
}

const char* extension_name(uint16_t number) {
  switch (number) {
    case HSA_EXTENSION_FINALIZER:
      return "HSA_EXTENSION_FINALIZER";
    case HSA_EXTENSION_IMAGES:
      return "HSA_EXTENSION_IMAGES";
    case HSA_EXTENSION_PERFORMANCE_COUNTERS:
      return "HSA_EXTENSION_PERFORMANCE_COUNTERS";
    case HSA_EXTENSION_PROFILING_EVENTS:
      return "HSA_EXTENSION_PROFILING_EVENTS";
    case HSA_EXTENSION_AMD_PROFILER:
      return "HSA_EXTENSION_AMD_PROFILER";
    case HSA_EXTENSION_AMD_LOADER:
      return "HSA_EXTENSION_AMD_LOADER";
    case HSA_EXTENSION_AMD_AQLPROFILE:
      return "HSA_EXTENSION_AMD_AQLPROFILE";
    case HSA_EXTENSION_AMD_PC_SAMPLING:
      return "HSA_EXTENSION_AMD_PC_SAMPLING";
    case HSA_EXTENSION_RIGEL_REPORT:
      return "HSA_EXTENSION_RIGEL_REPORT";
    default:
      return nullptr;
  }
}

}  // namespace rigel::api
