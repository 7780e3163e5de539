#include "plugins/vgpu/isa/decoder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

namespace {

using tables::File;
using tables::OperandShape;
using tables::Row;
using tables::Shape;
namespace flag = tables::flag;

constexpr uint16_t kDpp8Code = 233, kDpp8FetchInactiveCode = 234;

/// Codes of M0 and NULL on gfx11 and later, which are those of NULL and M0 on gfx10.
constexpr unsigned kNullOfGfx11 = 124, kM0OfGfx11 = 125;

/// Number of coordinates and gradients by DIM (gfx10 and later).
struct ImageDimension {
  uint8_t coordinates, gradients;
};
constexpr ImageDimension kImageDimensions[8] = {{1, 2}, {2, 4}, {3, 6}, {3, 4},
                                                {2, 2}, {3, 4}, {3, 4}, {4, 4}};

/// Reads the fields of one instruction. Bits that are not in the shape's fields read as 0.
class Reader {
 public:
  Reader(const Target& target, const Row& row, const Shape& shape, const uint32_t* words, size_t count,
         uint64_t bits, Instruction& out)
      : target_(target),
        family_(target.family()),
        traits_(traits_of(target)),
        fields_(tables::field_positions(family_, shape.encoding)),
        unified_(traits_.has_unified_vgprs),
        is_rdna_(family_ >= Family::kGfx10),
        is_rdna3_(family_ >= Family::kGfx11),
        row_(row),
        shape_(shape),
        words_(words),
        count_(count),
        bits_(bits & shape.live),
        out_(out),
        next_(shape.dwords) {}

  DecodeStatus read();

 private:
  unsigned field(unsigned low, unsigned width) const {
    return static_cast<unsigned>(bits_ >> low) & ((1u << width) - 1);
  }
  bool bit(unsigned at) const { return ((bits_ >> at) & 1) != 0; }
  unsigned field(tables::Field of) const {
    return of.low < 64 ? field(of.low, of.width) : words_[2] >> (of.low - 64) & ((1u << of.width) - 1);
  }
  int32_t signed_field(tables::Field of) const {
    return static_cast<int32_t>(field(of) << (32u - of.width)) >> (32u - of.width);
  }
  /// Code of a group of scalar registers. Short fields lack the low bits.
  unsigned group_code(tables::Field of) const { return field(of) << (of.width < 7 ? 7u - of.width : 0); }
  void cache_policy();
  bool is_set(tables::Field of) const { return field(of) != 0; }
  bool has_short_registers() const;

  // Each reads an operand; false if the field's value is reserved.
  bool operand(Operand& out, const OperandShape& shape, unsigned field);
  bool vector(Operand& out, unsigned number, unsigned dwords, bool acc = false);
  bool scalar(Operand& out, unsigned code, unsigned dwords) const;
  bool source(Operand& out, unsigned code, unsigned dwords);
  bool dst(size_t i, unsigned field) {
    return operand(out_.dst[i], shape_.dst[i], select_half(field, shape_.dst[i], 3));
  }
  bool src(size_t i, unsigned field) {
    return operand(out_.src[i], shape_.src[i], select_half(field, shape_.src[i], i));
  }
  unsigned select_half(unsigned field, const OperandShape& shape, size_t bit);
  bool implied();
  bool literal();

  bool scalar_instruction();
  bool vop12c();
  bool sdwa();
  bool dpp();
  bool lane_permutation();
  bool first_source();
  bool has_lane_permutation(unsigned control) const;
  bool vop3();
  bool vop3p();
  bool vopd();
  bool dual(Operand& dst, Operand (&src)[3], const Shape& shape, unsigned dst_number, unsigned src0,
            unsigned src1);
  bool lds_direct();
  bool interpolation();
  bool smem();
  void halve_compare_and_swap();
  bool ds();
  bool flat();
  bool mubuf();
  bool mtbuf();
  bool buffer_address();
  bool mimg();
  void size_image_registers();
  bool exp();

