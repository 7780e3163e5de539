#include "plugins/vgpu/exec/native/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {

using Xbyak::Address;
using Xbyak::Label;
using Xbyak::Operand;
using Xbyak::Opmask;
using Xbyak::Reg64;
using Xbyak::Zmm;

namespace {

constexpr unsigned kCollectors = 4, kFreeCollectors = 2;
// For 16 lanes each, of all lanes together: what is longer has its loop only, so that code stays small. (With
// AVX2 one more, for waves whose lanes are all active.)
constexpr size_t kUnrolledSteps = 96;

}  // namespace

// Uses
// ---------------------------------------------------------------------------------------------------

Lanes::Lanes(Assembler& assembler, const Request& request, const std::vector<Step>& steps)
    : a(assembler),
      mode(request.mode),
      target(request.target),
      features(request.features),
      layout_(request.layout),
      steps_(steps) {
  find_uses();
}

void Lanes::find_uses() {
  uses_.resize(steps_.size());
  std::vector<uint32_t> next(layout_.vgprs + 2, kNever);
  std::array<uint32_t, kScalarSlots> next_mask;
  next_mask.fill(kAtEnd);
  Scalars dead;  // masks that are made again before anybody reads them
  dead.set(kSinkSlot);
  for (uint32_t index = static_cast<uint32_t>(steps_.size()); index-- > 0;) {
    const Step& step = steps_[index];
    Uses& uses = uses_[index];
    if (step.mask_out != kNoMask) {
      // EXEC and SCC may be made of a mask that has no place of its own.
      const bool goes_on = step.mask_out == kSinkSlot && (step.kind == StepKind::kMask || step.writes_exec);
      uses.mask_matters = goes_on || !dead[step.mask_out];
      uses.mask_out = std::exchange(next_mask[step.mask_out], kNever);
      dead.set(step.mask_out);
    }
    if (step.mask_in != kNoMask) {
      uses.mask_in = next_mask[step.mask_in];
      next_mask[step.mask_in] = index;
      dead.reset(step.mask_in);
    }
    if (step.kind == StepKind::kMask) {
      for (unsigned i = 0; i < 3; ++i) {
        if (step.src[i].kind == Input::Kind::kScalar) uses.next[i][0] = next_mask[step.src[i].index];
      }
      for (const Input& input : step.src) {
        if (input.kind != Input::Kind::kScalar) continue;
        next_mask[input.index] = index;
        dead.reset(input.index);
      }
      continue;
    }
    const VectorOp& op = *step.vector;
    if (!op.compares) {
      for (unsigned part = 0; part < ((op.wide & 0x80) != 0 ? 2u : 1u); ++part) {
        uses.result[part] = next[step.dst + part];
        next[step.dst + part] = kNever;
      }
    }
    for (const bool note : {false, true}) {
      for (unsigned i = 0; i < op.sources; ++i) {
        if (step.src[i].kind != Input::Kind::kRow) continue;
        for (unsigned part = 0; part < ((op.wide >> i & 1) != 0 ? 2u : 1u); ++part) {
          uint32_t& following = next[step.src[i].index + part];
          note ? following = index : uses.next[i][part] = following;
        }
      }
    }
  }
}

// Rows
// ---------------------------------------------------------------------------------------------------

Address Lanes::row_at(uint32_t row) const {
  const auto at = static_cast<int>(row * layout_.row_bytes()) + static_cast<int>(chunk_) * a.bytes();
  return a.vector(a.r10 + at - static_cast<int>(kRowBias));
}

Address Lanes::mask_at(uint32_t scalar) const {
  return a.mask_bits(a.r11 + static_cast<int>(scalar * 4 + chunk_ * a.lanes() / 8));
}

int Lanes::cached(uint32_t row) const {
  for (unsigned i = 0; i < slot_count(); ++i) {
    if (slots_[i].row == row) return static_cast<int>(i);
  }
  return -1;
}

