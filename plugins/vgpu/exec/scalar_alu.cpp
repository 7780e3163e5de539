// SOP1, SOP2, SOPC and SOPK that compute: one structure for each operation, four handlers from it.
#include <bit>
#include <type_traits>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {
namespace {

using isa::Op;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

struct None {};

// The operations: run(a, b, scc) gives the result; scc comes in as SCC is and goes out as it becomes. An
// operation that needs the destination's old value takes it as a third source.
// ---------------------------------------------------------------------------------------------------

#define RIGEL_SCALAR2(name, D, A, B, ...) \
  struct name {                           \
    using Dst = D;                        \
    using Src0 = A;                       \
    using Src1 = B;                       \
    static D run(A a, B b, u32& scc) {    \
      (void)scc;                          \
      __VA_ARGS__                         \
    }                                     \
  };
#define RIGEL_SCALAR1(name, D, A, ...)  \
  struct name {                         \
    using Dst = D;                      \
    using Src0 = A;                     \
    using Src1 = None;                  \
    static D run(A a, None, u32& scc) { \
      (void)scc;                        \
      __VA_ARGS__                       \
    }                                   \
  };

template <class T>
inline T nonzero(T value, u32& scc) {
  scc = value != 0;
  return value;
}

RIGEL_SCALAR2(AddU32, u32, u32, u32, const u64 sum = u64{a} + b; scc = static_cast<u32>(sum >> 32);
              return static_cast<u32>(sum);)
RIGEL_SCALAR2(SubU32, u32, u32, u32, scc = b > a; return a - b;)
RIGEL_SCALAR2(AddI32, u32, u32, u32, const u32 sum = a + b; scc = (~(a ^ b) & (a ^ sum)) >> 31; return sum;)
RIGEL_SCALAR2(SubI32, u32, u32, u32, const u32 d = a - b; scc = ((a ^ b) & (a ^ d)) >> 31; return d;)
RIGEL_SCALAR2(AddcU32, u32, u32, u32, const u64 sum = u64{a} + b + scc; scc = static_cast<u32>(sum >> 32);
              return static_cast<u32>(sum);)
RIGEL_SCALAR2(SubbU32, u32, u32, u32, const u64 take = u64{b} + scc; scc = take > a;
              return static_cast<u32>(a - take);)
RIGEL_SCALAR2(MinI32, u32, i32, i32, scc = a < b; return static_cast<u32>(a < b ? a : b);)
RIGEL_SCALAR2(MinU32, u32, u32, u32, scc = a < b; return a < b ? a : b;)
RIGEL_SCALAR2(MaxI32, u32, i32, i32, scc = a > b; return static_cast<u32>(a > b ? a : b);)
RIGEL_SCALAR2(MaxU32, u32, u32, u32, scc = a > b; return a > b ? a : b;)
template <class T>
struct Select {
  using Dst = T;
  using Src0 = T;
  using Src1 = T;
  static T run(T a, T b, u32& scc) { return scc != 0 ? a : b; }
};

#define RIGEL_BITWISE(name, expression)                                      \
  template <class T>                                                         \
  struct name {                                                              \
    using Dst = T;                                                           \
    using Src0 = T;                                                          \
    using Src1 = T;                                                          \
    static T run(T a, T b, u32& scc) { return nonzero<T>(expression, scc); } \
  };
RIGEL_BITWISE(And, a& b)
RIGEL_BITWISE(Or, a | b)
RIGEL_BITWISE(Xor, a ^ b)
RIGEL_BITWISE(Andn2, a & ~b)
RIGEL_BITWISE(Orn2, a | ~b)
RIGEL_BITWISE(Nand, ~(a& b))
RIGEL_BITWISE(Nor, ~(a | b))
RIGEL_BITWISE(Xnor, ~(a ^ b))
#undef RIGEL_BITWISE

RIGEL_SCALAR2(LshlB32, u32, u32, u32, return nonzero(a << (b & 31), scc);)
RIGEL_SCALAR2(LshlB64, u64, u64, u32, return nonzero(a << (b & 63), scc);)
RIGEL_SCALAR2(LshrB32, u32, u32, u32, return nonzero(a >> (b & 31), scc);)
RIGEL_SCALAR2(LshrB64, u64, u64, u32, return nonzero(a >> (b & 63), scc);)
RIGEL_SCALAR2(AshrI32, u32, i32, u32, return nonzero(static_cast<u32>(a >> (b & 31)), scc);)
RIGEL_SCALAR2(AshrI64, u64, i64, u32, return nonzero(static_cast<u64>(a >> (b & 63)), scc);)
RIGEL_SCALAR2(BfmB32, u32, u32, u32, return ((1u << (a & 31)) - 1) << (b & 31);)
RIGEL_SCALAR2(BfmB64, u64, u32, u32, return ((u64{1} << (a & 63)) - 1) << (b & 63);)
RIGEL_SCALAR2(MulI32, u32, u32, u32, return a * b;)
RIGEL_SCALAR2(MulHiU32, u32, u32, u32, return static_cast<u32>(u64{a} * b >> 32);)
RIGEL_SCALAR2(MulHiI32, u32, i32, i32, return static_cast<u32>(i64{a} * b >> 32);)

// Bit fields: the offset in the low bits of S1, the width in bits 22 … 16.
template <class T>
inline T field(T value, u32 shape, u32& scc) {
  constexpr u32 kBits = sizeof(T) * 8;
  using Unsigned = std::make_unsigned_t<T>;
  const T shifted = static_cast<T>(value >> (shape & (kBits - 1)));  // arithmetic for signed types
  const u32 width = shape >> 16 & 0x7f;
  T result = 0;
  if (width >= kBits) {
    result = shifted;
  } else if (width != 0) {
    const u32 spare = kBits - width;
    result = static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted) << spare) >> spare);
  }
  scc = result != 0;
  return result;
}
RIGEL_SCALAR2(BfeU32, u32, u32, u32, return field(a, b, scc);)
RIGEL_SCALAR2(BfeI32, u32, i32, u32, return static_cast<u32>(field(a, b, scc));)
RIGEL_SCALAR2(BfeU64, u64, u64, u32, return field(a, b, scc);)
RIGEL_SCALAR2(BfeI64, u64, i64, u32, return static_cast<u64>(field(a, b, scc));)

