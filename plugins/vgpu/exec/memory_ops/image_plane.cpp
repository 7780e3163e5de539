#include "plugins/vgpu/exec/memory_ops/image_plane.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/vector/lanes.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"
#include "plugins/vgpu/images/sampling.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using images::Clamp;
using images::Number;

// Formats by their conversion to four numbers.
enum class Kind : uint8_t { kBytes, kFloats, kOther };

Kind kind_of(images::TexelFormat format) {
  constexpr uint8_t k8 = 1, k32 = 4, k8888 = 10, k32x2 = 11, k32x4 = 14;
  if (format.number == Number::kUnorm && (format.data == k8888 || format.data == k8)) return Kind::kBytes;
  const bool words = format.data == k32 || format.data == k32x2 || format.data == k32x4;
  return format.number == Number::kFloat && words ? Kind::kFloats : Kind::kOther;
}

bool is_plain(Clamp clamp) {
  return clamp == Clamp::kWrap || clamp == Clamp::kMirror || clamp == Clamp::kLastTexel ||
         clamp == Clamp::kBorder;
}

// One axis of a filter. Each lane has a texel and, for linear filters, the next texel and its weight in
// 1/256.
template <unsigned W>
struct Axis {
  alignas(64) int32_t texel[2][W];
  alignas(64) int32_t fraction[W];
};

constexpr int32_t kFarTexels = 1 << 21;  // below this limit, 1/256 texels fit in 32 bits

// Applies the clamp mode to texel indices that may be out of range.
template <unsigned W>
void clamp_texels(Clamp clamp, int32_t size, const int32_t* indices, int32_t* clamped) {
  const int32_t last = size - 1;
  if (clamp == Clamp::kLastTexel || clamp == Clamp::kBorder) {
    for (unsigned lane = 0; lane < W; ++lane) clamped[lane] = std::min(std::max(indices[lane], 0), last);
    return;
  }
  const int32_t period = clamp == Clamp::kMirror ? 2 * size : size;
  if ((period & (period - 1)) == 0) {
    for (unsigned lane = 0; lane < W; ++lane) {
      const int32_t texel = indices[lane] & (period - 1);
      clamped[lane] = texel <= last ? texel : 2 * last + 1 - texel;
    }
    return;
  }
  const auto divisor = static_cast<double>(period);
  for (unsigned lane = 0; lane < W; ++lane) {
    const double rest = indices[lane] - divisor * std::floor(indices[lane] / divisor);
    const auto texel = static_cast<int32_t>(rest);
    clamped[lane] = texel <= last ? texel : 2 * last + 1 - texel;
  }
}

// Finds the texels of an axis. They are in range in all lanes, including inactive ones. Returns false if an
// active lane's coordinate is far away, not a number, or at the border.
template <unsigned W>
bool find_axis(const uint32_t* coordinates, uint32_t size, Clamp clamp, const images::Sampler& sampler,
               uint64_t exec, Axis<W>& axis) {
  constexpr double kFar = kFarTexels;
  const double scale = sampler.unnormalized ? 1 : size;
  const double half = sampler.truncates ? 0 : 0.5;
  const bool linear = sampler.linear_mag;
  const int32_t shift = linear ? 128 : 0, fraction_mask = linear ? 255 : 0;
  alignas(64) int32_t index[2][W], unusual[W];
  for (unsigned lane = 0; lane < W; ++lane) {
    double texels = static_cast<double>(std::bit_cast<float>(coordinates[lane])) * scale;
    texels = texels > -kFar ? texels : -kFar;  // NaN included
    texels = texels < kFar ? texels : kFar;
    index[0][lane] = static_cast<int32_t>(std::floor(texels * 256 + half));
  }
  for (unsigned lane = 0; lane < W; ++lane) {
    const int32_t whole = index[0][lane], shifted = whole - shift;
    unusual[lane] = (whole <= -kFarTexels * 256 ? 1 : 0) | (whole >= kFarTexels * 256 ? 1 : 0);
    index[0][lane] = shifted >> 8;
    index[1][lane] = (shifted >> 8) + 1;
    axis.fraction[lane] = shifted & fraction_mask;
  }
  for (unsigned n = 0; n < (linear ? 2 : 1); ++n) {
    clamp_texels<W>(clamp, static_cast<int32_t>(size), index[n], axis.texel[n]);
    if (clamp != Clamp::kBorder) continue;
    for (unsigned lane = 0; lane < W; ++lane) {
      const int32_t counts = n == 0 || axis.fraction[lane] != 0 ? 1 : 0;
      unusual[lane] |= axis.texel[n][lane] != index[n][lane] ? counts : 0;
    }
  }
  int32_t any = 0;
  for (unsigned lane = 0; lane < W; ++lane) any |= unusual[lane];
  if (any == 0) return true;
  int32_t any_active = 0;
  for_lanes<W>(exec, [&](unsigned lane) { any_active |= unusual[lane]; });
  return any_active == 0;
}