unsigned Lanes::free_slot() {
  const unsigned none = slot_count();
  unsigned best = none;
  for (unsigned i = 0; i < none; ++i) {
    const Slot& slot = slots_[i];
    if (slot.pinned) continue;
    if (slot.row == kFree) return i;
    if (best == none || slot.next > slots_[best].next ||
        (slot.next == slots_[best].next && slots_[best].dirty && !slot.dirty)) {
      best = i;
    }
  }
  if (best == none) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  Slot& slot = slots_[best];
  if (is_mask(slot)) a.spill_mask(Opmask(static_cast<int>(slot.row - kMaskRow)));
  if (slot.dirty && all_active_) a.vmovdqa32(row_at(slot.row), Zmm(static_cast<int>(best)));
  if (slot.dirty && !all_active_) a.vmovdqa32(row_at(slot.row) | k_exec, Zmm(static_cast<int>(best)));
  slot = {};
  return best;
}

Zmm Lanes::load(uint32_t row, uint32_t next) {
  int at = cached(row);
  if (at < 0) {
    at = static_cast<int>(free_slot());
    slots_[static_cast<unsigned>(at)].row = row;
    a.vmovdqa32(Zmm(at), row_at(row));
  }
  Slot& slot = slots_[static_cast<unsigned>(at)];
  slot.pinned = true;
  slot.next = next;
  return Zmm(at);
}

Zmm Lanes::temporary() {
  if (a.eight_lanes()) {
    const unsigned at = free_slot();
    slots_[at].row = kTemporary;
    slots_[at].pinned = true;
    temporary_slots_[temporaries_++] = at;
    return Zmm(static_cast<int>(at));
  }
  if (temporaries_ == kTemporaries) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  return Zmm(static_cast<int>(kSlots + temporaries_++));
}

void Lanes::keep_temporaries(unsigned kept) {
  for (unsigned i = kept; a.eight_lanes() && i < temporaries_; ++i) slots_[temporary_slots_[i]] = {};
  temporaries_ = std::min(temporaries_, kept);
}

void Lanes::modify(const Zmm& to, const Operand& from, const Input& input, bool wide) {
  if (wide) {
    const Zmm value(from.getIdx());
    if (input.abs) a.vpandq(to, value, a.splat64(0x7fffffffffffffff));
    if (input.neg) a.vpxorq(to, input.abs ? to : value, a.splat64(0x8000000000000000));
    return;
  }
  const Zmm value(from.getIdx());
  if (input.abs && input.neg) {
    a.vpord(to, value, a.splat(0x80000000));
  } else if (input.abs) {
    a.vpandd(to, value, a.splat(0x7fffffff));
  } else {
    a.vpxord(to, value, a.splat(0x80000000));
  }
}

Zmm Lanes::extracted(const Zmm& from, const Input& input) {
  const Zmm result = temporary();
  const auto above = static_cast<uint8_t>(32 - input.width);
  a.vpslld(result, from, static_cast<uint8_t>(above - input.shift));
  input.extends_sign ? a.vpsrad(result, result, above) : a.vpsrld(result, result, above);
  return result;
}

// In all lanes: for those that are done next as well.
Zmm Lanes::scalar(uint32_t slot) {
  int at = cached(kScalarRow + slot);
  if (at < 0) {
    at = static_cast<int>(free_slot());
    a.vpbroadcastd(Zmm(at), a.dword[a.rdx + static_cast<int>(slot * 4)]);
  }
  slots_[static_cast<unsigned>(at)] = {kScalarRow + slot, false, true, kNextLanes};
  return Zmm(at);
}

Zmm Lanes::reg(unsigned i, unsigned part) {
  const Input& input = step_->src[i];
  const bool wide = (step_->vector->wide >> i & 1) != 0;
  const bool modified = (input.abs || input.neg) && part == (wide ? 1u : 0u);
  switch (input.kind) {
    case Input::Kind::kRow: {
      const Zmm value = load(input.index + part, next_use(i, part));
      if (input.width != 32) return extracted(value, input);
      if (!modified) return value;
      const Zmm result = temporary();
      modify(result, value, input, false);
      return result;
    }
    case Input::Kind::kScalar: {
      if (keeps_scalars() && input.width == 32) {
        const Zmm value = scalar(input.index + part);
        if (!modified) return value;
        const Zmm result = temporary();
        modify(result, value, input, false);
        return result;
      }
      const Zmm result = temporary();
      a.vpbroadcastd(result, a.dword[a.rdx + static_cast<int>((input.index + part) * 4)]);
      if (input.width != 32) return extracted(result, input);
      if (modified) modify(result, result, input, false);
      return result;
    }
    default: {
      const Zmm result = temporary();
      const auto bits = static_cast<uint32_t>(input.bits >> (part * 32));
      if (bits == 0) {
        a.vpxord(result, result, result);
      } else {
        a.vpbroadcastd(result, a.constant32(bits));
      }
      return result;
    }
  }
}

