#include "plugins/vgpu/images/cube.hpp"

#include <algorithm>
#include <cstdlib>

namespace rigel::vgpu::images {
namespace {

// Which axes of space a face's own are, and whether these run backwards.
struct SpaceAxis {
  unsigned axis;
  int64_t sign;
};
struct FaceAxes {
  SpaceAxis across, down, out;
};
constexpr FaceAxes kFaces[6] = {
    {{2, -1}, {1, -1}, {0, 1}}, {{2, 1}, {1, -1}, {0, -1}}, {{0, 1}, {2, 1}, {1, 1}},
    {{0, 1}, {2, -1}, {1, -1}}, {{0, 1}, {1, -1}, {2, 1}},  {{0, -1}, {1, -1}, {2, -1}},
};

}  // namespace

CubeTexel folded(int64_t size, const CubeTexel& texel) {
  // Twice the distances from the centre of the cube, whose surface is `size` away from it.
  int64_t across = 2 * texel.x + 1 - size, down = 2 * texel.y + 1 - size, out = size;
  const auto fold = [&](int64_t& along) {
    const int64_t beyond = std::abs(along) - size;
    if (beyond < 0) return;
    out = size - std::min(beyond, 2 * size - 1);
    along = along < 0 ? -size : size;
  };
  fold(across);
  fold(down);
  const FaceAxes& from = kFaces[texel.face];
  int64_t space[3];
  space[from.across.axis] = from.across.sign * across;
  space[from.down.axis] = from.down.sign * down;
  space[from.out.axis] = from.out.sign * out;
  unsigned face = 0;
  while (space[kFaces[face].out.axis] != kFaces[face].out.sign * size) ++face;
  const auto index = [&](const SpaceAxis& axis) { return (axis.sign * space[axis.axis] + size - 1) / 2; };
  return {face, index(kFaces[face].across), index(kFaces[face].down)};
}

}  // namespace rigel::vgpu::images