  const Target& target_;
  const Family family_;
  const Traits& traits_;
  const tables::FieldPositions& fields_;
  const bool unified_;   // VGPRs and AGPRs are one file.
  const bool is_rdna_;   // gfx10 and later
  const bool is_rdna3_;  // gfx11 and later
  const Row& row_;
  const Shape& shape_;
  const uint32_t* const words_;
  const size_t count_;
  const uint64_t bits_;
  Instruction& out_;
  size_t next_;  ///< Number of dwords read.
  bool has_literal_ = false;
  bool truncated_ = false;
};

bool Reader::literal() {
  if (has_literal_) return true;
  if (!is_rdna_ && next_ >= 2) return false;  // Before gfx10, instructions of eight bytes have no literal.
  if (shape_.has(flag::kDpp | flag::kDpp8)) return false;
  if (next_ >= count_) {
    truncated_ = true;
    return false;
  }
  has_literal_ = true;
  out_.literal = words_[next_++];
  return true;
}

bool Reader::vector(Operand& out, unsigned number, unsigned dwords, bool acc) {
  if (number + dwords > 256) return false;
  out.code = static_cast<uint16_t>((acc ? code::kAgpr : code::kVgpr) + number);
  out.dwords = static_cast<uint8_t>(dwords);
  return true;
}

/// Groups of scalar registers are aligned to their size, at most to four. The hardware ignores lower bits.
bool Reader::scalar(Operand& out, unsigned value, unsigned dwords) const {
  if (is_rdna3_ && (value == kNullOfGfx11 || value == kM0OfGfx11))
    value = value == kNullOfGfx11 ? code::kNull : code::kM0;
  const unsigned last_sgpr = is_rdna_ ? 105 : 101;
  const unsigned first_ttmp = family_ == Family::kGfx8 ? 112 : 108;
  const unsigned alignment = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
  out.dwords = static_cast<uint8_t>(dwords);
  if (value <= last_sgpr) {
    out.code = static_cast<uint16_t>(value / alignment * alignment);
    return out.code + dwords <= 106;
  }
  if (value >= first_ttmp && value <= 123) {
    out.code = static_cast<uint16_t>(first_ttmp + (value - first_ttmp) / alignment * alignment);
    return out.code - first_ttmp + dwords <= 16;
  }
  out.code = static_cast<uint16_t>(value);
  if (value >= code::kSharedBase && value <= code::kPopsExitingWaveId) return dwords <= 2;
  if (value >= code::kVccz && value <= code::kScc) return dwords <= 2;
  if (value == code::kLdsDirect) return dwords == 1 && !is_rdna3_;
  if (dwords == 1) return value >= 102 && value <= 127;
  if (dwords != 2) return false;
  return value == 102 || value == 104 || value == 106 || value == 108 || value == 110 ||
         value == code::kNull || value == code::kExecLo;
}

bool Reader::source(Operand& out, unsigned value, unsigned dwords) {
  if (value >= code::kVgpr) return vector(out, value - code::kVgpr, dwords);
  if (value >= code::kZero && value <= 208) {
    out.code = static_cast<uint16_t>(value);
    out.dwords = static_cast<uint8_t>(dwords);
    return true;
  }
  if (value >= code::kHalf && value <= code::kInv2Pi) {
    out.code = static_cast<uint16_t>(value);
    out.dwords = static_cast<uint8_t>(dwords);
    return true;
  }
  if (value == code::kLiteral) {
    out.code = code::kLiteral;
    out.dwords = static_cast<uint8_t>(dwords);
    return literal();
  }
  return scalar(out, value, dwords);
}

bool Reader::operand(Operand& out, const OperandShape& shape, unsigned field) {
  if (shape.file == File::kNone) return true;
  out.type = shape.type;
  unsigned dwords = shape.type == Type::kMask ? (target_.wave32 ? 1 : 2) : shape.dwords;
  const bool is_sum = shape_.has(flag::kWaveMatrix) && (&shape == &shape_.dst[0] || &shape == &shape_.src[2]);
  const bool is_index = shape_.has(flag::kSparse) && &shape == &shape_.src[2];
  const bool is_split = shape_.has(flag::kWaveMatrix) && shape_.has(flag::kSplit) && !is_index;
  if ((is_sum || is_split) && !target_.wave32) dwords = std::max(1u, dwords / 2);
  switch (shape.file) {
    case File::kVector:
      return vector(out, field & 0xff, dwords);
    case File::kAcc:
      return vector(out, field & 0xff, dwords, true);
    case File::kAccSource:
      return (field & 0x100) != 0 ? vector(out, field & 0xff, dwords, true) : source(out, field, dwords);
    case File::kVectorOrAcc:
      return (field & 0x100) != 0 && vector(out, field & 0xff, dwords, (field & 0x200) != 0);
    case File::kScalar:
    case File::kScalarDst:
    case File::kMask:
      return field <= 127 && scalar(out, field, dwords);
    case File::kVectorSource:
      return (field >= code::kVgpr || field == code::kLdsDirect) && source(out, field, dwords);
    case File::kSource:
      return source(out, field, dwords);
    case File::kSdwaMask:
      out.code = code::kVccLo;
      out.dwords = static_cast<uint8_t>(dwords);
      return (field & 0x80) == 0 || scalar(out, field & 0x7f, dwords);
    case File::kLiteral:
      out.code = code::kLiteral;
      out.dwords = static_cast<uint8_t>(dwords);
      return true;
    case File::kVcc:
    case File::kExec:
      out.code = shape.file == File::kVcc ? code::kVccLo : code::kExecLo;
      out.dwords = static_cast<uint8_t>(dwords);
      return true;
    case File::kSameAsDst:
      out.code = out_.dst[0].code;
      break;
    case File::kSameAsSrc0:
      out.code = out_.src[0].code;
      break;
    case File::kNone:
      break;
  }
  out.dwords = static_cast<uint8_t>(dwords);
  return true;
}

/// Whether numbers of VGPRs with 16 bits have seven bits, and the eighth selects the half (VOP1, VOP2 and
/// VOPC).
bool Reader::has_short_registers() const {
  return shape_.has(flag::kTrue16) && shape_.encoding != Encoding::kVop3;
}

/// If the field is a half of a register, returns the field of the register and sets the half in op_sel.
unsigned Reader::select_half(unsigned field, const OperandShape& shape, size_t bit) {
  if (!has_short_registers()) return field;
  const bool is_short = shape.type == Type::kF16 || shape.type == Type::kB16 || shape.type == Type::kI16 ||
                        shape.type == Type::kU16;
  const bool is_register = shape.file == File::kVector || field >= code::kVgpr;
  if (!is_short || !is_register || (field & 0x80) == 0) return field;
  out_.op_sel = static_cast<uint8_t>(out_.op_sel | 1u << bit);
  return field & ~0x80u;
}

/// Reads operands without a field, after those with one.
bool Reader::implied() {
  for (size_t i = 0; i != 2; ++i) {
    if (shape_.dst[i].file >= File::kVcc && !dst(i, 0)) return false;
  }
  for (size_t i = 0; i != 3; ++i) {
    if (shape_.src[i].file < File::kLiteral || shape_.src[i].file == File::kScalarDst) continue;
    if (!src(i, 0)) return false;
    const bool has_halves = shape_.has(flag::kTrue16) || (is_rdna3_ && shape_.has(flag::kOpSelOfDst));
    if (shape_.src[i].file == File::kSameAsDst && has_halves && (out_.op_sel & 8) != 0)
      out_.op_sel = static_cast<uint8_t>(out_.op_sel | 1u << i);
  }
  return true;
}

bool Reader::scalar_instruction() {
  const unsigned destination = field(16, 7);
  switch (out_.encoding) {
    case Encoding::kSop1:
      if (shape_.has(flag::kMessage)) out_.simm16 = static_cast<uint16_t>(field(0, 8));
      return dst(0, destination) && src(0, field(0, 8)) && implied();
    case Encoding::kSop2: {
      const bool second = shape_.has(flag::kConstantSecond);
      if (shape_.has(flag::kConstantSecond | flag::kConstantThird)) {
        out_.literal = words_[1];
        has_literal_ = true;
      }
      return dst(0, destination) && src(0, field(0, 8)) && src(second ? 2 : 1, field(8, 8)) && implied();
    }
    case Encoding::kSopc:
      out_.simm16 = static_cast<uint16_t>(shape_.has(flag::kIndexMode) ? field(8, 8) : 0);
      return src(0, field(0, 8)) && src(1, field(8, 8));
    case Encoding::kSopk:
      out_.simm16 = static_cast<uint16_t>(field(0, 16));
      if (shape_.dwords == 2) out_.literal = words_[1];
      return dst(0, destination) && (shape_.src[0].file != File::kScalarDst || src(0, destination)) &&
             implied();
    default:
      out_.simm16 = static_cast<uint16_t>(field(0, 16));
      return true;
  }
}

bool Reader::vop12c() {
  if (shape_.has(flag::kSdwa)) return sdwa();
  if (shape_.has(flag::kDpp | flag::kDpp8)) return dpp();
  if (shape_.has(flag::kConstantSecond | flag::kConstantThird)) {
    out_.literal = words_[1];
    has_literal_ = true;
  }
  const bool second = shape_.has(flag::kConstantSecond);
  return (shape_.dst[0].file >= File::kVcc || dst(0, field(17, 8))) && src(0, field(0, 9)) &&
         (shape_.src[second ? 2 : 1].file >= File::kLiteral || src(second ? 2 : 1, field(9, 8))) && implied();
}

bool Reader::sdwa() {
  out_.lanes = LaneMode::kSdwa;
  // Without a field, selects the whole register.
  const auto select = [this](unsigned low, SdwaSel& sel) {
    if (((shape_.live >> low) & 7) != 7) return true;
    sel = static_cast<SdwaSel>(field(low, 3));
    return sel <= SdwaSel::kDword;
  };
  if (out_.encoding == Encoding::kVopc) {
    if (shape_.dst[0].file < File::kVcc && !dst(0, field(40, 8))) return false;
  } else {
    if (!select(40, out_.dst_sel) || field(43, 2) == 3) return false;
    out_.dst_unused = static_cast<SdwaUnused>(field(43, 2));
    if (!dst(0, field(17, 8))) return false;
  }
  out_.clamp = out_.encoding == Encoding::kVopc && shape_.dst[0].file == File::kSdwaMask ? false : bit(45);
  out_.omod = static_cast<uint8_t>(shape_.dst[0].file == File::kSdwaMask ? 0 : field(46, 2));
  if (!select(48, out_.src_sel[0]) || !select(56, out_.src_sel[1])) return false;
  out_.sext = static_cast<uint8_t>(field(51, 1) | field(59, 1) << 1);
  out_.neg = static_cast<uint8_t>(field(52, 1) | field(60, 1) << 1);
  out_.abs = static_cast<uint8_t>(field(53, 1) | field(61, 1) << 1);
  // A VGPR; if the bit is set (gfx9 and later), a scalar code.
  const auto read = [this](size_t i, unsigned number, bool is_scalar) {
    if (shape_.src[i].file == File::kNone || shape_.src[i].file >= File::kLiteral) return true;
    OperandShape shape = shape_.src[i];
    shape.file = File::kSource;
    if (is_scalar && number == code::kLiteral) return false;
    return operand(out_.src[i], shape, is_scalar ? number : number + code::kVgpr);
  };
  return read(0, field(32, 8), bit(55)) && read(1, field(9, 8), bit(63)) && implied();
}

/// Whether this chip has the DPP_CTRL, for operands of this size.
bool Reader::has_lane_permutation(unsigned control) const {
  const auto is_double = [](const OperandShape& shape) {
    return shape.dwords == 2 && shape.type != Type::kMask;
  };
  const bool to_all = control >= 0x150 && control <= 0x15f;  // row_share, row_newbcast
  if (is_double(shape_.dst[0]) || is_double(shape_.src[0]) || is_double(shape_.src[1])) return to_all;
  if (control <= 0xff || control == 0x140 || control == 0x141) return true;
  if (control >= 0x101 && control <= 0x12f) return (control & 15) != 0;
  if (to_all) return is_rdna_ || unified_;
  if (control >= 0x160 && control <= 0x16f) return is_rdna_;
  return !is_rdna_ && (control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13c ||
                       control == 0x142 || control == 0x143);
}

/// Reads the dword of DPP: the second one, in VOP3 the third.
bool Reader::lane_permutation() {
  const bool is_long = shape_.dwords == 3;
  const uint32_t live = is_long ? ~0u : static_cast<uint32_t>(shape_.live >> 32);
  const uint32_t control = words_[shape_.dwords - 1u] & live;
  const auto bits = [control](unsigned low, unsigned width) { return control >> low & ((1u << width) - 1); };
  if (shape_.has(flag::kDpp8)) {
    const unsigned code = field(is_long ? 32 : 0, 9);
    if (code != kDpp8Code && code != kDpp8FetchInactiveCode) return false;
    out_.lanes = LaneMode::kDpp8;
    out_.fetch_inactive = code == kDpp8FetchInactiveCode;
    out_.dpp8 = bits(8, 24);
    return true;
  }
  out_.lanes = LaneMode::kDpp;
  out_.dpp_ctrl = static_cast<uint16_t>(bits(8, 9));
  if (!has_lane_permutation(out_.dpp_ctrl)) return false;
  out_.fetch_inactive = bits(18, 1) != 0;
  out_.bound_ctrl = bits(19, 1) != 0;
  if (!is_long) {
    out_.neg = static_cast<uint8_t>(bits(20, 1) | bits(22, 1) << 1);
    out_.abs = static_cast<uint8_t>(bits(21, 1) | bits(23, 1) << 1);
  }
  out_.bank_mask = static_cast<uint8_t>(bits(24, 4));
  out_.row_mask = static_cast<uint8_t>(bits(28, 4));
  return true;
}

bool Reader::dpp() {
  return lane_permutation() && (shape_.dst[0].file >= File::kVcc || dst(0, field(17, 8))) &&
         src(0, field(32, 8)) && (shape_.src[1].file >= File::kLiteral || src(1, field(9, 8))) && implied();
}

/// Reads S0 of VOP3 and VOP3P, with DPP if the shape has it.
bool Reader::first_source() {
  if (!shape_.has(flag::kDpp | flag::kDpp8)) return src(0, field(32, 9));
  return lane_permutation() && src(0, words_[2] & 0xff);
}

bool Reader::vop3() {
  if (shape_.has(flag::kInterpolation)) return interpolation();
  const bool two = shape_.dst[1].file == File::kMask;  // The second destination replaces ABS.
  if (shape_.has(flag::kMatrix)) {
    out_.cbsz = static_cast<uint8_t>(field(8, 3));
    out_.abid = static_cast<uint8_t>(field(11, 4));
    out_.blgp = static_cast<uint8_t>(field(61, 3));
    OperandShape result = shape_.dst[0];
    if (shape_.has(flag::kSparse) && bit(15)) result.file = File::kAcc;
    return operand(out_.dst[0], result, field(0, 8)) && src(0, field(32, 9) | field(59, 1) << 9) &&
           src(1, field(41, 9) | field(60, 1) << 9) && src(2, field(50, 9));
  }
  if (!two) {
    out_.abs = static_cast<uint8_t>(field(8, 3));
    out_.op_sel = static_cast<uint8_t>(field(11, 4));
  }
  out_.clamp = bit(15);
  out_.omod = static_cast<uint8_t>(field(59, 2));
  out_.neg = static_cast<uint8_t>(field(61, 3));
  return (shape_.dst[0].file >= File::kVcc || dst(0, field(0, 8))) && (!two || dst(1, field(8, 7))) &&
         first_source() && (shape_.src[1].file >= File::kLiteral || src(1, field(41, 9))) &&
         (shape_.src[2].file >= File::kLiteral || src(2, field(50, 9))) && implied();
}

bool Reader::vop3p() {
  if (shape_.has(flag::kMatrix)) return vop3();
  out_.neg = static_cast<uint8_t>(field(61, 3));
  if (shape_.has(flag::kMix)) {
    out_.abs = static_cast<uint8_t>(field(8, 3));  // The field is NEG_HI in other instructions.
  } else {
    out_.neg_hi = static_cast<uint8_t>(field(8, 3));
  }
  out_.op_sel = static_cast<uint8_t>(field(11, 3));
  out_.op_sel_hi = static_cast<uint8_t>(field(59, 2) | field(14, 1) << 2);
  if (shape_.has(flag::kSparse)) {
    out_.index_key = std::exchange(out_.op_sel, uint8_t{0});
    if (out_.index_key >= wave_matrix_shape(out_.op)->index_parts(target_.wave32 ? 32 : 64)) return false;
  }
  out_.clamp = bit(15);
  const bool valid = dst(0, field(0, 8)) && first_source() &&
                     (shape_.src[1].file >= File::kLiteral || src(1, field(41, 9))) &&
                     (shape_.src[2].file >= File::kLiteral || src(2, field(50, 9))) && implied();
  if (shape_.has(flag::kMix)) {  // Each source is a half or a float.
    for (size_t i = 0; i != 3; ++i)
      out_.src[i].type = ((out_.op_sel_hi >> i) & 1) != 0 ? Type::kF16 : Type::kF32;
  }
  return valid;
}

/// Reads one operation of VOPD, whose operands are those of its VOP1 or VOP2 form.
bool Reader::dual(Operand& dst, Operand (&src)[3], const Shape& shape, unsigned dst_number, unsigned src0,
                  unsigned src1) {
  const size_t second = shape.has(flag::kConstantSecond) ? 2 : 1;
  if (!operand(dst, shape.dst[0], dst_number) || !operand(src[0], shape.src[0], src0)) return false;
  if (shape.src[second].file < File::kLiteral && !operand(src[second], shape.src[second], src1)) return false;
  for (size_t i = 0; i != 3; ++i) {
    const OperandShape& implied = shape.src[i];
    if (implied.file < File::kLiteral) continue;
    if (!operand(src[i], implied, 0)) return false;
    if (implied.file == File::kSameAsDst) src[i].code = dst.code;
  }
  return true;
}

bool Reader::vopd() {
  const tables::Dual* const second = tables::dual(family_, tables::dual_code(row_.value));
  if (second == nullptr || !target_.wave32) return false;
  if (shape_.dwords == 3) {
    out_.literal = words_[2];
    has_literal_ = true;
  }
  out_.second_op = second->op;
  // One destination has an even number, the other one an odd number.
  const unsigned first_number = field(56, 8), second_number = field(49, 7) << 1 | (~first_number & 1);
  return dual(out_.dst[0], out_.src, shape_, first_number, field(0, 9), field(9, 8)) &&
         dual(out_.second_dst, out_.second_src, tables::shapes()[second->shape], second_number, field(32, 9),
              field(41, 8));
}

bool Reader::lds_direct() {
  out_.wait = static_cast<uint8_t>(field(16, 4));
  out_.wait_source = static_cast<uint8_t>(field(23, 1));
  out_.attribute = static_cast<uint8_t>(field(10, 6));
  out_.channel = static_cast<uint8_t>(field(8, 2));
  return dst(0, field(0, 8));
}

bool Reader::interpolation() {
  if (shape_.has(flag::kInRegister)) {
    out_.wait = static_cast<uint8_t>(field(8, 3));
    out_.op_sel = static_cast<uint8_t>(field(11, 4));
    out_.clamp = bit(15);
    out_.neg = static_cast<uint8_t>(field(61, 3));
    return dst(0, field(0, 8)) && src(0, field(32, 9)) && src(1, field(41, 9)) && src(2, field(50, 9));
  }
  if (out_.encoding == Encoding::kVintrp) {
    out_.attribute = static_cast<uint8_t>(field(10, 6));
    out_.channel = static_cast<uint8_t>(field(8, 2));
    out_.simm16 = static_cast<uint16_t>(field(0, 8));  // v_interp_mov: selects the parameter.
    return dst(0, field(18, 8)) && src(0, field(0, 8)) && implied();
  }
  out_.attribute = static_cast<uint8_t>(field(32, 6));
  out_.channel = static_cast<uint8_t>(field(38, 2));
  out_.high = bit(40);
  out_.clamp = bit(15);
  out_.omod = static_cast<uint8_t>(field(59, 2));
  out_.abs = static_cast<uint8_t>(field(9, 1) | field(10, 1) << 2);
  out_.neg = static_cast<uint8_t>(field(62, 1) | field(63, 1) << 2);
  out_.simm16 = static_cast<uint16_t>(field(41, 9));
  return dst(0, field(0, 8)) && src(0, field(41, 9)) &&
         (shape_.src[2].file >= File::kLiteral || src(2, field(50, 9))) && implied();
}

/// A compare-and-swap has two operands; it returns one value in the first half of the same registers.
void Reader::halve_compare_and_swap() {
  const bool pair = shape_.has(flag::kPair);
  if (!pair || !out_.vdst.exists()) return;
  out_.vdst.dwords /= 2;
  out_.vdst.type = out_.vdst.dwords == 1 ? Type::kB32 : Type::kB64;
}

void Reader::cache_policy() {
  out_.glc = is_set(fields_.glc);
  out_.slc = is_set(fields_.slc);
  out_.dlc = is_set(fields_.dlc);
  out_.scc = unified_ && is_set(fields_.scc);
  out_.hint = static_cast<uint8_t>(field(fields_.hint));
  out_.scope = static_cast<uint8_t>(field(fields_.scope));
  if (!shape_.has(flag::kAtomic)) {
    out_.glc |= out_.scope >= kScopeDevice;
    return;
  }
  // The bit is fixed in forms of some atomics.
  const tables::Field returns = fields_.hint.width != 0 ? fields_.hint : fields_.glc;
  const uint64_t fixed = row_.value & shape_.mask & uint64_t{1} << returns.low;
  if (fixed != 0 || (field(returns) & 1) != 0) out_.glc = true;
  if (fields_.hint.width != 0 && out_.glc) out_.hint |= 1;
}

bool Reader::smem() {
  cache_policy();
  const unsigned data = field(6, 7);
  const OperandShape& stored = shape_.src[1];
  const OperandShape& returned = shape_.dst[0];
  const bool atomic = shape_.has(flag::kAtomic);
  if (shape_.has(flag::kImmediateData)) {
    out_.simm16 = static_cast<uint16_t>(data);
  } else if (atomic) {
    const OperandShape& shape = stored.file != File::kNone ? stored : returned;
    if (!operand(out_.vdata, shape, data)) return false;
    if (out_.glc) out_.vdst = out_.vdata;
    halve_compare_and_swap();
  } else if (!operand(out_.vdata, stored, data) || !operand(out_.vdst, returned, data)) {
    return false;
  }
  const bool prefetches = shape_.has(flag::kPrefetch);
  if (shape_.src[0].file == File::kNone && !prefetches) return true;
  if (!operand(out_.saddr, shape_.src[0], field(0, 6) << 1)) return false;

  const uint64_t bits = uint64_t{words_[0]} | uint64_t{words_[1]} << 32;
  const unsigned unused = 32u - fields_.offset.width;
  const auto immediate = static_cast<uint32_t>(bits >> 32) << unused >> unused;
  const auto signed_immediate = static_cast<int32_t>(immediate << unused) >> unused;
  const unsigned high_register = static_cast<unsigned>(bits >> 57) & 0x7f;
  const OperandShape soffset{File::kScalar, Type::kB32, 1};
  if (prefetches) {
    out_.offset = signed_immediate;
    return operand(out_.soffset, soffset, high_register);
  }
  if (is_rdna_) {
    const bool has_register = high_register != (is_rdna3_ ? kNullOfGfx11 : code::kNull);
    out_.offset = signed_immediate;
    out_.offen = !has_register || signed_immediate != 0 || family_ >= Family::kGfx12;
    return !has_register || operand(out_.soffset, soffset, high_register);
  }
  const bool has_immediate = ((bits >> 17) & 1) != 0;
  const bool has_register = family_ == Family::kGfx9 && ((bits >> 14) & 1) != 0;
  out_.offen = has_immediate;
  if (has_immediate) {
    out_.offset = family_ == Family::kGfx8 ? static_cast<int32_t>(immediate & 0xfffff) : signed_immediate;
    return !has_register || operand(out_.soffset, soffset, high_register);
  }
  return operand(out_.soffset, soffset, has_register ? high_register : immediate & 0x7f);
}

bool Reader::ds() {
  if (shape_.has(flag::kTwoOffsets)) {
    out_.offset = static_cast<int32_t>(field(fields_.offset0));
    out_.offset1 = field(fields_.offset1);
  } else {
    out_.offset = static_cast<int32_t>(field(fields_.offset));
  }
  out_.gds = shape_.has(flag::kAlwaysGds) || (!unified_ && is_set(fields_.gds));
  const bool acc = unified_ && bit(25);
  const auto data = [&](Operand& out, const OperandShape& shape, unsigned number) {
    if (shape.file == File::kNone) return true;
    out.type = shape.type;
    return vector(out, number, shape.dwords, acc);
  };
  // GWS barriers have their data in the address field.
  const bool data_first = shape_.src[0].file == File::kNone && ((shape_.live >> 32) & 0xff) != 0;
  if (!operand(out_.vaddr, shape_.src[0], field(32, 8)) ||
      !data(out_.vdata, shape_.src[1], field(data_first ? 32 : 40, 8)) ||
      !data(out_.vdata2, shape_.src[2], field(48, 8)) || !data(out_.vdst, shape_.dst[0], field(56, 8)))
    return false;
  if (shape_.has(flag::kSwapped)) std::swap(out_.vdata, out_.vdata2);
  return true;
}

bool Reader::flat() {
  cache_policy();
  out_.lds = shape_.has(flag::kLds);
  const bool acc = unified_ && bit(55);
  out_.nv = family_ == Family::kGfx9 && !unified_ && bit(55);
  const bool has_operands = shape_.src[0].file != File::kNone || shape_.src[1].file != File::kNone ||
                            shape_.dst[0].file != File::kNone || out_.lds;
  if (!has_operands) return true;  // Cache control
  const bool is_signed = out_.encoding != Encoding::kFlat || family_ >= Family::kGfx12;
  out_.offset = is_signed ? signed_field(fields_.offset) : static_cast<int32_t>(field(fields_.offset));
  // SADDR: one code means none; scratch of gfx10 has another one for no address, scratch of gfx11 and later a
  // bit (SVE).
  const unsigned none = !is_rdna_ ? 0x7f : is_rdna3_ ? kNullOfGfx11 : code::kNull;
  bool has_vaddr = shape_.src[0].file != File::kNone, has_saddr = false;
  if (out_.encoding != Encoding::kFlat) {
    const unsigned saddr =
        (fields_.saddr.low == 0 ? words_[0] : words_[1] >> (fields_.saddr.low - 32)) & 0x7f;
    const bool scratch = out_.encoding == Encoding::kScratch;
    has_saddr = saddr != none;
    if (scratch && family_ == Family::kGfx10 && saddr == 0x7f) {
      if (target_.minor < 3 && !out_.lds) return false;
      has_saddr = has_vaddr = false;
    }
    if (scratch && is_rdna3_) has_vaddr = (words_[1] >> (family_ == Family::kGfx11 ? 23 : 17) & 1) != 0;
    if (has_saddr) {
      const unsigned dwords = scratch ? 1 : 2;
      const OperandShape shape{File::kScalar, dwords == 2 ? Type::kB64 : Type::kB32,
                               static_cast<uint8_t>(dwords)};
      if (!operand(out_.saddr, shape, saddr)) return false;
      if (scratch && !traits_.scratch_adds_registers) has_vaddr = false;
    }
  }
  if (has_vaddr) {
    const unsigned dwords = out_.encoding == Encoding::kScratch || has_saddr ? 1 : 2;
    out_.vaddr.type = dwords == 2 ? Type::kB64 : Type::kB32;
    if (!vector(out_.vaddr, field(fields_.vaddr), dwords)) return false;
  }
  const unsigned divisor = shape_.has(flag::kSplit) && !target_.wave32 ? 2 : 1;
  const auto data = [&](Operand& out, const OperandShape& shape, unsigned number) {
    if (shape.file == File::kNone) return true;
    out.type = shape.type;
    return vector(out, number, shape.dwords / divisor, acc);
  };
  if (!data(out_.vdata, shape_.src[1], field(fields_.vdata))) return false;
  return (shape_.has(flag::kAtomic) && !out_.glc) || data(out_.vdst, shape_.dst[0], field(fields_.vdst));
}

/// The part that MUBUF and MTBUF share.
bool Reader::buffer_address() {
  out_.offset =
      family_ >= Family::kGfx12 ? signed_field(fields_.offset) : static_cast<int32_t>(field(fields_.offset));
  out_.offen = is_set(fields_.offen);
  out_.idxen = is_set(fields_.idxen);
  cache_policy();
  if (out_.offen || out_.idxen) {
    const unsigned dwords = out_.offen && out_.idxen ? 2 : 1;
    out_.vaddr.type = dwords == 2 ? Type::kB64 : Type::kB32;
    const auto number = words_[fields_.vaddr.low / 32] & 0xff;
    if (!vector(out_.vaddr, number, dwords)) return false;
  }
  out_.saddr.type = Type::kB128;
  out_.soffset.type = Type::kB32;
  return scalar(out_.saddr, group_code(fields_.srsrc), 4) && source(out_.soffset, field(fields_.soffset), 1);
}

bool Reader::mubuf() {
  const OperandShape& shape = shape_.src[1];
  if ((shape_.live >> fields_.soffset.low & 0x7f) == 0) {  // Cache control, without operands.
    cache_policy();
    return true;
  }
  if (!buffer_address()) return false;
  out_.lds = shape_.has(flag::kLds);
  out_.tfe = !unified_ && is_set(fields_.tfe);
  if (shape.file == File::kNone) return true;
  Operand data;
  data.type = shape.type;
  if (!vector(data, field(fields_.vdata), shape.dwords + (out_.tfe ? 1u : 0u), unified_ && bit(55)))
    return false;
  const bool atomic = shape_.has(flag::kAtomic);
  if (atomic || shape_.has(flag::kStore)) out_.vdata = data;
  if (atomic ? out_.glc : !shape_.has(flag::kStore)) out_.vdst = data;
  if (atomic) halve_compare_and_swap();
  return true;
}

bool Reader::mtbuf() {
  if (!buffer_address()) return false;
  out_.format = static_cast<uint8_t>(field(fields_.format));
  if (!is_rdna_) {
    out_.dfmt = static_cast<uint8_t>(field(19, 4));
    out_.nfmt = static_cast<uint8_t>(field(23, 3));
  }
  const OperandShape& shape = shape_.src[1];
  Operand& data = shape_.has(flag::kStore) ? out_.vdata : out_.vdst;
  data.type = shape.type;
  return vector(data, field(fields_.vdata), shape.dwords, unified_ && bit(55));
}

bool Reader::mimg() {
  out_.dmask = static_cast<uint8_t>(field(fields_.dmask));
  out_.unorm = is_set(fields_.unorm);
  cache_policy();
  out_.da = is_set(fields_.da);
  (family_ == Family::kGfx9 ? out_.a16 : out_.r128) = is_set(fields_.r128);
  const bool has_sampler_fields = fields_.sampler_tfe.width != 0 && tables::has_sampler_fields(words_[0]);
  out_.tfe = !unified_ && is_set(has_sampler_fields ? fields_.sampler_tfe : fields_.tfe);
  out_.lwe = is_set(fields_.lwe);
  out_.dim = static_cast<uint8_t>(field(fields_.dim));
  if (is_rdna_) out_.a16 = is_set(fields_.a16);
  out_.d16 = is_set(fields_.d16);
  const bool ray = shape_.has(flag::kRay);
  if (ray) out_.a16 = ((row_.value >> fields_.a16.low) & 1) != 0;
  out_.saddr.type = ray ? Type::kB128 : Type::kB256;
  if (!scalar(out_.saddr, group_code(fields_.srsrc), ray ? 4 : 8)) return false;
  if (shape_.has(flag::kSampler)) {
    out_.extra[0].type = Type::kB128;
    if (!scalar(out_.extra[0], group_code(fields_.ssamp), 4)) return false;
  }

  Operand listed;  // The form in the table must always fit.
  if (!vector(listed, field(fields_.vdata), shape_.src[1].dwords) ||
      (!shape_.has(flag::kNsa) && !vector(listed, field(fields_.vaddr), shape_.src[0].dwords)))
    return false;
  size_image_registers();
  out_.vdst.type = Type::kB32;
  if (!vector(out_.vdst, field(fields_.vdata), out_.vdst.dwords, unified_ && bit(16))) return false;
  if (shape_.has(flag::kStore | flag::kAtomic)) out_.vdata = out_.vdst;
  if (shape_.has(flag::kAtomic) ? !out_.glc : shape_.has(flag::kStore)) out_.vdst = Operand{};
  out_.vaddr.type = Type::kB32;
  if (shape_.has(flag::kNsa) && family_ >= Family::kGfx12) {
    // Four addresses in the third dword; VIMAGE has a fifth. With VSAMPLE, the addresses from the fourth on
    // are in consecutive registers.
    const bool has_fifth = !has_sampler_fields;
    for (size_t i = 0; i != 3; ++i) out_.nsa[i] = static_cast<uint8_t>(words_[2] >> (8 * (i + 1)));
    if (has_fifth) out_.nsa[3] = static_cast<uint8_t>(words_[1] >> 24);
    for (size_t i = has_fifth ? 4 : 3; i < out_.nsa_count; ++i) {
      out_.nsa[i] = static_cast<uint8_t>(out_.nsa[i - 1] + 1);
      if (out_.nsa[i] == 0) return false;
    }
  } else if (shape_.has(flag::kNsa)) {
    const size_t extra_dwords = family_ == Family::kGfx11 ? 1 : static_cast<size_t>(row_.value >> 1) & 3;
    if (next_ + extra_dwords > count_) {
      truncated_ = true;
      return false;
    }
    for (size_t i = 0; i != extra_dwords * 4; ++i)
      out_.nsa[i] = static_cast<uint8_t>(words_[next_ + i / 4] >> (i % 4 * 8));
    // On gfx11, the addresses from the fifth on are in consecutive registers.
    for (size_t i = 4; family_ == Family::kGfx11 && i < out_.nsa_count; ++i) {
      out_.nsa[i] = static_cast<uint8_t>(out_.nsa[i - 1] + 1);
      if (out_.nsa[i] == 0) return false;
    }
    next_ += extra_dwords;
  }
  return vector(out_.vaddr, field(fields_.vaddr), out_.vaddr.dwords);
}

/// Sets the numbers of data and address registers: those that the modifiers require if such a form exists,
/// else those of the table's form.
void Reader::size_image_registers() {
  const bool nsa = shape_.has(flag::kNsa);
  const unsigned listed = shape_.src[0].dwords;
  out_.vdst.dwords = shape_.src[1].dwords;
  out_.vaddr.dwords = static_cast<uint8_t>(nsa ? 1 : listed);
  out_.nsa_count = static_cast<uint8_t>(nsa ? listed - 1 : 0);
  const tables::Image* image = tables::image(row_.op);
  if (image == nullptr || shape_.has(flag::kRay)) return;

  out_.lacks_registers = true;
  unsigned data =
      shape_.has(flag::kGather) ? 4u : std::max(1u, static_cast<unsigned>(std::popcount(out_.dmask)));
  const bool unpacked = family_ == Family::kGfx8 && target_.minor == 0;
  if (out_.d16 && !unpacked) data = (data + 1) / 2;
  if (out_.tfe) ++data;
  const uint32_t sizes = family_ == Family::kGfx12 ? image->data_gfx12
                         : is_rdna3_               ? image->data_gfx11
                         : is_rdna_                ? image->data_gfx10
                         : unified_                ? image->data_gfx90a
                                                   : image->data_gfx8;
  if (((sizes >> data) & 1) == 0) return;
  if (shape_.has(flag::kAtomic) && data == 4 && (sizes & 2) != 0) data = 5;  // As LLVM does.
  if (field(fields_.vdata) + data > 256) return;

  if (is_rdna_) {
    const ImageDimension& dimension = kImageDimensions[out_.dim];
    const unsigned coordinates = (image->coordinates ? dimension.coordinates : 0u) + (image->level ? 1u : 0u);
    unsigned addresses = image->further + (out_.a16 ? (coordinates + 1) / 2 : coordinates);
    if (image->gradients)
      addresses += image->half_gradients ? (dimension.gradients / 2u + 1) & ~1u : dimension.gradients;
    if (nsa) {
      const uint32_t existing = is_rdna3_ ? image->nsa_addresses_gfx11 : image->nsa_addresses_gfx10;
      if (is_rdna3_ ? addresses > 12 : ((existing >> addresses) & 1) == 0 || addresses > listed) return;
      out_.nsa_count = static_cast<uint8_t>(addresses - 1);
    } else {
      if (addresses > 12) addresses = 16;
      const uint32_t existing = is_rdna3_ ? image->addresses_gfx11 : image->addresses_gfx10;
      if (((existing >> addresses) & 1) == 0 || field(fields_.vaddr) + addresses > 256) return;
      out_.vaddr.dwords = static_cast<uint8_t>(addresses);
    }
  }
  out_.vdst.dwords = static_cast<uint8_t>(data);
  out_.lacks_registers = false;
}

bool Reader::exp() {
  out_.enable = static_cast<uint8_t>(field(0, 4));
  out_.target = static_cast<uint8_t>(field(4, 6));
  out_.compressed = bit(10);
  out_.done = (row_.value >> 11 & 1) != 0;
  out_.valid_mask = bit(12);
  out_.row_enable = fields_.row.width != 0 && ((row_.value >> fields_.row.low) & 1) != 0;
  for (unsigned i = 0; i != 4; ++i) {
    out_.extra[i].type = Type::kB32;
    if (!vector(out_.extra[i], field(32 + 8 * i, 8), 1)) return false;
  }
  return true;
}

DecodeStatus Reader::read() {
  static constexpr Instruction kBlank{};  // A copy of the whole object is faster than one of each member.
  out_ = kBlank;
  out_.op = row_.op;
  out_.encoding = shape_.encoding;
  bool valid = false;
  switch (shape_.encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopk:
    case Encoding::kSopc:
    case Encoding::kSopp:
      valid = scalar_instruction();
      break;
    case Encoding::kSmem:
      valid = smem();
      break;
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
      valid = vop12c();
      break;
    case Encoding::kVop3:
      valid = vop3();
      break;
    case Encoding::kVop3p:
      valid = vop3p();
      break;
    case Encoding::kVintrp:
      valid = interpolation();
      break;
    case Encoding::kDs:
      valid = ds();
      break;
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
      valid = flat();
      break;
    case Encoding::kMubuf:
      valid = mubuf();
      break;
    case Encoding::kMtbuf:
      valid = mtbuf();
      break;
    case Encoding::kMimg:
      valid = mimg();
      break;
    case Encoding::kExp:
      valid = exp();
      break;
    case Encoding::kVopd:
      valid = vopd();
      break;
    case Encoding::kLdsDirect:
      valid = lds_direct();
      break;
  }
  if (truncated_) return DecodeStatus::kTruncated;
  if (!valid) return DecodeStatus::kBadOperand;
  out_.bytes = static_cast<uint8_t>(next_ * 4);
  return DecodeStatus::kOk;
}

}  // namespace

