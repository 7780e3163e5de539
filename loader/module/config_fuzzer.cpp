// Parses any bytes as a configuration file: it is rejected with a reason, or satisfies the loader's
// assumptions.
#include <cstdlib>

#include "loader/module/config.hpp"
#include "loader/text/diagnostics.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rigel::Diagnostics diagnostics;
  const auto config = rigel::parse_config({reinterpret_cast<const char*>(data), size}, diagnostics);
  for (const auto& entry : diagnostics.entries()) {
    require(!entry.text.empty() && entry.text.find('\n') == std::string::npos);
  }
  if (diagnostics.has_errors()) return 0;

  require(!config.driver || !config.driver->library.empty());
  for (const auto& backend : config.backends.options) {
    require(backend.name != "disable" && backend.name != "required");
    require(config.backends.options_of(backend.name).json() == backend.options.json());
  }
  for (const auto& plugin : config.plugins) {
    require(!plugin.name.empty() && !plugin.library.empty());
    require(plugin.config.json().starts_with('{'));
  }
  return 0;
}
