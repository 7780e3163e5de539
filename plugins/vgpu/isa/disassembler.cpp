#include "plugins/vgpu/isa/disassembler.hpp"

#include <utility>

#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/operand_text.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

namespace {

using tables::File;
using tables::Shape;
namespace flag = tables::flag;

Operand vector_group(unsigned number, unsigned dwords) {
  Operand group;
  group.code = static_cast<uint16_t>(code::kVgpr + number);
  group.dwords = static_cast<uint8_t>(dwords);
  return group;
}

/// Prints one instruction.
class Writer {
 public:
  Writer(const Target& target, const Instruction& instruction, const Shape& shape)
      : target_(target), family_(target.family()), in_(instruction), shape_(shape) {}

  std::string write();

 private:
  // Operands are separated by commas; a space precedes the first.
  void separate() { text_ += std::exchange(first_, false) ? " " : ", "; }
  void operand(Operand operand) {
    separate();
    // LLVM's comparisons of scalars have operands without a type.
    if (in_.encoding == Encoding::kSopc && operand.type == Type::kF16) operand.type = Type::kB16;
    append_operand(text_, target_, operand, in_.literal);
  }
  void operand_if(const Operand& operand) {
    if (operand.exists()) this->operand(operand);
  }
  void word(std::string_view word) {
    separate();
    text_ += word;
  }
  void modifier(bool present, std::string_view name) {
    if (present) text_ += name;
  }
  void modifier(std::string_view name, int64_t value) {
    text_ += name;
    append_number(text_, value);
  }

  void scalar();
  void vector();
  void dual();
  void dual_operation(const Operand& dst, const Operand (&src)[3], const Shape& shape);
  void half(unsigned bit);
  void source(size_t i);
  void vector_modifiers();
  void lane_modifiers();
  void per_source(std::string_view name, unsigned bits, unsigned by_default, unsigned count);
  unsigned sources() const;
  bool negates_doubles() const;
  void interpolation();
  void smem();
  void ds();
  void flat();
  void buffer();
  void image();
  void exp();
  void cache_policy();
  void hint_and_scope();
  std::string_view suffix() const;

