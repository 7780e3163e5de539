// v_cmp, v_cmpx and v_cmp_class. MODE decides about denormals.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

// A comparison that is always or never true.
template <auto Fn, bool ToExec = false>
constexpr Entry constant(Op op) {
  return rare<Fn, ToExec>(op);
}

#define RIGEL_COMPARE(how, name, type, test, expression)                    \
  how<([](type a, type b) { return test(expression); })>(Op::v_cmp_##name), \
      how<([](type a, type b) { return test(expression); }), true>(Op::v_cmpx_##name)

// Comparisons that integers and floating point share. `v` extracts the vector from an operand.
#define RIGEL_COMPARISONS(how, suffix, type, test, v)              \
  RIGEL_COMPARE(how, lt_##suffix, type, test, lt(v(a), v(b))),     \
      RIGEL_COMPARE(how, eq_##suffix, type, test, eq(v(a), v(b))), \
      RIGEL_COMPARE(how, le_##suffix, type, test, le(v(a), v(b))), \
      RIGEL_COMPARE(how, gt_##suffix, type, test, lt(v(b), v(a))), \
      RIGEL_COMPARE(how, ge_##suffix, type, test, le(v(b), v(a)))

#define RIGEL_OF_INTEGERS(how, suffix, type, test, v)                                     \
  RIGEL_COMPARISONS(how, suffix, type, test, v),                                          \
      RIGEL_COMPARE(how, ne_##suffix, type, test, ne(v(a), v(b))),                        \
      RIGEL_COMPARE(constant, f_##suffix, type, test, (ne(v(a), v(a)) & ne(v(b), v(b)))), \
      RIGEL_COMPARE(constant, t_##suffix, type, test, (eq(v(a), v(a)) | eq(v(b), v(b))))

#define RIGEL_OF_FLOATS(how, suffix, type, test, v)                                        \
  RIGEL_COMPARISONS(how, suffix, type, test, v),                                           \
      RIGEL_COMPARE(rare, lg_##suffix, type, test, (lt(v(a), v(b)) | lt(v(b), v(a)))),     \
      RIGEL_COMPARE(rare, o_##suffix, type, test, (eq(v(a), v(a)) & eq(v(b), v(b)))),      \
      RIGEL_COMPARE(rare, u_##suffix, type, test, (ne(v(a), v(a)) | ne(v(b), v(b)))),      \
      RIGEL_COMPARE(rare, nge_##suffix, type, test, (~le(v(b), v(a)))),                    \
      RIGEL_COMPARE(rare, nlg_##suffix, type, test, (~(lt(v(a), v(b)) | lt(v(b), v(a))))), \
      RIGEL_COMPARE(rare, ngt_##suffix, type, test, (~lt(v(b), v(a)))),                    \
      RIGEL_COMPARE(rare, nle_##suffix, type, test, (~le(v(a), v(b)))),                    \
      RIGEL_COMPARE(how, neq_##suffix, type, test, ne(v(a), v(b))),                        \
      RIGEL_COMPARE(rare, nlt_##suffix, type, test, (~lt(v(a), v(b)))),                    \
      RIGEL_COMPARE(constant, f_##suffix, type, test, (lt(v(a), v(b)) & lt(v(b), v(a)))),  \
      RIGEL_COMPARE(constant, tru_##suffix, type, test, (~(lt(v(a), v(b)) & lt(v(b), v(a)))))
#define RIGEL_ITSELF(operand) operand
#define RIGEL_INNER(operand) operand.v

Test class32(F32 a, U32 classes) {
  return {bits_as<I32>(is_in_class<Format32>(bits_as<U32>(a), classes))};
}
Test class16(HalfBits a, U16 classes) {
  return {bits_as<I32>(is_in_class<Format16>(a.v, classes.v))};
}
Test64 class64(F64 a, U32h classes) {
  return {bits_as<I64>(is_in_class<Format64>(bits_as<U64>(a), zero_extended(classes)))};
}

constexpr Entry kTable[] = {
    RIGEL_OF_INTEGERS(hot, u32, U32, Test, RIGEL_ITSELF),
    RIGEL_OF_INTEGERS(hot, i32, I32, Test, RIGEL_ITSELF),
    RIGEL_OF_INTEGERS(hot, u64, U64, Test64, RIGEL_ITSELF),
    RIGEL_OF_INTEGERS(hot, i64, I64, Test64, RIGEL_ITSELF),
    RIGEL_OF_INTEGERS(rare, u16, U16, Test, RIGEL_INNER),
    RIGEL_OF_INTEGERS(rare, i16, I16, Test, RIGEL_INNER),
    RIGEL_OF_FLOATS(hot, f32, F32, Test, RIGEL_ITSELF),
    RIGEL_OF_FLOATS(rare, f64, F64, Test64, RIGEL_ITSELF),
    RIGEL_OF_FLOATS(rare, f16, Half, Test, RIGEL_INNER),
    rare<class32>(Op::v_cmp_class_f32),
    rare<class32, true>(Op::v_cmpx_class_f32),
    rare<class16>(Op::v_cmp_class_f16),
    rare<class16, true>(Op::v_cmpx_class_f16),
    rare<class64>(Op::v_cmp_class_f64),
    rare<class64, true>(Op::v_cmpx_class_f64),
};

}  // namespace

Table compare_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
