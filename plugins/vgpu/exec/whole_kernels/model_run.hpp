// Runs a whole kernel on the reference model (reference/dispatch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

struct ModelRun {
  std::string failure;  ///< Why it did not come to the end: an instruction that is not modelled, a fault.
  /// Some result is one of several that the manuals allow (which NaN, above all), and what follows may depend on it.
  bool is_open = false;
  std::vector<std::byte> out;  ///< With guards.
  std::vector<std::byte> atomics;
};

/// `out` is what is in the output, with guards, at the start.
ModelRun run_on_model(const Kernel& kernel, const std::vector<uint32_t>& code,
                      const std::vector<std::byte>& out);

}  // namespace rigel::vgpu::exec::whole
