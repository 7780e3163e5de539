// The topology tree that amdkfd shows of a machine, the PCI identity that libdrm looks up, and the device
// nodes.
#pragma once

#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/file_tree.hpp"

namespace rigel::vgpu {

/// What of the host's processor becomes node 0.
struct HostFacts {
  uint32_t cpus = 1;
  uint32_t first_apic_id = 0;
  uint64_t memory_bytes = 0;
  /// Reads them from this machine.
  static HostFacts read();
};

/// Pure. Every number in the properties files is decimal: readers stop at the first that is not.
FileTree make_file_tree(const Machine& machine, const HostFacts& host);

/// The word as the topology shows it: the board's bits and those that derive.
uint32_t capability_of(const Gpu& gpu);

}  // namespace rigel::vgpu
