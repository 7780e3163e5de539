#include "plugins/vgpu/exec/exceptions.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/vector/operand_fields.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

// The host's flags
// ---------------------------------------------------------------------------------------------------

namespace {

using namespace exception;

/// Operations of the host in a rounding mode, with what they raise. Results that are denormal are kept or
/// flushed; sources are as they are. The compiler moves nothing past it that is volatile.
class Unit {
 public:
  Unit(uint32_t round, bool keep_results)
      : before_(get_mxcsr()), clear_(mxcsr_of(round | 0x10 | (keep_results ? 0x20 : 0))) {
    set_mxcsr(clear_);
#if !defined(__x86_64__)
    std::feclearexcept(FE_ALL_EXCEPT);
#endif
  }
  ~Unit() {
    set_mxcsr(before_);
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  /// Since it was made. MXCSR has them in the same order.
  uint32_t raised() const {
#if defined(__x86_64__)
    return get_mxcsr() & (kInvalid | kDivisionByZero | kOverflow | kUnderflow | kInexact);
#else
    return (std::fetestexcept(FE_INVALID) != 0 ? kInvalid : 0) |
           (std::fetestexcept(FE_DIVBYZERO) != 0 ? kDivisionByZero : 0) |
           (std::fetestexcept(FE_OVERFLOW) != 0 ? kOverflow : 0) |
           (std::fetestexcept(FE_UNDERFLOW) != 0 ? kUnderflow : 0) |
           (std::fetestexcept(FE_INEXACT) != 0 ? kInexact : 0);
#endif
  }

 private:
  const uint32_t before_, clear_;
};

template <class F>
F sum_of(F a, F b) {
  const volatile F x = a, y = b;
  const volatile F result = x + y;
  return result;
}
template <class F>
F product_of(F a, F b) {
  const volatile F x = a, y = b;
  const volatile F result = x * y;
  return result;
}
template <class F>
F fused_of(F a, F b, F c) {
  const volatile F x = a, y = b, z = c;
  const volatile F result = std::fma(x, y, z);
  return result;
}
float narrowed(double a) {
  const volatile double x = a;
  const volatile float result = static_cast<float>(x);
  return result;
}

// Numbers
// ---------------------------------------------------------------------------------------------------

enum class FloatFormat : uint8_t { kHalf, kSingle, kDouble };

FloatFormat format_of(isa::Type type) {
  return type == isa::Type::kF64   ? FloatFormat::kDouble
         : type == isa::Type::kF32 ? FloatFormat::kSingle
                                   : FloatFormat::kHalf;
}
bool is_short(isa::Type type) {
  return type == isa::Type::kF16 || type == isa::Type::kI16 || type == isa::Type::kU16;
}
bool is_signed(isa::Type integer) {
  return integer == isa::Type::kI16 || integer == isa::Type::kI32;
}

template <FloatFormat F>
struct Traits;
template <>
struct Traits<FloatFormat::kHalf> {
  using Number = double;  // Halves are computed with in doubles, exactly or nearly.
  static constexpr int kFraction = 10, kBits = 16;
};
template <>
struct Traits<FloatFormat::kSingle> {
  using Number = float;
  static constexpr int kFraction = 23, kBits = 32;
};
template <>
struct Traits<FloatFormat::kDouble> {
  using Number = double;
  static constexpr int kFraction = 52, kBits = 64;
};

/// A source in the format that the operation has it in.
template <FloatFormat F>
struct Value {
  using T = Traits<F>;
  static constexpr uint64_t kSign = uint64_t{1} << (T::kBits - 1);
  static constexpr uint64_t kNormal = uint64_t{1} << T::kFraction;  ///< The least one.
  static constexpr uint64_t kInfinity = (kSign - 1) & ~(kNormal - 1);
  static constexpr uint64_t kQuiet = kNormal >> 1;

  uint64_t bits = 0;

