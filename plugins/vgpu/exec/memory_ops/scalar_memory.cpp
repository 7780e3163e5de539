// SMEM: scalar loads, stores and atomics, clocks and cache operations.
//
// The two lowest bits of every part of an address are ignored, as the manuals specify, except by loads of
// bytes and halves. Buffers are checked per dword. Dwords out of range load as zero and are not stored.
#include <algorithm>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

struct ScalarAccess {
  Shape shape;
  uint32_t base = 0;  // offset of the address or the buffer descriptor
  uint32_t data = 0;
  bool buffer = false;
  bool returns = false;
  ScalarSource soffset;
  uint32_t soffset_scale = 1;
  int32_t offset = 0;
};

struct Place {
  uint64_t va;
  uint64_t bytes;
};

Place place_of(const ScalarAccess& access, const std::byte* registers) {
  const uint64_t kept = ~(std::min<uint64_t>(access.shape.bytes, 4) - 1);
  const uint64_t base = scalar64(registers, access.base);
  const uint64_t offset = (static_cast<uint64_t>(int64_t{access.offset}) & kept) +
                          (access.soffset.read(registers) & kept) * access.soffset_scale;
  if (!access.buffer) return {(base & kept) + offset, ~uint64_t{0}};
  const uint64_t stride = base >> 48 & 0x3fff;
  const uint64_t records = scalar(registers, access.base + 8);
  const uint64_t size = stride == 0 ? records : records * stride;
  return {(base & 0xffffffffffff & kept) + offset, offset < size ? size - offset : 0};
}

// Reports an access of the whole wave to the checks, as that of its first lane.
[[maybe_unused]] void report_to_checks(const Wave& wave, Verb verb, uint64_t va, uint64_t bytes) {
  if (bytes == 0) return;
  LaneAccesses accesses;
  accesses.kind = access_kind(verb);
  accesses.bytes = static_cast<uint32_t>(bytes);
  accesses.lanes = 1;
  accesses.is_scalar = true;
  accesses.at[0] = va;
  checks::access_memory(wave, accesses);
}

[[gnu::noinline]] bool load_general(const MicroOp* op, Wave* wave) {
  const auto& access = details<ScalarAccess>(op);
  const Place place = place_of(access, wave->registers);
  const uint64_t bytes = std::min<uint64_t>(access.shape.bytes, place.bytes & ~uint64_t{3});
  uint32_t values[16] = {};
  VmFault fault;
  if constexpr (kChecked) {
    if (!checks::move_scalars(*wave, false, place.va, static_cast<uint32_t>(bytes / 4), access.data / 4))
      return false;
    report_to_checks(*wave, Verb::kLoad, place.va, bytes);
  }
  if (!wave->memory->read(place.va, values, bytes, fault)) return stop_with(wave, fault);
  std::memcpy(wave->registers + access.data, values, access.shape.bytes);
  return true;
}

// Bytes and halves, extended to a dword.
bool load_part_general(const MicroOp* op, Wave* wave) {
  const auto& access = details<ScalarAccess>(op);
  const Place place = place_of(access, wave->registers);
  const uint32_t size = access.shape.bytes, bytes = place.bytes < size ? 0 : size;
  if constexpr (kChecked) report_to_checks(*wave, Verb::kLoad, place.va, bytes);
  uint32_t value = 0;
  VmFault fault;
  if (!wave->memory->read(place.va, &value, bytes, fault)) return stop_with(wave, fault);
  const uint32_t unused = 32 - 8 * size;
  if (access.shape.sign) value = static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
  std::memcpy(wave->registers + access.data, &value, sizeof value);
  return true;
}

