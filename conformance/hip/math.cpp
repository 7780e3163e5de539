// Mathematical functions in single, double and half precision, compared with more precise ones of the host.
//
// HIP documents (ROCm documentation, "HIP math API", from 6.3 on) the error, in units in the last place, *at
// the largest absolute error* within a range. The test checks exactly that. Errors relative to small results
// may be larger. They are checked against the limits of the device library, which are OpenCL's. Both count
// units between two rounded results, so half a unit is added for the rounding of each.
#include <hip/hip_fp16.h>

#include "check.hpp"

struct Range {
  double low, high;
};

// Returns the unit in the last place of `value` in type T (24, 53 or 11 bits).
template <typename T>
long double unit_of(long double value) {
  constexpr int kBits = sizeof(T) == 8 ? 53 : sizeof(T) == 4 ? 24 : 11;
  constexpr int kMinExponent = sizeof(T) == 8 ? -1074 : sizeof(T) == 4 ? -149 : -24;
  if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0L, kMinExponent);
  return std::ldexp(1.0L, std::max(std::ilogb(value) - kBits + 1, kMinExponent));
}

template <typename T>
T rounded(long double value) {
  return static_cast<T>(static_cast<double>(value));
}

/// Limits in units in the last place: at the largest absolute error, and anywhere.
struct Limit {
  Limit(double both) : documented(both), everywhere(both) {}
  Limit(double at_largest, double anywhere) : documented(at_largest), everywhere(anywhere) {}
  double documented, everywhere;
};

template <typename T>
void compare(const std::string& name, const std::vector<T>& x, const std::vector<T>& y,
             const std::vector<long double>& expected, const std::vector<T>& actual, Limit limit) {
  long double worst = 0, largest = 0, units_at_largest = 0;
  size_t where = 0, where_largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const long double value = static_cast<double>(actual[i]);
    long double error;
    if (std::isnan(expected[i]) || std::isnan(value)) {
      error = std::isnan(expected[i]) == std::isnan(value) ? 0 : INFINITY;
    } else if (std::isinf(value) || std::isinf(expected[i])) {
      error = static_cast<double>(rounded<T>(expected[i])) == static_cast<double>(value) ? 0 : INFINITY;
    } else {
      error = std::fabs(value - expected[i]) / unit_of<T>(expected[i]);
    }
    if (error > worst) {
      worst = error;
      where = i;
    }
    const long double absolute = error == 0 ? 0 : std::fabs(value - expected[i]);
    if (absolute > largest) {
      largest = absolute;
      units_at_largest = error;
      where_largest = i;
    }
  }
  const auto check_one = [&](const char* what, long double error, double allowed, size_t i) {
    if (error <= allowed + 0.5L) return;
    fail(name + ": error of " + std::to_string(static_cast<double>(error)) + " ulp " + what + ", allowed " +
         std::to_string(allowed) + "; f(" + text_of(static_cast<double>(x[i])) + ", " +
         text_of(static_cast<double>(y[i])) + ") is " + text_of(static_cast<double>(actual[i])) + ", not " +
         text_of(static_cast<double>(expected[i])));
  };
  check_one("where it is largest", units_at_largest, limit.documented, where_largest);
  check_one("in units", worst, limit.everywhere, where);
}

constexpr unsigned kCount = 20'000;

template <typename T>
std::vector<T> samples(Range range, uint64_t seed) {
  Random random(seed);
  std::vector<T> values(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    double value = random.real(range.low, range.high);
    // If the range contains zero, half of the values are spread evenly over the exponents.
    if (i % 2 == 1 && range.low <= 0 && range.high >= 0)
      value = std::ldexp(value, -static_cast<int>(random.below(14)));
    values[i] = static_cast<T>(value);
  }
  const double edges[] = {range.low, range.high, (range.low + range.high) / 2};
  for (unsigned i = 0; i < 3; ++i) {
    if (static_cast<double>(static_cast<T>(edges[i])) == edges[i]) values[i] = static_cast<T>(edges[i]);
  }
  return values;
}

