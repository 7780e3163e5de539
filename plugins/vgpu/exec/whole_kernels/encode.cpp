#include "plugins/vgpu/exec/whole_kernels/encode.hpp"

#include <unordered_map>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec::whole {

using isa::Encoding;
using isa::Family;
using isa::Op;

Op op_named(std::string_view name) {
  static const auto* const kOps = [] {
    auto* const ops = new std::unordered_map<std::string_view, Op>;
    for (size_t i = 0; i < isa::kOpCount; ++i)
      ops->emplace(isa::name(static_cast<Op>(i)), static_cast<Op>(i));
    return ops;
  }();
  const auto entry = kOps->find(name);
  return entry == kOps->end() ? Op::none : entry->second;
}

Encoder::Encoder(const isa::Target& target) : target_(target) {
  namespace flag = isa::tables::flag;
  const auto rows = isa::tables::rows();
  for (uint16_t row = 0; size_t{row} < rows.size(); ++row) {
    if (!rows[row].chips.intersects(isa::chip_set(target))) continue;
    const isa::tables::Shape& shape = isa::tables::shapes()[rows[row].shape];
    if (shape.has(flag::kSdwa | flag::kDpp | flag::kDpp8)) continue;
    rows_[{rows[row].op, shape.encoding}].push_back(row);
  }
}

const std::vector<uint16_t>& Encoder::rows(Op op, Encoding encoding) const {
  static const std::vector<uint16_t> kNone;
  const auto entry = rows_.find({op, encoding});
  return entry == rows_.end() ? kNone : entry->second;
}

bool Encoder::has(Op op, Encoding encoding) const {
  return !rows(op, encoding).empty();
}

// Returns the first encoding of the operation that has these fields.
Words Encoder::first(Op op, Encoding encoding, Fields fields, bool has_literal, uint32_t literal) const {
  for (const uint16_t row : rows(op, encoding)) {
    const isa::tables::Row& entry = isa::tables::rows()[row];
    const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
    const auto low = static_cast<uint64_t>(fields);
    if ((low & ~(shape.live | shape.mask)) != 0 || ((low ^ entry.value) & low & shape.mask) != 0) continue;
    const uint64_t bits = entry.value | low;
    Words words{static_cast<uint32_t>(bits)};
    if (shape.dwords >= 2) words.push_back(static_cast<uint32_t>(bits >> 32));
    if (shape.dwords >= 3) words.push_back(static_cast<uint32_t>(fields >> 64));
    if (has_literal) words.push_back(literal);
    isa::Instruction in;
    if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk) continue;
    if (in.op == op && in.bytes == words.size() * 4) return words;
  }
  return {};
}

Words Encoder::sop1(Op op, uint32_t dst, uint32_t source, uint32_t literal) const {
  return first(op, Encoding::kSop1, field_of(dst) << 16 | field_of(source), source == isa::code::kLiteral,
               literal);
}
Words Encoder::sop2(Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal) const {
  return first(op, Encoding::kSop2, field_of(dst) << 16 | field_of(b) << 8 | field_of(a),
               a == isa::code::kLiteral || b == isa::code::kLiteral, literal);
}
Words Encoder::sopc(Op op, uint32_t a, uint32_t b, uint32_t literal) const {
  return first(op, Encoding::kSopc, field_of(b) << 8 | field_of(a),
               a == isa::code::kLiteral || b == isa::code::kLiteral, literal);
}
Words Encoder::sopk(Op op, uint32_t dst, uint32_t immediate) const {
  return first(op, Encoding::kSopk, field_of(dst) << 16 | (immediate & 0xffff), false, 0);
}
Words Encoder::sopk_literal(Op op, uint32_t immediate, uint32_t literal) const {
  return first(op, Encoding::kSopk, (immediate & 0xffff) | Fields{literal} << 32, false, 0);
}
Words Encoder::sopp(Op op, uint32_t immediate) const {
  return first(op, Encoding::kSopp, immediate & 0xffff, false, 0);
}
Words Encoder::vop1(Op op, uint32_t dst, uint32_t source, uint32_t literal) const {
  return first(op, Encoding::kVop1, dst << 17 | field_of(source), source == isa::code::kLiteral, literal);
}
Words Encoder::vop2(Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal) const {
  return first(op, Encoding::kVop2, dst << 17 | b << 9 | field_of(a), a == isa::code::kLiteral, literal);
}
Words Encoder::vopc(Op op, uint32_t a, uint32_t b, uint32_t literal) const {
  return first(op, Encoding::kVopc, b << 9 | field_of(a), a == isa::code::kLiteral, literal);
}
Words Encoder::vop3(Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c, uint32_t mask) const {
  return first(op, Encoding::kVop3,
               dst | field_of(mask) << 8 | uint64_t{field_of(a)} << 32 | uint64_t{field_of(b)} << 41 |
                   uint64_t{field_of(c)} << 50,
               false, 0);
}

