// Rules that derive the affine form of results from that of their sources (lane_shape.hpp). Two users share
// them: find_shapes() needs only the shapes; code generation also computes base and pitch at run time.
//
// The parameter Numbers supplies the run-time values for one instruction:
//
//   Number                            32 or 64 bits, or a condition; unsigned arithmetic
//   Number base(i, part), pitch(…)    of dword `part` of source i
//   Number constant(uint32_t)
//   Number by_operation()             the instruction's result if all sources are uniform
//   Number carry(code)                64 bits: the carry in the lane mask of a scalar
//   void set_carry(code, Number)
//   void set_carry_of_sum(code, x, y)  that of x + y, which is the base of the result
//   Number sum_above(code, x, y)      the sum of the upper halves whose lower halves have this carry
//   bool is_ordered(i, part)          as in Affine
//   is_same (for certain), is_below (unsigned), widened (to 64 bits), widened_signed, narrowed (to 32)
//   shifted_signed (to the right)
//   void guard(Number)                an assumption; if it fails, the interpreter repeats the instruction
//
// shapes.cpp instantiates the rules without numbers, kernel_rules.cpp with LLVM values.
#pragma once

#include <array>
#include <bit>
#include <optional>

#include "plugins/vgpu/compiler/shapes.hpp"

namespace rigel::vgpu::exec::compiler {

/// An affine value.
template <class Number>
struct Affine {
  ShapePointer shape{};  ///< Null: nothing is known.
  Number base{};
  Number pitch{};  ///< If the shape has one.
  /// A guard has ensured that the lanes' values, as unsigned numbers, have the order of their offsets: no
  /// lane wraps past 2^32 unless all do. Only without a pitch.
  bool is_ordered = false;
};

template <class Number>
struct Results {
  Affine<Number> low{}, high{};  ///< Of 64-bit results.
  bool has_carry = false;        ///< The carry is the same in all lanes.
  bool is_low_alone = false;     ///< Only `low` is affine; the rest is computed lane by lane.
};

template <class Numbers>
class Rules {
  using Number = typename Numbers::Number;
  using Affine = compiler::Affine<Number>;
  using Results = compiler::Results<Number>;
  using Op = isa::Op;

 public:
  Rules(const Plan& plan, uint32_t node, unsigned half, const Shapes& shapes, Numbers& numbers)
      : plan_(plan),
        node_(node),
        shapes_(shapes),
        numbers_(numbers),
        in_(half_of(plan.graph.nodes[node].instruction, half)),
        is_half_(half_count(plan.graph.nodes[node].instruction) == 2),
        lanes_(plan.layout.wave_size),
        step_(rule_step(plan, node, half)) {}

  /// `low` has no shape if nothing is known.
  Results results() {
    if (step_ == nullptr) return {};
    if (step_->kind == KnownOperation::Kind::kWave) return {count_below()};
    switch (in_.op) {
      case Op::v_lshlrev_b64:
        return wide_shift_left();
      case Op::v_ashrrev_i64:
        return wide_shift_right();
      case Op::v_mad_u64_u32:
        return wide_product_sum();
      default:
        break;
    }
    if (step_->result_rows != 1 || count() > 3) return {};
    for (unsigned i = 0; i < count(); ++i) {
      if (shape(i) == nullptr) return {};
    }
    if (Results found = arithmetic(); found.low.shape != nullptr) return found;
    if (Affine found = folded(); found.shape != nullptr) return {found};
    if (Affine found = bits(); found.shape != nullptr) return {found};
    if (is_half_) return {};
    return {uniform()};
  }

