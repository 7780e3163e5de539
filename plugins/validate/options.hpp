// The tool's options in the configuration file (docs/guide/validate.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/diagnostics.hpp"

namespace validate {

struct Options {
  std::vector<bool> applies;    ///< by index of all_rules()
  std::string file;             ///< output file of reports; empty: the log
  std::string callback;         ///< exported function of the program; empty: none
  bool abort = false;           ///< the first report aborts the process
  uint32_t limit = 10;          ///< maximum of reports per rule; 0: unlimited
  uint32_t stack = 8;           ///< frames of recorded call stacks; 0: no recording
  uint32_t stall_seconds = 10;  ///< time without progress after which a wait is reported as endless

  bool has(uint32_t rule_index) const { return applies[rule_index]; }
};

/// Parses a JSON object. The result is invalid if `diagnostics` has errors afterwards.
Options parse_options(std::string_view json, rigel::Diagnostics& diagnostics);

}  // namespace validate
