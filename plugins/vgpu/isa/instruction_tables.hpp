// The instruction tables as the decoder and the disassembler read them. The lines are in instruction_shapes.inc,
// instructions.inc and image_shapes.inc, made by generate_tables.py; what is here gives them a form and an index.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::isa::tables {

/// How the bits of an operand's field read.
enum class File : uint8_t {
  kNone,
  kVector,        ///< The number of a VGPR.
  kAcc,           ///< The number of an AGPR.
  kAccSource,     ///< A source whose registers are AGPRs.
  kVectorOrAcc,   ///< A source; a bit beyond it makes the VGPR an AGPR.
  kScalar,        ///< The code of a scalar register.
  kVectorSource,  ///< A source that must be a VGPR.
  kSource,        ///< A code of nine bits (eight in scalar instructions).
  kMask,          ///< The code of the scalar registers of a lane mask.
  kSdwaMask,      ///< The same, or VCC if the top bit is clear.
  kLiteral,       ///< The constant behind the instruction.
  // Without a field of their own:
  kVcc,
  kExec,
  kScalarDst,   ///< A source that is in the destination's field.
  kSameAsDst,   ///< The first destination.
  kSameAsSrc0,  ///< The first source.
};

struct OperandShape {
  File file = File::kNone;
  Type type = Type::kNone;
  uint8_t dwords = 0;
};

namespace flag {
constexpr uint64_t kSdwa = 1u << 0, kDpp = 1u << 1, kDpp8 = 1u << 2;
constexpr uint64_t kNoSuffix = 1u << 3;                      // the mnemonic doesn't say the encoding
constexpr uint64_t kOpSel = 1u << 4, kOpSelOfDst = 1u << 5;  // op_sel is written; for the destination as well
constexpr uint64_t kOpSelOfTwo = 1u << 6;                    // v_permlane: means two other things
constexpr uint64_t kPacked = 1u << 7, kMix = 1u << 8;        // VOP3P on halves; v_mad_mix
constexpr uint64_t kInterpolation = 1u << 9, kMatrix = 1u << 10;           // VOP3 with the fields of these
constexpr uint64_t kConstantSecond = 1u << 11, kConstantThird = 1u << 12;  // v_madmk, v_madak
// What SIMM16 is.
constexpr uint64_t kBranch = 1u << 13, kWaitCount = 1u << 14, kMessage = 1u << 15,
                   kHardwareRegister = 1u << 16;
constexpr uint64_t kDependency = 1u << 17, kEndProgram = 1u << 18, kVersion = 1u << 19, kIndexMode = 1u << 20;
constexpr uint64_t kSigned = 1u << 21, kUnsigned = 1u << 22, kConstant = 1ull << 36;
// Memory.
constexpr uint64_t kAtomic = 1u << 23, kStore = 1u << 24, kLds = 1u << 25, kTwoOffsets = 1u << 26;
constexpr uint64_t kAlwaysGds = 1u << 27, kSwizzle = 1u << 28, kImmediateData = 1u << 29;
constexpr uint64_t kSampler = 1u << 30, kD16 = 1u << 31;
constexpr uint64_t kPair = 1ull << 37;  // an atomic that is given two values
constexpr uint64_t kDim = 1ull << 32, kGather = 1ull << 33, kNsa = 1ull << 34, kRay = 1ull << 35;
}  // namespace flag

/// What many instructions have in common: where the fixed bits are and which bits fields are read from.
struct Shape {
  Encoding encoding;
  uint8_t dwords;  ///< Without a literal and without further addresses.
  uint64_t mask;
  uint64_t live;
  OperandShape dst[2];
  OperandShape src[3];
  uint64_t flags;

  constexpr bool has(uint64_t flag) const { return (flags & flag) != 0; }
};

/// An instruction in one encoding. Rows are named by their index, Instruction::row.
struct Row {
  uint64_t value;  ///< Of the fixed bits.
  uint32_t chips;  ///< One bit a chip: see chip_bit.
  uint16_t shape;
  Op op;
};

/// What the sizes of an image operation's registers follow from.
struct Image {
  Op op;
  uint8_t further;  ///< Addresses before the coordinates: offset, bias, comparison.
  bool gradients, half_gradients, coordinates, level;
  uint32_t data_gfx8, data_gfx90a, data_gfx10;  ///< Bit n: there is a form with n data registers.
  uint32_t addresses_gfx10, nsa_addresses_gfx10;
};

std::span<const Row> rows();
std::span<const Shape> shapes();
std::string_view mnemonic(uint16_t row);
const Image* image(Op op);

/// What must be looked at to find the row of an instruction, in one place.
struct Candidate {
  uint64_t mask, value;  ///< The fixed bits.
  uint32_t chips;
  uint16_t row;
  uint8_t dwords;
  bool dpp8;  ///< Its first nine bits are no field of the mask, but one of two codes.
};

/// The rows that an instruction beginning with `bits` can be, the most special first. Chips and fixed bits
/// are still to be looked at.
std::span<const Candidate> candidates(Family family, uint64_t bits);

}  // namespace rigel::vgpu::isa::tables