std::string_view reason(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::kOk:
      return "decoded";
    case DecodeStatus::kTruncated:
      return "incomplete instruction at the end of the code";
    case DecodeStatus::kIllegal:
      return "not an instruction of this chip";
    case DecodeStatus::kBadOperand:
      return "reserved operand or modifier";
    case DecodeStatus::kUnknownTarget:
      return "unknown chip";
  }
  return "?";
}

DecodeStatus decode(const Target& target, const uint32_t* words, size_t count, Instruction& instruction) {
  const ChipSet chip = chip_set(target);
  if (chip.is_empty()) return DecodeStatus::kUnknownTarget;
  if (count == 0) return DecodeStatus::kTruncated;
  const uint64_t bits = words[0] | (count > 1 ? uint64_t{words[1]} << 32 : 0);
  DecodeStatus status = DecodeStatus::kIllegal;
  for (const tables::Candidate& candidate : tables::candidates(target.family(), bits)) {
    if (!candidate.chips.intersects(chip)) continue;
    const uint64_t differ = (bits ^ candidate.value) & candidate.mask;
    if (candidate.dwords > count) {
      const uint64_t code = bits >> (candidate.dwords == 3 ? 32 : 0) & 0x1ff;
      const bool dpp8 = code == kDpp8Code || code == kDpp8FetchInactiveCode;
      const bool may_match = count > 1 ? differ == 0 : static_cast<uint32_t>(differ) == 0;
      if (may_match && (!candidate.dpp8 || dpp8)) return DecodeStatus::kTruncated;
      continue;
    }
    if (differ != 0) continue;
    const Row& row = tables::rows()[candidate.row];
    status = Reader(target, row, tables::shapes()[row.shape], words, count, bits, instruction).read();
    if (status == DecodeStatus::kOk) {
      instruction.row = candidate.row;
      return status;
    }
  }
  return status;
}

}  // namespace rigel::vgpu::isa