const Operand& Lanes::any(unsigned i, unsigned part) {
  const Input& input = step_->src[i];
  if (input.is_plain()) {
    switch (input.kind) {
      case Input::Kind::kRow:
        if (cached(input.index + part) < 0 && next_use(i, part) == kNever) {
          return addresses_.emplace_back(row_at(input.index + part));
        }
        break;
      case Input::Kind::kScalar:
        if (keeps_scalars()) break;
        return addresses_.emplace_back(a.ptr_b[a.rdx + static_cast<int>((input.index + part) * 4)]);
      default:
        return addresses_.emplace_back(a.splat(static_cast<uint32_t>(input.bits >> (part * 32))));
    }
  }
  return registers_.emplace_back(reg(i, part));
}

Zmm Lanes::wide(unsigned i, unsigned half) {
  const Input& input = step_->src[i];
  if (input.kind == Input::Kind::kRow) {
    const Zmm low = reg(i, 0), high = reg(i, 1);
    const Zmm result = temporary();
    half == 0 ? a.vpunpckldq(result, low, high) : a.vpunpckhdq(result, low, high);
    return result;
  }
  const Zmm result = temporary();
  if (input.kind == Input::Kind::kScalar) {
    a.vpbroadcastq(result, a.qword[a.rdx + static_cast<int>(input.index * 4)]);
    if (input.abs || input.neg) modify(result, result, input, true);
  } else {
    a.vpbroadcastq(result, a.constant64(input.bits));
  }
  return result;
}

bool Lanes::same(unsigned i, unsigned j) const {
  const Input &one = step_->src[i], &other = step_->src[j];
  return one.kind == Input::Kind::kRow && other.kind == Input::Kind::kRow && one.index == other.index &&
         one.is_plain() && other.is_plain();
}

Zmm Lanes::result(unsigned part) {
  if (results_[part] < 0) {
    results_[part] = static_cast<int>(free_slot());
    Slot& slot = slots_[static_cast<unsigned>(results_[part])];
    slot.row = kResult;  // until the step ends
    slot.pinned = true;
  }
  return Zmm(results_[part]);
}

Zmm Lanes::taken(unsigned i) {
  const Input& input = step_->src[i];
  if (input.kind == Input::Kind::kRow && input.is_plain()) {
    const Zmm value = load(input.index, next_use(i, 0));
    const auto at = static_cast<unsigned>(value.getIdx());
    if (input.index == step_->dst || (next_use(i, 0) == kNever && !slots_[at].dirty)) {
      results_[0] = static_cast<int>(at);
      return value;
    }
    const Zmm copy = result();
    a.vmovdqa32(copy, value);
    return copy;
  }
  const Zmm value = reg(i);
  const Zmm copy = result();
  a.vmovdqa32(copy, value);
  return copy;
}

void Lanes::put_wide(const Zmm& half0, const Zmm& half1) {
  const Zmm low = result(0), high = result(1);
  a.vshufps(low, half0, half1, 0x88);
  a.vshufps(high, half0, half1, 0xdd);
}

// Masks
// ---------------------------------------------------------------------------------------------------

void Lanes::put_mask(uint32_t k, unsigned slot, uint32_t next) {
  slots_[slot] = {kMaskRow + k, false, false, next};
  a.put_mask(Opmask(static_cast<int>(k)), static_cast<int>(slot));
}

// Of its register, if it has one.
void Lanes::take_mask_out(uint32_t k) {
  for (Slot& slot : slots_) {
    if (slot.row == kMaskRow + k) slot = {};
  }
  a.forget_mask(Opmask(static_cast<int>(k)));
}

void Lanes::drop_mask(unsigned at) {
  masks_[at] = {};
  if (a.eight_lanes()) take_mask_out(at + 1);
}

