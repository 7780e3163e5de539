// Makes a kernel that differs smaller, as long as it still differs.
#pragma once

#include <functional>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

/// `differs` says whether a kernel still shows what is looked for. What comes back does, and no instruction
/// can be taken away from it, nor a work-group, nor half of the lanes. Scalars that nobody has written before
/// they are read are no way to differ: such kernels are not tried (see run.cpp: what has been tried as a
/// whole work-group in vain leaves scalars changed).
Kernel reduce(Kernel kernel, const std::function<bool(const Kernel&)>& differs);

}  // namespace rigel::vgpu::exec::whole
