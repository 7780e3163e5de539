// Instructions from operations and operands, by the tables: the decoder's inverse, as far as generators of
// code need it. Every function gives the words of an instruction that decodes to what was asked for, or none
// if the chip has no such instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec::whole {

using Words = std::vector<uint32_t>;

/// The operation of a name of op.inc; Op::none if there is none.
isa::Op op_named(std::string_view name);

/// Source codes.
constexpr uint32_t v(uint32_t vgpr) {
  return isa::code::kVgpr + vgpr;
}
/// An integer from -16 to 64.
constexpr uint32_t inline_integer(int32_t value) {
  return static_cast<uint32_t>(value >= 0 ? isa::code::kZero + value : 192 - value);
}
constexpr bool has_inline_integer(int64_t value) {
  return value >= -16 && value <= 64;
}

class Encoder {
 public:
  explicit Encoder(const isa::Target& target);

  const isa::Target& target() const { return target_; }
  bool has(isa::Op op, isa::Encoding encoding) const;
  /// Rows of an operation in an encoding, those with modifiers of lanes (SDWA, DPP) left out.
  const std::vector<uint16_t>& rows(isa::Op op, isa::Encoding encoding) const;

  // Operands are source codes; destinations numbers of registers. `literal` follows where a source is
  // kLiteral.
  Words sop1(isa::Op op, uint32_t dst, uint32_t source, uint32_t literal = 0) const;
  Words sop2(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words sopc(isa::Op op, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words sopk(isa::Op op, uint32_t dst, uint32_t immediate) const;
  /// s_setreg_imm32_b32
  Words sopk_literal(isa::Op op, uint32_t immediate, uint32_t literal) const;
  Words sopp(isa::Op op, uint32_t immediate) const;
  Words vop1(isa::Op op, uint32_t dst, uint32_t source, uint32_t literal = 0) const;
  /// `b` is the number of a VGPR.
  Words vop2(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words vopc(isa::Op op, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  /// `mask`: the scalar registers of a second result.
  Words vop3(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c = 0, uint32_t mask = 0) const;
  /// s_load and friends. `offset` is in bytes; `soffset`, a scalar register, takes its place.
  Words smem(isa::Op op, uint32_t data, uint32_t base, int32_t offset, uint32_t soffset = kNothing) const;
  /// Flat, global and scratch, by the operation. `data` is what is stored, or loaded to.
  Words flat(isa::Op op, uint32_t address, uint32_t data, int32_t offset, uint32_t saddr = kNothing) const;
  Words ds(isa::Op op, uint32_t address, uint32_t data, uint32_t data2, uint32_t offset0,
           uint32_t offset1 = 0) const;
  struct BufferOptions {
    bool offen = false, idxen = false;
  };
  Words buffer(isa::Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
               uint32_t soffset, BufferOptions options) const;

  /// MTBUF; `format` is the whole field: DFMT and NFMT, or the unified format of gfx10.
  Words typed_buffer(isa::Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
                     uint32_t soffset, uint32_t format, BufferOptions options) const;

  static constexpr uint32_t kNothing = 0xffff;

 private:
  using Fields = uint64_t;
  static Fields buffer_fields(uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
                              uint32_t soffset, BufferOptions options);
  Words first(isa::Op op, isa::Encoding encoding, Fields fields, bool has_literal, uint32_t literal) const;

  isa::Target target_;
  std::map<std::pair<isa::Op, isa::Encoding>, std::vector<uint16_t>> rows_;
};

}  // namespace rigel::vgpu::exec::whole
