// Decoded image resource and sampler words (T# and S# of the ISA manuals).
//
// Sources: AMD's ISA manuals (GCN 3, Vega, RDNA, RDNA 2), chapters "Image resource" and "Sampler resource";
// Mesa's register databases (gfx8.json, gfx9.json, gfx10.json, gfx103.json); ROCr's resource_gfx11.h and
// resource_gfx12.h; the words that ROCr and backends/gfx*/image.cpp write for images.
//
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plugins/vgpu/images/layout.hpp"
#include "plugins/vgpu/images/surface.hpp"
#include "plugins/vgpu/images/texel_format.hpp"

namespace rigel::vgpu::images {

/// TYPE of a resource.
enum class ResourceType : uint8_t { k1D = 8, k2D, k3D, kCube, k1DArray, k2DArray, k2DMsaa, k2DMsaaArray };

struct Resource {
  bool is_null = false;  ///< Not an image: loads return 0, stores do nothing.
  ResourceType type = ResourceType::k2D;
  Surface surface;
  std::optional<TiledLayout> tiled;  ///< Empty: the surface is linear.
  TexelFormat format;
  uint8_t select[4] = {4, 5, 6, 7};  ///< DST_SEL: 0 and 1 are constants, 4 to 7 the components in memory.
  uint8_t first_level = 0, last_level = 0;
  uint32_t min_lod = 0;                      ///< MIN_LOD, in 1/256 of a level.
  uint32_t first_layer = 0, last_layer = 0;  ///< Not used for volumes.
  /// For each component in memory: the component of the border colour (0: red … 3: alpha) that replaces it.
  uint8_t border_order[4] = {0, 1, 2, 3};
  /// gfx8: DST_SEL does not reorder the components of a border colour.
  bool border_in_result_order = false;

  bool is_array() const { return type == ResourceType::k1DArray || type == ResourceType::k2DArray; }
  bool is_volume() const { return type == ResourceType::k3D; }
  bool is_cube() const { return type == ResourceType::kCube; }
  bool has_height() const { return type != ResourceType::k1D && type != ResourceType::k1DArray; }

  /// Extents of a level in texels. `level` is relative to first_level.
  uint32_t width(uint32_t level) const { return extent(surface.width, level); }
  uint32_t height(uint32_t level) const { return has_height() ? extent(surface.height, level) : 1; }
  uint32_t depth(uint32_t level) const {
    return is_volume() ? extent(surface.planes, level) : last_layer - first_layer + 1;
  }
  uint32_t levels() const { return last_level - first_level + 1u; }
  uint64_t address(const TexelPlace& place) const {
    return tiled ? tiled->address(place) : texel_address(surface, place);
  }

 private:
  uint32_t extent(uint32_t whole, uint32_t level) const {
    const uint32_t halved = whole >> (first_level + level);
    return halved == 0 ? 1 : halved;
  }
};

/// Decodes `words`. Returns an empty text, or why image instructions cannot use the resource. `resource`
/// keeps the pointer `tiling`.
std::string_view decode_resource(std::span<const uint32_t, 8> words, Generation generation,
                                 const TilingConfig* tiling, Resource& resource);

/// CLAMP_X, CLAMP_Y, CLAMP_Z
enum class Clamp : uint8_t {
  kWrap,
  kMirror,
  kLastTexel,
  kMirrorOnceLastTexel,
  kHalfBorder,
  kMirrorOnceHalfBorder,
  kBorder,
  kMirrorOnceBorder,
};

enum class Border : uint8_t { kTransparentBlack, kOpaqueBlack, kOpaqueWhite, kRegister };

/// FILTER_MODE: how the texels of a filter are combined.
enum class Reduction : uint8_t { kBlend, kMin, kMax };

struct Sampler {
  Clamp clamp[3] = {};
  uint8_t compare = 0;  ///< DEPTH_COMPARE_FUNC: never, <, ==, <=, >, !=, >=, always
  bool unnormalized = false;
  bool truncates = false;  ///< TRUNC_COORD: coordinates are rounded down to 1/256 texel, not to nearest.
  Reduction reduction = Reduction::kBlend;
  uint32_t min_lod = 0, max_lod = 0;  ///< In 1/256 of a level.
  int32_t lod_bias = 0;               ///< In 1/256 of a level.
  bool linear_mag = false, linear_min = false;
  uint8_t max_probes = 1;       ///< Maximum probes of an anisotropic filter: MAX_ANISO_RATIO.
  bool aniso_override = false;  ///< Images with one level have no anisotropic filter.
  bool seamless = true;         ///< Linear filters of cubes continue on the next face and ignore clamp modes.
  uint8_t z_filter = 0;         ///< 0: as the other axes; 1: nearest; 2: linear.
  uint8_t mip_filter = 0;       ///< 0: first level only; 1: nearest level; 2: blend of two levels.
  Border border = Border::kTransparentBlack;
};

/// Decodes `words`. Returns an empty text, or why instructions cannot use the sampler.
std::string_view decode_sampler(std::span<const uint32_t, 4> words, Generation generation, Sampler& sampler);

}  // namespace rigel::vgpu::images
