// FLAT, GLOBAL and SCRATCH.
#include <algorithm>

#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

// Details of an instruction; the fast handlers have what they need in the MicroOp as well: src[0] the address
// rows, src[1] the scalar address, src[2] the data, dst the result, aux the offset.
struct FlatAccess {
  Shape shape;
  DataRows rows;
  bool has_vaddr = false;
  bool has_saddr = false;
  uint32_t vaddr = 0;
  uint32_t saddr = 0;
  int32_t offset = 0;
  int32_t global_offset = 0;  // FLAT: of lanes in global memory
  uint32_t flat_scratch = 0;  // FLAT_SCRATCH among the scalars
  bool from_base = false;     // gfx8: its high half counts from the process's scratch base
};

// Where the wave's private memory begins, as FLAT_SCRATCH has it. What gfx8 has in the low half, the bytes of
// a lane, is not looked at: the queue's scratch has the same.
uint64_t private_memory(const FlatAccess& access, const Wave* wave) {
  const uint64_t flat_scratch = scalar64(wave->registers, access.flat_scratch);
  return access.from_base ? wave->scratch_base + (flat_scratch >> 32 << 8) : flat_scratch;
}

// Lanes whose offset is beyond their private memory.
bool stop_beyond_private(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec) {
  LaneFaults& faults = wave->memory->lane_faults();
  faults.clear();
  faults.bytes = shape.bytes;
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (uint64_t{offsets[lane]} + shape.bytes <= wave->scratch_lane_bytes) continue;
    faults.add(lane, uint64_t{wave->private_aperture_hi} << 32 | offsets[lane]);
  }
  const Access access = shape.verb == Verb::kLoad ? Access::kRead : Access::kWrite;
  return stop_with(wave, {faults.va[first_lane(faults.lanes)], access, FaultReason::kNotPresent, 0});
}

bool access_private(const MicroOp* op, Wave* wave, const FlatAccess& access, const uint32_t* offsets,
                    uint64_t exec) {
  SwizzledSpan span;
  const uint64_t base = private_memory(access, wave);
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const uint32_t offset = offsets[lane];
    if (uint64_t{offset} + access.shape.bytes > wave->scratch_lane_bytes) {
      return stop_beyond_private(wave, access.shape, offsets, exec);
    }
    span.base[lane] = base + lane * uint64_t{4};
    span.offset[lane] = offset;
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

[[gnu::noinline]] bool scratch_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  alignas(64) uint32_t offsets[64];
  const uint32_t base =
      static_cast<uint32_t>(access.offset) + (access.has_saddr ? scalar(wave->registers, access.saddr) : 0);
  const uint32_t* const own = row(wave->registers, access.vaddr);
  for (unsigned lane = 0; lane < wave->layout.wave_size; ++lane) {
    offsets[lane] = base + (access.has_vaddr ? own[lane] : 0);
  }
  return access_private(op, wave, access, offsets, exec);
}

// Each lane's address says which memory it means.
[[gnu::noinline]] bool flat_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  Span span;
  global_addresses(access, wave, access.offset, span);
  uint64_t shared = 0, own = 0;
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const auto high = static_cast<uint32_t>(span.va[lane] >> 32);
    if (high == wave->shared_aperture_hi) shared |= uint64_t{1} << lane;
    if (high == wave->private_aperture_hi) own |= uint64_t{1} << lane;
  }
  const uint64_t global = exec & ~shared & ~own;
  if ((shared | own) != 0) {
    alignas(64) uint32_t offsets[64];
    for (unsigned lane = 0; lane < 64; ++lane) offsets[lane] = 0;
    for (uint64_t left = shared | own; left != 0; left &= left - 1) {
      offsets[first_lane(left)] = static_cast<uint32_t>(span.va[first_lane(left)]);
    }
    // The data may be where the addresses are; both are still to be read by lanes of their own only.
    if (shared != 0) {
      access_lds(wave, access.shape, offsets, shared, wave->group->lds_bytes, access.rows);
    }
    if (own != 0 && !access_private(op, wave, access, offsets, own)) return false;
    if (global == 0) return true;
  }
  if (access.global_offset != access.offset) {
    const auto back = static_cast<uint64_t>(int64_t{access.global_offset} - access.offset);
    for (uint64_t& va : span.va) va += back;
  }
  span.all_dwords(global);
  return access_span(op, wave, access.shape, span, access.rows);
}

