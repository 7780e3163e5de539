// Which texels lie beyond the edges of a cube's faces, in the model: by a table of which edges meet.
#pragma once

#include <cstdint>
#include <vector>

namespace rigel::vgpu::exec::reference {

struct CubeTexel {
  int64_t face = 0;  ///< +x, -x, +y, -y, +z, -z
  int64_t x = 0, y = 0;
};

/// The texels that stand for one of a face, which may lie beyond it: one, or the three around a corner. Of these the
/// face's own is the first.
std::vector<CubeTexel> texels_of_cube(int64_t size, const CubeTexel& texel);

}  // namespace rigel::vgpu::exec::reference
