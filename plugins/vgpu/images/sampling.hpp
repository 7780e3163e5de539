// Sampling: the texels that a sample or gather reads for given coordinates, and their weights.
//
// Arithmetic: coordinates are fixed-point numbers with eight fractional bits of a texel, rounded to nearest
// (TRUNC_COORD: down). The fractions are the weights of a filter; those of one axis add up to 256. Levels
// of detail also have eight fractional bits. The manuals document this, but not how the hardware rounds
// sums. Here a sum is exact and rounded once to single precision. docs/internals/images.md lists what is
// approximate.
//
// Anisotropic filters follow the Vulkan specification ("Scale Factor Operation", "Texel Anisotropic
// Filtering"). A sample is the mean of several probes along the longer gradient; each probe is a sample at
// a finer level. Cubes: texels past an edge are those of the next face ("Cube Map Edge Handling").
//
// Threads: any; pure functions.
#pragma once

#include <cstdint>

#include "plugins/vgpu/images/resource.hpp"

namespace rigel::vgpu::images {

struct Tap {
  TexelPlace place;  ///< Level and layer are those of the whole surface.
  bool is_border = false;
  double weight = 1;  ///< The weights of a filter add up to 1.
};

constexpr unsigned kMaxTaps = 24;  // two levels, four texels each; a cube corner counts as three texels

struct Taps {
  unsigned count = 0;
  Tap taps[kMaxTaps];
};

/// The area of an image that a sample covers.
struct Footprint {
  int32_t lod = 0;      ///< In 1/256 of a level, without the sampler's bias and limits.
  unsigned probes = 1;  ///< Number of probes whose mean is the sample.
  double line[3] = {};  ///< Vector along which the probes are placed, in coordinates.
};

/// A lane's request.
struct Lookup {
  double coordinates[3] = {};  ///< x, y, and z of a volume.
  float layer = 0;             ///< Layer of an array, or face of a cube. 0 if the instruction has none.
  int32_t offset[3] = {};      ///< In texels.
  Footprint footprint;
};

/// Returns a level of detail in 1/256 of a level. NaN becomes 0.
int32_t fixed_lod(double lod);

/// Returns the maximum number of probes of a sample. 1: the filter is not anisotropic.
unsigned max_probes(const Resource& resource, const Sampler& sampler);

/// Returns the footprint of gradients along two directions, in the sampler's coordinates.
Footprint footprint_of(const Resource& resource, const Sampler& sampler, const float (&gradients)[2][3]);

Lookup probe_of(const Lookup& lookup, unsigned probe);

/// Limits a lane's level of detail to the ranges of sampler and resource. The result counts from the
/// resource's first level.
int32_t limited_lod(const Resource& resource, const Sampler& sampler, int32_t lod);

/// Finds the texels of a sample, or of one of its probes. Integers are not blended: they have the nearest
/// texel.
void find_taps(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps);

/// Finds the four texels of a gather, in the order of the result.
void find_gathered(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps);

/// Returns a border texel in memory order, or in the order of the result if border_in_result_order is set.
void border_texel(const Resource& resource, Border border, uint32_t (&components)[4]);

/// Returns the result of DEPTH_COMPARE_FUNC.
bool compares(uint8_t function, float reference, float texel);

}  // namespace rigel::vgpu::images
