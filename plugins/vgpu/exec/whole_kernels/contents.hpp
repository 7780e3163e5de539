// Addresses and initial contents of a kernel's buffers, and its dispatch, for all execution paths.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

constexpr uint64_t kCodeVa = 0x1'00000000, kKernargVa = 0x2'00000000, kInVa = 0x3'00000000,
                   kOutVa = 0x4'fffff000, kAtomicsVa = 0x6'00000000, kScratchVa = 0x7'00000000;
/// The end of the 4 GiB that share the input's upper address dword, and a page of the next: readable like
/// the input.
constexpr uint64_t kInEndVa = kInVa + 0xffff'f000;
constexpr uint32_t kInEndBytes = 8192;
constexpr uint32_t kMaxCodeBytes = 1 << 16, kScratchBytes = 1 << 22;
constexpr uint32_t kGuardBytes = 4096;  ///< Before and after the output.
constexpr uint32_t kSharedApertureHigh = 0x10000, kPrivateApertureHigh = 0x20000;

void fill_in(const Kernel& kernel, std::span<std::byte> to);
void fill_in_end(const Kernel& kernel, std::span<std::byte> to);
void fill_out(const Kernel& kernel, std::span<std::byte> to);
void fill_arguments(const Kernel& kernel, std::span<std::byte> to);

RegisterLayout layout_of(const Kernel& kernel);
Dispatch dispatch_of(const Kernel& kernel);

}  // namespace rigel::vgpu::exec::whole
