// Scalar arithmetic (SOP1, SOP2, SOPC, SOPK): one table line per operation, or per pair of types.
#include <array>
#include <bit>
#include <span>
#include <tuple>
#include <type_traits>

#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec::scalar {
namespace {

using isa::Op;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

// Handlers from functions of the sources
// ---------------------------------------------------------------------------------------------------

/// How an operation sets SCC.
enum Scc : uint8_t {
  kStays,
  kNonzero,  ///< Whether the result is not zero
  kResult,   ///< The result is SCC; there is no other destination.
  kOwn,      ///< The function's last parameter is SCC, by reference.
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class R, class... A>
struct Signature<R (F::*)(A...) const> : Signature<R (*)(A...)> {};
template <class R, class A, class... B>
struct Signature<R (*)(A, B...)> {
  using Result = R;
  using Src0 = A;
  using Src1 = std::tuple_element_t<0, std::tuple<B..., void>>;
};
template <auto Fn>
using SignatureOf = Signature<decltype(Fn)>;
template <auto Fn>
constexpr bool kHasSrc1 = !std::is_void_v<typename SignatureOf<Fn>::Src1>;

template <Scc kScc, auto Fn, bool kConstant0, bool kConstant1>
[[gnu::always_inline]] inline auto result_of(const MicroOp* op, Wave* wave, std::byte* registers) {
  const auto a = read<typename SignatureOf<Fn>::Src0, kConstant0>(op, 0, registers);
  if constexpr (!kHasSrc1<Fn>) {
    return Fn(a);
  } else {
    const auto b = read<typename SignatureOf<Fn>::Src1, kConstant1>(op, 1, registers);
    if constexpr (kScc == kOwn) {
      return Fn(a, b, wave->scc);
    } else {
      return Fn(a, b);
    }
  }
}

enum class ToExec : uint8_t { kNo, kAll, kLow };  // destination: other, EXEC, EXEC_LO of a wave of 32

template <Scc kScc, auto Fn, bool kConstant0, bool kConstant1, ToExec kToExec>
void alu(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto result = result_of<kScc, Fn, kConstant0, kConstant1>(op, wave, registers);
  if constexpr (kScc == kNonzero || kScc == kResult) wave->scc = result != 0;
  if constexpr (kScc != kResult) {
    at<typename SignatureOf<Fn>::Result>(registers, op->dst) = result;
    if constexpr (kToExec != ToExec::kNo) exec = result;
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// The immediate of SOPK, which is the second source.
enum class Immediate : uint8_t { kNone, kSigned, kUnsigned };

/// An operation: its properties and handlers. The kernel compiler finds this type by name.
struct Operation {
  Op op;
  Immediate immediate = Immediate::kNone;
  uint8_t dst_dwords = 0;
  bool has_src1 = false;
  bool makes_masks = false;
  Handler handlers[4][3] = {};  // by bit mask of constant sources, and ToExec
};

template <Scc kScc, auto Fn, ToExec kToExec>
constexpr void add_handlers(Operation& to) {
  constexpr auto kIndex = static_cast<size_t>(kToExec);
  to.handlers[0][kIndex] = alu<kScc, Fn, false, false, kToExec>;
  to.handlers[1][kIndex] = alu<kScc, Fn, true, false, kToExec>;
  to.handlers[2][kIndex] = alu<kScc, Fn, false, true, kToExec>;
  to.handlers[3][kIndex] = alu<kScc, Fn, true, true, kToExec>;
}

template <Scc kScc, auto Fn>
constexpr Operation operation(Op op, Immediate immediate = Immediate::kNone) {
  Operation result{op, immediate};
  if constexpr (kScc != kResult) result.dst_dwords = sizeof(typename SignatureOf<Fn>::Result) / 4;
  result.has_src1 = kHasSrc1<Fn>;
  add_handlers<kScc, Fn, ToExec::kNo>(result);
  return result;
}

/// An operation whose result is often EXEC.
template <Scc kScc, auto Fn>
constexpr Operation makes_masks(Op op, Immediate immediate = Immediate::kNone) {
  Operation result = operation<kScc, Fn>(op, immediate);
  result.makes_masks = true;
  add_handlers<kScc, Fn, ToExec::kAll>(result);
  add_handlers<kScc, Fn, ToExec::kLow>(result);
  return result;
}

// Operations
// ---------------------------------------------------------------------------------------------------

template <class T>
constexpr u32 kBits = sizeof(T) * 8;
// Reduces a shift count modulo the operand size.
template <class T>
constexpr u32 places(u32 count) {
  return count & (kBits<T> - 1);
}
template <class T>
using Signed = std::make_signed_t<T>;

// SCC is the carry.
inline u32 low_half(u64 sum, u32& scc) {
  scc = static_cast<u32>(sum >> 32);
  return static_cast<u32>(sum);
}
inline u32 sub(u32 a, u32 b, u32& scc) {
  scc = b > a;
  return a - b;
}
inline u32 sub_borrow(u32 a, u32 b, u32& scc) {
  const u64 take = u64{b} + scc;
  scc = take > a;
  return static_cast<u32>(a - take);
}
template <unsigned kPlaces>
inline u32 add_shifted(u32 a, u32 b, u32& scc) {
  const u64 sum = (u64{a} << kPlaces) + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

// SCC is the overflow.
inline u32 add_signed(u32 a, u32 b, u32& scc) {
  const u32 sum = a + b;
  scc = (~(a ^ b) & (a ^ sum)) >> 31;
  return sum;
}
inline u32 sub_signed(u32 a, u32 b, u32& scc) {
  const u32 difference = a - b;
  scc = ((a ^ b) & (a ^ difference)) >> 31;
  return difference;
}

// SCC: the result is the first source.
template <class T>
inline T lesser(T a, T b, u32& scc) {
  scc = a < b;
  return a < b ? a : b;
}
template <class T>
inline T greater(T a, T b, u32& scc) {
  scc = a > b;
  return a > b ? a : b;
}

inline u32 magnitude(u32 a) {
  return static_cast<i32>(a) < 0 ? 0 - a : a;
}

// Bit fields: S1 has the offset in its low bits and the width in bits 22 to 16.
template <class T>
inline T field(T value, u32 shape) {
  using Unsigned = std::make_unsigned_t<T>;
  const T shifted = static_cast<T>(value >> places<T>(shape));  // arithmetic for signed types
  const u32 width = shape >> 16 & 0x7f;
  if (width >= kBits<T>) return shifted;
  if (width == 0) return 0;
  const u32 spare = kBits<T> - width;
  return static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted) << spare) >> spare);
}

template <class T>
inline T whole_quads(T a) {  // a quad with any bit set gets all four
  constexpr T kLowest = static_cast<T>(0x1111111111111111u);
  return ((a | a >> 1 | a >> 2 | a >> 3) & kLowest) * 15;
}
template <class T>
inline T quadmask(T a) {  // one bit for each quad with any bit set
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i) result |= static_cast<T>((a >> (i * 4) & 15) != 0) << i;
  return result;
}
template <class T>
inline T reversed(T a) {
  T result = 0;
  for (unsigned i = 0; i < kBits<T>; ++i) result |= (a >> i & 1) << (kBits<T> - 1 - i);
  return result;
}
inline u64 bits_twice(u32 a) {
  u64 result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= u64{a >> i & 1} * 3 << (i * 2);
  return result;
}

// Bit positions; all ones if there is no such bit.
template <class T>
inline u32 lowest_one(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a));
}
template <class T>
inline u32 from_top(T a) {
  return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a));
}

