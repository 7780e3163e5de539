// SDWA: micro-ops that extract parts of sources before the operation and insert part of the result after
// it.
#include "plugins/vgpu/exec/vector/lower.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::SdwaSel;
using isa::SdwaUnused;

struct Part {
  unsigned shift, width;
};

constexpr Part part_of(SdwaSel sel) {
  switch (sel) {
    case SdwaSel::kByte0:
    case SdwaSel::kByte1:
    case SdwaSel::kByte2:
    case SdwaSel::kByte3:
      return {static_cast<unsigned>(sel) * 8, 8};
    case SdwaSel::kWord0:
      return {0, 16};
    case SdwaSel::kWord1:
      return {16, 16};
    case SdwaSel::kDword:
      break;
  }
  return {0, 32};
}

// imm: left shift that moves the part to the top of the register, then the right shift.
template <class V>
void extract_part(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // sources must be destroyed before the tail call
    const auto left_shift = static_cast<uint32_t>(op->imm & 31),
               right_shift = static_cast<uint32_t>(op->imm >> 8 & 31);
    const Lanes<U32, Kind::kAny> source(op, registers, 0, 0);
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t) __attribute__((always_inline)) {
          const V shifted = bits_as<V>(source.at(lane) << left_shift);
          store(registers + op->dst + lane * 4, shifted >> static_cast<int>(right_shift));
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// imm: shift and width of the part, and treatment of the other bits.
void insert_part(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto shift = static_cast<uint32_t>(op->imm & 31), width = static_cast<uint32_t>(op->imm >> 8 & 63);
  const auto unused = static_cast<SdwaUnused>(op->imm >> 16);
  const uint32_t mask = (width == 32 ? ~0u : (1u << width) - 1) << shift;
  const std::byte* const source = registers + op->src[0].offset;
  std::byte* const destination = registers + op->dst;
  each_chunk<kLanes>(
      op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
        U32 value = load<U32>(source + lane * 4) << shift;
        if (unused == SdwaUnused::kSext) {
          const uint32_t unused_bits = 32 - shift - width;
          value = bits_as<U32>(bits_as<I32>(value << unused_bits) >> static_cast<int>(unused_bits));
        } else {
          value = value & mask;
          if (unused == SdwaUnused::kPreserve) value = value | (load<U32>(destination + lane * 4) & ~mask);
        }
        put(destination + lane * 4, value, bits);
      });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr NamedHandler kHandlers[] = {
    {NamedOperation::kExtract, extract_part<U32>},
    {NamedOperation::kExtractSigned, extract_part<I32>},
    {NamedOperation::kInsert, insert_part},
};

}  // namespace

void extract_sdwa(Lowering& lowering, unsigned source) {
  const isa::Instruction& instruction = lowering.instruction;
  const Part part = part_of(instruction.src_sel[source]);
  const bool extends = (instruction.sext >> source & 1) != 0;
  MicroOp& op = emit_named(lowering.out, kHandlers,
                           extends ? NamedOperation::kExtractSigned : NamedOperation::kExtract);
  Input32& input = lowering.src[source];
  op.src[0] = input.source;
  op.aux = (lowering.aux & aux::kWave64) | (input.is_uniform ? aux::kUniform : 0) |
           (input.is_constant ? aux::kConstant : 0);
  op.dst = lowering.context.layout.temporary_offset(kSourceRow + source * 2);
  op.imm = (32 - part.shift - part.width) | (32 - part.width) << 8;
  input = {};
  input.source.offset = op.dst;
}

void insert_sdwa(Lowering& lowering, uint32_t from, uint32_t to) {
  const isa::Instruction& instruction = lowering.instruction;
  const Part part = part_of(instruction.dst_sel);
  MicroOp& op = emit_named(lowering.out, kHandlers, NamedOperation::kInsert);
  op.src[0].offset = from;
  op.dst = to;
  op.aux = lowering.aux;
  op.imm = part.shift | part.width << 8 | uint64_t{static_cast<uint8_t>(instruction.dst_unused)} << 16;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
