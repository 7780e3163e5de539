#include "plugins/vgpu/cp/aql_dispatch.hpp"

#include <algorithm>
#include <span>

#include <fmt/core.h>

namespace rigel::vgpu {
namespace {

// Kernel object.
constexpr uint64_t kEntryOffset = offsetof(amd_kernel_code_t, kernel_code_entry_byte_offset);
constexpr uint64_t kRsrc3 = 44;  // offset in a kernel descriptor; an unused field in amd_kernel_code_t
constexpr uint64_t kRsrc1 = offsetof(amd_kernel_code_t, compute_pgm_rsrc1);
constexpr uint64_t kRsrc2 = offsetof(amd_kernel_code_t, compute_pgm_rsrc2);
constexpr uint64_t kProperties = offsetof(amd_kernel_code_t, kernel_code_properties);
constexpr uint64_t kPreload = 58;  // offset of kernarg_preload in a kernel descriptor
/// Code before the entry for firmware that preloads nothing: other firmware skips it. Source: LLVM's AMDGPU
/// user guide, "Preloaded Kernel Arguments".
constexpr uint64_t kPreloadPrologueBytes = 256;
static_assert(kEntryOffset == 16 && kRsrc1 == 48 && kRsrc2 == 52 && kProperties == 56);

struct KernelObject {
  int64_t entry_offset;
  uint32_t rsrc1, rsrc2, rsrc3;
  uint16_t properties;
  uint16_t preload;  // dwords in bits 6:0, offset in dwords above
  uint32_t preload_dwords() const { return preload & 0x7f; }
  uint64_t preload_offset() const { return uint64_t{preload} >> 7 << 2; }
};

bool read_kernel_object(GpuMemory& memory, uint64_t va, KernelObject& object) {
  return memory.read(va + kEntryOffset, &object.entry_offset, sizeof object.entry_offset) &&
         memory.read(va + kRsrc1, &object.rsrc1, 4) && memory.read(va + kRsrc2, &object.rsrc2, 4) &&
         memory.read(va + kRsrc3, &object.rsrc3, 4) && memory.read(va + kProperties, &object.properties, 2) &&
         memory.read(va + kPreload, &object.preload, 2);
}

// Whether the waves of a work-group fit the VGPRs of a compute unit, or of two in WGP mode.
bool registers_fit(const Dialect& dialect, const KernelObject& object, uint32_t wave_size,
                   uint64_t work_items) {
  const uint64_t waves = (work_items + wave_size - 1) / wave_size;
  const uint32_t allocated = dialect.allocated_vgprs(object.rsrc1);
  if (!dialect.has_wgp_mode) return (waves + 3) / 4 * allocated <= dialect.vgprs_of_simd;
  const bool wgp_mode = (object.rsrc1 >> 29 & 1) != 0;
  const uint64_t simds = wgp_mode ? 4 : 2;
  return (waves + simds - 1) / simds * allocated <= dialect.vgprs_of_simd;
}

class UserSgprs {
 public:
  explicit UserSgprs(Dispatch& dispatch) : dispatch_(dispatch) {}
  void push(uint32_t value) {
    if (count_ < kMaxUserSgprs) dispatch_.user_sgprs[count_] = value;
    ++count_;
  }
  void push64(uint64_t value) {
    push(static_cast<uint32_t>(value));
    push(static_cast<uint32_t>(value >> 32));
  }
  /// Registers that are free, up to `most`.
  std::span<uint32_t> rest(uint32_t most) {
    const uint32_t used = std::min(count_, kMaxUserSgprs);
    return std::span(dispatch_.user_sgprs).subspan(used, std::min(kMaxUserSgprs - used, most));
  }

