// DS instructions: the work-group's LDS, and the device's GDS. Host atomics are not needed: a work-group
// runs on one thread, and an instruction locks GDS.
//
// An element that does not end below the limit loads as zero and is not stored. Two-address instructions
// check each element separately. The limit is the allocated size; on gfx8 M0 lowers it. Addresses wrap at
// 2^32. Unaligned elements are accessed at their address on gfx9 and later. On gfx8, and for atomics, the
// address is aligned down.
#include <algorithm>
#include <optional>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

struct LdsAccess {
  Shape shape;
  DataRows rows;
  uint32_t second_data = 0;  // second operand, or second element of a pair
  uint32_t address = 0;
  uint32_t offsets[2] = {};
  uint32_t alignment = 1;
  bool m0_limits = false;
  bool global = false;  // GDS
  uint32_t mxcsr = kDefaultMxcsr;
};

uint32_t limit_of(const Wave* wave, bool m0_limits) {
  const uint32_t bytes = wave->group->lds_bytes;
  return m0_limits ? std::min(bytes, scalar(wave->registers, scalar_offset(isa::code::kM0))) : bytes;
}

template <unsigned W>
uint64_t lanes_in_range(const uint32_t* offsets, uint64_t exec, uint32_t bytes, uint32_t limit) {
  return limit < bytes ? 0 : exec & lanes_up_to<W>(offsets, limit - bytes);
}

// LDS offsets as a Span, so that load_at_distance() and store_at_distance() access LDS with its host
// address as the distance.
template <unsigned W>
Span span_of(const uint32_t* offsets, uint64_t inside) {
  Span span;
  for (unsigned lane = 0; lane < W; ++lane) span.va[lane] = offsets[lane];
  span.all_dwords(inside);
  return span;
}

struct LdsOperands {
  uint32_t first = 0;  // first row
  uint32_t second = 0;
  uint32_t result = 0;
  bool returns = false;
  bool reversed = true;  // operand order of DS instructions (next_in_lds); false for FLAT
  uint32_t mxcsr = kDefaultMxcsr;
};

template <unsigned W, Atomic kAtomic, class T>
void atomic_elements(const Wave* wave, const uint32_t* offsets, uint64_t inside,
                     const LdsOperands& operands) {
  std::byte* const lds = wave->group->lds;
  const uint32_t* const first = row(wave->registers, operands.first);
  const uint32_t* const second = row(wave->registers, operands.second);
  uint32_t* const result = row(wave->registers, operands.result);
  const bool returns = operands.returns, reversed = operands.reversed;
  for_lanes<W>(inside, [&](unsigned lane) {
    std::byte* const address = lds + offsets[lane];
    const T a = operand<T>(first, lane, W);
    const T b = has_two_operands(kAtomic) ? operand<T>(second, lane, W) : 0;
    const T old = load_as<T>(address);
    store_as(address, reversed ? next_in_lds<kAtomic, T>(old, a, b) : next_value<kAtomic, T>(old, a, b));
    if (returns) put_result(result, lane, W, old);
  });
}

// Returns false if the handler must leave.
template <unsigned W>
bool access_elements(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec, uint32_t limit,
                     const LdsOperands& operands) {
  const uint64_t inside = lanes_in_range<W>(offsets, exec, shape.bytes, limit);
  if constexpr (kChecked) {
    const MovedData moved{&shape, operands.first, operands.result, operands.returns};
    if (!checks::move_lds(*wave, moved, offsets, inside)) return false;
    LaneAccesses accesses;
    accesses.kind = access_kind(shape.verb);
    accesses.bytes = shape.bytes;
    accesses.compares = shape.verb == Verb::kAtomic &&
                        (shape.atomic == Atomic::kCmpSwap || shape.atomic == Atomic::kFloatCmpSwap);
    accesses.lanes = exec;
    for (unsigned lane = 0; lane < W; ++lane) accesses.at[lane] = offsets[lane];
    if (shape.verb == Verb::kStore) accesses.data = row(wave->registers, operands.first);
    checks::access_lds(*wave, accesses, limit);
  }
  const auto lds = reinterpret_cast<uintptr_t>(wave->group->lds);
  switch (shape.verb) {
    case Verb::kLoad:
      load_at_distance(shape, span_of<W>(offsets, inside), lds, W, wave->registers + operands.result);
      break;
    case Verb::kStore:
      store_at_distance(shape, span_of<W>(offsets, inside), lds, W, wave->registers + operands.first);
      return true;
    case Verb::kAtomic: {
      std::optional<MxcsrScope> environment;
      if (is_float(shape.atomic)) environment.emplace(operands.mxcsr);
      with_atomic(shape.atomic, [&](auto atomic) {
        shape.bytes == 8 ? atomic_elements<W, atomic.value, uint64_t>(wave, offsets, inside, operands)
                         : atomic_elements<W, atomic.value, uint32_t>(wave, offsets, inside, operands);
      });
      if (!operands.returns) return true;
    }
  }
  if (inside != exec) zero_results(wave, shape, operands.result, {inside, inside, inside, inside}, exec);
  return true;
}