 private:
  unsigned count() const { return step_->row_sources; }
  ShapePointer shape(unsigned i, unsigned part = 0) const {
    const isa::Operand& operand = in_.src[i];
    if (operand.is_vgpr()) return shapes_.of_active(operand.vgpr() + part);
    // The micro-op has constants and scalars; bits 0 to 2 of `aux`: uniform source, bits 3 to 5: constant
    // source.
    if ((step_->micro->aux >> (3 + i) & 1) != 0)
      return constant_shape(static_cast<uint32_t>(step_->micro->src[i].constant >> (part * 32)));
    return scalar_shape(operand.is_scalar_register() && part == 0 ? shapes_.scalar_zeros[operand.code] : 0);
  }
  Affine source(unsigned i, unsigned part = 0) {
    ShapePointer known_shape = shape(i, part);
    if (known_shape == nullptr) return {};
    const bool has_pitch = known_shape->has_pitch();
    return {std::move(known_shape), numbers_.base(i, part), has_pitch ? numbers_.pitch(i, part) : Number{},
            numbers_.is_ordered(i, part)};
  }
  // Returns the value of a uniform, constant source.
  std::optional<uint32_t> number(unsigned i, unsigned part = 0) const {
    const ShapePointer known_shape = shape(i, part);
    if (known_shape == nullptr || !known_shape->base || !known_shape->is_uniform(lanes_)) return std::nullopt;
    return *known_shape->base + known_shape->offsets[0];
  }
  std::optional<uint32_t> amount(unsigned i) const {
    const auto value = number(i);
    return value ? std::optional(*value & 31) : std::nullopt;
  }
  bool is_uniform(unsigned i, unsigned part = 0) const {
    const ShapePointer known_shape = shape(i, part);
    return known_shape != nullptr && known_shape->is_uniform(lanes_);
  }
  bool is_near(unsigned i, unsigned part = 0) const {
    const ShapePointer known_shape = shape(i, part);
    return known_shape != nullptr && known_shape->is_near(lanes_);
  }

  Number constant(uint32_t value) { return numbers_.constant(value); }
  // The value of a uniform operand.
  Number whole(const Affine& value) { return value.base + value.shape->offsets[0]; }
  Number lane(const Affine& value, unsigned lane_index) {
    const Number offset = value.base + value.shape->offsets[lane_index];
    return value.shape->has_pitch() ? offset + value.pitch * value.shape->pitches[lane_index] : offset;
  }
  // Minimum and maximum; valid if the guard holds.
  std::array<Number, 2> ends(const Affine& value) {
    if (value.shape->has_pitch()) numbers_.guard(Numbers::is_below(value.pitch, Shape::kMostPitch));
    const auto [least, greatest] = *value.shape->extreme_lanes(lanes_);
    return {lane(value, least), lane(value, greatest)};
  }
  // Minimum and maximum as unsigned numbers; guards that either all lanes wrap past 2^32 or none.
  std::array<Number, 2> ends_without_wrap(const Affine& value) {
    if (value.shape->is_uniform(lanes_)) return {lane(value, 0), lane(value, 0)};
    const std::array<Number, 2> found = ends(value);
    if (!value.is_ordered) numbers_.guard(!Numbers::is_below(found[1], found[0]));
    return found;
  }
  // Halves of one number of 64 bits, so that LLVM recognises it when the halves are joined again.
  Number joined(Number low, Number high) { return Numbers::widened(low) | Numbers::widened(high) << 32; }
  bool is_base(const Affine& value, Number first) { return Numbers::is_same(value.base, first); }
  // Marks a result as ordered if it keeps the order of the source's offsets. A left shift may drop bits of
  // some offsets.
  Affine ordered_as(const Affine& source, Affine result) {
    result.is_ordered = result.shape != nullptr && !result.shape->has_pitch() &&
                        result.shape->extreme_lanes(lanes_) == source.shape->extreme_lanes(lanes_);
    return result;
  }
  // Guards that both ends have the same bits from `bit` on. One comparison, so that LLVM can merge several
  // guards.
  void guard_same_from(unsigned bit, const std::array<Number, 2>& ends) {
    numbers_.guard(Numbers::is_below(ends[0] ^ ends[1], 1u << bit));
  }
  // Guards that both ends are equal.
  Number same(Number first, Number last) {
    numbers_.guard(first == last);
    return first;
  }

  // Building blocks of the rules. They return nothing if a source is unknown or the result is not affine.