// Loads that go to LDS, each lane's to the dword of its number from M0 and the offset on. By way of a
// temporary row.
template <bool (*kGeneral)(const MicroOp*, Wave*, uint64_t)>
bool load_to_lds(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<FlatAccess>(op);
  if (!kGeneral(op, wave, exec)) return false;
  const uint32_t base = (scalar(wave->registers, scalar_offset(isa::code::kM0)) & 0xffff) +
                        static_cast<uint32_t>(access.offset);
  alignas(64) uint32_t offsets[64];
  for (uint32_t lane = 0; lane < 64; ++lane) offsets[lane] = base + lane * 4;
  Shape dword;
  dword.verb = Verb::kStore;
  access_lds(wave, dword, offsets, exec, wave->group->lds_bytes,
             {access.rows.result, access.rows.result, false});
  return true;
}

enum class Segment : uint8_t { kFlat, kGlobal };

// Whether lanes' addresses differ in their low halves alone: if so, what is to be added to these.
template <Segment kSegment, unsigned W, bool kScalarBase>
[[gnu::always_inline]] inline bool find_base(const MicroOp* op, const Wave* wave, const std::byte* registers,
                                             const uint32_t* low, uint64_t exec, uint64_t& base) {
  base = static_cast<uint64_t>(int64_t{static_cast<int32_t>(op->aux)});
  if constexpr (kScalarBase) {
    base += scalar64(registers, op->src[1].offset);
  } else {
    const uint32_t high = low[W + first_lane(exec)];
    base += uint64_t{high} << 32;
    if constexpr (kSegment == Segment::kFlat) {
      if (high == wave->shared_aperture_hi || high == wave->private_aperture_hi) return false;
    }
    return is_uniform<W>(low + W, exec, high);
  }
  return true;
}

// What is to be added to the low halves of addresses to have the host's, if all lanes' `bytes` lie in one
// piece of memory; else null.
template <unsigned W>
[[gnu::always_inline]] inline const std::byte* find_all(const MicroOp* op, Wave* wave, const uint32_t* low,
                                                        uint64_t exec, uint64_t base, uint32_t bytes,
                                                        Access access) {
  const WaveMemory::Extent extent =
      wave->memory->find_extent(op, base + low[first_lane(exec)], bytes, access);
  if (extent.host == nullptr) return nullptr;
  // The low halves for which it holds lie between two numbers: the first lane's does, so there are some.
  const auto begin = std::max(static_cast<int64_t>(extent.begin - base), int64_t{0});
  const auto last =
      std::min(static_cast<int64_t>(extent.begin + (extent.bytes - bytes) - base), int64_t{0xffffffff});
  if ((exec & ~lanes_between<W>(low, static_cast<uint32_t>(begin), static_cast<uint32_t>(last))) != 0) {
    return nullptr;
  }
  return reinterpret_cast<const std::byte*>(reinterpret_cast<uintptr_t>(extent.host) + (base - extent.begin));
}