 private:
  Dispatch& dispatch_;
  uint32_t count_ = 0;
};

DispatchPlan error(QueueError code, std::string reason) {
  DispatchPlan plan;
  plan.kind = DispatchPlan::Kind::kError;
  plan.error = code;
  plan.reason = std::move(reason);
  return plan;
}

DispatchPlan fault() {
  DispatchPlan plan;
  plan.kind = DispatchPlan::Kind::kFault;
  return plan;
}

}  // namespace

DispatchPlan plan_dispatch(GpuMemory& memory, const QueueContext& context, uint64_t queue_va,
                           const aql::Packet& packet, uint64_t packet_va, uint64_t id) {
  DispatchPlan plan;
  Dispatch& d = plan.dispatch;
  d.packet_va = packet_va;
  d.packet_id = id;
  const Dialect& dialect = context.dialect;

  // Geometry
  // -------------------------------------------------------------------------------------------------
  const uint32_t dimensions = packet.setup() & 3;
  if (dimensions == 0) return error(QueueError::kBadDimensions, "the dispatch has 0 dimensions");
  d.work_group_size[0] = packet.words[1] & 0xffff;
  d.work_group_size[1] = packet.words[1] >> 16;
  d.work_group_size[2] = packet.words[2] & 0xffff;
  uint64_t work_items = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    d.grid_size[i] = packet.words[3 + i];
    if (d.work_group_size[i] == 0 || d.grid_size[i] == 0) {
      return error(QueueError::kBadDimensions, fmt::format("size 0 in dimension {}: grid {}, work-group {}",
                                                           i, d.grid_size[i], d.work_group_size[i]));
    }
    if (i >= dimensions && (d.work_group_size[i] != 1 || d.grid_size[i] != 1)) {
      return error(QueueError::kBadDimensions,
                   fmt::format("the dispatch has {} dimensions, but the size in dimension {} is not 1",
                               dimensions, i));
    }
    work_items *= d.work_group_size[i];
  }
  if (work_items > context.config.max_work_group_size) {
    return error(QueueError::kWorkGroupTooLarge, fmt::format("work-group of {} work-items, maximum {}",
                                                             work_items, context.config.max_work_group_size));
  }
  d.private_bytes = packet.words[6];
  const uint32_t group_bytes = packet.words[7];
  if (group_bytes > context.config.max_lds_bytes) {
    return error(QueueError::kGroupMemory, fmt::format("group segment of {} bytes, maximum {}", group_bytes,
                                                       context.config.max_lds_bytes));
  }
  const uint32_t lds_granules = (group_bytes + kLdsGranule - 1) / kLdsGranule;
  d.lds_bytes = lds_granules * kLdsGranule;
  d.lds_requested_bytes = group_bytes;

  // Kernel
  // ---------------------------------------------------------------------------------------------------
  d.kernel_object_va = packet.quad(8);
  d.kernarg_va = packet.quad(10);
  if (d.kernel_object_va == 0 || d.kernel_object_va % 64 != 0) {
    return error(QueueError::kBadCodeObject,
                 fmt::format("invalid kernel object address {:#x}", d.kernel_object_va));
  }
  KernelObject object{};
  if (!read_kernel_object(memory, d.kernel_object_va, object)) return fault();
  if (!dialect.preloads_kernargs) object.preload = 0;
  d.entry_va = d.kernel_object_va + static_cast<uint64_t>(object.entry_offset);
  if (object.entry_offset == 0 || d.entry_va % 256 != 0) {
    return error(QueueError::kBadCodeObject,
                 fmt::format("invalid kernel object at {:#x}: its code at {:#x} is not aligned to 256 bytes",
                             d.kernel_object_va, d.entry_va));
  }
  if (object.preload_dwords() != 0) d.entry_va += kPreloadPrologueBytes;
  const bool wave32 =
      dialect.has_wave32 && (object.properties & AMD_KERNEL_CODE_PROPERTIES_ENABLE_WAVEFRONT_SIZE32) != 0;
  d.wave_size = wave32 ? 32 : 64;
  if (!registers_fit(dialect, object, d.wave_size, work_items)) {
    return error(
        QueueError::kTooManyRegisters,
        fmt::format("work-group of {} work-items needs more VGPRs than a compute unit has", work_items));
  }