  uint64_t magnitude() const { return bits & (kSign - 1); }
  bool is_negative() const { return (bits & kSign) != 0; }
  bool is_zero() const { return magnitude() == 0; }
  bool is_denormal() const { return !is_zero() && magnitude() < kNormal; }
  bool is_infinite() const { return magnitude() == kInfinity; }
  bool is_nan() const { return magnitude() > kInfinity; }
  bool is_signaling() const { return is_nan() && (bits & kQuiet) == 0; }
  int exponent() const { return static_cast<int>(magnitude() >> T::kFraction); }
  void flush() {
    if (is_denormal()) bits &= kSign;
  }

  /// Of what is no NaN.
  typename T::Number number() const {
    if constexpr (F == FloatFormat::kSingle) {
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    } else if constexpr (F == FloatFormat::kDouble) {
      return std::bit_cast<double>(bits);
    } else {
      const int exponent_field = exponent();
      const auto fraction = static_cast<double>(bits & (kNormal - 1));
      const double size = is_infinite()         ? HUGE_VAL
                          : exponent_field == 0 ? fraction * 0x1p-24
                                                : std::ldexp(fraction + 1024, exponent_field - 25);
      return is_negative() ? -size : size;
    }
  }
};

/// What MODE says of a format.
struct Mode {
  uint32_t round;
  bool keep_inputs, keep_results;
  bool stays_finite;  ///< Halves that overflow become the largest.
};
Mode mode_of(uint32_t mode, FloatFormat format) {
  const uint32_t denormals = mode >> (format == FloatFormat::kSingle ? 4 : 6);
  return {mode >> (format == FloatFormat::kSingle ? 0 : 2) & 3, (denormals & 1) != 0, (denormals & 2) != 0,
          (mode & kFiniteHalves) != 0};
}

struct Rounded {
  double value;
  uint32_t raised;
};

/// x as a half. `more`: the exact value is a little further from zero.
Rounded to_half(double x, bool more, const Mode& mode) {
  if (x == 0 || std::isinf(x)) return {x, 0};
  const bool negative = std::signbit(x);
  int exponent = 0;
  const auto digits = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  bool inexact = false;
  const auto without = [&](int drop) -> uint64_t {
    const uint64_t kept = drop > 63 ? 0 : digits >> drop, lost = drop > 63 ? digits : digits - (kept << drop);
    const uint64_t middle = drop > 63 ? ~uint64_t{0} : uint64_t{1} << (drop - 1);
    inexact = lost != 0 || more;
    bool up = (mode.round == 1 && !negative && inexact) || (mode.round == 2 && negative && inexact);
    if (mode.round == 0) up = lost > middle || (lost == middle && (more || (kept & 1) != 0));
    return kept + (up ? 1 : 0);
  };
  const auto with_sign = [negative](double size) { return negative ? -size : size; };
  uint64_t kept = without(42);
  if (exponent + (kept == 2048 ? 1 : 0) < -13) {  // tiny: below 2^-14
    kept = without(29 - exponent);
    const double size = static_cast<double>(kept) * 0x1p-24;
    if (!mode.keep_results && kept < 1024) return {with_sign(0), kUnderflow | kInexact};
    return {with_sign(size), inexact ? kUnderflow | kInexact : 0};
  }
  const double size = std::ldexp(static_cast<double>(kept), exponent - 11);
  if (size > 65504) {
    const bool inward = mode.round == 3 || mode.round == (negative ? 1u : 2u);
    return {with_sign(mode.stays_finite || inward ? 65504 : HUGE_VAL), kOverflow | kInexact};
  }
  return {with_sign(size), inexact ? kInexact : 0};
}

/// a + b of doubles, toward zero, as a half.
Rounded sum_to_half(double a, double b, const Mode& mode) {
  const double sum = sum_of(a, b);
  if (std::isinf(sum)) return {sum, 0};
  const double from_b = sum_of(sum, -a);
  const double error = sum_of(sum_of(a, -sum_of(sum, -from_b)), sum_of(b, -from_b));
  if (error == 0) return to_half(sum, false, mode);
  const bool inward = std::signbit(error) != std::signbit(sum);
  return to_half(inward ? std::nextafter(sum, 0.0) : sum, true, mode);
}

bool is_invalid_sum(double a, double b) {
  return std::isinf(a) && std::isinf(b) && std::signbit(a) != std::signbit(b);
}

// One lane
// ---------------------------------------------------------------------------------------------------

struct LaneSources {
  uint64_t bits[3] = {};
  bool scales_back = false;  ///< v_div_fmas: its bit of VCC.
};

/// a * b + c in one rounding or two, of what are no NaNs.
template <FloatFormat F>
uint32_t multiplied_and_added(typename Traits<F>::Number a, typename Traits<F>::Number b,
                              typename Traits<F>::Number c, bool is_fused, const Mode& mode,
                              typename Traits<F>::Number* result = nullptr) {
  if constexpr (F == FloatFormat::kHalf) {
    (void)result;
    if ((std::isinf(a) && b == 0) || (std::isinf(b) && a == 0)) return kInvalid;
    const double product = product_of(a, b);  // exact
    if (is_fused) return is_invalid_sum(product, c) ? kInvalid : sum_to_half(product, c, mode).raised;
    const Rounded first = to_half(product, false, mode);
    return first.raised |
           (is_invalid_sum(first.value, c) ? kInvalid : sum_to_half(first.value, c, mode).raised);
  } else {
    const Unit unit(mode.round, mode.keep_results);
    const auto value = is_fused ? fused_of(a, b, c) : sum_of(product_of(a, b), c);
    if (result != nullptr) *result = value;
    return unit.raised();
  }
}

/// To an integer, and whether that is the number.
uint32_t integer_raises(double x, Raises how, isa::Type to) {
  if (std::isinf(x)) return kInvalid;
  double whole = how == Raises::kTruncation ? std::trunc(x) : std::floor(x);
  if (how == Raises::kNearestUp && x - whole >= 0.5) whole += 1;
  const double limit = std::ldexp(1.0, (is_short(to) ? 16 : 32) - (is_signed(to) ? 1 : 0));
  if (whole >= limit || whole < (is_signed(to) ? -limit : 0)) return kInvalid;
  return whole != x ? kInexact : 0;
}

/// The scaling of v_ldexp.
template <FloatFormat F>
uint32_t scaling_raises(Value<F> x, int64_t by, const Mode& mode) {
  if (x.is_infinite() || x.is_zero()) return 0;
  const auto steps = static_cast<int>(std::clamp<int64_t>(by, -4000, 4000));
  if constexpr (F == FloatFormat::kHalf) {
    return to_half(std::ldexp(x.number(), std::clamp(steps, -60, 60)), false, mode).raised;
  } else if constexpr (F == FloatFormat::kSingle) {
    const double scaled = std::ldexp(static_cast<double>(x.number()), std::clamp(steps, -300, 300));
    const Unit unit(mode.round, mode.keep_results);
    narrowed(scaled);
    return unit.raised();
  } else {
    int exponent = 0;
    const double mantissa = std::frexp(x.number(), &exponent);
    const int total = std::clamp(exponent + steps, -1200, 1100), first = std::clamp(total, -1021, 1000);
    const double part = std::ldexp(mantissa, first), rest = std::ldexp(1.0, total - first);
    const Unit unit(mode.round, mode.keep_results);
    product_of(part, rest);
    return unit.raised();
  }
}

template <FloatFormat F>
uint32_t div_fmas_raises(const Value<F> (&s)[3], bool scales_back, const Mode& mode) {
  if constexpr (F == FloatFormat::kHalf) {
    return 0;  // There is none.
  } else {
    typename Traits<F>::Number whole{};
    const uint32_t raised =
        multiplied_and_added<F>(s[0].number(), s[1].number(), s[2].number(), true, mode, &whole);
    if (!scales_back || std::isnan(whole)) return raised;
    constexpr int kStep = F == FloatFormat::kSingle ? 64 : 128;
    constexpr int kBias = F == FloatFormat::kSingle ? 127 : 1023;
    Value<F> value;
    if constexpr (F == FloatFormat::kSingle) {
      value.bits = std::bit_cast<uint32_t>(whole);
    } else {
      value.bits = std::bit_cast<uint64_t>(whole);
    }
    if (!mode.keep_inputs) value.flush();
    return raised | scaling_raises(value, s[2].exponent() > kBias ? kStep : -kStep, mode);
  }
}

/// Of an operation whose sources are no NaNs and have been flushed if MODE flushes them.
template <FloatFormat F>
uint32_t operation_raises(const ExceptionRule& rule, const Value<F> (&s)[3], const LaneSources& sources,
                          Mode mode) {
  using Number = typename Traits<F>::Number;
  const auto sum = [&](const Value<F>& a, const Value<F>& b, bool negates) {
    const Number x = a.number(), y = negates ? -b.number() : b.number();
    return multiplied_and_added<F>(x, Number{1}, y, true, mode);
  };
  const bool product_is_zero = s[0].is_zero() || s[1].is_zero();
  switch (rule.raises) {
    case Raises::kSum:
      return sum(s[0], s[1], false);
    case Raises::kDifference:
      return sum(s[0], s[1], true);
    case Raises::kReverseDifference:
      return sum(s[1], s[0], true);
    case Raises::kLegacyProduct:
      if (product_is_zero) return 0;
      [[fallthrough]];
    case Raises::kProduct: {
      const Number a = s[0].number(), b = s[1].number();
      if constexpr (F == FloatFormat::kHalf) {
        return multiplied_and_added<F>(a, b, 0, true, mode);
      } else {
        const Unit unit(mode.round, mode.keep_results);
        product_of(a, b);
        return unit.raised();
      }
    }
    case Raises::kLegacyFused:
      if (product_is_zero) return multiplied_and_added<F>(0, 0, s[2].number(), true, mode);
      [[fallthrough]];
    case Raises::kFused:
      return multiplied_and_added<F>(s[0].number(), s[1].number(), s[2].number(), true, mode);
    case Raises::kLegacyMultiplyAdd:
      if (product_is_zero) return multiplied_and_added<F>(0, 0, s[2].number(), false, mode);
      [[fallthrough]];
    case Raises::kMultiplyAdd:
      return multiplied_and_added<F>(s[0].number(), s[1].number(), s[2].number(), false, mode);
    case Raises::kScaled:
      return scaling_raises(s[0],
                            F == FloatFormat::kHalf ? int64_t{static_cast<int16_t>(sources.bits[1])}
                                                    : int64_t{static_cast<int32_t>(sources.bits[1])},
                            mode);
    case Raises::kReciprocal:
      return s[0].is_zero() ? kDivisionByZero : 0;
    case Raises::kReciprocalRoot:
    case Raises::kLogarithm:
      return s[0].is_zero() ? kDivisionByZero : s[0].is_negative() ? kInvalid : 0;
    case Raises::kRoot:
      return !s[0].is_zero() && s[0].is_negative() ? kInvalid : 0;
    case Raises::kAngle:
      return s[0].is_infinite() ? kInvalid : 0;
    case Raises::kDivFmas:
      return div_fmas_raises(s, sources.scales_back, mode);
    case Raises::kDivFixup:
      if ((s[1].is_zero() && s[2].is_zero()) || (s[1].is_infinite() && s[2].is_infinite())) return kInvalid;
      return s[1].is_zero() && !s[2].is_infinite() ? kDivisionByZero : 0;
    case Raises::kTruncation:
    case Raises::kFloor:
    case Raises::kNearestUp:
      return integer_raises(static_cast<double>(s[0].number()), rule.raises, rule.result);
    default:
      return 0;
  }
}

uint32_t conversion_raises(double x, isa::Type to, uint32_t mode_bits, bool to_zero = false) {
  const FloatFormat format = format_of(to);
  Mode mode = mode_of(mode_bits, format);
  if (to_zero) mode.round = 3;
  if (format == FloatFormat::kHalf) return to_half(x, false, mode).raised;
  if (format == FloatFormat::kDouble) return 0;
  const Unit unit(mode.round, mode.keep_results);
  narrowed(x);
  return unit.raised();
}

/// One operation on sources of one format.
template <FloatFormat F>
uint32_t raised_by(const ExceptionRule& rule, const LaneSources& sources, uint32_t mode_bits) {
  Mode mode = mode_of(mode_bits, F);
  const bool without_denormals =
      rule.raises == Raises::kMultiplyAdd || rule.raises == Raises::kLegacyMultiplyAdd;
  if (without_denormals) mode.keep_inputs = mode.keep_results = false;
  Value<F> s[3];
  const unsigned count = rule.raises == Raises::kScaled ? 1 : rule.sources;
  const unsigned first = rule.raises == Raises::kDivFixup ? 1 : 0;  // The quotient has been computed.
  bool any_nan = false, any_signaling = false, any_denormal = false;
  for (unsigned i = 0; i < count; ++i) {
    s[i].bits = sources.bits[i];
    if (!mode.keep_inputs) s[i].flush();
    if (i < first) continue;
    any_nan = any_nan || s[i].is_nan();
    any_signaling = any_signaling || s[i].is_signaling();
    any_denormal = any_denormal || s[i].is_denormal();
  }
  if (rule.raises == Raises::kIntegerReciprocal) return s[0].is_zero() ? kIntegerDivisionByZero : 0;
  const bool is_legacy = rule.raises == Raises::kLegacyProduct || rule.raises == Raises::kLegacyFused ||
                         rule.raises == Raises::kLegacyMultiplyAdd;
  if (is_legacy && (s[0].is_zero() || s[1].is_zero())) {
    // The factors do not count.
    any_nan = count == 3 && s[2].is_nan();
    any_signaling = count == 3 && s[2].is_signaling();
    any_denormal = count == 3 && s[2].is_denormal();
  }
  const bool to_integer = rule.raises == Raises::kTruncation || rule.raises == Raises::kFloor ||
                          rule.raises == Raises::kNearestUp;
  if (any_nan) return any_signaling || to_integer ? kInvalid : 0;
  uint32_t raised;
  if (rule.raises == Raises::kConversion) {
    raised = conversion_raises(static_cast<double>(s[0].number()), rule.result, mode_bits);
  } else {
    raised = operation_raises<F>(rule, s, sources, mode);
  }
  if (any_denormal && (raised & (kInvalid | kDivisionByZero)) == 0) raised |= kInputDenormal;
  return raised;
}

uint32_t raised_by(const ExceptionRule& rule, const LaneSources& sources, uint32_t mode) {
  switch (format_of(rule.type)) {
    case FloatFormat::kHalf:
      return raised_by<FloatFormat::kHalf>(rule, sources, mode);
    case FloatFormat::kSingle:
      return raised_by<FloatFormat::kSingle>(rule, sources, mode);
    case FloatFormat::kDouble:
      return raised_by<FloatFormat::kDouble>(rule, sources, mode);
  }
  return 0;
}

uint32_t from_integer_raises(const ExceptionRule& rule, uint64_t bits, uint32_t mode) {
  const unsigned unused = is_short(rule.type) ? 48 : 32;
  const double number = is_signed(rule.type)
                            ? static_cast<double>(static_cast<int64_t>(bits << unused) >> unused)
                            : static_cast<double>(bits << unused >> unused);
  return conversion_raises(number, rule.result, mode);
}

// All lanes
// ---------------------------------------------------------------------------------------------------

/// The sources of an operation, lane by lane.
class Sources {
 public:
  Sources(const ExceptionRule& rule, const MicroOp& op, const Wave& wave, const std::byte* registers)
      : rule_(rule), op_(op), registers_(registers), row_bytes_(wave.layout.row_bytes()) {}

