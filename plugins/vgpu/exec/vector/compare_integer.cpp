// v_cmp and v_cmpx of integers.
#include "plugins/vgpu/exec/vector/handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

// Both forms of a comparison.
#define RIGEL_COMPARE(how, name, type, test, expression)                    \
  how<([](type a, type b) { return test(expression); })>(Op::v_cmp_##name), \
      how<([](type a, type b) { return test(expression); }), true>(Op::v_cmpx_##name)

// The six comparisons and the two constants of a type. `v` gets the vector out of an operand.
#define RIGEL_COMPARISONS(how, suffix, type, test, v)                                 \
  RIGEL_COMPARE(how, lt_##suffix, type, test, lt(v(a), v(b))),                        \
      RIGEL_COMPARE(how, eq_##suffix, type, test, eq(v(a), v(b))),                    \
      RIGEL_COMPARE(how, le_##suffix, type, test, le(v(a), v(b))),                    \
      RIGEL_COMPARE(how, gt_##suffix, type, test, lt(v(b), v(a))),                    \
      RIGEL_COMPARE(how, ne_##suffix, type, test, ne(v(a), v(b))),                    \
      RIGEL_COMPARE(how, ge_##suffix, type, test, le(v(b), v(a))),                    \
      RIGEL_COMPARE(rare, f_##suffix, type, test, (ne(v(a), v(a)) & ne(v(b), v(b)))), \
      RIGEL_COMPARE(rare, t_##suffix, type, test, (eq(v(a), v(a)) | eq(v(b), v(b))))
#define RIGEL_ITSELF(operand) operand
#define RIGEL_INNER(operand) operand.v

constexpr Entry kTable[] = {
    RIGEL_COMPARISONS(hot, u32, U32, Test, RIGEL_ITSELF),
    RIGEL_COMPARISONS(hot, i32, I32, Test, RIGEL_ITSELF),
    RIGEL_COMPARISONS(hot, u64, U64, Test64, RIGEL_ITSELF),
    RIGEL_COMPARISONS(hot, i64, I64, Test64, RIGEL_ITSELF),
    RIGEL_COMPARISONS(rare, u16, U16, Test, RIGEL_INNER),
    RIGEL_COMPARISONS(rare, i16, I16, Test, RIGEL_INNER),
};

}  // namespace

Table compare_integer_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