RIGEL_SCALAR2(AbsdiffI32, u32, u32, u32, const u32 d = a - b;
              return nonzero(static_cast<i32>(d) < 0 ? 0 - d : d, scc);)
template <unsigned kShift>
struct LshlAdd {
  using Dst = u32;
  using Src0 = u32;
  using Src1 = u32;
  static u32 run(u32 a, u32 b, u32& scc) {
    const u64 sum = (u64{a} << kShift) + b;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
  }
};
RIGEL_SCALAR2(PackLl, u32, u32, u32, return (a & 0xffff) | b << 16;)
RIGEL_SCALAR2(PackLh, u32, u32, u32, return (a & 0xffff) | (b & 0xffff0000);)
RIGEL_SCALAR2(PackHh, u32, u32, u32, return a >> 16 | (b & 0xffff0000);)

template <class T>
struct Mov {
  using Dst = T;
  using Src0 = T;
  using Src1 = None;
  static T run(T a, None, u32&) { return a; }
};
template <class T>
struct Not {
  using Dst = T;
  using Src0 = T;
  using Src1 = None;
  static T run(T a, None, u32& scc) { return nonzero<T>(~a, scc); }
};
template <class T>
struct Wqm {  // a quad with any bit gets all four
  using Dst = T;
  using Src0 = T;
  using Src1 = None;
  static T run(T a, None, u32& scc) {
    constexpr T kLowest = static_cast<T>(0x1111111111111111u);
    const T any = (a | a >> 1 | a >> 2 | a >> 3) & kLowest;
    return nonzero<T>(any * 15, scc);
  }
};
template <class T>
struct Quadmask {  // one bit for each quad with any bit
  using Dst = T;
  using Src0 = T;
  using Src1 = None;
  static T run(T a, None, u32& scc) {
    T result = 0;
    for (unsigned i = 0; i < sizeof(T) * 2; ++i) result |= static_cast<T>((a >> (i * 4) & 15) != 0) << i;
    return nonzero<T>(result, scc);
  }
};
template <class T>
inline T reversed(T a) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result |= (a >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return result;
}
RIGEL_SCALAR1(BrevB32, u32, u32, return reversed(a);)
RIGEL_SCALAR1(BrevB64, u64, u64, return reversed(a);)
RIGEL_SCALAR1(Bcnt0B32, u32, u32, return nonzero<u32>(static_cast<u32>(std::popcount(~a)), scc);)
RIGEL_SCALAR1(Bcnt0B64, u32, u64, return nonzero<u32>(static_cast<u32>(std::popcount(~a)), scc);)
RIGEL_SCALAR1(Bcnt1B32, u32, u32, return nonzero<u32>(static_cast<u32>(std::popcount(a)), scc);)
RIGEL_SCALAR1(Bcnt1B64, u32, u64, return nonzero<u32>(static_cast<u32>(std::popcount(a)), scc);)
// Positions; all ones if there is no such bit.
template <class T>
inline u32 lowest_one(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a));
}
template <class T>
inline u32 from_top(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a));
}
RIGEL_SCALAR1(Ff0B32, u32, u32, return lowest_one(~a);)
RIGEL_SCALAR1(Ff0B64, u32, u64, return lowest_one(~a);)
RIGEL_SCALAR1(Ff1B32, u32, u32, return lowest_one(a);)
RIGEL_SCALAR1(Ff1B64, u32, u64, return lowest_one(a);)
RIGEL_SCALAR1(FlbitB32, u32, u32, return from_top(a);)
RIGEL_SCALAR1(FlbitB64, u32, u64, return from_top(a);)
RIGEL_SCALAR1(FlbitI32, u32, i32, return from_top(static_cast<u32>(a < 0 ? ~a : a));)
RIGEL_SCALAR1(FlbitI64, u32, i64, return from_top(static_cast<u64>(a < 0 ? ~a : a));)
RIGEL_SCALAR1(SextI8, u32, u32, return static_cast<u32>(i32{static_cast<int8_t>(a)});)
RIGEL_SCALAR1(SextI16, u32, u32, return static_cast<u32>(i32{static_cast<int16_t>(a)});)
RIGEL_SCALAR1(AbsI32, u32, u32, return nonzero(static_cast<i32>(a) < 0 ? 0 - a : a, scc);)
RIGEL_SCALAR1(Bitreplicate, u64, u32, u64 result = 0;
              for (unsigned i = 0; i < 32; ++i) result |= u64{a >> i & 1} * 3 << (i * 2); return result;)

