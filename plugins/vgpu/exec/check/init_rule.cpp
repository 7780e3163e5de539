#include "plugins/vgpu/exec/check/init_rule.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/vgpu/exec/operands.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/isa/effects.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::LaneMode;
using isa::Op;
using isa::Operand;
using isa::Type;
using File = RuleOperand::File;
using Kind = InitRule::Kind;
using Scc = InitRule::Scc;
namespace code = isa::code;

constexpr uint8_t kMostEvaluated = 2;  // dwords of a value
constexpr uint32_t kIndexBits = 0xff;  // of M0, while GPR_IDX_EN is set

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kB16 || type == Type::kI16 || type == Type::kU16;
}

bool is_packed(Type type) {
  return type == Type::kV2F16 || type == Type::kV2B16 || type == Type::kV2I16 || type == Type::kV2U16;
}

RulePart part_of(isa::SdwaSel sel) {
  const auto number = static_cast<uint8_t>(sel);
  if (sel <= isa::SdwaSel::kByte3) return {static_cast<uint8_t>(number * 8), 8};
  if (sel == isa::SdwaSel::kDword) return {};
  return {static_cast<uint8_t>(sel == isa::SdwaSel::kWord1 ? 16 : 0), 16};
}

// What a vector operation computes. Operations that are not here: all bits depend on all bits.
struct VectorRule {
  Op op;
  BitRule bits;
  bool is_reversed = false;  // The first two sources are exchanged.
};
constexpr VectorRule kVectorRules[] = {
    {Op::v_mov_b32, BitRule::kMove},
    {Op::v_movrels_b32, BitRule::kMove},
    {Op::v_movreld_b32, BitRule::kMove},
    {Op::v_movrelsd_b32, BitRule::kMove},
    {Op::v_accvgpr_read_b32, BitRule::kMove},
    {Op::v_accvgpr_write_b32, BitRule::kMove},
    {Op::v_accvgpr_mov_b32, BitRule::kMove},
    {Op::v_not_b32, BitRule::kMove},
    {Op::v_bfrev_b32, BitRule::kReverse},
    {Op::v_and_b32, BitRule::kAnd},
    {Op::v_or_b32, BitRule::kOr},
    {Op::v_xor_b32, BitRule::kXor},
    {Op::v_xnor_b32, BitRule::kXor},
    {Op::v_xor3_b32, BitRule::kXor},
    {Op::v_and_or_b32, BitRule::kAndOr},
    {Op::v_or3_b32, BitRule::kOr3},
    {Op::v_bfi_b32, BitRule::kBitSelect},
    {Op::v_cndmask_b32, BitRule::kSelect},
    {Op::v_lshlrev_b32, BitRule::kShiftLeft, true},
    {Op::v_lshlrev_b64, BitRule::kShiftLeft, true},
    {Op::v_lshlrev_b16, BitRule::kShiftLeft, true},
    {Op::v_lshrrev_b32, BitRule::kShiftRight, true},
    {Op::v_lshrrev_b64, BitRule::kShiftRight, true},
    {Op::v_lshrrev_b16, BitRule::kShiftRight, true},
    {Op::v_ashrrev_i32, BitRule::kShiftSigned, true},
    {Op::v_ashrrev_i64, BitRule::kShiftSigned, true},
    {Op::v_ashrrev_i16, BitRule::kShiftSigned, true},
    {Op::v_pk_lshlrev_b16, BitRule::kShiftLeft, true},
    {Op::v_pk_lshrrev_b16, BitRule::kShiftRight, true},
    {Op::v_pk_ashrrev_i16, BitRule::kShiftSigned, true},
    {Op::v_lshl_or_b32, BitRule::kShiftOr},
    {Op::v_lshl_add_u32, BitRule::kShiftAdd},
    {Op::v_add_lshl_u32, BitRule::kAddShift},
    {Op::v_alignbit_b32, BitRule::kAlignBits},
    {Op::v_alignbyte_b32, BitRule::kAlignBytes},
    {Op::v_perm_b32, BitRule::kPermute},
    {Op::v_bfe_u32, BitRule::kExtract},
    {Op::v_bfe_i32, BitRule::kExtractSigned},
    {Op::v_pack_b32_f16, BitRule::kMove},
    {Op::v_add_co_u32, BitRule::kSum},
    {Op::v_sub_co_u32, BitRule::kSum},
    {Op::v_subrev_co_u32, BitRule::kSum},
    {Op::v_addc_u32, BitRule::kSum},
    {Op::v_subb_u32, BitRule::kSum},
    {Op::v_subbrev_u32, BitRule::kSum},
    {Op::v_add_u32, BitRule::kSum},
    {Op::v_sub_u32, BitRule::kSum},
    {Op::v_subrev_u32, BitRule::kSum},
    {Op::v_add_i32, BitRule::kSum},
    {Op::v_sub_i32, BitRule::kSum},
    {Op::v_add3_u32, BitRule::kSum},
    {Op::v_xad_u32, BitRule::kSum},
    {Op::v_mul_lo_u32, BitRule::kSum},
    {Op::v_mul_lo_i32, BitRule::kSum},
    {Op::v_add_u16, BitRule::kSum},
    {Op::v_add_nc_u16, BitRule::kSum},
    {Op::v_sub_u16, BitRule::kSum},
    {Op::v_sub_nc_u16, BitRule::kSum},
    {Op::v_subrev_u16, BitRule::kSum},
    {Op::v_add_i16, BitRule::kSum},
    {Op::v_sub_i16, BitRule::kSum},
    {Op::v_mul_lo_u16, BitRule::kSum},
    {Op::v_mad_u16, BitRule::kSum},
    {Op::v_mad_i16, BitRule::kSum},
    {Op::v_mad_legacy_u16, BitRule::kSum},
    {Op::v_mad_legacy_i16, BitRule::kSum},
    {Op::v_pk_add_u16, BitRule::kSum},
    {Op::v_pk_add_i16, BitRule::kSum},
    {Op::v_pk_sub_u16, BitRule::kSum},
    {Op::v_pk_sub_i16, BitRule::kSum},
    {Op::v_pk_mul_lo_u16, BitRule::kSum},
    {Op::v_pk_mad_u16, BitRule::kSum},
    {Op::v_pk_mad_i16, BitRule::kSum},
    {Op::v_mul_u32_u24, BitRule::kSum24},
    {Op::v_mul_i32_i24, BitRule::kSum24},
    {Op::v_mad_u32_u24, BitRule::kSum24},
    {Op::v_mad_i32_i24, BitRule::kSum24},
    {Op::v_mad_u64_u32, BitRule::kProductSum},
    {Op::v_mad_i64_i32, BitRule::kProductSum},
    {Op::v_mbcnt_lo_u32_b32, BitRule::kSum},
    {Op::v_mbcnt_hi_u32_b32, BitRule::kSum},
};

