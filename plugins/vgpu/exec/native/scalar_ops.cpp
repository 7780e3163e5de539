// Scalar operations: on the scalar file in memory, one after the other.
#include <array>
#include <cstddef>

#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Reg64;
using A = Assembler;

constexpr int kSccAt = static_cast<int>(offsetof(Wave, scc));

Xbyak::Address scc_of(A& a) {
  return a.dword[a.rsi + kSccAt];
}

// As operations of `W` bits.
template <int W>
const Xbyak::Reg& one(A& a) {
  if constexpr (W == 64) {
    return a.rax;
  } else {
    return a.eax;
  }
}
template <int W>
const Xbyak::Reg& two(A& a) {
  if constexpr (W == 64) {
    return a.r8;
  } else {
    return a.r8d;
  }
}

void keep(A&) {}
template <int W>
void invert(A& a) {
  a.not_(one<W>(a));
}
template <int W>
void and_both(A& a) {
  a.and_(one<W>(a), two<W>(a));
}
template <int W>
void or_both(A& a) {
  a.or_(one<W>(a), two<W>(a));
}
template <int W>
void xor_both(A& a) {
  a.xor_(one<W>(a), two<W>(a));
}
template <int W, void (*Fn)(A&)>
void inverted_second(A& a) {
  a.not_(two<W>(a));
  Fn(a);
}
template <int W, void (*Fn)(A&)>
void inverted_result(A& a) {
  Fn(a);
  a.not_(one<W>(a));
}

void add(A& a) {
  a.add(a.eax, a.r8d);
}
void sub(A& a) {
  a.sub(a.eax, a.r8d);
}
void carry_in(A& a) {
  a.mov(a.r9d, scc_of(a));
  a.shr(a.r9d, 1);
}
void add_carry(A& a) {
  carry_in(a);
  a.adc(a.eax, a.r8d);
}
void sub_borrow(A& a) {
  carry_in(a);
  a.sbb(a.eax, a.r8d);
}
void multiply(A& a) {
  a.imul(a.eax, a.r8d);
}
void multiply_high(A& a) {
  a.imul(a.rax, a.r8);
  a.shr(a.rax, 32);
}
void multiply_high_signed(A& a) {
  a.movsxd(a.rax, a.eax);
  a.movsxd(a.r8, a.r8d);
  multiply_high(a);
}
void compare(A& a) {
  a.cmp(a.eax, a.r8d);
}
void compare_wide(A& a) {
  a.cmp(a.rax, a.r8);
}
void lesser(A& a) {
  compare(a);
  a.cmovg(a.eax, a.r8d);
}
void greater(A& a) {
  compare(a);
  a.cmovl(a.eax, a.r8d);
}
void lower(A& a) {
  compare(a);
  a.cmova(a.eax, a.r8d);
}
void higher(A& a) {
  compare(a);
  a.cmovb(a.eax, a.r8d);
}
void choose(A& a) {
  a.cmp(scc_of(a), 0);
  a.cmove(a.rax, a.r8);
}

// The host takes as many bits of the amount as there are in the value.
template <int W>
void shift_left(A& a) {
  W == 64 ? a.shlx(a.rax, a.rax, a.r8) : a.shlx(a.eax, a.eax, a.r8d);
}
template <int W>
void shift_right(A& a) {
  W == 64 ? a.shrx(a.rax, a.rax, a.r8) : a.shrx(a.eax, a.eax, a.r8d);
}
template <int W>
void shift_arithmetic(A& a) {
  W == 64 ? a.sarx(a.rax, a.rax, a.r8) : a.sarx(a.eax, a.eax, a.r8d);
}

// The table
// ---------------------------------------------------------------------------------------------------

using Emit = void (*)(A&);