  /// With its modifiers, which are of floating point.
  uint64_t plain(unsigned i, unsigned lane) const {
    const bool is_number =
        rule_.raises != Raises::kFromInteger && !(rule_.raises == Raises::kScaled && i == 1);
    uint64_t bits = dword(i, lane, 0);
    unsigned width = 32;
    if (is_short(rule_.type)) {
      bits = bits >> (has(aux::kHigh, i) ? 16 : 0) & 0xffff;
      width = 16;
    } else if (rule_.type == isa::Type::kF64 && is_number) {
      bits |= uint64_t{dword(i, lane, 1)} << 32;
      width = 64;
    }
    return is_number ? modified(bits, width, has(aux::kAbs, i), has(aux::kNeg, i)) : bits;
  }

  /// For the lower or the upper result.
  uint64_t packed(unsigned i, unsigned lane, bool upper) const {
    const bool second = is_set(upper ? packed::kSelectHigh : packed::kSelect, i);
    const bool neg = is_set(upper ? packed::kNegHigh : packed::kNeg, i);
    if (rule_.type == isa::Type::kF32) return modified(dword(i, lane, second ? 1 : 0), 32, false, neg);
    return modified(dword(i, lane, 0) >> (second ? 16 : 0) & 0xffff, 16, false, neg);
  }