unsigned Lanes::free_mask(uint32_t next) {
  unsigned best = kMasks;
  for (unsigned i = 0; i < kMasks; ++i) {
    const MaskSlot& slot = masks_[i];
    if (slot.pinned) continue;
    if (slot.scalar == kFree) {
      best = i;
      break;
    }
    if (best == kMasks || slot.used < masks_[best].used) best = i;
  }
  const MaskSlot& slot = masks_[best];
  if (slot.scalar != kFree && slot.dirty) a.kmovw(mask_at(slot.scalar), Opmask(static_cast<int>(best) + 1));
  drop_mask(best);
  masks_[best].pinned = true;
  if (a.eight_lanes()) put_mask(best + 1, free_slot(), next);
  return best;
}

Opmask Lanes::mask_of(uint32_t scalar, uint32_t next) {
  if (scalar == isa::code::kExecLo) return k_exec;
  for (unsigned i = 0; i < kMasks; ++i) {
    if (masks_[i].scalar != scalar) continue;
    masks_[i].used = ++clock_;
    masks_[i].pinned = true;
    for (Slot& slot : slots_) {
      if (slot.row == kMaskRow + i + 1) slot.next = next;
    }
    return Opmask(static_cast<int>(i) + 1);
  }
  const unsigned at = free_mask(next);
  masks_[at].scalar = scalar;
  masks_[at].used = ++clock_;
  const Opmask mask(static_cast<int>(at) + 1);
  a.kmovw(mask, mask_at(scalar));
  return mask;
}

// Of 8 lanes: in a register where that costs nothing, for emitters may ask for it where not all lanes go.
Opmask Lanes::scratch_mask(unsigned n) {
  const Opmask mask(kFirstScratchMask + static_cast<int>(n));
  if (!a.eight_lanes() || has_scratch_mask_[n]) return mask;
  has_scratch_mask_[n] = true;
  unsigned best = kSlotsOfEight;
  for (unsigned i = 0; i < kSlotsOfEight; ++i) {
    const Slot& slot = slots_[i];
    if (slot.row != kFree && (slot.pinned || slot.dirty || is_mask(slot))) continue;
    if (best == kSlotsOfEight || slot.row == kFree || slot.next > slots_[best].next) best = i;
    if (slot.row == kFree) break;
  }
  if (best != kSlotsOfEight) put_mask(static_cast<uint32_t>(mask.getIdx()), best, 0);
  return mask;
}

Opmask Lanes::mask_in() {
  return mask_of(step_->mask_in, uses_[index_].mask_in);
}

Opmask Lanes::mask_out() {
  if (new_mask_ < 0) new_mask_ = static_cast<int>(free_mask(uses_[index_].mask_out));
  return Opmask(new_mask_ + 1);
}

// Steps
// ---------------------------------------------------------------------------------------------------

// To 0 … 1, compared as integers: a denormal that the operation has left is a number above 0, even where
// operands have none. NaNs are 0 with DX10_CLAMP, else they stay.
void Lanes::clamp(const Zmm& value) {
  const Zmm limited = temporary(), zero = temporary();
  a.vpxord(zero, zero, zero);
  a.vpmaxsd(limited, value, zero);
  a.vpminsd(limited, limited, a.splat(0x3f800000));
  a.vcmpps(k_a(), value, value, 7);
  if (mode.dx10_clamp) {
    a.vmovaps(value | k_a() | Xbyak::util::T_z, limited);
  } else {
    a.vmovaps(value | k_a(), limited);
  }
}

void Lanes::run_step(uint32_t index) {
  index_ = index;
  step_ = &steps_[index];
  mask_matters_ = uses_[index].mask_matters;
  results_[0] = results_[1] = new_mask_ = -1;
  addresses_.clear();
  registers_.clear();
  if (step_->kind == StepKind::kMask) {
    if (mask_matters_) emit_mask_logic(*this);
  } else if (!step_->vector->compares || mask_matters_) {
    step_->vector->emit(*this);
    const VectorOp& op = *step_->vector;
    if (step_->clamp && op.float_result && !op.compares) clamp(result());
  }
  keep_temporaries(0);
  for (unsigned part = 0; part < 2; ++part) {
    if (results_[part] < 0) continue;
    const uint32_t row = step_->dst + part;
    const auto made = static_cast<unsigned>(results_[part]);
    for (unsigned i = 0; i < kSlots; ++i) {
      if (i != made && slots_[i].row == row) slots_[i] = {};
    }
    slots_[made] = {row, true, false, uses_[index].result[part]};
  }
  if (new_mask_ >= 0) {
    for (unsigned i = 0; i < kMasks; ++i) {
      if (masks_[i].scalar == step_->mask_out) drop_mask(i);
    }
    masks_[static_cast<unsigned>(new_mask_)] = {step_->mask_out, true, false, ++clock_};
  }
  for (unsigned n = 0; n < 2; ++n) {
    if (has_scratch_mask_[n]) take_mask_out(kFirstScratchMask + n);
    has_scratch_mask_[n] = false;
  }
  for (Slot& slot : slots_) slot.pinned = false;
  for (MaskSlot& slot : masks_) slot.pinned = false;
}

