// Image formats of all chips of gfx8, gfx9 and gfx10: support, element sizes, and hardware encodings.
// Constant tables (image_format.cpp); pure; any thread.
//
// Sources: the HSA Programmer's Reference Manual (channel orders and types), the register headers of amdgpu
// and Mesa (encodings), and the formats that ROCr supports.
#pragma once

#include <hsa/hsa_ext_image.h>

#include <cstdint>

namespace rigel::gfx {

/// Source of a result's channel: SQ_SEL_*.
enum class Select : uint8_t { k0 = 0, k1 = 1, kX = 4, kY = 5, kZ = 6, kW = 7 };

/// IMG_DATA_FORMAT_* of gfx8 and gfx9, and a component of gfx10's combined formats.
enum class DataFormat : uint8_t {
  kInvalid = 0,
  k8 = 1,
  k16 = 2,
  k8_8 = 3,
  k32 = 4,
  k16_16 = 5,
  k2_10_10_10 = 9,
  k8_8_8_8 = 10,
  k32_32 = 11,
  k16_16_16_16 = 12,
  k32_32_32_32 = 14,
  k5_6_5 = 16,
  k1_5_5_5 = 17,
};

/// IMG_NUM_FORMAT_*.
enum class NumberFormat : uint8_t { kUnorm = 0, kSnorm = 1, kUint = 4, kSint = 5, kFloat = 7, kSrgb = 9 };

struct ImageFormat {
  uint32_t capability = 0;    ///< bits of hsa_ext_image_capability_t; 0: not supported
  uint32_t element_size = 0;  ///< bytes
  DataFormat data = DataFormat::kInvalid;
  NumberFormat number = NumberFormat::kUnorm;
  Select select[4] = {};  ///< source in memory of red, green, blue and alpha
  /// TEX_BC_SWIZZLE: position of the border colour's alpha. gfx9 and later.
  uint32_t border_swizzle = 0;
};

/// Bytes of an element; 0 for other formats.
uint32_t element_size(DataFormat format);

/// Returns the format for images of a geometry. For any values; capability is 0 if not supported.
ImageFormat image_format(uint32_t geometry, const hsa_ext_image_format_t& format);

}  // namespace rigel::gfx