  Affine affine(ShapePointer shape, Number base, Number pitch = {}) {
    if (shape->base) base = constant(*shape->base);
    return {std::move(shape), base, pitch};
  }
  Affine sum(const Affine& a, const Affine& b) {
    ShapePointer shape = sum_of(a.shape, b.shape);
    if (shape == nullptr) return {};
    return affine(std::move(shape), a.base + b.base, a.shape->has_pitch() ? a.pitch : b.pitch);
  }
  Affine difference(const Affine& a, const Affine& b) {
    ShapePointer shape = difference_of(a.shape, b.shape);
    if (shape == nullptr) return {};
    return affine(std::move(shape), a.base - b.base, a.pitch);
  }
  Affine shifted(const Affine& a, uint32_t by) {
    if (a.shape == nullptr) return {};
    return affine(shifted_left(a.shape, by), a.base << by, a.shape->has_pitch() ? a.pitch << by : Number{});
  }
  Affine product(const Affine& a, const Affine& b) {
    if (a.shape == nullptr || b.shape == nullptr) return {};
    ShapePointer shape = product_of(*a.shape, *b.shape, lanes_);
    if (shape == nullptr) return {};
    const bool a_is_factor = a.shape->is_uniform(lanes_);
    const Affine &factor = a_is_factor ? a : b, &other = a_is_factor ? b : a;
    const Number by = whole(factor);
    const Number base = other.shape->is_uniform(lanes_) ? whole(other) : other.base;
    // With a row number as the other factor, the uniform factor becomes the pitch; an existing pitch is
    // scaled.
    Number pitch{};
    if (shape->has_pitch()) pitch = other.shape->has_pitch() ? by * other.pitch : by;
    return affine(std::move(shape), base * by, pitch);
  }
  // A bitwise operation on values whose offsets and bases have no bits in common.
  template <class F>
  Affine bitwise(const Affine& a, const Affine& b, F f, bool keeps_zeros = false) {
    const unsigned bits = offset_bits(*a.shape, *b.shape, lanes_);
    ShapePointer shape = bitwise_of(*a.shape, *b.shape, bits, f, keeps_zeros);
    if (shape == nullptr) return {};
    const auto above = [&](const Affine& value) {
      return value.shape->base ? constant((*value.shape->base + value.shape->offsets[0]) & ~low_bits(bits))
                               : value.base;
    };
    return affine(std::move(shape), f(above(a), above(b)));
  }

  Results arithmetic() {
    switch (without_dead_carry(plan_, node_, in_)) {
      case Op::v_mov_b32:
        return {source(0)};
      case Op::v_add_u32:
        return {sum(source(0), source(1))};
      case Op::v_add3_u32:
        return {sum(sum(source(0), source(1)), source(2))};
      case Op::v_sub_u32:
        return {difference(source(0), source(1))};
      case Op::v_subrev_u32:
        return {difference(source(1), source(0))};
      case Op::v_lshl_add_u32:
        if (const auto by = amount(1)) return {sum(shifted(source(0), *by), source(2))};
        return {};
      case Op::v_add_lshl_u32:
        if (const auto by = amount(2)) return {shifted(sum(source(0), source(1)), *by)};
        return {};
      case Op::v_lshlrev_b32:
        if (const auto by = amount(0)) return {shifted(source(1), *by)};
        return {};
      case Op::v_mul_lo_u32:
        return {product(source(0), source(1))};
      case Op::v_mad_u32_u24: {
        if (!is_uniform(0) || !is_uniform(1) || all_known()) return {};
        const Number factors = (whole(source(0)) & 0xffffffu) * (whole(source(1)) & 0xffffffu);
        return {sum({scalar_shape(), factors}, source(2))};
      }
      case Op::v_ashrrev_i32: {
        if (const auto by = amount(0); !by || *by != 31 || !is_near(1)) return {};
        const auto both = ends(source(1));
        guard_same_from(31, both);
        return {{scalar_shape(), Numbers::shifted_signed(both[0], 31)}};
      }
      case Op::v_add_co_u32:
        return sum_with_carry();
      case Op::v_addc_u32:
        return sum_of_carry();
      default:
        return {};
    }
  }

  bool makes_carry() const { return in_.dst[1].is_scalar_register() || in_.dst[1].is_null(); }

