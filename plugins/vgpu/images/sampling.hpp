// From coordinates to texels: which texels a sample or a gather reads, and how much each of them counts.
//
// Arithmetic. A coordinate becomes a fixed-point number with eight fractional bits of a texel, rounded to the nearest
// (TRUNC_COORD: down). A filter's weights are the fractions, so that those of one axis add up to 256, and levels of
// detail have eight fractional bits as well. That is what the manuals document; how the hardware rounds sums is not, so
// a sum here is exact up to one rounding, to single precision. docs/internals/images.md lists what is approximate.
//
// Anisotropic filters: as the Vulkan specification has them ("Scale Factor Operation", "Texel Anisotropic Filtering"): a
// sample is the mean of several probes along the longer gradient, each of them a sample of its own at a finer level.
// Cubes: texels beyond an edge are those of the next face (its "Cube Map Edge Handling").
//
// Pure functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/vgpu/images/resource.hpp"

namespace rigel::vgpu::images {

/// One texel of a filter.
struct Tap {
  TexelPlace place;  ///< As the surface counts: level and layer of the whole.
  bool is_border = false;
  double weight = 1;  ///< All of a filter's add up to 1.
};

constexpr unsigned kMostTaps = 24;  // two levels of four texels of a cube, each of them beyond a corner

struct Taps {
  unsigned count = 0;
  Tap taps[kMostTaps];
};

/// What a sample covers.
struct Footprint {
  int32_t lod = 0;      ///< In 1/256 of a level, without the sampler's bias and limits.
  unsigned probes = 1;  ///< More than one: their mean is the sample.
  double line[3] = {};  ///< What they lie along, in coordinates
};

/// What a lane asks for.
struct Lookup {
  double at[3] = {};  ///< x, y, and z of a volume, …
  float layer = 0;    ///< … or the layer of an array, or the face of a cube; 0: the instruction has none.
  int32_t offset[3] = {};  ///< In texels
  Footprint footprint;
};

/// In 1/256 of a level; numbers that are none are 0.
int32_t fixed_lod(double lod);

/// How many probes a sample may have; 1: its filter is not anisotropic.
unsigned most_probes(const Resource& resource, const Sampler& sampler);

/// What gradients along two directions cover, in coordinates as the sampler has them.
Footprint footprint_of(const Resource& resource, const Sampler& sampler, const float (&gradients)[2][3]);

/// One of the probes of a lookup's footprint.
Lookup probe_of(const Lookup& lookup, unsigned probe);

/// A lane's level of detail within the limits of sampler and resource; counted from the resource's first level.
int32_t limited_lod(const Resource& resource, const Sampler& sampler, int32_t lod);

/// The texels of a sample, or of one of its probes. Integers are not blended: the nearest texel counts.
void find_taps(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps);

/// The four texels of a gather, in the order of its result.
void find_gathered(const Resource& resource, const Sampler& sampler, const Lookup& lookup, Taps& taps);

/// A border texel, in memory's order; resources whose borders are as they are seen have it in the order of the result.
void border_texel(const Resource& resource, Border border, uint32_t (&components)[4]);

/// Whether `reference` compares to the texel as DEPTH_COMPARE_FUNC says.
bool compares(uint8_t function, float reference, float texel);

}  // namespace rigel::vgpu::images
