// SOP1, SOP2, SOPC and SOPK that compute: one structure for each operation, four handlers from it.
#include <algorithm>
#include <array>
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

/// The immediate of SOPK, which stands for the second source.
enum class Immediate : uint8_t { kNone, kSigned, kUnsigned };

/// An operation: how it is lowered, and its handlers.
struct Operation {
  Op op;
  Immediate immediate = Immediate::kNone;
  uint8_t dst_dwords = 0;
  bool has_src1 = false;
  bool makes_masks = false;
  Handler handlers[4][3] = {};  // bits of the first index: which sources are constants; ToExec
};

template <class F, bool kConstant0, bool kConstant1>
constexpr void add_handlers(Handler (&handlers)[3]) {
  handlers[0] = alu<F, kConstant0, kConstant1, ToExec::kNo>;
  if constexpr (kMakesMasks<F>) {
    handlers[1] = alu<F, kConstant0, kConstant1, ToExec::kAll>;
    handlers[2] = alu<F, kConstant0, kConstant1, ToExec::kLow>;
  }
}

template <class F>
constexpr Operation operation(Op op, Immediate immediate = Immediate::kNone) {
  Operation made{op, immediate};
  if constexpr (!std::is_same_v<typename F::Dst, None>) made.dst_dwords = sizeof(typename F::Dst) / 4;
  made.has_src1 = !std::is_same_v<typename F::Src1, None>;
  made.makes_masks = kMakesMasks<F>;
  add_handlers<F, false, false>(made.handlers[0]);
  add_handlers<F, true, false>(made.handlers[1]);
  add_handlers<F, false, true>(made.handlers[2]);
  add_handlers<F, true, true>(made.handlers[3]);
  return made;
}