constexpr Operation kOperations[] = {
    operation<kOwn, ([](u32 a, u32 b, u32& scc) { return low_half(u64{a} + b, scc); })>(Op::s_add_u32),
    operation<kOwn, ([](u32 a, u32 b, u32& scc) { return low_half(u64{a} + b + scc, scc); })>(Op::s_addc_u32),
    operation<kOwn, add_shifted<1>>(Op::s_lshl1_add_u32),
    operation<kOwn, add_shifted<2>>(Op::s_lshl2_add_u32),
    operation<kOwn, add_shifted<3>>(Op::s_lshl3_add_u32),
    operation<kOwn, add_shifted<4>>(Op::s_lshl4_add_u32),
    operation<kOwn, sub>(Op::s_sub_u32),
    operation<kOwn, sub_borrow>(Op::s_subb_u32),
    operation<kOwn, add_signed>(Op::s_add_i32),
    operation<kOwn, add_signed>(Op::s_addk_i32, Immediate::kSigned),
    operation<kOwn, sub_signed>(Op::s_sub_i32),
    operation<kOwn, lesser<i32>>(Op::s_min_i32),
    operation<kOwn, lesser<u32>>(Op::s_min_u32),
    operation<kOwn, greater<i32>>(Op::s_max_i32),
    operation<kOwn, greater<u32>>(Op::s_max_u32),
    operation<kNonzero, magnitude>(Op::s_abs_i32),
    operation<kNonzero, ([](u32 a, u32 b) { return magnitude(a - b); })>(Op::s_absdiff_i32),

    operation<kStays, ([](u32 a, u32 b) { return a * b; })>(Op::s_mul_i32),
    operation<kStays, ([](u64 a, u64 b) { return a + b; })>(Op::s_add_u64),
    operation<kStays, ([](u64 a, u64 b) { return a - b; })>(Op::s_sub_u64),
    operation<kStays, ([](u64 a, u64 b) { return a * b; })>(Op::s_mul_u64),
    operation<kStays, ([](u32 a, u32 b) { return a * b; })>(Op::s_mulk_i32, Immediate::kSigned),
    operation<kStays, ([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>(Op::s_mul_hi_u32),
    operation<kStays, ([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })>(Op::s_mul_hi_i32),

    makes_masks<kStays, ([](u32 a) { return a; })>(Op::s_movk_i32, Immediate::kSigned),
    operation<kStays, ([](u32 a, u32 b) { return (a & 0xffff) | b << 16; })>(Op::s_pack_ll_b32_b16),
    operation<kStays, ([](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); })>(Op::s_pack_lh_b32_b16),
    operation<kStays, ([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); })>(Op::s_pack_hh_b32_b16),
    operation<kStays, ([](u32 a, u32 b) { return a >> 16 | b << 16; })>(Op::s_pack_hl_b32_b16),
    operation<kStays, ([](u32 a) { return i32{static_cast<int8_t>(a)}; })>(Op::s_sext_i32_i8),
    operation<kStays, ([](u32 a) { return i32{static_cast<int16_t>(a)}; })>(Op::s_sext_i32_i16),
    operation<kStays, bits_twice>(Op::s_bitreplicate_b64_b32),
    operation<kResult, ([](u64 a, u64 b) { return a == b; })>(Op::s_cmp_eq_u64),
    operation<kResult, ([](u64 a, u64 b) { return a != b; })>(Op::s_cmp_lg_u64),
};

