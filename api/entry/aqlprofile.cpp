#include "api/entry/aqlprofile.hpp"

#include <dlfcn.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "api/entry/guarded.hpp"
#include "api/entry/services.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"

namespace rigel::api {
namespace {

// --- The runtime's functions -----------------------------------------------------------------------------

CounterProfiles profiles() {
  return Runtime::current().counter_profiles();
}

uint32_t version_major() {
  return HSA_AQLPROFILE_VERSION_MAJOR;
}

uint32_t version_minor() {
  return HSA_AQLPROFILE_VERSION_MINOR;
}

hsa_status_t error_string(const char** text) {
  if (text == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *text = CounterProfiles::error_string();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t validate_event(hsa_agent_t agent, const hsa_ven_amd_aqlprofile_event_t* event, bool* result) {
  return profiles().validate_event(agent, event, result);
}

hsa_status_t start(hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) {
  return profiles().start(profile, packet);
}

hsa_status_t stop(const hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) {
  return profiles().stop(profile, packet);
}

hsa_status_t read(const hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) {
  return profiles().read(profile, packet);
}

hsa_status_t legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t* packet, void* data) {
  return profiles().legacy_get_pm4(packet, data);
}

hsa_status_t get_info(const hsa_ven_amd_aqlprofile_profile_t* profile,
                      hsa_ven_amd_aqlprofile_info_type_t attribute, void* value) {
  return profiles().get_info(profile, static_cast<uint32_t>(attribute), value);
}

hsa_status_t iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                          hsa_ven_amd_aqlprofile_data_callback_t callback, void* data) {
  return profiles().iterate_data(profile, callback, data);
}

hsa_status_t iterate_event_ids(hsa_ven_amd_aqlprofile_eventname_callback_t callback) {
  return CounterProfiles::iterate_event_ids(callback);
}

hsa_status_t iterate_event_coord(hsa_agent_t agent, hsa_ven_amd_aqlprofile_event_t event, uint32_t sample_id,
                                 hsa_ven_amd_aqlprofile_coordinate_callback_t callback, void* data) {
  return profiles().iterate_event_coord(agent, event, sample_id, callback, data);
}

hsa_status_t att_marker(hsa_ven_amd_aqlprofile_profile_t*, hsa_ext_amd_aql_pm4_packet_t*, uint32_t,
                        hsa_ven_amd_aqlprofile_att_marker_channel_t) {
  return CounterProfiles::att_marker();
}

constexpr hsa_ven_amd_aqlprofile_pfn_t kOwnTable{
    version_major,
    version_minor,
    error_string,
    Guarded<&validate_event>::call,
    Guarded<&start>::call,
    Guarded<&stop>::call,
    Guarded<&read>::call,
    Guarded<&legacy_get_pm4>::call,
    Guarded<&get_info>::call,
    Guarded<&iterate_data>::call,
    Guarded<&iterate_event_ids>::call,
    Guarded<&iterate_event_coord>::call,
    Guarded<&att_marker>::call,
};

// --- AMD's library ---------------------------------------------------------------------------------------

struct Function {
  const char* name;
  size_t offset;  // offset in the table
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

constexpr Extension describe(const hsa_ven_amd_aqlprofile_pfn_t& functions) {
  return {HSA_EXTENSION_AMD_AQLPROFILE,
          hsa_ven_amd_aqlprofile_VERSION_MAJOR,
          0,
          &functions,
          sizeof functions,
          whole_table};
}

constexpr Extension kOwn = describe(kOwnTable);

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

const Extension& find_aqlprofile() {
  const MutexLock lock(mutex);
  if (extension.table != nullptr) return extension;
  void* const library = dlopen(kAqlProfileLib, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return kOwn;
  if (!fill(library, table)) {
    dlclose(library);
    return kOwn;
  }
  extension = describe(table);
  return extension;
}

}  // namespace rigel::api
