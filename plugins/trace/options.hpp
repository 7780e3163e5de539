// The options of the trace tool: the JSON object `config` of its entry in the configuration file.
// docs/guide/trace.md describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loader/text/diagnostics.hpp"
#include "plugins/trace/pattern.hpp"

namespace trace {

struct Options {
  std::string file = "trace-%p.pftrace";  ///< %p is the process id
  std::string summary = "stderr";         ///< stderr, none, or a file
  Patterns functions;
  Patterns agents;
  Patterns kernels;
  bool packets = true;
  bool copies = true;
  bool memory = true;
  bool markers = true;
  uint32_t buffer_kb = 1024;  ///< per thread
  uint32_t flush_ms = 20;

  /// Parses the options. If `diagnostics` has errors afterwards, the result must not be used.
  static Options parse(std::string_view json, rigel::Diagnostics& diagnostics);
};

/// Returns `pattern` with %p replaced by the process id and %% by %.
std::string expand_path(std::string_view pattern, uint64_t process);

}  // namespace trace