template <class T>
constexpr Operation kBothSizes[] = {
    makes_masks<kStays, ([](T a) { return a; })>(by_size<T>(Op::s_mov_b32, Op::s_mov_b64)),
    makes_masks<kNonzero, ([](T a, T b) { return a & b; })>(by_size<T>(Op::s_and_b32, Op::s_and_b64)),
    makes_masks<kNonzero, ([](T a, T b) { return a | b; })>(by_size<T>(Op::s_or_b32, Op::s_or_b64)),
    makes_masks<kNonzero, ([](T a, T b) { return a ^ b; })>(by_size<T>(Op::s_xor_b32, Op::s_xor_b64)),
    makes_masks<kNonzero, ([](T a, T b) { return a & ~b; })>(by_size<T>(Op::s_andn2_b32, Op::s_andn2_b64)),
    operation<kNonzero, ([](T a, T b) { return a | ~b; })>(by_size<T>(Op::s_orn2_b32, Op::s_orn2_b64)),
    operation<kNonzero, ([](T a, T b) { return ~(a & b); })>(by_size<T>(Op::s_nand_b32, Op::s_nand_b64)),
    operation<kNonzero, ([](T a, T b) { return ~(a | b); })>(by_size<T>(Op::s_nor_b32, Op::s_nor_b64)),
    operation<kNonzero, ([](T a, T b) { return ~(a ^ b); })>(by_size<T>(Op::s_xnor_b32, Op::s_xnor_b64)),
    operation<kNonzero, ([](T a) { return ~a; })>(by_size<T>(Op::s_not_b32, Op::s_not_b64)),
    operation<kOwn, ([](T a, T b, u32& scc) { return scc != 0 ? a : b; })>(
        by_size<T>(Op::s_cselect_b32, Op::s_cselect_b64)),

    operation<kNonzero, ([](T a, u32 b) { return a << places<T>(b); })>(
        by_size<T>(Op::s_lshl_b32, Op::s_lshl_b64)),
    operation<kNonzero, ([](T a, u32 b) { return a >> places<T>(b); })>(
        by_size<T>(Op::s_lshr_b32, Op::s_lshr_b64)),
    operation<kNonzero, ([](Signed<T> a, u32 b) { return a >> places<T>(b); })>(
        by_size<T>(Op::s_ashr_i32, Op::s_ashr_i64)),
    operation<kStays, ([](u32 a, u32 b) { return ((T{1} << places<T>(a)) - 1) << places<T>(b); })>(
        by_size<T>(Op::s_bfm_b32, Op::s_bfm_b64)),
    operation<kNonzero, field<T>>(by_size<T>(Op::s_bfe_u32, Op::s_bfe_u64)),
    operation<kNonzero, field<Signed<T>>>(by_size<T>(Op::s_bfe_i32, Op::s_bfe_i64)),
    operation<kResult, ([](T a, u32 b) { return (a >> places<T>(b) & 1) == 0; })>(
        by_size<T>(Op::s_bitcmp0_b32, Op::s_bitcmp0_b64)),
    operation<kResult, ([](T a, u32 b) { return (a >> places<T>(b) & 1) == 1; })>(
        by_size<T>(Op::s_bitcmp1_b32, Op::s_bitcmp1_b64)),

    operation<kNonzero, whole_quads<T>>(by_size<T>(Op::s_wqm_b32, Op::s_wqm_b64)),
    operation<kNonzero, quadmask<T>>(by_size<T>(Op::s_quadmask_b32, Op::s_quadmask_b64)),
    operation<kStays, reversed<T>>(by_size<T>(Op::s_brev_b32, Op::s_brev_b64)),
    operation<kNonzero, ([](T a) { return static_cast<u32>(std::popcount(~a)); })>(
        by_size<T>(Op::s_bcnt0_i32_b32, Op::s_bcnt0_i32_b64)),
    operation<kNonzero, ([](T a) { return static_cast<u32>(std::popcount(a)); })>(
        by_size<T>(Op::s_bcnt1_i32_b32, Op::s_bcnt1_i32_b64)),
    operation<kStays, ([](T a) { return lowest_one<T>(~a); })>(
        by_size<T>(Op::s_ff0_i32_b32, Op::s_ff0_i32_b64)),
    operation<kStays, lowest_one<T>>(by_size<T>(Op::s_ff1_i32_b32, Op::s_ff1_i32_b64)),
    operation<kStays, from_top<T>>(by_size<T>(Op::s_flbit_i32_b32, Op::s_flbit_i32_b64)),
    operation<kStays, ([](Signed<T> a) { return from_top(static_cast<T>(a < 0 ? ~a : a)); })>(
        by_size<T>(Op::s_flbit_i32, Op::s_flbit_i32_i64)),
};

