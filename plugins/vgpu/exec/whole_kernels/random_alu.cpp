#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/reference/expected.hpp"

namespace rigel::vgpu::exec::whole {

using isa::Encoding;
using isa::Op;
using reference::Draw;

namespace {

constexpr std::string_view kCommon[] = {
    "v_mov_b32",      "v_add_co_u32",   "v_add_u32",          "v_sub_u32",          "v_sub_co_u32",
    "v_and_b32",      "v_or_b32",       "v_xor_b32",          "v_not_b32",          "v_lshlrev_b32",
    "v_lshrrev_b32",  "v_ashrrev_i32",  "v_lshlrev_b64",      "v_lshrrev_b64",      "v_ashrrev_i64",
    "v_mul_lo_u32",   "v_mul_hi_u32",   "v_mul_hi_i32",       "v_mul_u32_u24",      "v_mul_i32_i24",
    "v_mad_u32_u24",  "v_mad_i32_i24",  "v_mad_u64_u32",      "v_mad_i64_i32",      "v_add_f32",
    "v_sub_f32",      "v_mul_f32",      "v_fma_f32",          "v_mac_f32",          "v_fmac_f32",
    "v_mad_f32",      "v_max_f32",      "v_min_f32",          "v_add_f64",          "v_mul_f64",
    "v_fma_f64",      "v_max_f64",      "v_min_f64",          "v_add_f16",          "v_mul_f16",
    "v_fma_f16",      "v_max_f16",      "v_cvt_f32_u32",      "v_cvt_f32_i32",      "v_cvt_u32_f32",
    "v_cvt_i32_f32",  "v_cvt_f64_f32",  "v_cvt_f32_f64",      "v_cvt_f16_f32",      "v_cvt_f32_f16",
    "v_cvt_f64_i32",  "v_cvt_f64_u32",  "v_cvt_i32_f64",      "v_cvt_f32_ubyte0",   "v_cndmask_b32",
    "v_cmp_lt_u32",   "v_cmp_gt_i32",   "v_cmp_eq_u32",       "v_cmp_lg_u32",       "v_cmp_lt_f32",
    "v_cmp_ge_f32",   "v_cmp_lt_f64",   "v_cmp_u_f32",        "v_cmp_lt_u64",       "v_cmp_class_f32",
    "v_bfe_u32",      "v_bfe_i32",      "v_bfi_b32",          "v_alignbit_b32",     "v_alignbyte_b32",
    "v_perm_b32",     "v_max_u32",      "v_min_i32",          "v_max3_i32",         "v_med3_f32",
    "v_lshl_add_u32", "v_add3_u32",     "v_lshl_or_b32",      "v_and_or_b32",       "v_or3_b32",
    "v_xad_u32",      "v_add_lshl_u32", "v_addc_u32",         "v_subb_u32",         "v_subrev_u32",
    "v_rcp_f32",      "v_sqrt_f32",     "v_floor_f32",        "v_rndne_f32",        "v_fract_f32",
    "v_pk_add_u16",   "v_pk_fma_f16",   "v_pk_mul_lo_u16",    "v_ldexp_f32",        "v_bcnt_u32_b32",
    "v_ffbh_u32",     "v_bfrev_b32",    "v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32", "v_cvt_pkrtz_f16_f32",
    "v_sad_u32",      "v_swap_b32"};

// Excludes operations that are not arithmetic on the named registers, or that need other state.
bool is_excluded(Op op) {
  const std::string_view name = isa::name(op);
  for (const char* part : {"setpc",     "swappc",           "getpc",     "call",    "rfe",
                           "setreg",    "getreg",           "subvector", "gpr_idx", "join",
                           "fork",      "waitcnt",          "movrel",    "trap",    "vskip",
                           "saveexec",  "wrexec",           "interp",    "mfma",    "accvgpr",
                           "clause",    "screen_partition", "cmpx",      "v_nop",   "inst_prefetch",
                           "s_version", "pipeflush",        "clrexcp"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return reference::is_in_list(reference::kNotRun, op) || reference::is_of_matrices(op);
}

// Whether clamp is valid: for operations with a floating-point result, and for additions.
bool has_clamp(const isa::Instruction& in) {
  const std::string_view name = isa::name(in.op);
  if (name.starts_with("v_cmp") || name.starts_with("v_mad_u64") || name.starts_with("v_mad_i64"))
    return false;
  switch (in.dst[0].type) {
    case isa::Type::kF16:
    case isa::Type::kF32:
    case isa::Type::kF64:
    case isa::Type::kV2F16:
      return name.find("cvt_pk") == name.npos;
    default:
      break;
  }
  for (const char* part : {"v_add_", "v_sub", "v_mad", "v_pk_add", "v_pk_sub", "v_pk_mad"}) {
    if (name.starts_with(part)) return true;
  }
  return false;
}

constexpr uint32_t kDpp8 = 233, kDpp8FetchInactive = 234;  // in the SRC0 field
constexpr uint32_t kFirstMissingVgpr = 64;                 // generated kernels have fewer VGPRs

bool has_null(const isa::Target& target) {
  return target.family() >= isa::Family::kGfx10;
}

bool is_half(const isa::tables::OperandShape& operand) {
  return operand.type == isa::Type::kB16 || operand.type == isa::Type::kI16 ||
         operand.type == isa::Type::kU16 || operand.type == isa::Type::kF16;
}

uint32_t dpp_control(Draw& draw) {
  static constexpr uint32_t kControls[] = {0x1b,  0xb1,  0x4e,  0xe4,  0x101, 0x10f, 0x111, 0x118,
                                           0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141,
                                           0x142, 0x143, 0x150, 0x155, 0x161, 0x16f};
  return draw.one_in(4) ? draw.below(256) : kControls[draw.below(std::size(kControls))];
}

// The lanes of VOP3 with DPP: the source and its control, or the eight lanes.
uint32_t third_dword(const isa::tables::Shape& shape, Draw& draw, uint32_t vgpr) {
  if (shape.dwords != 3) return 0;
  if (shape.has(isa::tables::flag::kDpp8)) return static_cast<uint32_t>(draw.bits()) << 8 | vgpr;
  constexpr uint32_t kFlags = 0xff04'0000;  // the masks, and FETCH_INACTIVE
  return (static_cast<uint32_t>(draw.bits()) & kFlags) | dpp_control(draw) << 8 | vgpr;
}

bool reads_lanes(Op op) {
  const std::string_view name = isa::name(op);
  return name.find("readlane") != name.npos || name.find("readfirstlane") != name.npos ||
         name.find("permlane") != name.npos;
}

}  // namespace

RandomAlu::RandomAlu(const isa::Target& target)
    : target_(target), null_(Encoder(target).field_of(isa::code::kNull)) {
  const std::set<std::string_view> common(std::begin(kCommon), std::end(kCommon));
  const auto rows = isa::tables::rows();
  for (uint16_t row = 0; size_t{row} < rows.size(); ++row) {
    if (!rows[row].chips.intersects(isa::chip_set(target))) continue;
    const Op op = rows[row].op;
    const isa::tables::Shape& shape = isa::tables::shapes()[rows[row].shape];
    const bool has_modifiers =
        shape.has(isa::tables::flag::kSdwa | isa::tables::flag::kDpp | isa::tables::flag::kDpp8);
    const bool is_scalar = isa::is_scalar_alu(shape.encoding) && shape.encoding != Encoding::kSopp;
    const bool is_vector = isa::is_vector_alu(shape.encoding);
    if (is_vector && isa::name(op).find("cmpx") != std::string_view::npos) narrows_.push_back(row);
    if (is_vector && reference::is_of_matrices(op)) matrices_.push_back(row);
    if (is_excluded(op)) continue;
    if (is_scalar) scalar_.push_back(row);
    if (is_vector) vector_.push_back(row);
    const bool is_plain = is_vector && !has_modifiers && shape.encoding != Encoding::kVopd;
    if (is_plain && common.contains(isa::name(op))) common_.push_back(row);
  }
}

Words RandomAlu::common(Draw& draw, const Registers& registers) const {
  return draw_from(common_, draw, registers);
}
Words RandomAlu::vector(Draw& draw, const Registers& registers) const {
  return draw_from(vector_, draw, registers);
}
Words RandomAlu::scalar(Draw& draw, const Registers& registers) const {
  return draw_from(scalar_, draw, registers);
}
Words RandomAlu::narrows(Draw& draw, const Registers& registers) const {
  Registers also_exec = registers;
  also_exec.exec = true;
  return draw_from(narrows_, draw, also_exec);
}

Words RandomAlu::matrix(Draw& draw, const Registers& registers) const {
  return draw_from(matrices_, draw, registers);
}

RandomAlu::Rows RandomAlu::all() const {
  Rows rows = scalar_;
  rows.insert(rows.end(), vector_.begin(), vector_.end());
  rows.insert(rows.end(), narrows_.begin(), narrows_.end());
  return rows;
}

Words RandomAlu::of_row(uint16_t row, Draw& draw, const Registers& registers) const {
  return draw_from({row}, draw, registers);
}

Words RandomAlu::draw_from(const Rows& rows, Draw& draw, const Registers& registers) const {
  Words words;
  for (int i = 0; i < 200; ++i) {
    if (attempt(rows[draw.below(static_cast<uint32_t>(rows.size()))], draw, registers, words)) return words;
  }
  return {};
}

// Draws random fields; registers are mostly valid ones. The result is decoded and checked.
bool RandomAlu::attempt(uint16_t row, Draw& draw, const Registers& registers, Words& words) const {
  namespace flag = isa::tables::flag;
  const isa::tables::Row& entry = isa::tables::rows()[row];
  const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
  uint64_t fields = draw.bits();
  const auto set = [&](unsigned low, unsigned width, uint64_t value) {
    const uint64_t mask = ((uint64_t{1} << width) - 1) << low;
    fields = (fields & ~mask) | (value << low & mask);
  };
  // Occasionally a register that the kernel does not have.
  const auto missing_vgpr = [&] { return kFirstMissingVgpr + draw.below(256 - kFirstMissingVgpr); };
  const auto any_vgpr = [&] {
    if (draw.one_in(256)) return missing_vgpr();
    return draw.one_in(4) ? draw.below(registers.vgprs)
                          : registers.first_data + draw.below(registers.vgprs - registers.first_data);
  };
  const auto data_vgpr = [&] {
    if (draw.one_in(256)) return missing_vgpr();
    return registers.first_data + draw.below(registers.vgprs - registers.first_data);
  };
  const auto sgpr = [&]() -> uint32_t {
    if (registers.sgprs < kFlatScratchSgpr && draw.one_in(32))
      return registers.sgprs + draw.below(kFlatScratchSgpr - registers.sgprs);
    if (draw.one_in(6)) return isa::code::kVccLo;
    if (has_null(target_) && draw.one_in(16)) return null_;
    return registers.first_sgpr + draw.below(registers.end_sgpr - registers.first_sgpr);
  };
  const auto constant = [&]() -> uint32_t {
    switch (draw.below(5)) {
      case 0:
        return isa::code::kHalf + draw.below(9);
      case 1:
        return isa::code::kLiteral;
      case 2:
        return 193 + draw.below(16);
      default:
        return isa::code::kZero + draw.below(65);
    }
  };
  const auto scalar_source = [&]() -> uint32_t {
    return draw.one_in(3) ? constant() : draw.one_in(24) ? isa::code::kExecLo : sgpr();
  };
  const auto source = [&]() -> uint32_t { return draw.below(4) != 0 ? v(any_vgpr()) : scalar_source(); };
  constexpr uint32_t kHigh = 0x80;  // VOP1, VOP2 and VOPC of gfx11: the upper half of a VGPR
  uint32_t dpp = 0;                 // the third dword of VOP3
  switch (shape.encoding) {
    case Encoding::kSop1:
      set(16, 7, sgpr());
      set(0, 8, scalar_source());
      break;
    case Encoding::kSop2:
      set(16, 7, sgpr());
      [[fallthrough]];
    case Encoding::kSopc:
      set(0, 8, scalar_source());
      set(8, 8, scalar_source());
      break;
    case Encoding::kSopk:
      set(16, 7, sgpr());
      break;
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
      set(17, 8, data_vgpr());
      if (shape.encoding != Encoding::kVop1) set(9, 8, any_vgpr());
      set(0, 9, source());
      if (shape.encoding == Encoding::kVop1 && shape.dst[0].file == isa::tables::File::kScalar)
        set(17, 8, sgpr());
      if (shape.dwords == 2) set(32, 8, any_vgpr());
      if (shape.has(flag::kTrue16)) {
        if (is_half(shape.dst[0]) && draw.one_in(2)) fields |= uint64_t{kHigh} << 17;
        if (is_half(shape.src[0]) && draw.one_in(2))
          fields |= uint64_t{kHigh} << (shape.dwords == 2 ? 32 : 0);
        if (is_half(shape.src[1]) && draw.one_in(2)) fields |= uint64_t{kHigh} << 9;
      }
      if (shape.has(flag::kDpp)) {
        set(40, 9, dpp_control(draw));
        if (!draw.one_in(3)) set(56, 8, 0xff);
        if (draw.one_in(2)) set(52, 4, 0);
      }
      if (shape.has(flag::kDpp8)) set(0, 9, draw.one_in(2) ? kDpp8 : kDpp8FetchInactive);
      if (shape.has(flag::kSdwa) && draw.one_in(2)) set(60, 4, 0);
      break;
    case Encoding::kVop3:
      set(0, 8, shape.dst[0].file == isa::tables::File::kVector ? data_vgpr() : sgpr());
      if (shape.dst[1].file != isa::tables::File::kNone) set(8, 7, sgpr());
      set(32, 9, source());
      set(41, 9, source());
      set(50, 9, source());
      if (draw.one_in(2)) set(59, 5, 0);
      if (draw.one_in(2) && shape.dst[1].file == isa::tables::File::kNone) set(8, 3, 0);
      if (!draw.one_in(4)) set(15, 1, 0);
      dpp = third_dword(shape, draw, any_vgpr());
      if (shape.has(flag::kDpp8)) set(32, 9, draw.one_in(2) ? kDpp8 : kDpp8FetchInactive);
      break;
    case Encoding::kVopd:
      set(0, 9, source());
      set(9, 8, any_vgpr());
      set(32, 9, source());
      set(41, 8, any_vgpr());
      set(49, 7, data_vgpr() / 2);
      set(56, 8, data_vgpr());
      break;
    case Encoding::kVop3p:
      set(0, 8, data_vgpr());
      set(32, 9, source());
      set(41, 9, source());
      set(50, 9, source());
      if (!draw.one_in(4)) set(15, 1, 0);
      dpp = third_dword(shape, draw, any_vgpr());
      if (shape.has(flag::kDpp8)) set(32, 9, draw.one_in(2) ? kDpp8 : kDpp8FetchInactive);
      break;
    default:
      return false;
  }
  const uint64_t bits = entry.value | (fields & shape.live & ~shape.mask);
  words = {static_cast<uint32_t>(bits), shape.dwords >= 2 ? static_cast<uint32_t>(bits >> 32) : draw.value(),
           draw.value(), draw.value()};
  if (shape.dwords == 3) words[2] = dpp;
  isa::Instruction in;
  if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk || in.row != row)
    return false;
  words.resize(in.bytes / 4);
  return is_allowed(in, registers);
}

bool RandomAlu::is_allowed(const isa::Instruction& in, const Registers& registers) const {
  const auto is_data_sgpr = [&](const isa::Operand& operand) {
    const bool is_mask = operand.type == isa::Type::kMask;
    const uint32_t dwords = is_mask ? (target_.wave32 ? 1 : 2) : operand.dwords;
    const uint32_t end = operand.code + std::max<uint32_t>(dwords, 1);
    return (operand.code >= registers.first_sgpr && end <= registers.end_sgpr) ||
           (operand.code >= registers.sgprs && end <= kFlatScratchSgpr) ||
           (operand.code == isa::code::kNull && has_null(target_)) ||
           (operand.code >= isa::code::kVccLo && end <= isa::code::kVccHi + 1u);
  };
  // The executor rejects matrices in scalar registers and in registers that the kernel does not have.
  const bool is_matrix = reference::is_of_matrices(in.op);
  for (const isa::Operand& operand : {in.dst[0], in.dst[1], in.second_dst}) {
    if (!operand.exists()) continue;
    if (operand.is_agpr()) {
      if (operand.agpr() + operand.dwords > registers.agprs) return false;
    } else if (operand.is_vgpr()) {
      const bool exists =
          operand.vgpr() >= registers.first_data && operand.vgpr() + operand.dwords <= registers.vgprs;
      if (!exists && (operand.vgpr() < kFirstMissingVgpr || is_matrix)) return false;
    } else if (operand.code == isa::code::kExecLo) {
      if (!registers.exec) return false;
    } else if (!is_data_sgpr(operand)) {
      return false;
    }
  }
  for (const isa::Operand& operand :
       {in.src[0], in.src[1], in.src[2], in.second_src[0], in.second_src[1], in.second_src[2]}) {
    if (!operand.exists()) continue;
    if (operand.is_agpr()) {
      if (operand.agpr() + operand.dwords > registers.agprs) return false;
    } else if (operand.is_vgpr()) {
      if (operand.vgpr() + operand.dwords > registers.vgprs &&
          (operand.vgpr() < kFirstMissingVgpr || is_matrix)) {
        return false;
      }
    } else if (operand.is_scalar_register()) {
      if (is_matrix) return false;
      if (operand.code != isa::code::kExecLo && !is_data_sgpr(operand)) return false;
    } else if (operand.code >= isa::code::kSharedBase && operand.code <= isa::code::kPopsExitingWaveId) {
      return false;
    } else if (operand.code == isa::code::kLdsDirect) {
      return false;
    }
  }
  // Lane selects, and the data of v_writelane, are scalars.
  if (in.op == Op::v_writelane_b32 && (in.src[0].is_vgpr() || in.src[1].is_vgpr())) return false;
  if (in.op == Op::v_readlane_b32 && in.src[1].is_vgpr()) return false;
  if (isa::name(in.op).starts_with("v_s_") && in.src[0].is_vgpr()) return false;
  // Operations that only move 32 bits cannot be clamped.
  if (in.clamp && !has_clamp(in)) return false;
  return registers.exchanges ||
         !(reads_lanes(in.op) || in.lanes == isa::LaneMode::kDpp || in.lanes == isa::LaneMode::kDpp8);
}

}  // namespace rigel::vgpu::exec::whole