  const Target& target_;
  const Family family_;
  const Instruction& in_;
  const Shape& shape_;
  std::string text_;
  bool first_ = true;
};

std::string_view Writer::suffix() const {
  switch (in_.lanes) {
    case LaneMode::kSdwa:  // gfx8 comparisons have no SDWA suffix.
      return shape_.src[0].file == File::kNone ||
                     (in_.encoding == Encoding::kVopc && target_.family() == Family::kGfx8)
                 ? ""
                 : "_sdwa";
    case LaneMode::kDpp:
    case LaneMode::kDpp8:
      if (shape_.dwords == 3) return "_e64_dpp";
      if (in_.encoding == Encoding::kVopc && family_ >= Family::kGfx11) return "";
      return shape_.dst[0].file == File::kNone ? "" : "_dpp";
    case LaneMode::kNone:
      break;
  }
  if (shape_.has(flag::kNoSuffix)) return "";
  switch (in_.encoding) {
    case Encoding::kVop3:
      return shape_.dst[0].file == File::kNone ? "" : "_e64";
    case Encoding::kVop1:
    case Encoding::kVop2:
      return shape_.dst[0].file == File::kNone ? "" : "_e32";
    case Encoding::kVintrp:
    case Encoding::kVopc:
      return "_e32";
    default:
      return "";
  }
}

/// Prints source `i` with its modifiers around it.
void Writer::source(size_t i) {
  const bool negated =
      ((in_.neg >> i) & 1) != 0 && (in_.encoding != Encoding::kVop3p || shape_.has(flag::kMix));
  const bool absolute = ((in_.abs >> i) & 1) != 0, sign_extended = ((in_.sext >> i) & 1) != 0;
  Operand value = in_.src[i];
  if (shape_.has(flag::kMix)) value.type = shape_.src[i].type;
  // LLVM prints the classes as a dword.
  if (i == 1 && shape_.dwords == 3 && (in_.op == Op::v_cmp_class_f16 || in_.op == Op::v_cmpx_class_f16))
    value.type = Type::kB32;
  const bool constant =
      value.code == code::kLiteral || (value.code >= code::kZero && value.code <= code::kInv2Pi &&
                                       (value.code <= 208 || value.code >= code::kHalf));
  const bool as_function = negated && !absolute && constant;  // "-1" is another constant than "neg(1)".
  separate();
  if (negated) text_ += as_function ? "neg(" : "-";
  if (absolute) text_ += '|';
  if (sign_extended) text_ += "sext(";
  if (shape_.src[i].file == File::kLiteral) {
    const bool half = value.type == Type::kF16 && (in_.literal <= 0xffff || in_.literal >= 0xffff8000);
    append_hex(text_, half ? in_.literal & 0xffff : in_.literal);
  } else {
    append_operand(text_, target_, value, in_.literal);
    if (value.is_vgpr()) half(1u << i);
  }
  if (sign_extended) text_ += ')';
  if (absolute) text_ += '|';
  if (as_function) text_ += ')';
}

/// Prints which half of a register an operand is. As LLVM 19 does by default, without ".l".
void Writer::half(unsigned bit) {
  if (!shape_.has(flag::kTrue16)) return;
  if ((in_.op_sel & bit) != 0) {
    text_ += ".h";
  } else if (in_.op == Op::v_mov_b16) {
    text_ += ".l";
  }
}

unsigned Writer::sources() const {
  unsigned count = 0;
  while (count != 3 && shape_.src[count].file != File::kNone) ++count;
  return count;
}

/// Prints " name:[a,b,c]" unless all bits have their default.
void Writer::per_source(std::string_view name, unsigned bits, unsigned by_default, unsigned count) {
  const unsigned mask = (1u << count) - 1;
  if ((bits & mask) == (by_default & mask)) return;
  text_ += name;
  for (unsigned i = 0; i != count; ++i) {
    text_ += i == 0 ? '[' : ',';
    text_ += ((bits >> i) & 1) != 0 ? '1' : '0';
  }
  text_ += ']';
}

void Writer::vector() {
  const bool swap = shape_.dst[1].file == File::kSameAsSrc0;
  const bool hides_mask = shape_.dst[1].file == File::kExec || swap;
  if (shape_.dst[0].file != File::kNone && shape_.dst[0].file != File::kExec) {
    operand(in_.dst[0]);
    if (in_.dst[0].is_vgpr()) half(8);
  }
  if (shape_.dst[1].file != File::kNone && !hides_mask) operand(in_.dst[1]);
  for (size_t i = 0; i != 3; ++i) {
    const File file = shape_.src[i].file;
    if (file == File::kNone || file == File::kSameAsDst) continue;
    source(i);
  }
  if (in_.lanes == LaneMode::kNone || shape_.dwords == 3) vector_modifiers();
  if (in_.lanes != LaneMode::kNone) lane_modifiers();
}

void Writer::dual_operation(const Operand& dst, const Operand (&src)[3], const Shape& shape) {
  first_ = true;
  operand(dst);
  for (size_t i = 0; i != 3; ++i) {
    const File file = shape.src[i].file;
    if (file == File::kNone || file == File::kSameAsDst || file == File::kVcc) continue;
    if (file == File::kLiteral) {
      separate();
      append_hex(text_, in_.literal);
    } else {
      operand(src[i]);
    }
  }
}

void Writer::dual() {
  dual_operation(in_.dst[0], in_.src, shape_);
  const tables::Dual& second = *tables::dual(family_, tables::dual_code(tables::rows()[in_.row].value));
  text_ += " :: ";
  text_ += second.mnemonic;
  dual_operation(in_.second_dst, in_.second_src, tables::shapes()[second.shape]);
}

bool Writer::negates_doubles() const {
  const MatrixShape* const shape = matrix_shape(in_.op);
  return traits_of(target_).matrix_negates_doubles && shape != nullptr && shape->type == MatrixType::kF64;
}

void Writer::vector_modifiers() {
  if (shape_.has(flag::kMatrix)) {
    if (in_.cbsz != 0) modifier(" cbsz:", in_.cbsz);
    if (in_.abid != 0) modifier(" abid:", in_.abid);
    if (in_.blgp != 0 && negates_doubles()) {
      per_source(" neg:", in_.blgp, 0, 3);
    } else if (in_.blgp != 0) {
      modifier(" blgp:", in_.blgp);
    }
    return;
  }
  unsigned count = sources();
  const bool adds_to_dst = count != 0 && shape_.src[count - 1].file == File::kSameAsDst;
  if (adds_to_dst) --count;
  if (in_.encoding == Encoding::kVop3p && shape_.has(flag::kSparse)) {
    if (in_.index_key != 0) modifier(" index_key:", in_.index_key);
    per_source(" neg_lo:", in_.neg, 0, 3);
    per_source(" neg_hi:", in_.neg_hi, 0, 3);
  } else if (in_.encoding == Encoding::kVop3p) {
    per_source(" op_sel:", in_.op_sel, 0, count);
    if ((shape_.live >> 59 & 3) != 0)
      per_source(" op_sel_hi:", in_.op_sel_hi, shape_.has(flag::kPacked) ? 7 : 0, count);
    if (!shape_.has(flag::kMix)) {
      per_source(" neg_lo:", in_.neg, 0, count);
      per_source(" neg_hi:", in_.neg_hi, 0, count);
    }
  } else if (shape_.has(flag::kByteSel)) {
    // Of the source or of the destination.
    const bool of_source = (shape_.live >> 11 & 1) != 0;
    const unsigned byte = of_source ? (in_.op_sel & 1u) << 1 | (in_.op_sel >> 1 & 1u) : in_.op_sel >> 2 & 3u;
    if (byte != 0) modifier(" byte_sel:", byte);
  } else if (shape_.has(flag::kOpSelOfTwo)) {
    per_source(" op_sel:", in_.op_sel, 0, 2);
  } else if (shape_.has(flag::kOpSel)) {
    const bool destination = shape_.has(flag::kOpSelOfDst);
    // v_cvt_sr has a bit of the destination's byte in the place of a third source.
    if (((shape_.live >> 13) & 1) != 0) count = 3;
    const unsigned low = in_.op_sel & ((1u << count) - 1);
    if (adds_to_dst && family_ >= Family::kGfx11 && !shape_.has(flag::kOldDst)) ++count;
    const unsigned top = destination ? (in_.op_sel >> 3 & 1u) << count : 0;
    per_source(" op_sel:", low | top, 0, count + (destination ? 1 : 0));
  }
  modifier(in_.clamp, " clamp");
  constexpr std::string_view kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  text_ += kOmod[in_.omod & 3];
}

void Writer::lane_modifiers() {
  constexpr std::string_view kSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                           "WORD_0", "WORD_1", "DWORD",  "?"};
  constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  const auto select = [&](std::string_view name, SdwaSel sel) {
    text_ += name;
    text_ += kSelects[static_cast<size_t>(sel) & 7];
  };
  if (in_.lanes == LaneMode::kSdwa) {
    if (shape_.src[0].file == File::kNone) return;
    modifier(in_.clamp, " clamp");
    constexpr std::string_view kOmod[] = {"", " mul:2", " mul:4", " div:2"};
    text_ += kOmod[in_.omod & 3];
    if (in_.encoding != Encoding::kVopc && ((shape_.live >> 40) & 7) == 7) {
      select(" dst_sel:", in_.dst_sel);
      text_ += " dst_unused:";
      text_ += kUnused[static_cast<size_t>(in_.dst_unused) & 3];
    }
    select(" src0_sel:", in_.src_sel[0]);
    if (((shape_.live >> 56) & 7) == 7) select(" src1_sel:", in_.src_sel[1]);
    return;
  }
  text_ += ' ';
  if (in_.lanes == LaneMode::kDpp8) {
    text_ += "dpp8:";
    for (unsigned i = 0; i != 8; ++i) {
      text_ += i == 0 ? '[' : ',';
      append_number(text_, (in_.dpp8 >> (3 * i)) & 7);
    }
    text_ += ']';
  } else {
    append_lane_permutation(text_, family_, in_.dpp_ctrl);
    text_ += " row_mask:";
    append_hex(text_, in_.row_mask);
    text_ += " bank_mask:";
    append_hex(text_, in_.bank_mask);
    modifier(in_.bound_ctrl, " bound_ctrl:1");
  }
  modifier(in_.fetch_inactive, " fi:1");
}