struct ScalarRule {
  Op op;
  BitRule bits;
  Scc scc = Scc::kStays;
};
constexpr ScalarRule kScalarRules[] = {
    {Op::s_movk_i32, BitRule::kMove},
    {Op::s_brev_b32, BitRule::kReverse},
    {Op::s_brev_b64, BitRule::kReverse},
    {Op::s_sext_i32_i8, BitRule::kMove},
    {Op::s_sext_i32_i16, BitRule::kMove},
    {Op::s_cselect_b32, BitRule::kSelect},
    {Op::s_cselect_b64, BitRule::kSelect},
    {Op::s_cmov_b32, BitRule::kSelect},
    {Op::s_cmov_b64, BitRule::kSelect},
    {Op::s_cmovk_i32, BitRule::kSelect},
    {Op::s_lshl_b32, BitRule::kShiftLeft, Scc::kNonzero},
    {Op::s_lshl_b64, BitRule::kShiftLeft, Scc::kNonzero},
    {Op::s_lshr_b32, BitRule::kShiftRight, Scc::kNonzero},
    {Op::s_lshr_b64, BitRule::kShiftRight, Scc::kNonzero},
    {Op::s_ashr_i32, BitRule::kShiftSigned, Scc::kNonzero},
    {Op::s_ashr_i64, BitRule::kShiftSigned, Scc::kNonzero},
    {Op::s_bfe_u32, BitRule::kExtract, Scc::kNonzero},
    {Op::s_bfe_u64, BitRule::kExtract, Scc::kNonzero},
    {Op::s_bfe_i32, BitRule::kExtractSigned, Scc::kNonzero},
    {Op::s_bfe_i64, BitRule::kExtractSigned, Scc::kNonzero},
    {Op::s_lshl1_add_u32, BitRule::kShiftAdd, Scc::kOfResult},
    {Op::s_lshl2_add_u32, BitRule::kShiftAdd, Scc::kOfResult},
    {Op::s_lshl3_add_u32, BitRule::kShiftAdd, Scc::kOfResult},
    {Op::s_lshl4_add_u32, BitRule::kShiftAdd, Scc::kOfResult},
    {Op::s_pack_ll_b32_b16, BitRule::kMove},
    {Op::s_pack_lh_b32_b16, BitRule::kMove},
    {Op::s_pack_hh_b32_b16, BitRule::kMove},
    {Op::s_add_u32, BitRule::kSum, Scc::kOfResult},
    {Op::s_add_i32, BitRule::kSum, Scc::kOfResult},
    {Op::s_sub_u32, BitRule::kSum, Scc::kOfResult},
    {Op::s_sub_i32, BitRule::kSum, Scc::kOfResult},
    {Op::s_addc_u32, BitRule::kSum, Scc::kOfResult},
    {Op::s_subb_u32, BitRule::kSum, Scc::kOfResult},
    {Op::s_addk_i32, BitRule::kSum, Scc::kOfResult},
    {Op::s_mul_i32, BitRule::kSum},
    {Op::s_mulk_i32, BitRule::kSum},
    {Op::s_bitcmp0_b32, BitRule::kShiftRight, Scc::kLowestBit},
    {Op::s_bitcmp1_b32, BitRule::kShiftRight, Scc::kLowestBit},
    {Op::s_bitcmp0_b64, BitRule::kShiftRight, Scc::kLowestBit},
    {Op::s_bitcmp1_b64, BitRule::kShiftRight, Scc::kLowestBit},
    {Op::s_cmp_eq_i32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmp_eq_u32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmp_eq_u64, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmp_lg_i32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmp_lg_u32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmp_lg_u64, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmpk_eq_i32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmpk_eq_u32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmpk_lg_i32, BitRule::kEqual, Scc::kOfResult},
    {Op::s_cmpk_lg_u32, BitRule::kEqual, Scc::kOfResult},
};

