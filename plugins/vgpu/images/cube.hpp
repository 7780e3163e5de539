// A cube's faces, where they meet: which texel of another face lies beyond an edge.
//
// Faces are numbered and turned as those of all graphics interfaces, and as V_CUBEID, V_CUBESC and V_CUBETC have them
// (the Vulkan specification's "Cube Map Face Selection"). Pure; any thread.
#pragma once

#include <cstdint>

namespace rigel::vgpu::images {

struct CubeTexel {
  unsigned face = 0;  ///< +x, -x, +y, -y, +z, -z
  int64_t x = 0, y = 0;
};

/// A texel that may lie beyond one edge of its face, at most, on the face where it is.
CubeTexel folded(int64_t size, const CubeTexel& texel);

}  // namespace rigel::vgpu::images
