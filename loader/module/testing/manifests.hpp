// Manifests for tests.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace rigel {

constexpr std::string_view kClaimsGfx9 = R"({"bus": "kfd", "gfx_min": "9.0.0", "gfx_max": "9.0.12"})";

/// Returns a manifest; `more` is additional members of `backend`, each preceded by a comma.
inline std::string manifest_text(std::string_view name, std::string_view library = "lib.so",
                                 std::string_view more = "", std::string_view claims = kClaimsGfx9) {
  return fmt::format(
      R"({{"manifest_version": "1.0", "backend": {{"name": "{}", "library": "{}", "abi": {{"major": 1}}, )"
      R"("claims": [{}]{}}}}})",
      name, library, claims, more);
}

}  // namespace rigel
