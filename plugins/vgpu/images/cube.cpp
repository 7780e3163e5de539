#include "plugins/vgpu/images/cube.hpp"

#include <algorithm>
#include <cstdlib>

namespace rigel::vgpu::images {
namespace {

// Axis of space that an axis of a face is parallel to, and its direction.
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

CubeTexel wrap_to_face(int64_t size, const CubeTexel& texel) {
  // Twice the distance from the cube's centre. The surface is at distance `size`.
  int64_t across = 2 * texel.x + 1 - size, down = 2 * texel.y + 1 - size, out = size;
  const auto fold = [&](int64_t& coordinate) {
    const int64_t excess = std::abs(coordinate) - size;
    if (excess < 0) return;
    out = size - std::min(excess, 2 * size - 1);
    coordinate = coordinate < 0 ? -size : size;
  };
  fold(across);
  fold(down);
  const FaceAxes& source = kFaces[texel.face];
  int64_t space[3];
  space[source.across.axis] = source.across.sign * across;
  space[source.down.axis] = source.down.sign * down;
  space[source.out.axis] = source.out.sign * out;
  unsigned face = 0;
  while (space[kFaces[face].out.axis] != kFaces[face].out.sign * size) ++face;
  const auto index = [&](const SpaceAxis& axis) { return (axis.sign * space[axis.axis] + size - 1) / 2; };
  return {face, index(kFaces[face].across), index(kFaces[face].down)};
}

}  // namespace rigel::vgpu::images
