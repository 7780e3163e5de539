// A decoded AMDGCN instruction: the decoder's result, used by disassembler, translator, reference model and
// tests. All generations and all encodings of an operation have the same form: v_add_f32 as VOP2, VOP3, SDWA
// or DPP has the same Op and operands, and differs only in its modifiers.
//
// Plain data without pointers.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/op.hpp"  // enum class Family; enum class Op: one enumerator an operation

namespace rigel::vgpu::isa {

enum class Encoding : uint8_t {
  kSop1,
  kSop2,
  kSopk,
  kSopc,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kVintrp,
  kDs,
  kFlat,
  kGlobal,
  kScratch,
  kMubuf,
  kMtbuf,
  kMimg,
  kExp,
  kVopd,      ///< Two vector operations of gfx11, in waves of 32.
  kLdsDirect  ///< Loads from LDS to a VGPR of gfx11, for pixel shaders.
};

constexpr bool is_scalar_alu(Encoding encoding) {
  return encoding == Encoding::kSop1 || encoding == Encoding::kSop2 || encoding == Encoding::kSopk ||
         encoding == Encoding::kSopc || encoding == Encoding::kSopp;
}
constexpr bool is_vector_alu(Encoding encoding) {
  return encoding == Encoding::kVop1 || encoding == Encoding::kVop2 || encoding == Encoding::kVopc ||
         encoding == Encoding::kVop3 || encoding == Encoding::kVop3p || encoding == Encoding::kVopd;
}
/// Interpolation and exports, which compute kernels do not use.
constexpr bool is_graphics(Encoding encoding) {
  return encoding == Encoding::kVintrp || encoding == Encoding::kExp || encoding == Encoding::kLdsDirect;
}

/// Interpretation of an operand's value; determines the meaning and width of inline constants.
enum class Type : uint8_t {
  kNone,
  kB16,
  kI16,
  kU16,
  kF16,
  kB32,
  kI32,
  kU32,
  kF32,
  kB64,
  kI64,
  kU64,
  kF64,
  kV2B16,
  kV2I16,
  kV2U16,
  kV2F16,  ///< Two halves of one register.
  kMask,   ///< A lane mask: one scalar register for wave32, two for wave64.
  kB96,
  kB128,
  kB160,
  kB192,
  kB256,
  kB512,
  kB1024,  ///< Groups of registers.
};

/// Hardware source codes (nine bits). Scalar registers have the codes of their generation. M0 and NULL, which
/// gfx11 exchanged, have those of gfx10.
namespace code {
constexpr uint16_t kVccLo = 106, kVccHi = 107;
constexpr uint16_t kM0 = 124;
constexpr uint16_t kNull = 125;  ///< gfx10 and later
constexpr uint16_t kExecLo = 126, kExecHi = 127;
constexpr uint16_t kZero = 128;  ///< 128 … 192: 0 … 64; 193 … 208: -1 … -16
constexpr uint16_t kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238;
constexpr uint16_t kPopsExitingWaveId = 239;
constexpr uint16_t kHalf = 240;  ///< 240 … 247: 0.5 -0.5 1 -1 2 -2 4 -4; 248: 1/(2 pi)
constexpr uint16_t kInv2Pi = 248;
constexpr uint16_t kVccz = 251, kExecz = 252, kScc = 253;
constexpr uint16_t kLdsDirect = 254;
constexpr uint16_t kLiteral = 255;
constexpr uint16_t kVgpr = 256;  ///< 256 … 511: v0 … v255
constexpr uint16_t kAgpr = 512;  ///< 512 … 767: a0 … a255 of CDNA; not a hardware code.
constexpr uint16_t kNone = 0xffff;
}  // namespace code

/// Scopes of gfx12 from that of the GPU on: the GPU, the system.
constexpr uint8_t kScopeDevice = 2;

struct Operand {
  uint16_t code = code::kNone;  ///< Hardware source code, also for destinations and addresses.
  Type type = Type::kNone;
  uint8_t dwords = 0;  ///< Number of registers; 0: absent.