  bool is_half(unsigned i) const { return is_set(packed::kSelectHigh, i); }
  uint64_t mixed(unsigned i, unsigned lane) const {
    uint32_t bits = dword(i, lane, 0);
    if (is_half(i)) bits = bits >> (is_set(packed::kSelect, i) ? 16 : 0) & 0xffff;
    return modified(bits, is_half(i) ? 16 : 32, is_set(packed::kNegHigh, i), is_set(packed::kNeg, i));
  }

 private:
  bool has(uint32_t field, unsigned i) const { return (op_.aux & field << i) != 0; }
  bool is_set(uint64_t field, unsigned i) const { return (op_.imm & field << i) != 0; }

  /// Dword `part` of a source.
  uint32_t dword(unsigned i, unsigned lane, unsigned part) const {
    const Source from = op_.src[i];
    if (has(aux::kConstant, i)) return static_cast<uint32_t>(from.constant >> part * 32);
    uint32_t value;
    const size_t at = from.offset + (has(aux::kUniform, i) ? part * 4 : part * row_bytes_ + lane * 4);
    std::memcpy(&value, registers_ + at, sizeof value);
    return value;
  }

  static uint64_t modified(uint64_t bits, unsigned width, bool abs, bool neg) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    if (abs) bits &= sign - 1;
    return neg ? bits ^ sign : bits;
  }