template <typename T, typename F>
__global__ void apply(const T* x, const T* y, T* out, F function) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = function(x[i], y[i]);
}

template <typename T, typename F, typename G>
void check(const char* type, const char* name, F device, G host, Range rx, Range ry, Limit allowed) {
  const std::vector<T> x = samples<T>(rx, 1), y = samples<T>(ry, 2);
  const DeviceArray<T> dx(x), dy(y), out(kCount, 0xff);
  apply<T><<<blocks_for(kCount, 256), 256>>>(dx.data(), dy.data(), out.data(), device);
  HIP_FINISH();
  std::vector<long double> expected(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    expected[i] = host(static_cast<long double>(static_cast<double>(x[i])),
                       static_cast<long double>(static_cast<double>(y[i])));
  }
  compare<T>(std::string(type) + " " + name, x, y, expected, out.read(), allowed);
}

constexpr Range kNone{1, 2};
constexpr double kPi = 3.14159265358979323846;
constexpr long double kPiL = 3.14159265358979323846264338327950288L;

#define UNARY(T, type, function, host, low, high, ...)                                         \
  check<T>(                                                                                    \
      type, #function, [] __device__(T x, T) -> T { return function(x); },                     \
      [](long double x, long double) -> long double { return host; }, Range{low, high}, kNone, \
      Limit{__VA_ARGS__})
#define BINARY(T, type, function, host, rx, ry, ...)                            \
  check<T>(                                                                     \
      type, #function, [] __device__(T x, T y) -> T { return function(x, y); }, \
      [](long double x, long double y) -> long double { return host; }, rx, ry, Limit{__VA_ARGS__})