// The rule of a function of single bits. An inverted result has the undefined bits of the other one.
struct LogicRule {
  isa::Logic logic;
  BitRule bits;
  bool is_inverted = false;
  bool is_reversed = false;  // The sources are exchanged.
};
constexpr LogicRule kLogicRules[] = {
    {isa::Logic::kMov, BitRule::kMove},
    {isa::Logic::kNot, BitRule::kMove, true},
    {isa::Logic::kAnd, BitRule::kAnd},
    {isa::Logic::kNand, BitRule::kAnd, true},
    {isa::Logic::kOr, BitRule::kOr},
    {isa::Logic::kNor, BitRule::kOr, true},
    {isa::Logic::kXor, BitRule::kXor},
    {isa::Logic::kXnor, BitRule::kXor, true},
    {isa::Logic::kAndn1, BitRule::kAndNot, false, true},
    {isa::Logic::kAndn2, BitRule::kAndNot},
    {isa::Logic::kOrn1, BitRule::kOrNot, false, true},
    {isa::Logic::kOrn2, BitRule::kOrNot},
};

bool compares_integers_for_equality(Op op) {
  switch (op) {
    case Op::v_cmp_eq_i16:
    case Op::v_cmp_eq_i32:
    case Op::v_cmp_eq_i64:
    case Op::v_cmp_eq_u16:
    case Op::v_cmp_eq_u32:
    case Op::v_cmp_eq_u64:
    case Op::v_cmp_ne_i16:
    case Op::v_cmp_ne_i32:
    case Op::v_cmp_ne_i64:
    case Op::v_cmp_ne_u16:
    case Op::v_cmp_ne_u32:
    case Op::v_cmp_ne_u64:
    case Op::v_cmpx_eq_i16:
    case Op::v_cmpx_eq_i32:
    case Op::v_cmpx_eq_i64:
    case Op::v_cmpx_eq_u16:
    case Op::v_cmpx_eq_u32:
    case Op::v_cmpx_eq_u64:
    case Op::v_cmpx_ne_i16:
    case Op::v_cmpx_ne_i32:
    case Op::v_cmpx_ne_i64:
    case Op::v_cmpx_ne_u16:
    case Op::v_cmpx_ne_u32:
    case Op::v_cmpx_ne_u64:
      return true;
    default:
      return false;
  }
}

class Reader {
 public:
  Reader(const Instruction& instruction, const LoweringContext& context)
      : in_(instruction), implicit_(isa::implicit_effects(instruction.op)), context_(context) {}

  InitRule run() {
    if (in_.lacks_registers) {
      rule_.kind = Kind::kForget;
    } else if (isa::is_graphics(in_.encoding)) {
      rule_.kind = Kind::kNone;
    } else if (isa::is_scalar_alu(in_.encoding)) {
      scalar();
    } else if (isa::is_vector_alu(in_.encoding)) {
      vector();
    } else if (is_lane_exchange(in_.op)) {
      exchange();
    } else {
      memory();
    }
    const bool changes = std::any_of(std::begin(rule_.results), std::end(rule_.results), is_register) ||
                         (rule_.scc != Scc::kStays);
    const bool computes = rule_.kind == Kind::kScalar || rule_.kind == Kind::kLanes;
    if (computes && !changes) rule_.kind = Kind::kNone;
    return rule_;
  }