struct Offsets {
  alignas(64) uint32_t by_lane[64];
};

void stop_without_gds(const MicroOp* op, Wave* wave) {
  wave->stop = Stop::kIllegal;
  wave->illegal_reason = "this GPU has no global data share";
  leave_at(op, wave);
}

template <unsigned W>
void make_offsets(const Wave* wave, const LdsAccess& access, unsigned which, Offsets& offsets) {
  const uint32_t mask = ~(access.alignment - 1);
  uint32_t base = access.offsets[which];
  if (access.shape.addtid) {
    if (!access.global) base += scalar(wave->registers, scalar_offset(isa::code::kM0)) & 0xffff;
    for (unsigned lane = 0; lane < W; ++lane) offsets.by_lane[lane] = (base + lane * 4) & mask;
  } else {
    const uint32_t* const addresses = row(wave->registers, access.address);
    for (unsigned lane = 0; lane < W; ++lane) offsets.by_lane[lane] = (base + addresses[lane]) & mask;
  }
}

// Returns the distance of a src2 instruction's operand from its result. If the offset does not contain it,
// the upper bits of the address do.
uint32_t second_source(uint32_t address, uint32_t offset) {
  const auto relative =
      (offset & 0x8000) != 0 ? static_cast<int32_t>(address) >> 17 : static_cast<int32_t>(offset << 17) >> 17;
  return static_cast<uint32_t>(relative) * 4;
}

void source2(const Wave* wave, const LdsAccess& access, uint64_t exec, uint32_t limit) {
  const uint32_t bytes = access.shape.bytes;
  const uint32_t* const addresses = row(wave->registers, access.address);
  std::optional<MxcsrScope> environment;
  if (is_float(access.shape.atomic)) environment.emplace(access.mxcsr);
  std::byte* const lds = wave->group->lds;
  for (const unsigned lane : lanes_of(exec)) {
    const uint32_t address = addresses[lane];
    const uint32_t destination = (access.offsets[0] & 0x8000) != 0 ? address & 0x1ffff : address;
    const uint32_t source_address = (destination + second_source(address, access.offsets[0])) & ~(bytes - 1);
    const uint32_t result_address = destination & ~(bytes - 1);
    if (limit < bytes || result_address > limit - bytes) continue;
    uint64_t source = 0, old = 0;
    if (source_address <= limit - bytes) std::memcpy(&source, lds + source_address, bytes);
    std::memcpy(&old, lds + result_address, bytes);
    with_atomic(access.shape.atomic, [&](auto atomic) {
      if (bytes == 8) {
        store_as(lds + result_address, next_value<atomic.value, uint64_t>(old, source, 0));
      } else {
        store_as(lds + result_address, next_value<atomic.value, uint32_t>(static_cast<uint32_t>(old),
                                                                          static_cast<uint32_t>(source), 0));
      }
    });
  }
}

template <unsigned W>
bool lds_any(Wave* wave, const LdsAccess& access, uint64_t exec) {
  const uint32_t limit = limit_of(wave, access.m0_limits);
  const Shape& shape = access.shape;
  if (shape.source2) {
    source2(wave, access, exec, limit);
    return true;
  }
  const unsigned elements = shape.pair ? 2 : 1;
  Offsets offsets[2];
  for (unsigned i = 0; i < elements; ++i) make_offsets<W>(wave, access, i, offsets[i]);
  uint32_t second_data = access.second_data;
  if (shape.pair && shape.verb == Verb::kAtomic) {  // the first exchange may return its result there
    second_data = wave->layout.temporary_offset(0);
    std::memcpy(wave->registers + second_data, wave->registers + access.second_data,
                shape.dwords() * wave->layout.row_bytes());
  }
  for (unsigned i = 0; i < elements; ++i) {
    const LdsOperands operands{i == 0 ? access.rows.data : second_data,
                               second_data,
                               access.rows.result + i * shape.dwords() * W * 4,
                               shape.returns,
                               true,
                               access.mxcsr};
    if (!access_elements<W>(wave, shape, offsets[i].by_lane, exec, limit, operands)) return false;
  }
  return true;
}

[[gnu::noinline]] bool lds_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<LdsAccess>(op);
  return wave->layout.wave_size == 64 ? lds_any<64>(wave, access, exec) : lds_any<32>(wave, access, exec);
}

