// Functions of the registry for hsa_ven_amd_loader.h: loaded code and its addresses, for profilers and
// debuggers.
#include <algorithm>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/executable/executable_registry.hpp"
#include "core/executable/failures.hpp"

namespace rigel {

Status ExecutableRegistry::ven_amd_loader_query_host_address(const void* device_address,
                                                             const void** host_address) {
  if (device_address == nullptr || host_address == nullptr) {
    return null_argument(__func__);
  }
  const auto address = uint64_t{reinterpret_cast<uintptr_t>(device_address)};
  const auto loaded = tables_.ranges.find(address);
  if (!loaded)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {:#x}: not in a loaded code object", address);
  *host_address = loaded->host_address_of(address);
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::ven_amd_loader_query_executable(const void* device_address,
                                                           hsa_executable_t* executable) {
  if (device_address == nullptr || executable == nullptr) {
    return null_argument(__func__);
  }
  const auto address = uint64_t{reinterpret_cast<uintptr_t>(device_address)};
  const auto loaded = tables_.ranges.find(address);
  if (!loaded)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {:#x}: not in a loaded code object", address);
  *executable = loaded->executable();
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::ven_amd_loader_query_segment_descriptors(
    hsa_ven_amd_loader_segment_descriptor_t* descriptors, size_t* count) {
  if (count == nullptr || (*count == 0) != (descriptors == nullptr)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "{}: descriptors and their number must both be zero or both be set", __func__);
  }
  // A consistent state of all: no executable is created, destroyed or changed during the call.
  const std::lock_guard lifecycle_lock(lifecycle_mutex_);
  const auto executables = tables_.executables.all();
  std::vector<std::shared_lock<SharedMutex>> holds;
  holds.reserve(executables.size());
  for (const auto& executable : executables) holds.push_back(executable->hold());
  std::vector<hsa_ven_amd_loader_segment_descriptor_t> segments;
  for (const auto& executable : executables) executable->append_segments(segments);

  if (descriptors == nullptr) {
    *count = segments.size();
    return HSA_STATUS_SUCCESS;
  }
  if (*count != segments.size()) {
    return fail(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                "segment descriptors: the caller passes {}, the runtime has {}", *count, segments.size());
  }
  std::copy(segments.begin(), segments.end(), descriptors);
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::ven_amd_loader_executable_iterate_loaded_code_objects(
    hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*),
    void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const auto found = tables_.executables.find(executable.handle);
  if (!found) return no_executable(executable);
  for (const auto& loaded : found->loaded_code_objects()) {
    const Status status = callback(executable, {loaded->handle}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

Status ExecutableRegistry::ven_amd_loader_loaded_code_object_get_info(
    hsa_loaded_code_object_t loaded, hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) {
  if (value == nullptr) return null_argument(__func__);
  const auto found = tables_.loaded.find(loaded.handle);
  if (!found) return no_such(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "loaded code object", loaded.handle);
  return found->get_info(attribute, value);
}

Status ExecutableRegistry::ven_amd_loader_iterate_executables(hsa_status_t (*callback)(hsa_executable_t,
                                                                                       void*),
                                                              void* data) {
  if (callback == nullptr) return null_argument(__func__);
  const std::lock_guard lock(lifecycle_mutex_);
  for (const auto& executable : tables_.executables.all()) {
    // A callback may have destroyed it.
    if (!tables_.executables.find(executable->handle().handle)) continue;
    if (const Status status = callback(executable->handle(), data); status != HSA_STATUS_SUCCESS)
      return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
