// The tests' kernels, loaded for an agent. The agent's ISA names select the code object.
#pragma once

#include <hsa/hsa.h>

#include <functional>
#include <string>
#include <vector>

#include "support/status.hpp"

namespace conformance {

/// Reads the tests' code object for the agent, conformance_<family><variant>.hsaco, from
/// $HSA_CONFORMANCE_KERNELS or the program's directory. If there is none, returns nothing and sets `reason`.
std::vector<char> find_code_object(hsa_agent_t agent, std::string& reason, const char* variant = "");

/// The properties of a kernel that a dispatch packet needs.
struct Kernel {
  uint64_t object = 0;
  uint32_t kernarg_size = 0;
  uint32_t kernarg_alignment = 0;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
};

/// A frozen executable with the tests' code object for one agent.
class KernelSet {
 public:
  KernelSet() = default;
  ~KernelSet();
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  /// Loads and freezes the executable. Fails the test on errors. Calls `prepare` before anything is loaded.
  void load(hsa_agent_t agent, std::vector<char> code_object,
            const std::function<void(hsa_executable_t)>& prepare = {});

  /// Returns kernel `name`, whose symbol is `name` plus `suffix`. Code objects of version 2 use no suffix.
  Kernel kernel(const std::string& name, const char* suffix = ".kd") const;
  hsa_executable_t executable() const { return executable_; }

 private:
  hsa_agent_t agent_{};
  std::vector<char> code_object_;
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
};

}  // namespace conformance
