// The only export of the module.
#include "gfx50.hpp"

namespace gfx50 {
namespace {

const hsabe_backend_t kBackend{sizeof(hsabe_backend_t),
                               HSABE_ABI_MAJOR,
                               HSABE_ABI_MINOR,
                               hsabe::str("gfx50_sample"),
                               hsabe::str("1.0"),
                               hsabe::str(""),
                               HSABE_SANITIZER,
                               0,
                               &kDevice,
                               &kQueue,
                               &kCode,
                               nullptr,  // the runtime manages the memory of an amdkfd device
                               nullptr,
                               0,
                               nullptr,   // no copy engine
                               nullptr,   // no images
                               nullptr};  // no images

}  // namespace
}  // namespace gfx50

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSABE_ABI_MAJOR ? &gfx50::kBackend : nullptr;
}