constexpr ScalarOp narrow(Op op, uint8_t sources, Scc scc, Emit emit) {
  return {op, sources, 0, scc, emit};
}
constexpr ScalarOp shift64(Op op, Emit emit) {
  return {op, 2, 0x81, Scc::kNonzero, emit};
}
constexpr ScalarOp comparison(Op op, Scc scc, Emit emit = compare, uint8_t wide = 0) {
  ScalarOp entry{op, 2, wide, scc, emit};
  entry.has_result = false;
  return entry;
}
constexpr ScalarOp immediate(ScalarOp entry, int8_t extension) {
  entry.immediate = extension;
  return entry;
}
constexpr ScalarOp reading_scc(ScalarOp entry) {
  entry.reads_scc = true;
  return entry;
}
constexpr ScalarOp logic(Op op, MaskLogic how, int bits, Emit emit) {
  const bool unary = how == MaskLogic::kMove || how == MaskLogic::kNot;
  ScalarOp entry{op, static_cast<uint8_t>(unary ? 1 : 2), static_cast<uint8_t>(bits == 64 ? 0x83 : 0),
                 how == MaskLogic::kMove ? Scc::kKept : Scc::kNonzero, emit};
  entry.is_logic = true;
  entry.logic = how;
  return entry;
}
constexpr ScalarOp saving(Op op, int bits, Emit emit) {
  ScalarOp entry{op, 1, static_cast<uint8_t>(bits == 64 ? 0x81 : 0), Scc::kNonzero, emit};
  entry.saves_exec = true;
  return entry;
}

