#include "plugins/vgpu/exec/memory_ops/image_plane.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plugins/vgpu/exec/memory.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using images::Clamp;
using images::Number;

// Formats by how they become four numbers.
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

template <unsigned W>
struct Axis {
  alignas(64) int32_t texel[2][W];
  alignas(64) double weight[2][W];
};

// The texels of an axis. False: a lane has a coordinate that is far away, or sees the border.
template <unsigned W>
bool find_axis(const uint32_t* coordinates, uint32_t size, Clamp clamp, const images::Sampler& sampler,
               uint64_t exec, Axis<W>& axis) {
  constexpr double kFar = 0x1p21;
  const double scale = sampler.unnormalized ? 1 : size;
  const double half = sampler.truncates ? 0 : 0.5;
  const bool linear = sampler.linear_mag;
  const int32_t back = linear ? 128 : 0, fraction_mask = linear ? 255 : 0;
  alignas(64) int32_t low[2][W];
  alignas(64) uint8_t unusual[W];
  for (unsigned lane = 0; lane < W; ++lane) {
    double texels = static_cast<double>(std::bit_cast<float>(coordinates[lane])) * scale;
    texels = texels == texels ? texels : 0;
    unusual[lane] = !(texels > -kFar && texels < kFar);
    texels = std::min(std::max(texels, -kFar), kFar);
    const auto at = static_cast<int32_t>(std::floor(texels * 256 + half)) - back;
    low[0][lane] = at >> 8;
    low[1][lane] = (at >> 8) + 1;
    const int32_t fraction = at & fraction_mask;
    axis.weight[0][lane] = static_cast<double>(256 - fraction) / 256;
    axis.weight[1][lane] = static_cast<double>(fraction) / 256;
  }
  const auto last = static_cast<int32_t>(size) - 1;
  for (unsigned n = 0; n < 2; ++n) {
    if (clamp == Clamp::kLastTexel || clamp == Clamp::kBorder) {
      for (unsigned lane = 0; lane < W; ++lane) {
        const int32_t texel = std::min(std::max(low[n][lane], 0), last);
        const bool counts = n == 0 || axis.weight[1][lane] != 0;
        unusual[lane] |= clamp == Clamp::kBorder && counts && texel != low[n][lane];
        axis.texel[n][lane] = texel;
      }
      continue;
    }
    const double period = clamp == Clamp::kMirror ? 2.0 * size : size;
    for (unsigned lane = 0; lane < W; ++lane) {
      const double rest = low[n][lane] - period * std::floor(low[n][lane] / period);
      const auto texel = static_cast<int32_t>(rest);
      axis.texel[n][lane] = texel <= last ? texel : 2 * last + 1 - texel;
    }
  }
  uint64_t wrong = 0;
  for (unsigned lane = 0; lane < W; ++lane) wrong |= uint64_t{unusual[lane] != 0} << lane;
  return (wrong & exec) == 0;
}

// Where the four texels of each lane lie, from the first of all on; inactive lanes have that one.
template <unsigned W>
struct Places {
  alignas(64) uint64_t offset[4][W];
  uint64_t first = ~uint64_t{0}, end = 0;
};

template <unsigned W>
void find_places(const images::Resource& resource, const Axis<W>& x, const Axis<W>& y, uint64_t exec,
                 Places<W>& places) {
  const uint32_t level = resource.first_level, layer = resource.first_layer;
  const bool rows = images::has_rows(resource.surface);
  const uint64_t origin = resource.address({level, 0, 0, layer, 0});
  const uint64_t pitch =
      rows && resource.height(0) > 1 ? resource.address({level, 0, 1, layer, 0}) - origin : 0;
  const uint64_t bytes = resource.surface.element_bytes;
  for (unsigned n = 0; n < 4; ++n) {
    const int32_t* const tx = x.texel[n & 1];
    const int32_t* const ty = y.texel[n >> 1];
    if (rows) {
      for (unsigned lane = 0; lane < W; ++lane) {
        places.offset[n][lane] =
            origin + static_cast<uint64_t>(ty[lane]) * pitch + static_cast<uint64_t>(tx[lane]) * bytes;
      }
    } else {
      for (uint64_t left = exec; left != 0; left &= left - 1) {
        const unsigned lane = first_lane(left);
        places.offset[n][lane] = resource.address(
            {level, static_cast<uint32_t>(tx[lane]), static_cast<uint32_t>(ty[lane]), layer, 0});
      }
    }
    for (uint64_t left = exec; left != 0; left &= left - 1) {
      const uint64_t va = places.offset[n][first_lane(left)];
      places.first = std::min(places.first, va);
      places.end = std::max(places.end, va + bytes);
    }
  }
  for (unsigned n = 0; n < 4; ++n) {
    for (unsigned lane = 0; lane < W; ++lane)
      places.offset[n][lane] = (exec >> lane & 1) != 0 ? places.offset[n][lane] - places.first : 0;
  }
}

