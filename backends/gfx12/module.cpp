// The module's one export.
#include "backends/common/backend_table.hpp"
#include "backends/gfx12/chips.hpp"

namespace rigel::gfx12 {
namespace {

constinit const hsabe_backend_t kBackend = gfx::BackendTable<kFamily>::make("gfx12");

}  // namespace
}  // namespace rigel::gfx12

HSABE_EXPORT const hsabe_backend_t* hsa_backend_query_v1(uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSABE_ABI_MAJOR ? &rigel::gfx12::kBackend : nullptr;
}