template <Immediate kImmediate, auto Fn>
constexpr Operation comparison(Op of_i32, Op of_u32, Op with_signed, Op with_unsigned) {
  constexpr bool kSigned = std::is_signed_v<typename SignatureOf<Fn>::Src0>;
  const Op plain = kSigned ? of_i32 : of_u32, immediate = kSigned ? with_signed : with_unsigned;
  return operation<kResult, Fn>(kImmediate == Immediate::kNone ? plain : immediate, kImmediate);
}

// SOPC and SOPK, for i32 and u32.
template <class T, Immediate kImmediate>
constexpr Operation kComparisons[] = {
    comparison<kImmediate, ([](T a, T b) { return a == b; })>(Op::s_cmp_eq_i32, Op::s_cmp_eq_u32,
                                                              Op::s_cmpk_eq_i32, Op::s_cmpk_eq_u32),
    comparison<kImmediate, ([](T a, T b) { return a != b; })>(Op::s_cmp_lg_i32, Op::s_cmp_lg_u32,
                                                              Op::s_cmpk_lg_i32, Op::s_cmpk_lg_u32),
    comparison<kImmediate, ([](T a, T b) { return a > b; })>(Op::s_cmp_gt_i32, Op::s_cmp_gt_u32,
                                                             Op::s_cmpk_gt_i32, Op::s_cmpk_gt_u32),
    comparison<kImmediate, ([](T a, T b) { return a >= b; })>(Op::s_cmp_ge_i32, Op::s_cmp_ge_u32,
                                                              Op::s_cmpk_ge_i32, Op::s_cmpk_ge_u32),
    comparison<kImmediate, ([](T a, T b) { return a < b; })>(Op::s_cmp_lt_i32, Op::s_cmp_lt_u32,
                                                             Op::s_cmpk_lt_i32, Op::s_cmpk_lt_u32),
    comparison<kImmediate, ([](T a, T b) { return a <= b; })>(Op::s_cmp_le_i32, Op::s_cmp_le_u32,
                                                              Op::s_cmpk_le_i32, Op::s_cmpk_le_u32),
};