// Layout of a plane. A texel's offset from the base has a part that depends on x and a part that depends on
// y: the size of preceding blocks, which are added, and bits to invert within a block. In row layouts a
// block is one texel. All offsets are below 4 GiB.
struct PlaneLayout {
  uint64_t base = 0, bytes = 0;
  images::TiledLayout::Plane tiled;
};

bool lay_out(const images::Resource& resource, PlaneLayout& layout) {
  const uint32_t level = resource.first_level, layer = resource.first_layer;
  const uint32_t width = resource.width(0), height = resource.height(0);
  if (resource.tiled) {
    layout.tiled = resource.tiled->plane(level, layer);
    layout.base = layout.tiled.base;
    const auto& [base, flips, x, y] = layout.tiled;
    // Up to the end of the last row's last block, which contains all inverted bits.
    layout.bytes = uint64_t{(height - 1) >> y.block_bits} * y.block_bytes +
                   (uint64_t{(width - 1) >> x.block_bits} + 1) * x.block_bytes;
  } else {
    const uint32_t element = resource.surface.element_bytes;
    layout.base = resource.address({level, 0, 0, layer, 0});
    const uint64_t pitch = height > 1 ? resource.address({level, 0, 1, layer, 0}) - layout.base : 0;
    layout.bytes = pitch * (height - 1) + uint64_t{width} * element;
    layout.tiled.x.block_bytes = element;
    layout.tiled.y.block_bytes = static_cast<uint32_t>(pitch);
  }
  return layout.bytes < uint64_t{1} << 32;
}

template <unsigned W>
struct Part {
  alignas(64) uint32_t blocks[W], flips[W];
};

template <unsigned W>
void find_part(const images::TiledLayout::Plane::Side& side, const int32_t* texel, Part<W>& part) {
  for (unsigned lane = 0; lane < W; ++lane)
    part.blocks[lane] = (static_cast<uint32_t>(texel[lane]) >> side.block_bits) * side.block_bytes;
  for (unsigned lane = 0; lane < W; lane += kLanes) {
    const auto at = load<U32>(reinterpret_cast<const std::byte*>(texel + lane));
    U32 flips{};
    for (unsigned i = 0; i < side.count; ++i)
      flips ^= bits_as<U32>((at & (1u << side.bits[i])) != 0) & side.flips[i];
    store(reinterpret_cast<std::byte*>(part.flips + lane), flips);
  }
}

// Texel offsets of each lane from the plane's base.
template <unsigned W>
struct Offsets {
  alignas(64) uint32_t by_texel[4][W];
};

