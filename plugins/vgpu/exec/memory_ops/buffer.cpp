// MUBUF and MTBUF.
#include <algorithm>

#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/buffer_resource.hpp"
#include "plugins/vgpu/exec/memory_ops/formats.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

// Details; fast handlers have in the MicroOp: src[0] the offsets, src[1] the descriptor, src[2] the data, dst
// the result, aux the offset.
struct BufferAccess {
  Shape shape;
  DataRows rows;
  uint32_t resource = 0;
  ScalarSource soffset;
  uint32_t offset = 0;
  bool has_offset = false, has_index = false;  // OFFEN, IDXEN
  uint32_t offset_row = 0, index_row = 0;
  isa::BufferRules rules{};
  bool in_whole = false;  // formats and atomics
  bool tfe = false;       // one more register, which becomes 0: everything is resident
  FormatAccess format;    // formats only
  bool typed = false;     // the instruction has the format, not the descriptor
};

BufferResource resource_of(const BufferAccess& access, const std::byte* registers) {
  uint32_t words[4];
  std::memcpy(words, registers + access.resource, sizeof words);
  return BufferResource::decode(words, access.rules);
}

// Loads and atomics of what is out of range give 0.
void zero_results(Wave* wave, const Shape& shape, const DataRows& rows, const uint64_t (&active)[4],
                  uint64_t exec) {
  const unsigned width = wave->layout.wave_size;
  for (unsigned d = 0; d < shape.dwords(); ++d) {
    if (exec == active[d]) continue;
    uint32_t* const to = row(wave->registers, rows.result + d * width * 4);
    for (uint64_t left = exec & ~active[d]; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      to[lane] = shape.bytes < 4 && shape.verb == Verb::kLoad ? narrow_to_register(shape, 0u, to[lane]) : 0;
    }
  }
}

// Everything that addresses can be, with `shape` and `rows` for the data. `inside` becomes the lanes of which
// something was accessed.
template <unsigned W>
bool access_buffer(const MicroOp* op, Wave* wave, const BufferAccess& access, const BufferResource& resource,
                   const Shape& shape, const DataRows& rows, uint64_t exec, uint64_t* inside = nullptr) {
  const uint32_t scalar_offset = access.soffset.read(wave->registers);
  const uint32_t* const own_offset = row(wave->registers, access.offset_row);
  const uint32_t* const own_index = row(wave->registers, access.index_row);
  alignas(64) uint64_t offsets[64], indices[64];
  for (unsigned lane = 0; lane < W; ++lane) {
    offsets[lane] = access.offset + (access.has_offset ? uint64_t{own_offset[lane]} : 0);
    indices[lane] =
        (access.has_index ? uint64_t{own_index[lane]} : 0) + (resource.add_tid ? uint64_t{lane} : 0);
  }
  uint64_t active[4] = {};
  const auto end_of = [&](unsigned d) -> uint64_t {
    return access.in_whole || shape.bytes < 4 ? shape.bytes : d * 4 + 4;
  };
  if (resource.is_range_of_bytes(access.has_index, access.rules)) {
    for (unsigned d = 0; d < shape.dwords(); ++d) {
      const uint64_t count = resource.offsets_with(end_of(d), scalar_offset, access.rules);
      if (count != 0) active[d] = exec & lanes_up_to<W>(offsets, 0, count - 1);
    }
  } else {
    for (uint64_t left = exec; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      const uint64_t bytes =
          resource.in_range(indices[lane], offsets[lane], scalar_offset, access.has_index, access.rules);
      for (unsigned d = 0; d < shape.dwords(); ++d) {
        if (bytes >= end_of(d)) active[d] |= uint64_t{1} << lane;
      }
    }
  }
  for (unsigned d = shape.dwords(); d < 4; ++d) active[d] = active[shape.dwords() - 1];
  if (inside != nullptr) *inside = active[0];
  if (shape.verb == Verb::kLoad || (shape.verb == Verb::kAtomic && rows.returns)) {
    zero_results(wave, shape, rows, active, exec);
  }
  if (active[0] == 0) return true;
  const uint64_t base = resource.base + scalar_offset;
  if (!resource.swizzled) {
    Span span;
    for (unsigned lane = 0; lane < W; ++lane) {
      span.va[lane] = base + offsets[lane] + indices[lane] * resource.stride;
    }
    std::copy_n(active, 4, span.active);
    return access_span(op, wave, shape, span, rows);
  }
  SwizzledSpan span;
  span.element_bytes = resource.element_bytes;
  span.element_stride = uint64_t{resource.element_bytes} * resource.index_stride;
  for (unsigned lane = 0; lane < W; ++lane) {
    const uint64_t group = indices[lane] / resource.index_stride,
                   in_group = indices[lane] % resource.index_stride;
    span.base[lane] =
        base + group * resource.stride * resource.index_stride + in_group * resource.element_bytes;
    span.offset[lane] = offsets[lane];
  }
  std::copy_n(active, 4, span.active);
  return access_swizzled(op, wave, shape, span, rows);
}