 private:
  static bool is_register(const RuleOperand& operand) {
    return operand.exists() && operand.file != File::kConstant;
  }
  uint8_t mask_dwords() const { return context_.layout.wave_size == 64 ? 2 : 1; }

  RuleOperand operand(const Operand& from) const {
    RuleOperand to;
    if (!from.exists()) return to;
    const bool is_mask = from.type == Type::kMask;
    to.dwords = is_mask ? mask_dwords() : std::max<uint8_t>(from.dwords, 1);
    to.part.width = static_cast<uint8_t>(std::min<unsigned>(to.dwords, kMostEvaluated) * 32);
    if (from.is_row()) {
      to.file = File::kRows;
      to.number = from.is_agpr() ? static_cast<uint16_t>(context_.layout.vgprs + from.agpr()) : from.vgpr();
    } else if (from.is_scalar_register()) {
      to.file = is_mask ? File::kMask : File::kScalars;
      to.number = from.code;
    } else if (from.code == code::kScc) {
      to.file = File::kScc;
    } else {
      to.file = File::kConstant;  // Other sources have defined values.
      constant_of(from, in_, to.constant);
    }
    return to;
  }

  RuleOperand scalars(uint16_t number, uint8_t dwords, File file = File::kScalars) const {
    RuleOperand to;
    to.file = file;
    to.number = number;
    to.dwords = dwords;
    to.part.width = static_cast<uint8_t>(dwords * 32);
    return to;
  }
  RuleOperand exec() const { return scalars(code::kExecLo, mask_dwords()); }
  static RuleOperand constant(uint64_t value) {
    RuleOperand to;
    to.file = File::kConstant;
    to.constant = value;
    return to;
  }
  static RuleOperand scc() {
    RuleOperand to;
    to.file = File::kScc;
    return to;
  }

  // Scalar ALU
  // -------------------------------------------------------------------------------------------------

  void scalar() {
    rule_.kind = Kind::kScalar;
    for (unsigned i = 0; i < 3; ++i) rule_.sources[i] = operand(in_.src[i]);
    rule_.results[0] = operand(in_.dst[0]);
    rule_.width = rule_.results[0].exists() ? rule_.results[0].part.width : rule_.sources[0].part.width;
    const isa::Effects effects = isa::effects_of(in_, context_.target, context_.layout.wave_size);
    if (effects.writes.scc) rule_.scc = Scc::kOfResult;
    if (branches() || combines_bits()) return;
    for (const ScalarRule& candidate : kScalarRules) {
      if (candidate.op != in_.op) continue;
      rule_.bits = candidate.bits;
      rule_.scc = candidate.scc;
    }
    scalar_details();
  }

  bool branches() {
    const bool is_conditional = implicit_.flow == isa::Flow::kConditional;
    if (is_conditional && implicit_.has(isa::implicit::kReadsScc)) {
      rule_.sources[0] = scc();
    } else if (is_conditional && implicit_.has(isa::implicit::kReadsVcc)) {
      rule_.sources[0] = scalars(code::kVccLo, mask_dwords());
    } else if ((implicit_.flow == isa::Flow::kJump || implicit_.flow == isa::Flow::kCall) &&
               in_.src[0].exists()) {
      rule_.kind = Kind::kJump;
      return true;
    } else {
      return false;
    }
    rule_.kind = Kind::kBranch;
    return true;
  }

  bool combines_bits() {
    if (implicit_.logic == isa::Logic::kNone) return false;
    const LogicRule& rule = *std::ranges::find(kLogicRules, implicit_.logic, &LogicRule::logic);
    rule_.bits = rule.bits;
    if (!implicit_.has(isa::implicit::kWritesExec)) {
      if (rule_.scc != Scc::kStays && !rule.is_inverted) rule_.scc = Scc::kNonzero;
      return true;
    }
    rule_.has_equal_results = implicit_.has(isa::implicit::kReturnsNewExec);
    rule_.scc = Scc::kDefined;
    rule_.results[1] = rule_.results[0];
    // Waves of 32 lanes execute instructions of 64 bits with EXEC_HI.
    rule_.results[0] = rule_.sources[1] = scalars(code::kExecLo, in_.dst[0].dwords);
    if (rule.is_reversed) std::swap(rule_.sources[0], rule_.sources[1]);
    return true;
  }

