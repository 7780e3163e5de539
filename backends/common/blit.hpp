// Kernels that copy and fill memory, and their launches. The code is common/kernels/blit.s, as words for each
// generation. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

enum class BlitKernel : uint32_t { kCopyAligned = 0, kCopyMisaligned = 1, kFill = 2 };
constexpr size_t kBlitKernels = 3;

constexpr uint32_t kBlitGroupSize = 256;      ///< work-items per work-group
constexpr uint64_t kBlitCodeAlignment = 256;  ///< alignment of the code in memory
constexpr uint64_t kBlitDescriptorBytes = 64;
/// Kernel descriptors are at the start of the code, in the order of BlitKernel.
constexpr uint64_t blit_descriptor_offset(BlitKernel kernel) {
  return static_cast<uint64_t>(kernel) * kBlitDescriptorBytes;
}

constexpr uint64_t kBlitChunkBytes = 16 << 10;  ///< bytes per step of a work-group

/// Arguments of the kernels, 16 bytes aligned. A range consists of a head, chunks, a rest and a tail.
struct BlitArguments {
  uint64_t destination;
  uint64_t source;
  uint32_t chunks;      ///< number of kBlitChunkBytes: group i processes i, i + groups, i + 2 * groups, …
  uint32_t groups;      ///< number of work-groups of the launch
  uint32_t rest_bytes;  ///< multiple of 16 bytes, less than a chunk
  uint32_t rest_group;  ///< the group that processes the rest: the next one after the last chunk's
  uint32_t head_bytes;  ///< 0 … 3
  uint32_t tail_bytes;  ///< 0 … 15
  uint32_t value;       ///< dword that a fill stores
  uint32_t reserved;
};
static_assert(sizeof(BlitArguments) == 48);

struct BlitLaunch {
  BlitKernel kernel;
  uint32_t work_items;  ///< size of the one-dimensional grid
  BlitArguments arguments;
};

/// Returns a copy of any bytes between any addresses; the ranges do not overlap, and `bytes` is not 0.
BlitLaunch blit_copy(uint64_t destination, uint64_t source, uint64_t bytes, uint32_t compute_units);

/// Returns a fill of `count` dwords with `value`; the destination is a multiple of 4.
BlitLaunch blit_fill(uint64_t destination, uint32_t value, uint64_t count, uint32_t compute_units);

/// Writes the code for `chip` to `to`, which has room for all of `code` and is aligned to kBlitCodeAlignment
/// for the device. Chips with accumulation registers get different descriptors.
void write_blit_code(std::span<const uint32_t> code, const Chip& chip, void* to);

}  // namespace rigel::gfx
