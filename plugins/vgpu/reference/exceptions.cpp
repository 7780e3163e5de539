// Arithmetic exceptions of one lane, by mnemonic and with exact numbers, as exec/exceptions.hpp specifies.
#include <algorithm>
#include <array>
#include <string_view>

#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

enum : uint32_t {
  kNone = 0,
  kInvalid = 1,
  kDenormal = 2,
  kDivision = 4,
  kOverflow = 8,
  kUnderflow = 16,
  kInexact = 32,
  kIntegerDivision = 64
};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Exact negated(Exact x) {
  x.negative = !x.negative;
  return x;
}

bool differ(const Exact& a, const Exact& b) {
  return !is_zero(sum(a, negated(b)));
}

/// Returns the position of the highest set bit.
int top_of(const Exact& x) {
  for (int bit = 255; bit >= 0; --bit) {
    if ((x.magnitude.limb[static_cast<size_t>(bit / 64)] >> bit % 64 & 1) != 0) return bit + x.exponent;
  }
  return 0;
}

uint32_t raised_by_rounding(Format f, const Exact& x, const Rules& rules) {
  if (is_zero(x)) return kNone;
  // As a value between 1 and 2, with an unlimited exponent range.
  const int top = top_of(x);
  const Exact near_one = scaled(x, -top);
  const Rules keeping{rules.round};
  const uint64_t digits = rounded(f, near_one, keeping);
  const int exponent = top + exponent_field(f, digits) - f.bias();
  if (exponent > f.bias()) return kOverflow | kInexact;
  if (exponent < 1 - f.bias()) {
    const uint64_t tiny = rounded(f, x, keeping);
    const bool inexact = differ(exact_of(f, tiny), x);
    return inexact || !rules.keep_results ? kUnderflow | kInexact : kNone;
  }
  return differ(exact_of(f, digits), near_one) ? kInexact : kNone;
}

/// Exceptions of a * b + c, rounded once. No source is a NaN.
uint32_t raised_by_fused(Format f, uint64_t a, uint64_t b, uint64_t c, const Rules& rules) {
  const bool infinite = is_infinite(f, a) || is_infinite(f, b);
  if (infinite && (is_zero(f, a) || is_zero(f, b))) return kInvalid;
  const bool negative = is_negative(f, a) != is_negative(f, b);
  if (infinite && is_infinite(f, c) && is_negative(f, c) != negative) return kInvalid;
  if (infinite || is_infinite(f, c)) return kNone;
  return raised_by_rounding(f, sum(product(exact_of(f, a), exact_of(f, b)), exact_of(f, c)), rules);
}

/// Exceptions of a lane except denormal sources.
class Raised {
 public:
  Raised(Format f, const Rules& rules) : f_(f), rules_(rules) {}

  /// Adds a source. Returns false if it is a NaN, which ends the evaluation.
  bool take(Format f, uint64_t x, const Rules& rules) {
    x = flushed_input(f, x, rules);
    is_nan_ = is_nan_ || is_nan(f, x);
    if (is_signalling(f, x)) flags_ |= kInvalid;
    is_denormal_ = is_denormal_ || is_denormal(f, x);
    return !is_nan_;
  }
  template <class... Sources>
  bool take(Sources... sources) {
    (take(f_, uint64_t{sources}, rules_), ...);
    return !is_nan_;
  }
  void add(uint32_t flags) { flags_ |= flags; }
  bool has_nan() const { return is_nan_; }

  uint32_t all() const {
    const bool counts = is_denormal_ && !is_nan_ && (flags_ & (kInvalid | kDivision)) == 0;
    return flags_ | (counts ? kDenormal : kNone);
  }

 private:
  const Format f_;
  const Rules rules_;
  uint32_t flags_ = kNone;
  bool is_nan_ = false, is_denormal_ = false;
};

