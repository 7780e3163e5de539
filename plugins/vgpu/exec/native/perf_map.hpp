// A map of compiled code for `perf`, written if VGPU_PERF_MAP=1. perf reads /tmp/perf-PID.map for code
// outside of files. A line has address, length and name, such as "vgpu:shift(int*, int)".
//
// *Threads:* any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rigel::vgpu::exec::compiler {

/// Whether VGPU_PERF_MAP=1. Read once.
bool perf_map_wanted();

/// Adds the code of the kernel at `entry`. If `kernel` is empty, the entry address serves as the name.
void write_perf_map(std::span<const std::byte> code, const std::string& kernel, uint64_t entry);

}  // namespace rigel::vgpu::exec::compiler