#define RIGEL_LOGIC(name, how, emit)                       \
  logic(Op::s_##name##_b32, MaskLogic::how, 32, emit<32>), \
      logic(Op::s_##name##_b64, MaskLogic::how, 64, emit<64>)

template <int W>
constexpr Emit kAndNot = inverted_second<W, and_both<W>>;
template <int W>
constexpr Emit kOrNot = inverted_second<W, or_both<W>>;
template <int W>
constexpr Emit kNand = inverted_result<W, and_both<W>>;
template <int W>
constexpr Emit kNor = inverted_result<W, or_both<W>>;
template <int W>
constexpr Emit kXnor = inverted_result<W, xor_both<W>>;
template <int W>
constexpr Emit kKeep = keep;

constexpr ScalarOp kTable[] = {
    RIGEL_LOGIC(mov, kMove, kKeep),
    RIGEL_LOGIC(not, kNot, invert),
    RIGEL_LOGIC(and, kAnd, and_both),
    RIGEL_LOGIC(or, kOr, or_both),
    RIGEL_LOGIC(xor, kXor, xor_both),
    RIGEL_LOGIC(andn2, kAndNot, kAndNot),
    RIGEL_LOGIC(orn2, kOrNot, kOrNot),
    RIGEL_LOGIC(nand, kNand, kNand),
    RIGEL_LOGIC(nor, kNor, kNor),
    RIGEL_LOGIC(xnor, kXnor, kXnor),
    saving(Op::s_and_saveexec_b32, 32, and_both<32>),
    saving(Op::s_and_saveexec_b64, 64, and_both<64>),
    saving(Op::s_or_saveexec_b32, 32, or_both<32>),
    saving(Op::s_or_saveexec_b64, 64, or_both<64>),
    saving(Op::s_xor_saveexec_b32, 32, xor_both<32>),
    saving(Op::s_xor_saveexec_b64, 64, xor_both<64>),
    saving(Op::s_andn2_saveexec_b32, 32, kAndNot<32>),
    saving(Op::s_andn2_saveexec_b64, 64, kAndNot<64>),

    narrow(Op::s_add_u32, 2, Scc::kCarry, add),
    narrow(Op::s_sub_u32, 2, Scc::kCarry, sub),
    narrow(Op::s_add_i32, 2, Scc::kOverflow, add),
    narrow(Op::s_sub_i32, 2, Scc::kOverflow, sub),
    reading_scc(narrow(Op::s_addc_u32, 2, Scc::kCarry, add_carry)),
    reading_scc(narrow(Op::s_subb_u32, 2, Scc::kCarry, sub_borrow)),
    narrow(Op::s_mul_i32, 2, Scc::kKept, multiply),
    narrow(Op::s_mul_hi_u32, 2, Scc::kKept, multiply_high),
    narrow(Op::s_mul_hi_i32, 2, Scc::kKept, multiply_high_signed),
    narrow(Op::s_min_i32, 2, Scc::kLess, lesser),
    narrow(Op::s_max_i32, 2, Scc::kGreater, greater),
    narrow(Op::s_min_u32, 2, Scc::kBelow, lower),
    narrow(Op::s_max_u32, 2, Scc::kAbove, higher),
    reading_scc(narrow(Op::s_cselect_b32, 2, Scc::kKept, choose)),
    reading_scc({Op::s_cselect_b64, 2, 0x83, Scc::kKept, choose}),
    narrow(Op::s_lshl_b32, 2, Scc::kNonzero, shift_left<32>),
    narrow(Op::s_lshr_b32, 2, Scc::kNonzero, shift_right<32>),
    narrow(Op::s_ashr_i32, 2, Scc::kNonzero, shift_arithmetic<32>),
    shift64(Op::s_lshl_b64, shift_left<64>),
    shift64(Op::s_lshr_b64, shift_right<64>),
    shift64(Op::s_ashr_i64, shift_arithmetic<64>),

    comparison(Op::s_cmp_eq_i32, Scc::kEqual),
    comparison(Op::s_cmp_eq_u32, Scc::kEqual),
    comparison(Op::s_cmp_lg_i32, Scc::kNotEqual),
    comparison(Op::s_cmp_lg_u32, Scc::kNotEqual),
    comparison(Op::s_cmp_gt_i32, Scc::kGreater),
    comparison(Op::s_cmp_ge_i32, Scc::kGreaterEqual),
    comparison(Op::s_cmp_lt_i32, Scc::kLess),
    comparison(Op::s_cmp_le_i32, Scc::kLessEqual),
    comparison(Op::s_cmp_gt_u32, Scc::kAbove),
    comparison(Op::s_cmp_ge_u32, Scc::kAboveEqual),
    comparison(Op::s_cmp_lt_u32, Scc::kBelow),
    comparison(Op::s_cmp_le_u32, Scc::kBelowEqual),
    comparison(Op::s_cmp_eq_u64, Scc::kEqual, compare_wide, 3),
    comparison(Op::s_cmp_lg_u64, Scc::kNotEqual, compare_wide, 3),

    immediate(narrow(Op::s_movk_i32, 1, Scc::kKept, keep), -1),
    immediate(narrow(Op::s_addk_i32, 2, Scc::kOverflow, add), -1),
    immediate(narrow(Op::s_mulk_i32, 2, Scc::kKept, multiply), -1),
    immediate(comparison(Op::s_cmpk_eq_i32, Scc::kEqual), -1),
    immediate(comparison(Op::s_cmpk_lg_i32, Scc::kNotEqual), -1),
    immediate(comparison(Op::s_cmpk_gt_i32, Scc::kGreater), -1),
    immediate(comparison(Op::s_cmpk_ge_i32, Scc::kGreaterEqual), -1),
    immediate(comparison(Op::s_cmpk_lt_i32, Scc::kLess), -1),
    immediate(comparison(Op::s_cmpk_le_i32, Scc::kLessEqual), -1),
    immediate(comparison(Op::s_cmpk_eq_u32, Scc::kEqual), 1),
    immediate(comparison(Op::s_cmpk_lg_u32, Scc::kNotEqual), 1),
    immediate(comparison(Op::s_cmpk_gt_u32, Scc::kAbove), 1),
    immediate(comparison(Op::s_cmpk_ge_u32, Scc::kAboveEqual), 1),
    immediate(comparison(Op::s_cmpk_lt_u32, Scc::kBelow), 1),
    immediate(comparison(Op::s_cmpk_le_u32, Scc::kBelowEqual), 1),
};

void set_if(A& a, Scc scc, const Xbyak::Reg8& to) {
  switch (scc) {
    case Scc::kKept:
      return;
    case Scc::kNonzero:
    case Scc::kNotEqual:
      return a.setne(to);
    case Scc::kEqual:
      return a.sete(to);
    case Scc::kCarry:
    case Scc::kBelow:
      return a.setb(to);
    case Scc::kOverflow:
      return a.seto(to);
    case Scc::kLess:
      return a.setl(to);
    case Scc::kGreater:
      return a.setg(to);
    case Scc::kAbove:
      return a.seta(to);
    case Scc::kLessEqual:
      return a.setle(to);
    case Scc::kGreaterEqual:
      return a.setge(to);
    case Scc::kBelowEqual:
      return a.setbe(to);
    case Scc::kAboveEqual:
      return a.setae(to);
  }
}

}  // namespace

const ScalarOp* find_scalar_op(Op op) {
  struct Index {
    std::array<const ScalarOp*, isa::kOpCount> by_op{};
    Index() {
      for (const ScalarOp& entry : kTable) by_op[static_cast<size_t>(entry.op)] = &entry;
    }
  };
  static const Index index;
  return index.by_op[static_cast<size_t>(op)];
}

// ScalarCode
// ---------------------------------------------------------------------------------------------------

bool ScalarCode::is_exec(uint32_t slot, bool wide) const {
  return slot == isa::code::kExecLo && (!wide || wave_size_ == 64);
}

ScalarCode::Known* ScalarCode::known(const Input& input, bool wide) {
  if (input.kind != Input::Kind::kScalar) return nullptr;
  for (Known& one : known_) {
    if (one.slot == input.index && (one.wide || !wide)) return &one;
  }
  return nullptr;
}

void ScalarCode::know(const Reg64& reg, uint32_t slot, bool wide) {
  for (Known& one : known_) {
    if (one.reg.getIdx() == reg.getIdx()) one.slot = slot, one.wide = wide;
  }
}

void ScalarCode::load(const Input& input, bool wide, const Reg64& to) {
  if (input.kind == Input::Kind::kConstant) {
    wide ? a_.mov(to, input.bits) : a_.mov(to.cvt32(), static_cast<uint32_t>(input.bits));
  } else if (is_exec(input.index, wide)) {
    wide ? a_.mov(to, a_.rcx) : a_.mov(to.cvt32(), a_.ecx);
  } else if (const Known* const where = known(input, wide)) {
    if (where->reg.getIdx() != to.getIdx() || where->wide != wide) {
      wide ? a_.mov(to, where->reg) : a_.mov(to.cvt32(), where->reg.cvt32());
    }
  } else {
    const auto at = static_cast<int>(input.index * 4);
    wide ? a_.mov(to, a_.qword[a_.rdx + at]) : a_.mov(to.cvt32(), a_.dword[a_.rdx + at]);
  }
  know(to, kNowhere, false);
}

void ScalarCode::store(uint32_t slot, bool wide, const Reg64& from) {
  const auto at = static_cast<int>(slot * 4);
  wide ? a_.mov(a_.qword[a_.rdx + at], from) : a_.mov(a_.dword[a_.rdx + at], from.cvt32());
  for (Known& one : known_) {
    if (one.slot != kNowhere && one.slot < slot + (wide ? 2 : 1) && slot < one.slot + (one.wide ? 2 : 1)) {
      one.slot = kNowhere;
    }
  }
}

void ScalarCode::reload_exec() {
  const auto at = static_cast<int>(isa::code::kExecLo * 4);
  wave_size_ == 64 ? a_.mov(a_.rcx, a_.qword[a_.rdx + at]) : a_.mov(a_.ecx, a_.dword[a_.rdx + at]);
}

void ScalarCode::set_exec(uint32_t mask) {
  Input input;
  input.kind = Input::Kind::kScalar;
  input.index = mask;
  const bool wide = wave_size_ == 64;
  load(input, wide, a_.rax);
  store(isa::code::kExecLo, wide, a_.rax);
  wide ? a_.mov(a_.rcx, a_.rax) : a_.mov(a_.ecx, a_.eax);
}

void ScalarCode::emit(const std::vector<Step>& steps, bool scc_is_read) {
  std::vector<bool> read(steps.size());  // the SCC that this one makes
  for (size_t i = steps.size(); i-- > 0;) {
    read[i] = scc_is_read;
    if (steps[i].writes[kSccSlot]) scc_is_read = false;
    if (steps[i].reads[kSccSlot]) scc_is_read = true;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i + 1 < steps.size() && emit_wide_sum(steps[i], steps[i + 1], read[i + 1])) {
      ++i;
    } else {
      emit(steps[i], read[i]);
    }
  }
}

