// Reduces a kernel while its results still differ.
#pragma once

#include <functional>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

/// Returns the smallest kernel found for which `differs` returns true. Neither an instruction, nor a
/// work-group, nor half of the lanes can be removed from it. Candidates that read unwritten scalars are
/// skipped: a failed attempt of a whole work-group changes scalars (see run.cpp).
Kernel reduce(Kernel kernel, const std::function<bool(const Kernel&)>& differs);

}  // namespace rigel::vgpu::exec::whole
