#include "plugins/vgpu/reference/cube.hpp"

#include <algorithm>
#include <string_view>

namespace rigel::vgpu::exec::reference {
namespace {

/// The face across an edge, the edge by which it is entered (left, right, top, bottom), and whether
/// coordinates along the edge have the same direction.
struct Neighbour {
  int64_t face;
  char edge;
  bool same;
};
// By face, across its left, right, top and bottom edge.
constexpr Neighbour kNeighbours[6][4] = {
    {{4, 'r', true}, {5, 'l', true}, {2, 'r', false}, {3, 'r', true}},    // +x
    {{5, 'r', true}, {4, 'l', true}, {2, 'l', true}, {3, 'l', false}},    // -x
    {{1, 't', true}, {0, 't', false}, {5, 't', false}, {4, 't', true}},   // +y
    {{1, 'b', false}, {0, 'b', true}, {4, 'b', true}, {5, 'b', false}},   // -y
    {{1, 'r', true}, {0, 'l', true}, {2, 'b', true}, {3, 't', true}},     // +z
    {{0, 'r', true}, {1, 'l', true}, {2, 't', false}, {3, 'b', false}}};  // -z

/// Returns the texel at distance `beyond` across the edge, starting with 1, at position `along` it.
CubeTexel over_edge(int64_t size, int64_t face, char edge, int64_t beyond, int64_t along) {
  const Neighbour& neighbour = kNeighbours[face][std::string_view("lrtb").find(edge)];
  const int64_t depth = std::min(beyond, size) - 1, position = neighbour.same ? along : size - 1 - along;
  switch (neighbour.edge) {
    case 'l':
      return {neighbour.face, depth, position};
    case 'r':
      return {neighbour.face, size - 1 - depth, position};
    case 't':
      return {neighbour.face, position, depth};
    default:
      return {neighbour.face, position, size - 1 - depth};
  }
}

}  // namespace

std::vector<CubeTexel> texels_of_cube(int64_t size, const CubeTexel& texel) {
  const auto& [face, x, y] = texel;
  const int64_t near_x = std::clamp<int64_t>(x, 0, size - 1), near_y = std::clamp<int64_t>(y, 0, size - 1);
  const bool is_outside_x = x != near_x, is_outside_y = y != near_y;
  std::vector<CubeTexel> texels;
  if (is_outside_x == is_outside_y) texels.push_back({face, near_x, near_y});
  if (x < 0) texels.push_back(over_edge(size, face, 'l', -x, near_y));
  if (x >= size) texels.push_back(over_edge(size, face, 'r', x - near_x, near_y));
  if (y < 0) texels.push_back(over_edge(size, face, 't', -y, near_x));
  if (y >= size) texels.push_back(over_edge(size, face, 'b', y - near_y, near_x));
  return texels;
}

}  // namespace rigel::vgpu::exec::reference
