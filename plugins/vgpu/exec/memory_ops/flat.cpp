// FLAT, GLOBAL and SCRATCH instructions.
#include <algorithm>
#include <bit>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/private_memory.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

struct FlatAccess {
  Shape shape;
  DataRows rows;
  bool has_vaddr = false;
  bool has_saddr = false;
  uint32_t vaddr = 0;
  uint32_t saddr = 0;
  int32_t offset = 0;
  int32_t global_offset = 0;         // offset of FLAT instructions for lanes in global memory
  uint32_t flat_scratch = 0;         // offset of FLAT_SCRATCH in the registers
  bool is_relative_to_base = false;  // gfx8: FLAT_SCRATCH_HI is relative to the process's scratch base
  uint32_t transposed = 0;           // first row of transposed elements
  uint32_t block_registers = 0;      // registers of the wave from a block's first on
};

// Returns the address of the wave's private memory according to FLAT_SCRATCH. On gfx8, FLAT_SCRATCH_LO has
// the bytes per lane, which the queue's scratch also defines.
uint64_t private_memory(const FlatAccess& access, const Wave* wave) {
  const uint64_t flat_scratch = scalar64(wave->registers, access.flat_scratch);
  return access.is_relative_to_base ? wave->scratch_base + (flat_scratch >> 32 << 8) : flat_scratch;
}

bool access_private(const MicroOp* op, Wave* wave, const FlatAccess& access, const uint32_t* offsets,
                    uint64_t exec) {
  SwizzledSpan span;
  const uint64_t base = private_memory(access, wave);
  if (!ends_in_private(wave, access.shape, 0, offsets, exec)) return false;
  for (unsigned lane = 0; lane < wave->layout.wave_size; ++lane) {
    span.base[lane] = base + lane * uint64_t{4};
    span.offset[lane] = offsets[lane];
  }
  for (uint64_t& active : span.active) active = exec;
  span.element_bytes = 4;
  span.element_stride = uint64_t{wave->layout.wave_size} * 4;
  return access_swizzled(op, wave, access.shape, span, access.rows);
}

template <unsigned W>
void global_addresses(const FlatAccess& access, const Wave* wave, int32_t offset, Span& span) {
  uint64_t base = static_cast<uint64_t>(int64_t{offset});
  if (access.has_saddr) base += scalar64(wave->registers, access.saddr);
  if (access.shape.addtid) {
    for (unsigned lane = 0; lane < W; ++lane) span.va[lane] = base + lane * 4;
    return;
  }
  const uint32_t* const low = row(wave->registers, access.vaddr);
  if (!access.has_vaddr) {
    for (unsigned lane = 0; lane < W; ++lane) span.va[lane] = base;
  } else if (access.has_saddr) {
    for (unsigned lane = 0; lane < W; ++lane) span.va[lane] = base + low[lane];
  } else {
    for (unsigned lane = 0; lane < W; ++lane) {
      span.va[lane] = base + (low[lane] | uint64_t{low[W + lane]} << 32);
    }
  }
}

void global_addresses(const FlatAccess& access, const Wave* wave, int32_t offset, Span& span) {
  wave->layout.wave_size == 64 ? global_addresses<64>(access, wave, offset, span)
                               : global_addresses<32>(access, wave, offset, span);
}

[[gnu::noinline]] bool global_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  Span span;
  global_addresses(access, wave, access.offset, span);
  span.all_dwords(exec);
  return access_span(op, wave, access.shape, span, access.rows);
}

using LaneOffsets = uint32_t[64];

void scratch_offsets(const FlatAccess& access, const Wave* wave, LaneOffsets& offsets) {
  const uint32_t base =
      static_cast<uint32_t>(access.offset) + (access.has_saddr ? scalar(wave->registers, access.saddr) : 0);
  const uint32_t* const lane_offsets = row(wave->registers, access.vaddr);
  for (unsigned lane = 0; lane < wave->layout.wave_size; ++lane) {
    offsets[lane] = base + (access.has_vaddr ? lane_offsets[lane] : 0);
  }
}

[[gnu::noinline]] bool scratch_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  alignas(64) LaneOffsets offsets;
  scratch_offsets(access, wave, offsets);
  return access_private(op, wave, access, offsets, exec);
}