  // Scratch
  // --------------------------------------------------------------------------------------------------
  uint32_t tmpring = 0, lane_bytes = 0;
  uint64_t location = 0;
  uint32_t descriptor[4] = {};
  if (!memory.load(queue_va + aql::kQueueProperties, plan.queue_properties) ||
      !memory.load(queue_va + aql::kQueueTmpringSize, tmpring) ||
      !memory.load(queue_va + aql::kQueueScratchLaneBytes, lane_bytes) ||
      !memory.load(queue_va + aql::kQueueScratchLocation, location) ||
      !memory.read(queue_va + aql::kQueueScratchDescriptor, descriptor, sizeof descriptor)) {
    return fault();
  }
  // The queue states bytes per lane of a wave of 64. A lane of a wave of 32 has twice that.
  const uint64_t lane_capacity = uint64_t{lane_bytes} * 64 / d.wave_size;
  if (d.private_bytes > lane_capacity) {
    plan.kind = DispatchPlan::Kind::kNeedsScratch;
    plan.error = wave32 ? QueueError::kScratchWave32 : QueueError::kScratchWave64;
    return plan;
  }
  d.scratch_waves = dialect.tmpring.waves(tmpring, context.config.shader_engines) * context.config.xcc_count;
  d.scratch_wave_bytes = dialect.tmpring.wave_bytes(tmpring);
  d.scratch_bytes = uint64_t{d.scratch_waves} * d.scratch_wave_bytes;
  if (dialect.scratch_counts_from_base) d.scratch_base = context.scratch_base.load(std::memory_order_relaxed);
  if (d.scratch_bytes != 0) d.scratch_va = d.scratch_base + location;

  // Registers
  // ------------------------------------------------------------------------------------------------
  d.pgm_rsrc1 = object.rsrc1;
  d.pgm_rsrc2 = object.rsrc2;
  d.pgm_rsrc3 = object.rsrc3;
  d.code_properties = object.properties;
  d.pgm_rsrc2 = (d.pgm_rsrc2 & ~(0x1ffu << 15)) | lds_granules << 15;
  d.trap_handler = (plan.queue_properties & aql::kPropertyTrapHandler) != 0;
  if (d.trap_handler) d.pgm_rsrc2 |= 1u << 6;
  d.user_sgpr_count = std::min(object.rsrc2 >> 1 & 0x1f, kMaxUserSgprs);
  d.flat_group_base = context.config.flat_group_base;
  d.flat_private_base = context.config.flat_private_base;
  d.queue_va = queue_va;
  d.acquire_system = aql::acquire_scope(packet.header()) != 0;
  const auto groups = [&](int i) {
    return static_cast<uint32_t>((uint64_t{d.grid_size[i]} + d.work_group_size[i] - 1) /
                                 d.work_group_size[i]);
  };
  UserSgprs sgprs(d);
  const auto is_enabled = [&](uint32_t property) { return (object.properties & property) != 0; };
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER)) {
    // The interleaving of lanes (32 or 64) depends on the kernel. On chips with wave32 the packet processor
    // fills it in.
    if (dialect.has_wave32) {
      descriptor[3] = (descriptor[3] & ~(3u << 21)) | (wave32 ? 2u : 3u) << 21;
    }
    for (const uint32_t word : descriptor) sgprs.push(word);
  }
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_PTR)) sgprs.push64(d.packet_va);
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_QUEUE_PTR)) sgprs.push64(queue_va);
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_KERNARG_SEGMENT_PTR)) sgprs.push64(d.kernarg_va);
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_ID)) sgprs.push64(d.packet_id);
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_FLAT_SCRATCH_INIT)) {
    if (dialect.scratch_counts_from_base) {
      sgprs.push(static_cast<uint32_t>(location));
      sgprs.push(lane_bytes);
    } else {
      sgprs.push64(location);
    }
  }
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE)) sgprs.push(d.private_bytes);
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_X)) sgprs.push(groups(0));
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y)) sgprs.push(groups(1));
  if (is_enabled(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z)) sgprs.push(groups(2));
  const std::span<uint32_t> preloaded = sgprs.rest(object.preload_dwords());
  if (!preloaded.empty() &&
      !memory.read(d.kernarg_va + object.preload_offset(), preloaded.data(), preloaded.size_bytes()))
    return fault();
  return plan;
}

}  // namespace rigel::vgpu