void Lanes::write_back_rows() {
  const auto dirty = [this](auto&& write) {
    for (unsigned i = 0; i < kSlots; ++i) {
      if (slots_[i].dirty) write(slots_[i].row, Zmm(static_cast<int>(i)));
    }
  };
  const auto all = [this](uint32_t row, const Zmm& reg) { a.vmovdqa32(row_at(row), reg); };
  if (all_active_) return dirty(all);
  if (std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.dirty; })) return;
  Label full;
  const Opmask inactive(kFirstScratchMask);
  if (a.eight_lanes()) {
    a.cmp(a.r9b, 0xff);
    a.je(full, Assembler::T_NEAR);
    a.put_mask(inactive, 15);
  } else {
    a.jump_if_all(k_exec, full);
  }
  a.knotw(inactive, k_exec);
  dirty([&](uint32_t row, const Zmm& reg) { a.vmovdqa32(reg | inactive, row_at(row)); });
  a.forget_mask(inactive);
  a.L(full);
  dirty(all);
}

// Nothing is in registers yet, but for scalars that the lanes before have left there.
void Lanes::begin_lanes() {
  for (Slot& slot : slots_) {
    const bool is_scalar = slot.row >= kScalarRow && slot.row < kScalarRow + kScalarSlots;
    if (chunk_ == 0 || !is_scalar) slot = {};
  }
  for (unsigned i = 0; i < kMasks; ++i) drop_mask(i);
}

bool Lanes::is_short() const {
  return steps_.size() * layout_.wave_size / 16 <= kUnrolledSteps;
}

Reg64 Lanes::collector_of(size_t n) const {
  const Reg64 registers[kCollectors] = {a.r8, a.rdi, a.rbx, a.r12};
  return registers[n];
}

// The callers' registers that collect masks are kept in the red zone: the code calls nobody, and handlers of
// signals begin below it.
void Lanes::save_collectors() {
  Scalars masks;
  for (size_t index = 0; index < steps_.size(); ++index) {
    if (steps_[index].mask_out != kNoMask && uses_[index].mask_matters) masks.set(steps_[index].mask_out);
  }
  collectors_ = std::clamp<size_t>(masks.count(), kFreeCollectors, kCollectors);
  for (size_t n = kFreeCollectors; n < collectors_; ++n) a.mov(saved_at(n), collector_of(n));
}

void Lanes::restore_collectors() {
  for (size_t n = kFreeCollectors; n < collectors_; ++n) a.mov(collector_of(n), saved_at(n));
}

Address Lanes::saved_at(size_t n) const {
  return a.qword[a.rsp - static_cast<int>(8 * (n - kFreeCollectors + 1))];
}

// The masks that these 16 lanes made: in the first ones' registers they stand where all lanes' bits will.
void Lanes::collect_masks() {
  for (unsigned i = 0; i < kMasks; ++i) {
    if (!masks_[i].dirty) continue;
    const Opmask mask(static_cast<int>(i) + 1);
    auto place = std::find(collected_.begin(), collected_.end(), masks_[i].scalar);
    if (place == collected_.end() && collected_.size() < collectors_ && (!unrolled_ || chunk_ == 0)) {
      place = collected_.insert(place, masks_[i].scalar);
    }
    if (place == collected_.end()) {
      a.kmovw(mask_at(masks_[i].scalar), mask);
      continue;
    }
    const Reg64 collector = collector_of(place - collected_.begin());
    if (!unrolled_) {
      a.shr(collector, static_cast<uint8_t>(a.lanes()));
      a.kmovw(a.eax, mask);
      a.shl(a.rax, static_cast<uint8_t>(64 - a.lanes()));
      a.or_(collector, a.rax);
    } else if (chunk_ == 0) {
      a.kmovw(collector.cvt32(), mask);
    } else {
      a.kmovw(a.eax, mask);
      a.shl(a.rax, static_cast<uint8_t>(chunk_ * a.lanes()));
      a.or_(collector, a.rax);
    }
  }
}