template <unsigned W>
void find_offsets(const PlaneLayout& layout, bool tiled, unsigned count, const Axis<W>& x, const Axis<W>& y,
                  Offsets<W>& offsets) {
  const auto& side_x = layout.tiled.x;
  const auto& side_y = layout.tiled.y;
  if (!tiled) {
    for (unsigned n = 0; n < count; ++n) {
      for (unsigned lane = 0; lane < W; ++lane) {
        offsets.by_texel[n][lane] = static_cast<uint32_t>(x.texel[n & 1][lane]) * side_x.block_bytes +
                                    static_cast<uint32_t>(y.texel[n >> 1][lane]) * side_y.block_bytes;
      }
    }
    return;
  }
  Part<W> columns[2], rows[2];
  for (unsigned n = 0; n < (count == 4 ? 2 : 1); ++n) {
    find_part<W>(side_x, x.texel[n], columns[n]);
    find_part<W>(side_y, y.texel[n], rows[n]);
  }
  for (unsigned n = 0; n < count; ++n) {
    const Part<W>& column = columns[n & 1];
    const Part<W>& line = rows[n >> 1];
    for (unsigned lane = 0; lane < W; ++lane) {
      offsets.by_texel[n][lane] = column.blocks[lane] + line.blocks[lane] +
                                  (column.flips[lane] ^ line.flips[lane] ^ layout.tiled.flips);
    }
  }
}

// Texels of all lanes, per memory component. A texel is loaded with one access.
template <unsigned W>
struct Texels {
  // By texel and component. Byte formats have all components of a texel in the first.
  alignas(64) uint32_t words[4][4][W];

  void load(unsigned bytes, unsigned count, const std::byte* host, const Offsets<W>& offsets) {
    for (unsigned n = 0; n < count; ++n) {
      const auto address_of = [&](unsigned lane) { return host + offsets.by_texel[n][lane]; };
      if (bytes == 1) {
        for (unsigned lane = 0; lane < W; ++lane)
          words[n][0][lane] = static_cast<uint32_t>(*address_of(lane));
      } else {
        with_dwords(bytes / 4,
                    [&](auto dwords) { load_each<W, dwords.value>(words[n][0], kAllLanes<W>, address_of); });
      }
    }
  }
};

// Returns a byte divided by 255, rounded once. The first of the two products is exact.
constexpr float unorm(float byte) {
  return byte * 0x1.01p-8f + byte * 0x1.010102p-24f;
}
static_assert([] {
  for (int byte = 0; byte < 256; ++byte) {
    if (unorm(static_cast<float>(byte)) != static_cast<float>(byte) / 255) return false;
  }
  return true;
}());

float unorm(uint32_t word, unsigned component) {
  return unorm(static_cast<float>(static_cast<int32_t>(word >> 8 * component & 255)));
}

// Computes a component of the results with one rounding. For bytes, intermediate values are exact in double
// precision, so the order of additions does not matter.
template <unsigned W>
void blend_bytes(const Texels<W>& texels, unsigned component, const Axis<W>& x, const Axis<W>& y,
                 uint32_t* result) {
  const auto& words = texels.words;
  for (unsigned lane = 0; lane < W; ++lane) {
    const auto texel = [&](unsigned n) { return static_cast<double>(unorm(words[n][0][lane], component)); };
    const double right = x.fraction[lane] / 256.0, below = y.fraction[lane] / 256.0;
    const double first = texel(0) + (texel(1) - texel(0)) * right;
    const double second = texel(2) + (texel(3) - texel(2)) * right;
    result[lane] = std::bit_cast<uint32_t>(static_cast<float>(first + (second - first) * below));
  }
}

template <unsigned W>
void blend_floats(const Texels<W>& texels, unsigned component, const Axis<W>& x, const Axis<W>& y,
                  uint32_t* result) {
  alignas(64) double sum[W] = {};
  const auto& words = texels.words;
  for (unsigned n = 0; n < 4; ++n) {
    for (unsigned lane = 0; lane < W; ++lane) {
      const int32_t right = x.fraction[lane], below = y.fraction[lane];
      const double weight =
          ((n & 1) != 0 ? right : 256 - right) * ((n >> 1) != 0 ? below : 256 - below) / 65536.0;
      const double part = weight * static_cast<double>(std::bit_cast<float>(words[n][component][lane]));
      // Texels with weight 0 are skipped, because they may be infinite.
      sum[lane] += weight == 0 ? 0 : part;
    }
  }
  for (unsigned lane = 0; lane < W; ++lane) {
    // A single texel is copied exactly.
    const bool single = (x.fraction[lane] | y.fraction[lane]) == 0;
    result[lane] =
        single ? words[0][component][lane] : std::bit_cast<uint32_t>(static_cast<float>(sum[lane]));
  }
}