  void scalar_details() {
    auto& [a, b, c, unused] = rule_.sources;
    const auto immediate = static_cast<uint64_t>(int64_t{static_cast<int16_t>(in_.simm16)});
    switch (in_.op) {
      case Op::s_movk_i32:
        a = constant(immediate);
        break;
      case Op::s_addk_i32:
      case Op::s_mulk_i32:
        a = rule_.results[0];
        b = constant(immediate);
        break;
      case Op::s_cmpk_eq_i32:
      case Op::s_cmpk_lg_i32:
        b = constant(immediate);
        break;
      case Op::s_cmpk_eq_u32:
      case Op::s_cmpk_lg_u32:
        b = constant(in_.simm16);
        break;
      case Op::s_cselect_b32:
      case Op::s_cselect_b64:
        std::swap(a, b);
        c = scc();
        break;
      case Op::s_cmovk_i32:
        a = constant(immediate);
        [[fallthrough]];
      case Op::s_cmov_b32:
      case Op::s_cmov_b64:
        b = a;
        a = rule_.results[0];
        c = scc();
        break;
      case Op::s_addc_u32:
      case Op::s_subb_u32:
        c = scc();
        break;
      case Op::s_sext_i32_i8:
        a.part = {0, 8, true};
        break;
      case Op::s_sext_i32_i16:
        a.part = {0, 16, true};
        break;
      case Op::s_lshl_b32:
      case Op::s_lshr_b32:
      case Op::s_ashr_i32:
        b.part.width = 5;
        break;
      case Op::s_lshl_b64:
      case Op::s_lshr_b64:
      case Op::s_ashr_i64:
        b.part.width = 6;
        break;
      case Op::s_bfe_u32:
      case Op::s_bfe_i32:
      case Op::s_bfe_u64:
      case Op::s_bfe_i64:
        c = b;
        b.part = {0, static_cast<uint8_t>(rule_.width == 64 ? 6 : 5)};
        c.part = {16, 7};
        break;
      case Op::s_bitcmp0_b32:
      case Op::s_bitcmp1_b32:
      case Op::s_bitcmp0_b64:
      case Op::s_bitcmp1_b64:
        b.part.width = rule_.width == 64 ? 6 : 5;
        break;
      case Op::s_lshl1_add_u32:
      case Op::s_lshl2_add_u32:
      case Op::s_lshl3_add_u32:
      case Op::s_lshl4_add_u32:
        c = b;
        b = constant(in_.op == Op::s_lshl1_add_u32   ? 1
                     : in_.op == Op::s_lshl2_add_u32 ? 2
                     : in_.op == Op::s_lshl3_add_u32 ? 3
                                                     : 4);
        break;
      case Op::s_pack_ll_b32_b16:
      case Op::s_pack_lh_b32_b16:
      case Op::s_pack_hh_b32_b16:
        rule_.is_pair = true;
        a.part = {static_cast<uint8_t>(in_.op == Op::s_pack_hh_b32_b16 ? 16 : 0), 16};
        b.part = {static_cast<uint8_t>(in_.op == Op::s_pack_ll_b32_b16 ? 0 : 16), 16};
        break;
      case Op::s_bitset0_b32:
      case Op::s_bitset0_b64:
      case Op::s_bitset1_b32:
      case Op::s_bitset1_b64:  // The other bits stay.
      case Op::s_movreld_b32:
      case Op::s_movreld_b64:
      case Op::s_movrelsd_2_b32:  // The register that is written is known at run time.
        rule_.kind = Kind::kNone;
        break;
      case Op::s_movrels_b32:
      case Op::s_movrels_b64:
      case Op::s_getpc_b64:
      case Op::s_call_b64:
      case Op::s_getreg_b32:
        for (RuleOperand& source : rule_.sources) source = {};
        break;
      default:
        break;
    }
  }

  // Vector ALU
  // -------------------------------------------------------------------------------------------------

  void vector() {
    rule_.kind = context_.skip_vector ? Kind::kNone : Kind::kLanes;
    for (unsigned i = 0; i < 3; ++i) {
      rule_.sources[i] = operand(in_.src[i]);
      if (in_.src[i].is_vgpr() && (context_.gpr_index >> i & 1) != 0)
        rule_.sources[i].index_mask = kIndexBits;
    }
    for (unsigned i = 0; i < 2; ++i) {
      rule_.results[i] = operand(in_.dst[i]);
      RuleOperand& result = rule_.results[i];
      if (result.file == File::kScalars && moves_lane() == false) result = mask_at(result.number);
    }
    if (in_.dst[0].is_vgpr() && (context_.gpr_index & 8) != 0) rule_.results[0].index_mask = kIndexBits;
    if (in_.op == Op::v_div_fmas_f32 || in_.op == Op::v_div_fmas_f64)
      rule_.sources[3] = mask_at(code::kVccLo);
    select_parts();
    for (const VectorRule& candidate : kVectorRules) {
      if (candidate.op != in_.op) continue;
      rule_.bits = candidate.bits;
      if (candidate.is_reversed) {
        std::swap(rule_.sources[0], rule_.sources[1]);
        std::swap(rule_.high[0], rule_.high[1]);
        rule_.mapped = 1;
      }
    }
    compares();
    vector_details();
    if (in_.clamp && (rule_.bits == BitRule::kSum || rule_.bits == BitRule::kSum24))
      rule_.bits = BitRule::kAny;
    const bool has_wide_operand =
        std::any_of(std::begin(rule_.sources), std::end(rule_.sources),
                    [](const auto& source) { return source.dwords > kMostEvaluated; });
    if (has_wide_operand || rule_.results[0].dwords > kMostEvaluated ||
        isa::matrix_shape(in_.op) != nullptr || isa::wave_matrix_shape(in_.op) != nullptr) {
      for (RuleOperand& source : rule_.sources) source = {};
    }
  }