bool access_buffer(const MicroOp* op, Wave* wave, const BufferAccess& access, const BufferResource& resource,
                   const Shape& shape, const DataRows& rows, uint64_t exec, uint64_t* inside = nullptr) {
  return wave->layout.wave_size == 64
             ? access_buffer<64>(op, wave, access, resource, shape, rows, exec, inside)
             : access_buffer<32>(op, wave, access, resource, shape, rows, exec, inside);
}

[[gnu::noinline]] bool buffer_general(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<BufferAccess>(op);
  const BufferResource resource = resource_of(access, wave->registers);
  if (!access_buffer(op, wave, access, resource, access.shape, access.rows, exec)) return false;
  if (access.tfe) {
    uint32_t* const status =
        row(wave->registers, access.rows.result + access.shape.dwords() * wave->layout.row_bytes());
    for (uint64_t left = exec; left != 0; left &= left - 1) status[first_lane(left)] = 0;
  }
  return true;
}

// Between memory and LDS, which the lanes access dword by dword from M0 on. By way of a temporary row.
bool buffer_lds(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<BufferAccess>(op);
  const BufferResource resource = resource_of(access, wave->registers);
  const uint32_t temporary = wave->layout.temporary_offset(0);
  const DataRows rows = {temporary, temporary, true};
  const uint32_t base = (scalar(wave->registers, scalar_offset(isa::code::kM0)) & 0xffff) + access.offset;
  alignas(64) uint32_t offsets[64];
  for (uint32_t lane = 0; lane < 64; ++lane) offsets[lane] = base + lane * 4;
  Shape dword;
  if (access.shape.verb == Verb::kStore) {
    access_lds(wave, dword, offsets, exec, wave->group->lds_bytes, rows);
    return access_buffer(op, wave, access, resource, access.shape, rows, exec);
  }
  if (!access_buffer(op, wave, access, resource, access.shape, rows, exec)) return false;
  dword.verb = Verb::kStore;
  access_lds(wave, dword, offsets, exec, wave->group->lds_bytes, rows);
  return true;
}

