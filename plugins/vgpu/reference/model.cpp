#include "plugins/vgpu/reference/model.hpp"

#include <algorithm>

namespace rigel::vgpu::exec::reference {

using isa::Type;

uint64_t State::exec() const {
  return mask_at(isa::code::kExecLo);
}

void State::set_pair(unsigned code, uint64_t value) {
  scalar[code] = static_cast<uint32_t>(value);
  scalar[code + 1] = static_cast<uint32_t>(value >> 32);
}

uint64_t State::mask_at(unsigned code) const {
  return wave_size == 64 ? pair(code) : scalar[code];
}

bool State::lacks_sgprs(const isa::Operand& operand) const {
  return operand.exists() && operand.code < 102 && sgprs < 102 &&
         operand.code + std::max<size_t>(operand.dwords, 1) > sgprs;
}

void State::set_mask(unsigned code, uint64_t value) {
  if (wave_size == 64) {
    set_pair(code, value);
  } else {
    scalar[code] = static_cast<uint32_t>(value);
  }
}

Rules State::single() const {
  return {static_cast<uint8_t>(mode & 3), (mode >> 4 & 1) != 0, (mode >> 5 & 1) != 0};
}

Rules State::other() const {
  return {static_cast<uint8_t>(mode >> 2 & 3), (mode >> 6 & 1) != 0, (mode >> 7 & 1) != 0};
}

Rules State::half() const {
  Rules rules = other();
  rules.stay_finite = target.major >= 9 && (mode >> 23 & 1) != 0;
  return rules;
}

namespace {

enum class Width : uint8_t { k16, k32, k64 };

Width width_of(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
    case Type::kF16:
      return Width::k16;
    case Type::kB64:
    case Type::kI64:
    case Type::kU64:
    case Type::kF64:
      return Width::k64;
    default:
      return Width::k32;
  }
}

// Codes 240 … 248 in half, single and double precision.
constexpr uint64_t kFloats[9][3] = {
    {0x3800, 0x3f000000, 0x3fe0000000000000}, {0xb800, 0xbf000000, 0xbfe0000000000000},
    {0x3c00, 0x3f800000, 0x3ff0000000000000}, {0xbc00, 0xbf800000, 0xbff0000000000000},
    {0x4000, 0x40000000, 0x4000000000000000}, {0xc000, 0xc0000000, 0xc000000000000000},
    {0x4400, 0x40800000, 0x4010000000000000}, {0xc400, 0xc0800000, 0xc010000000000000},
    {0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
};

}  // namespace

bool constant_value(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits) {
  const unsigned code = operand.code;
  const Width width = width_of(operand.type);
  if (code == isa::code::kLiteral) {
    bits = instruction.literal;
    if (operand.type == Type::kF64) bits <<= 32;
    if (operand.type == Type::kI64)
      bits = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    if (width == Width::k16) bits &= 0xffff;
    return true;
  }
  int64_t integer = 0;
  if (code >= 128 && code <= 192) {
    integer = static_cast<int64_t>(code) - 128;
  } else if (code >= 193 && code <= 208) {
    integer = 192 - static_cast<int64_t>(code);
  } else if (code >= 240 && code <= 248) {
    // In a packed operand of halves, the constant is a half in the low half. Packed integers have its 32
    // bits.
    const bool half = width == Width::k16 || operand.type == Type::kV2F16;
    bits = kFloats[code - 240][half ? 0 : width == Width::k64 ? 2 : 1];
    return true;
  } else {
    return false;
  }
  bits = static_cast<uint64_t>(integer);
  if (width == Width::k32) bits &= 0xffffffff;
  if (width == Width::k16) bits &= 0xffff;
  return true;
}

uint64_t scalar_value(const isa::Operand& operand, const isa::Instruction& instruction, const State& state) {
  uint64_t bits = 0;
  if (constant_value(operand, instruction, bits)) return bits;
  const bool wide = operand.type == Type::kMask ? state.wave_size == 64 : operand.dwords >= 2;
  const bool gfx10 = state.target.family() >= isa::Family::kGfx10;
  switch (operand.code) {
    case isa::code::kVccz:
      return state.mask_at(isa::code::kVccLo) == 0 ? 1 : 0;
    case isa::code::kExecz:
      return state.exec() == 0 ? 1 : 0;
    case isa::code::kScc:
      return state.scc;
    case isa::code::kNull:
      if (gfx10) return 0;
      break;
    default:
      break;
  }
  if (operand.code >= 128) return 0;
  return wide ? state.pair(operand.code) : state.scalar[operand.code];
}

void write_scalar(const isa::Operand& operand, uint64_t value, State& state) {
  const bool wide = operand.type == Type::kMask ? state.wave_size == 64 : operand.dwords >= 2;
  if (operand.code == isa::code::kNull && state.target.family() >= isa::Family::kGfx10) return;
  if (state.lacks_sgprs(operand)) return;
  if (wide) {
    state.set_pair(operand.code, value);
  } else {
    state.scalar[operand.code] = static_cast<uint32_t>(value);
  }
}

namespace {

// Waves of tests do not have v255; it represents all registers past the end.
void add_index(isa::Operand& operand, uint32_t by) {
  operand.code = static_cast<uint16_t>(isa::code::kVgpr + std::min<uint32_t>(operand.vgpr() + by, 255));
}

}  // namespace

// VGPR indexing of gfx8 and gfx9: adds M0[7:0] to the VGPR numbers of the operands that M0[15:12] selects:
// three sources and the destination.
isa::Instruction with_indices(isa::Instruction in, const State& state) {
  if (!state.indexes_vgprs() || !isa::is_vector_alu(in.encoding)) return in;
  const uint32_t m0 = state.scalar[isa::code::kM0];
  for (unsigned i = 0; i < 3; ++i) {
    if ((m0 >> (12 + i) & 1) != 0 && in.src[i].is_vgpr()) add_index(in.src[i], m0 & 0xff);
  }
  if ((m0 >> 15 & 1) != 0 && in.dst[0].is_vgpr()) add_index(in.dst[0], m0 & 0xff);
  return in;
}

namespace {

bool is_missing(const isa::Operand& operand, const State& state) {
  return operand.is_vgpr() && operand.vgpr() + std::max<size_t>(operand.dwords, 1) > state.vgpr.size();
}

// v_movrels* and s_movrels* handle registers past the end themselves, as do blocks.
bool indexes_registers(isa::Op op) {
  return isa::name(op).substr(1).starts_with("_movrels");
}

bool has_block(isa::Op op) {
  return isa::name(op).ends_with("_block");
}

}  // namespace

bool resolve_registers(isa::Instruction& in, const State& state) {
  for (const isa::Operand* const written : {&in.dst[0], &in.dst[1], &in.vdst}) {
    if (is_missing(*written, state) && !has_block(in.op)) return false;
  }
  for (isa::Operand* const read : {&in.src[0], &in.src[1], &in.src[2], &in.vaddr, &in.vdata, &in.vdata2}) {
    const bool is_block = read == &in.vdata && has_block(in.op);
    if (is_missing(*read, state) && !indexes_registers(in.op) && !is_block) read->code = isa::code::kVgpr;
  }
  for (isa::Operand* const read : {&in.src[0], &in.src[1], &in.src[2], &in.vdata, &in.saddr, &in.soffset}) {
    if (state.lacks_sgprs(*read) && !indexes_registers(in.op)) read->code = 0;
  }
  return true;
}

namespace {

// VOPD: both operations read before either writes.
Outcome execute_pair(const isa::Instruction& instruction, State& state) {
  State other = state;
  const isa::Instruction second = isa::second_of_pair(instruction);
  const bool is_missing_one = is_missing(instruction.dst[0], state) || is_missing(second.dst[0], state);
  if (is_missing_one) {
    state.notes.fill({});
    return Outcome::kDone;
  }
  if (execute(isa::first_of_pair(instruction), state) != Outcome::kDone ||
      execute(second, other) != Outcome::kDone) {
    return Outcome::kNotModelled;
  }
  state.vgpr[second.dst[0].vgpr()] = other.vgpr[second.dst[0].vgpr()];
  return Outcome::kDone;
}

}  // namespace

Outcome execute(const isa::Instruction& original, State& state) {
  using isa::Encoding;
  if (original.second_op != isa::Op::none) return execute_pair(original, state);
  isa::Instruction instruction = with_indices(original, state);
  if (!resolve_registers(instruction, state)) {
    state.notes.fill({});
    return Outcome::kDone;
  }
  switch (instruction.encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopk:
    case Encoding::kSopc:
    case Encoding::kSopp:
      return execute_scalar(instruction, state);
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
    case Encoding::kVop3p:
      return execute_vector(instruction, state);
    case Encoding::kDs:
      return execute_data_share(instruction, state);
    case Encoding::kSmem:
      return execute_scalar_memory(instruction, state);
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
      return execute_flat(instruction, state);
    case Encoding::kMubuf:
    case Encoding::kMtbuf:
      return execute_buffer(instruction, state);
    case Encoding::kMimg:
      return execute_image(instruction, state);
    default:
      return Outcome::kNotModelled;
  }
}

}  // namespace rigel::vgpu::exec::reference
