#include "plugins/vgpu/exec/native/plan.hpp"

#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/operands.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Encoding;
using isa::Op;

class StepMaker {
 public:
  explicit StepMaker(const Request& request) : request_(request) {
    mask_dwords_ = request.layout.wave_size / 32;
    has_null_ = isa::traits_of(request.target).has_null;
    cmpx_writes_mask_ = isa::traits_of(request.target).cmpx_writes_mask;
  }

  Step make(uint32_t index) {
    const Site& site = request_.sites[index];
    Step step;
    step.site = index;
    if (site.op_count == 0) {
      step.kind = StepKind::kNothing;
    } else if (!site.is_indexed && !(scalar(site.instruction, step) || vector(site.instruction, step))) {
      step.kind = StepKind::kOther;
    }
    return step;
  }

 private:
  static void add(Scalars& set, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) set.set(first + i);
  }

  // A source that is a row (if rows are allowed), a scalar or a constant.
  bool input(const isa::Instruction& in, unsigned i, bool rows, bool wide, Input& out) const {
    const isa::Operand& operand = in.src[i];
    if (constant_of(operand, in, out.bits)) {
      out.kind = Input::Kind::kConstant;
      return true;
    }
    if (operand.is_vgpr()) {
      out.kind = Input::Kind::kRow;
      out.index = operand.vgpr();
      return rows;
    }
    if (operand.code == isa::code::kNull && has_null_) {
      out.kind = Input::Kind::kConstant;
      out.bits = 0;
      return true;
    }
    if (!operand.is_scalar_register()) return false;
    out.kind = Input::Kind::kScalar;
    out.index = operand.code;
    return !(wide && operand.code == 127);
  }

  bool result_slot(const isa::Operand& operand, uint32_t& slot) const {
    if (!operand.is_scalar_register()) return false;
    slot = operand.code;
    if (operand.code == isa::code::kNull) {
      slot = kSinkSlot;
      return has_null_;
    }
    return true;
  }

  bool vector(const isa::Instruction& in, Step& step) const {
    if (in.encoding != Encoding::kVop1 && in.encoding != Encoding::kVop2 && in.encoding != Encoding::kVopc &&
        in.encoding != Encoding::kVop3) {
      return false;
    }
    const VectorOp* const op = find_vector_op(in.op);
    const bool sdwa = in.lanes == isa::LaneMode::kSdwa;
    if (op == nullptr || in.op_sel != 0 || (in.lanes != isa::LaneMode::kNone && !sdwa)) return false;
    if (sdwa && !op->compares && in.dst_sel != isa::SdwaSel::kDword) return false;
    if (op->condition != nullptr && !op->condition(request_, in)) return false;
    const FloatMode& mode = request_.mode;
    if (op->doubles && (mode.round64 != mode.round32 || mode.denorm64 != mode.denorm32)) return false;
    const bool wide_result = (op->wide & 0x80) != 0;
    if (in.clamp && !op->compares && (!op->float_result || wide_result)) return false;
    const uint8_t denormals = wide_result ? mode.denorm64 : mode.denorm32;
    if (op->float_result && !op->compares && in.omod != 0 && !mode.ieee && (denormals & 2) == 0) return false;

    step.kind = StepKind::kVector;
    step.vector = op;
    step.clamp = in.clamp;
    for (unsigned i = 0; i < op->sources; ++i) {
      Input& source = step.src[i];
      const bool wide = (op->wide >> i & 1) != 0;
      if (!input(in, i, true, wide, source)) return false;
      if (sdwa && i < 2 && !select(in, i, op->float_sources || wide, source)) return false;
      if (op->float_sources) modify(source, (in.abs >> i & 1) != 0, (in.neg >> i & 1) != 0, wide);
      if (source.kind == Input::Kind::kScalar) add(step.whole_reads, source.index, wide ? 2 : 1);
    }
    step.reads = step.whole_reads;
    if (op->selects) {
      const isa::Operand& mask = in.src[op->sources];
      if (!mask.is_scalar_register() || mask.code == isa::code::kNull) return false;
      step.mask_in = mask.code;
      add(step.reads, mask.code, mask_dwords_);
    }
    if (op->compares || op->carries) {
      const isa::Operand& mask = in.dst[op->compares ? 0 : 1];
      if (!(op->writes_exec && !cmpx_writes_mask_) && !result_slot(mask, step.mask_out)) return false;
      if (op->writes_exec) {
        step.writes_exec = true;
        step.writes.set(126).set(127);
        if (!cmpx_writes_mask_) step.mask_out = kSinkSlot;  // it has no other result
      }
      if (step.mask_out >= 126 && step.mask_out < 128) return false;
      add(step.writes, step.mask_out, mask_dwords_);
    }
    if (!op->compares) {
      if (!in.dst[0].is_vgpr()) return false;
      step.dst = in.dst[0].vgpr();
    }
    return true;
  }

  // SDWA: a byte or a word of the source.
  static bool select(const isa::Instruction& in, unsigned i, bool only_whole, Input& source) {
    const isa::SdwaSel part = in.src_sel[i];
    const bool extends = (in.sext >> i & 1) != 0;
    if (part == isa::SdwaSel::kDword) return !extends;
    if (only_whole || source.kind != Input::Kind::kRow) return false;
    const bool byte = part <= isa::SdwaSel::kByte3;
    source.width = byte ? 8 : 16;
    source.shift = static_cast<uint8_t>(byte ? static_cast<unsigned>(part) * 8
                                             : (part == isa::SdwaSel::kWord1 ? 16 : 0));
    source.extends_sign = extends;
    return true;
  }

  static void modify(Input& source, bool abs, bool neg, bool wide) {
    if (source.kind != Input::Kind::kConstant) {
      source.abs = abs;
      source.neg = neg;
      return;
    }
    const uint64_t sign = wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
    if (abs) source.bits &= ~sign;
    if (neg) source.bits ^= sign;
  }

  bool scalar(const isa::Instruction& in, Step& step) const {
    switch (in.op) {
      case Op::s_branch:
        step.kind = StepKind::kBranch;
        return true;
      case Op::s_cbranch_scc0:
      case Op::s_cbranch_scc1:
        step.reads.set(kSccSlot);
        step.kind = StepKind::kBranch;
        return true;
      case Op::s_cbranch_vccz:
      case Op::s_cbranch_vccnz:
      case Op::s_cbranch_execz:
      case Op::s_cbranch_execnz:
        step.kind = StepKind::kBranch;
        return true;
      default:
        break;
    }
    const ScalarOp* const op = find_scalar_op(in.op);
    if (op == nullptr) return false;
    step.kind = StepKind::kScalar;
    step.scalar = op;
    unsigned count = op->sources;
    if (op->immediate != 0) {
      // The register, which is read and perhaps written, and the immediate; or the immediate alone.
      Input& value = step.src[count - 1];
      value.kind = Input::Kind::kConstant;
      value.bits =
          op->immediate < 0 ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(in.simm16)}) : in.simm16;
      --count;
      if (count == 1) {
        const isa::Operand& reg = in.src[0].exists() && !in.src[0].is_literal() ? in.src[0] : in.dst[0];
        if (!reg.is_scalar_register() || reg.code == isa::code::kNull) return false;
        step.src[0].kind = Input::Kind::kScalar;
        step.src[0].index = reg.code;
        step.reads.set(reg.code);
      }
    } else {
      for (unsigned i = 0; i < count; ++i) {
        const bool wide = (op->wide >> i & 1) != 0;
        if (!input(in, i, false, wide, step.src[i])) return false;
        if (step.src[i].kind == Input::Kind::kScalar) add(step.reads, step.src[i].index, wide ? 2 : 1);
      }
    }
    if (op->reads_scc) step.reads.set(kSccSlot);
    if (op->scc != Scc::kKept) step.writes.set(kSccSlot);
    if (op->has_result) {
      const uint32_t dwords = (op->wide & 0x80) != 0 ? 2 : 1;
      if (!result_slot(in.dst[0], step.dst)) return false;
      if (dwords == 2 && step.dst == 127) return false;
      add(step.writes, step.dst, dwords);
      if (step.writes[126] || step.writes[127]) step.writes_exec = true;
      if (op->saves_exec) {
        if (step.writes_exec) return false;
        add(step.reads, 126, dwords);
        add(step.writes, 126, dwords);
        step.writes_exec = true;
      }
      if (op->is_logic && !op->saves_exec && dwords == mask_dwords_ && !step.writes_exec) {
        as_mask(*op, step);
      }
    }
    return true;
  }

  // Whether it can be done by lanes, too.
  static void as_mask(const ScalarOp& op, Step& step) {
    static constexpr MaskOp kMaskOps[] = {
        {MaskLogic::kMove},   {MaskLogic::kNot},   {MaskLogic::kAnd},  {MaskLogic::kOr},  {MaskLogic::kXor},
        {MaskLogic::kAndNot}, {MaskLogic::kOrNot}, {MaskLogic::kNand}, {MaskLogic::kNor}, {MaskLogic::kXnor}};
    const uint64_t all = (op.wide & 0x80) != 0 ? ~uint64_t{0} : 0xffffffff;
    for (unsigned i = 0; i < op.sources; ++i) {
      if (step.src[i].kind == Input::Kind::kConstant && step.src[i].bits != 0 && step.src[i].bits != all) {
        return;
      }
    }
    step.mask = &kMaskOps[static_cast<size_t>(op.logic)];
  }

  const Request& request_;
  uint32_t mask_dwords_ = 2;
  bool has_null_ = false, cmpx_writes_mask_ = true;
};

