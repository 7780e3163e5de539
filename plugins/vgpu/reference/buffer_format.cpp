#include "plugins/vgpu/reference/buffer_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rigel::vgpu::exec::reference {
namespace {

using Number = TypedFormat::Number;

// Floats of 11 and 10 bits have the exponent of halves and no sign. Here they have one, for arithmetic.
Format float_format(unsigned bits) {
  switch (bits) {
    case 10:
      return {5, 5};
    case 11:
      return {5, 6};
    case 16:
      return kHalf;
    default:
      return kSingle;
  }
}

int64_t signed_value(uint32_t bits, unsigned width) {
  const uint64_t half = uint64_t{1} << (width - 1);
  return bits >= half ? static_cast<int64_t>(bits) - static_cast<int64_t>(half * 2) : bits;
}

}  // namespace

uint32_t widened(Format from, uint32_t bits) {
  if (!is_nan(from, bits)) return static_cast<uint32_t>(converted(from, bits, {}, kSingle, {}));
  const uint64_t payload = bits & ~from.sign_bit() & ~from.infinity();
  const int up = kSingle.fraction_bits - from.fraction_bits;
  return static_cast<uint32_t>((is_negative(from, bits) ? kSingle.sign_bit() : 0) | kSingle.infinity() |
                               payload << up);
}