  const ExceptionRule& rule_;
  const MicroOp& op_;
  const std::byte* const registers_;
  const size_t row_bytes_;
};

/// Sources are widened to single precision, the operation is that format's, and its result may be a half.
uint32_t mixed_raises(const ExceptionRule& rule, const Sources& sources, unsigned lane, uint32_t mode) {
  const bool is_fused = rule.raises == Raises::kFused;
  const Mode halves = mode_of(mode, FloatFormat::kHalf);
  Mode singles = mode_of(mode, FloatFormat::kSingle);
  if (!is_fused) singles.keep_inputs = singles.keep_results = false;
  float s[3];
  bool any_nan = false, any_signaling = false, any_denormal = false;
  const auto look_at = [&](auto value, const Mode& rules) {
    if (!rules.keep_inputs) value.flush();
    any_nan = any_nan || value.is_nan();
    any_signaling = any_signaling || value.is_signaling();
    any_denormal = any_denormal || value.is_denormal();
    return value.is_nan() ? 0.0f : static_cast<float>(value.number());
  };
  for (unsigned i = 0; i < 3; ++i) {
    const uint64_t bits = sources.mixed(i, lane);
    s[i] = sources.is_half(i) ? look_at(Value<FloatFormat::kHalf>{bits}, halves)
                              : look_at(Value<FloatFormat::kSingle>{bits}, singles);
  }
  if (any_nan) return any_signaling ? kInvalid : 0;
  float result = 0;
  uint32_t raised = multiplied_and_added<FloatFormat::kSingle>(s[0], s[1], s[2], is_fused, singles, &result);
  if (rule.result == isa::Type::kF16 && !std::isnan(result)) {
    raised |= to_half(static_cast<double>(result), false, halves).raised;
  }
  if (any_denormal && (raised & kInvalid) == 0) raised |= kInputDenormal;
  return raised;
}

uint32_t lane_raises(const ExceptionRule& rule, const Sources& sources, unsigned lane, uint64_t vcc,
                     uint32_t mode) {
  LaneSources values;
  uint32_t raised = 0;
  switch (rule.operands) {
    case ExceptionRule::Operands::kPlain:
      if (rule.raises == Raises::kFromInteger) {
        return from_integer_raises(rule, sources.plain(0, lane), mode);
      }
      for (unsigned i = 0; i < rule.sources; ++i) values.bits[i] = sources.plain(i, lane);
      values.scales_back = (vcc >> lane & 1) != 0;
      if (rule.raises == Raises::kConversionToZero) {
        for (const uint64_t bits : {values.bits[0], values.bits[1]}) {
          Value<FloatFormat::kSingle> value{bits};
          if (!mode_of(mode, FloatFormat::kSingle).keep_inputs) value.flush();
          if (value.is_nan()) {
            raised |= value.is_signaling() ? kInvalid : 0;
            continue;
          }
          raised |= conversion_raises(static_cast<double>(value.number()), rule.result, mode, true);
          if (value.is_denormal()) raised |= kInputDenormal;
        }
        return raised;
      }
      return raised_by(rule, values, mode);
    case ExceptionRule::Operands::kPacked:
      for (const bool upper : {false, true}) {
        for (unsigned i = 0; i < rule.sources; ++i) values.bits[i] = sources.packed(i, lane, upper);
        raised |= raised_by(rule, values, mode);
      }
      return raised;
    case ExceptionRule::Operands::kMixed:
      return mixed_raises(rule, sources, lane, mode);
  }
  return 0;
}

}  // namespace

