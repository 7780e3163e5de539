// Parses any bytes as a manifest: it is rejected with a reason, or satisfies the loader's assumptions.
#include <hsa_backend/hsa_backend.h>

#include <cstdlib>

#include "loader/module/manifest.hpp"
#include "loader/text/diagnostics.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rigel::Diagnostics diagnostics;
  const auto manifest = rigel::parse_manifest({reinterpret_cast<const char*>(data), size}, diagnostics);
  for (const auto& entry : diagnostics.entries()) {
    require(!entry.text.empty() && entry.text.find('\n') == std::string::npos);
  }
  if (diagnostics.has_errors()) return 0;

  require(!manifest.name.empty() && manifest.name.find_first_of(",*? /\n") == std::string::npos);
  require(!manifest.library.empty() && manifest.library.find('\0') == std::string::npos);
  require(!manifest.claims.empty());
  for (const auto& claim : manifest.claims) {
    require(claim.bus >= HSABE_BUS_CPU && claim.bus <= HSABE_BUS_OWN);
    require(manifest.claims_node(claim.bus, claim.first) && manifest.claims_node(claim.bus, claim.last));
  }
  for (const auto key : manifest.config.keys()) {
    manifest.config.integer(key, 0);
    manifest.config.boolean(key, false);
    manifest.config.string(key, "");
    manifest.config.strings(key);
  }
  require(manifest.config.overlaid_by(manifest.config).json() == manifest.config.json());
  return 0;
}
