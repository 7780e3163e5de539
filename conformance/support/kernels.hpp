// The tests' kernels, loaded for an agent: which code object fits is a matter of the agent's ISA names.
#pragma once

#include <hsa/hsa.h>

#include <functional>
#include <string>
#include <vector>

#include "support/status.hpp"

namespace conformance {

/// The bytes of the tests' code object for the agent; empty if there is none, and `reason` says why. They are
/// looked for in $HSA_CONFORMANCE_KERNELS and beside the program, as conformance_<family>.hsaco.
/// `variant` is added to the family.
std::vector<char> find_code_object(hsa_agent_t agent, std::string& reason, const char* variant = "");

/// What a dispatch needs to know of a kernel.
struct Kernel {
  uint64_t object = 0;
  uint32_t kernarg_size = 0;
  uint32_t kernarg_alignment = 0;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
};

/// An executable with the tests' code object for one agent, frozen.
class KernelSet {
 public:
  KernelSet() = default;
  ~KernelSet();
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  /// Loads and freezes; fails the test if that does. `prepare` gets the executable before anything is loaded.
  void load(hsa_agent_t agent, std::vector<char> code_object,
            const std::function<void(hsa_executable_t)>& prepare = {});

  /// The kernel `name`, whose symbol is `name` with the suffix: none in code objects of version 2.
  Kernel kernel(const std::string& name, const char* suffix = ".kd") const;
  hsa_executable_t executable() const { return executable_; }

 private:
  hsa_agent_t agent_{};
  std::vector<char> code_object_;
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
};

}  // namespace conformance