class Planner {
 public:
  explicit Planner(const Request& request) : request_(request), maker_(request) {
    mask_dwords_ = request.layout.wave_size / 32;
  }

  std::vector<Segment> run() {
    for (uint32_t index = 0; index < request_.sites.size(); ++index) {
      const Site& site = request_.sites[index];
      if (!site.is_indexed) {
        if (const std::optional<MemoryStep> memory = memory_step(request_, site)) {
          close();
          open(index);
          now_.last_site = index;
          now_.memory = memory;
          close();
          continue;
        }
      }
      Step step = maker_.make(index);
      const bool follows =
          index != 0 && site.op == request_.sites[index - 1].op + request_.sites[index - 1].op_count;
      if (!follows || site.is_target || step.kind == StepKind::kOther) close();
      if (step.kind == StepKind::kOther || (step.kind == StepKind::kNothing && !open_)) continue;
      if (!place(step)) {
        close();
        open(index);
        place(step);
      }
    }
    close();
    return std::move(segments_);
  }

 private:
  void open(uint32_t site) {
    now_ = {};
    now_.first_site = site;
    open_ = true;
    lanes_complete_ = false;
    lanes_read_ = lanes_write_ = lanes_whole_ = after_read_ = after_write_ = masks_ = {};
  }
  void close() {
    if (open_ && !now_.empty()) segments_.push_back(std::move(now_));
    open_ = false;
  }

