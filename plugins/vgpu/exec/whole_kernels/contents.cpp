#include "plugins/vgpu/exec/whole_kernels/contents.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

// Random values of all kinds, drawn once. Buffers are initialised with parts of this pool.
const std::vector<uint32_t>& pool() {
  static const std::vector<uint32_t>* const kPool = [] {
    reference::Draw draw(21);
    auto* const words = new std::vector<uint32_t>((kMaxOutBytes + 2 * kGuardBytes) / 4 * 2);
    for (uint32_t& word : *words) word = draw.value();
    return words;
  }();
  return *kPool;
}

void fill(uint64_t seed, std::span<std::byte> destination) {
  const auto& words = pool();
  const size_t room = words.size() * 4 - destination.size();
  const size_t offset = seed * 0x9e3779b97f4a7c15u % (room / 4 + 1) * 4;
  std::memcpy(destination.data(), reinterpret_cast<const std::byte*>(words.data()) + offset,
              destination.size());
}

uint32_t scratch_wave_bytes(const Kernel& kernel) {
  return (kernel.private_bytes * kernel.wave_size() + 1023) / 1024 * 1024;
}

// Writes the descriptor of a raw buffer: bytes, all of them in range.
void put_resource(const Kernel& kernel, uint64_t va, uint32_t bytes, std::byte* destination) {
  constexpr uint32_t kSelect = 4 | 5 << 3 | 6 << 6 | 7 << 9;
  constexpr uint32_t kFormat = 7u << 12 | 4u << 15;                   // 32-bit floats; raw accesses ignore it
  constexpr uint32_t kFormatGfx10 = 22u << 12 | 1u << 24 | 3u << 28;  // the same; range in bytes
  const uint32_t words[4] = {static_cast<uint32_t>(va), static_cast<uint32_t>(va >> 32), bytes,
                             kSelect | (kernel.target.major >= 10 ? kFormatGfx10 : kFormat)};
  std::memcpy(destination, words, sizeof words);
}

}  // namespace

void fill_in(const Kernel& kernel, std::span<std::byte> destination) {
  fill(kernel.data_seed, destination);
}

void fill_out(const Kernel& kernel, std::span<std::byte> destination) {
  fill(kernel.data_seed + 1, destination);
}

void fill_in_end(const Kernel& kernel, std::span<std::byte> destination) {
  fill(kernel.data_seed + 3, destination);
}

void fill_arguments(const Kernel& kernel, std::span<std::byte> destination) {
  std::byte* const arguments = destination.data();
  fill(kernel.data_seed + 2, destination);
  const uint64_t pointers[] = {kInVa, kOutVa, kAtomicsVa};
  std::memcpy(arguments, pointers, sizeof pointers);
  std::memcpy(arguments + argument::kLimit, &kernel.limit, 4);
  put_resource(kernel, kInVa, kernel.in_bytes + kInSlack, arguments + argument::kInResource);
  put_resource(kernel, kOutVa, kernel.out_bytes, arguments + argument::kOutResource);
}

// Of a unified file.
constexpr uint32_t kAgprs = 32;

RegisterLayout layout_of(const Kernel& kernel) {
  const isa::Traits& traits = isa::traits_of(kernel.target);
  const uint32_t unit = kernel.wave_size() == 32 ? 8 : 4;
  RegisterLayout layout{kernel.wave_size(), (kernel.vgprs + unit - 1) / unit * unit};
  if (traits.allocates_sgprs) layout.sgprs = std::min((kernel.sgprs + 15) / 16 * 16, kAllSgprs);
  // AGPRs follow the VGPRs if they are one file.
  if (traits.has_unified_vgprs) {
    const uint32_t rows = layout.vgprs + kAgprs, granule = traits.vgpr_granule;
    layout.agprs = (rows + granule - 1) / granule * granule - layout.vgprs;
  } else if (traits.has_agprs) {
    layout.agprs = layout.vgprs;
  }
  return layout;
}

Dispatch dispatch_of(const Kernel& kernel) {
  Dispatch d;
  d.entry_va = kCodeVa;
  d.kernarg_va = kKernargVa;
  std::copy_n(kernel.grid, 3, d.grid_size);
  std::copy_n(kernel.group, 3, d.work_group_size);
  d.wave_size = kernel.wave_size();
  d.lds_bytes = kernel.lds_bytes;
  d.private_bytes = kernel.private_bytes;
  const isa::Traits& traits = isa::traits_of(kernel.target);
  const RegisterLayout layout = layout_of(kernel);
  const uint32_t unit = kernel.wave_size() == 32 ? 8 : traits.vgpr_granule;
  const uint32_t rows = layout.vgprs + (traits.has_unified_vgprs ? layout.agprs : 0);
  const uint32_t eights = (kernel.sgprs + 15) / 16 * 2;
  if (traits.has_unified_vgprs) d.pgm_rsrc3 = layout.vgprs / 4 - 1;
  d.pgm_rsrc1 = (rows / unit - 1) | (eights - 1) << 6 | (kernel.mode & 0xff) << 12 |
                (kernel.mode >> 8 & 1) << 21 | (kernel.mode >> 9 & 1) << 23;
  const bool dimensions = kernel.has_dimensions();
  d.pgm_rsrc2 = (kernel.private_bytes != 0 ? 1u : 0) | 8u << 1 | (dimensions ? 7u : 1u) << 7 |
                (dimensions ? 2u : 0) << 11;
  d.user_sgpr_count = kFirstGroupId;
  const auto put = [&](uint32_t sgpr, uint64_t value) {
    d.user_sgprs[sgpr] = static_cast<uint32_t>(value);
    d.user_sgprs[sgpr + 1] = static_cast<uint32_t>(value >> 32);
  };
  put(kKernarg, kKernargVa);
  d.flat_group_base = uint64_t{kSharedApertureHigh} << 32;
  d.flat_private_base = uint64_t{kPrivateApertureHigh} << 32;
  if (kernel.private_bytes == 0) return d;
  d.scratch_va = kScratchVa;
  d.scratch_bytes = kScratchBytes;
  d.scratch_wave_bytes = scratch_wave_bytes(kernel);
  d.scratch_waves = 64;
  d.scratch_base = kernel.target.major == 8 ? kScratchVa : 0;
  // Swizzled: dwords of adjacent lanes are adjacent; the index stride is the wave size.
  constexpr uint32_t kSwizzle = 1u << 31, kAddLane = 1u << 23, kFourBytes = 1u << 19;
  const uint32_t index_stride = kernel.wave_size() == 32 ? 2 : 3;
  put_resource(kernel, kScratchVa, kScratchBytes, reinterpret_cast<std::byte*>(d.user_sgprs.data()));
  d.user_sgprs[1] |= kSwizzle;
  d.user_sgprs[3] |= kAddLane | index_stride << 21 | (kernel.target.major == 8 ? kFourBytes : 0);
  if (kernel.target.major == 8) {
    put(kFlatScratchInit, uint64_t{kernel.private_bytes} << 32);  // offset, bytes per lane
  } else {
    put(kFlatScratchInit, kScratchVa);
  }
  return d;
}

}  // namespace rigel::vgpu::exec::whole