template <unsigned W>
void find_component(Kind kind, bool linear, const Texels<W>& texels, unsigned component, const Axis<W>& x,
                    const Axis<W>& y, uint32_t* result) {
  if (linear) {
    kind == Kind::kBytes ? blend_bytes<W>(texels, component, x, y, result)
                         : blend_floats<W>(texels, component, x, y, result);
  } else if (kind == Kind::kBytes) {
    for (unsigned lane = 0; lane < W; ++lane)
      result[lane] = std::bit_cast<uint32_t>(unorm(texels.words[0][0][lane], component));
  } else {
    std::copy_n(texels.words[0][component], W, result);
  }
}

template <unsigned W>
[[maybe_unused]] void report_texels(const Wave& wave, const PlaneLayout& layout,
                                    const images::Resource& resource, unsigned count,
                                    const Offsets<W>& offsets, uint64_t exec) {
  LaneAccesses accesses;
  accesses.bytes = resource.surface.element_bytes;
  accesses.lanes = exec;
  for (unsigned n = 0; n < count; ++n) {
    for (unsigned lane = 0; lane < W; ++lane) accesses.at[lane] = layout.base + offsets.by_texel[n][lane];
    checks::access_memory(wave, accesses);
  }
}

template <unsigned W>
bool sample(const void* site, Wave* wave, const PlaneSample& sample, uint64_t exec) {
  const images::Resource& resource = sample.resource;
  PlaneLayout layout;
  if (!lay_out(resource, layout)) return false;
  const std::byte* const host =
      kChecked ? wave->memory->find_undefined_in_bounds(site, layout.base, layout.bytes, Access::kRead)
               : wave->memory->find(site, layout.base, layout.bytes, Access::kRead);
  if (host == nullptr) return false;
  Axis<W> x, y;
  if (!find_axis<W>(sample.x, resource.width(0), sample.sampler.clamp[0], sample.sampler, exec, x))
    return false;
  if (!find_axis<W>(sample.y, resource.height(0), sample.sampler.clamp[1], sample.sampler, exec, y))
    return false;

  const Kind kind = kind_of(resource.format);
  const unsigned components = images::components_of(resource.format);
  const bool linear = sample.sampler.linear_mag;
  const unsigned count = linear ? 4 : 1;
  Offsets<W> offsets;
  find_offsets<W>(layout, resource.tiled.has_value(), count, x, y, offsets);
  if constexpr (kChecked) {
    if (checks::observes_accesses(*wave)) report_texels<W>(*wave, layout, resource, count, offsets, exec);
  }
  Texels<W> texels;
  texels.load(resource.surface.element_bytes, count, host, offsets);
  alignas(64) uint32_t values[W];
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t* const result = sample.results[i];
    if (result == nullptr) continue;
    const uint8_t select = resource.select[i];
    const unsigned component = select - 4u;
    if (select >= 4 && component < components) {
      find_component<W>(kind, linear, texels, component, x, y, values);
    } else {
      const bool is_one = select == 1 || component == 3;
      std::fill_n(values, W, is_one ? images::one(resource.format) : 0);
    }
    for_lanes<W>(exec, [&](unsigned lane) { result[lane] = values[lane]; });
  }
  return true;
}

}  // namespace

bool is_plane_sample(const images::Resource& resource, const images::Sampler& sampler) {
  return resource.type == images::ResourceType::k2D && !resource.is_null &&
         kind_of(resource.format) != Kind::kOther && sampler.mip_filter == 0 &&
         sampler.linear_mag == sampler.linear_min && sampler.reduction == images::Reduction::kBlend &&
         is_plain(sampler.clamp[0]) && is_plain(sampler.clamp[1]) &&
         images::max_probes(resource, sampler) == 1;
}

bool sample_plane(const void* site, Wave* wave, const PlaneSample& plane, uint64_t exec) {
  return wave->layout.wave_size == 64 ? sample<64>(site, wave, plane, exec)
                                      : sample<32>(site, wave, plane, exec);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