// Each lane's address selects LDS, private memory or global memory.
[[gnu::noinline]] bool flat_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  Span span;
  global_addresses(access, wave, access.offset, span);
  uint64_t lds_lanes = 0, private_lanes = 0;
  for (const unsigned lane : lanes_of(exec)) {
    const auto high = static_cast<uint32_t>(span.va[lane] >> 32);
    if (high == wave->shared_aperture_hi) lds_lanes |= uint64_t{1} << lane;
    if (high == wave->private_aperture_hi) private_lanes |= uint64_t{1} << lane;
  }
  const uint64_t global_lanes = exec & ~lds_lanes & ~private_lanes;
  if ((lds_lanes | private_lanes) != 0) {
    alignas(64) uint32_t offsets[64] = {};
    for (const unsigned lane : lanes_of(lds_lanes | private_lanes))
      offsets[lane] = static_cast<uint32_t>(span.va[lane]);
    // Loads may overwrite the address registers, so each part reads only its own lanes.
    if (lds_lanes != 0 && !access_lds(wave, access.shape, offsets, lds_lanes, access.rows)) return false;
    if (private_lanes != 0 && !access_private(op, wave, access, offsets, private_lanes)) return false;
    if (global_lanes == 0) return true;
  }
  if (access.global_offset != access.offset) {
    const auto correction = static_cast<uint64_t>(int64_t{access.global_offset} - access.offset);
    for (uint64_t& va : span.va) va += correction;
  }
  span.all_dwords(global_lanes);
  return access_span(op, wave, access.shape, span, access.rows);
}

// Loads to LDS, through a temporary row. Lane i's dword goes to dword i from M0 plus the offset on.
template <bool (*kGeneral)(const MicroOp*, Wave*, uint64_t)>
bool load_to_lds(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  if (!kGeneral(op, wave, exec)) return false;
  access_lds_in_order(wave, Verb::kStore, static_cast<uint32_t>(access.offset), exec, access.rows.result);
  return true;
}

// Transposing loads of gfx12, in waves of 32, through temporary rows. Parts of inactive lanes are 0: the
// manual requires that all lanes are active.
template <unsigned kPartBytes>
[[gnu::noinline]] bool transposing_load(const MicroOp* op, Wave* wave, uint64_t exec) {
  constexpr unsigned kLanesOfWave = 32, kPerDword = 4 / kPartBytes, kBits = 8 * kPartBytes;
  const auto& access = details<FlatAccess>(op);
  Span span;
  global_addresses(access, wave, access.offset, span);
  span.all_dwords(exec);
  if constexpr (kChecked) {
    if (!checks::move_memory(*wave, {&access.shape, 0, access.transposed}, span.va, span.active, 4))
      return false;
  }
  if (!access_span(op, wave, access.shape, span, access.rows)) return false;
  const uint32_t* const loaded = row(wave->registers, access.rows.result);
  uint32_t* const to = row(wave->registers, access.transposed);
  for (const unsigned lane : lanes_of(exec)) {
    for (unsigned first = 0; first < isa::kTransposedParts; first += kPerDword) {
      uint32_t value = 0;
      for (unsigned n = 0; n < kPerDword; ++n) {
        const isa::ElementPart source = isa::transposed_from(kPartBytes, lane, first + n);
        if ((exec >> source.lane & 1) == 0) continue;
        const uint32_t dword = loaded[source.part / kPerDword * kLanesOfWave + source.lane];
        value |= (dword >> source.part % kPerDword * kBits & ((1u << kBits) - 1)) << n * kBits;
      }
      to[first / kPerDword * kLanesOfWave + lane] = value;
    }
  }
  return true;
}

// Accesses to blocks of registers of gfx12. Registers that M0 does not select need not exist.
template <class Access>
bool access_block(const MicroOp* op, Wave* wave, Access access_dword) {
  FlatAccess access = details<FlatAccess>(op);
  const uint32_t selected = scalar(wave->registers, scalar_offset(isa::code::kM0));
  if (static_cast<uint32_t>(std::bit_width(selected)) > access.block_registers) {
    wave->stop = Stop::kIllegal;
    wave->illegal_reason = "M0 selects a register past the wave's VGPRs";
    return false;
  }
  const DataRows first = access.rows;
  for (const unsigned n : lanes_of(selected)) {
    access.rows.data = first.data + n * wave->layout.row_bytes();
    access.rows.result = first.result + n * wave->layout.row_bytes();
    if (!access_dword(access, n)) return false;
  }
  return true;
}

[[gnu::noinline]] bool global_block(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& block = details<FlatAccess>(op);
  Span all;
  global_addresses(block, wave, block.offset, all);
  return access_block(op, wave, [&](const FlatAccess& access, unsigned n) {
    Span span = all;
    for (uint64_t& va : span.va) va += n * uint64_t{4};
    span.all_dwords(exec);
    return access_span(op, wave, access.shape, span, access.rows);
  });
}

