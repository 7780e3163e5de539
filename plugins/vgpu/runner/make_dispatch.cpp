#include "plugins/vgpu/runner/make_dispatch.hpp"

#include <cstring>
#include <stdexcept>

#include "plugins/vgpu/cp/aql_dispatch.hpp"
#include "plugins/vgpu/cp/dialect.hpp"

namespace rigel::vgpu::runner {
namespace {

// Creates a queue structure with scratch of `private_bytes` per lane. On gfx8 scratch addresses are relative
// to `scratch_base`, which is set to its start.
Region make_queue(MemoryBus& memory, const Board& board, uint32_t private_bytes, uint64_t& scratch_base) {
  constexpr uint32_t kWaves = 1024, kWaveGranule = 1024;
  const Region region = memory.allocate(sizeof(amd_queue_t));
  auto* const queue = reinterpret_cast<amd_queue_t*>(region.host);
  const Apertures apertures = apertures_of(board);
  queue->group_segment_aperture_base_hi = apertures.group_high;
  queue->private_segment_aperture_base_hi = apertures.private_high;
  if (private_bytes == 0) return region;
  const uint32_t wave_bytes = (private_bytes * 64 + kWaveGranule - 1) / kWaveGranule * kWaveGranule;
  const Region scratch = memory.allocate(uint64_t{wave_bytes} * kWaves);
  const uint32_t unit = find_dialect(board.gfx_target_version)->tmpring.unit;
  queue->compute_tmpring_size = kWaves | wave_bytes / unit << 12;
  if (board.gfx_major() == 8) {
    scratch_base = scratch.va;
  } else {
    queue->scratch_backing_memory_location = scratch.va;
  }
  queue->scratch_wave64_lane_byte_size = wave_bytes / 64;
  // Swizzled: the same dword of neighbouring lanes is adjacent.
  constexpr uint32_t kSwizzle = 1u << 31, kAddLane = 1u << 23, kBy64 = 3u << 21, kFourBytes = 1u << 19;
  constexpr uint32_t kSelect = 4 | 5 << 3 | 6 << 6 | 7 << 9;
  constexpr uint32_t kFormat = 4u << 12 | 4u << 15, kFormatGfx10 = 20u << 12 | 1u << 24 | 2u << 28;
  uint32_t* const d = queue->scratch_resource_descriptor;
  d[0] = static_cast<uint32_t>(scratch.va);
  d[1] = static_cast<uint32_t>(scratch.va >> 32 & 0xffff) | kSwizzle;
  d[2] = static_cast<uint32_t>(scratch.bytes);
  d[3] = kSelect | kAddLane | (board.gfx_major() >= 10 ? kFormatGfx10 : kFormat | kBy64) |
         (board.gfx_major() == 8 ? kFourBytes : 0);
  return region;
}

}  // namespace

Apertures apertures_of(const Board& board) {
  if (board.gfx_major() == 8) return {.private_high = (1u << 29) + 1, .group_high = 1u << 29};
  return {.private_high = 2u << 16, .group_high = 1u << 16};
}

Dispatch make_dispatch(const Board& board, MemoryBus& memory, const Kernel& kernel, const Shape& shape) {
  uint64_t scratch_base = 0;
  const Region queue = make_queue(memory, board, kernel.private_bytes, scratch_base);
  const Region packet_memory = memory.allocate(sizeof(aql::Packet));
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
  packet.setup = 3;
  packet.workgroup_size_x = static_cast<uint16_t>(shape.group[0]);
  packet.workgroup_size_y = static_cast<uint16_t>(shape.group[1]);
  packet.workgroup_size_z = static_cast<uint16_t>(shape.group[2]);
  packet.grid_size_x = shape.grid[0];
  packet.grid_size_y = shape.grid[1];
  packet.grid_size_z = shape.grid[2];
  packet.private_segment_size = kernel.private_bytes;
  packet.group_segment_size = kernel.group_bytes + shape.dynamic_lds;
  packet.kernel_object = kernel.descriptor_va;
  packet.kernarg_address = reinterpret_cast<void*>(shape.kernarg_va);
  std::memcpy(packet_memory.host, &packet, sizeof packet);
  aql::Packet words;
  std::memcpy(&words, &packet, sizeof words);

  DeviceConfig config;
  config.gfx_target_version = board.gfx_target_version;
  config.max_lds_bytes = board.shader.lds_kb * 1024;
  const Apertures apertures = apertures_of(board);
  config.flat_group_base = uint64_t{apertures.group_high} << 32;
  config.flat_private_base = uint64_t{apertures.private_high} << 32;
  NoShaderCores nobody;
  QueueContext context(config, memory, nobody);
  context.scratch_base = scratch_base;
  GpuMemory processor_memory(memory, 0);
  const GpuMemory::Scope scope(processor_memory);
  DispatchPlan plan = plan_dispatch(processor_memory, context, queue.va, words, packet_memory.va, 0);
  if (plan.kind != DispatchPlan::Kind::kReady) {
    throw std::runtime_error(plan.reason.empty() ? "dispatch: cannot start" : plan.reason);
  }
  return plan.dispatch;
}

}  // namespace rigel::vgpu::runner
