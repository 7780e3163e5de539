#include "api/entry/aqlprofile.hpp"

#include <dlfcn.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"

namespace rigel::api {
namespace {

struct Function {
  const char* name;
  size_t offset;  // in the table
  bool required;  // required in ROCr 5.2; later versions added more
};

#define RIGEL_FUNCTION(name, required)                                                                      \
  {                                                                                                         \
    "hsa_ven_amd_aqlprofile_" #name, offsetof(hsa_ven_amd_aqlprofile_pfn_t, hsa_ven_amd_aqlprofile_##name), \
        required                                                                                            \
  }
constexpr Function kFunctions[] = {
    RIGEL_FUNCTION(version_major, true),
    RIGEL_FUNCTION(version_minor, true),
    RIGEL_FUNCTION(error_string, true),
    RIGEL_FUNCTION(validate_event, true),
    RIGEL_FUNCTION(start, true),
    RIGEL_FUNCTION(stop, true),
    RIGEL_FUNCTION(read, true),
    RIGEL_FUNCTION(legacy_get_pm4, true),
    RIGEL_FUNCTION(get_info, true),
    RIGEL_FUNCTION(iterate_data, true),
    RIGEL_FUNCTION(iterate_event_ids, false),
    RIGEL_FUNCTION(iterate_event_coord, false),
    RIGEL_FUNCTION(att_marker, false),
};
#undef RIGEL_FUNCTION

size_t whole_table(uint16_t) {
  return sizeof(hsa_ven_amd_aqlprofile_pfn_t);
}

bool fill(void* library, hsa_ven_amd_aqlprofile_pfn_t& table) {
  for (const Function& function : kFunctions) {
    void* const found = dlsym(library, function.name);
    if (found == nullptr && function.required) {
      log_message(LogLevel::kError, LogTopic::kChain, "{}: does not export {}", kAqlProfileLib,
                  function.name);
      return false;
    }
    std::memcpy(reinterpret_cast<std::byte*>(&table) + function.offset, &found, sizeof found);
  }
  const uint32_t major = table.hsa_ven_amd_aqlprofile_version_major();
  if (major == HSA_AQLPROFILE_VERSION_MAJOR) return true;
  log_message(LogLevel::kError, LogTopic::kChain, "{}: version {} is not supported; use version {}",
              kAqlProfileLib, major, HSA_AQLPROFILE_VERSION_MAJOR);
  return false;
}

// Filled once, under the mutex, which is held while the library is loaded and its code runs.
constinit Mutex mutex;
constinit hsa_ven_amd_aqlprofile_pfn_t table{};
constinit Extension extension{};

}  // namespace

void abandon_aqlprofile() noexcept {
  new (&mutex) Mutex;
  const MutexLock lock(mutex);
  extension = {};
}

const Extension* find_aqlprofile() {
  const MutexLock lock(mutex);
  if (extension.table != nullptr) return &extension;
  void* const library = dlopen(kAqlProfileLib, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  if (!fill(library, table)) {
    dlclose(library);
    return nullptr;
  }
  extension = {HSA_EXTENSION_AMD_AQLPROFILE,
               hsa_ven_amd_aqlprofile_VERSION_MAJOR,
               0,
               &table,
               sizeof table,
               whole_table};
  return &extension;
}

}  // namespace rigel::api