void Lanes::store_collected() {
  for (unsigned i = 0; i < collected_.size(); ++i) {
    const auto at = static_cast<int>(collected_[i] * 4);
    const Reg64 collector = collector_of(i);
    if (layout_.wave_size == 64) {
      a.mov(a.qword[a.rdx + at], collector);
      continue;
    }
    if (!unrolled_) a.shr(collector, 32);
    a.mov(a.dword[a.rdx + at], collector.cvt32());
  }
  left_ = std::exchange(collected_, {});
}

void Lanes::hand_on_masks(ScalarCode& scalars) const {
  for (unsigned i = 0; i < std::min<size_t>(left_.size(), kFreeCollectors); ++i) {
    scalars.know(collector_of(i), left_[i], layout_.wave_size == 64);
  }
}

// The steps for the lanes of one vector.
void Lanes::emit_chunk() {
  begin_lanes();
  for (uint32_t index = 0; index < steps_.size(); ++index) run_step(index);
  write_back_rows();
  collect_masks();
}

void Lanes::emit_unrolled() {
  unrolled_ = all_active_ = true;
  a.kxnorw(k_exec, k_exec, k_exec);
  a.assume_all(k_exec);
  for (chunk_ = 0; chunk_ < chunks(); ++chunk_) emit_chunk();
  store_collected();
  a.assume_nothing();
  unrolled_ = all_active_ = false;
  chunk_ = 0;
}

// For waves of 32 some of whose lanes are not active. What a loop takes would be a good part of it.
void Lanes::emit_unrolled_some(bool makes_masks) {
  unrolled_ = true;
  for (chunk_ = 0; chunk_ < chunks(); ++chunk_) {
    Label skipped;
    if (chunk_ == 0) {
      a.kmovd(k_exec, a.ecx);
    } else {
      a.mov(a.r9d, a.ecx);
      a.shr(a.r9d, static_cast<uint8_t>(chunk_ * a.lanes()));
      a.kmovd(k_exec, a.r9d);
    }
    if (!makes_masks) a.jump_if_none(k_exec, skipped);
    emit_chunk();
    a.L(skipped);
  }
  store_collected();
  unrolled_ = false;
  chunk_ = 0;
}

void Lanes::emit_piece() {
  unrolled_ = all_active_ = true;
  a.assume_all(k_exec);
  begin_lanes();
  for (uint32_t index = 0; index < steps_.size(); ++index) run_step(index);
  a.assume_nothing();
  unrolled_ = all_active_ = false;
}

// The loop for waves whose lanes are all active.
void Lanes::emit_loop_of_all() {
  all_active_ = true;
  a.kxnorw(k_exec, k_exec, k_exec);
  a.assume_all(k_exec);
  emit_loop();
  a.assume_nothing();
  all_active_ = false;
}

void Lanes::emit_loop() {
  const bool makes_masks =
      std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.mask_out != kNoMask; });
  if (a.eight_lanes() && !all_active_) return emit_loop_of_eight(makes_masks);
  if (is_short() && layout_.wave_size == 32 && !all_active_) return emit_unrolled_some(makes_masks);
  Label loop, skipped;
  if (!all_active_) a.mov(a.r9, a.rcx);
  a.L(loop);
  if (!all_active_) {
    a.kmovd(k_exec, a.r9d);
    a.shr(a.r9, static_cast<uint8_t>(a.lanes()));
    if (!makes_masks) a.jump_if_none(k_exec, skipped);
  }
  emit_chunk();
  a.L(skipped);
  a.add(a.r10, static_cast<uint32_t>(a.bytes()));
  a.add(a.r11, a.lanes() / 8);
  jump_if_rows_left(loop);
  store_collected();
}