#define RIGEL_COMPARE(name, T, expression) \
  struct name {                            \
    using Dst = None;                      \
    using Src0 = T;                        \
    using Src1 = T;                        \
    static None run(T a, T b, u32& scc) {  \
      scc = (expression) ? 1 : 0;          \
      return {};                           \
    }                                      \
  };
RIGEL_COMPARE(CmpEq, u32, a == b)
RIGEL_COMPARE(CmpLg, u32, a != b)
RIGEL_COMPARE(CmpGtI, i32, a > b)
RIGEL_COMPARE(CmpGeI, i32, a >= b)
RIGEL_COMPARE(CmpLtI, i32, a < b)
RIGEL_COMPARE(CmpLeI, i32, a <= b)
RIGEL_COMPARE(CmpGtU, u32, a > b)
RIGEL_COMPARE(CmpGeU, u32, a >= b)
RIGEL_COMPARE(CmpLtU, u32, a < b)
RIGEL_COMPARE(CmpLeU, u32, a <= b)
RIGEL_COMPARE(CmpEq64, u64, a == b)
RIGEL_COMPARE(CmpLg64, u64, a != b)
#undef RIGEL_COMPARE
template <class T, u32 kBit>
struct Bitcmp {
  using Dst = None;
  using Src0 = T;
  using Src1 = u32;
  static None run(T a, u32 b, u32& scc) {
    scc = (a >> (b & (sizeof(T) * 8 - 1)) & 1) == kBit;
    return {};
  }
};

