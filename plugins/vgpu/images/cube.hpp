// Adjacency of a cube's faces: the texel of another face that a position past an edge refers to.
//
// Numbers and orientations of faces are those of graphics APIs and of V_CUBEID, V_CUBESC and V_CUBETC (the
// Vulkan specification's "Cube Map Face Selection").
//
// Threads: any; pure functions.
#pragma once

#include <cstdint>

namespace rigel::vgpu::images {

struct CubeTexel {
  unsigned face = 0;  ///< +x, -x, +y, -y, +z, -z
  int64_t x = 0, y = 0;
};

/// Returns the face and position of a texel that may be past at most one edge of its face.
CubeTexel wrap_to_face(int64_t size, const CubeTexel& texel);

}  // namespace rigel::vgpu::images