  // False: it needs another segment.
  bool place(Step& step) {
    if (!open_) open(step.site);
    if (now_.has_branch) return false;
    bool fits = true;
    switch (step.kind) {
      case StepKind::kVector:
        fits = place_lanes(step);
        break;
      case StepKind::kScalar:
        fits = place_scalar(step);
        break;
      case StepKind::kBranch:
        now_.branch = step;
        now_.has_branch = true;
        break;
      default:
        break;
    }
    if (fits) now_.last_site = step.site;
    return fits;
  }

  // Masks overlap in whole or not at all.
  bool cuts_masks(uint32_t mask) const {
    if (mask == kNoMask || mask_dwords_ == 1) return false;
    return masks_[mask + 1] || (mask > 0 && masks_[mask - 1]);
  }

  bool place_lanes(const Step& step) {
    if (now_.writes_exec || lanes_complete_) return false;
    // Who reads as a whole what lanes write goes alone, where nothing is written before the end.
    const bool alone = (step.whole_reads & step.writes).any();
    if (alone && !now_.lanes.empty()) return false;
    if ((step.whole_reads & lanes_write_).any() || (step.reads & after_write_).any()) return false;
    if ((step.writes & (after_read_ | after_write_ | lanes_whole_)).any()) return false;
    if (cuts_masks(step.mask_in) || cuts_masks(step.mask_out)) return false;
    if (step.mask_out != kNoMask && step.mask_out == now_.scc_mask) return false;
    lanes_complete_ = alone;
    if (step.mask_out != kNoMask) masks_.set(step.mask_out);
    if (step.writes_exec) {
      now_.writes_exec = true;
      now_.exec_mask = step.mask_out;
    }
    lanes_read_ |= step.reads;
    lanes_whole_ |= step.whole_reads;
    lanes_write_ |= step.writes;
    now_.lanes.push_back(step);
    return true;
  }

  bool place_scalar(Step& step) {
    if (now_.lanes.empty() && now_.after.empty()) {
      if (!step.writes_exec) {
        now_.before.push_back(step);
        return true;
      }
    } else if (step.mask != nullptr && (step.reads & lanes_write_).any() && place_mask(step)) {
      return true;
    }
    const Scalars lanes = lanes_read_ | lanes_write_;
    if (!step.writes_exec && (step.reads & lanes_write_).none() && (step.writes & lanes).none() &&
        (step.reads & after_write_).none() && (step.writes & (after_read_ | after_write_)).none()) {
      now_.before.push_back(step);
      return true;
    }
    after_read_ |= step.reads;
    after_write_ |= step.writes;
    now_.writes_exec = now_.writes_exec || step.writes_exec;
    now_.after.push_back(step);
    return true;
  }

  bool place_mask(Step& step) {
    Step made = step;
    made.kind = StepKind::kMask;
    made.mask_out = step.dst;
    for (unsigned i = 0; i < step.scalar->sources; ++i) {
      if (step.src[i].kind == Input::Kind::kScalar && cuts_masks(step.src[i].index)) return false;
    }
    if (step.writes[kSccSlot] && (after_read_[kSccSlot] || after_write_[kSccSlot])) return false;
    if (!place_lanes(made)) return false;
    if (step.writes[kSccSlot]) now_.scc_mask = step.dst;
    return true;
  }

  const Request& request_;
  StepMaker maker_;
  uint32_t mask_dwords_;
  std::vector<Segment> segments_;
  Segment now_;
  bool open_ = false;
  bool lanes_complete_ = false;
  Scalars lanes_read_, lanes_write_, lanes_whole_, after_read_, after_write_;
  Scalars masks_;  // where those begin that lanes make
};

}  // namespace

Step make_step(const Request& request, uint32_t site) {
  return StepMaker(request).make(site);
}

std::vector<Segment> plan(const Request& request) {
  return Planner(request).run();
}

}  // namespace rigel::vgpu::exec::native