// Formats are loaded and stored as they are in memory, by way of temporary rows, and converted lane by lane.
bool buffer_format(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<BufferAccess>(op);
  const BufferResource resource = resource_of(access, wave->registers);
  FormatAccess format = access.format;
  if (!access.typed) {
    format.format = access.rules == isa::BufferRules::kSelected
                        ? images::unified_format(resource.format)
                        : images::TexelFormat{resource.data_format, images::Number{resource.number_format}};
    std::copy_n(resource.select, 4, format.select);
  }
  const unsigned width = wave->layout.wave_size;
  const unsigned bytes = bytes_of(format.format);
  const uint32_t temporary = wave->layout.temporary_offset(0);
  const DataRows rows = {temporary, temporary, false};
  Shape raw;
  raw.bytes = static_cast<uint8_t>(bytes);
  raw.verb = access.shape.verb;
  uint32_t* const memory = row(wave->registers, temporary);
  const FloatEnvironment environment(FloatEnvironment::kKeepDenormals);
  if (raw.verb == Verb::kStore) {
    if (bytes == 0) return true;  // no format: nothing is bound
    const uint32_t* const data = row(wave->registers, access.rows.data);
    for (uint64_t left = exec; left != 0; left &= left - 1) {
      const unsigned lane = first_lane(left);
      uint32_t values[4] = {}, packed[4] = {};
      for (unsigned i = 0; i < registers_of(format); ++i) values[i] = data[i * width + lane];
      pack(format, values, packed);
      for (unsigned d = 0; d < raw.dwords(); ++d) memory[d * width + lane] = packed[d];
    }
    return access_buffer(op, wave, access, resource, raw, rows, exec);
  }
  uint64_t inside = 0;
  if (bytes != 0 && !access_buffer(op, wave, access, resource, raw, rows, exec, &inside)) return false;
  uint32_t* const result = row(wave->registers, access.rows.result);
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    uint32_t packed[4] = {}, values[4] = {};
    for (unsigned d = 0; d < raw.dwords(); ++d) packed[d] = memory[d * width + lane];
    for (unsigned i = 0; i < registers_of(format); ++i) values[i] = result[i * width + lane];
    unpack(format, packed, (inside >> lane & 1) != 0, values);
    for (unsigned i = 0; i < registers_of(format); ++i) result[i * width + lane] = values[i];
    if (access.tfe) result[registers_of(format) * width + lane] = 0;
  }
  return true;
}

// Dwords of descriptors that compilers and libraries use most: a range of bytes, of which lanes access what
// follows each other; and scratch, of which they access the same place each in its own. What is in range must
// be so in whole; everything else is left to the general way.
template <unsigned W, unsigned N, bool kOffset, bool kStore, isa::BufferRules kRules>
[[gnu::always_inline]] inline bool try_dwords(const MicroOp* op, Wave* wave, std::byte* registers,
                                              uint64_t exec) {
  constexpr uint32_t kStep = N * 4;
  constexpr bool kSelected = kRules == isa::BufferRules::kSelected;
  const auto& access = details<BufferAccess>(op);
  const std::byte* const words = registers + op->src[1].offset;
  const uint64_t low = load_as<uint64_t>(words), high = load_as<uint64_t>(words + 8);
  const auto word3 = static_cast<uint32_t>(high >> 32);
  uint64_t records = high & 0xffffffff;
  const uint64_t soffset = access.soffset.read(registers);
  const uint64_t base = (low & 0xffffffffffff) + soffset;
  const uint64_t counted = kSelected ? 0 : soffset;  // of the scalar offset in the range
  const bool swizzled = (low >> 63) != 0, add_tid = (word3 >> 23 & 1) != 0;
  const unsigned first = first_lane(exec);
  if constexpr (kSelected) {  // OOB_SELECT: 3 a range of bytes; 2 nothing is out of range, unless all is
    const unsigned select = word3 >> 28 & 3;
    if (select == 2 && records != 0) records = ~uint64_t{0};
    if (select < 2) return false;
  }
  const uint32_t* const own = row(registers, op->src[0].offset);
  const uint64_t offset = uint64_t{op->aux} + (kOffset ? own[first] : 0);
  constexpr Access kKind = kStore ? Access::kWrite : Access::kRead;
  if (!swizzled && !add_tid) {
    if constexpr (!kOffset) return false;
    const uint64_t bytes = (last_lane(exec) - first + 1) * kStep;
    if (offset + bytes + counted > records || offset + bytes > 0xffffffff) return false;
    if (!is_ramp<W>(own, exec, own[first] - first * kStep, kStep)) return false;
    std::byte* const host = wave->memory->find_again(op, base + offset, bytes, kKind);
    if (host == nullptr) return false;
    if constexpr (kStore) {
      store_consecutive<W, N>(registers + op->src[2].offset, host - first * kStep, exec);
    } else {
      load_consecutive<W, N>(registers + op->dst, host - first * kStep, exec);
    }
    return true;
  }
  // Elements of four bytes, as many interleaved as the wave has lanes: all are in the first group, and a
  // stride does not matter.
  const bool scratch = swizzled && add_tid && (8u << (word3 >> 21 & 3)) == W &&
                       (kRules != isa::BufferRules::kBySwizzle || (word3 >> 19 & 3) == 1) &&
                       (!kSelected || (word3 >> 28 & 3) == 2 || (low >> 48 & 0x3fff) == 0);
  if (!scratch || offset % 4 != 0 || offset + kStep + counted > records) return false;
  if (kOffset && !is_uniform<W>(own, exec, own[first])) return false;
  const uint64_t bytes = (N - 1) * W * 4 + (last_lane(exec) - first + 1) * 4;
  std::byte* const host = wave->memory->find_again(op, base + offset * W + first * 4, bytes, kKind);
  if (host == nullptr) return false;
  for (unsigned d = 0; d < N; ++d) {
    std::byte* const lane0 = host + d * W * 4 - first * 4;
    if constexpr (kStore) {
      store_consecutive<W, 1>(registers + op->src[2].offset + d * W * 4, lane0, exec);
    } else {
      load_consecutive<W, 1>(registers + op->dst + d * W * 4, lane0, exec);
    }
  }
  return true;
}

