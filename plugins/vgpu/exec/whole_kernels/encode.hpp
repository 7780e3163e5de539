// Instruction encoder for generators of code, based on the instruction tables: the decoder's inverse. Each
// function returns the words of an instruction that decodes to the arguments, or an empty vector if the
// chip has no such instruction.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec::whole {

using Words = std::vector<uint32_t>;

isa::Op op_named(std::string_view name);

/// Source codes.
constexpr uint32_t v(uint32_t vgpr) {
  return isa::code::kVgpr + vgpr;
}
/// Returns the source code of an integer from -16 to 64.
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
  /// Returns table rows of an operation in an encoding, except those with lane modifiers (SDWA, DPP).
  const std::vector<uint16_t>& rows(isa::Op op, isa::Encoding encoding) const;

  // Operands are source codes; destinations are register numbers. `literal` is appended if a source is
  // kLiteral.
  Words sop1(isa::Op op, uint32_t dst, uint32_t source, uint32_t literal = 0) const;
  Words sop2(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words sopc(isa::Op op, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words sopk(isa::Op op, uint32_t dst, uint32_t immediate) const;
  Words sopk_literal(isa::Op op, uint32_t immediate, uint32_t literal) const;
  Words sopp(isa::Op op, uint32_t immediate) const;
  Words vop1(isa::Op op, uint32_t dst, uint32_t source, uint32_t literal = 0) const;
  /// `b` is a VGPR number.
  Words vop2(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  Words vopc(isa::Op op, uint32_t a, uint32_t b, uint32_t literal = 0) const;
  /// `mask`: scalar registers of a second result.
  Words vop3(isa::Op op, uint32_t dst, uint32_t a, uint32_t b, uint32_t c = 0, uint32_t mask = 0) const;
  /// s_load and similar operations. `offset` is in bytes; `soffset`, a scalar register, replaces it.
  Words smem(isa::Op op, uint32_t data, uint32_t base, int32_t offset, uint32_t soffset = kNoRegister) const;
  /// FLAT, GLOBAL or SCRATCH, depending on the operation. `data` is stored or loaded.
  Words flat(isa::Op op, uint32_t address, uint32_t data, int32_t offset, uint32_t saddr = kNoRegister) const;
  Words ds(isa::Op op, uint32_t address, uint32_t data, uint32_t data2, uint32_t offset0,
           uint32_t offset1 = 0) const;
  struct BufferOptions {
    bool offen = false, idxen = false;
  };
  Words buffer(isa::Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
               uint32_t soffset, BufferOptions options) const;

  /// MTBUF. `format` is the complete field: DFMT and NFMT, or the unified format of gfx10.
  Words typed_buffer(isa::Op op, uint32_t address, uint32_t data, uint32_t resource, uint32_t offset,
                     uint32_t soffset, uint32_t format, BufferOptions options) const;

  static constexpr uint32_t kNoRegister = 0xffff;

  /// Returns the field of a source or a scalar destination: gfx11 and later exchange M0 and NULL.
  uint32_t field_of(uint32_t code) const {
    const bool differs = code == isa::code::kM0 || code == isa::code::kNull;
    return differs && target_.family() >= isa::Family::kGfx11 ? code ^ 1 : code;
  }
  /// Makes an atomic return the old value, in another register if it is FLAT.
  void make_return(isa::Encoding encoding, uint32_t result, Words& words) const;

 private:
  /// Fields of three dwords.
  __extension__ using Fields = unsigned __int128;
  static void put(Fields& fields, isa::tables::Field at, uint64_t value) {
    fields |= Fields{value & ((uint64_t{1} << at.width) - 1)} << at.low;
  }
  Fields buffer_fields(isa::Encoding encoding, uint32_t address, uint32_t data, uint32_t resource,
                       uint32_t offset, uint32_t soffset, BufferOptions options) const;
  Words first(isa::Op op, isa::Encoding encoding, Fields fields, bool has_literal, uint32_t literal) const;

  isa::Target target_;
  std::map<std::pair<isa::Op, isa::Encoding>, std::vector<uint16_t>> rows_;
};

}  // namespace rigel::vgpu::exec::whole
