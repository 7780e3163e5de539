#include "plugins/vgpu/images/texel_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "plugins/vgpu/images/halves.hpp"

namespace rigel::vgpu::images {
namespace {

// Widths of the components, lowest bits first, by DATA_FORMAT.
struct Layout {
  uint8_t count;
  uint8_t bits[4];
};
constexpr Layout kLayouts[] = {
    {0, {}},                // none
    {1, {8}},               // 8
    {1, {16}},              // 16
    {2, {8, 8}},            // 8_8
    {1, {32}},              // 32
    {2, {16, 16}},          // 16_16
    {3, {11, 11, 10}},      // 10_11_11
    {3, {10, 11, 11}},      // 11_11_10
    {4, {2, 10, 10, 10}},   // 10_10_10_2
    {4, {10, 10, 10, 2}},   // 2_10_10_10
    {4, {8, 8, 8, 8}},      // 8_8_8_8
    {2, {32, 32}},          // 32_32
    {4, {16, 16, 16, 16}},  // 16_16_16_16
    {3, {32, 32, 32}},      // 32_32_32
    {4, {32, 32, 32, 32}},  // 32_32_32_32
    {0, {}},                // reserved
    {3, {5, 6, 5}},         // 5_6_5: images only from here on
    {4, {5, 5, 5, 1}},      // 1_5_5_5
    {4, {1, 5, 5, 5}},      // 5_5_5_1
    {4, {4, 4, 4, 4}},      // 4_4_4_4
    {2, {24, 8}},           // 8_24
    {2, {8, 24}},           // 24_8
};

const Layout& layout_of(TexelFormat format) {
  return kLayouts[format.data < std::size(kLayouts) ? format.data : 0];
}

// gfx10's buffer formats in order: each layout has six, seven or three number formats.
// kSix: without float, kSeven: with float, kWide: uint, sint and float, kFour: without scaled.
enum Kinds : uint8_t { kSix, kSeven, kWide, kFour, kOnlyFloat };
struct Group {
  uint8_t data;
  Kinds kinds;
};
constexpr Group kGroups[] = {{1, kSix},   {2, kSeven},  {3, kSix},   {4, kWide}, {5, kSeven},
                             {6, kSeven}, {7, kSeven},  {8, kSix},   {9, kSix},  {10, kSix},
                             {11, kWide}, {12, kSeven}, {13, kWide}, {14, kWide}};
constexpr Group kCompactGroups[] = {{1, kSix},       {2, kSeven},     {3, kSix},   {4, kWide}, {5, kSeven},
                                    {6, kOnlyFloat}, {7, kOnlyFloat}, {8, kFour},  {9, kSix},  {10, kSix},
                                    {11, kWide},     {12, kSeven},    {13, kWide}, {14, kWide}};
constexpr Number kSevenNumbers[] = {Number::kUnorm, Number::kSnorm, Number::kUscaled, Number::kSscaled,
                                    Number::kUint,  Number::kSint,  Number::kFloat};
constexpr Number kWideNumbers[] = {Number::kUint, Number::kSint, Number::kFloat};
constexpr Number kFourNumbers[] = {Number::kUnorm, Number::kSnorm, Number::kUint, Number::kSint};
constexpr Number kFloatNumbers[] = {Number::kFloat};

constexpr std::span<const Number> numbers_of(Kinds kinds) {
  switch (kinds) {
    case kSix:
      return std::span(kSevenNumbers).first<6>();
    case kSeven:
      return kSevenNumbers;
    case kWide:
      return kWideNumbers;
    case kFour:
      return kFourNumbers;
    case kOnlyFloat:
      break;
  }
  return kFloatNumbers;
}

// Buffer formats count from 1.
TexelFormat format_of(std::span<const Group> groups, uint32_t format) {
  uint32_t first = 1;
  for (const Group& group : groups) {
    const std::span<const Number> numbers = numbers_of(group.kinds);
    if (format >= first && format - first < numbers.size()) return {group.data, numbers[format - first]};
    first += static_cast<uint32_t>(numbers.size());
  }
  return {};
}

// Image-only formats from this encoding on. Empty entries are not supported.
constexpr uint32_t kFirstOfImages = 128;
constexpr TexelFormat kFormatsOfImages[] = {
    {1, Number::kSrgb},
    {3, Number::kSrgb},
    {10, Number::kSrgb},  // 8, 8_8, 8_8_8_8
    {},
    {},  // 6E4, 5_9_9_9
    {16, Number::kUnorm},
    {17, Number::kUnorm},
    {18, Number::kUnorm},
    {19, Number::kUnorm},
    {},
    {},
    {},                   // 4_4, 1, 1_REVERSED
    {4, Number::kFloat},  // 32_FLOAT_CLAMP
    {20, Number::kUnorm},
    {20, Number::kUint},
    {21, Number::kUnorm},
    {21, Number::kUint},
};

int32_t sign_extended(uint32_t value, unsigned bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

// Unsigned floats of 10 and 11 bits have a five-bit exponent and no sign. For other widths the float format
// is invalid, and components are copied unchanged.
bool is_small_float(unsigned width) {
  return width == 10 || width == 11;
}

float float_from_small(uint32_t value, unsigned bits) {
  return float_from_half(value << (15 - bits));
}

// Rounds to nearest even once; a conversion through half precision would round twice.
uint32_t small_from_float(float value, unsigned bits) {
  if (std::isnan(value)) return (1u << bits) - 1;
  if (std::signbit(value)) return 0;
  const unsigned kept = bits - 5;  // mantissa bits
  const uint32_t infinity = 31u << kept;
  const uint32_t single = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = single >> 23;
  // For denormals, the implicit bit becomes explicit and the mantissa is shifted by the exponent's deficit.
  const bool normal = exponent >= 113;
  const unsigned shift = 23 - kept + (normal ? 0 : 113 - exponent);
  if (shift > 24) return 0;  // less than half of the smallest
  const uint32_t mantissa = normal ? single : (single & 0x7fffff) | 0x800000;
  const uint32_t rounded = (mantissa + (1u << (shift - 1)) - 1 + (mantissa >> shift & 1)) >> shift;
  return std::min(normal ? rounded - (112u << kept) : rounded, infinity);
}

// IEC 61966-2-1.
double linear_from_srgb(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}
double srgb_from_linear(double value) {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * std::pow(value, 1 / 2.4) - 0.055;
}

// sRGB applies to three components; the fourth is linear.
Number number_of(TexelFormat format, unsigned component) {
  return format.number == Number::kSrgb && component == 3 ? Number::kUnorm : format.number;
}

uint32_t component(uint32_t bits, unsigned width, Number number) {
  const auto top = static_cast<float>((uint64_t{1} << width) - 1);
  const auto signed_top = static_cast<float>((uint64_t{1} << (width - 1)) - 1);
  const auto as_signed = static_cast<float>(sign_extended(bits, width));
  switch (number) {
    case Number::kUnorm:
      return std::bit_cast<uint32_t>(static_cast<float>(bits) / top);
    case Number::kSnorm:
      return std::bit_cast<uint32_t>(std::max(as_signed / signed_top, -1.0f));
    case Number::kUscaled:
      return std::bit_cast<uint32_t>(static_cast<float>(bits));
    case Number::kSscaled:
      return std::bit_cast<uint32_t>(as_signed);
    case Number::kUint:
      return bits;
    case Number::kSint:
      return static_cast<uint32_t>(sign_extended(bits, width));
    case Number::kSnormOgl:
      return std::bit_cast<uint32_t>((as_signed * 2 + 1) / top);
    case Number::kSrgb:
      return std::bit_cast<uint32_t>(
          static_cast<float>(linear_from_srgb(static_cast<double>(bits) / static_cast<double>(top))));
    case Number::kFloat:
      break;
  }
  if (width == 16) return std::bit_cast<uint32_t>(float_from_half(bits));
  return is_small_float(width) ? std::bit_cast<uint32_t>(float_from_small(bits, width)) : bits;
}

// Rounds to the nearest integer within bounds. NaN becomes 0.
int64_t bounded(double value, double low, double high) {
  if (std::isnan(value)) return 0;
  const double kept = std::clamp(value, low, high);
  const double below = std::floor(kept), rest = kept - below;  // ties to even
  const auto whole = static_cast<int64_t>(below);
  return whole + (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0) ? 1 : 0);
}

uint32_t bits_of_component(uint32_t value, unsigned width, Number number) {
  const double top = static_cast<double>((uint64_t{1} << width) - 1);
  const double signed_top = static_cast<double>((uint64_t{1} << (width - 1)) - 1);
  const auto real = static_cast<double>(std::bit_cast<float>(value));
  const auto mask = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  switch (number) {
    case Number::kUnorm:
      return static_cast<uint32_t>(bounded(real * top, 0, top));
    case Number::kSnorm:
      return static_cast<uint32_t>(bounded(real * signed_top, -signed_top, signed_top)) & mask;
    case Number::kUscaled:
      return static_cast<uint32_t>(bounded(real, 0, top));
    case Number::kSscaled:
      return static_cast<uint32_t>(bounded(real, -signed_top - 1, signed_top)) & mask;
    case Number::kUint:
      return std::min(value, mask);
    case Number::kSint:
      return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int32_t>(value),
                                                       -static_cast<int64_t>(signed_top) - 1,
                                                       static_cast<int64_t>(signed_top))) &
             mask;
    case Number::kSnormOgl:
      return static_cast<uint32_t>(bounded((real * top - 1) / 2, -signed_top - 1, signed_top)) & mask;
    case Number::kSrgb:
      return static_cast<uint32_t>(
          bounded(srgb_from_linear(std::isnan(real) ? 0 : std::clamp(real, 0.0, 1.0)) * top, 0, top));
    case Number::kFloat:
      break;
  }
  if (width == 16) return half_from_float(std::bit_cast<float>(value));
  return is_small_float(width) ? small_from_float(std::bit_cast<float>(value), width) : value & mask;
}

}  // namespace