void ScalarCode::set_scc(Scc scc) {
  set_if(a_, scc, a_.r9b);
  a_.movzx(a_.r9d, a_.r9b);
  a_.mov(scc_of(a_), a_.r9d);
  has_scc_ = true;
}

// The low and the high half of one sum or difference. Whoever reads such a pair reads it as a whole, as an
// address, and would wait for two stores of its halves until they are in the cache.
bool ScalarCode::emit_wide_sum(const Step& low, const Step& high, bool scc_is_read) {
  const Op op = low.scalar->op;
  const bool adds = op == Op::s_add_u32 && high.scalar->op == Op::s_addc_u32;
  if (!adds && !(op == Op::s_sub_u32 && high.scalar->op == Op::s_subb_u32)) return false;
  if (high.dst != low.dst + 1 || low.writes_exec || high.writes_exec) return false;
  Input sources[2];
  for (unsigned i = 0; i < 2; ++i) {
    sources[i] = low.src[i];
    const Input& upper = high.src[i];
    if (upper.kind != sources[i].kind) return false;
    if (upper.kind == Input::Kind::kConstant) {
      sources[i].bits = (sources[i].bits & 0xffffffff) | upper.bits << 32;
    } else if (upper.index != sources[i].index + 1 || upper.index == low.dst) {
      return false;
    }
  }
  load(sources[0], true, a_.rax);
  load(sources[1], true, a_.r8);
  adds ? a_.add(a_.rax, a_.r8) : a_.sub(a_.rax, a_.r8);
  store(low.dst, true, a_.rax);  // no flag changes
  know(a_.r8, kNowhere, false);
  know(a_.rax, low.dst, true);
  has_scc_ = false;
  if (scc_is_read) set_scc(Scc::kCarry);
  return true;
}

