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

// Host floating-point flags
// ---------------------------------------------------------------------------------------------------

namespace {

using namespace exception;

/// Sets the host's rounding mode during its lifetime and records the exceptions. Denormal results are kept or
/// flushed, denormal sources are kept. Operands and results must be volatile: otherwise the compiler may move
/// the operation out of the object's lifetime.
class HostRounding {
 public:
  HostRounding(uint32_t round, bool keep_results)
      : before_(get_mxcsr()), clear_(mxcsr_of(round | 0x10 | (keep_results ? 0x20 : 0))) {
    set_mxcsr(clear_);
#if !defined(__x86_64__)
    std::feclearexcept(FE_ALL_EXCEPT);
#endif
  }
  ~HostRounding() {
    set_mxcsr(before_);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

  /// Returns the exceptions since construction. MXCSR has them in the same order.
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

double sum_of(double a, double b) {
  const volatile double x = a, y = b;
  const volatile double result = x + y;
  return result;
}
double product_of(double a, double b) {
  const volatile double x = a, y = b;
  const volatile double result = x * y;
  return result;
}
double fused_of(double a, double b, double c) {
  const volatile double x = a, y = b, z = c;
  const volatile double result = std::fma(x, y, z);
  return result;
}

// Floating-point values
// ---------------------------------------------------------------------------------------------------

/// A floating-point format. Operations on halves and singles are computed in double precision, in which
/// products are exact. Operations on doubles use the host's flags.
struct Format {
  int fraction, bits;

  constexpr int bias() const { return (1 << (bits - fraction - 2)) - 1; }
  double least_normal() const { return std::ldexp(1.0, 1 - bias()); }
  friend bool operator==(Format, Format) = default;
};
constexpr Format kHalf{10, 16}, kSingle{23, 32}, kDouble{52, 64};

Format format_of(isa::Type type) {
  return type == isa::Type::kF64 ? kDouble : type == isa::Type::kF32 ? kSingle : kHalf;
}
bool is_short(isa::Type type) {
  return type == isa::Type::kF16 || type == isa::Type::kI16 || type == isa::Type::kU16;
}
bool is_signed(isa::Type integer) {
  return integer == isa::Type::kI16 || integer == isa::Type::kI32;
}

struct Value {
  Format format = kDouble;
  uint64_t bits = 0;

  uint64_t sign() const { return uint64_t{1} << (format.bits - 1); }
  uint64_t normal() const { return uint64_t{1} << format.fraction; }  ///< Bits of the smallest normal number
  uint64_t infinity() const { return (sign() - 1) & ~(normal() - 1); }

  uint64_t magnitude() const { return bits & (sign() - 1); }
  bool is_negative() const { return (bits & sign()) != 0; }
  bool is_zero() const { return magnitude() == 0; }
  bool is_denormal() const { return !is_zero() && magnitude() < normal(); }
  bool is_infinite() const { return magnitude() == infinity(); }
  bool is_nan() const { return magnitude() > infinity(); }
  bool is_signaling() const { return is_nan() && (bits & normal() >> 1) == 0; }
  void flush() {
    if (is_denormal()) bits &= sign();
  }

  /// Returns the value; not for NaNs.
  double number() const {
    if (format == kDouble) return std::bit_cast<double>(bits);
    if (format == kSingle) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    const auto exponent = static_cast<int>(magnitude() >> format.fraction);
    const auto fraction = static_cast<double>(bits & (normal() - 1));
    const double size = is_infinite()   ? HUGE_VAL
                        : exponent == 0 ? fraction * 0x1p-24
                                        : std::ldexp(fraction + 1024, exponent - 25);
    return is_negative() ? -size : size;
  }
};

/// MODE's settings for one format.
struct Mode {
  uint32_t round;
  bool keep_inputs, keep_results;
  bool stays_finite;  ///< FP16_OVFL: halves overflow to the largest number.
};
Mode mode_of(uint32_t mode, Format format) {
  const uint32_t denormals = mode >> (format == kSingle ? 4 : 6);
  return {mode >> (format == kSingle ? 0 : 2) & 3, (denormals & 1) != 0, (denormals & 2) != 0,
          format == kHalf && (mode & kFiniteHalves) != 0};
}

struct Rounded {
  double value;
  uint32_t raised;
};

/// Rounds x to a half or a single. `is_truncated`: the exact value is slightly further from zero than x.
Rounded rounded(Format to, double x, bool is_truncated, const Mode& mode) {
  if (x == 0 || std::isinf(x)) return {x, 0};
  const bool negative = std::signbit(x);
  const uint64_t normal = uint64_t{1} << to.fraction;
  const Value source{kDouble, std::bit_cast<uint64_t>(x)};
  const auto field = static_cast<int>(source.magnitude() >> kDouble.fraction);
  const uint64_t digits = (source.bits & (source.normal() - 1)) | (field != 0 ? source.normal() : 0);
  const int exponent = std::max(field, 1) - kDouble.bias() + 1;  // |x| < 2^exponent
  bool inexact = false;
  const auto without = [&](int drop) -> uint64_t {
    const uint64_t kept = drop > 63 ? 0 : digits >> drop, lost = drop > 63 ? digits : digits - (kept << drop);
    const uint64_t middle = drop > 63 ? ~uint64_t{0} : uint64_t{1} << (drop - 1);
    inexact = lost != 0 || is_truncated;
    bool up = (mode.round == 1 && !negative && inexact) || (mode.round == 2 && negative && inexact);
    if (mode.round == 0) up = lost > middle || (lost == middle && (is_truncated || (kept & 1) != 0));
    return kept + (up ? 1 : 0);
  };
  const auto with_sign = [negative](double size) { return negative ? -size : size; };
  uint64_t kept = without(52 - to.fraction);
  const int rounded_exponent = exponent + (kept == 2 * normal ? 1 : 0), least = 2 - to.bias();
  if (rounded_exponent < least) {  // tiny
    kept = without(52 - to.fraction + least - exponent);
    // Handlers flush halves that are denormal after rounding. The host also flushes singles that are rounded
    // up to the smallest normal number.
    const bool flushes = !mode.keep_results && (kept < normal || to == kSingle);
    if (flushes) return {with_sign(0), kUnderflow | kInexact};
    return {with_sign(std::ldexp(static_cast<double>(kept), least - 1 - to.fraction)),
            inexact ? kUnderflow | kInexact : 0};
  }
  if (rounded_exponent > to.bias() + 1) {
    const double largest = std::ldexp(static_cast<double>(2 * normal - 1), to.bias() - to.fraction);
    const bool inward = mode.round == 3 || mode.round == (negative ? 1u : 2u);
    return {with_sign(mode.stays_finite || inward ? largest : HUGE_VAL), kOverflow | kInexact};
  }
  const double size = std::ldexp(static_cast<double>(kept), exponent - 1 - to.fraction);
  return {with_sign(size), inexact ? kInexact : 0};
}

/// Rounds the sum of two doubles to a half or a single, without double rounding.
Rounded rounded_sum(Format to, double a, double b, const Mode& mode) {
  const double sum = sum_of(a, b);
  if (std::isinf(sum)) return {sum, 0};
  const double from_b = sum_of(sum, -a);
  const double error = sum_of(sum_of(a, -sum_of(sum, -from_b)), sum_of(b, -from_b));
  if (error == 0) return rounded(to, sum, false, mode);
  const bool inward = std::signbit(error) != std::signbit(sum);
  return rounded(to, inward ? std::nextafter(sum, 0.0) : sum, true, mode);
}

// One lane
// ---------------------------------------------------------------------------------------------------

struct LaneSources {
  uint64_t bits[3] = {};
  bool scales_back = false;  ///< v_div_fmas: the lane's bit of VCC
};

/// a * b + c with one rounding (`is_fused`) or two. No source is a NaN.
Rounded multiplied_and_added(Format format, double a, double b, double c, bool is_fused, const Mode& mode) {
  if (format == kDouble) {
    const HostRounding host(mode.round, mode.keep_results);
    const double result = is_fused ? fused_of(a, b, c) : sum_of(product_of(a, b), c);
    return {result, host.raised()};
  }
  if ((std::isinf(a) && b == 0) || (std::isinf(b) && a == 0)) return {NAN, kInvalid};
  Rounded product{product_of(a, b), 0};  // exact
  if (!is_fused) product = rounded(format, product.value, false, mode);
  if (std::isinf(product.value) && std::isinf(c) && std::signbit(product.value) != std::signbit(c)) {
    return {NAN, product.raised | kInvalid};
  }
  const Rounded sum = rounded_sum(format, product.value, c, mode);
  return {sum.value, product.raised | sum.raised};
}

uint32_t integer_raises(double x, Raises how, isa::Type to) {
  if (std::isinf(x)) return kInvalid;
  double whole = how == Raises::kTruncation ? std::trunc(x) : std::floor(x);
  if (how == Raises::kNearestUp && x - whole >= 0.5) whole += 1;
  const double limit = std::ldexp(1.0, (is_short(to) ? 16 : 32) - (is_signed(to) ? 1 : 0));
  if (whole >= limit || whole < (is_signed(to) ? -limit : 0)) return kInvalid;
  return whole != x ? kInexact : 0;
}

uint32_t scaling_raises(Format format, double x, int by, const Mode& mode) {
  if (std::isinf(x) || x == 0) return 0;
  if (format != kDouble) {
    return rounded(format, std::ldexp(x, std::clamp(by, -300, 300)), false, mode).raised;
  }
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  const int total = std::clamp(exponent + std::clamp(by, -4000, 4000), -1200, 1100);
  const int first = std::clamp(total, -1021, 1000);
  const double part = std::ldexp(mantissa, first), rest = std::ldexp(1.0, total - first);
  const HostRounding host(mode.round, mode.keep_results);
  product_of(part, rest);
  return host.raised();
}

uint32_t div_fmas_raises(const Value (&s)[3], bool scales_back, const Mode& mode) {
  const Format format = s[0].format;
  const Rounded whole = multiplied_and_added(format, s[0].number(), s[1].number(), s[2].number(), true, mode);
  if (!scales_back || std::isnan(whole.value)) return whole.raised;
  const bool is_flushed = !mode.keep_inputs && std::fabs(whole.value) < format.least_normal();
  const int step = format == kSingle ? 64 : 128;
  const bool is_large = std::fabs(s[2].number()) >= 2;
  return whole.raised | scaling_raises(format, is_flushed ? 0 : whole.value, is_large ? step : -step, mode);
}

/// Exceptions of an operation without NaN sources. Denormal sources have been flushed if MODE flushes them.
uint32_t operation_raises(const ExceptionRule& rule, const Value (&s)[3], const LaneSources& sources,
                          const Mode& mode) {
  const Format format = s[0].format;
  const double a = s[0].number(), b = s[1].number(), c = s[2].number();
  const auto fused = [&](double x, double y, double z) {
    return multiplied_and_added(format, x, y, z, true, mode).raised;
  };
  const bool product_is_zero = a == 0 || b == 0;
  switch (rule.raises) {
    case Raises::kSum:
      return fused(a, 1, b);
    case Raises::kDifference:
      return fused(a, 1, -b);
    case Raises::kReverseDifference:
      return fused(b, 1, -a);
    case Raises::kLegacyProduct:
      return product_is_zero ? 0 : fused(a, b, 0);
    case Raises::kProduct:
      return fused(a, b, 0);
    case Raises::kLegacyFused:
      return product_is_zero ? fused(0, 0, c) : fused(a, b, c);
    case Raises::kFused:
      return fused(a, b, c);
    case Raises::kLegacyMultiplyAdd:
      if (product_is_zero) return fused(0, 0, c);
      [[fallthrough]];
    case Raises::kMultiplyAdd:
      return multiplied_and_added(format, a, b, c, false, mode).raised;
    case Raises::kScaled:
      return scaling_raises(
          format, a,
          format == kHalf ? static_cast<int16_t>(sources.bits[1]) : static_cast<int32_t>(sources.bits[1]),
          mode);
    case Raises::kReciprocal:
      return a == 0 ? kDivisionByZero : 0;
    case Raises::kReciprocalRoot:
    case Raises::kLogarithm:
      return a == 0 ? kDivisionByZero : a < 0 ? kInvalid : 0;
    case Raises::kRoot:
      return a < 0 ? kInvalid : 0;
    case Raises::kAngle:
      return std::isinf(a) ? kInvalid : 0;
    case Raises::kDivFmas:
      return div_fmas_raises(s, sources.scales_back, mode);
    case Raises::kDivFixup:
      if ((b == 0 && c == 0) || (std::isinf(b) && std::isinf(c))) return kInvalid;
      return b == 0 && !std::isinf(c) ? kDivisionByZero : 0;
    case Raises::kTruncation:
    case Raises::kFloor:
    case Raises::kNearestUp:
      return integer_raises(a, rule.raises, rule.result);
    default:
      return 0;
  }
}

uint32_t conversion_raises(double x, isa::Type to, uint32_t mode_bits, bool to_zero = false) {
  const Format format = format_of(to);
  if (format == kDouble) return 0;
  Mode mode = mode_of(mode_bits, format);
  if (to_zero) mode.round = 3;
  return rounded(format, x, false, mode).raised;
}

/// Exceptions of one operation on sources of one format.
uint32_t raised_by(const ExceptionRule& rule, const LaneSources& sources, uint32_t mode_bits) {
  const Format format = format_of(rule.type);
  Mode mode = mode_of(mode_bits, format);
  const bool without_denormals =
      rule.raises == Raises::kMultiplyAdd || rule.raises == Raises::kLegacyMultiplyAdd;
  if (without_denormals) mode.keep_inputs = mode.keep_results = false;
  Value s[3] = {{format}, {format}, {format}};
  const unsigned count = rule.raises == Raises::kScaled ? 1 : rule.sources;
  const unsigned first = rule.raises == Raises::kDivFixup ? 1 : 0;  // src[0] is the quotient.
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
    // The product is zero, even if a factor is a NaN. Only the addend counts.
    any_nan = count == 3 && s[2].is_nan();
    any_signaling = count == 3 && s[2].is_signaling();
    any_denormal = count == 3 && s[2].is_denormal();
  }
  const bool to_integer = rule.raises == Raises::kTruncation || rule.raises == Raises::kFloor ||
                          rule.raises == Raises::kNearestUp;
  if (any_nan) return any_signaling || to_integer ? kInvalid : 0;
  uint32_t raised = rule.raises == Raises::kConversion
                        ? conversion_raises(s[0].number(), rule.result, mode_bits)
                        : operation_raises(rule, s, sources, mode);
  if (any_denormal && (raised & (kInvalid | kDivisionByZero)) == 0) raised |= kInputDenormal;
  return raised;
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

class Sources {
 public:
  Sources(const ExceptionRule& rule, const MicroOp& op, const Wave& wave, const std::byte* registers)
      : rule_(rule), op_(op), registers_(registers), row_bytes_(wave.layout.row_bytes()) {}

  /// Returns source `i`, with the floating-point modifiers applied.
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

  /// Returns source `i` for the lower or the upper result of a packed operation.
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

/// Exceptions of mixed precision: sources are converted to single precision, the result may be a half.
uint32_t mixed_raises(const ExceptionRule& rule, const Sources& sources, unsigned lane, uint32_t mode) {
  const bool is_fused = rule.raises == Raises::kFused;
  const Mode halves = mode_of(mode, kHalf);
  Mode singles = mode_of(mode, kSingle);
  if (!is_fused) singles.keep_inputs = singles.keep_results = false;
  double s[3];
  bool any_nan = false, any_signaling = false, any_denormal = false;
  for (unsigned i = 0; i < 3; ++i) {
    Value value{sources.is_half(i) ? kHalf : kSingle, sources.mixed(i, lane)};
    if (!(sources.is_half(i) ? halves : singles).keep_inputs) value.flush();
    any_nan = any_nan || value.is_nan();
    any_signaling = any_signaling || value.is_signaling();
    any_denormal = any_denormal || value.is_denormal();
    s[i] = value.number();
  }
  if (any_nan) return any_signaling ? kInvalid : 0;
  const Rounded result = multiplied_and_added(kSingle, s[0], s[1], s[2], is_fused, singles);
  uint32_t raised = result.raised;
  if (rule.result == isa::Type::kF16 && !std::isnan(result.value)) {
    raised |= rounded(kHalf, result.value, false, halves).raised;
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
          Value value{kSingle, bits};
          if (!mode_of(mode, kSingle).keep_inputs) value.flush();
          if (value.is_nan()) {
            raised |= value.is_signaling() ? kInvalid : 0;
            continue;
          }
          raised |= conversion_raises(value.number(), rule.result, mode, true);
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