constexpr Operation kOperations[] = {
    operation<AddU32>(Op::s_add_u32),
    operation<SubU32>(Op::s_sub_u32),
    operation<AddI32>(Op::s_add_i32),
    operation<SubI32>(Op::s_sub_i32),
    operation<AddcU32>(Op::s_addc_u32),
    operation<SubbU32>(Op::s_subb_u32),
    operation<MinI32>(Op::s_min_i32),
    operation<MinU32>(Op::s_min_u32),
    operation<MaxI32>(Op::s_max_i32),
    operation<MaxU32>(Op::s_max_u32),
    operation<Select<u32>>(Op::s_cselect_b32),
    operation<Select<u64>>(Op::s_cselect_b64),
    operation<And<u32>>(Op::s_and_b32),
    operation<And<u64>>(Op::s_and_b64),
    operation<Or<u32>>(Op::s_or_b32),
    operation<Or<u64>>(Op::s_or_b64),
    operation<Xor<u32>>(Op::s_xor_b32),
    operation<Xor<u64>>(Op::s_xor_b64),
    operation<Andn2<u32>>(Op::s_andn2_b32),
    operation<Andn2<u64>>(Op::s_andn2_b64),
    operation<Orn2<u32>>(Op::s_orn2_b32),
    operation<Orn2<u64>>(Op::s_orn2_b64),
    operation<Nand<u32>>(Op::s_nand_b32),
    operation<Nand<u64>>(Op::s_nand_b64),
    operation<Nor<u32>>(Op::s_nor_b32),
    operation<Nor<u64>>(Op::s_nor_b64),
    operation<Xnor<u32>>(Op::s_xnor_b32),
    operation<Xnor<u64>>(Op::s_xnor_b64),
    operation<LshlB32>(Op::s_lshl_b32),
    operation<LshlB64>(Op::s_lshl_b64),
    operation<LshrB32>(Op::s_lshr_b32),
    operation<LshrB64>(Op::s_lshr_b64),
    operation<AshrI32>(Op::s_ashr_i32),
    operation<AshrI64>(Op::s_ashr_i64),
    operation<BfmB32>(Op::s_bfm_b32),
    operation<BfmB64>(Op::s_bfm_b64),
    operation<MulI32>(Op::s_mul_i32),
    operation<MulHiU32>(Op::s_mul_hi_u32),
    operation<MulHiI32>(Op::s_mul_hi_i32),
    operation<BfeU32>(Op::s_bfe_u32),
    operation<BfeI32>(Op::s_bfe_i32),
    operation<BfeU64>(Op::s_bfe_u64),
    operation<BfeI64>(Op::s_bfe_i64),
    operation<AbsdiffI32>(Op::s_absdiff_i32),
    operation<LshlAdd<1>>(Op::s_lshl1_add_u32),
    operation<LshlAdd<2>>(Op::s_lshl2_add_u32),
    operation<LshlAdd<3>>(Op::s_lshl3_add_u32),
    operation<LshlAdd<4>>(Op::s_lshl4_add_u32),
    operation<PackLl>(Op::s_pack_ll_b32_b16),
    operation<PackLh>(Op::s_pack_lh_b32_b16),
    operation<PackHh>(Op::s_pack_hh_b32_b16),
    operation<Mov<u32>>(Op::s_mov_b32),
    operation<Mov<u64>>(Op::s_mov_b64),
    operation<Not<u32>>(Op::s_not_b32),
    operation<Not<u64>>(Op::s_not_b64),
    operation<Wqm<u32>>(Op::s_wqm_b32),
    operation<Wqm<u64>>(Op::s_wqm_b64),
    operation<Quadmask<u32>>(Op::s_quadmask_b32),
    operation<Quadmask<u64>>(Op::s_quadmask_b64),
    operation<BrevB32>(Op::s_brev_b32),
    operation<BrevB64>(Op::s_brev_b64),
    operation<Bcnt0B32>(Op::s_bcnt0_i32_b32),
    operation<Bcnt0B64>(Op::s_bcnt0_i32_b64),
    operation<Bcnt1B32>(Op::s_bcnt1_i32_b32),
    operation<Bcnt1B64>(Op::s_bcnt1_i32_b64),
    operation<Ff0B32>(Op::s_ff0_i32_b32),
    operation<Ff0B64>(Op::s_ff0_i32_b64),
    operation<Ff1B32>(Op::s_ff1_i32_b32),
    operation<Ff1B64>(Op::s_ff1_i32_b64),
    operation<FlbitB32>(Op::s_flbit_i32_b32),
    operation<FlbitB64>(Op::s_flbit_i32_b64),
    operation<FlbitI32>(Op::s_flbit_i32),
    operation<FlbitI64>(Op::s_flbit_i32_i64),
    operation<SextI8>(Op::s_sext_i32_i8),
    operation<SextI16>(Op::s_sext_i32_i16),
    operation<AbsI32>(Op::s_abs_i32),
    operation<Bitreplicate>(Op::s_bitreplicate_b64_b32),
    operation<CmpEq>(Op::s_cmp_eq_i32),
    operation<CmpEq>(Op::s_cmp_eq_u32),
    operation<CmpLg>(Op::s_cmp_lg_i32),
    operation<CmpLg>(Op::s_cmp_lg_u32),
    operation<CmpGtI>(Op::s_cmp_gt_i32),
    operation<CmpGeI>(Op::s_cmp_ge_i32),
    operation<CmpLtI>(Op::s_cmp_lt_i32),
    operation<CmpLeI>(Op::s_cmp_le_i32),
    operation<CmpGtU>(Op::s_cmp_gt_u32),
    operation<CmpGeU>(Op::s_cmp_ge_u32),
    operation<CmpLtU>(Op::s_cmp_lt_u32),
    operation<CmpLeU>(Op::s_cmp_le_u32),
    operation<CmpEq64>(Op::s_cmp_eq_u64),
    operation<CmpLg64>(Op::s_cmp_lg_u64),
    operation<Bitcmp<u32, 0>>(Op::s_bitcmp0_b32),
    operation<Bitcmp<u32, 1>>(Op::s_bitcmp1_b32),
    operation<Bitcmp<u64, 0>>(Op::s_bitcmp0_b64),
    operation<Bitcmp<u64, 1>>(Op::s_bitcmp1_b64),
    operation<Mov<u32>>(Op::s_movk_i32, Immediate::kSigned),
    operation<AddI32>(Op::s_addk_i32, Immediate::kSigned),
    operation<MulI32>(Op::s_mulk_i32, Immediate::kSigned),
    operation<CmpEq>(Op::s_cmpk_eq_i32, Immediate::kSigned),
    operation<CmpLg>(Op::s_cmpk_lg_i32, Immediate::kSigned),
    operation<CmpGtI>(Op::s_cmpk_gt_i32, Immediate::kSigned),
    operation<CmpGeI>(Op::s_cmpk_ge_i32, Immediate::kSigned),
    operation<CmpLtI>(Op::s_cmpk_lt_i32, Immediate::kSigned),
    operation<CmpLeI>(Op::s_cmpk_le_i32, Immediate::kSigned),
    operation<CmpEq>(Op::s_cmpk_eq_u32, Immediate::kUnsigned),
    operation<CmpLg>(Op::s_cmpk_lg_u32, Immediate::kUnsigned),
    operation<CmpGtU>(Op::s_cmpk_gt_u32, Immediate::kUnsigned),
    operation<CmpGeU>(Op::s_cmpk_ge_u32, Immediate::kUnsigned),
    operation<CmpLtU>(Op::s_cmpk_lt_u32, Immediate::kUnsigned),
    operation<CmpLeU>(Op::s_cmpk_le_u32, Immediate::kUnsigned),
};