// Append and consume: add or subtract the number of active lanes. The counter's address is in M0, which
// therefore is not a limit. dst2: GDS; imm: append.
void count_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0) {
    const auto count = [&](std::byte* bytes, uint32_t limit, uint32_t address) -> uint32_t {
      address &= ~uint32_t{3};
      if (limit < 4 || address > limit - 4) return 0;
      const auto lanes = static_cast<uint32_t>(std::popcount(exec));
      const auto old = load_as<uint32_t>(bytes + address);
      store_as(bytes + address, op->imm != 0 ? old + lanes : old - lanes);
      return old;
    };
    const uint32_t m0 = scalar(registers, scalar_offset(isa::code::kM0));
    uint32_t old = 0;
    if (op->dst2 == 0) {
      old = count(wave->group->lds, wave->group->lds_bytes, (m0 & 0xffff) + op->aux);
    } else {
      GlobalDataShare* const share = wave->core->global_data_share();
      if (share == nullptr) return stop_without_gds(op, wave);
      GlobalDataShare::Held held(*share);
      old = count(held.bytes(), GlobalDataShare::kBytes, (m0 >> 16) + op->aux);
    }
    for_lanes<64>(exec, [&](unsigned lane) { row(registers, op->dst)[lane] = old; });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Executes an LDS instruction on GDS: a window from M0's upper half on, whose size is M0's lower half.
bool gds_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  GlobalDataShare* const share = wave->core->global_data_share();
  if (share == nullptr) {
    stop_without_gds(op, wave);
    return false;
  }
  const uint32_t m0 = scalar(wave->registers, scalar_offset(isa::code::kM0));
  const uint32_t base = m0 >> 16;
  GlobalDataShare::Held held(*share);
  WorkGroup window;
  window.lds = held.bytes() + base;
  window.lds_bytes = std::min(m0 & 0xffff, GlobalDataShare::kBytes - base);
  WorkGroup* const group = wave->group;
  wave->group = &window;
  lds_general(op, wave, exec);
  wave->group = group;
  return true;
}

// Counters of GDS that work-groups access in the order in which they started. Fields of the offset: bits
// 7:2 counter; bit 8 end of the work-group's turn; bits 13:12 operation; gfx10 bits 15:14 number of further
// counters, one per lane from the first active lane on. aux: offset; src[0]: values.
void ordered_count(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  GlobalDataShare* const share = wave->core->global_data_share();
  if (share == nullptr) return stop_without_gds(op, wave);
  if (!wave->core->is_ordered_turn(*wave)) {
    wave->stop = Stop::kSleep;
    RIGEL_LEAVE(op, wave);
  }
  const uint32_t offset = op->aux;
  const uint32_t count = 1 + static_cast<uint32_t>(op->imm);
  const uint32_t base = (scalar(registers, scalar_offset(isa::code::kM0)) >> 16) + (offset & 0xfc);
  const bool exchange = (offset >> 12 & 3) == 1;
  if (exec != 0) {
    const uint32_t* const values = row(registers, op->src[0].offset);
    const unsigned first = first_lane(exec);
    uint32_t olds[4] = {};
    {
      GlobalDataShare::Held held(*share);
      for (uint32_t i = 0; i < count && i < 64 - first; ++i) {
        const uint32_t address = (base & ~3u) + i * 4;
        if ((exec >> (first + i) & 1) == 0 || address > GlobalDataShare::kBytes - 4) continue;
        olds[i] = load_as<uint32_t>(held.bytes() + address);
        store_as(held.bytes() + address, exchange ? values[first + i] : olds[i] + values[first + i]);
      }
    }
    uint32_t* const result = row(registers, op->dst);
    for_lanes<64>(exec, [&](unsigned lane) { result[lane] = olds[lane - first < count ? lane - first : 0]; });
  }
  if ((offset & 0x100) != 0) wave->core->end_ordered_turn(*wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Refusal lower_ordered_count(const isa::Instruction& instruction, const LoweringContext& context,
                            Emitter& out) {
  const RegisterLayout& layout = context.layout;
  const auto offset = static_cast<uint32_t>(instruction.offset);
  if ((offset >> 12 & 3) > 1) return "unknown ordered operation";
  if (!instruction.vaddr.is_vgpr() || !instruction.vdst.is_vgpr() || !in_file(instruction.vaddr, 1, layout) ||
      !in_file(instruction.vdst, 1, layout)) {
    return kRefuseRegister;
  }
  MicroOp& op = out.emit(ordered_count);
  op.src[0].offset = layout.vgpr_offset(instruction.vaddr.vgpr());
  op.dst = layout.vgpr_offset(instruction.vdst.vgpr());
  op.aux = offset;
  op.imm = context.traits().ordered_count_has_dwords ? offset >> 14 & 3 : 0;
  return {};
}

}  // namespace

template <unsigned W>
bool access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec,
                const DataRows& rows) {
  Offsets aligned;
  const uint32_t mask = shape.verb == Verb::kAtomic ? ~(shape.bytes - 1u) : ~0u;
  for (unsigned lane = 0; lane < W; ++lane) aligned.by_lane[lane] = offsets[lane] & mask;
  return access_elements<W>(
      wave, shape, aligned.by_lane, exec, wave->group->lds_bytes,
      {rows.data, rows.data + shape.dwords() * W * 4, rows.result, rows.returns, false, kDefaultMxcsr});
}