// The texels of all lanes, a number of memory's components each.
template <unsigned W>
struct Texels {
  alignas(64)
      uint32_t words[4][4][W];  // by component and texel; bytes: all components of a texel are in the first

  void load(Kind kind, unsigned bytes, unsigned count, const std::byte* host, const Places<W>& places) {
    for (unsigned n = 0; n < count; ++n) {
      const uint64_t* const offset = places.offset[n];
      if (bytes == 1) {
        for (unsigned lane = 0; lane < W; ++lane)
          words[0][n][lane] = static_cast<uint32_t>(host[offset[lane]]);
        continue;
      }
      for (unsigned c = 0; c < (kind == Kind::kBytes ? 1 : bytes / 4); ++c) {
        for (unsigned lane = 0; lane < W; ++lane)
          words[c][n][lane] = load_as<uint32_t>(host + offset[lane] + c * 4);
      }
    }
  }

  float number(Kind kind, unsigned component, unsigned n, unsigned lane) const {
    if (kind == Kind::kFloats) return std::bit_cast<float>(words[component][n][lane]);
    return static_cast<float>(static_cast<int32_t>(words[0][n][lane] >> 8 * component & 255)) / 255.0f;
  }
};

// A component of the results, exact but for one rounding.
template <unsigned W, Kind kKind>
void blend(const Texels<W>& texels, unsigned component, unsigned count, const Axis<W>& x, const Axis<W>& y,
           uint32_t* result) {
  alignas(64) double sum[W] = {};
  for (unsigned n = 0; n < count; ++n) {
    const double* const wx = x.weight[n & 1];
    const double* const wy = y.weight[n >> 1];
    for (unsigned lane = 0; lane < W; ++lane) {
      const double weight = wx[lane] * wy[lane];
      const double part = weight * static_cast<double>(texels.number(kKind, component, n, lane));
      // What does not count is not looked at: it may be infinite.
      sum[lane] += kKind == Kind::kFloats && weight == 0 ? 0 : part;
    }
  }
  for (unsigned lane = 0; lane < W; ++lane) {
    // A single texel is what it is.
    const bool single = count == 1 || (x.weight[1][lane] == 0 && y.weight[1][lane] == 0);
    result[lane] = std::bit_cast<uint32_t>(single ? texels.number(kKind, component, 0, lane)
                                                  : static_cast<float>(sum[lane]));
  }
}

template <unsigned W>
bool sample(const void* site, Wave* wave, const PlaneSample& sample, uint64_t exec) {
  const images::Resource& resource = sample.resource;
  Axis<W> x, y;
  if (!find_axis<W>(sample.x, resource.width(0), sample.sampler.clamp[0], sample.sampler, exec, x))
    return false;
  if (!find_axis<W>(sample.y, resource.height(0), sample.sampler.clamp[1], sample.sampler, exec, y))
    return false;
  Places<W> places;
  find_places<W>(resource, x, y, exec, places);
  const std::byte* const host =
      wave->memory->find(site, places.first, places.end - places.first, Access::kRead);
  if (host == nullptr) return false;

  const Kind kind = kind_of(resource.format);
  const unsigned components = images::components_of(resource.format);
  const unsigned count = sample.sampler.linear_mag ? 4 : 1;
  Texels<W> texels;
  texels.load(kind, resource.surface.element_bytes, count, host, places);
  alignas(64) uint32_t memory[4][W];
  for (unsigned c = 0; c < 4; ++c) {
    if (c >= components) {
      std::fill_n(memory[c], W, c == 3 ? images::one(resource.format) : 0);
    } else if (kind == Kind::kBytes) {
      blend<W, Kind::kBytes>(texels, c, count, x, y, memory[c]);
    } else {
      blend<W, Kind::kFloats>(texels, c, count, x, y, memory[c]);
    }
  }
  alignas(64) uint32_t constant[W];
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t* const to = sample.results[i];
    if (to == nullptr) continue;
    const uint8_t select = resource.select[i];
    if (select < 4) std::fill_n(constant, W, select == 1 ? images::one(resource.format) : 0);
    const uint32_t* const from = select < 4 ? constant : memory[select - 4];
    for_lanes<W>(exec, [&](unsigned lane) { to[lane] = from[lane]; });
  }
  return true;
}

}  // namespace

bool is_plane_sample(const images::Resource& resource, const images::Sampler& sampler) {
  return resource.type == images::ResourceType::k2D && !resource.is_null &&
         kind_of(resource.format) != Kind::kOther && sampler.mip_filter == 0 &&
         sampler.linear_mag == sampler.linear_min && sampler.reduction == images::Reduction::kBlend &&
         is_plain(sampler.clamp[0]) && is_plain(sampler.clamp[1]);
}

bool sample_plane(const void* site, Wave* wave, const PlaneSample& plane, uint64_t exec) {
  return wave->layout.wave_size == 64 ? sample<64>(site, wave, plane, exec)
                                      : sample<32>(site, wave, plane, exec);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