  RuleOperand mask_at(uint16_t number) const { return scalars(number, mask_dwords(), File::kMask); }

  bool moves_lane() const { return in_.op == Op::v_readlane_b32 || in_.op == Op::v_readfirstlane_b32; }

  void select_parts() {
    rule_.is_packed = in_.encoding == Encoding::kVop3p && is_packed(in_.dst[0].type);
    for (unsigned i = 0; i < 3; ++i) {
      RuleOperand& source = rule_.sources[i];
      if (!source.exists() || source.file == File::kMask) continue;
      if (rule_.is_packed) {
        source.part = {static_cast<uint8_t>((in_.op_sel >> i & 1) != 0 ? 16 : 0), 16};
        rule_.high[i] = {static_cast<uint8_t>((in_.op_sel_hi >> i & 1) != 0 ? 16 : 0), 16};
      } else if (in_.lanes == LaneMode::kSdwa && i < 2) {
        source.part = part_of(in_.src_sel[i]);
        source.part.is_signed = (in_.sext >> i & 1) != 0;
        if (is_half(in_.src[i].type)) source.part.width = std::min<uint8_t>(source.part.width, 16);
      } else if (is_half(in_.src[i].type)) {
        source.part = {static_cast<uint8_t>((in_.op_sel >> i & 1) != 0 ? 16 : 0), 16};
      }
    }
    RuleOperand& result = rule_.results[0];
    rule_.width = result.file == File::kRows ? result.part.width : rule_.sources[0].part.width;
    if (result.file != File::kRows) return;
    if (rule_.is_packed) {
      rule_.width = 16;
    } else if (in_.lanes == LaneMode::kSdwa && in_.dst_sel != isa::SdwaSel::kDword) {
      result.part = part_of(in_.dst_sel);
      result.part.is_signed = in_.dst_unused == isa::SdwaUnused::kSext;
      rule_.keeps_rest = in_.dst_unused == isa::SdwaUnused::kPreserve;
      if (is_half(in_.dst[0].type)) rule_.width = 16;
    } else if (is_half(in_.dst[0].type)) {
      rule_.width = 16;
      const bool is_high = in_.encoding != Encoding::kVop3p && (in_.op_sel & 8) != 0;
      result.part = {static_cast<uint8_t>(is_high ? 16 : 0), 16};
      rule_.keeps_rest = is_high || isa::keeps_other_half(in_, context_.traits());
    }
  }

  // A comparison's result is a mask.
  void compares() {
    if (in_.dst[0].type != isa::Type::kMask) return;
    rule_.width = std::max(rule_.sources[0].part.width, rule_.sources[1].part.width);
    if (compares_integers_for_equality(in_.op)) rule_.bits = BitRule::kEqual;
  }