/// Exceptions of the operation with this name: "add" for v_add_f32 and v_pk_add_f16.
uint32_t arithmetic(std::string_view operation, Format f, std::array<uint64_t, 3> s, const Lane& lane) {
  Rules rules = lane.state.rules(f);
  const bool mad = operation.starts_with("mad") || operation.starts_with("mac");
  const bool legacy = operation.find("legacy") != std::string_view::npos && f == kSingle;
  if (mad) rules.keep_inputs = rules.keep_results = false;
  Raised raised(f, rules);
  for (uint64_t& x : s) x = flushed_input(f, x, rules);
  const auto [a, b, c] = s;
  const uint64_t zero = (is_negative(f, a) != is_negative(f, b)) ? f.sign_bit() : 0;

  if (operation == "add" || operation == "sub" || operation == "subrev") {
    if (!raised.take(a, b)) return raised.all();
    const uint64_t x = operation == "subrev" ? a ^ f.sign_bit() : a,
                   y = operation == "sub" ? b ^ f.sign_bit() : b;
    raised.add(raised_by_fused(f, x, f.one(), y, rules));
  } else if (operation == "mul" || operation == "mul_legacy") {
    if (legacy && (is_zero(f, a) || is_zero(f, b))) return kNone;
    if (!raised.take(a, b)) return raised.all();
    raised.add(raised_by_fused(f, a, b, zero, rules));
  } else if (operation.starts_with("fma") || mad) {
    const bool nothing = legacy && (is_zero(f, a) || is_zero(f, b));
    if (!(nothing ? raised.take(c) : raised.take(c, a, b))) return raised.all();
    if (nothing) {
      raised.add(raised_by_fused(f, 0, 0, c, rules));
    } else if (!mad) {
      raised.add(raised_by_fused(f, a, b, c, rules));
    } else {
      const uint32_t first = raised_by_fused(f, a, b, zero, rules);
      raised.add(first);
      if ((first & kInvalid) == 0) {
        raised.add(raised_by_fused(f, multiply(f, a, b, rules), f.one(), c, rules));
      }
    }
  }
  return raised.all();
}

uint32_t of_choice(Format f, std::initializer_list<uint64_t> sources, const Lane& lane) {
  Raised raised(f, lane.state.rules(f));
  for (const uint64_t x : sources) raised.take(x);
  return raised.all();
}

uint32_t of_function(std::string_view operation, Format f, uint64_t x, const Lane& lane) {
  const Rules rules = lane.state.rules(f);
  x = flushed_input(f, x, rules);
  if (operation == "rcp_iflag") return is_zero(f, x) ? kIntegerDivision : kNone;
  Raised raised(f, rules);
  if (!raised.take(x)) return raised.all();
  const bool has_pole = operation == "rcp" || operation == "rsq" || operation.starts_with("log");
  const bool has_roots = operation == "rsq" || operation == "sqrt" || operation.starts_with("log");
  if (is_zero(f, x)) {
    raised.add(has_pole ? kDivision : kNone);
  } else if (has_roots && is_negative(f, x)) {
    raised.add(kInvalid);
  } else if ((operation == "sin" || operation == "cos") && is_infinite(f, x)) {
    raised.add(kInvalid);
  }
  return raised.all();
}

uint32_t of_scaling(Format f, uint64_t x, int64_t by, const Lane& lane) {
  const Rules rules = lane.state.rules(f);
  x = flushed_input(f, x, rules);
  Raised raised(f, rules);
  if (!raised.take(x)) return raised.all();
  if (!is_infinite(f, x) && !is_zero(f, x)) {
    const int bounded = static_cast<int>(std::clamp<int64_t>(by, -10'000, 10'000));
    raised.add(raised_by_rounding(f, scaled(exact_of(f, x), bounded), rules));
  }
  return raised.all();
}

uint32_t of_div_fmas(Format f, const Lane& lane) {
  const Rules rules = lane.state.rules(f);
  uint64_t s[3];
  Raised raised(f, rules);
  for (unsigned i = 0; i < 3; ++i) {
    s[i] = flushed_input(f, lane.s[i], rules);
    raised.take(s[i]);
  }
  if (raised.has_nan()) return raised.all();
  raised.add(raised_by_fused(f, s[0], s[1], s[2], rules));
  const uint64_t value = flushed_input(f, fused(f, s[0], s[1], s[2], rules), rules);
  const bool scales = (lane.state.mask_at(isa::code::kVccLo) >> lane.number & 1) != 0;
  if (scales && !is_nan(f, value) && !is_infinite(f, value) && !is_zero(f, value)) {
    const int power = f == kSingle ? 64 : 128;
    const bool up = exponent_field(f, s[2]) > f.bias();
    raised.add(raised_by_rounding(f, scaled(exact_of(f, value), up ? power : -power), rules));
  }
  return raised.all();
}

uint32_t of_div_fixup(Format f, const Lane& lane) {
  const Rules rules = lane.state.rules(f);
  const uint64_t d = flushed_input(f, lane.s[1], rules), n = flushed_input(f, lane.s[2], rules);
  Raised raised(f, rules);
  if (!raised.take(d, n)) return raised.all();
  if ((is_zero(f, d) && is_zero(f, n)) || (is_infinite(f, d) && is_infinite(f, n))) {
    raised.add(kInvalid);
  } else if (is_zero(f, d) && !is_infinite(f, n)) {
    raised.add(kDivision);
  }
  return raised.all();
}

uint32_t of_conversion(Format from, uint64_t x, Format to, const Rules& to_rules, const Lane& lane) {
  const Rules rules = lane.state.rules(from);
  x = flushed_input(from, x, rules);
  Raised raised(from, rules);
  if (!raised.take(x)) return raised.all();
  if (!is_infinite(from, x)) raised.add(raised_by_rounding(to, exact_of(from, x), to_rules));
  return raised.all();
}

