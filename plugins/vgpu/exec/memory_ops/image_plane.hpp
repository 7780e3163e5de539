// Fast path of image samples: vectors of lanes for single-level 2D images of common formats. All other
// samples use the general path, whose results are bit-identical.
#pragma once

#include <cstdint>

#include "plugins/vgpu/exec/simd.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/images/resource.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

struct PlaneSample {
  const images::Resource& resource;
  const images::Sampler& sampler;
  const uint32_t* x = nullptr;  ///< Rows of coordinates.
  const uint32_t* y = nullptr;
  /// Rows of red, green, blue and alpha; null if not selected. They may be the rows of coordinates.
  uint32_t* results[4] = {};
};

/// Whether the fast path supports this resource and sampler.
bool is_plane_sample(const images::Resource& resource, const images::Sampler& sampler);

/// Samples the plane. Returns false, without changes, if the lanes need the general path: borders, far
/// coordinates, or texels that are not in one extent.
bool sample_plane(const void* site, Wave* wave, const PlaneSample& sample, uint64_t exec);

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