TexelFormat unified_format(uint32_t format) {
  if (format < kFirstOfImages) return format_of(kGroups, format);
  const uint32_t of_images = format - kFirstOfImages;
  return of_images < std::size(kFormatsOfImages) ? kFormatsOfImages[of_images] : TexelFormat{};
}

TexelFormat compact_format(uint32_t format) {
  constexpr uint32_t kFirstCompact = 64, k6e4 = 3;  // gfx11 lacks 6E4.
  if (format < kFirstCompact) return format_of(kCompactGroups, format);
  const uint32_t of_images = format - kFirstCompact;
  return unified_format(kFirstOfImages + of_images + (of_images >= k6e4 ? 1 : 0));
}

unsigned bytes_of(TexelFormat format) {
  const Layout& layout = layout_of(format);
  unsigned bits = 0;
  for (unsigned i = 0; i < layout.count; ++i) bits += layout.bits[i];
  return bits / 8;
}

unsigned components_of(TexelFormat format) {
  return layout_of(format).count;
}

void unpack(TexelFormat format, const uint32_t (&element)[4], uint32_t (&components)[4]) {
  const Layout& layout = layout_of(format);
  for (unsigned i = 0; i < 4; ++i) components[i] = i == 3 && layout.count != 0 ? one(format) : 0;
  unsigned at = 0;
  for (unsigned i = 0; i < layout.count; ++i) {
    const unsigned width = layout.bits[i];
    const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
    components[i] = component(element[at / 32] >> at % 32 & mask, width, number_of(format, i));
    at += width;
  }
}

void pack(TexelFormat format, const uint32_t (&components)[4], uint32_t (&element)[4]) {
  const Layout& layout = layout_of(format);
  for (uint32_t& dword : element) dword = 0;
  unsigned at = 0;
  for (unsigned i = 0; i < layout.count; ++i) {
    element[at / 32] |= bits_of_component(components[i], layout.bits[i], number_of(format, i)) << at % 32;
    at += layout.bits[i];
  }
}

}  // namespace rigel::vgpu::images