  // An addition whose carry is the same in all lanes.
  Results sum_with_carry() {
    if (!makes_carry() || !is_near(0) || !is_near(1)) return {};
    const ShapePointer shape = sum_of(this->shape(0), this->shape(1));
    if (shape == nullptr || !shape->is_near(lanes_)) return {};
    const Affine a = source(0), b = source(1);
    const std::array<Number, 2> x = ends_without_wrap(a), y = ends_without_wrap(b);
    // The ends are near each other. If the sums of both ends keep their order, all lanes carry or none does.
    numbers_.guard(!Numbers::is_below(x[1] + y[1], x[0] + y[0]));
    if (is_base(a, x[0]) && is_base(b, y[0])) {
      numbers_.set_carry_of_sum(in_.dst[1].code, x[0], y[0]);
    } else {
      numbers_.set_carry(in_.dst[1].code, (Numbers::widened(x[0]) + Numbers::widened(y[0])) >> 32);
    }
    const Affine low = sum(a, b);
    return {.low = ordered_as(low, low), .has_carry = true};
  }

  // An addition with a uniform carry-in. The carry-out is uniform or dead.
  Results sum_of_carry() {
    const bool is_known = in_.src[2].is_scalar_register() && shapes_.uniform_masks[in_.src[2].code];
    if (!makes_carry() || !is_known) return {};
    if (is_uniform(0) && is_uniform(1) && is_dead(plan_, node_, in_.dst[1])) {
      const Number above = numbers_.sum_above(in_.src[2].code, whole(source(0)), whole(source(1)));
      return {.low = {scalar_shape(), above}};
    }
    if (is_uniform(0) && is_uniform(1)) {
      const Number total = Numbers::widened(whole(source(0))) + Numbers::widened(whole(source(1))) +
                           numbers_.carry(in_.src[2].code);
      numbers_.set_carry(in_.dst[1].code, total >> 32);
      return {.low = {scalar_shape(), Numbers::narrowed(total)}, .has_carry = true};
    }
    const Affine a = source(0), b = source(1);
    if (!is_dead(plan_, node_, in_.dst[1]) || a.shape->has_pitch() || b.shape->has_pitch()) return {};
    return {{offsets_alone(*sum_of(a.shape, b.shape)),
             a.base + b.base + Numbers::narrowed(numbers_.carry(in_.src[2].code))}};
  }

  // v_mbcnt of all lanes: the lane number plus a source.
  Affine count_below() {
    if (number(0) != ~0u) return {};
    return sum({lanes_below(step_->micro->imm), constant(0)}, source(1));
  }

  // The upper half of the result is uniform.
  Results wide_shift_left() {
    const auto by = number(0);
    if (!by || (*by & 63) == 0 || (*by & 63) > 31 || !is_near(1) || !is_uniform(1, 1)) return {};
    const uint32_t shift = *by & 63;
    const Affine low = source(1);
    const auto both = ends(low);
    guard_same_from(32 - shift, both);
    const Number wide = joined(both[0], whole(source(1, 1))) << shift;
    Affine low_half = shifted(low, shift);
    if (is_base(low, both[0])) low_half.base = Numbers::narrowed(wide);
    return {ordered_as(low, affine(low_half.shape, low_half.base, low_half.pitch)),
            {scalar_shape(), Numbers::narrowed(wide >> 32)}};
  }

  // An index in the upper half becomes an element's offset, as in v_ashrrev_i64 v[..], 30, v[..]. The
  // result's upper half is uniform.
  Results wide_shift_right() {
    const auto by = number(0);
    if (!by || (*by & 63) == 0 || (*by & 63) > 31 || !in_.src[1].is_vgpr() || number(1) != 0u ||
        !is_near(1, 1))
      return {};
    const uint32_t shift = *by & 63;
    const Affine index = source(1, 1);
    const auto both = ends(index);
    guard_same_from(shift, both);
    const Number wide = Numbers::widened_signed(both[0]) << (32 - shift);
    Affine low_half = shifted(index, 32 - shift);
    if (is_base(index, both[0])) low_half.base = Numbers::narrowed(wide);
    return {ordered_as(index, affine(low_half.shape, low_half.base, low_half.pitch)),
            {scalar_shape(), Numbers::narrowed(wide >> 32)}};
  }

