#include "backends/common/image_format.hpp"

#include <iterator>

namespace rigel::gfx {
namespace {

using enum Select;

constexpr uint32_t kRead = HSA_EXT_IMAGE_CAPABILITY_READ_ONLY;
constexpr uint32_t kReadOrWrite = kRead | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY;
constexpr uint32_t kReadWrite = kReadOrWrite | HSA_EXT_IMAGE_CAPABILITY_READ_WRITE;

/// A channel type, by number: the size of a channel, or of an element that packs several into a word.
struct ChannelType {
  uint32_t bits;
  NumberFormat number;
  DataFormat packed = DataFormat::kInvalid;
};

constexpr ChannelType kTypes[] = {
    {8, NumberFormat::kSnorm},
    {16, NumberFormat::kSnorm},
    {8, NumberFormat::kUnorm},
    {16, NumberFormat::kUnorm},
    {32, NumberFormat::kUnorm},  // 24 bits; not supported by any order
    {16, NumberFormat::kUnorm, DataFormat::k1_5_5_5},
    {16, NumberFormat::kUnorm, DataFormat::k5_6_5},
    {32, NumberFormat::kUnorm, DataFormat::k2_10_10_10},
    {8, NumberFormat::kSint},
    {16, NumberFormat::kSint},
    {32, NumberFormat::kSint},
    {8, NumberFormat::kUint},
    {16, NumberFormat::kUint},
    {32, NumberFormat::kUint},
    {16, NumberFormat::kFloat},
    {32, NumberFormat::kFloat},
};

constexpr uint32_t type(hsa_ext_image_channel_type_t value) {
  return 1u << value;
}

constexpr uint32_t kNormalized8 =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8);
constexpr uint32_t kNormalized16 =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16);
constexpr uint32_t kIntegers8 =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8);
constexpr uint32_t kWideIntegers =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16) |
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32);
constexpr uint32_t kFloats =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT);
constexpr uint32_t kPacked = type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555) |
                             type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565) |
                             type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010);
constexpr uint32_t kShortPacked =
    type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565);
constexpr uint32_t kReals = kNormalized8 | kNormalized16 | kFloats;
constexpr uint32_t kBytes = kNormalized8 | kIntegers8;
constexpr uint32_t kAny = kReals | kIntegers8 | kWideIntegers;

/// A channel order, by number: the number of channels in memory, supported types, and the channels' selects.
/// ROCr does not support orders without types, even if the hardware does.
struct ChannelOrder {
  uint32_t channels;
  uint32_t types;
  uint32_t capability;
  Select select[4];
  uint32_t border_swizzle;
};

constexpr uint32_t kXyzw = 0, kXwyz = 1, kWxyz = 3, kZyxw = 4, kYxwz = 5;  // TEX_BC_Swizzle_*

constexpr ChannelOrder kOrders[] = {
    {1, kAny, kReadWrite, {k0, k0, k0, kX}, kWxyz},                                    // A
    {1, kAny, kReadWrite, {kX, k0, k0, k1}, kXwyz},                                    // R
    {1, 0, 0, {kX, k0, k0, k1}, kXwyz},                                                // RX
    {2, kAny, kReadWrite, {kX, kY, k0, k1}, kXyzw},                                    // RG
    {2, 0, 0, {kX, kY, k0, k1}, kXyzw},                                                // RGX
    {2, kAny, kReadWrite, {kX, k0, k0, kY}, kXwyz},                                    // RA
    {3, kPacked, kReadWrite, {kZ, kY, kX, k1}, kZyxw},                                 // RGB
    {3, 0, 0, {kZ, kY, kX, k1}, kZyxw},                                                // RGBX
    {4, kAny, kReadWrite, {kX, kY, kZ, kW}, kXyzw},                                    // RGBA
    {4, kBytes, kReadWrite, {kZ, kY, kX, kW}, kZyxw},                                  // BGRA
    {4, kBytes, kReadWrite, {kY, kZ, kW, kX}, kWxyz},                                  // ARGB
    {4, 0, 0, {kY, kX, kW, kZ}, kYxwz},                                                // ABGR
    {3, 0, 0, {kX, kY, kZ, k1}, kXyzw},                                                // SRGB
    {4, 0, 0, {kX, kY, kZ, k1}, kXyzw},                                                // SRGBX
    {4, type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8), kRead, {kX, kY, kZ, kW}, kXyzw},  // SRGBA
    {4, 0, 0, {kZ, kY, kX, kW}, kZyxw},                                                // SBGRA
    {1, kReals, kReadWrite, {kX, kX, kX, kX}, kXyzw},                                  // INTENSITY
    {1, kReals, kReadWrite, {kX, kX, kX, k1}, kXwyz},                                  // LUMINANCE
    {1,
     type(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16) | type(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT),
     kReadOrWrite,
     {kX, k0, k0, k0},
     kXwyz},                             // DEPTH
    {2, 0, 0, {kY, k0, k0, k0}, kXyzw},  // DEPTH_STENCIL
};

