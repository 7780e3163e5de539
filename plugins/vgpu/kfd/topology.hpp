// The topology tree that amdkfd shows, the PCI identity that libdrm reads, and the device nodes.
#pragma once

#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/file_tree.hpp"

namespace rigel::vgpu {

/// Properties of the host that topology node 0 shows.
struct HostProperties {
  uint32_t cpus = 1;
  uint32_t first_apic_id = 0;
  uint64_t memory_bytes = 0;
  static HostProperties read();
};

/// Pure. Every number in the properties files is decimal, because readers stop at the first other character.
FileTree make_file_tree(const Machine& virtual_system, const HostProperties& host);

/// Returns the capability word of the topology: the board's bits and the derived ones.
uint32_t capability_of(const Gpu& gpu);

}  // namespace rigel::vgpu
