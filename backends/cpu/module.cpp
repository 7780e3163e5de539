// The module's one export.
#include "backends/cpu/backend.hpp"

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSABE_ABI_MAJOR ? &rigel::cpu::kBackend : nullptr;
}