void gather_exceptions(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  ExceptionRule rule;
  std::memcpy(&rule, &op->imm, sizeof rule);
  const Sources sources(rule, op[1], *wave, registers);
  const uint64_t vcc = wave->pair(isa::code::kVccLo);
  const uint32_t enabled = wave->mode >> kExceptionEnableShift & kAll;
  const uint32_t mode = wave->mode & (rule.has_finite_halves ? ~0u : ~kFiniteHalves);
  const uint32_t mode_before = get_mxcsr();
  set_mxcsr(kDefaultMxcsr);
  for (unsigned phase = 0; phase < wave->layout.wave_size / 16; ++phase) {
    uint32_t raised = 0;
    for (uint64_t left = exec >> phase * 16 & 0xffff; left != 0; left &= left - 1) {
      const unsigned lane = phase * 16 + static_cast<unsigned>(std::countr_zero(left));
      raised |= lane_raises(rule, sources, lane, vcc, mode);
    }
    if (rule.has_cycle && (raised & enabled) != 0 && (wave->trap_status & enabled) == 0) {
      wave->trap_status = (wave->trap_status & ~kExceptionCycle) | phase << kExceptionCycleShift;
    }
    wave->trap_status |= raised;
    wave->raised |= raised & enabled;
  }
  set_mxcsr(mode_before);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

}  // namespace rigel::vgpu::exec
