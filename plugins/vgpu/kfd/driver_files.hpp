// Files of a loaded amdgpu other than the topology: the module with its parameters, the PCI devices, and the
// DRM nodes of each board. libdrm, libhsakmt, rocm-smi and amdsmi distinguish boards by these files.
#pragma once

#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/file_tree.hpp"

namespace rigel::vgpu {

inline constexpr uint32_t kDrmMajor = 226;

/// Host memory available to graphics, as reported to libdrm and management tools.
inline constexpr uint64_t kGttBytes = uint64_t{8} << 30;

void add_driver_files(FileTree& tree, const Machine& virtual_system);

}  // namespace rigel::vgpu