void Writer::interpolation() {
  operand(in_.dst[0]);
  if (shape_.has(flag::kInRegister)) {
    for (size_t i = 0; i != 3; ++i) source(i);
    modifier(in_.clamp, " clamp");
    per_source(" op_sel:", in_.op_sel, 0, 4);
    modifier(" wait_exp:", in_.wait);
    return;
  }
  if (in_.op == Op::v_interp_mov_f32) {
    constexpr std::string_view kParameters[] = {"p10", "p20", "p0"};
    if (in_.simm16 < 3) {
      word(kParameters[in_.simm16]);
    } else {
      separate();
      modifier("invalid_param_", in_.simm16);
    }
  } else {
    source(0);
  }
  separate();
  modifier("attr", in_.attribute);
  text_ += '.';
  text_ += "xyzw"[in_.channel & 3];
  if (in_.encoding == Encoding::kVintrp) return;
  if (shape_.src[2].file != File::kNone && shape_.src[2].file != File::kSameAsDst) source(2);
  modifier(in_.high, " high");
  vector_modifiers();
}

void Writer::scalar() {
  const auto immediate = [&] {
    if (shape_.has(flag::kBranch)) {
      separate();
      append_number(text_, in_.simm16);
    } else if (shape_.has(flag::kWaitCount)) {
      separate();
      append_wait_count(text_, family_, in_.simm16);
    } else if (shape_.has(flag::kMessage)) {
      separate();
      append_message(text_, family_, in_.simm16);
    } else if (shape_.has(flag::kHardwareRegister)) {
      separate();
      append_hardware_register(text_, target_, in_.simm16);
    } else if (shape_.has(flag::kDependency)) {
      separate();
      append_dependency_counters(text_, target_, in_.simm16);
    } else if (shape_.has(flag::kDelay)) {
      separate();
      append_delay(text_, in_.simm16);
    } else if (shape_.has(flag::kVersion)) {
      separate();
      append_version(text_, in_.simm16);
    } else if (shape_.has(flag::kIndexMode)) {
      separate();
      append_index_mode(text_, in_.simm16);
    } else if (shape_.has(flag::kEndProgram)) {
      if (in_.simm16 != 0) modifier(" ", in_.simm16);
    } else if (shape_.has(flag::kConstant)) {
      separate();
      append_constant(text_, in_.simm16);
    } else if (shape_.has(flag::kSigned | flag::kUnsigned)) {
      separate();
      append_hex(text_, in_.simm16);
    }
  };
  if (shape_.has(flag::kHardwareRegister) && shape_.dst[0].file == File::kNone) {  // s_setreg
    immediate();
    if (in_.encoding == Encoding::kSopk && shape_.dwords == 2) {
      separate();
      append_hex(text_, in_.literal);
    } else {
      operand(in_.src[0]);
    }
    return;
  }
  operand_if(in_.dst[0]);
  for (size_t i = 0; i != 3; ++i) {
    const File file = shape_.src[i].file;
    if (file == File::kLiteral) {
      separate();
      append_hex(text_, in_.literal);
    } else if (file != File::kNone && file != File::kSameAsDst && file != File::kVcc) {
      operand(in_.src[i]);
    }
  }
  immediate();
}