Words Encoder::smem(Op op, uint32_t data, uint32_t base, int32_t offset, uint32_t soffset) const {
  Fields fields = base / 2 | field_of(data) << 6;
  const bool has_register = soffset != kNoRegister;
  switch (target_.family()) {
    case Family::kGfx8:
      fields |= has_register ? uint64_t{soffset} << 32
                             : uint64_t{1} << 17 | uint64_t{static_cast<uint32_t>(offset) & 0xfffff} << 32;
      break;
    case Family::kGfx9:
      fields |= has_register ? uint64_t{1} << 14 | uint64_t{soffset} << 57
                             : uint64_t{1} << 17 | uint64_t{static_cast<uint32_t>(offset) & 0x1fffff} << 32;
      break;
    case Family::kGfx10:
    case Family::kGfx11:
    case Family::kGfx12:
      fields |= uint64_t{field_of(has_register ? soffset : isa::code::kNull)} << 57;
      if (!has_register)
        put(fields, isa::tables::field_positions(target_.family(), Encoding::kSmem).offset,
            static_cast<uint32_t>(offset));
      break;
    case Family::kNone:
      break;
  }
  return first(op, Encoding::kSmem, fields, false, 0);
}

Words Encoder::flat(Op op, uint32_t address, uint32_t data, int32_t offset, uint32_t saddr) const {
  const isa::MemoryShape& shape = *isa::memory_shape(op);
  const Encoding encoding = shape.space == isa::Space::kGlobal    ? Encoding::kGlobal
                            : shape.space == isa::Space::kScratch ? Encoding::kScratch
                                                                  : Encoding::kFlat;
  const bool loads = shape.verb == isa::Verb::kLoad;
  const isa::tables::FieldPositions& positions = isa::tables::field_positions(target_.family(), encoding);
  Fields fields = 0;
  put(fields, positions.offset, static_cast<uint32_t>(offset));
  put(fields, positions.vaddr, address);
  put(fields, loads ? positions.vdst : positions.vdata, data);
  if (target_.family() != Family::kGfx8 &&
      (encoding != Encoding::kFlat || target_.family() >= Family::kGfx10)) {
    const uint32_t off = target_.family() == Family::kGfx9 ? 0x7f : isa::code::kNull;
    put(fields, positions.saddr, field_of(saddr == kNoRegister ? off : saddr));
  }
  // Scratch of gfx11 and gfx12: the address has a VGPR.
  if (target_.family() >= Family::kGfx11 && encoding == Encoding::kScratch && saddr == kNoRegister)
    fields |= Fields{1} << (target_.family() == Family::kGfx11 ? 55 : 49);
  return first(op, encoding, fields, false, 0);
}

Words Encoder::ds(Op op, uint32_t address, uint32_t data, uint32_t data2, uint32_t offset0,
                  uint32_t offset1) const {
  // Lane exchanges have no shape: all return a result, and all except swizzles have a data operand.
  const isa::MemoryShape* const shape = isa::memory_shape(op);
  const bool loads = shape == nullptr || shape->verb == isa::Verb::kLoad || shape->returns;
  const bool stores = shape == nullptr ? op != Op::ds_swizzle_b32 : shape->verb != isa::Verb::kLoad;
  Fields fields = offset0 | offset1 << 8 | uint64_t{address} << 32;
  if (stores) fields |= uint64_t{data} << 40;
  if (shape != nullptr && shape->pair && shape->verb == isa::Verb::kStore) fields |= uint64_t{data2} << 48;
  if (loads) fields |= uint64_t{stores ? data2 : data} << 56;
  return first(op, Encoding::kDs, fields, false, 0);
}

Words Encoder::buffer(Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
                      uint32_t soffset, BufferOptions options) const {
  return first(op, Encoding::kMubuf,
               buffer_fields(Encoding::kMubuf, address, data, resource, offset, soffset, options), false, 0);
}

Words Encoder::typed_buffer(Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
                            uint32_t soffset, uint32_t format, BufferOptions options) const {
  Fields fields = buffer_fields(Encoding::kMtbuf, address, data, resource, offset, soffset, options);
  put(fields, isa::tables::field_positions(target_.family(), Encoding::kMtbuf).format, format);
  return first(op, Encoding::kMtbuf, fields, false, 0);
}

Encoder::Fields Encoder::buffer_fields(Encoding encoding, uint32_t address, uint32_t data, uint32_t resource,
                                       uint32_t offset, uint32_t soffset, BufferOptions options) const {
  const isa::tables::FieldPositions& positions = isa::tables::field_positions(target_.family(), encoding);
  Fields fields = 0;
  put(fields, positions.offset, offset & 0xfff);
  put(fields, positions.offen, options.offen);
  put(fields, positions.idxen, options.idxen);
  put(fields, positions.vaddr, address);
  put(fields, positions.vdata, data);
  put(fields, positions.srsrc, positions.srsrc.width < 7 ? resource / 4 : resource);
  // Offsets of gfx12 are registers, and the constant 0 is NULL.
  const bool is_zero = positions.soffset.width == 7 && soffset == isa::code::kZero;
  put(fields, positions.soffset, field_of(is_zero ? isa::code::kNull : soffset));
  return fields;
}

void Encoder::make_return(Encoding encoding, uint32_t result, Words& words) const {
  const isa::tables::FieldPositions& positions = isa::tables::field_positions(target_.family(), encoding);
  const unsigned bit = positions.hint.width != 0 ? positions.hint.low : positions.glc.low;
  words[bit / 32] |= 1u << bit % 32;
  if (encoding == Encoding::kFlat) words[positions.vdst.low / 32] |= result << positions.vdst.low % 32;
}

}  // namespace rigel::vgpu::exec::whole
