#include "core/image/texel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>

namespace rigel {
namespace {

constexpr uint8_t kRed = 0, kGreen = 1, kBlue = 2, kAlpha = 3, kNothing = 4;

/// Channels in memory order.
struct Order {
  uint32_t count;
  uint8_t channels[4];
  bool standard = false;  ///< all but alpha are sRGB
};

constexpr Order kOrders[] = {
    {1, {kAlpha}},
    {1, {kRed}},
    {2, {kRed, kNothing}},
    {2, {kRed, kGreen}},
    {3, {kRed, kGreen, kNothing}},
    {2, {kRed, kAlpha}},
    {3, {kRed, kGreen, kBlue}},
    {4, {kRed, kGreen, kBlue, kNothing}},
    {4, {kRed, kGreen, kBlue, kAlpha}},
    {4, {kBlue, kGreen, kRed, kAlpha}},
    {4, {kAlpha, kRed, kGreen, kBlue}},
    {4, {kAlpha, kBlue, kGreen, kRed}},
    {3, {kRed, kGreen, kBlue}, true},
    {4, {kRed, kGreen, kBlue, kNothing}, true},
    {4, {kRed, kGreen, kBlue, kAlpha}, true},
    {4, {kBlue, kGreen, kRed, kAlpha}, true},
    {1, {kRed}},  // INTENSITY, in all channels
    {1, {kRed}},  // LUMINANCE, in all but alpha
    {1, {kRed}},  // DEPTH
};

float real(const void* value, uint8_t channel) {
  float result = 0;
  if (channel != kNothing)
    std::memcpy(&result, static_cast<const std::byte*>(value) + channel * sizeof result, sizeof result);
  return result;
}

uint32_t integer(const void* value, uint8_t channel) {
  return std::bit_cast<uint32_t>(real(value, channel));
}

/// Converts 0 to 1 to the range from 0 to the maximum of `bits` bits.
uint32_t unorm(float value, uint32_t bits) {
  const double most = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  return std::isnan(value) ? 0 : static_cast<uint32_t>(std::nearbyint(std::clamp(value, 0.0f, 1.0f) * most));
}

/// Converts -1 to 1 to the range from the negative to the positive maximum of `bits` bits; the minimum is not
/// used.
uint32_t snorm(float value, uint32_t bits) {
  const double most = std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
  if (std::isnan(value)) return 0;
  return static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(std::clamp(value, -1.0f, 1.0f) * most)));
}

template <class T>
uint32_t saturated_unsigned(uint32_t value) {
  return std::min<uint32_t>(value, std::numeric_limits<T>::max());
}

template <class T>
uint32_t saturated_signed(uint32_t value) {
  return static_cast<uint32_t>(std::clamp<int32_t>(static_cast<int32_t>(value), std::numeric_limits<T>::min(),
                                                   std::numeric_limits<T>::max()));
}

/// One channel: its bits, in the low end, and its size in bytes.
struct Channel {
  uint32_t bits;
  uint32_t size;
};

std::optional<Channel> encode_channel(uint32_t type, const void* value, uint8_t channel, bool standard) {
  const auto light = [&] {
    const float linear = real(value, channel);
    return standard && channel != kAlpha ? standard_from_linear(linear) : linear;
  };
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
      return Channel{snorm(light(), 8), 1};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
      return Channel{snorm(light(), 16), 2};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
      return Channel{unorm(light(), 8), 1};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
      return Channel{unorm(light(), 16), 2};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24:
      return Channel{unorm(light(), 24), 4};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8:
      return Channel{saturated_signed<int8_t>(integer(value, channel)), 1};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16:
      return Channel{saturated_signed<int16_t>(integer(value, channel)), 2};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8:
      return Channel{saturated_unsigned<uint8_t>(integer(value, channel)), 1};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16:
      return Channel{saturated_unsigned<uint16_t>(integer(value, channel)), 2};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT:
      return Channel{integer(value, channel), 4};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
      return Channel{half_from_float(light()), 2};
    default:
      return std::nullopt;
  }
}

/// Encodes types with three channels in one word, blue lowest: bits of red, green and blue.
std::optional<Texel> encode_packed(const void* value, const uint32_t (&bits)[3]) {
  uint32_t word = 0;
  for (uint8_t channel : {kRed, kGreen, kBlue})
    word = word << bits[channel] | unorm(real(value, channel), bits[channel]);
  Texel texel;
  texel.size = bits[0] + bits[1] + bits[2] > 16 ? 4 : 2;
  std::memcpy(texel.bytes.data(), &word, texel.size);
  return texel;
}

}  // namespace

float standard_from_linear(float linear) {
  if (!(linear > 0)) return 0;  // NaN, too
  if (linear >= 1) return 1;
  const double value = linear;
  return static_cast<float>(value < 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055);
}

uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to infinity from here on
  uint32_t scaled = 0;  // in units of the half's last place, with 13 additional bits
  uint32_t dropped = 13;
  if (magnitude >= 0x38800000) {
    scaled = magnitude - (112u << 23);  // the difference of the exponents' biases
  } else {
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return sign;  // less than half of the minimum
    scaled = (magnitude & 0x7fffff) | 0x800000;
    dropped = 126 - exponent;
  }
  const uint32_t kept = scaled >> dropped;
  const uint32_t rest = scaled & ((1u << dropped) - 1);
  const uint32_t half = 1u << (dropped - 1);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  return static_cast<uint16_t>(sign | (kept + (up ? 1 : 0)));
}

std::optional<Texel> encode_texel(const hsa_ext_image_format_t& format, const void* value) {
  if (format.channel_order >= std::size(kOrders)) return std::nullopt;
  const Order& order = kOrders[format.channel_order];
  const bool three = order.count == 3;
  switch (format.channel_type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555:
      return three ? encode_packed(value, {5, 5, 5}) : std::nullopt;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565:
      return three ? encode_packed(value, {5, 6, 5}) : std::nullopt;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010:
      return three ? encode_packed(value, {10, 10, 10}) : std::nullopt;
    default:
      break;
  }
  Texel texel;
  for (const uint8_t channel : std::span(order.channels).first(order.count)) {
    const auto encoded = encode_channel(format.channel_type, value, channel, order.standard);
    if (!encoded) return std::nullopt;
    std::memcpy(texel.bytes.data() + texel.size, &encoded->bits, encoded->size);
    texel.size += encoded->size;
  }
  return texel;
}

}  // namespace rigel
