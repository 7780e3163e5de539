// The 64 bytes at a dispatch packet's kernel_object, as defined by the AMDGPU user guide of LLVM ("Kernel
// Descriptor"). Host kernels use the same structure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rigel {

struct KernelDescriptor {
  uint32_t group_segment_fixed_size;    ///< bytes per work-group
  uint32_t private_segment_fixed_size;  ///< bytes per work-item
  uint32_t kernarg_size;                ///< bytes; 0 if the compiler did not set it
  uint8_t reserved0[4];
  int64_t kernel_code_entry_byte_offset;  ///< from the descriptor to the first instruction
  uint8_t reserved1[20];
  uint32_t compute_pgm_rsrc3;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint16_t kernel_code_properties;
  uint16_t kernarg_preload;
  uint8_t reserved2[4];
};
static_assert(sizeof(KernelDescriptor) == 64);
static_assert(offsetof(KernelDescriptor, kernarg_size) == 8);
static_assert(offsetof(KernelDescriptor, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc3) == 44);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc1) == 48);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc2) == 52);
static_assert(offsetof(KernelDescriptor, kernel_code_properties) == 56);
static_assert(offsetof(KernelDescriptor, kernarg_preload) == 58);

constexpr uint64_t kKernelDescriptorAlignment = 64;

/// Bits of kernel_code_properties for a loader.
constexpr uint16_t kKernelUsesWave32 = 1u << 10;
constexpr uint16_t kKernelUsesDynamicStack = 1u << 11;

}  // namespace rigel