uint32_t to_integer_raises(std::string_view how, Format f, uint64_t x, unsigned bits, bool is_signed,
                           const Lane& lane) {
  const Rules rules = lane.state.rules(f);
  x = flushed_input(f, x, rules);
  if (is_nan(f, x) || is_infinite(f, x)) return kInvalid;
  const Exact exact = exact_of(f, x);
  const Exact doubled = sum(scaled(exact, 1), exact_of(how == "rpi" ? 1 : 0, false));
  const Integer whole = rounded_to_integer(scaled(doubled, -1), how == "truncated" ? 3 : 2);
  const bool is_small = (whole.magnitude.limb[1] | whole.magnitude.limb[2] | whole.magnitude.limb[3]) == 0;
  const uint64_t size = whole.magnitude.limb[0], half = uint64_t{1} << (bits - 1);
  const bool fits = is_small && (size == 0 || (is_signed ? size < half + (whole.negative ? 1 : 0)
                                                         : !whole.negative && size < half * 2));
  if (!fits) return kInvalid;
  const uint32_t inexact = differ(exact_of(size, whole.negative), exact) ? kInexact : kNone;
  return inexact | (is_denormal(f, x) ? kDenormal : kNone);
}

uint32_t from_integer_raises(Format f, uint64_t x, unsigned bits, bool is_signed, const Lane& lane) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  x &= mask;
  const bool negative = is_signed && (x >> (bits - 1) & 1) != 0;
  return raised_by_rounding(f, exact_of(negative ? (~x + 1) & mask : x, negative), lane.state.rules(f));
}

uint32_t of_conversion(std::string_view name, const Lane& lane) {
  const State& state = lane.state;
  const uint64_t x = lane.s[0];
  if (name == "v_cvt_f16_f32") return of_conversion(kSingle, x, kHalf, state.half(), lane);
  if (name == "v_cvt_f32_f16") return of_conversion(kHalf, x, kSingle, state.single(), lane);
  if (name == "v_cvt_f32_f64") return of_conversion(kDouble, x, kSingle, state.single(), lane);
  if (name == "v_cvt_f64_f32") return of_conversion(kSingle, x, kDouble, state.other(), lane);
  if (name == "v_cvt_pkrtz_f16_f32") {
    Rules rules = state.half();
    rules.round = 3;
    return of_conversion(kSingle, x, kHalf, rules, lane) |
           of_conversion(kSingle, lane.s[1], kHalf, rules, lane);
  }
  if (name == "v_cvt_i32_f32") return to_integer_raises("truncated", kSingle, x, 32, true, lane);
  if (name == "v_cvt_u32_f32") return to_integer_raises("truncated", kSingle, x, 32, false, lane);
  if (name == "v_cvt_i32_f64") return to_integer_raises("truncated", kDouble, x, 32, true, lane);
  if (name == "v_cvt_u32_f64") return to_integer_raises("truncated", kDouble, x, 32, false, lane);
  if (name == "v_cvt_i16_f16") return to_integer_raises("truncated", kHalf, x, 16, true, lane);
  if (name == "v_cvt_u16_f16") return to_integer_raises("truncated", kHalf, x, 16, false, lane);
  if (name == "v_cvt_flr_i32_f32") return to_integer_raises("floor", kSingle, x, 32, true, lane);
  if (name == "v_cvt_rpi_i32_f32") return to_integer_raises("rpi", kSingle, x, 32, true, lane);
  if (name == "v_cvt_f32_i32") return from_integer_raises(kSingle, x, 32, true, lane);
  if (name == "v_cvt_f32_u32") return from_integer_raises(kSingle, x, 32, false, lane);
  if (name == "v_cvt_f16_i16") return from_integer_raises(kHalf, x, 16, true, lane);
  if (name == "v_cvt_f16_u16") return from_integer_raises(kHalf, x, 16, false, lane);
  return kNone;
}