bool access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec,
                const DataRows& rows) {
  return wave->layout.wave_size == 64 ? access_lds<64>(wave, shape, offsets, exec, rows)
                                      : access_lds<32>(wave, shape, offsets, exec, rows);
}

void access_lds_in_order(Wave* wave, Verb verb, uint32_t offset, uint64_t exec, uint32_t data) {
  const uint32_t base = (scalar(wave->registers, scalar_offset(isa::code::kM0)) & 0xffff) + offset;
  alignas(64) uint32_t offsets[64];
  for (uint32_t lane = 0; lane < 64; ++lane) offsets[lane] = base + lane * 4;
  Shape dword;
  dword.verb = verb;
  access_lds(wave, dword, offsets, exec, {data, data, false});
}

Refusal lower_lds(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  const RegisterLayout& layout = context.layout;
  const Op name = instruction.op;
  if (name == Op::ds_nop) return {};
  if constexpr (!kChecked) {  // It accesses no memory.
    if (is_lane_exchange(name)) return lower_lane_exchange(instruction, context, out);
  }
  if (isa::op_class(name) == isa::OpClass::kGlobalSync) return lower_gws(instruction, context, out);
  if (name == Op::ds_ordered_count) return lower_ordered_count(instruction, context, out);
  const bool m0_limits = context.traits().m0_limits_lds;
  if (name == Op::ds_append || name == Op::ds_consume) {
    if (!in_file(instruction.vdst, 1, layout)) return kRefuseRegister;
    MicroOp& op = out.emit(count_lanes);
    row_offset(instruction.vdst, layout, op.dst);
    op.dst2 = instruction.gds;
    op.aux = static_cast<uint32_t>(instruction.offset);
    op.imm = name == Op::ds_append;
    return {};
  }
  const isa::MemoryShape* const shape = isa::memory_shape(name, context.traits());
  if (name == Op::ds_bvh_stack_rtn_b32) return "stacks of ray tracing are not supported";
  if (name == Op::ds_add_gs_reg_rtn || name == Op::ds_sub_gs_reg_rtn)
    return "registers of geometry shaders are not supported";
  if (!shape) return "DS instruction is not supported";

  LdsAccess access;
  access.shape = *shape;
  const unsigned elements = shape->pair ? 2 : 1;
  if (!in_file(instruction.vaddr, 1, layout) || !in_file(instruction.vdata, shape->dwords(), layout) ||
      !in_file(instruction.vdata2, shape->dwords(), layout) ||
      !in_file(instruction.vdst, shape->dwords() * elements, layout)) {
    return kRefuseRegister;
  }
  const auto rows_of = [&](const isa::Operand& operand) {
    uint32_t offset = 0;
    row_offset(operand, layout, offset);
    return offset;
  };
  access.address = rows_of(instruction.vaddr);
  access.rows.data = rows_of(instruction.vdata);
  access.rows.result = rows_of(instruction.vdst);
  access.second_data = rows_of(instruction.vdata2);
  const uint32_t unit = shape->pair ? shape->bytes * (shape->far_pair ? 64u : 1u) : 1u;
  access.offsets[0] = static_cast<uint32_t>(instruction.offset) * unit;
  access.offsets[1] = instruction.offset1 * unit;
  access.global = instruction.gds;
  access.m0_limits = m0_limits && !access.global;
  if (m0_limits || shape->verb == Verb::kAtomic) access.alignment = shape->bytes == 12 ? 16 : shape->bytes;
  uint8_t denormals = shape->bytes == 8 ? context.mode.denorm64 : context.mode.denorm32;
  const bool is_packed = shape->atomic == Atomic::kPackedAddF16 || shape->atomic == Atomic::kPackedAddBf16;
  if ((shape->bytes == 8 && shape->atomic == Atomic::kFloatAdd) || is_packed) denormals = 3;
  access.mxcsr = 0x1f80u | ((denormals & 1) == 0 ? 0x40u : 0u) | ((denormals & 2) == 0 ? 0x8000u : 0u);

  out.emit(access.global ? general_handler<gds_general> : general_handler<lds_general>).imm =
      reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