template <unsigned W, unsigned N, bool kOffset, bool kStore, isa::BufferRules kRules>
void dwords(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0 && !try_dwords<W, N, kOffset, kStore, kRules>(op, wave, registers, exec)) [[unlikely]] {
    RIGEL_INSTEAD(general_handler<buffer_general>, op, wave, registers, exec);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <unsigned W, bool kOffset, bool kStore, isa::BufferRules kRules>
Handler of_count(unsigned count) {
  static constexpr Handler kHandlers[] = {
      dwords<W, 1, kOffset, kStore, kRules>, dwords<W, 2, kOffset, kStore, kRules>,
      dwords<W, 3, kOffset, kStore, kRules>, dwords<W, 4, kOffset, kStore, kRules>};
  return kHandlers[count - 1];
}

template <isa::BufferRules kRules>
Handler dwords_handler(const BufferAccess& access, uint32_t wave_size) {
  const unsigned count = access.shape.dwords();
  const bool store = access.shape.verb == Verb::kStore;
  const auto of_width = [&]<unsigned W>() {
    if (access.has_offset) {
      return store ? of_count<W, true, true, kRules>(count) : of_count<W, true, false, kRules>(count);
    }
    return store ? of_count<W, false, true, kRules>(count) : of_count<W, false, false, kRules>(count);
  };
  if constexpr (kRules != isa::BufferRules::kSelected) {
    return of_width.template operator()<64>();
  } else {
    return wave_size == 64 ? of_width.template operator()<64>() : of_width.template operator()<32>();
  }
}

Handler dwords_handler(const BufferAccess& access, uint32_t wave_size) {
  if (wave_size == 32) return dwords_handler<isa::BufferRules::kSelected>(access, wave_size);
  switch (access.rules) {
    case isa::BufferRules::kBySwizzle:
      return dwords_handler<isa::BufferRules::kBySwizzle>(access, wave_size);
    case isa::BufferRules::kByIndex:
      return dwords_handler<isa::BufferRules::kByIndex>(access, wave_size);
    case isa::BufferRules::kSelected:
      break;
  }
  return dwords_handler<isa::BufferRules::kSelected>(access, wave_size);
}

bool is_cache_operation(isa::Op op) {
  using isa::Op;
  return op == Op::buffer_wbinvl1 || op == Op::buffer_wbinvl1_vol || op == Op::buffer_gl0_inv ||
         op == Op::buffer_gl1_inv || op == Op::buffer_wbl2 || op == Op::buffer_invl2;
}

}  // namespace