static void check_single() {
  UNARY(float, "float", sqrtf, std::sqrt(x), 0, 100, 1);
  UNARY(float, "float", rsqrtf, 1 / std::sqrt(x), 0.01, 100, 1);
  UNARY(float, "float", cbrtf, std::cbrt(x), -100, 100, 2);
  UNARY(float, "float", rcbrtf, 1 / std::cbrt(x), 0.01, 100, 1);
  UNARY(float, "float", expf, std::exp(x), -10, 10, 1, 3);
  UNARY(float, "float", exp2f, std::exp2(x), -10, 10, 1);
  UNARY(float, "float", exp10f, std::pow(10.0L, x), -4, 4, 1);
  UNARY(float, "float", expm1f, std::expm1(x), -10, 10, 1);
  UNARY(float, "float", logf, std::log(x), 1e-6, 1e6, 2);
  UNARY(float, "float", log2f, std::log2(x), 1e-6, 1e6, 1);
  UNARY(float, "float", log10f, std::log10(x), 1e-6, 1e6, 2);
  UNARY(float, "float", log1pf, std::log1p(x), -0.9, 10, 1);
  UNARY(float, "float", sinf, std::sin(x), -kPi, kPi, 1);
  UNARY(float, "float", cosf, std::cos(x), -kPi, kPi, 1);
  UNARY(float, "float", tanf, std::tan(x), -1.47 * kPi, 1.47 * kPi, 1, 5);
  UNARY(float, "float", sinpif, std::sin(x * kPiL), -0.625, 0.625, 2);
  UNARY(float, "float", cospif, std::cos(x * kPiL), -0.3, 0.3, 1);
  UNARY(float, "float", asinf, std::asin(x), -1, 1, 2);
  UNARY(float, "float", acosf, std::acos(x), -1, 1, 1);
  UNARY(float, "float", atanf, std::atan(x), -10, 10, 2);
  UNARY(float, "float", sinhf, std::sinh(x), -5, 5, 1);
  UNARY(float, "float", coshf, std::cosh(x), -5, 5, 1);
  UNARY(float, "float", tanhf, std::tanh(x), -5, 5, 2);
  UNARY(float, "float", asinhf, std::asinh(x), -10, 10, 1);
  UNARY(float, "float", acoshf, std::acosh(x), 1, 100, 1);
  UNARY(float, "float", atanhf, std::atanh(x), -0.9, 0.9, 1);
  UNARY(float, "float", erff, std::erf(x), -4, 4, 4);
  UNARY(float, "float", erfcf, std::erfc(x), -4, 4, 2, 16);
  UNARY(float, "float", tgammaf, std::tgamma(x), 0.5, 15, 6, 16);
  UNARY(float, "float", floorf, std::floor(x), -4, 4, -0.5);
  UNARY(float, "float", ceilf, std::ceil(x), -4, 4, -0.5);
  UNARY(float, "float", truncf, std::trunc(x), -4, 4, -0.5);
  UNARY(float, "float", rintf, std::rint(x), -4, 4, -0.5);
  UNARY(float, "float", roundf, std::round(x), -4, 4, -0.5);
  UNARY(float, "float", logbf, std::logb(x), 1e-6, 1e6, -0.5);
  BINARY(float, "float", powf, std::pow(x, y), (Range{0.01, 4}), (Range{-2, 2}), 1);
  BINARY(float, "float", atan2f, std::atan2(x, y), (Range{-4, 4}), (Range{-2, 2}), 1, 6);
  BINARY(float, "float", hypotf, std::hypot(x, y), (Range{-10, 10}), (Range{0, 10}), 1);
  BINARY(float, "float", fmodf, std::fmod(x, y), (Range{-10, 10}), (Range{1, 3}), -0.5);
  BINARY(float, "float", remainderf, std::remainder(x, y), (Range{-10, 10}), (Range{1, 3}), -0.5);
  BINARY(float, "float", fmaxf, std::fmax(x, y), (Range{-10, 10}), (Range{-3, 3}), -0.5);
  BINARY(float, "float", fminf, std::fmin(x, y), (Range{-10, 10}), (Range{-3, 3}), -0.5);
  BINARY(float, "float", fdimf, std::fdim(x, y), (Range{-10, 10}), (Range{-3, 3}), 0);
  BINARY(float, "float", copysignf, std::copysign(x, y), (Range{-10, 10}), (Range{-3, 3}), -0.5);
  BINARY(float, "float", __fdiv_rn, x / y, (Range{-100, 100}), (Range{0.5, 100}), 0);
  UNARY(float, "float", __frcp_rn, 1 / x, 0.01, 100, 0);
  UNARY(float, "float", __expf, std::exp(x), -10, 10, 6, 14);
  UNARY(float, "float", __logf, std::log(x), 2, 1e6, 2);
  UNARY(float, "float", __log2f, std::log2(x), 2, 1e6, 1);
}