// Lowering
// ---------------------------------------------------------------------------------------------------

const Operation* find_operation(Op op) {
  static const std::array<const Operation*, isa::kOpCount> all = [] {
    std::array<const Operation*, isa::kOpCount> made{};
    for (const Operation& operation : kOperations) made[static_cast<size_t>(operation.op)] = &operation;
    return made;
  }();
  return all[static_cast<size_t>(op)];
}

Refusal lower_with(const Operation& operation, const PlaceOf& a, const PlaceOf& b,
                   const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  if (!a.ok || !b.ok) return "a source that this GPU does not have";
  uint32_t dst = scalar_offset(kSinkSlot);
  ToExec to_exec = ToExec::kNo;
  bool refresh = false;
  if (operation.dst_dwords != 0) {
    if (!destination_offset(instruction.dst[0], context, dst) || instruction.dst[0].is_vgpr()) {
      return "a destination that is no scalar register";
    }
    if (touches_exec(dst, operation.dst_dwords)) {
      const uint32_t mask_dwords = context.layout.wave_size / 32;
      if (operation.makes_masks && dst == scalar_offset(kExec) && operation.dst_dwords == mask_dwords) {
        to_exec = mask_dwords == 2 ? ToExec::kAll : ToExec::kLow;
      } else {
        refresh = true;
      }
    }
  }
  const unsigned constants = (a.place.is_constant ? 1u : 0u) | (b.place.is_constant ? 2u : 0u);
  MicroOp& op = out.emit(operation.handlers[constants][static_cast<size_t>(to_exec)]);
  op.src[0] = a.place.source;
  op.src[1] = b.place.source;
  op.dst = dst;
  if (refresh) out.emit(take_exec);
  return {};
}

}  // namespace

int alu_slot(isa::Op op, Handler handler) {
  const Operation* const operation = find_operation(op);
  if (operation == nullptr) return -1;
  const Handler* const all = &operation->handlers[0][0];
  constexpr int kSlots = sizeof operation->handlers / sizeof(Handler);
  const int slot = static_cast<int>(std::find(all, all + kSlots, handler) - all);
  return slot < kSlots ? slot : -1;
}

Refusal lower_alu(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const Operation* const operation = find_operation(instruction.op);
  if (operation == nullptr) return kNotMine;
  PlaceOf b;
  b.place.is_constant = true;
  if (operation->immediate == Immediate::kNone) {
    const PlaceOf a = source_place(instruction.src[0], instruction, context, out, 0);
    if (operation->has_src1) b = source_place(instruction.src[1], instruction, context, out, 2);
    return lower_with(*operation, a, b, instruction, context, out);
  }
  // SOPK: the register, which is read and perhaps written, and the immediate.
  const isa::Operand& reg = instruction.src[0].exists() && !instruction.src[0].is_literal()
                                ? instruction.src[0]
                                : instruction.dst[0];
  b.place.source.constant = operation->immediate == Immediate::kSigned
                                ? static_cast<u32>(i32{static_cast<int16_t>(instruction.simm16)})
                                : instruction.simm16;
  if (!operation->has_src1) return lower_with(*operation, b, b, instruction, context, out);
  return lower_with(*operation, source_place(reg, instruction, context, out, 0), b, instruction, context,
                    out);
}

}  // namespace rigel::vgpu::exec::scalar
