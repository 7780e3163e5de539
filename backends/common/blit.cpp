#include "backends/common/blit.hpp"

#include <algorithm>
#include <cstring>

namespace rigel::gfx {
namespace {

constexpr uint64_t kUnit = 16;
/// Additional work-groups would only wait for resident ones.
constexpr uint32_t kGroupsPerCu = 8;

constexpr uint32_t kVgprs = 32;  // number of VGPRs of each kernel

BlitLaunch launch(BlitKernel kernel, uint64_t destination, uint64_t source, uint64_t bytes, uint64_t head,
                  uint32_t compute_units) {
  const uint64_t main = (bytes - head) / kUnit * kUnit;
  const uint64_t chunks = main / kBlitChunkBytes;
  const uint64_t rest = main % kBlitChunkBytes;
  const uint64_t groups = std::clamp<uint64_t>(chunks + (rest != 0 ? 1 : 0), 1,
                                               uint64_t{std::max(compute_units, 1u)} * kGroupsPerCu);
  BlitLaunch launch{kernel, static_cast<uint32_t>(groups) * kBlitGroupSize, {}};
  launch.arguments = {.destination = destination,
                      .source = source,
                      .chunks = static_cast<uint32_t>(chunks),
                      .groups = static_cast<uint32_t>(groups),
                      .rest_bytes = static_cast<uint32_t>(rest),
                      .rest_group = static_cast<uint32_t>(chunks % groups),
                      .head_bytes = static_cast<uint32_t>(head),
                      .tail_bytes = static_cast<uint32_t>(bytes - head - main),
                      .value = 0,
                      .reserved = 0};
  return launch;
}

}  // namespace

BlitLaunch blit_copy(uint64_t destination, uint64_t source, uint64_t bytes, uint32_t compute_units) {
  // Stores are whole dwords; loads as well if both sides have the same alignment.
  const uint64_t head = std::min(-destination & 3, bytes);
  const bool aligned = ((source + head) & 3) == 0;
  return launch(aligned ? BlitKernel::kCopyAligned : BlitKernel::kCopyMisaligned, destination, source, bytes,
                head, compute_units);
}

BlitLaunch blit_fill(uint64_t destination, uint32_t value, uint64_t count, uint32_t compute_units) {
  BlitLaunch fill = launch(BlitKernel::kFill, destination, 0, count * 4, 0, compute_units);
  fill.arguments.value = value;
  return fill;
}

void write_blit_code(std::span<const uint32_t> code, const Chip& chip, void* to) {
  auto* const bytes = static_cast<std::byte*>(to);
  std::memcpy(bytes, code.data(), code.size_bytes());
  if (chip.vgprs_per_lane <= 256) return;
  // The unified register file has granules of 8; accumulators start at the offset.
  constexpr size_t kRsrc3 = 44, kRsrc1 = 48;
  constexpr uint32_t kVgprMask = 0x3f, kGranules = (kVgprs + 7) / 8 - 1, kAccumOffset = (kVgprs + 3) / 4 - 1;
  for (size_t i = 0; i < kBlitKernels; ++i) {
    std::byte* const descriptor = bytes + i * kBlitDescriptorBytes;
    uint32_t rsrc1 = 0;
    std::memcpy(&rsrc1, descriptor + kRsrc1, sizeof(rsrc1));
    rsrc1 = (rsrc1 & ~kVgprMask) | kGranules;
    std::memcpy(descriptor + kRsrc1, &rsrc1, sizeof(rsrc1));
    std::memcpy(descriptor + kRsrc3, &kAccumOffset, sizeof(kAccumOffset));
  }
}

}  // namespace rigel::gfx
