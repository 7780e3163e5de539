// Replaces AMD's libhsa-amd-aqlprofile64.so: the functions of every version.
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <utility>

extern "C" {
void (*rigel_test_when_asked)() = nullptr;  // called once

uint32_t hsa_ven_amd_aqlprofile_version_major() {
  if (auto* const call = std::exchange(rigel_test_when_asked, nullptr)) call();
  return HSA_AQLPROFILE_VERSION_MAJOR;
}
uint32_t hsa_ven_amd_aqlprofile_version_minor() {
  return 0;
}
hsa_status_t hsa_ven_amd_aqlprofile_error_string(const char** text) {
  *text = "of the stand-in";
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_ven_amd_aqlprofile_validate_event(hsa_agent_t, const hsa_ven_amd_aqlprofile_event_t*,
                                                   bool*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_start(hsa_ven_amd_aqlprofile_profile_t*, hsa_ext_amd_aql_pm4_packet_t*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_stop(const hsa_ven_amd_aqlprofile_profile_t*,
                                         hsa_ext_amd_aql_pm4_packet_t*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_read(const hsa_ven_amd_aqlprofile_profile_t*,
                                         hsa_ext_amd_aql_pm4_packet_t*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t*, void*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_get_info(const hsa_ven_amd_aqlprofile_profile_t*,
                                             hsa_ven_amd_aqlprofile_info_type_t, void*) {
  return HSA_STATUS_ERROR;
}
hsa_status_t hsa_ven_amd_aqlprofile_iterate_data(const hsa_ven_amd_aqlprofile_profile_t*,
                                                 hsa_ven_amd_aqlprofile_data_callback_t, void*) {
  return HSA_STATUS_ERROR;
}
}
