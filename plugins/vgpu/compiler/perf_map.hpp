// A map of compiled code for `perf`, which reads /tmp/perf-PID.map for code that no file has: lines of an
// address, a length and a name, "vgpu:shift(int*, int)". Written with VGPU_PERF_MAP=1.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rigel::vgpu::exec::compiler {

/// Whether somebody wants it. Found once.
bool perf_map_wanted();

/// Adds the code of a kernel that begins at `entry`. `kernel` is its name; empty: it has none, and the address stands for it.
void write_perf_map(std::span<const std::byte> code, const std::string& kernel, uint64_t entry);

}  // namespace rigel::vgpu::exec::compiler