// The way of lanes that follow each other: true if that was all. `kAgain`: only if they are where this
// instruction found memory the last time.
template <Segment kSegment, unsigned W, unsigned N, bool kScalarBase, bool kStore, bool kAgain>
[[gnu::always_inline]] inline bool access_consecutive(const MicroOp* op, Wave* wave, std::byte* registers,
                                                      uint64_t exec) {
  constexpr uint32_t kStep = N * 4;
  constexpr Access kAccess = kStore ? Access::kWrite : Access::kRead;
  const unsigned first = first_lane(exec);
  const uint32_t* const low = row(registers, op->src[0].offset);
  const uint32_t start = low[first];
  const uint32_t bytes = (last_lane(exec) - first + 1) * kStep;
  uint64_t base = 0;
  if (start > 0xffffffff - bytes || !is_ramp<W>(low, exec, start - first * kStep, kStep) ||
      !find_base<kSegment, W, kScalarBase>(op, wave, registers, low, exec, base)) {
    return false;
  }
  std::byte* const host = kAgain ? wave->memory->find_again(op, base + start, bytes, kAccess)
                                 : wave->memory->find(op, base + start, bytes, kAccess);
  if (host == nullptr) [[unlikely]]
    return false;
  if constexpr (kStore) {
    store_consecutive<W, N>(registers + op->src[2].offset, host - first * kStep, exec);
  } else {
    load_consecutive<W, N>(registers + op->dst, host - first * kStep, exec);
  }
  return true;
}

