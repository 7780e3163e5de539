// Profiles of performance counters (hsa_ven_amd_aqlprofile.h) for devices whose backend provides counters.
//
// Each function implements the API function of the same name with its checks of arguments. Its last failure
// is explained by `error_string`. Profiles have no state here: the positions of commands in the command
// buffer are computed from the profile each time.
//
// *Threads:* any; calls for one profile must not overlap.
#pragma once

#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstdint>
#include <vector>

#include "api/support/status.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

class CounterProfiles {
 public:
  explicit CounterProfiles(const Machine& machine) : machine_(machine) {}

  Status validate_event(hsa_agent_t agent, const hsa_ven_amd_aqlprofile_event_t* event, bool* result) const;
  Status start(hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) const;
  Status stop(const hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) const;
  Status read(const hsa_ven_amd_aqlprofile_profile_t* profile, hsa_ext_amd_aql_pm4_packet_t* packet) const;
  Status legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t* packet, void* data) const;
  Status get_info(const hsa_ven_amd_aqlprofile_profile_t* profile, uint32_t attribute, void* value) const;
  Status iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                      hsa_ven_amd_aqlprofile_data_callback_t callback, void* data) const;
  Status iterate_event_coord(hsa_agent_t agent, const hsa_ven_amd_aqlprofile_event_t& event,
                             uint32_t sample_id, hsa_ven_amd_aqlprofile_coordinate_callback_t callback,
                             void* data) const;
  static Status iterate_event_ids(hsa_ven_amd_aqlprofile_eventname_callback_t callback);
  /// Thread traces are not supported.
  static Status att_marker();
  /// Returns the reason of the last failure on this thread, or an empty string.
  static const char* error_string();

 private:
  struct Layout;  // of a profile's buffers

  Result<const Agent*> find_device(hsa_agent_t agent) const;
  Result<Layout> lay_out(const hsa_ven_amd_aqlprofile_profile_t* profile) const;
  Status make_packet(const hsa_ven_amd_aqlprofile_profile_t* profile, uint32_t action,
                     hsa_ext_amd_aql_pm4_packet_t* packet) const;
  Status queue_command(const hsa_ven_amd_aqlprofile_profile_t& profile, uint32_t action, void* packet) const;

  const Machine& machine_;
};

}  // namespace rigel
