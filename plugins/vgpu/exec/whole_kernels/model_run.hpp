// Runs a kernel on the reference model (reference/dispatch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"
#include "plugins/vgpu/reference/dispatch_run.hpp"

namespace rigel::vgpu::exec::whole {

struct ModelRun {
  std::string failure;  ///< Why the kernel did not complete: an instruction that is not modelled, or a fault.
  /// The manuals allow several results for an instruction (usually which NaN), and later results may depend
  /// on it.
  bool is_open = false;
  std::vector<std::byte> out;  ///< Output, with guards.
  std::vector<std::byte> atomics;
  std::map<uint64_t, reference::DispatchRun::Count> counts;  ///< Executions by address
};

/// `out` is the initial output, with guards.
ModelRun run_on_model(const Kernel& kernel, const std::vector<uint32_t>& code,
                      const std::vector<std::byte>& out);

}  // namespace rigel::vgpu::exec::whole