bool is_standard(uint32_t order) {
  return order >= HSA_EXT_IMAGE_CHANNEL_ORDER_SRGB && order <= HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA;
}

bool is_depth(uint32_t order) {
  return order == HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH || order == HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL;
}

bool has_geometry(uint32_t geometry, uint32_t order, uint32_t type_bit) {
  switch (geometry) {
    case HSA_EXT_IMAGE_GEOMETRY_1D:
    case HSA_EXT_IMAGE_GEOMETRY_2D:
    case HSA_EXT_IMAGE_GEOMETRY_3D:
    case HSA_EXT_IMAGE_GEOMETRY_1DA:
    case HSA_EXT_IMAGE_GEOMETRY_2DA:
      return true;
    case HSA_EXT_IMAGE_GEOMETRY_1DB:  // buffer instructions support neither
      return !is_standard(order) && (type_bit & kShortPacked) == 0;
    case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH:
    case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH:
      return is_depth(order);
    default:
      return false;
  }
}

DataFormat data_format(uint32_t bits, uint32_t channels) {
  switch (bits * channels) {
    case 8:
      return DataFormat::k8;
    case 16:
      return channels == 1 ? DataFormat::k16 : DataFormat::k8_8;
    case 32:
      return channels == 1 ? DataFormat::k32 : channels == 2 ? DataFormat::k16_16 : DataFormat::k8_8_8_8;
    case 64:
      return channels == 2 ? DataFormat::k32_32 : DataFormat::k16_16_16_16;
    default:
      return DataFormat::k32_32_32_32;
  }
}

}  // namespace

uint32_t element_size(DataFormat format) {
  switch (format) {
    case DataFormat::k8:
      return 1;
    case DataFormat::k16:
    case DataFormat::k8_8:
    case DataFormat::k5_6_5:
    case DataFormat::k1_5_5_5:
      return 2;
    case DataFormat::k32:
    case DataFormat::k16_16:
    case DataFormat::k2_10_10_10:
    case DataFormat::k8_8_8_8:
      return 4;
    case DataFormat::k32_32:
    case DataFormat::k16_16_16_16:
      return 8;
    case DataFormat::k32_32_32_32:
      return 16;
    case DataFormat::kInvalid:
      break;
  }
  return 0;
}

ImageFormat image_format(uint32_t geometry, const hsa_ext_image_format_t& format) {
  if (format.channel_order >= std::size(kOrders) || format.channel_type >= std::size(kTypes)) return {};
  const ChannelOrder& order = kOrders[format.channel_order];
  const ChannelType& channel = kTypes[format.channel_type];
  const uint32_t bit = 1u << format.channel_type;
  if ((order.types & bit) == 0 || !has_geometry(geometry, format.channel_order, bit)) return {};

  ImageFormat result;
  const bool packed = channel.packed != DataFormat::kInvalid;
  result.capability = order.capability;
  result.element_size = channel.bits / 8 * (packed ? 1 : order.channels);
  result.data = packed ? channel.packed : data_format(channel.bits, order.channels);
  result.number = is_standard(format.channel_order) ? NumberFormat::kSrgb : channel.number;
  for (size_t i = 0; i < std::size(result.select); ++i) result.select[i] = order.select[i];
  result.border_swizzle = order.border_swizzle;
  return result;
}

}  // namespace rigel::gfx