// Loads of lanes that do not follow each other but lie in one piece of memory: all at one place, or anywhere
// in it. What is none of these goes the general way.
template <Segment kSegment, unsigned W, unsigned N, bool kScalarBase>
[[gnu::noinline]] void load_dwords_apart(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  constexpr bool (*kGeneral)(const MicroOp*, Wave*, uint64_t) =
      kSegment == Segment::kFlat ? &flat_general : &global_general;
  if (access_consecutive<kSegment, W, N, kScalarBase, false, false>(op, wave, registers, exec)) {
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  const uint32_t* const low = row(registers, op->src[0].offset);
  std::byte* const rows = registers + op->dst;
  uint64_t base = 0;
  if (!find_base<kSegment, W, kScalarBase>(op, wave, registers, low, exec, base)) [[unlikely]] {
    RIGEL_INSTEAD(general_handler<kGeneral>, op, wave, registers, exec);
  }
  const uint32_t start = low[first_lane(exec)];
  if (is_uniform<W>(low, exec, start)) {
    const std::byte* const host = wave->memory->find(op, base + start, N * 4, Access::kRead);
    if (host == nullptr) [[unlikely]] {
      RIGEL_INSTEAD(general_handler<kGeneral>, op, wave, registers, exec);
    }
    uint32_t values[N];
    std::memcpy(values, host, sizeof values);
    for (unsigned d = 0; d < N; ++d) fill_row<W>(row(rows, d * W * 4), values[d], exec);
    RIGEL_NEXT(op + 1, wave, registers, exec);
  }
  const std::byte* const host = find_all<W>(op, wave, low, exec, base, N * 4, Access::kRead);
  if (host == nullptr) [[unlikely]] {
    RIGEL_INSTEAD(general_handler<kGeneral>, op, wave, registers, exec);
  }
  load_each<W, N>(row(rows, 0), exec, [&](unsigned lane) { return host + low[lane]; });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Stores of lanes that do not follow each other, or not where this instruction found memory the last time.
template <Segment kSegment, unsigned W, unsigned N, bool kScalarBase>
[[gnu::noinline]] void store_dwords_apart(const MicroOp* op, Wave* wave, std::byte* registers,
                                          uint64_t exec) {
  constexpr bool (*kGeneral)(const MicroOp*, Wave*, uint64_t) =
      kSegment == Segment::kFlat ? &flat_general : &global_general;
  if (!access_consecutive<kSegment, W, N, kScalarBase, true, false>(op, wave, registers, exec)) {
    RIGEL_INSTEAD(general_handler<kGeneral>, op, wave, registers, exec);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Dwords of lanes that follow each other, which is what most kernels do most of the time.
template <Segment kSegment, unsigned W, unsigned N, bool kScalarBase, bool kStore>
void dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0) [[likely]] {
    constexpr Handler kApart = kStore ? store_dwords_apart<kSegment, W, N, kScalarBase>
                                      : load_dwords_apart<kSegment, W, N, kScalarBase>;
    if (!access_consecutive<kSegment, W, N, kScalarBase, kStore, true>(op, wave, registers, exec)) {
      RIGEL_INSTEAD(kApart, op, wave, registers, exec);
    }
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <Segment kSegment, unsigned W, bool kScalarBase, bool kStore>
Handler dwords_handler(unsigned count) {
  static constexpr Handler kHandlers[] = {
      dwords<kSegment, W, 1, kScalarBase, kStore>, dwords<kSegment, W, 2, kScalarBase, kStore>,
      dwords<kSegment, W, 3, kScalarBase, kStore>, dwords<kSegment, W, 4, kScalarBase, kStore>};
  return kHandlers[count - 1];
}

template <Segment kSegment>
Handler dwords_handler(const FlatAccess& access, unsigned wave_size) {
  const unsigned count = access.shape.dwords();
  const bool store = access.shape.verb == Verb::kStore;
  const auto of_width = [&]<unsigned W>() {
    if constexpr (kSegment == Segment::kGlobal) {
      if (access.has_saddr) {
        return store ? dwords_handler<kSegment, W, true, true>(count)
                     : dwords_handler<kSegment, W, true, false>(count);
      }
    }
    return store ? dwords_handler<kSegment, W, false, true>(count)
                 : dwords_handler<kSegment, W, false, false>(count);
  };
  return wave_size == 64 ? of_width.template operator()<64>() : of_width.template operator()<32>();
}

}  // namespace

Refusal lower_flat(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  if (!shape) return "flat instruction that is not executed";
  const RegisterLayout& layout = context.layout;
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
  access.from_base = traits.flat_scratch_counts_from_base;
  const bool two_operands = shape->verb == Verb::kAtomic && has_two_operands(shape->atomic);
  const unsigned data_dwords = shape->dwords() * (two_operands ? 2 : 1);
  const unsigned address_dwords = encoding == isa::Encoding::kScratch || access.has_saddr ? 1 : 2;
  if (!in_file(instruction.vaddr, address_dwords, layout) ||
      !in_file(instruction.vdata, data_dwords, layout) ||
      !in_file(instruction.vdst, shape->dwords(), layout)) {
    return kRefuseRegister;
  }
  if (access.has_vaddr) access.vaddr = layout.vgpr_offset(instruction.vaddr.vgpr());
  if (access.has_saddr) access.saddr = scalar_offset(instruction.saddr.code);
  if (instruction.vdata.is_vgpr()) access.rows.data = layout.vgpr_offset(instruction.vdata.vgpr());
  if (instruction.vdst.is_vgpr()) access.rows.result = layout.vgpr_offset(instruction.vdst.vgpr());
  access.rows.returns = instruction.glc && instruction.vdst.is_vgpr();
  if (instruction.lds) access.rows.result = layout.temporary_offset(0);

  if (instruction.glc && shape->verb == Verb::kLoad && encoding != isa::Encoding::kScratch) out.emit(fence);
  Handler handler = nullptr;
  const bool fast = shape->verb != Verb::kAtomic && shape->bytes >= 4 && access.has_vaddr && !shape->addtid;
  if (instruction.lds) {
    handler = encoding == isa::Encoding::kScratch  ? general_handler<load_to_lds<scratch_general>>
              : encoding == isa::Encoding::kGlobal ? general_handler<load_to_lds<global_general>>
                                                   : general_handler<load_to_lds<flat_general>>;
  } else if (encoding == isa::Encoding::kScratch) {
    handler = general_handler<scratch_general>;
  } else if (encoding == isa::Encoding::kGlobal) {
    handler =
        fast ? dwords_handler<Segment::kGlobal>(access, layout.wave_size) : general_handler<global_general>;
  } else {
    handler = fast ? dwords_handler<Segment::kFlat>(access, layout.wave_size) : general_handler<flat_general>;
  }
  MicroOp& op = out.emit(handler);
  op.src[0].offset = access.vaddr;
  op.src[1].offset = access.saddr;
  op.src[2].offset = access.rows.data;
  op.dst = access.rows.result;
  op.aux = static_cast<uint32_t>(access.global_offset);
  op.imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
