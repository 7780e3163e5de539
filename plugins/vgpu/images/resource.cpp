#include "plugins/vgpu/images/resource.hpp"

#include <algorithm>

namespace rigel::vgpu::images {
namespace {

constexpr uint32_t bits(uint32_t word, unsigned first, unsigned width) {
  return word >> first & ((1u << width) - 1);
}

constexpr uint32_t kCompressed = 1u << 21;  // COMPRESSION_EN of word 6
constexpr uint32_t kMostLevels = 16;

// BC_SWIZZLE: the border component at each position in memory order.
constexpr uint8_t kBorderOrders[8][4] = {
    {0, 1, 2, 3},  // XYZW
    {0, 3, 1, 2},  // XWYZ
    {3, 2, 1, 0},  // WZYX
    {3, 0, 1, 2},  // WXYZ
    {2, 1, 0, 3},  // ZYXW
    {1, 0, 3, 2},  // YXWZ
    {0, 1, 2, 3}, {0, 1, 2, 3},
};

// Fields whose position depends on the generation.
struct Fields {
  TexelFormat format;
  uint32_t format_number = 0;
  uint32_t width = 0, planes = 0, pitch = 0, last_layer = 0, first_layer = 0, levels = 0;
  uint32_t border_swizzle = 0, min_lod = 0;
  uint32_t height = 0, first_level = 0, last_level = 0;
  uint32_t pitch_of_plane = 0;  // Of images of one plane; 0: not in the resource, or in `pitch`.
};

Fields fields_of(std::span<const uint32_t, 8> w, Generation generation) {
  Fields f;
  f.min_lod = bits(w[1], 8, 12);
  f.height = bits(w[2], 14, 14) + 1;
  f.first_level = bits(w[3], 12, 4);
  f.last_level = bits(w[3], 16, 4);
  if (generation == Generation::kGfx8 || generation == Generation::kGfx9) {
    const bool is_gfx8 = generation == Generation::kGfx8;
    f.format = {static_cast<uint8_t>(bits(w[1], 20, 6)), Number{static_cast<uint8_t>(bits(w[1], 26, 4))}};
    f.format_number = f.format.data;
    f.width = bits(w[2], 0, 14) + 1;
    f.planes = bits(w[4], 0, 13) + 1;
    f.pitch = bits(w[4], 13, is_gfx8 ? 14 : 16) + 1;
    f.first_layer = bits(w[5], 0, 13);
    f.last_layer = is_gfx8 ? bits(w[5], 13, 13) : bits(w[4], 0, 13);
    f.levels = is_gfx8 ? 0 : bits(w[5], 28, 4) + 1;
    f.border_swizzle = is_gfx8 ? 0 : bits(w[4], 29, 3);
    return f;
  }
  if (generation == Generation::kGfx12) {
    f.format_number = bits(w[1], 17, 8);
    f.format = compact_format(f.format_number);
    f.width = (bits(w[1], 30, 2) | bits(w[2], 0, 14) << 2) + 1;
    f.height = bits(w[2], 14, 16) + 1;
    f.planes = bits(w[4], 0, 14) + 1;
    f.last_layer = bits(w[4], 0, 14);
    f.first_layer = bits(w[4], 16, 14);
    f.levels = bits(w[1], 12, 5) + 1;
    f.first_level = bits(w[1], 25, 5);
    f.last_level = bits(w[3], 15, 5);
    f.pitch_of_plane = bits(w[4], 0, 16) + 1;
    f.min_lod = bits(w[5], 26, 6) | bits(w[6], 0, 7) << 6;
    f.border_swizzle = bits(w[3], 25, 3);
    return f;
  }
  const bool is_gfx11 = generation == Generation::kGfx11;
  // From gfx10.3 on, the field of the layers is the pitch of images of one plane.
  if (generation != Generation::kGfx10_1) f.pitch_of_plane = bits(w[4], 0, 14) + 1;
  f.format_number = bits(w[1], 20, is_gfx11 ? 8 : 9);
  f.format = is_gfx11 ? compact_format(f.format_number) : unified_format(f.format_number);
  f.width = (bits(w[1], 30, 2) | bits(w[2], 0, 12) << 2) + 1;
  f.planes = bits(w[4], 0, 13) + 1;
  f.last_layer = bits(w[4], 0, 13);
  f.first_layer = bits(w[4], 16, 13);
  f.levels = (is_gfx11 ? bits(w[1], 16, 4) : bits(w[5], 4, 4)) + 1;
  if (is_gfx11) f.min_lod = bits(w[5], 27, 5) | bits(w[6], 0, 7) << 5;
  f.border_swizzle = bits(w[3], 25, 3);
  return f;
}

}  // namespace

std::string_view decode_resource(std::span<const uint32_t, 8> words, Generation generation,
                                 const TilingConfig* tiling, Resource& resource) {
  resource = {};
  if (std::all_of(words.begin(), words.end(), [](uint32_t word) { return word == 0; })) {
    resource.is_null = true;
    return {};
  }
  const uint32_t type = words[3] >> 28;
  if (type < static_cast<uint32_t>(ResourceType::k1D)) return "image resource is a buffer resource";
  if (type >= static_cast<uint32_t>(ResourceType::k2DMsaa)) return "multisampled image";
  if ((words[6] & kCompressed) != 0) return "image with compressed colours (DCC)";
  const Fields f = fields_of(words, generation);
  resource.type = static_cast<ResourceType>(type);
  resource.format = f.format;
  if (f.format_number == 0) {  // no image is bound
    resource.is_null = true;
    return {};
  }
  const bool is_number = f.format.number <= Number::kFloat || f.format.number == Number::kSrgb;
  if (bytes_of(f.format) == 0 || !is_number)
    return "image format is not supported: block compression, shared exponents or reserved";
  for (unsigned i = 0; i < 4; ++i) resource.select[i] = static_cast<uint8_t>(bits(words[3], 3 * i, 3));
  resource.min_lod = f.min_lod;
  if (f.first_level >= kMostLevels || f.last_level >= kMostLevels) return "image with reserved mip levels";
  resource.first_level = static_cast<uint8_t>(f.first_level);
  resource.last_level = std::max(static_cast<uint8_t>(f.last_level), resource.first_level);
  std::copy_n(kBorderOrders[f.border_swizzle], 4, resource.border_order);
  resource.border_in_result_order = generation == Generation::kGfx8;

  Surface& surface = resource.surface;
  surface.generation = generation;
  surface.base = uint64_t{words[0]} << 8 | uint64_t{bits(words[1], 0, 8)} << 40;
  surface.element_bytes = bytes_of(f.format);
  surface.width = f.width;
  surface.height = resource.has_height() ? f.height : 1;
  surface.volume = resource.is_volume();
  surface.pitch = f.pitch;
  surface.levels =
      static_cast<uint8_t>(std::clamp<uint32_t>(f.levels, resource.last_level + 1u, kMostLevels));
  surface.swizzle_mode = static_cast<uint8_t>(bits(words[3], 20, 5));
  surface.pow2_pad = generation == Generation::kGfx8 && bits(words[3], 25, 1) != 0;
  surface.tiling = tiling;
  if (surface.volume) {
    surface.planes = f.planes;
  } else if (resource.is_array() || resource.is_cube()) {
    resource.first_layer = f.first_layer;
    resource.last_layer = std::max(f.last_layer, f.first_layer);
    surface.planes = std::max(resource.last_layer + 1, generation == Generation::kGfx8 ? f.planes : 1);
  } else {
    const bool has_pitch = f.pitch_of_plane != 0;
    resource.first_layer = resource.last_layer = has_pitch ? 0 : f.first_layer;
    surface.planes = resource.first_layer + 1;
    if (has_pitch) surface.pitch = f.pitch_of_plane;
  }
  if (has_rows(surface)) return unknown_layout(surface);
  const auto layout = TiledLayout::of(surface);
  if (!layout) return layout.error();
  resource.tiled = *layout;
  return {};
}

std::string_view decode_sampler(std::span<const uint32_t, 4> words, Generation generation, Sampler& sampler) {
  for (unsigned i = 0; i < 3; ++i) sampler.clamp[i] = Clamp{static_cast<uint8_t>(bits(words[0], 3 * i, 3))};
  sampler.compare = static_cast<uint8_t>(bits(words[0], 12, 3));
  sampler.unnormalized = bits(words[0], 15, 1) != 0;
  sampler.truncates = bits(words[0], 27, 1) != 0;
  const uint32_t reduction = bits(words[0], 29, 2);
  sampler.reduction = reduction == 1 ? Reduction::kMin : reduction == 2 ? Reduction::kMax : Reduction::kBlend;
  const unsigned lod_bits = generation == Generation::kGfx12 ? 13 : 12;
  sampler.min_lod = bits(words[1], 0, lod_bits);
  sampler.max_lod = bits(words[1], lod_bits, lod_bits);
  sampler.lod_bias = static_cast<int32_t>(words[2] << 18) >> 18;
  sampler.linear_mag = bits(words[2], 20, 1) != 0;
  sampler.linear_min = bits(words[2], 22, 1) != 0;
  if (bits(words[2], 21, 1) != 0 || bits(words[2], 23, 1) != 0)  // *_ANISO_*
    sampler.max_probes = static_cast<uint8_t>(1u << std::min(bits(words[0], 9, 3), 4u));
  sampler.aniso_override = bits(words[2], is_rdna(generation) ? 29 : 31, 1) != 0;
  sampler.seamless = bits(words[0], 28, 1) == 0;
  sampler.z_filter = static_cast<uint8_t>(bits(words[2], 24, 2));
  sampler.mip_filter = static_cast<uint8_t>(bits(words[2], 26, 2));
  sampler.border = static_cast<Border>(words[3] >> 30);
  return sampler.border == Border::kRegister ? "sampler with a border colour from a table"
                                             : std::string_view{};
}

}  // namespace rigel::vgpu::images
