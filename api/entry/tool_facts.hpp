// Result of loading a tool, for hsa_ven_rigel_report.h.
#pragma once

#include <hsa_rigel/hsa_ven_rigel_report.h>

#include <string>
#include <vector>

namespace rigel::api {

struct ToolFacts {
  hsa_ven_rigel_tool_state_t state = HSA_VEN_RIGEL_TOOL_FAILED;
  std::string name = {};
  std::string version = {};
  std::string library = {};
  std::string abi = {};
  std::string named_by = {};
  std::string reason = {};
  std::vector<const char*> functions = {};  ///< names, valid until the process ends
  bool packets = false;
  uint32_t activities = 0;  ///< HSA_VEN_RIGEL_TOOL_ bits
};

}  // namespace rigel::api