  Results wide_product_sum() {
    const ShapePointer a = shape(0), b = shape(1), low = shape(2), high = shape(2, 1);
    if (a == nullptr || b == nullptr || low == nullptr) return {};
    const bool has_product = product_of(*a, *b, lanes_) != nullptr;
    const auto low_half = [&] { return sum(product(source(0), source(1)), source(2)); };
    if (has_product && is_low_half_alone(plan_, node_)) return {low_half()};
    const bool is_wide = is_uniform(0) && is_uniform(1) && is_uniform(2, 1) && low->is_near(lanes_) &&
                         !low->has_pitch() && makes_carry();
    if (is_wide) return wide_sum();
    if (has_product) return {.low = low_half(), .is_low_alone = true};
    return {};
  }

  // Factors and upper halves are uniform.
  Results wide_sum() {
    const Affine low = source(2);
    const Number factors = Numbers::widened(whole(source(0))) * Numbers::widened(whole(source(1)));
    const Number upper = Numbers::widened(whole(source(2, 1))) << 32;
    const auto [least, greatest] = ends_without_wrap(low);
    const Number first = factors + (upper | Numbers::widened(least)),
                 last = factors + (upper | Numbers::widened(greatest));
    // Guards come before set_carry(): the carry may replace a factor.
    const Number carry = same(Numbers::is_below(first, factors), Numbers::is_below(last, factors));
    const Number sum_above = same(first >> 32, last >> 32);
    numbers_.set_carry(in_.dst[1].code, Numbers::widened(carry));
    const Number base =
        is_base(low, least) ? Numbers::narrowed(first) : Numbers::narrowed(factors) + low.base;
    return {.low = ordered_as(low, {offsets_alone(*low.shape), base}),
            .high = {scalar_shape(), Numbers::narrowed(sum_above)},
            .has_carry = true};
  }

  bool all_known() const {
    for (unsigned i = 0; i < count(); ++i) {
      if (!shape(i)->base) return false;
    }
    return true;
  }
  Affine folded() {
    if (!all_known()) return {};
    std::array<ShapePointer, 3> sources{};
    for (unsigned i = 0; i < count(); ++i) sources[i] = shape(i);
    return {folded_shape(in_.op, sources)};
  }

  Affine shifted_down(unsigned i, std::optional<uint32_t> by) {
    ShapePointer right = by ? shifted_right(*shape(i), *by, lanes_) : nullptr;
    if (right == nullptr) return {};
    return {std::move(right), source(i).base >> *by};
  }

  Affine bits() {
    const auto either = [](auto x, auto y) { return x | y; };
    const auto both = [](auto x, auto y) { return x & y; };
    switch (in_.op) {
      case Op::v_and_b32:
        return bitwise(source(0), source(1), both, true);
      case Op::v_or_b32:
        return bitwise(source(0), source(1), either);
      case Op::v_xor_b32:
        return bitwise(source(0), source(1), [](auto x, auto y) { return x ^ y; });
      case Op::v_lshl_or_b32:
        if (const auto by = amount(1)) return bitwise(shifted(source(0), *by), source(2), either);
        return {};
      case Op::v_lshrrev_b32:
        return shifted_down(1, amount(0));
      case Op::v_bfe_u32: {  // An id of packed work-item ids.
        const auto width = amount(2);
        const Affine down = width ? shifted_down(0, amount(1)) : Affine{};
        if (down.shape == nullptr) return {};
        return bitwise(down, {constant_shape(low_bits(*width)), constant(low_bits(*width))}, both, true);
      }
      default:
        return {};
    }
  }

  Affine uniform() {
    if (step_->has_test || step_->sources != count() || step_->reads_destination) return {};
    for (unsigned i = 0; i < count(); ++i) {
      if (!is_uniform(i) || in_.src[i].dwords > 1) return {};
    }
    return {scalar_shape(), numbers_.by_operation()};
  }

  const Plan& plan_;
  const uint32_t node_;
  const Shapes& shapes_;
  Numbers& numbers_;
  const isa::Instruction in_;
  const bool is_half_;
  const unsigned lanes_;
  const Step* const step_;
};

}  // namespace rigel::vgpu::exec::compiler