// Handlers
// ---------------------------------------------------------------------------------------------------

enum class ToExec : uint8_t { kNo, kAll, kLow };  // the destination is EXEC, or EXEC_LO of a wave of 32

template <class F, bool kConstant0, bool kConstant1, ToExec kToExec>
void alu(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  u32 scc = wave->scc;
  const auto a = read<typename F::Src0, kConstant0>(op, 0, registers);
  typename F::Src1 b{};
  if constexpr (!std::is_same_v<typename F::Src1, None>) {
    b = read<typename F::Src1, kConstant1>(op, 1, registers);
  }
  const auto result = F::run(a, b, scc);
  wave->scc = scc;
  if constexpr (!std::is_same_v<typename F::Dst, None>) {
    at<typename F::Dst>(registers, op->dst) = result;
    if constexpr (kToExec != ToExec::kNo) exec = result;
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Operations whose result is often EXEC.
template <class F>
constexpr bool kMakesMasks = false;
template <>
constexpr bool kMakesMasks<Mov<u32>> = true;
template <>
constexpr bool kMakesMasks<Mov<u64>> = true;
template <>
constexpr bool kMakesMasks<And<u32>> = true;
template <>
constexpr bool kMakesMasks<And<u64>> = true;
template <>
constexpr bool kMakesMasks<Or<u32>> = true;
template <>
constexpr bool kMakesMasks<Or<u64>> = true;
template <>
constexpr bool kMakesMasks<Xor<u32>> = true;
template <>
constexpr bool kMakesMasks<Xor<u64>> = true;
template <>
constexpr bool kMakesMasks<Andn2<u32>> = true;
template <>
constexpr bool kMakesMasks<Andn2<u64>> = true;

template <class F, bool kConstant0, bool kConstant1>
Handler handler_of(ToExec to_exec) {
  if constexpr (kMakesMasks<F>) {
    if (to_exec == ToExec::kAll) return alu<F, kConstant0, kConstant1, ToExec::kAll>;
    if (to_exec == ToExec::kLow) return alu<F, kConstant0, kConstant1, ToExec::kLow>;
  }
  return alu<F, kConstant0, kConstant1, ToExec::kNo>;
}

template <class F>
Handler handler_of(bool constant0, bool constant1, ToExec to_exec) {
  if (constant0) {
    return constant1 ? handler_of<F, true, true>(to_exec) : handler_of<F, true, false>(to_exec);
  }
  return constant1 ? handler_of<F, false, true>(to_exec) : handler_of<F, false, false>(to_exec);
}

// Lowering
// ---------------------------------------------------------------------------------------------------

struct Lowering {
  const isa::Instruction& instruction;
  LoweringContext& context;
  Emitter& out;

  template <class F>
  Refusal operator()() const {
    constexpr bool kHasSrc1 = !std::is_same_v<typename F::Src1, None>;
    PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
    PlaceOf b;
    b.place.is_constant = true;
    if (kHasSrc1) b = source_place(instruction.src[1], instruction, context, out, 2);
    return with<F>(a, b);
  }

  template <class F>
  Refusal with(const PlaceOf& a, const PlaceOf& b) const {
    if (!a.ok || !b.ok) return "a source that this GPU does not have";
    uint32_t dst = scalar_offset(kSinkSlot);
    ToExec to_exec = ToExec::kNo;
    bool refresh = false;
    if constexpr (!std::is_same_v<typename F::Dst, None>) {
      constexpr uint32_t kDwords = sizeof(typename F::Dst) / 4;
      if (!destination_offset(instruction.dst[0], context, dst) || instruction.dst[0].is_vgpr()) {
        return "a destination that is no scalar register";
      }
      if (touches_exec(dst, kDwords)) {
        const uint32_t mask_dwords = context.layout.wave_size / 32;
        if (kMakesMasks<F> && dst == scalar_offset(kExec) && kDwords == mask_dwords) {
          to_exec = kDwords == 2 ? ToExec::kAll : ToExec::kLow;
        } else {
          refresh = true;
        }
      }
    }
    MicroOp& op = out.emit(handler_of<F>(a.place.is_constant, b.place.is_constant, to_exec));
    op.src[0] = a.place.source;
    op.src[1] = b.place.source;
    op.dst = dst;
    if (refresh) out.emit(take_exec);
    return {};
  }

  /// SOPK: the register, which is read and perhaps written, and the immediate.
  template <class F>
  Refusal immediate(bool sign_extended) const {
    const isa::Operand& reg = instruction.src[0].exists() && !instruction.src[0].is_literal()
                                  ? instruction.src[0]
                                  : instruction.dst[0];
    PlaceOf b;
    b.place.is_constant = true;
    b.place.source.constant =
        sign_extended ? static_cast<u32>(i32{static_cast<int16_t>(instruction.simm16)}) : instruction.simm16;
    if constexpr (std::is_same_v<typename F::Src1, None>) return with<F>(b, b);
    return with<F>(source_place(reg, instruction, context, out, 0), b);
  }
};

}  // namespace

Refusal lower_alu(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const Lowering lower{instruction, context, out};
  switch (instruction.op) {
    case Op::s_add_u32:
      return lower.operator()<AddU32>();
    case Op::s_sub_u32:
      return lower.operator()<SubU32>();
    case Op::s_add_i32:
      return lower.operator()<AddI32>();
    case Op::s_sub_i32:
      return lower.operator()<SubI32>();
    case Op::s_addc_u32:
      return lower.operator()<AddcU32>();
    case Op::s_subb_u32:
      return lower.operator()<SubbU32>();
    case Op::s_min_i32:
      return lower.operator()<MinI32>();
    case Op::s_min_u32:
      return lower.operator()<MinU32>();
    case Op::s_max_i32:
      return lower.operator()<MaxI32>();
    case Op::s_max_u32:
      return lower.operator()<MaxU32>();
    case Op::s_cselect_b32:
      return lower.operator()<Select<u32>>();
    case Op::s_cselect_b64:
      return lower.operator()<Select<u64>>();
    case Op::s_and_b32:
      return lower.operator()<And<u32>>();
    case Op::s_and_b64:
      return lower.operator()<And<u64>>();
    case Op::s_or_b32:
      return lower.operator()<Or<u32>>();
    case Op::s_or_b64:
      return lower.operator()<Or<u64>>();
    case Op::s_xor_b32:
      return lower.operator()<Xor<u32>>();
    case Op::s_xor_b64:
      return lower.operator()<Xor<u64>>();
    case Op::s_andn2_b32:
      return lower.operator()<Andn2<u32>>();
    case Op::s_andn2_b64:
      return lower.operator()<Andn2<u64>>();
    case Op::s_orn2_b32:
      return lower.operator()<Orn2<u32>>();
    case Op::s_orn2_b64:
      return lower.operator()<Orn2<u64>>();
    case Op::s_nand_b32:
      return lower.operator()<Nand<u32>>();
    case Op::s_nand_b64:
      return lower.operator()<Nand<u64>>();
    case Op::s_nor_b32:
      return lower.operator()<Nor<u32>>();
    case Op::s_nor_b64:
      return lower.operator()<Nor<u64>>();
    case Op::s_xnor_b32:
      return lower.operator()<Xnor<u32>>();
    case Op::s_xnor_b64:
      return lower.operator()<Xnor<u64>>();
    case Op::s_lshl_b32:
      return lower.operator()<LshlB32>();
    case Op::s_lshl_b64:
      return lower.operator()<LshlB64>();
    case Op::s_lshr_b32:
      return lower.operator()<LshrB32>();
    case Op::s_lshr_b64:
      return lower.operator()<LshrB64>();
    case Op::s_ashr_i32:
      return lower.operator()<AshrI32>();
    case Op::s_ashr_i64:
      return lower.operator()<AshrI64>();
    case Op::s_bfm_b32:
      return lower.operator()<BfmB32>();
    case Op::s_bfm_b64:
      return lower.operator()<BfmB64>();
    case Op::s_mul_i32:
      return lower.operator()<MulI32>();
    case Op::s_mul_hi_u32:
      return lower.operator()<MulHiU32>();
    case Op::s_mul_hi_i32:
      return lower.operator()<MulHiI32>();
    case Op::s_bfe_u32:
      return lower.operator()<BfeU32>();
    case Op::s_bfe_i32:
      return lower.operator()<BfeI32>();
    case Op::s_bfe_u64:
      return lower.operator()<BfeU64>();
    case Op::s_bfe_i64:
      return lower.operator()<BfeI64>();
    case Op::s_absdiff_i32:
      return lower.operator()<AbsdiffI32>();
    case Op::s_lshl1_add_u32:
      return lower.operator()<LshlAdd<1>>();
    case Op::s_lshl2_add_u32:
      return lower.operator()<LshlAdd<2>>();
    case Op::s_lshl3_add_u32:
      return lower.operator()<LshlAdd<3>>();
    case Op::s_lshl4_add_u32:
      return lower.operator()<LshlAdd<4>>();
    case Op::s_pack_ll_b32_b16:
      return lower.operator()<PackLl>();
    case Op::s_pack_lh_b32_b16:
      return lower.operator()<PackLh>();
    case Op::s_pack_hh_b32_b16:
      return lower.operator()<PackHh>();

    case Op::s_mov_b32:
      return lower.operator()<Mov<u32>>();
    case Op::s_mov_b64:
      return lower.operator()<Mov<u64>>();
    case Op::s_not_b32:
      return lower.operator()<Not<u32>>();
    case Op::s_not_b64:
      return lower.operator()<Not<u64>>();
    case Op::s_wqm_b32:
      return lower.operator()<Wqm<u32>>();
    case Op::s_wqm_b64:
      return lower.operator()<Wqm<u64>>();
    case Op::s_quadmask_b32:
      return lower.operator()<Quadmask<u32>>();
    case Op::s_quadmask_b64:
      return lower.operator()<Quadmask<u64>>();
    case Op::s_brev_b32:
      return lower.operator()<BrevB32>();
    case Op::s_brev_b64:
      return lower.operator()<BrevB64>();
    case Op::s_bcnt0_i32_b32:
      return lower.operator()<Bcnt0B32>();
    case Op::s_bcnt0_i32_b64:
      return lower.operator()<Bcnt0B64>();
    case Op::s_bcnt1_i32_b32:
      return lower.operator()<Bcnt1B32>();
    case Op::s_bcnt1_i32_b64:
      return lower.operator()<Bcnt1B64>();
    case Op::s_ff0_i32_b32:
      return lower.operator()<Ff0B32>();
    case Op::s_ff0_i32_b64:
      return lower.operator()<Ff0B64>();
    case Op::s_ff1_i32_b32:
      return lower.operator()<Ff1B32>();
    case Op::s_ff1_i32_b64:
      return lower.operator()<Ff1B64>();
    case Op::s_flbit_i32_b32:
      return lower.operator()<FlbitB32>();
    case Op::s_flbit_i32_b64:
      return lower.operator()<FlbitB64>();
    case Op::s_flbit_i32:
      return lower.operator()<FlbitI32>();
    case Op::s_flbit_i32_i64:
      return lower.operator()<FlbitI64>();
    case Op::s_sext_i32_i8:
      return lower.operator()<SextI8>();
    case Op::s_sext_i32_i16:
      return lower.operator()<SextI16>();
    case Op::s_abs_i32:
      return lower.operator()<AbsI32>();
    case Op::s_bitreplicate_b64_b32:
      return lower.operator()<Bitreplicate>();

    case Op::s_cmp_eq_i32:
    case Op::s_cmp_eq_u32:
      return lower.operator()<CmpEq>();
    case Op::s_cmp_lg_i32:
    case Op::s_cmp_lg_u32:
      return lower.operator()<CmpLg>();
    case Op::s_cmp_gt_i32:
      return lower.operator()<CmpGtI>();
    case Op::s_cmp_ge_i32:
      return lower.operator()<CmpGeI>();
    case Op::s_cmp_lt_i32:
      return lower.operator()<CmpLtI>();
    case Op::s_cmp_le_i32:
      return lower.operator()<CmpLeI>();
    case Op::s_cmp_gt_u32:
      return lower.operator()<CmpGtU>();
    case Op::s_cmp_ge_u32:
      return lower.operator()<CmpGeU>();
    case Op::s_cmp_lt_u32:
      return lower.operator()<CmpLtU>();
    case Op::s_cmp_le_u32:
      return lower.operator()<CmpLeU>();
    case Op::s_cmp_eq_u64:
      return lower.operator()<CmpEq64>();
    case Op::s_cmp_lg_u64:
      return lower.operator()<CmpLg64>();
    case Op::s_bitcmp0_b32:
      return lower.operator()<Bitcmp<u32, 0>>();
    case Op::s_bitcmp1_b32:
      return lower.operator()<Bitcmp<u32, 1>>();
    case Op::s_bitcmp0_b64:
      return lower.operator()<Bitcmp<u64, 0>>();
    case Op::s_bitcmp1_b64:
      return lower.operator()<Bitcmp<u64, 1>>();

    case Op::s_movk_i32:
      return lower.immediate<Mov<u32>>(true);
    case Op::s_addk_i32:
      return lower.immediate<AddI32>(true);
    case Op::s_mulk_i32:
      return lower.immediate<MulI32>(true);
    case Op::s_cmpk_eq_i32:
      return lower.immediate<CmpEq>(true);
    case Op::s_cmpk_lg_i32:
      return lower.immediate<CmpLg>(true);
    case Op::s_cmpk_gt_i32:
      return lower.immediate<CmpGtI>(true);
    case Op::s_cmpk_ge_i32:
      return lower.immediate<CmpGeI>(true);
    case Op::s_cmpk_lt_i32:
      return lower.immediate<CmpLtI>(true);
    case Op::s_cmpk_le_i32:
      return lower.immediate<CmpLeI>(true);
    case Op::s_cmpk_eq_u32:
      return lower.immediate<CmpEq>(false);
    case Op::s_cmpk_lg_u32:
      return lower.immediate<CmpLg>(false);
    case Op::s_cmpk_gt_u32:
      return lower.immediate<CmpGtU>(false);
    case Op::s_cmpk_ge_u32:
      return lower.immediate<CmpGeU>(false);
    case Op::s_cmpk_lt_u32:
      return lower.immediate<CmpLtU>(false);
    case Op::s_cmpk_le_u32:
      return lower.immediate<CmpLeU>(false);
    default:
      return kNotMine;
  }
}

}  // namespace rigel::vgpu::exec::scalar