  constexpr bool exists() const { return code != code::kNone; }
  constexpr bool is_vgpr() const { return code >= code::kVgpr && code < code::kAgpr; }
  constexpr bool is_agpr() const { return code >= code::kAgpr && code != code::kNone; }
  /// NULL: reads as 0 and discards writes. Only on chips with has_null.
  constexpr bool is_null() const { return code == code::kNull; }
  constexpr bool is_scalar_register() const { return code < code::kZero && !is_null(); }
  constexpr bool is_literal() const { return code == code::kLiteral; }
  /// A VGPR or an AGPR: a register with one dword for each lane.
  constexpr bool is_row() const { return is_vgpr() || is_agpr(); }
  constexpr uint16_t agpr() const { return static_cast<uint16_t>(code - code::kAgpr); }
  constexpr uint16_t vgpr() const { return static_cast<uint16_t>(code - code::kVgpr); }
};

/// Sub-dword selection of SDWA, numbered as in the encoding.
enum class SdwaSel : uint8_t { kByte0, kByte1, kByte2, kByte3, kWord0, kWord1, kDword };
enum class SdwaUnused : uint8_t { kPad, kSext, kPreserve };

enum class LaneMode : uint8_t { kNone, kSdwa, kDpp, kDpp8 };

/// One instruction.
///
/// Arithmetic operands: dst[0] is the result, dst[1] a second one (carry-out, div_scale's mask). src[0..2]
/// are S0, S1, S2 of the ISA manuals. Implied registers are operands, too, so that all encodings of an
/// operation look alike:
///
/// - the carry-in VCC of v_addc is src[2];
/// - VCC written by VOPC is dst[0];
/// - EXEC written by v_cmpx is dst[0] (gfx10) or dst[1] (gfx8, gfx9; the mask is dst[0]);
/// - the destination that v_fmac and v_mac add to is src[2];
/// - the second register that v_swap writes is dst[1].
///
/// SCC, and VCC of v_div_fmas, are implied by the Op. v_madmk and v_madak have their literal as S1 or S2, as
/// in the manual. Sources of v_mad_mix are F16 or F32 according to OP_SEL_HI, and `abs` is valid.
///
/// Memory operands have separate fields (below); dst and src are empty.
///
/// Every operand with the code kLiteral means the value `literal`. Users extend it to 64 bits as the manual
/// specifies: f64 has it in the high half, i64 is sign-extended, u64 and b64 are zero-extended.
struct Instruction {
  Op op{};
  Encoding encoding{};
  uint8_t bytes = 0;  ///< 4 … 20, including the literal and the SDWA or DPP word.
  Operand dst[2];
  Operand src[3];
  uint32_t literal = 0;

  // Arithmetic modifiers. Bit i applies to src[i]; op_sel bit 3 to the destination.
  uint8_t abs = 0;
  uint8_t neg = 0;     ///< VOP3P: the low half.
  uint8_t neg_hi = 0;  ///< VOP3P.
  /// Bit is set: the upper half. VOP3 of 16-bit operations on gfx9 and later, VOP1, VOP2 and VOPC on gfx11
  /// and later; VOP3P: of the low half's source.
  uint8_t op_sel = 0;
  uint8_t op_sel_hi = 0;  ///< VOP3P: selects the high half's source.
  bool clamp = false;
  uint8_t omod = 0;  ///< 0: none, 1: ×2, 2: ×4, 3: ÷2

  LaneMode lanes = LaneMode::kNone;
  // SDWA
  SdwaSel dst_sel = SdwaSel::kDword;
  SdwaUnused dst_unused = SdwaUnused::kPad;
  SdwaSel src_sel[2] = {SdwaSel::kDword, SdwaSel::kDword};
  uint8_t sext = 0;  ///< Bit i: src[i] is sign-extended.
  // DPP
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 0xf;
  uint8_t bank_mask = 0xf;
  bool bound_ctrl = false;      ///< BOUND_CTRL: lanes without a source read 0.
  bool fetch_inactive = false;  ///< FI (gfx10).
  uint32_t dpp8 = 0;            ///< Eight selectors of three bits, lane 0 lowest.

  // SIMM16 of SOPK and SOPP, zero-extended. The literal of s_setreg_imm32_b32 is in `literal`.
  uint16_t simm16 = 0;