static void check_double() {
  UNARY(double, "double", sqrt, std::sqrt(x), 0, 100, 0);
  UNARY(double, "double", rsqrt, 1 / std::sqrt(x), 0.01, 100, 1);
  UNARY(double, "double", cbrt, std::cbrt(x), -100, 100, 1);
  UNARY(double, "double", exp, std::exp(x), -10, 10, 1);
  UNARY(double, "double", exp2, std::exp2(x), -10, 10, 1);
  UNARY(double, "double", expm1, std::expm1(x), -10, 10, 1, 3);
  UNARY(double, "double", log, std::log(x), 1e-6, 1e6, 1);
  UNARY(double, "double", log2, std::log2(x), 1e-6, 1e6, 1);
  UNARY(double, "double", log10, std::log10(x), 1e-6, 1e6, 1);
  UNARY(double, "double", log1p, std::log1p(x), -0.9, 10, 1);
  UNARY(double, "double", sin, std::sin(x), -kPi, kPi, 1);
  UNARY(double, "double", cos, std::cos(x), -kPi, kPi, 1);
  UNARY(double, "double", tan, std::tan(x), -1.47 * kPi, 1.47 * kPi, 1, 5);
  UNARY(double, "double", sinpi, std::sin(x * kPiL), -0.625, 0.625, 2);
  UNARY(double, "double", asin, std::asin(x), -1, 1, 1);
  UNARY(double, "double", acos, std::acos(x), -1, 1, 1);
  UNARY(double, "double", atan, std::atan(x), -10, 10, 1);
  UNARY(double, "double", sinh, std::sinh(x), -5, 5, 1);
  UNARY(double, "double", cosh, std::cosh(x), -5, 5, 1);
  UNARY(double, "double", tanh, std::tanh(x), -5, 5, 1);
  UNARY(double, "double", asinh, std::asinh(x), -10, 10, 1);
  UNARY(double, "double", atanh, std::atanh(x), -0.9, 0.9, 1);
  UNARY(double, "double", erf, std::erf(x), -4, 4, 4);
  UNARY(double, "double", erfc, std::erfc(x), -4, 4, 2, 16);
  UNARY(double, "double", tgamma, std::tgamma(x), 0.5, 15, 6, 16);
  UNARY(double, "double", floor, std::floor(x), -4, 4, -0.5);
  UNARY(double, "double", rint, std::rint(x), -4, 4, -0.5);
  UNARY(double, "double", round, std::round(x), -4, 4, -0.5);
  BINARY(double, "double", pow, std::pow(x, y), (Range{0.01, 4}), (Range{-2, 2}), 1);
  BINARY(double, "double", atan2, std::atan2(x, y), (Range{-4, 4}), (Range{-2, 2}), 1, 6);
  BINARY(double, "double", hypot, std::hypot(x, y), (Range{-10, 10}), (Range{0, 10}), 1);
  BINARY(double, "double", fmod, std::fmod(x, y), (Range{-10, 10}), (Range{1, 3}), -0.5);
  BINARY(double, "double", __ddiv_rn, x / y, (Range{-100, 100}), (Range{0.5, 100}), 0);
}

// HIP's table does not contain half precision. Basic operations are correctly rounded, others have two units.
// hsin is omitted, because clang 15 generates code for it that returns NaN.
static void check_half() {
  using H = __half;
  check<H>(
      "half", "add", [] __device__(H x, H y) -> H { return x + y; },
      [](long double x, long double y) { return x + y; }, Range{-100, 100}, Range{-100, 100}, 0);
  check<H>(
      "half", "multiply", [] __device__(H x, H y) -> H { return x * y; },
      [](long double x, long double y) { return x * y; }, Range{-100, 100}, Range{-100, 100}, 0);
  check<H>(
      "half", "divide", [] __device__(H x, H y) -> H { return x / y; },
      [](long double x, long double y) { return x / y; }, Range{-100, 100}, Range{0.5, 100}, 1);
  check<H>(
      "half", "fma", [] __device__(H x, H y) -> H { return __hfma(x, y, x); },
      [](long double x, long double y) { return x * y + x; }, Range{-100, 100}, Range{-100, 100}, 0);
  UNARY(H, "half", hsqrt, std::sqrt(x), 0, 1000, 2);
  UNARY(H, "half", hrsqrt, 1 / std::sqrt(x), 0.01, 1000, 2);
  UNARY(H, "half", hexp, std::exp(x), -8, 10, 2);
  UNARY(H, "half", hexp2, std::exp2(x), -10, 12, 2);
  UNARY(H, "half", hlog, std::log(x), 0.01, 60000, 2);
  UNARY(H, "half", hlog2, std::log2(x), 0.01, 60000, 2);
  UNARY(H, "half", hcos, std::cos(x), -kPi, kPi, 2);
  UNARY(H, "half", hfloor, std::floor(x), -100, 100, -0.5);
  UNARY(H, "half", hceil, std::ceil(x), -100, 100, -0.5);
  UNARY(H, "half", htrunc, std::trunc(x), -100, 100, -0.5);
  UNARY(H, "half", hrint, std::rint(x), -100, 100, -0.5);
}

