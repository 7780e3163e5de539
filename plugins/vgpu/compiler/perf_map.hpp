// A map of compiled code for `perf`, which reads /tmp/perf-PID.map for code that no file has: lines of an
// address, a length and a name, "vgpu:shift(int*, int)+0x10". Written with VGPU_PERF_MAP=1.
//
// Threads: any; what one call writes stays together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rigel::vgpu::exec::compiler {

/// Whether somebody wants it. Found once.
bool perf_map_wanted();

/// A piece of machine code and the GPU's instruction that it begins with.
struct PerfPiece {
  const std::byte* code = nullptr;
  size_t bytes = 0;
  uint64_t pc = 0;
};

/// `kernel` is the name of the one that begins at `entry`; empty: it has none, and the address stands for it.
void write_perf_map(std::span<const PerfPiece> pieces, const std::string& kernel, uint64_t entry);

}  // namespace rigel::vgpu::exec::compiler
