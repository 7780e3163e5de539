// MUBUF and MTBUF: buffer instructions.
#include <algorithm>

#include "plugins/vgpu/exec/memory_ops/atomics.hpp"
#include "plugins/vgpu/exec/memory_ops/buffer_resource.hpp"
#include "plugins/vgpu/exec/memory_ops/formats.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/private_memory.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

struct BufferAccess {
  Shape shape;
  DataRows rows;
  uint32_t resource = 0;
  ScalarSource soffset;
  uint32_t offset = 0;
  bool has_offset = false, has_index = false;  // OFFEN, IDXEN
  uint32_t offset_row = 0, index_row = 0;
  isa::BufferRules rules{};
  bool checks_whole_access = false;  // formats and atomics: the range check is for the whole access
  bool tfe = false;                  // one more register, which becomes 0: everything is resident
  FormatAccess format;               // formats only
  bool typed = false;                // the instruction has the format, not the descriptor
};

BufferResource resource_of(const BufferAccess& access, const std::byte* registers) {
  uint32_t words[4];
  std::memcpy(words, registers + access.resource, sizeof words);
  return BufferResource::decode(words, access.rules);
}

// Access with any kind of addressing. `shape` and `rows` describe the data. `inside` becomes the mask of
// lanes whose first dword is in range.
template <unsigned W>
bool access_buffer(const MicroOp* op, Wave* wave, const BufferAccess& access, const BufferResource& resource,
                   const Shape& shape, const DataRows& rows, uint64_t exec, uint64_t* inside = nullptr) {
  const uint32_t scalar_offset = access.soffset.read(wave->registers);
  const uint32_t* const own_offset = row(wave->registers, access.offset_row);
  const uint32_t* const own_index = row(wave->registers, access.index_row);
  alignas(64) uint64_t offsets[64], indices[64];
  // Absent parts are masked to 0, so that the compiler vectorises the loop.
  const uint64_t offset = access.offset, lanes_count = resource.add_tid ? 1 : 0;
  const uint32_t has_offset = access.has_offset ? ~0u : 0, has_index = access.has_index ? ~0u : 0;
  const uint64_t offset_bits = BufferResource::offsets_wrap(access.rules) ? 0xffffffff : ~uint64_t{0};
  for (unsigned lane = 0; lane < W; ++lane) {
    offsets[lane] = (offset + (own_offset[lane] & has_offset)) & offset_bits;
    indices[lane] = (own_index[lane] & has_index) + lanes_count * lane;
  }
  uint64_t active[4] = {};
  const auto end_of_dword = [&](unsigned d) -> uint64_t {
    return access.checks_whole_access || shape.bytes < 4 ? shape.bytes : d * 4 + 4;
  };
  if (const auto limit = resource.byte_range(scalar_offset, access.has_index, access.rules)) {
    for (unsigned d = 0; d < shape.dwords(); ++d) {
      if (*limit >= end_of_dword(d)) active[d] = exec & lanes_up_to<W>(offsets, 0, *limit - end_of_dword(d));
    }
  } else {
    for (const unsigned lane : lanes_of(exec)) {
      const uint64_t bytes =
          resource.in_range(indices[lane], offsets[lane], scalar_offset, access.has_index, access.rules);
      for (unsigned d = 0; d < shape.dwords(); ++d) {
        if (bytes >= end_of_dword(d)) active[d] |= uint64_t{1} << lane;
      }
    }
  }
  for (unsigned d = shape.dwords(); d < 4; ++d) active[d] = active[shape.dwords() - 1];
  if (inside != nullptr) *inside = active[0];
  if (active[3] != exec && (shape.verb == Verb::kLoad || (shape.verb == Verb::kAtomic && rows.returns))) {
    zero_results(wave, shape, rows.result, active, exec);
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
  // Scratch descriptor of the queue: the offset is relative to the wave's own part.
  const uint64_t private_offset = (base - wave->private_va) / W;
  if (resource.is_scratch(access.has_index) && resource.element_bytes == 4 && resource.index_stride == W &&
      private_offset < wave->scratch_lane_bytes &&
      !ends_in_private(wave, shape, private_offset, offsets, active[3])) {
    return false;
  }
  SwizzledSpan span;
  span.element_bytes = resource.element_bytes;
  span.element_stride = uint64_t{resource.element_bytes} * resource.index_stride;
  const uint64_t interleaved = resource.index_stride, stride = resource.stride * interleaved;
  const uint64_t element = resource.element_bytes;
  const int group_bits = std::countr_zero(interleaved);
  for (unsigned lane = 0; lane < W; ++lane) {
    span.base[lane] =
        base + (indices[lane] >> group_bits) * stride + (indices[lane] & (interleaved - 1)) * element;
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
    for (const unsigned lane : lanes_of(exec)) status[lane] = 0;
  }
  return true;
}

// Moves data between memory and LDS, through a temporary row. Lane i accesses dword i of LDS from M0 on.
bool buffer_lds(const MicroOp* op, Wave* wave, uint64_t exec) {
  const auto& access = details<BufferAccess>(op);
  const BufferResource resource = resource_of(access, wave->registers);
  const uint32_t temporary = wave->layout.temporary_offset(0);
  const DataRows rows = {temporary, temporary, true};
  if (access.shape.verb == Verb::kStore) {
    access_lds_in_order(wave, Verb::kLoad, access.offset, exec, temporary);
    return access_buffer(op, wave, access, resource, access.shape, rows, exec);
  }
  if (!access_buffer(op, wave, access, resource, access.shape, rows, exec)) return false;
  access_lds_in_order(wave, Verb::kStore, access.offset, exec, temporary);
  return true;
}

// Loads and stores elements in their memory format, through temporary rows, and converts them per lane.
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
  const MxcsrScope environment(kDefaultMxcsr);
  if (raw.verb == Verb::kStore) {
    if (bytes == 0) return true;  // no format: no buffer is bound
    const uint32_t* const data = row(wave->registers, access.rows.data);
    for (const unsigned lane : lanes_of(exec)) {
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
  for (const unsigned lane : lanes_of(exec)) {
    uint32_t packed[4] = {}, values[4] = {};
    for (unsigned d = 0; d < raw.dwords(); ++d) packed[d] = memory[d * width + lane];
    for (unsigned i = 0; i < registers_of(format); ++i) values[i] = result[i * width + lane];
    unpack(format, packed, (inside >> lane & 1) != 0, values);
    for (unsigned i = 0; i < registers_of(format); ++i) result[i * width + lane] = values[i];
    if (access.tfe) result[registers_of(format) * width + lane] = 0;
  }
  return true;
}

bool is_cache_operation(isa::Op op) {
  using isa::Op;
  return op == Op::buffer_wbinvl1 || op == Op::buffer_wbinvl1_vol || op == Op::buffer_gl0_inv ||
         op == Op::buffer_gl1_inv || op == Op::buffer_wbl2 || op == Op::buffer_invl2 || op == Op::buffer_inv;
}

}  // namespace

Refusal lower_buffer(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  if (is_cache_operation(instruction.op)) {
    // buffer_gl0_inv invalidates the cache of the work-group, which runs on one thread and sees its own
    // stores. Stores of other work-groups need a fence of wider scope, which also invalidates the next
    // cache.
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
  } else if (const isa::MemoryShape* const shape = isa::memory_shape(instruction.op, context.traits())) {
    access.shape = *shape;
    const bool two = shape->verb == Verb::kAtomic && has_two_operands(shape->atomic);
    registers = shape->dwords() * (two ? 2 : 1);
  } else {
    return "buffer instruction is not supported";
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
      (!lds && !data.is_row()) || !scalar_source(instruction, context.traits(), access.soffset)) {
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
  row_offset(instruction.vdata, layout, access.rows.data);
  row_offset(instruction.vdst, layout, access.rows.result);
  access.rows.returns = instruction.glc && instruction.vdst.is_row();
  access.checks_whole_access = format.has_value() || verb == Verb::kAtomic;

  if (instruction.glc && verb == Verb::kLoad) out.emit(fence);
  Handler handler = nullptr;
  if (format) {
    handler = general_handler<buffer_format>;
  } else if (lds) {
    handler = general_handler<buffer_lds>;
  } else {
    handler = general_handler<buffer_general>;
  }
  out.emit(handler).imm = reinterpret_cast<uint64_t>(&allocate(out, access));
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