void ScalarCode::emit(const Step& step, bool scc_is_read) {
  const ScalarOp& op = *step.scalar;
  const bool wide = (op.wide & 0x80) != 0;
  const bool two = op.sources == 2 && !op.saves_exec;
  const bool first_wide = (op.wide & 1) != 0, second_wide = (op.wide & 2) != 0;
  // Not over the other source, which may be in the register already.
  const Known* const second = two ? known(step.src[1], second_wide) : nullptr;
  if (second != nullptr && second->reg.getIdx() == a_.rax.getIdx()) {
    const Known* const first = known(step.src[0], first_wide);
    if (first != nullptr && first->reg.getIdx() == a_.r8.getIdx()) know(a_.r8, kNowhere, false);
    load(step.src[1], second_wide, a_.r8);
    load(step.src[0], first_wide, a_.rax);
  } else {
    load(step.src[0], first_wide, a_.rax);
    if (two) load(step.src[1], second_wide, a_.r8);
  }
  if (op.saves_exec) {
    Input exec;
    exec.kind = Input::Kind::kScalar;
    exec.index = isa::code::kExecLo;
    load(exec, wide, a_.r8);
    store(step.dst, wide, a_.r8);
  }
  if (two || op.saves_exec) know(a_.r8, kNowhere, false);  // which some operations change
  if (op.emit == choose && has_scc_) {
    a_.test(a_.r9d, a_.r9d);
    a_.cmove(a_.rax, a_.r8);
  } else {
    op.emit(a_);
  }
  const bool makes_scc = op.scc != Scc::kKept;
  const Scc scc = scc_is_read ? op.scc : Scc::kKept;
  if (scc == Scc::kNonzero) wide ? a_.test(a_.rax, a_.rax) : a_.test(a_.eax, a_.eax);
  if (op.has_result) {  // no flag changes
    const uint32_t slot = op.saves_exec ? isa::code::kExecLo : step.dst;
    store(slot, wide, a_.rax);
    know(a_.rax, slot, wide);
    if (is_exec(slot, wide) && wide == (wave_size_ == 64)) {
      wide ? a_.mov(a_.rcx, a_.rax) : a_.mov(a_.ecx, a_.eax);
    } else if (step.writes_exec) {
      reload_exec();
    }
  } else {
    know(a_.rax, kNowhere, false);
  }
  if (makes_scc) has_scc_ = false;
  if (scc != Scc::kKept) set_scc(scc);
}

void emit_unless_taken(Assembler& a, Op op, uint32_t wave_size, bool has_scc, Xbyak::Label& target) {
  constexpr auto kNear = Assembler::T_NEAR;
  const auto vcc = static_cast<int>(isa::code::kVccLo * 4);
  switch (op) {
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
      has_scc ? a.test(a.r9d, a.r9d) : a.cmp(scc_of(a), 0);
      op == Op::s_cbranch_scc0 ? a.jne(target, kNear) : a.je(target, kNear);
      break;
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
      if (wave_size == 64) {
        a.cmp(a.qword[a.rdx + vcc], 0);
      } else {
        a.cmp(a.dword[a.rdx + vcc], 0);
      }
      op == Op::s_cbranch_vccz ? a.jne(target, kNear) : a.je(target, kNear);
      break;
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz:
      a.test(a.rcx, a.rcx);
      op == Op::s_cbranch_execz ? a.jne(target, kNear) : a.je(target, kNear);
      break;
    default:
      break;
  }
}

}  // namespace rigel::vgpu::exec::native
