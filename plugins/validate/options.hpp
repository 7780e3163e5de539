// What the configuration may say of this tool (docs/guide/validate.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/diagnostics.hpp"

namespace validate {

struct Options {
  std::vector<bool> applies;    ///< by index of all_rules()
  std::string file;             ///< reports go there and not to the log; empty: the log
  std::string callback;         ///< an exported function of the program; empty: none
  bool abort = false;           ///< the process ends with the first report
  uint32_t limit = 10;          ///< reports of one rule; 0: as many as there are
  uint32_t stack = 8;           ///< frames of where something was made; 0: none are taken
  uint32_t stall_seconds = 10;  ///< how long nothing has happened before a wait is said to be endless

  bool has(uint32_t rule_index) const { return applies[rule_index]; }
};

/// From a JSON object. If `diagnostics` has errors afterwards, they are not to be used.
Options parse_options(std::string_view json, rigel::Diagnostics& diagnostics);

}  // namespace validate