// src[0]: address; src[1]: register offset, or a constant 0; imm: details; aux: offset.
template <unsigned N, bool kRegisterOffset>
void load(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  uint64_t va = (scalar64(registers, op->src[0].offset) & ~uint64_t{3}) +
                static_cast<uint64_t>(int64_t{static_cast<int32_t>(op->aux)});
  if constexpr (kRegisterOffset) va += scalar(registers, op->src[1].offset) & ~3u;
  if constexpr (kChecked) {
    if (!load_general(op, wave)) RIGEL_LEAVE(op, wave);
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  if (const std::byte* host = wave->memory->find(op, va, N * 4, Access::kRead)) [[likely]] {
    uint32_t values[N];
    load_element<N>(values, host);
    std::memcpy(registers + op->dst, values, sizeof values);
  } else if (!load_general(op, wave)) {
    RIGEL_LEAVE(op, wave);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <bool kRegisterOffset>
Handler load_handler(unsigned dwords) {
  switch (dwords) {
    case 1:
      return load<1, kRegisterOffset>;
    case 2:
      return load<2, kRegisterOffset>;
    case 3:
      return load<3, kRegisterOffset>;
    case 4:
      return load<4, kRegisterOffset>;
    case 8:
      return load<8, kRegisterOffset>;
    default:
      return load<16, kRegisterOffset>;
  }
}

bool store_general(const MicroOp* op, Wave* wave) {
  const auto& access = details<ScalarAccess>(op);
  const Place place = place_of(access, wave->registers);
  const uint64_t bytes = std::min<uint64_t>(access.shape.bytes, place.bytes & ~uint64_t{3});
  if constexpr (kChecked) {
    if (!checks::move_scalars(*wave, true, place.va, static_cast<uint32_t>(bytes / 4), access.data / 4))
      return false;
    report_to_checks(*wave, Verb::kStore, place.va, bytes);
  }
  VmFault fault;
  return wave->memory->write(place.va, wave->registers + access.data, bytes, fault) || stop_with(wave, fault);
}

template <Atomic kAtomic, class T>
bool atomic(const MicroOp* op, Wave* wave, const ScalarAccess& access, uint64_t va) {
  va &= ~uint64_t{sizeof(T) - 1};
  if constexpr (kChecked) report_to_checks(*wave, Verb::kAtomic, va, sizeof(T));
  std::byte* const host = wave->memory->find(op, va, sizeof(T), Access::kWrite);
  if (host == nullptr) {
    return stop_with(wave, {va, Access::kWrite, wave->memory->run(va, sizeof(T), Access::kWrite).reason, 0});
  }
  T operands[2] = {};
  std::memcpy(operands, wave->registers + access.data, sizeof(T) * (has_two_operands(kAtomic) ? 2 : 1));
  const T old = atomically<kAtomic>(reinterpret_cast<T*>(host), operands[0], operands[1]);
  if (access.returns) std::memcpy(wave->registers + access.data, &old, sizeof old);
  return true;
}

bool atomic_general(const MicroOp* op, Wave* wave) {
  const auto& access = details<ScalarAccess>(op);
  const Place place = place_of(access, wave->registers);
  if (place.bytes < access.shape.bytes) {
    if (access.returns) std::memset(wave->registers + access.data, 0, access.shape.bytes);
    return true;
  }
  bool succeeded = false;
  with_atomic(access.shape.atomic, [&](auto kind) {
    succeeded = access.shape.bytes == 8 ? atomic<kind.value, uint64_t>(op, wave, access, place.va)
                                        : atomic<kind.value, uint32_t>(op, wave, access, place.va);
  });
  return succeeded;
}

// Scalar memory instructions ignore EXEC.
template <bool (*kGeneral)(const MicroOp*, Wave*)>
void scalar_handler(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (!kGeneral(op, wave)) RIGEL_LEAVE(op, wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <uint64_t (Core::*kClock)()>
void read_clock(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  store_as<uint64_t>(registers + op->dst, (wave->core->*kClock)());
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void wave_id_in_group(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  store_as<uint32_t>(registers + op->dst, wave->id_in_group);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Returns the register offset of the loaded or stored data. If a group of registers starts with NULL, all
// of it is NULL.
uint32_t place_of_data(const isa::Operand& data, bool is_read, Emitter& out) {
  if (!data.is_null()) return scalar_offset(data.code);
  if (!is_read) return scalar_offset(kSinkSlot);
  for (uint32_t i = 0; i < data.dwords; i += 2) {
    out.emit(scalar::put_constant).dst = scalar_offset(kScalarTemporary + i);
  }
  return scalar_offset(kScalarTemporary);
}

}  // namespace

Refusal lower_scalar_memory(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  const auto to_scalar = [&](Handler handler) {
    const uint32_t dst = place_of_data(instruction.vdst, false, out);
    out.emit(handler).dst = dst;
    if (scalar::touches_exec(dst, instruction.vdst.dwords)) scalar::emit_take_exec(out);
  };
  switch (instruction.op) {
    case Op::s_dcache_inv:
    case Op::s_dcache_inv_vol:
    case Op::s_dcache_wb:
    case Op::s_dcache_wb_vol:
    case Op::s_gl1_inv:
      out.emit(fence);
      return {};
    case Op::s_dcache_discard:  // discards cache lines; there is no cache
    case Op::s_dcache_discard_x2:
    case Op::s_prefetch_data:
    case Op::s_prefetch_data_pc_rel:
    case Op::s_prefetch_inst:
    case Op::s_prefetch_inst_pc_rel:
    case Op::s_buffer_prefetch_data:
    case Op::s_atc_probe:  // prefetches translations
    case Op::s_atc_probe_buffer:
      return {};
    case Op::s_memtime:
      to_scalar(read_clock<&Core::shader_clock>);
      return {};
    case Op::s_memrealtime:
      to_scalar(read_clock<&Core::reference_clock>);
      return {};
    case Op::s_get_waveid_in_workgroup:
      to_scalar(wave_id_in_group);
      return {};
    default:
      break;
  }
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  if (!shape) return "scalar memory instruction is not supported";
  ScalarAccess access;
  access.shape = *shape;
  access.base = scalar_offset(instruction.saddr.code);
  const isa::Operand& data = shape->verb == Verb::kLoad ? instruction.vdst : instruction.vdata;
  const isa::Operand& target = data.exists() ? data : instruction.vdst;
  const bool is_valid = target.is_scalar_register() || (target.is_null() && context.traits().has_null);
  if (!is_valid || !instruction.saddr.is_scalar_register()) return kRefuseRegister;
  access.data = place_of_data(target, shape->verb != Verb::kLoad, out);
  access.buffer = shape->space == isa::Space::kBuffer;
  access.returns = instruction.glc;
  access.offset = instruction.offset;
  if (!scalar_source(instruction, context.traits(), access.soffset)) return kRefuseRegister;
  if (shape->space == isa::Space::kScratch) access.soffset_scale = 64;

  Handler handler = nullptr;
  if (shape->verb == Verb::kStore) {
    handler = scalar_handler<store_general>;
  } else if (shape->verb == Verb::kAtomic) {
    handler = scalar_handler<atomic_general>;
  } else if (shape->bytes < 4) {
    handler = scalar_handler<load_part_general>;
  } else if (access.buffer || access.soffset_scale != 1) {
    handler = scalar_handler<load_general>;
  } else {
    handler = access.soffset.is_register ? load_handler<true>(shape->dwords())
                                         : load_handler<false>(shape->dwords());
  }
  if (instruction.glc && shape->verb == Verb::kLoad) out.emit(fence);
  MicroOp& op = out.emit(handler);
  op.src[0].offset = access.base;
  op.src[1].offset = access.soffset.offset;
  op.dst = access.data;
  op.aux = static_cast<uint32_t>((access.offset & ~3) + static_cast<int32_t>(access.soffset.constant & ~3u));
  op.imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  const bool writes = shape->verb == Verb::kLoad || (shape->verb == Verb::kAtomic && access.returns);
  if (writes && scalar::touches_exec(access.data, shape->dwords())) scalar::emit_take_exec(out);
  return {};
}

void fence(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