[[gnu::noinline]] bool scratch_block(const MicroOp* op, Wave* wave, uint64_t exec) {
  alignas(64) LaneOffsets all;
  scratch_offsets(details<FlatAccess>(op), wave, all);
  return access_block(op, wave, [&](const FlatAccess& access, unsigned n) {
    alignas(64) LaneOffsets offsets;
    for (unsigned lane = 0; lane < wave->layout.wave_size; ++lane) offsets[lane] = all[lane] + n * 4;
    return access_private(op, wave, access, offsets, exec);
  });
}

Handler handler_of(const isa::Instruction& instruction, const isa::MemoryShape& shape) {
  const bool is_scratch = instruction.encoding == isa::Encoding::kScratch;
  const bool is_global = instruction.encoding == isa::Encoding::kGlobal;
  if (shape.transposes)
    return shape.bytes == 16 ? general_handler<transposing_load<2>> : general_handler<transposing_load<1>>;
  if (shape.is_block) return is_scratch ? general_handler<scratch_block> : general_handler<global_block>;
  if (instruction.lds) {
    return is_scratch  ? general_handler<load_to_lds<scratch_general>>
           : is_global ? general_handler<load_to_lds<global_general>>
                       : general_handler<load_to_lds<flat_general>>;
  }
  return is_scratch  ? general_handler<scratch_general>
         : is_global ? general_handler<global_general>
                     : general_handler<flat_general>;
}

}  // namespace

Refusal lower_flat(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  if (instruction.op == Op::global_inv || instruction.op == Op::global_wb ||
      instruction.op == Op::global_wbinv) {
    // As for buffer_gl0_inv: a work-group needs no fence.
    if (instruction.scope >= isa::kScopeDevice) out.emit(fence);
    return {};
  }
  const RegisterLayout& layout = context.layout;
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op, context.traits());
  // The wave ID at which the count starts again is in a register of graphics.
  if (shape == nullptr) return "ordered atomics are not supported";
  if (shape->transposes && layout.wave_size != 32)
    return "loads that transpose are not supported in waves of 64";
  const isa::Encoding encoding = instruction.encoding;
  const bool null_base = instruction.saddr.code == isa::code::kNull;  // gfx10
  FlatAccess access;
  access.shape = *shape;
  access.has_saddr = instruction.saddr.exists() && !null_base;
  access.has_vaddr = instruction.vaddr.exists() && instruction.vaddr.is_vgpr();
  access.offset = access.global_offset = instruction.offset;
  const isa::Traits& traits = context.traits();
  if (encoding == isa::Encoding::kFlat && traits.flat_drops_offset) access.global_offset = 0;
  access.flat_scratch = scalar_offset(traits.flat_scratch_is_hidden ? kFlatScratchSlot : kFlatScratchSgpr);
  access.is_relative_to_base = traits.flat_scratch_counts_from_base;
  const bool two_operands = shape->verb == Verb::kAtomic && has_two_operands(shape->atomic);
  const unsigned dwords = shape->dwords();
  const unsigned data_dwords = dwords * (two_operands ? 2 : 1);
  const unsigned address_dwords = encoding == isa::Encoding::kScratch || access.has_saddr ? 1 : 2;
  // Which registers of a block must exist depends on M0.
  const bool has_data = shape->is_block || (in_file(instruction.vdata, data_dwords, layout) &&
                                            in_file(instruction.vdst, dwords, layout));
  if (!has_data || !in_file(instruction.vaddr, address_dwords, layout)) return kRefuseRegister;
  if (access.has_vaddr) access.vaddr = layout.vgpr_offset(instruction.vaddr.vgpr());
  if (access.has_saddr) access.saddr = scalar_offset(instruction.saddr.code);
  row_offset(instruction.vdata, layout, access.rows.data);
  row_offset(instruction.vdst, layout, access.rows.result);
  access.rows.returns = instruction.glc && instruction.vdst.is_row();
  access.transposed = access.rows.result;
  if (instruction.lds || shape->transposes) access.rows.result = layout.temporary_offset(0);
  if (shape->is_block) {
    const isa::Operand& block = instruction.vdst.exists() ? instruction.vdst : instruction.vdata;
    if (!block.is_vgpr()) return kRefuseRegister;
    access.block_registers = layout.vgprs - std::min<uint32_t>(layout.vgprs, block.vgpr());
  }

  if (instruction.glc && shape->verb == Verb::kLoad && encoding != isa::Encoding::kScratch) out.emit(fence);
  out.emit(handler_of(instruction, *shape)).imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