// Exact functions, also with special values, must return the bits of the host's results.
template <typename T>
__global__ void exact(const T* x, const T* y, const T* z, T* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T* row = out + 8 * i;
  row[0] = x[i] + y[i];
  row[1] = x[i] - y[i];
  row[2] = x[i] * y[i];
  if constexpr (sizeof(T) == 4) {
    row[3] = __fdiv_rn(x[i], y[i]);
    row[4] = __builtin_fmaf(x[i], y[i], z[i]);
  } else {
    row[3] = x[i] / y[i];
    row[4] = __builtin_fma(x[i], y[i], z[i]);
  }
  row[5] = static_cast<T>(x[i] < y[i]) + 2 * static_cast<T>(x[i] == y[i]) + 4 * static_cast<T>(x[i] != z[i]);
  row[6] = fmin(x[i], y[i]);
  row[7] = fmax(x[i], y[i]);
}

// Flushed denormals are allowed in single precision, which is the default of gfx8.
template <typename T>
bool agrees(T expected, T actual) {
  if (same(expected, actual)) return true;
  if (expected == 0 && actual == 0) return true;  // min and max may return a zero of either sign
  return sizeof(T) == 4 && actual == 0 && std::fabs(expected) <= std::numeric_limits<T>::min();
}

template <typename T>
void check_exact(const char* type) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           -T(0),
                           T(1),
                           -T(1),
                           T(0.5),
                           T(3),
                           T(-7.25),
                           Limits::max(),
                           -Limits::max(),
                           Limits::min(),
                           -Limits::min(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           T(1e-20),
                           T(1e20),
                           Limits::epsilon(),
                           T(1) + Limits::epsilon()};
  Random random(6);
  for (int i = 0; i < 14; ++i)
    values.push_back(static_cast<T>(std::ldexp(random.real(-2, 2), static_cast<int>(random.below(60)) - 30)));
  std::vector<T> x, y, z, expected;
  for (const T a : values) {
    for (const T b : values) {
      const T c = values[random.below(static_cast<uint32_t>(values.size()))];
      x.push_back(a);
      y.push_back(b);
      z.push_back(c);
      expected.insert(expected.end(), {a + b, a - b, a * b, a / b, std::fma(a, b, c),
                                       static_cast<T>(static_cast<T>(a < b) + 2 * static_cast<T>(a == b) +
                                                      4 * static_cast<T>(a != c)),
                                       std::fmin(a, b), std::fmax(a, b)});
    }
  }
  const DeviceArray<T> dx(x), dy(y), dz(z), out(expected.size(), 0xff);
  exact<T><<<blocks_for(x.size(), 256), 256>>>(dx.data(), dy.data(), dz.data(), out.data(),
                                               static_cast<unsigned>(x.size()));
  HIP_FINISH();
  const std::vector<T> actual = out.read();
  constexpr const char* kNames[] = {"x + y",        "x - y",      "x * y", "x / y",
                                    "fma(x, y, z)", "comparison", "fmin",  "fmax"};
  int shown = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (agrees(expected[i], actual[i])) continue;
    if (++shown > 12) break;
    fail(std::string(type) + " " + kNames[i % 8] + " of " + text_of(static_cast<double>(x[i / 8])) + ", " +
         text_of(static_cast<double>(y[i / 8])) + ", " + text_of(static_cast<double>(z[i / 8])) + " is " +
         text_of(static_cast<double>(actual[i])) + ", not " + text_of(static_cast<double>(expected[i])));
  }
}

int main() {
  check_exact<float>("float");
  check_exact<double>("double");
  check_single();
  check_double();
  check_half();
  return verdict("math");
}