namespace {

uint32_t single(long double value) {
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

unsigned TypedFormat::components() const {
  unsigned n = 0;
  while (n < 4 && bits[n] != 0) ++n;
  return n;
}

unsigned TypedFormat::bytes() const {
  return (bits[0] + bits[1] + bits[2] + bits[3]) / 8;
}

TypedFormat typed_format(unsigned data_format, unsigned number_format) {
  static constexpr std::array<unsigned, 4> kBits[] = {
      {},
      {8},
      {16},
      {8, 8},
      {32},
      {16, 16},
      {11, 11, 10},     // 10_11_11: names start with the highest bits.
      {10, 11, 11},     // 11_11_10
      {2, 10, 10, 10},  // 10_10_10_2
      {10, 10, 10, 2},  // 2_10_10_10
      {8, 8, 8, 8},
      {32, 32},
      {16, 16, 16, 16},
      {32, 32, 32},
      {32, 32, 32, 32},
      {},
      {5, 6, 5},  // Image formats from here on.
      {5, 5, 5, 1},
      {1, 5, 5, 5},
      {4, 4, 4, 4},
  };
  TypedFormat format;
  if (data_format >= std::size(kBits)) return format;
  format.bits = kBits[data_format];
  format.number = static_cast<Number>(number_format);
  const unsigned widest = std::max({format.bits[0], format.bits[1], format.bits[2], format.bits[3]});
  const bool integer = format.number == Number::kUint || format.number == Number::kSint;
  const bool is_float = format.number == Number::kFloat;
  const bool ten = format.bits[3] == 10 || format.bits[3] == 2;
  const bool small = data_format == 6 || data_format == 7;
  format.valid = widest != 0 && (widest != 32 || integer || is_float) && (widest != 8 || !is_float) &&
                 (!ten || !is_float) && (!small || format.number != Number::kSnormOgl);
  return format;
}

TypedFormat compact_format(unsigned format) {
  // The first format of each data format on gfx11, and the numbers of those that have fewer.
  struct Range {
    unsigned first, data_format;
  };
  static constexpr Range kRanges[] = {{1, 1},   {7, 2},   {14, 3},  {20, 4},  {23, 5},
                                      {30, 6},  {31, 7},  {32, 8},  {36, 9},  {42, 10},
                                      {48, 11}, {51, 12}, {58, 13}, {61, 14}, {64, 15}};
  for (size_t i = 0; i + 1 < std::size(kRanges); ++i) {
    if (format < kRanges[i].first || format >= kRanges[i + 1].first) continue;
    const unsigned data = kRanges[i].data_format, index = format - kRanges[i].first;
    unsigned number = index == 6 ? 7 : index;
    if (data == 6 || data == 7) number = 7;
    if (data == 8) number = index < 2 ? index : index + 2;
    if (typed_format(data, 4).bits[0] == 32) number = index == 2 ? 7 : 4 + index;
    return typed_format(data, number);
  }
  // Image formats: 8, 8_8 and 8_8_8_8 in sRGB; 16-bit colours.
  if (format >= 64 && format <= 66) return typed_format(format == 64 ? 1 : format == 65 ? 3 : 10, 9);
  if (format >= 68 && format <= 71) return typed_format(16 + format - 68, 0);
  return {};
}

TypedFormat typed_format(unsigned format) {
  // The first unified format of each data format.
  struct Range {
    unsigned first, data_format;
  };
  static constexpr Range kRanges[] = {{1, 1},   {7, 2},   {14, 3},  {20, 4},  {23, 5},
                                      {30, 6},  {37, 7},  {44, 8},  {50, 9},  {56, 10},
                                      {62, 11}, {65, 12}, {72, 13}, {75, 14}, {78, 15}};
  for (size_t i = 0; i + 1 < std::size(kRanges); ++i) {
    if (format < kRanges[i].first || format >= kRanges[i + 1].first) continue;
    const unsigned index = format - kRanges[i].first;
    // UNORM SNORM USCALED SSCALED UINT SINT [FLOAT], or UINT SINT FLOAT of 32 bits.
    const unsigned number = typed_format(kRanges[i].data_format, 4).bits[0] == 32
                                ? (index == 2 ? 7 : 4 + index)
                                : (index == 6 ? 7 : index);
    return typed_format(kRanges[i].data_format, number);
  }
  // Image formats: 8, 8_8 and 8_8_8_8 in sRGB; 16-bit colours.
  if (format >= 128 && format <= 130) return typed_format(format == 128 ? 1 : format == 129 ? 3 : 10, 9);
  if (format >= 133 && format <= 136) return typed_format(16 + format - 133, 0);
  return {};
}

uint32_t component_to_register(const TypedFormat& format, unsigned component, uint32_t bits) {
  const unsigned width = format.bits[component];
  const long double top = static_cast<long double>((uint64_t{1} << width) - 1);
  const long double signed_top = static_cast<long double>((uint64_t{1} << (width - 1)) - 1);
  const int64_t negative_too = signed_value(bits, width);
  switch (format.number) {
    case Number::kUnorm:
      return single(bits / top);
    case Number::kSnorm:
      return single(std::fmax(static_cast<long double>(negative_too) / signed_top, -1.0L));
    case Number::kUscaled:
      return single(bits);
    case Number::kSscaled:
      return single(static_cast<long double>(negative_too));
    case Number::kUint:
      return bits;
    case Number::kSint:
      return static_cast<uint32_t>(negative_too);
    case Number::kSnormOgl:
      return single((2 * static_cast<long double>(negative_too) + 1) / top);
    case Number::kSrgb: {
      const long double encoded = bits / top;
      if (component == 3) return single(encoded);
      return single(encoded <= 0.04045L ? encoded / 12.92L : std::pow((encoded + 0.055L) / 1.055L, 2.4L));
    }
    case Number::kFloat:
      break;
  }
  if (width == 32) return bits;
  return widened(float_format(width), bits);
}

uint32_t component_from_register(const TypedFormat& format, unsigned component, uint32_t value) {
  const unsigned width = format.bits[component];
  const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  const int64_t top = static_cast<int64_t>(mask);
  const int64_t signed_top = top / 2;
  // Scaled values are rounded to nearest even and clamped to the range.
  const auto rounded_within = [&](long double scale, long double add, int64_t low, int64_t high) -> uint32_t {
    const float x = std::bit_cast<float>(value);
    if (std::isnan(x)) return 0;
    const long double scaled = static_cast<long double>(x) * scale + add;
    if (scaled <= static_cast<long double>(low)) return static_cast<uint32_t>(low) & mask;
    if (scaled >= static_cast<long double>(high)) return static_cast<uint32_t>(high) & mask;
    return static_cast<uint32_t>(static_cast<int64_t>(std::nearbyintl(scaled))) & mask;
  };
  switch (format.number) {
    case Number::kUnorm:
      return rounded_within(static_cast<long double>(top), 0, 0, top);
    case Number::kSnorm:
      return rounded_within(static_cast<long double>(signed_top), 0, -signed_top, signed_top);
    case Number::kUscaled:
      return rounded_within(1, 0, 0, top);
    case Number::kSscaled:
      return rounded_within(1, 0, -signed_top - 1, signed_top);
    case Number::kSnormOgl:
      return rounded_within(static_cast<long double>(top) / 2, -0.5L, -signed_top - 1, signed_top);
    case Number::kUint:
      return value > mask ? mask : value;
    case Number::kSint: {
      const int64_t x = static_cast<int32_t>(value);
      const int64_t kept = x < -signed_top - 1 ? -signed_top - 1 : x > signed_top ? signed_top : x;
      return static_cast<uint32_t>(kept) & mask;
    }
    case Number::kSrgb: {
      if (component == 3) return rounded_within(static_cast<long double>(top), 0, 0, top);
      const float x = std::bit_cast<float>(value);
      if (std::isnan(x) || x <= 0) return 0;
      if (x >= 1) return mask;
      const long double linear = static_cast<long double>(x);
      const long double encoded =
          linear <= 0.0031308L ? linear * 12.92L : 1.055L * std::pow(linear, 1 / 2.4L) - 0.055L;
      return static_cast<uint32_t>(std::nearbyintl(encoded * static_cast<long double>(top)));
    }
    case Number::kFloat:
      break;
  }
  if (width == 32) return value;
  const Format f = float_format(width);
  const uint64_t result = converted(kSingle, value, {}, f, {});
  if (width == 16) return static_cast<uint32_t>(result);
  // Unsigned floats have no negative values.
  if (is_nan(kSingle, value)) return mask;
  return is_negative(f, result) ? 0 : static_cast<uint32_t>(result) & mask;
}

}  // namespace rigel::vgpu::exec::reference
