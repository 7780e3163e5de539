// The instruction tables, with an index for the decoder and the disassembler. generate_tables.py makes their
// lines: instruction_shapes.inc, instructions.inc and image_shapes.inc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa::tables {

/// Meaning of an operand's field.
enum class File : uint8_t {
  kNone,
  kVector,        ///< VGPR number.
  kAcc,           ///< AGPR number.
  kAccSource,     ///< A source whose registers are AGPRs.
  kVectorOrAcc,   ///< A source register; an additional bit selects AGPRs.
  kScalar,        ///< Code of a scalar register.
  kVectorSource,  ///< A source that must be a VGPR.
  kSource,        ///< A source code of nine bits (eight in scalar instructions).
  kMask,          ///< Code of the scalar registers of a lane mask.
  kSdwaMask,      ///< A lane mask; VCC if the top bit is clear.
  kLiteral,       ///< The constant after the instruction.
  // Operands without a field:
  kVcc,
  kExec,
  kScalarDst,   ///< A source in the destination's field.
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
constexpr uint64_t kNoSuffix = 1u << 3;                      // Mnemonic without encoding suffix.
constexpr uint64_t kOpSel = 1u << 4, kOpSelOfDst = 1u << 5;  // op_sel is printed; also for the destination.
constexpr uint64_t kOpSelOfTwo = 1u << 6;  // v_permlane: op_sel means fetch_inactive and bound_ctrl.
constexpr uint64_t kPacked = 1u << 7, kMix = 1u << 8;  // VOP3P on halves; v_mad_mix.
// VOP3 with fields of interpolation; of matrices.
constexpr uint64_t kInterpolation = 1u << 9, kMatrix = 1u << 10;
constexpr uint64_t kConstantSecond = 1u << 11, kConstantThird = 1u << 12;  // v_madmk, v_madak
// Meaning of SIMM16.
constexpr uint64_t kBranch = 1u << 13, kWaitCount = 1u << 14, kMessage = 1u << 15,
                   kHardwareRegister = 1u << 16;
constexpr uint64_t kDependency = 1u << 17, kEndProgram = 1u << 18, kVersion = 1u << 19, kIndexMode = 1u << 20;
constexpr uint64_t kSigned = 1u << 21, kUnsigned = 1u << 22, kConstant = 1ull << 36;
constexpr uint64_t kAtomic = 1u << 23, kStore = 1u << 24, kLds = 1u << 25, kTwoOffsets = 1u << 26;
constexpr uint64_t kAlwaysGds = 1u << 27, kSwizzle = 1u << 28, kImmediateData = 1u << 29;
constexpr uint64_t kSampler = 1u << 30, kD16 = 1u << 31;
constexpr uint64_t kPair = 1ull << 37;        // An atomic with two operands.
constexpr uint64_t kNamesLds = 1ull << 38;    // The mnemonic names LDS as the destination.
constexpr uint64_t kSparse = 1ull << 39;      // S2 of a matrix instruction has the indices of A's elements.
constexpr uint64_t kTrue16 = 1ull << 40;      // 16-bit operands are halves of registers: VOP3 by op_sel.
constexpr uint64_t kWaveMatrix = 1ull << 41;  // Waves of 64 have half the registers for C and D.
constexpr uint64_t kInRegister = 1ull << 42;  // Interpolation with parameters in VGPRs.
constexpr uint64_t kDelay = 1ull << 43;       // SIMM16 of s_delay_alu.
constexpr uint64_t kSwapped = 1ull << 44;     // DATA0 and DATA1 are exchanged.
constexpr uint64_t kSplit = 1ull << 45;       // Waves of 64 have half the registers for all operands.
constexpr uint64_t kByteSel = 1ull << 47;     // op_sel chooses a byte.
constexpr uint64_t kOldDst = 1ull << 48;      // S2 is the previous destination; LLVM has no such source.
constexpr uint64_t kPrefetch = 1ull << 46;    // Scalar memory: address, register and number of lines.
constexpr uint64_t kDim = 1ull << 32, kGather = 1ull << 33, kNsa = 1ull << 34, kRay = 1ull << 35;
}  // namespace flag

/// An instruction shape: encoding, fixed bits, field bits and operands, shared by many instructions.
struct Shape {
  Encoding encoding;
  uint8_t dwords;  ///< Without a literal and additional addresses.
  uint64_t mask;
  uint64_t live;
  OperandShape dst[2];
  OperandShape src[3];
  uint64_t flags;

  constexpr bool has(uint64_t flag) const { return (flags & flag) != 0; }
};

/// An instruction in one encoding. Instruction::row is its index.
struct Row {
  uint64_t value;  ///< Values of the fixed bits.
  ChipSet chips;
  uint16_t shape;
  Op op;
};

/// Properties that determine the number of registers of an image operation.
struct Image {
  Op op;
  uint8_t further;  ///< Addresses before the coordinates: offset, bias, comparison.
  bool gradients, half_gradients, coordinates, level;
  uint32_t data_gfx8, data_gfx90a, data_gfx10, data_gfx11,
      data_gfx12;  ///< Bit n: a form with n data registers exists.
  uint32_t addresses_gfx10, nsa_addresses_gfx10, addresses_gfx11, nsa_addresses_gfx11, addresses_gfx12;
};

/// A field of an instruction's first three dwords; without bits if the encoding lacks it.
struct Field {
  uint8_t low = 0, width = 0;
};

/// Fields of memory instructions, whose places depend on the generation.
struct FieldPositions {
  Field glc{}, slc{}, dlc{}, scc{}, hint{}, scope{}, vaddr{}, vdata{}, vdst{}, saddr{}, soffset{}, srsrc{},
      offset{}, offset0{}, offset1{}, offen{}, idxen{}, tfe{}, sampler_tfe{}, gds{}, format{}, dim{}, unorm{},
      dmask{}, r128{}, a16{}, da{}, d16{}, lwe{}, ssamp{}, row{};
};

/// Whether an image instruction of gfx12 has the fields of those with a sampler (VSAMPLE).
constexpr bool has_sampler_fields(uint64_t bits) {
  return (bits >> 26 & 63) == 0x39;
}

/// Returns the fields of an encoding on the family's chips; no fields for arithmetic.
const FieldPositions& field_positions(Family family, Encoding encoding);

/// The second operation of VOPD.
struct Dual {
  uint8_t code;
  Op op;
  std::string_view mnemonic;
  uint16_t shape;  ///< Operands and constants.
};
/// Returns the family's operation with this code; null if the code is unused.
const Dual* dual(Family family, unsigned code);
/// Returns the code of the second operation of VOPD.
constexpr unsigned dual_code(uint64_t bits) {
  return static_cast<unsigned>(bits >> 17) & 31;
}

std::span<const Row> rows();
std::span<const Shape> shapes();
std::string_view mnemonic(uint16_t row);
const Image* image(Op op);

/// The part of a row that the search needs, stored contiguously.
struct Candidate {
  uint64_t mask, value;  ///< Mask and values of the fixed bits.
  ChipSet chips;
  uint16_t row;
  uint8_t dwords;
  bool dpp8;  ///< The first source must be one of two codes; it is not in the mask.
};

/// Returns the rows that match the opcode in `bits`, those with more fixed bits first. The caller must
/// compare chips and fixed bits.
std::span<const Candidate> candidates(Family family, uint64_t bits);

}  // namespace rigel::vgpu::isa::tables
