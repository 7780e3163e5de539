#include "plugins/vgpu/images/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plugins/vgpu/images/cube.hpp"

namespace rigel::vgpu::images {
namespace {

constexpr int64_t kOne = 256;  // 1 as a fixed-point number

struct Axis {
  int64_t index[2] = {};  // kBorderIndex: the border
  double weight[2] = {1, 0};
  unsigned count = 1;
};
constexpr int64_t kBorderIndex = INT64_MIN;

int64_t modulo(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

// Applies a clamp mode to an index that may be out of range.
int64_t clamped(Clamp clamp, int64_t index, int64_t size) {
  switch (clamp) {
    case Clamp::kWrap:
      return modulo(index, size);
    case Clamp::kMirror: {
      const int64_t at = modulo(index, 2 * size);
      return at < size ? at : 2 * size - 1 - at;
    }
    case Clamp::kMirrorOnceLastTexel:
      return std::min(index < 0 ? -1 - index : index, size - 1);
    case Clamp::kMirrorOnceBorder:
    case Clamp::kMirrorOnceHalfBorder:
      if (index < 0) index = -1 - index;
      return index < size ? index : kBorderIndex;
    case Clamp::kBorder:
    case Clamp::kHalfBorder:
      return index >= 0 && index < size ? index : kBorderIndex;
    case Clamp::kLastTexel:
      break;
  }
  return std::clamp<int64_t>(index, 0, size - 1);
}

// Converts a coordinate to 1/256 texel.
int64_t fixed(double texels, bool truncates) {
  constexpr double kFar = 0x1p40;  // floats above this have no fraction
  if (std::isnan(texels)) return 0;
  const double scaled = std::clamp(texels, -kFar, kFar) * static_cast<double>(kOne);
  return static_cast<int64_t>(std::floor(truncates ? scaled : scaled + 0.5));
}

// Without a clamp mode, indices may be out of range.
Axis axis_of(double texels, int32_t offset, int64_t size, std::optional<Clamp> clamp, bool truncates,
             bool linear) {
  // Half-border modes clamp coordinates to the image, whose outermost half texels blend with the border.
  if (clamp == Clamp::kHalfBorder || clamp == Clamp::kMirrorOnceHalfBorder) {
    if (clamp == Clamp::kMirrorOnceHalfBorder) texels = std::fabs(texels);
    texels = std::clamp(texels, 0.0, static_cast<double>(size));
    if (!linear) clamp = Clamp::kLastTexel;
  }
  const int64_t at = fixed(texels, truncates) + offset * kOne;
  const auto index = [&](int64_t texel) { return clamp ? clamped(*clamp, texel, size) : texel; };
  Axis axis;
  if (!linear) {
    axis.index[0] = index(at >> 8);
    return axis;
  }
  const int64_t low = at - kOne / 2;
  const int64_t fraction = low & (kOne - 1);
  axis.index[0] = index(low >> 8);
  axis.index[1] = index((low >> 8) + 1);
  axis.weight[0] = static_cast<double>(kOne - fraction) / kOne;
  axis.weight[1] = static_cast<double>(fraction) / kOne;
  axis.count = fraction == 0 ? 1 : 2;
  return axis;
}

uint32_t layer_of(const Resource& resource, double layer) {
  const double whole = std::nearbyint(std::isnan(layer) ? 0.0 : layer);
  const uint32_t count = resource.last_layer - resource.first_layer;
  return resource.first_layer + static_cast<uint32_t>(std::clamp(whole, 0.0, static_cast<double>(count)));
}

// Coordinates number a cube's faces in steps of eight per cube, memory in steps of six.
struct Face {
  unsigned cube = 0, face = 0;

  explicit Face(double number) {
    const auto whole =
        static_cast<unsigned>(std::clamp(std::nearbyint(std::isnan(number) ? 0.0 : number), 0.0, 65535.0));
    cube = whole / 8;
    face = std::min(whole % 8, 5u);
  }
  double layer() const { return cube * 6 + face; }
};

// Whether a linear filter continues past a face's edges. Faces that are not squares do not meet.
bool is_seamless(const Resource& resource, const Sampler& sampler, uint32_t level) {
  return resource.is_cube() && sampler.seamless && resource.width(level) == resource.height(level);
}

struct Axes {
  Axis x, y, z;
  bool folds = false;  // indices of x and y may be past the edges of a cube's face
};

Axes axes_of(const Resource& resource, const Sampler& sampler, const Lookup& lookup, uint32_t level,
             bool linear) {
  const bool cube = resource.is_cube();
  const auto texels = [&](unsigned i, uint32_t size) {
    const double at =
        cube ? lookup.coordinates[i] - 1 : lookup.coordinates[i];  // coordinates of faces are from 1 to 2
    return sampler.unnormalized ? at : at * size;
  };
  Axes axes;
  axes.folds = linear && is_seamless(resource, sampler, level);
  const auto axis = [&](unsigned i, uint32_t size, bool is_linear) {
    std::optional<Clamp> clamp;
    if (!axes.folds) clamp = cube && sampler.seamless ? Clamp::kLastTexel : sampler.clamp[i];
    return axis_of(texels(i, size), lookup.offset[i], size, clamp, sampler.truncates, is_linear);
  };
  axes.x = axis(0, resource.width(level), linear);
  if (resource.has_height()) axes.y = axis(1, resource.height(level), linear);
  if (resource.is_volume()) {
    const bool z_linear = sampler.z_filter == 0 ? linear : sampler.z_filter == 2;
    axes.z = axis(2, resource.depth(level), z_linear);
  } else {
    axes.z.index[0] = layer_of(resource, cube                  ? Face(lookup.layer).layer()
                                         : resource.is_array() ? static_cast<double>(lookup.layer)
                                                               : 0.0);
  }
  return axes;
}

Tap tap_of(const Resource& resource, uint32_t level, int64_t x, int64_t y, int64_t z, double weight) {
  Tap tap;
  tap.weight = weight;
  tap.is_border = x == kBorderIndex || y == kBorderIndex || z == kBorderIndex;
  if (!tap.is_border) {
    tap.place = {resource.first_level + level, static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                 static_cast<uint32_t>(z), 0};
  }
  return tap;
}

// Returns a texel of a seamless cube that may be past an edge of its face.
Tap cube_tap(const Resource& resource, uint32_t level, const Face& face, int64_t x, int64_t y,
             double weight) {
  Face next = face;
  const CubeTexel texel = wrap_to_face(resource.width(level), {face.face, x, y});
  next.face = texel.face;
  return tap_of(resource, level, texel.x, texel.y, layer_of(resource, next.layer()), weight);
}

void add_cube_taps(const Resource& resource, uint32_t level, const Face& face, int64_t x, int64_t y,
                   double weight, Taps& taps) {
  const int64_t last = resource.width(level) - 1;
  const int64_t near_x = std::clamp<int64_t>(x, 0, last), near_y = std::clamp<int64_t>(y, 0, last);
  const auto add = [&](int64_t texel_x, int64_t texel_y, double share) {
    taps.taps[taps.count++] = cube_tap(resource, level, face, texel_x, texel_y, share);
  };
  if (x == near_x || y == near_y) return add(x, y, weight);
  // Past a corner there is no texel: the three texels around it count a third each.
  add(near_x, near_y, weight / 3);
  add(x, near_y, weight / 3);
  add(near_x, y, weight / 3);
}

void add_level(const Resource& resource, const Sampler& sampler, const Lookup& lookup, uint32_t level,
               bool linear, double share, Taps& taps) {
  const Axes axes = axes_of(resource, sampler, lookup, level, linear);
  for (unsigned k = 0; k < axes.z.count; ++k) {
    for (unsigned j = 0; j < axes.y.count; ++j) {
      for (unsigned i = 0; i < axes.x.count; ++i) {
        const double weight = share * axes.x.weight[i] * axes.y.weight[j] * axes.z.weight[k];
        const int64_t x = axes.x.index[i], y = axes.y.index[j];
        if (axes.folds) {
          add_cube_taps(resource, level, Face(lookup.layer), x, y, weight, taps);
        } else {
          taps.taps[taps.count++] = tap_of(resource, level, x, y, axes.z.index[k], weight);
        }
      }
    }
  }
}

}  // namespace

int32_t fixed_lod(double lod) {
  if (std::isnan(lod)) return 0;
  return static_cast<int32_t>(std::floor(std::clamp(lod, -64.0, 64.0) * static_cast<double>(kOne) + 0.5));
}

unsigned max_probes(const Resource& resource, const Sampler& sampler) {
  const bool is_isotropic = sampler.unnormalized || is_integer(resource.format) ||
                            (sampler.aniso_override && resource.levels() == 1);
  return is_isotropic ? 1 : sampler.max_probes;
}

Footprint footprint_of(const Resource& resource, const Sampler& sampler, const float (&gradients)[2][3]) {
  const double extents[] = {static_cast<double>(resource.width(0)), static_cast<double>(resource.height(0)),
                            static_cast<double>(resource.depth(0))};
  const unsigned axes = resource.is_volume() ? 3 : resource.has_height() ? 2 : 1;
  double squares[2] = {};  // of the gradients' lengths
  for (unsigned direction = 0; direction < 2; ++direction) {
    for (unsigned i = 0; i < axes; ++i) {
      const double texels = gradients[direction][i] * (sampler.unnormalized ? 1 : extents[i]);
      squares[direction] += texels * texels;
    }
  }
  const unsigned longer = squares[1] >= squares[0] ? 1 : 0;
  const double longest = std::max({0.0, squares[0], squares[1]});
  // Ratio of the gradients' lengths, limited by the sampler.
  const double max_ratio = max_probes(resource, sampler);
  const double ratio = std::sqrt(longest / squares[1 - longer]);
  const double anisotropy = ratio > 1 ? std::min(ratio, max_ratio) : 1;
  Footprint footprint;
  footprint.lod = fixed_lod(std::log2(longest) / 2 - std::log2(anisotropy));
  footprint.probes = static_cast<unsigned>(std::ceil(anisotropy));
  for (unsigned i = 0; i < axes; ++i) footprint.line[i] = static_cast<double>(gradients[longer][i]);
  return footprint;
}

Lookup probe_of(const Lookup& lookup, unsigned probe) {
  if (lookup.footprint.probes == 1) return lookup;
  // Evenly along the line, excluding its ends.
  const double along = (probe + 1.0) / (lookup.footprint.probes + 1.0) - 0.5;
  Lookup result = lookup;
  for (unsigned i = 0; i < 3; ++i) result.coordinates[i] += lookup.footprint.line[i] * along;
  return result;
}

int32_t limited_lod(const Resource& resource, const Sampler& sampler, int32_t lod) {
  const auto first = static_cast<int32_t>(resource.first_level * kOne);
  const int32_t minimum =
      std::max(static_cast<int32_t>(sampler.min_lod), static_cast<int32_t>(resource.min_lod) - first);
  return std::min(std::max(lod, minimum), static_cast<int32_t>(sampler.max_lod));
}

void find_taps(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps) {
  taps.count = 0;
  const int32_t lod =
      sampler.unnormalized ? 0 : limited_lod(resource, sampler, lookup.footprint.lod + sampler.lod_bias);
  const bool linear = (lod <= 0 ? sampler.linear_mag : sampler.linear_min) && !is_integer(resource.format);
  const auto last_level = static_cast<int32_t>((resource.levels() - 1) * kOne);
  const int32_t clamped_lod = std::clamp(lod, 0, last_level);
  switch (sampler.mip_filter) {
    case 0:
      return add_level(resource, sampler, lookup, 0, linear, 1, taps);
    case 2: {
      const auto level = static_cast<uint32_t>(clamped_lod >> 8);
      const int32_t fraction = is_integer(resource.format) ? 0 : clamped_lod & (kOne - 1);
      add_level(resource, sampler, lookup, level, linear, static_cast<double>(kOne - fraction) / kOne, taps);
      if (fraction != 0) {
        add_level(resource, sampler, lookup, level + 1, linear, static_cast<double>(fraction) / kOne, taps);
      }
      return;
    }
    default:
      return add_level(resource, sampler, lookup,
                       static_cast<uint32_t>(std::min(clamped_lod + 128, last_level) >> 8), linear, 1, taps);
  }
}

void find_gathered(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps) {
  taps.count = 0;
  const int32_t lod =
      sampler.unnormalized ? 0 : limited_lod(resource, sampler, lookup.footprint.lod + sampler.lod_bias);
  const auto last_level = static_cast<int32_t>((resource.levels() - 1) * kOne);
  const uint32_t level =
      sampler.mip_filter == 0
          ? 0
          : static_cast<uint32_t>(std::min(std::clamp(lod, 0, last_level) + 128, last_level) >> 8);
  const Axes axes = axes_of(resource, sampler, lookup, level, true);
  constexpr unsigned kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  for (const auto& [i, j] : kOrder) {
    const int64_t x = axes.x.index[i], y = axes.y.index[resource.has_height() ? j : 0];
    if (axes.folds) {
      const unsigned count = taps.count;
      add_cube_taps(resource, level, Face(lookup.layer), x, y, 1, taps);
      taps.count = count + 1;  // at a corner, keep the texel of the face itself
      continue;
    }
    taps.taps[taps.count++] = tap_of(resource, level, x, y, axes.z.index[0], 1);
  }
}

void border_texel(const Resource& resource, Border border, uint32_t (&components)[4]) {
  const uint32_t one_of_format = one(resource.format);
  const uint32_t color = border == Border::kOpaqueWhite ? one_of_format : 0;
  const uint32_t alpha = border == Border::kTransparentBlack ? 0 : one_of_format;
  for (unsigned i = 0; i < 4; ++i) components[i] = resource.border_order[i] == 3 ? alpha : color;
}

bool compares(uint8_t function, float reference, float texel) {
  const bool less = reference<texel, equal = reference == texel, greater = reference> texel;
  switch (function) {
    case 0:
      return false;
    case 1:
      return less;
    case 2:
      return equal;
    case 3:
      return less || equal;
    case 4:
      return greater;
    case 5:
      return !equal;
    case 6:
      return greater || equal;
    default:
      return true;
  }
}

}  // namespace rigel::vgpu::images