Refusal lower_buffer(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  if (is_cache_operation(instruction.op)) {
    // The cache that work-groups share with nobody: they see their own stores, and others' by a fence of
    // wider scope, which invalidates the next cache as well.
    if (instruction.op != Op::buffer_gl0_inv) out.emit(fence);
    return {};
  }
  const RegisterLayout& layout = context.layout;
  BufferAccess access;
  access.rules = context.traits().buffer;
  const auto format = format_access(instruction, context.traits());
  const bool from_lds = instruction.op == Op::buffer_store_lds_dword;
  unsigned registers = 1;
  if (format) {
    access.format = *format;
    access.typed = instruction.encoding == isa::Encoding::kMtbuf;
    access.shape.verb = format->store ? Verb::kStore : Verb::kLoad;
    registers = registers_of(*format);
  } else if (const isa::MemoryShape* const shape = isa::memory_shape(instruction.op)) {
    access.shape = *shape;
    const bool two = shape->verb == Verb::kAtomic && has_two_operands(shape->atomic);
    registers = shape->dwords() * (two ? 2 : 1);
  } else {
    return "buffer instruction that is not executed";
  }
  const Verb verb = access.shape.verb;
  const bool lds = instruction.lds || from_lds;
  access.tfe = instruction.tfe && !lds && instruction.vdst.is_vgpr();
  const unsigned address_dwords = instruction.offen && instruction.idxen ? 2 : 1;
  const isa::Operand& data = verb == Verb::kLoad ? instruction.vdst : instruction.vdata;
  if (!in_file(instruction.vaddr, address_dwords, layout) ||
      !in_file(instruction.vdst, (verb == Verb::kAtomic ? access.shape.dwords() : registers) + access.tfe,
               layout) ||
      !in_file(instruction.vdata, registers, layout) || !instruction.saddr.is_scalar_register() ||
      (!lds && !data.is_vgpr()) || !scalar_source(instruction.soffset, context.traits(), access.soffset)) {
    return kRefuseRegister;
  }
  access.resource = scalar_offset(instruction.saddr.code);
  access.offset = static_cast<uint32_t>(instruction.offset);
  access.has_offset = instruction.offen;
  access.has_index = instruction.idxen;
  if (instruction.vaddr.is_vgpr()) {
    access.index_row = layout.vgpr_offset(instruction.vaddr.vgpr());
    access.offset_row = access.index_row + (access.has_index && access.has_offset ? layout.row_bytes() : 0);
  }
  if (instruction.vdata.is_vgpr()) access.rows.data = layout.vgpr_offset(instruction.vdata.vgpr());
  if (instruction.vdst.is_vgpr()) access.rows.result = layout.vgpr_offset(instruction.vdst.vgpr());
  access.rows.returns = instruction.glc && instruction.vdst.is_vgpr();
  access.in_whole = format.has_value() || verb == Verb::kAtomic;

  if (instruction.glc && verb == Verb::kLoad) out.emit(fence);
  Handler handler = nullptr;
  if (format) {
    handler = general_handler<buffer_format>;
  } else if (lds) {
    handler = general_handler<buffer_lds>;
  } else if (verb != Verb::kAtomic && access.shape.bytes >= 4 && !access.has_index && !access.tfe) {
    handler = dwords_handler(access, layout.wave_size);
  } else {
    handler = general_handler<buffer_general>;
  }
  MicroOp& op = out.emit(handler);
  op.src[0].offset = access.offset_row;
  op.src[1].offset = access.resource;
  op.src[2].offset = access.rows.data;
  op.dst = access.rows.result;
  op.aux = access.offset;
  op.imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