constexpr std::span<const Operation> kTables[] = {
    kOperations,
    kBothSizes<u32>,
    kBothSizes<u64>,
    kComparisons<i32, Immediate::kNone>,
    kComparisons<u32, Immediate::kNone>,
    kComparisons<i32, Immediate::kSigned>,
    kComparisons<u32, Immediate::kUnsigned>,
};

// Lowering
// ---------------------------------------------------------------------------------------------------

const Operation* find_operation(Op op) {
  static const std::array<const Operation*, isa::kOpCount> all = [] {
    std::array<const Operation*, isa::kOpCount> result{};
    for (const std::span<const Operation> table : kTables) {
      for (const Operation& operation : table) result[static_cast<size_t>(operation.op)] = &operation;
    }
    return result;
  }();
  return all[static_cast<size_t>(op)];
}

Refusal lower_with(const Operation& operation, const PlaceOf& a, const PlaceOf& b,
                   const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  if (!a.ok || !b.ok) return "source operand does not exist on this GPU";
  uint32_t dst = scalar_offset(kSinkSlot);
  ToExec to_exec = ToExec::kNo;
  bool refresh = false;
  if (operation.dst_dwords != 0) {
    if (!destination_offset(instruction.dst[0], context, dst) || instruction.dst[0].is_vgpr()) {
      return "destination is not a scalar register";
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
  const Handler* const handler = &operation.handlers[constants][static_cast<size_t>(to_exec)];
  MicroOp& op = out.emit(*handler);
  out.identify({.kind = KnownOperation::Kind::kAlu,
                .slot = static_cast<uint8_t>(handler - &operation.handlers[0][0]),
                .op = operation.op});
  op.src[0] = a.place.source;
  op.src[1] = b.place.source;
  op.dst = dst;
  if (refresh) emit_take_exec(out);
  return {};
}

}  // namespace

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
  // SOPK has one register, as source or destination or both, and the immediate.
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
