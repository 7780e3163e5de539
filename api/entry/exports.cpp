// The exported functions: each jumps through its slot of the current API table.
#include "api/entry/tables.hpp"

#define RIGEL_EXPORT extern "C" __attribute__((visibility("default")))

#define RIGEL_API(table, result, name, parameters, arguments)                                   \
  RIGEL_EXPORT result name parameters {                                                         \
    return rigel::api::load_slot(                                                               \
        rigel::api::current_tables.load(std::memory_order_acquire)->table.name##_fn) arguments; \
  }
#define RIGEL_API_ALIAS(target, result, name, parameters, arguments) \
  RIGEL_EXPORT result name parameters __attribute__((alias(#target)));
#include "api/entry/functions.inc"

// Without a slot in ROCr's tables too, so the closed runtime is told apart here.
RIGEL_EXPORT hsa_status_t hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute,
                                                         void* value) {
  if (!rigel::api::is_open()) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  return rigel::api::hsa_amd_image_get_info_max_dim(agent, attribute, value);
}
