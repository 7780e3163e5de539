#include <algorithm>
#include <utility>

#include "plugins/vgpu/exec/native/group_compiler.hpp"

namespace rigel::vgpu::exec::native {

using isa::Op;
using Xbyak::Reg32;
using Xbyak::Reg64;

// All of a work-group's lanes together don't come near to 32 bits.
constexpr uint32_t kMaxStride = 1 << 16;

// Comparisons of numbers that rise with the lanes.
struct Comparison {
  Op op, to_exec;
  bool is_signed, wide;
  enum class How : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual } how;
};
#define RIGEL_ORDER(type, is_signed, wide)                                                       \
  {Op::v_cmp_lt_##type, Op::v_cmpx_lt_##type, is_signed, wide, Comparison::How::kLess},          \
      {Op::v_cmp_le_##type, Op::v_cmpx_le_##type, is_signed, wide, Comparison::How::kLessEqual}, \
      {Op::v_cmp_gt_##type, Op::v_cmpx_gt_##type, is_signed, wide, Comparison::How::kGreater}, { \
    Op::v_cmp_ge_##type, Op::v_cmpx_ge_##type, is_signed, wide, Comparison::How::kGreaterEqual   \
  }
constexpr Comparison kComparisons[] = {RIGEL_ORDER(i32, true, false), RIGEL_ORDER(u32, false, false),
                                       RIGEL_ORDER(i64, true, true), RIGEL_ORDER(u64, false, true)};

uint32_t GroupCompiler::new_slot() {
  if (used_slots_ == kGroupSlots) {
    fits_ = false;
    return kZero;
  }
  return used_slots_++;
}

uint32_t GroupCompiler::keep_eax() {
  const uint32_t slot = new_slot();
  a_.mov(a_.dword[a_.rsp + slot_at(slot)], a_.eax);
  return slot;
}

bool GroupCompiler::term(const Step& step, unsigned i, Term& out, unsigned part) const {
  const Input& input = step.src[i];
  if (!input.is_plain()) return false;
  switch (input.kind) {
    case Input::Kind::kConstant:
      out = {Term::Kind::kConstant, static_cast<uint32_t>(input.bits >> (part * 32)), 0};
      return true;
    case Input::Kind::kScalar:
      out = {Term::Kind::kScalar, input.index + part, 0};
      return is_scalar(out.value);
    case Input::Kind::kRow: {
      const Value& value = values_[input.index + part];
      out = {Term::Kind::kSlot, value.slot, value.stride};
      return value.is_ramp;
    }
    default:
      return false;
  }
}

void GroupCompiler::get(const Reg32& to, const Term& term) {
  switch (term.kind) {
    case Term::Kind::kConstant:
      return a_.mov(to, term.value);
    case Term::Kind::kScalar:
      return a_.mov(to, a_.dword[a_.rdx + static_cast<int>(term.value * 4)]);
    case Term::Kind::kSlot:
      return a_.mov(to, a_.dword[a_.rsp + slot_at(term.value)]);
  }
}

void GroupCompiler::get_wide(const Reg64& to, const Term& low, const Term& high, const Reg64& scratch) {
  get(to.cvt32(), low);
  get(scratch.cvt32(), high);
  a_.shl(scratch, 32);
  a_.or_(to, scratch);
}

void GroupCompiler::rise(const Term& ramp) {
  if (ramp.stride == 0 || rises_[ramp.value]) return;
  get_reach(a_.ecx, ramp.stride);
  a_.add(a_.ecx, a_.dword[a_.rsp + slot_at(ramp.value)]);
  a_.jc(otherwise_, kNear);
  rises_.set(ramp.value);
}

bool GroupCompiler::result(const Step& step, uint64_t stride) {
  if (stride > kMaxStride) return false;
  set_ramp(step.dst, keep_eax(), static_cast<uint32_t>(stride));
  return true;
}

bool GroupCompiler::ramp(const Step& step, Op op) {
  if (compare(step, op)) return true;
  Term x, y, z;
  const unsigned sources = step.vector->sources;
  if (!term(step, 0, x) || (sources > 1 && !term(step, 1, y)) || (sources > 2 && !term(step, 2, z))) {
    return false;
  }
  const uint64_t strides = uint64_t{x.stride} + y.stride;
  const bool uniform = strides == 0;
  switch (op) {
    case Op::v_mov_b32:
      if (x.kind == Term::Kind::kSlot) {
        set_ramp(step.dst, x.value, x.stride);
        return true;
      }
      get(a_.eax, x);
      return result(step, 0);
    case Op::v_cndmask_b32:
      if (!is_mask(step.mask_in, Slot::kFull)) return false;
      get(a_.eax, y);
      return result(step, y.stride);
    case Op::v_add_u32:
      if (strides > kMaxStride) return false;
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.add(a_.eax, a_.ecx);
      return result(step, strides);
    case Op::v_sub_u32:
      return y.stride == 0 && difference(step, x, y);
    case Op::v_subrev_u32:
      return x.stride == 0 && difference(step, y, x);
    case Op::v_add3_u32:
      if (strides + z.stride > kMaxStride) return false;
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.add(a_.eax, a_.ecx);
      get(a_.ecx, z);
      a_.add(a_.eax, a_.ecx);
      return result(step, strides + z.stride);
    case Op::v_lshlrev_b32:
      return x.is_constant() && shifted(step, y, x.value & 31, {});
    case Op::v_lshl_add_u32:
      return y.is_constant() && shifted(step, x, y.value & 31, z);
    case Op::v_add_lshl_u32: {
      if (!z.is_constant() || strides << (z.value & 31) > kMaxStride) return false;
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.add(a_.eax, a_.ecx);
      a_.shl(a_.eax, static_cast<int>(z.value & 31));
      return result(step, strides << (z.value & 31));
    }
    case Op::v_mul_lo_u32: {
      if (x.stride != 0) std::swap(x, y);
      if (x.stride != 0 || (y.stride != 0 && (!x.is_constant() || x.value > kMaxStride ||
                                              uint64_t{x.value} * y.stride > kMaxStride))) {
        return false;
      }
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.imul(a_.eax, a_.ecx);
      return result(step, y.stride == 0 ? 0 : uint64_t{x.value} * y.stride);
    }
    case Op::v_mad_u32_u24:
      if (!uniform) return false;
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.and_(a_.eax, 0xffffff);
      a_.and_(a_.ecx, 0xffffff);
      a_.imul(a_.eax, a_.ecx);
      get(a_.ecx, z);
      a_.add(a_.eax, a_.ecx);
      return result(step, z.stride);
    case Op::v_and_b32:
      return uniform && logic(step, x, y, [](Assembler& a) { a.and_(a.eax, a.ecx); });
    case Op::v_or_b32:
      return uniform && logic(step, x, y, [](Assembler& a) { a.or_(a.eax, a.ecx); });
    case Op::v_ashrrev_i32:
      return sign(step, x, y);
    case Op::v_lshlrev_b64:
      return shift_wide(step, x, y);
    case Op::v_mad_u64_u32:
      return uniform && multiply_add_wide(step, x, y, z);
    case Op::v_add_co_u32:
      return add_with_carry_out(step, x, y);
    case Op::v_addc_u32:
      if (!is_mask(step.mask_in, Slot::kCarry) || !uniform) return false;
      get(a_.eax, x);
      get(a_.ecx, y);
      a_.add(a_.eax, a_.ecx);
      a_.add(a_.eax, a_.dword[a_.rsp + slot_at(carries_[step.mask_in])]);
      set_mask_out(step, Slot::kUnknown);
      return result(step, 0);
    default:
      return false;
  }
}

void GroupCompiler::set_mask_out(const Step& step, Slot what) {
  if (row_reads_[step.mask_out] || row_reads_[step.mask_out + 1]) fits_ = false;
  set_mask(step.mask_out, what);
}

bool GroupCompiler::difference(const Step& step, const Term& x, const Term& y) {
  get(a_.eax, x);
  get(a_.ecx, y);
  a_.sub(a_.eax, a_.ecx);
  return result(step, x.stride);
}

bool GroupCompiler::shifted(const Step& step, const Term& x, uint32_t by, const Term& sum) {
  const uint64_t stride = (uint64_t{x.stride} << by) + sum.stride;
  if (stride > kMaxStride) return false;
  get(a_.eax, x);
  a_.shl(a_.eax, static_cast<int>(by));
  get(a_.ecx, sum);
  a_.add(a_.eax, a_.ecx);
  return result(step, stride);
}

bool GroupCompiler::logic(const Step& step, const Term& x, const Term& y, void (*emit)(Assembler& a)) {
  get(a_.eax, x);
  get(a_.ecx, y);
  emit(a_);
  return result(step, 0);
}

bool GroupCompiler::sign(const Step& step, const Term& by, const Term& x) {
  if (!by.is_constant() || ((by.value & 31) != 31 && x.stride != 0)) return false;
  get(a_.eax, x);
  if (x.stride != 0) {
    get_reach(a_.ecx, x.stride);
    a_.add(a_.ecx, a_.eax);
    a_.xor_(a_.ecx, a_.eax);
    a_.js(otherwise_, kNear);
  }
  a_.sar(a_.eax, static_cast<int>(by.value & 31));
  return result(step, 0);
}

bool GroupCompiler::shift_wide(const Step& step, const Term& by, const Term& low) {
  Term high;
  const uint32_t amount = by.value & 63;
  if (!by.is_constant() || amount > 31 || !term(step, 1, high, 1) || high.stride != 0 ||
      uint64_t{low.stride} << amount > kMaxStride) {
    return false;
  }
  get_wide(a_.rax, low, high, a_.rcx);
  a_.shl(a_.rax, static_cast<int>(amount));
  set_pair(step, low.stride << amount);
  return true;
}

void GroupCompiler::set_pair(const Step& step, uint32_t stride) {
  const uint32_t low = keep_eax();
  a_.shr(a_.rax, 32);
  const uint32_t high = keep_eax();
  rise({Term::Kind::kSlot, low, stride});
  set_ramp(step.dst, low, stride);
  set_ramp(step.dst + 1, high, 0);
}

bool GroupCompiler::multiply_add_wide(const Step& step, const Term& x, const Term& y, const Term& low) {
  Term high;
  if (!term(step, 2, high, 1) || high.stride != 0) return false;
  rise(low);
  get_wide(a_.r8, low, high, a_.rcx);
  get(a_.eax, x);
  get(a_.ecx, y);
  a_.imul(a_.rax, a_.rcx);
  a_.add(a_.rax, a_.r8);
  set_pair(step, low.stride);
  set_mask_out(step, Slot::kUnknown);
  return true;
}

bool GroupCompiler::add_with_carry_out(const Step& step, const Term& x, const Term& y) {
  const uint64_t stride = uint64_t{x.stride} + y.stride;
  if (stride > kMaxStride) return false;
  rise(x);
  rise(y);
  get(a_.eax, x);
  get(a_.ecx, y);
  a_.xor_(a_.edi, a_.edi);
  a_.add(a_.eax, a_.ecx);
  a_.setc(a_.dil);
  const uint32_t carry = new_slot();
  a_.mov(a_.dword[a_.rsp + slot_at(carry)], a_.edi);
  const uint32_t sum = keep_eax();
  rise({Term::Kind::kSlot, sum, static_cast<uint32_t>(stride)});
  set_mask_out(step, Slot::kCarry);
  carries_[step.mask_out] = carry;
  set_ramp(step.dst, sum, static_cast<uint32_t>(stride));
  return true;
}

bool GroupCompiler::compare(const Step& step, Op op) {
  const auto* const how = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                       [&](const Comparison& c) { return c.op == op || c.to_exec == op; });
  if (how == std::end(kComparisons)) return false;
  Term x, y, x_high, y_high;
  if (!term(step, 0, x) || !term(step, 1, y) || (x.stride != 0 && y.stride != 0)) return false;
  if (how->wide &&
      (!term(step, 0, x_high, 1) || !term(step, 1, y_high, 1) || x_high.stride != 0 || y_high.stride != 0)) {
    return false;
  }
  if (how->wide) {
    rise(x);
    rise(y);
    get_wide(a_.rax, x, x_high, a_.r8);
    get_wide(a_.rcx, y, y_high, a_.r8);
  } else {
    get(a_.eax, x);
    get(a_.ecx, y);
  }
  decide(*how);
  if (const uint32_t stride = x.stride + y.stride; stride != 0) {
    get_reach(a_.edi, stride);
    if (how->wide) {
      x.stride != 0 ? a_.add(a_.rax, a_.rdi) : a_.add(a_.rcx, a_.rdi);
    } else {
      x.stride != 0 ? a_.add(a_.eax, a_.edi) : a_.add(a_.ecx, a_.edi);
      how->is_signed ? a_.jo(otherwise_, kNear) : a_.jc(otherwise_, kNear);
    }
    decide(*how);
  }
  if (step.mask_out != kNoMask && step.mask_out != kSinkSlot) set_mask_out(step, Slot::kFull);
  return true;
}

void GroupCompiler::decide(const Comparison& how) {
  how.wide ? a_.cmp(a_.rax, a_.rcx) : a_.cmp(a_.eax, a_.ecx);
  switch (how.how) {
    case Comparison::How::kLess:
      return how.is_signed ? a_.jge(otherwise_, kNear) : a_.jae(otherwise_, kNear);
    case Comparison::How::kLessEqual:
      return how.is_signed ? a_.jg(otherwise_, kNear) : a_.ja(otherwise_, kNear);
    case Comparison::How::kGreater:
      return how.is_signed ? a_.jle(otherwise_, kNear) : a_.jbe(otherwise_, kNear);
    case Comparison::How::kGreaterEqual:
      return how.is_signed ? a_.jl(otherwise_, kNear) : a_.jb(otherwise_, kNear);
  }
}

}  // namespace rigel::vgpu::exec::native
