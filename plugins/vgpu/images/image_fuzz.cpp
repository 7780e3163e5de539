// Samples images with arbitrary resource words, sampler words and coordinates. Decoded resources must be
// consistent, and each texel must be within its mip level.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/images/sampling.hpp"

namespace {

using namespace rigel::vgpu::images;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Input {
  uint32_t generation;
  uint32_t resource[8];
  uint32_t sampler[4];
  float coordinates[3];
  float layer, lod;
  float gradients[2][3];
  uint32_t offsets;
  uint32_t element[4];
};

TilingConfig tiling_of(const char* name) {
  const auto board = rigel::vgpu::find_board(name);
  require(board.has_value());
  return {board->gb_addr_config, board->tiling.banks, board->tiling.ranks, board->tiling.modes,
          board->tiling.macro_modes};
}

void check(const Resource& resource, const Taps& taps) {
  require(taps.count >= 1 && taps.count <= kMaxTaps);
  double weights = 0;
  for (unsigned i = 0; i < taps.count; ++i) {
    const Tap& tap = taps.taps[i];
    weights += tap.weight;
    if (tap.is_border) continue;
    require(tap.place.level >= resource.first_level && tap.place.level <= resource.last_level);
    const uint32_t level = tap.place.level - resource.first_level;
    require(tap.place.x < resource.width(level) && tap.place.y < resource.height(level));
    require(tap.place.z - resource.first_layer < resource.depth(level));
    const uint64_t address = resource.address(tap.place);
    if (!resource.tiled) continue;
    const auto plane = resource.tiled->plane(tap.place.level, tap.place.z);
    require(plane.address(tap.place.x, tap.place.y) == address);
  }
  require(std::fabs(weights - 1) < 1e-9 || taps.count == 4);  // each weight of a gather is 1
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TilingConfig kTilings[] = {tiling_of("fiji"), tiling_of("vega10"), tiling_of("navi10"),
                                          tiling_of("navi21"), tiling_of("navi31")};
  Input input{};
  std::memcpy(&input, data, size < sizeof input ? size : sizeof input);
  const size_t generation = input.generation % std::size(kTilings);
  Resource resource;
  if (!decode_resource(input.resource, static_cast<Generation>(generation), &kTilings[generation], resource)
           .empty())
    return 0;
  if (resource.is_null) return 0;
  uint32_t components[4], element[4];
  unpack(resource.format, input.element, components);
  pack(resource.format, components, element);
  Sampler sampler;
  if (!decode_sampler(input.sampler, static_cast<Generation>(generation), sampler).empty()) return 0;
  Lookup lookup;
  for (unsigned i = 0; i < 3; ++i) lookup.coordinates[i] = static_cast<double>(input.coordinates[i]);
  lookup.layer = input.layer;
  for (unsigned i = 0; i < 3; ++i)
    lookup.offset[i] = static_cast<int32_t>(input.offsets << (26 - 8 * i)) >> 26;
  lookup.footprint = footprint_of(resource, sampler, input.gradients);
  require(lookup.footprint.probes >= 1 && lookup.footprint.probes <= max_probes(resource, sampler));
  lookup.footprint.lod += fixed_lod(static_cast<double>(input.lod));
  Taps taps;
  for (unsigned probe = 0; probe < lookup.footprint.probes; ++probe) {
    find_taps(resource, sampler, probe_of(lookup, probe), taps);
    check(resource, taps);
  }
  find_gathered(resource, sampler, lookup, taps);
  check(resource, taps);
  border_texel(resource, sampler.border, components);
  return 0;
}
