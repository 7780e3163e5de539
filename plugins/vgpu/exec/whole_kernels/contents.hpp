// Where a kernel's buffers are, what is in them at the start, and how it is dispatched: for all ways to run
// it.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

constexpr uint64_t kCodeVa = 0x1'00000000, kKernargVa = 0x2'00000000, kInVa = 0x3'00000000,
                   kOutVa = 0x4'fffff000, kAtomicsVa = 0x6'00000000, kScratchVa = 0x7'00000000;
/// Where the upper half of the input's addresses ends, and a page of the next: to be read, as the input is.
constexpr uint64_t kInEndVa = kInVa + 0xffff'f000;
constexpr uint32_t kInEndBytes = 8192;
constexpr uint32_t kMostCodeBytes = 1 << 16, kScratchBytes = 1 << 22;
constexpr uint32_t kGuardBytes = 4096;  ///< Before and behind the output.
constexpr uint32_t kSharedApertureHigh = 0x10000, kPrivateApertureHigh = 0x20000;

void fill_in(const Kernel& kernel, std::span<std::byte> to);
void fill_in_end(const Kernel& kernel, std::span<std::byte> to);
/// With the guards.
void fill_out(const Kernel& kernel, std::span<std::byte> to);
void fill_arguments(const Kernel& kernel, std::span<std::byte> to);

RegisterLayout layout_of(const Kernel& kernel);
Dispatch dispatch_of(const Kernel& kernel);

}  // namespace rigel::vgpu::exec::whole
