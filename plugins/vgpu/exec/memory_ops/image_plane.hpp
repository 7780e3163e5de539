// Samples of planes by vectors of lanes: what textures mostly are. A level of two dimensions, of the formats that images
// mostly have; everything else is left to the general way, whose results these are to the bit.
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/simd.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/images/resource.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

struct PlaneSample {
  const images::Resource& resource;
  const images::Sampler& sampler;
  const uint32_t* x = nullptr;  ///< Rows of coordinates
  const uint32_t* y = nullptr;
  uint32_t* results[4] =
      {};  ///< Rows of red, green, blue and alpha; null: not asked for. May be those of coordinates.
};

/// Whether planes of the resource can be sampled in this way at all.
bool is_plane_sample(const images::Resource& resource, const images::Sampler& sampler);

/// False: not these lanes, and nothing was done: borders, far coordinates, or texels that lie in more than one piece of
/// memory.
bool sample_plane(const void* site, Wave* wave, const PlaneSample& sample, uint64_t exec);

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
