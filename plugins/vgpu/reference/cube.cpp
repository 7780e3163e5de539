#include "plugins/vgpu/reference/cube.hpp"

#include <algorithm>
#include <string_view>

namespace rigel::vgpu::exec::reference {
namespace {

/// The face beyond an edge, by which edge it is entered (left, right, top, bottom), and whether both count along that
/// edge in the same direction.
struct Neighbour {
  int64_t face;
  char edge;
  bool same;
};
// Of each face, beyond its left, right, top and bottom edge.
constexpr Neighbour kNeighbours[6][4] = {
    {{4, 'r', true}, {5, 'l', true}, {2, 'r', false}, {3, 'r', true}},    // +x
    {{5, 'r', true}, {4, 'l', true}, {2, 'l', true}, {3, 'l', false}},    // -x
    {{1, 't', true}, {0, 't', false}, {5, 't', false}, {4, 't', true}},   // +y
    {{1, 'b', false}, {0, 'b', true}, {4, 'b', true}, {5, 'b', false}},   // -y
    {{1, 'r', true}, {0, 'l', true}, {2, 'b', true}, {3, 't', true}},     // +z
    {{0, 'r', true}, {1, 'l', true}, {2, 't', false}, {3, 'b', false}}};  // -z

/// The texel that is `beyond` an edge, 1 being the first one, and at `along` it.
CubeTexel over_edge(int64_t size, int64_t face, char edge, int64_t beyond, int64_t along) {
  const Neighbour& next = kNeighbours[face][std::string_view("lrtb").find(edge)];
  const int64_t depth = std::min(beyond, size) - 1, place = next.same ? along : size - 1 - along;
  switch (next.edge) {
    case 'l':
      return {next.face, depth, place};
    case 'r':
      return {next.face, size - 1 - depth, place};
    case 't':
      return {next.face, place, depth};
    default:
      return {next.face, place, size - 1 - depth};
  }
}

}  // namespace

std::vector<CubeTexel> texels_of_cube(int64_t size, const CubeTexel& texel) {
  const auto& [face, x, y] = texel;
  const int64_t near_x = std::clamp<int64_t>(x, 0, size - 1), near_y = std::clamp<int64_t>(y, 0, size - 1);
  const bool beside = x != near_x, above = y != near_y;
  std::vector<CubeTexel> texels;
  if (beside == above) texels.push_back({face, near_x, near_y});
  if (x < 0) texels.push_back(over_edge(size, face, 'l', -x, near_y));
  if (x >= size) texels.push_back(over_edge(size, face, 'r', x - near_x, near_y));
  if (y < 0) texels.push_back(over_edge(size, face, 't', -y, near_x));
  if (y >= size) texels.push_back(over_edge(size, face, 'b', y - near_y, near_x));
  return texels;
}

}  // namespace rigel::vgpu::exec::reference