  Operand vaddr;         ///< FLAT, MUBUF, MTBUF, DS (its ADDR).
  Operand vdata;         ///< Stored data, or the operand of an atomic. DS: DATA0. SMEM stores: SDATA.
  Operand vdata2;        ///< DS: DATA1.
  Operand vdst;          ///< Loaded or returned data, if any. SMEM: SDATA. MUBUF loads: VDATA.
  Operand saddr;         ///< FLAT's SADDR, SMEM's SBASE, MUBUF's SRSRC.
  Operand soffset;       ///< MUBUF's SOFFSET, SMEM's register offset.
  int32_t offset = 0;    ///< In bytes. DS with two offsets: OFFSET0, in units of the access.
  uint32_t offset1 = 0;  ///< DS with two offsets: OFFSET1.
  /// Cache policy. glc: an atomic returns the old value; a load bypasses the work-group's cache. Also set
  /// from the scope of gfx12.
  bool glc = false, slc = false, dlc = false, lds = false, gds = false;
  bool offen = false;  ///< MUBUF, MTBUF: OFFEN. SMEM: has an immediate offset.
  bool idxen = false, addr64 = false, tfe = false;
  bool nv = false;
  uint8_t dfmt = 0, nfmt = 0;  ///< MTBUF on gfx8 and gfx9.
  uint8_t format = 0;          ///< MTBUF: the complete field; on gfx10 the unified format.
  // MIMG; EXP shares `extra`.
  uint8_t dmask = 0, dim = 0;
  bool unorm = false, a16 = false, d16 = false, r128 = false, lwe = false, da = false;
  Operand extra[4];              ///< MIMG: SSAMP. EXP: the sources.
  bool lacks_registers = false;  ///< No form has the number of registers that the modifiers require.
  uint8_t nsa_count = 0;         ///< MIMG of gfx10 and later, NSA form: number of registers after vaddr.
  uint8_t nsa[12] = {};          ///< NSA form: register numbers.
  // EXP
  uint8_t target = 0, enable = 0;
  bool done = false, compressed = false, valid_mask = false, row_enable = false;
  uint8_t wait = 0;         ///< Interpolation and LDS-direct of gfx11 and later: the counter to wait for.
  uint8_t wait_source = 0;  ///< LDS-direct of gfx12: another one.
  // Interpolation
  uint8_t attribute = 0, channel = 0;
  bool high = false;
  // MFMA of CDNA. BLGP of F64 on gfx942 negates A, B and C.
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  // VOPD: `op`, `dst` and `src` are the first operation. Both read their sources before either writes.
  Op second_op = Op::none;
  Operand second_dst;
  Operand second_src[3];
  bool scc = false;  ///< Cache policy of gfx90a; sc1 on gfx942, where glc is sc0 and slc is nt.
  /// Temporal hint and scope (CU, SE, device, system), the cache policy of gfx12. Bit 0 of an atomic's hint
  /// is also glc: it returns the old value.
  uint8_t hint = 0, scope = 0;
  uint8_t index_key = 0;  ///< SWMMAC: which part of S2 has the indices.

  uint16_t row = 0;  ///< Row of the family's table; for the disassembler.
};

/// Returns an operation of a VOPD instruction as VOP1 or VOP2.
constexpr Instruction first_of_pair(Instruction instruction) {
  instruction.encoding = Encoding::kVop2;
  instruction.second_op = Op::none;
  return instruction;
}
constexpr Instruction second_of_pair(Instruction instruction) {
  instruction.op = instruction.second_op;
  instruction.dst[0] = instruction.second_dst;
  instruction.dst[1] = Operand{};
  for (int i = 0; i != 3; ++i) instruction.src[i] = instruction.second_src[i];
  return first_of_pair(instruction);
}

/// Order in which the operations of a VOPD instruction have the effect of reading before either writes.
enum class PairOrder : uint8_t {
  kFirstSecond,
  kSecondFirst,
  kFirstSecondWithCopy,  ///< Each reads the other's result: the second reads a copy of its previous value.
};
constexpr PairOrder order_of_pair(const Instruction& instruction) {
  const auto reads = [](const Operand(&sources)[3], const Operand& result) {
    bool found = false;
    for (const Operand& source : sources) found = found || (source.is_vgpr() && source.code == result.code);
    return found;
  };
  if (!reads(instruction.second_src, instruction.dst[0])) return PairOrder::kFirstSecond;
  return reads(instruction.src, instruction.second_dst) ? PairOrder::kFirstSecondWithCopy
                                                        : PairOrder::kSecondFirst;
}

}  // namespace rigel::vgpu::isa