uint32_t of_mixed(bool is_fused, bool to_half, const Lane& lane) {
  Rules rules = lane.state.single();
  if (!is_fused) rules.keep_inputs = rules.keep_results = false;
  Raised raised(kSingle, rules);
  uint64_t s[3];
  for (unsigned i = 0; i < 3; ++i) {
    const bool is_half = (lane.in.op_sel_hi >> i & 1) != 0;
    uint64_t x = lane.wide[i][0];
    if (is_half) x = x >> ((lane.in.op_sel >> i & 1) != 0 ? 16 : 0) & 0xffff;
    const Format f = is_half ? kHalf : kSingle;
    if ((lane.in.abs >> i & 1) != 0) x &= ~f.sign_bit();
    if ((lane.in.neg >> i & 1) != 0) x ^= f.sign_bit();
    const Rules& mode_rules = is_half ? lane.state.half() : rules;
    raised.take(f, x, mode_rules);
    s[i] = is_half ? converted(kHalf, x, mode_rules, kSingle, Rules{}) : flushed_input(kSingle, x, rules);
  }
  if (raised.has_nan()) return raised.all();
  uint64_t result;
  if (is_fused) {
    raised.add(raised_by_fused(kSingle, s[0], s[1], s[2], rules));
    result = fused(kSingle, s[0], s[1], s[2], rules);
  } else {
    const uint64_t zero = is_negative(kSingle, s[0]) != is_negative(kSingle, s[1]) ? kSingle.sign_bit() : 0;
    const uint64_t part = multiply(kSingle, s[0], s[1], rules);
    raised.add(raised_by_fused(kSingle, s[0], s[1], zero, rules));
    if (!is_nan(kSingle, part)) raised.add(raised_by_fused(kSingle, part, kSingle.one(), s[2], rules));
    result = add(kSingle, part, s[2], rules);
  }
  if (to_half && !is_nan(kSingle, result) && !is_infinite(kSingle, result)) {
    raised.add(raised_by_rounding(kHalf, exact_of(kSingle, result), lane.state.half()));
  }
  return raised.all();
}

}  // namespace

uint32_t exceptions_of(const Lane& lane) {
  if (lane.in.clamp) return kNone;
  const std::string_view name = isa::name(lane.in.op);
  if (name.starts_with("v_cvt_")) return of_conversion(name, lane);
  if (name.starts_with("v_fma_mix")) return of_mixed(true, !name.ends_with("f32"), lane);
  if (name.starts_with("v_mad_mix")) return of_mixed(false, !name.ends_with("f32"), lane);
  const bool is_float = name.ends_with("_f16") || name.ends_with("_f32") || name.ends_with("_f64");
  if (!is_float || !name.starts_with("v_")) return kNone;
  const Format f = name.ends_with("_f16") ? kHalf : name.ends_with("_f32") ? kSingle : kDouble;
  const std::string_view stem = name.substr(2, name.size() - 2 - 4);
  static constexpr std::array<std::string_view, 15> kArithmetic = {
      "add",   "sub", "subrev", "mul",   "mul_legacy", "fma",        "fmac",       "fmaak",
      "fmamk", "mad", "mac",    "madak", "madmk",      "fma_legacy", "fmac_legacy"};
  if (is_one_of(stem, kArithmetic) || stem == "mad_legacy" || stem == "mac_legacy") {
    return arithmetic(stem, f, {lane.s[0], lane.s[1], lane.s[2]}, lane);
  }
  if (stem.starts_with("pk_")) {
    const std::string_view operation = stem.substr(3);
    uint32_t raised = kNone;
    for (const bool upper : {false, true}) {
      std::array<uint64_t, 3> s{};
      for (unsigned i = 0; i < 3; ++i) {
        s[i] = f == kHalf ? packed_half(lane, i, upper) : paired_single(lane, i, upper);
      }
      raised |= operation == "min" || operation == "max" ? of_choice(f, {s[0], s[1]}, lane)
                                                         : arithmetic(operation, f, s, lane);
    }
    return raised;
  }
  if (stem == "min" || stem == "max") return of_choice(f, {lane.s[0], lane.s[1]}, lane);
  if (stem == "min3" || stem == "max3" || stem == "med3") {
    return of_choice(f, {lane.s[0], lane.s[1], lane.s[2]}, lane);
  }
  if (stem.starts_with("cmp_") || stem.starts_with("cmpx_")) {
    const std::string_view condition = stem.substr(stem.find('_') + 1);
    const bool looks = condition != "f" && condition != "tru" && condition != "class";
    return looks ? of_choice(f, {lane.s[0], lane.s[1]}, lane) : kNone;
  }
  static constexpr std::array<std::string_view, 7> kChoices = {"floor", "ceil", "trunc",     "rndne",
                                                               "fract", "exp",  "exp_legacy"};
  if (is_one_of(stem, kChoices)) return of_choice(f, {lane.s[0]}, lane);
  static constexpr std::array<std::string_view, 8> kFunctions = {"rcp", "rcp_iflag",  "rsq", "sqrt",
                                                                 "log", "log_legacy", "sin", "cos"};
  if (is_one_of(stem, kFunctions)) return of_function(stem, f, lane.s[0], lane);
  if (stem == "ldexp") {
    const int64_t by =
        f == kHalf ? int64_t{static_cast<int16_t>(lane.s[1])} : int64_t{static_cast<int32_t>(lane.s[1])};
    return of_scaling(f, lane.s[0], by, lane);
  }
  if (stem == "div_fmas") return of_div_fmas(f, lane);
  if (stem.starts_with("div_fixup")) return of_div_fixup(f, lane);
  return kNone;
}

}  // namespace rigel::vgpu::exec::reference