  void vector_details() {
    auto& [a, b, c, unused] = rule_.sources;
    switch (in_.op) {
      case Op::v_lshlrev_b16:
      case Op::v_lshrrev_b16:
      case Op::v_ashrrev_i16:
      case Op::v_pk_lshlrev_b16:
      case Op::v_pk_lshrrev_b16:
      case Op::v_pk_ashrrev_i16:
        b.part.width = rule_.high[1].width = 4;
        break;
      case Op::v_lshlrev_b32:
      case Op::v_lshrrev_b32:
      case Op::v_ashrrev_i32:
      case Op::v_lshl_or_b32:
      case Op::v_lshl_add_u32:
        b.part.width = std::min<uint8_t>(b.part.width, 5);
        break;
      case Op::v_lshlrev_b64:
      case Op::v_lshrrev_b64:
      case Op::v_ashrrev_i64:
        b.part.width = 6;
        break;
      case Op::v_add_lshl_u32:
      case Op::v_alignbit_b32:
        c.part.width = 5;
        break;
      case Op::v_alignbyte_b32:
        c.part.width = 2;
        break;
      case Op::v_bfe_u32:
      case Op::v_bfe_i32:
        b.part.width = c.part.width = 5;
        break;
      case Op::v_cvt_f32_ubyte0:
      case Op::v_cvt_f32_ubyte1:
      case Op::v_cvt_f32_ubyte2:
      case Op::v_cvt_f32_ubyte3:
        if (in_.lanes != LaneMode::kSdwa) {
          const auto byte = static_cast<int>(in_.op) - static_cast<int>(Op::v_cvt_f32_ubyte0);
          a.part = {static_cast<uint8_t>(byte * 8), 8};
        }
        break;
      case Op::v_pack_b32_f16:
      case Op::v_cvt_pkrtz_f16_f32:
      case Op::v_cvt_pknorm_i16_f32:
      case Op::v_cvt_pknorm_u16_f32:
      case Op::v_cvt_pknorm_i16_f16:
      case Op::v_cvt_pknorm_u16_f16:
      case Op::v_cvt_pk_i16_i32:
      case Op::v_cvt_pk_u16_u32:
        rule_.is_pair = true;
        rule_.is_packed = false;
        rule_.width = 32;
        if (in_.lanes != LaneMode::kSdwa) {
          rule_.results[0].part = {};
          rule_.keeps_rest = false;
        }
        break;
      case Op::v_cvt_pkaccum_u8_f32:
        c = rule_.results[0];
        break;
      case Op::v_cndmask_b32:
        rule_.changes_sign = (in_.abs | in_.neg) != 0;
        break;
      case Op::v_mad_mixlo_f16:
      case Op::v_fma_mixlo_f16:
      case Op::v_mad_mixhi_f16:
      case Op::v_fma_mixhi_f16: {
        const bool is_high = in_.op == Op::v_mad_mixhi_f16 || in_.op == Op::v_fma_mixhi_f16;
        rule_.results[0].part = {static_cast<uint8_t>(is_high ? 16 : 0), 16};
        rule_.width = 16;
        rule_.keeps_rest = true;
        break;
      }
      case Op::v_mbcnt_lo_u32_b32:
      case Op::v_mbcnt_hi_u32_b32:
        rule_.counts_below = true;
        rule_.first_lane = in_.op == Op::v_mbcnt_hi_u32_b32 ? 32 : 0;
        break;
      case Op::v_readfirstlane_b32:
        rule_.kind = Kind::kReadLane;
        b = {};
        break;
      case Op::v_readlane_b32:
        rule_.kind = Kind::kReadLane;
        break;
      case Op::v_writelane_b32:
        rule_.kind = Kind::kWriteLane;
        break;
      case Op::v_permlane16_b32:
      case Op::v_permlanex16_b32:
        rule_.kind = Kind::kPermuteRows;
        rule_.reads_other_row = in_.op == Op::v_permlanex16_b32;
        rule_.reads_inactive = (in_.op_sel & 1) != 0;
        rule_.reads_zero = (in_.op_sel & 2) != 0;
        break;
      case Op::v_swap_b32:
        rule_.kind = Kind::kSwap;
        break;
      case Op::v_movrels_b32:
        a.index_mask = ~0u;
        break;
      case Op::v_movreld_b32:
        rule_.results[0].index_mask = ~0u;
        break;
      case Op::v_movrelsd_b32:
        a.index_mask = rule_.results[0].index_mask = ~0u;
        break;
      case Op::v_movrelsd_2_b32:
      case Op::v_swaprel_b32:
      case Op::v_permlane64_b32:
      case Op::v_permlane16_var_b32:
      case Op::v_permlanex16_var_b32:
        rule_.kind = Kind::kForget;
        break;
      case Op::v_cvt_pk_fp8_f32_ocp:
      case Op::v_cvt_pk_bf8_f32_ocp:
      case Op::v_cvt_sr_fp8_f32_ocp:
      case Op::v_cvt_sr_bf8_f32_ocp:  // Parts of the previous result remain.
        if (in_.lanes != LaneMode::kNone) rule_.kind = Kind::kForget;
        break;
      default:
        break;
    }
  }

  // Memory
  // -------------------------------------------------------------------------------------------------

  void exchange() {
    rule_.results[0] = operand(in_.vdst);
    rule_.bits = BitRule::kMove;
    if (in_.op == Op::ds_swizzle_b32) {
      rule_.kind = Kind::kLanes;
      rule_.sources[0] = operand(in_.vaddr);
      return;
    }
    rule_.kind = in_.op == Op::ds_permute_b32 ? Kind::kPermute : Kind::kPermuteBack;
    rule_.sources[0] = operand(in_.vdata);
    rule_.sources[1] = operand(in_.vaddr);
    rule_.offset = static_cast<uint32_t>(in_.offset);
    rule_.within_halves = context_.layout.wave_size == 64 && context_.traits().permutes_by_halves;
  }

