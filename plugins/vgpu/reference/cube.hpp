// Texels past the edges of a cube's faces, from a table of adjacent edges.
#pragma once

#include <cstdint>
#include <vector>

namespace rigel::vgpu::exec::reference {

struct CubeTexel {
  int64_t face = 0;  ///< +x, -x, +y, -y, +z, -z
  int64_t x = 0, y = 0;
};

/// Returns the texels for coordinates that may be outside of the face: one, or the three around a corner, of
/// which the face's own is the first.
std::vector<CubeTexel> texels_of_cube(int64_t size, const CubeTexel& texel);

}  // namespace rigel::vgpu::exec::reference