void Lanes::jump_if_rows_left(const Label& loop) {
  a.lea(a.rax, a.ptr[a.rdx + static_cast<int>(kScalarBytes + kRowBias + layout_.row_bytes())]);
  a.cmp(a.r10, a.rax);
  a.jne(loop, Assembler::T_NEAR);
}

// Its lowest bits in r9 are those of the lanes that are done at present. Where no masks are made, lanes
// behind the last active one are none of its business.
void Lanes::emit_loop_of_eight(bool makes_masks) {
  Label loop, skipped;
  a.mov(a.r9, a.rcx);
  a.L(loop);
  if (!makes_masks) {
    a.test(a.r9b, a.r9b);
    a.jz(skipped, Assembler::T_NEAR);
  }
  a.kmovd(k_exec, a.r9d);
  emit_chunk();
  a.L(skipped);
  a.add(a.r10, static_cast<uint32_t>(a.bytes()));
  a.add(a.r11, 1);
  a.shr(a.r9, 8);
  makes_masks ? jump_if_rows_left(loop) : a.jnz(loop, Assembler::T_NEAR);
  store_collected();
}

void Lanes::emit(uint32_t scc_mask) {
  a.lea(a.r10, a.ptr[a.rdx + static_cast<int>(kScalarBytes + kRowBias)]);
  a.mov(a.r11, a.rdx);
  save_collectors();
  Label some, done;
  std::vector<uint32_t> left;
  const bool is_twice = is_short() || a.eight_lanes();
  if (is_twice) {
    layout_.wave_size == 64 ? a.cmp(a.rcx, -1) : a.cmp(a.ecx, -1);
    a.jne(some, Assembler::T_NEAR);
    is_short() ? emit_unrolled() : emit_loop_of_all();
    left = left_;
    a.jmp(done, Assembler::T_NEAR);
    a.L(some);
  }
  emit_loop();
  a.L(done);
  if (is_twice && left != left_) left_.clear();
  restore_collectors();
  if (scc_mask != kNoMask) {
    const auto at = static_cast<int>(scc_mask * 4);
    a.xor_(a.eax, a.eax);
    if (layout_.wave_size == 64) {
      a.cmp(a.qword[a.rdx + at], 0);
    } else {
      a.cmp(a.dword[a.rdx + at], 0);
    }
    a.setne(a.al);
    a.mov(a.dword[a.rsi + static_cast<int>(offsetof(Wave, scc))], a.eax);
  }
}

void emit_mask_logic(Lanes& lanes) {
  Assembler& a = lanes.a;
  const Step& step = lanes.step();
  const MaskLogic logic = step.mask->logic;
  const auto source = [&](unsigned i) {
    const Input& input = step.src[i];
    if (input.kind == Input::Kind::kScalar) return lanes.source_mask(i);
    const Opmask scratch = i == 0 ? lanes.k_a() : lanes.k_b();
    input.bits == 0 ? a.kxorw(scratch, scratch, scratch) : a.kxnorw(scratch, scratch, scratch);
    return scratch;
  };
  const Opmask one = source(0);
  const bool unary = logic == MaskLogic::kMove || logic == MaskLogic::kNot;
  const Opmask other = unary ? one : source(1);
  const Opmask to = lanes.mask_out();
  switch (logic) {
    case MaskLogic::kMove:
      return a.kmovw(to, one);
    case MaskLogic::kNot:
      return a.knotw(to, one);
    case MaskLogic::kAnd:
      return a.kandw(to, one, other);
    case MaskLogic::kOr:
      return a.korw(to, one, other);
    case MaskLogic::kXor:
      return a.kxorw(to, one, other);
    case MaskLogic::kAndNot:  // the host inverts the first
      return a.kandnw(to, other, one);
    case MaskLogic::kOrNot:
      a.knotw(lanes.k_b(), other);
      return a.korw(to, one, lanes.k_b());
    case MaskLogic::kNand:
      a.kandw(lanes.k_b(), one, other);
      return a.knotw(to, lanes.k_b());
    case MaskLogic::kNor:
      a.korw(lanes.k_b(), one, other);
      return a.knotw(to, lanes.k_b());
    case MaskLogic::kXnor:
      return a.kxnorw(to, one, other);
  }
}

}  // namespace rigel::vgpu::exec::native