  void memory() {
    if (context_.skip_vector && in_.encoding != Encoding::kSmem) return;
    rule_.kind = Kind::kMemory;
    const isa::MemoryShape* const shape = isa::memory_shape(in_.op, context_.traits());
    const bool is_atomic = shape != nullptr && shape->verb == isa::Verb::kAtomic;
    const bool is_image = in_.encoding == Encoding::kMimg;
    if (!is_atomic || in_.glc || in_.encoding == Encoding::kDs) rule_.results[0] = operand(in_.vdst);
    if (in_.tfe || in_.lwe) rule_.results[0].dwords += 1;
    if (shape != nullptr && shape->d16 && shape->components == 0 && !in_.tfe) {
      rule_.results[0].part = {static_cast<uint8_t>(shape->high ? 16 : 0), 16};
      rule_.keeps_rest = !shape->clears_half;
    }
    // The number of an image's coordinates depends on its resource.
    if (is_image || shape == nullptr) return;
    rule_.is_block = shape->is_block;
    if (shape->is_block) rule_.sources[3] = scalars(code::kM0, 1);
    RuleOperand& lanes = rule_.sources[0];
    switch (in_.encoding) {
      case Encoding::kMubuf:
      case Encoding::kMtbuf:
        if (in_.offen || in_.idxen) {
          lanes = operand(in_.vaddr);
          lanes.dwords = in_.offen && in_.idxen ? 2 : 1;
        }
        break;
      case Encoding::kScratch:
        if (in_.vaddr.is_vgpr()) lanes = operand(in_.vaddr), lanes.dwords = 1;
        break;
      case Encoding::kFlat:
      case Encoding::kGlobal:
        if (in_.vaddr.is_vgpr()) {
          const bool has_base = in_.saddr.exists() && !in_.saddr.is_null();
          lanes = operand(in_.vaddr);
          lanes.dwords = has_base ? 1 : 2;
        }
        break;
      case Encoding::kDs:
        if (!shape->addtid && in_.vaddr.is_vgpr()) lanes = operand(in_.vaddr), lanes.dwords = 1;
        break;
      default:
        break;
    }
    if (in_.saddr.is_scalar_register()) rule_.sources[1] = operand(in_.saddr);
    if (in_.soffset.is_scalar_register()) rule_.sources[2] = operand(in_.soffset);
  }

  const Instruction& in_;
  const isa::ImplicitEffects implicit_;
  const LoweringContext& context_;
  InitRule rule_;
};

}  // namespace

InitRule init_rule(const isa::Instruction& instruction, const LoweringContext& context) {
  return Reader(instruction, context).run();
}

// Executes the micro-operation on rows that contain the numbers of the lanes.
LaneMap lanes_moved_by(const MicroOp& op, const isa::Instruction& instruction, uint32_t wave_size) {
  constexpr uint32_t kMostLanes = 64;
  alignas(64) uint32_t rows[2][kMostLanes] = {};
  for (uint32_t lane = 0; lane < kMostLanes; ++lane) rows[0][lane] = lane + 1;  // 0: no source
  MicroOp ops[2] = {op, {}};
  for (Source& source : ops[0].src) source.offset = 0;
  ops[0].dst = sizeof rows[0];
  ops[1].handler = [](const MicroOp* at, Wave* wave, std::byte*, uint64_t exec) {
    wave->travelling_exec = exec;
    RIGEL_LEAVE(at, wave);
  };
  Wave wave;
  const uint64_t all = wave_size == kMostLanes ? ~uint64_t{0} : (uint64_t{1} << wave_size) - 1;
  ops[0].handler(ops, &wave, reinterpret_cast<std::byte*>(rows), all);
  LaneMap map;
  for (uint32_t lane = 0; lane < wave_size; ++lane) {
    if (rows[1][lane] == 0) continue;
    map.source[lane] = static_cast<uint8_t>(rows[1][lane] - 1);
    map.available |= uint64_t{1} << lane;
  }
  const bool is_dpp = instruction.lanes == LaneMode::kDpp || instruction.lanes == LaneMode::kDpp8;
  map.writes = is_dpp ? wave.travelling_exec : all;
  map.reads_zero = !is_dpp || instruction.lanes == LaneMode::kDpp8 || instruction.bound_ctrl;
  map.reads_inactive = is_dpp && instruction.fetch_inactive;
  return map;
}

}  // namespace rigel::vgpu::exec
