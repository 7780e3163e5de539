// vgpu-compiler --warm: compiles kernels of files into the cache (code_cache.hpp), so that programs find them
// there. For example, a CI job fills a cache that later jobs use.
//
// A program finds an entry if the kernel's code and registers, the board's target, the size of the first
// work-group, the host's SIMD level, VGPU_SCHEDULE and the build are the same. All but the size come from the
// code object and the options. Functions that a kernel calls by address are compiled when a program calls
// them.
//
// Threads: one call at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/vgpu/runner/load_kernel.hpp"

namespace rigel::vgpu::exec::compiler {

using GroupSize = std::array<uint32_t, 3>;

/// Returns the sizes of work-groups for which a kernel is compiled: its required size; else those of
/// `requested` that the kernel permits; else, if none are requested, one of 256 work-items, or of the
/// kernel's maximum if that is smaller, in as many dimensions as the kernel has ids (1 to 3).
std::vector<GroupSize> group_sizes(const runner::Kernel& kernel, uint32_t dimensions,
                                   std::span<const GroupSize> requested);

/// Runs the command with the arguments after --warm. Returns the exit status: 0 if each file has kernels for
/// the boards and all that can be compiled are in the cache, 1 if not, 2 for an invalid command line.
int warm(std::span<const char* const> arguments);

}  // namespace rigel::vgpu::exec::compiler