/// Prints the temporal hint, whose names depend on the kind of access, and the scope.
void Writer::hint_and_scope() {
  constexpr std::string_view kScopes[] = {"", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"};
  constexpr unsigned kCascade = 4, kBypass = 3, kSystem = 3;
  const unsigned hint = in_.hint;
  if (hint != 0 && shape_.has(flag::kAtomic)) {
    text_ += " th:TH_ATOMIC_";
    if ((hint & kCascade) != 0 && in_.scope >= 2) {
      text_ += (hint & 2) != 0 ? "CASCADE_NT" : "CASCADE_RT";
    } else if ((hint & kCascade) != 0) {
      append_hex(text_, hint);
    } else {
      constexpr std::string_view kHints[] = {"", "RETURN", "NT", "NT_RETURN"};
      text_ += kHints[hint];
    }
  } else if (hint != 0) {
    const bool is_store = shape_.has(flag::kStore);
    constexpr std::string_view kHints[] = {"", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    text_ += " th:";
    if (hint == 7 && !is_store) {
      append_hex(text_, hint);
    } else {
      text_ += is_store ? "TH_STORE_" : "TH_LOAD_";
      text_ += hint != kBypass ? kHints[hint] : in_.scope == kSystem ? "BYPASS" : is_store ? "RT_WB" : "LU";
    }
  }
  text_ += kScopes[in_.scope & 3];
}

void Writer::cache_policy() {
  if (family_ >= Family::kGfx12) {
    hint_and_scope();
    return;
  }
  const bool has_scopes = traits_of(target_).has_cache_scopes;
  modifier(in_.glc, has_scopes && in_.encoding != Encoding::kSmem ? " sc0" : " glc");
  modifier(in_.slc, has_scopes ? " nt" : " slc");
  modifier(in_.dlc, " dlc");
  modifier(in_.scc, has_scopes ? " sc1" : " scc");
}

void Writer::smem() {
  if (shape_.has(flag::kPrefetch)) {
    operand_if(in_.saddr);
    separate();
    append_hex(text_, in_.offset);
    operand(in_.soffset);
    separate();
    append_number(text_, in_.simm16);
    return;
  }
  if (shape_.has(flag::kImmediateData)) {
    separate();
    append_constant(text_, in_.simm16);
  } else {
    operand_if(in_.vdata.exists() ? in_.vdata : in_.vdst);
  }
  if (!in_.saddr.exists()) return;
  operand(in_.saddr);
  separate();
  if (in_.soffset.exists()) append_operand(text_, target_, in_.soffset, 0);
  const bool both = in_.soffset.exists() && in_.offen;
  if (both) text_ += " offset:";
  if (!in_.soffset.exists() && in_.offset == 0 && (family_ == Family::kGfx10 || family_ == Family::kGfx11)) {
    text_ += "null";  // The bits also mean an offset of 0; LLVM prints null.
  } else if (both || !in_.soffset.exists()) {
    append_hex(text_, in_.offset);
  }
  cache_policy();
}

void Writer::ds() {
  operand_if(in_.vdst);
  operand_if(in_.vaddr);
  const bool is_swapped = shape_.has(flag::kSwapped);
  operand_if(is_swapped ? in_.vdata2 : in_.vdata);
  operand_if(is_swapped ? in_.vdata : in_.vdata2);
  if (shape_.has(flag::kTwoOffsets)) {
    if (in_.offset != 0) modifier(" offset0:", in_.offset);
    if (in_.offset1 != 0) modifier(" offset1:", in_.offset1);
  } else if (in_.offset != 0) {
    text_ += " offset:";
    if (shape_.has(flag::kSwizzle)) {
      append_swizzle(text_, static_cast<uint16_t>(in_.offset));
    } else {
      append_number(text_, in_.offset);
    }
  }
  modifier(in_.gds, " gds");
}

void Writer::flat() {
  if (!in_.vdst.exists() && !in_.vdata.exists() && !in_.vaddr.exists() && !in_.lds) {
    cache_policy();
    return;
  }
  operand_if(in_.vdst);
  const bool scratch = in_.encoding == Encoding::kScratch;
  if (in_.vaddr.exists()) {
    operand(in_.vaddr);
  } else if (scratch) {
    word("off");
  }
  operand_if(in_.vdata);
  if (in_.encoding != Encoding::kFlat) {
    if (in_.saddr.exists()) {
      operand(in_.saddr);
    } else {
      word("off");
    }
  }
  if (in_.offset != 0) modifier(" offset:", in_.offset);
  cache_policy();
  modifier(in_.lds && !shape_.has(flag::kNamesLds), " lds");
}

void Writer::buffer() {
  if (!in_.saddr.exists()) {
    if (traits_of(target_).has_cache_scopes) cache_policy();  // Scopes of buffer_inv and buffer_wbl2.
    return;
  }
  const Operand& data = in_.vdata.exists() ? in_.vdata : in_.vdst;
  operand_if(data);
  const bool from_lds = in_.op == Op::buffer_store_lds_dword;
  if (in_.vaddr.exists()) {
    operand(in_.vaddr);
  } else if (!from_lds) {
    word("off");
  }
  operand(in_.saddr);
  operand(in_.soffset);
  if (in_.encoding == Encoding::kMtbuf) append_buffer_format(text_, family_, in_.format);
  modifier(in_.idxen, " idxen");
  modifier(in_.offen, " offen");
  if (in_.offset != 0) modifier(" offset:", in_.offset);
  if (from_lds) text_ += " lds";
  cache_policy();
  modifier(in_.tfe, " tfe");
  modifier(in_.lds && !from_lds && !shape_.has(flag::kNamesLds), " lds");
}

void Writer::image() {
  operand(in_.vdst.exists() ? in_.vdst : in_.vdata);
  if (shape_.has(flag::kNsa) && shape_.has(flag::kRay) && family_ >= Family::kGfx11) {
    // The node, the ray's extent, origin, direction and inverse direction (A16: both directions).
    const bool wide_node = in_.op == Op::image_bvh64_intersect_ray;
    const uint8_t sizes[] = {static_cast<uint8_t>(wide_node ? 2 : 1), 1, 3, 3, 3};
    separate();
    for (unsigned i = 0; i <= in_.nsa_count; ++i) {
      const unsigned number = i == 0 ? in_.vaddr.vgpr() : in_.nsa[i - 1];
      text_ += i == 0 ? "[" : ", ";
      append_operand(text_, target_, vector_group(number, sizes[i]), 0);
    }
    text_ += ']';
  } else if (shape_.has(flag::kNsa) && (in_.nsa_count != 0 || family_ != Family::kGfx12)) {
    separate();
    text_ += '[';
    append_operand(text_, target_, in_.vaddr, 0);
    // The last addresses of some forms are consecutive registers. gfx12 has three before them, gfx11 four.
    const bool has_sampler =
        family_ == Family::kGfx12 && tables::has_sampler_fields(tables::rows()[in_.row].value);
    const unsigned single = family_ != Family::kGfx12 ? 3 : has_sampler ? 2 : 4;
    const bool has_group = family_ >= Family::kGfx11 && in_.nsa_count > single + 1;
    for (unsigned i = 0; i != (has_group ? single : in_.nsa_count); ++i) modifier(", v", in_.nsa[i]);
    if (has_group) {
      text_ += ", ";
      append_operand(text_, target_, vector_group(in_.nsa[single], in_.nsa_count - single), 0);
    }
    text_ += ']';
  } else {
    operand(in_.vaddr);
  }
  operand(in_.saddr);
  if (shape_.has(flag::kRay)) {
    modifier(in_.a16, " a16");
    return;
  }
  operand_if(in_.extra[0]);
  if (in_.dmask != 0) {
    text_ += " dmask:";
    append_hex(text_, in_.dmask);
  }
  if (shape_.has(flag::kDim)) {
    constexpr std::string_view kDimensions[] = {"1D",       "2D",       "3D",      "CUBE",
                                                "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};
    text_ += " dim:SQ_RSRC_IMG_";
    text_ += kDimensions[in_.dim & 7];
  }
  modifier(in_.unorm, " unorm");
  cache_policy();
  modifier(in_.r128, " r128");
  modifier(in_.a16, " a16");
  modifier(in_.tfe, " tfe");
  modifier(in_.lwe, " lwe");
  modifier(in_.da, " da");
  modifier(in_.d16, " d16");
}

void Writer::exp() {
  text_ += ' ';
  append_export_target(text_, family_, in_.target);
  for (unsigned i = 0; i != 4; ++i) {
    separate();
    if (((in_.enable >> i) & 1) == 0) {
      text_ += "off";
    } else {
      append_operand(text_, target_, in_.extra[in_.compressed ? i / 2 : i], 0);
    }
  }
  modifier(in_.done, " done");
  modifier(in_.compressed, " compr");
  modifier(in_.valid_mask, " vm");
  modifier(in_.row_enable, " row_en");
}

std::string Writer::write() {
  text_ = tables::mnemonic(in_.row);
  text_ += suffix();
  switch (in_.encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopk:
    case Encoding::kSopc:
    case Encoding::kSopp:
      scalar();
      break;
    case Encoding::kSmem:
      smem();
      break;
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
    case Encoding::kVop3p:
      if (shape_.has(flag::kInterpolation)) {
        interpolation();
      } else {
        vector();
      }
      break;
    case Encoding::kVintrp:
      interpolation();
      break;
    case Encoding::kDs:
      ds();
      break;
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
      flat();
      break;
    case Encoding::kMubuf:
    case Encoding::kMtbuf:
      buffer();
      break;
    case Encoding::kMimg:
      image();
      break;
    case Encoding::kExp:
      exp();
      break;
    case Encoding::kVopd:
      dual();
      break;
    case Encoding::kLdsDirect:
      operand(in_.dst[0]);
      if (shape_.has(flag::kInterpolation)) {
        modifier(", attr", in_.attribute);
        text_ += '.';
        text_ += "xyzw"[in_.channel & 3];
      }
      if (family_ >= Family::kGfx12) {
        modifier(" wait_va_vdst:", in_.wait);
        modifier(" wait_vm_vsrc:", in_.wait_source);
      } else {
        modifier(" wait_vdst:", in_.wait);
      }
      break;
  }
  return std::move(text_);
}

}  // namespace

std::string_view mnemonic(const Target&, const Instruction& instruction) {
  return tables::mnemonic(instruction.row);
}

std::string disassemble(const Target& target, const Instruction& instruction) {
  const auto rows = tables::rows();
  if (instruction.op == Op::none || instruction.row >= rows.size()) return "?";
  return Writer(target, instruction, tables::shapes()[rows[instruction.row].shape]).write();
}

}  // namespace rigel::vgpu::isa
