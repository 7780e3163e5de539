// MIMG, lane by lane; tiling.hpp handles tiled images. Bits of the resource (128 or 256) and of the sampler
// are numbered as in the ISA manuals ("Image Resource Definition", "Sampler Resource Definition").
//
// Filters add doubles in the order x, y, z, levels, anisotropic samples (docs/internals/images.md). They are
// not compared if a texel is not a number.
#include "plugins/vgpu/reference/image.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "plugins/vgpu/reference/buffer_format.hpp"
#include "plugins/vgpu/reference/cube.hpp"
#include "plugins/vgpu/reference/element.hpp"
#include "plugins/vgpu/reference/lane_access.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Family;
using Kind = ImageForm::Kind;

uint64_t scalar_bits(const State& state, unsigned code, unsigned from, unsigned to) {
  uint64_t value = 0;
  for (unsigned bit = to + 1; bit-- > from;)
    value = value << 1 | (state.scalar[code + bit / 32] >> bit % 32 & 1);
  return value;
}

enum Type : unsigned { k1D = 8, k2D, k3D, kCube, k1DArray, k2DArray };

struct Words {
  bool unbound = false;
  unsigned type = 0;
  uint64_t base = 0;
  TypedFormat format;
  int64_t width = 1, height = 1, depth = 1;  // Size of the first level in memory; depth of volumes.
  int64_t first_layer = 0, last_layer = 0;
  int64_t pitch = 0;  // As in the resource.
  int64_t base_level = 0, last_level = 0, levels = 1;
  int64_t min_lod = 0;
  unsigned dst_sel[4] = {};
  unsigned border_swizzle = 0;
  unsigned tiling = 0;
  bool in_rows = true;
};

bool has_pitch_of_planes(const State& state) {
  return state.target.major >= 11 || (state.target.major == 10 && state.target.minor == 3);
}

bool is_rdna(const State& state) {
  return state.target.major >= 10;
}

Words words_of(const isa::Instruction& in, const State& state) {
  const Family family = state.target.family();
  const auto bits = [&](unsigned from, unsigned to) { return scalar_bits(state, in.saddr.code, from, to); };
  const auto number = [&](unsigned from, unsigned to) { return static_cast<int64_t>(bits(from, to)); };
  Words w;
  w.base = bits(0, 39) << 8;
  w.min_lod = number(40, 51);
  for (unsigned i = 0; i < 4; ++i) w.dst_sel[i] = static_cast<unsigned>(bits(96 + 3 * i, 98 + 3 * i));
  w.base_level = number(108, 111);
  w.last_level = number(112, 115);
  w.tiling = static_cast<unsigned>(bits(116, 120));
  w.in_rows = family == Family::kGfx8 ? w.tiling == 8 || w.tiling == 31 : w.tiling == 0;
  w.type = static_cast<unsigned>(bits(124, 127));
  w.height = number(78, 91) + 1;
  const bool array = w.type == k1DArray || w.type == k2DArray || w.type == kCube;
  w.depth = number(128, 140) + 1;
  if (family == Family::kGfx12) {
    const auto format = static_cast<unsigned>(bits(49, 56));
    w.format = compact_format(format);
    w.unbound = format == 0;
    w.width = number(62, 77) + 1;
    w.height = number(78, 93) + 1;
    w.depth = number(128, 141) + 1;
    w.base_level = number(57, 61);
    w.last_level = number(111, 115);
    w.levels = number(44, 48) + 1;
    w.min_lod = number(186, 198);
    w.border_swizzle = static_cast<unsigned>(bits(121, 123));
    if (array) w.first_layer = number(144, 157), w.last_layer = number(128, 141);
    if (w.type == k1D || w.type == k2D) w.pitch = number(128, 143) + 1;
  } else if (is_rdna(state)) {
    const bool gfx11 = family == Family::kGfx11;
    const auto format = static_cast<unsigned>(bits(52, gfx11 ? 59 : 60));
    w.format = gfx11 ? compact_format(format) : typed_format(format);
    w.unbound = format == 0;
    w.width = number(62, 75) + 1;
    w.border_swizzle = static_cast<unsigned>(bits(121, 123));
    w.levels = (gfx11 ? number(48, 51) : number(164, 167)) + 1;
    if (gfx11) w.min_lod = number(187, 198);
    if (array) w.first_layer = number(144, 156), w.last_layer = number(128, 140);
    if (has_pitch_of_planes(state) && (w.type == k1D || w.type == k2D)) w.pitch = number(128, 141) + 1;
  } else {
    w.format = typed_format(static_cast<unsigned>(bits(52, 57)), static_cast<unsigned>(bits(58, 61)));
    w.unbound = bits(52, 57) == 0;
    w.width = number(64, 77) + 1;
    w.pitch = number(141, family == Family::kGfx8 ? 154 : 156) + 1;
    if (family == Family::kGfx9) {
      w.border_swizzle = static_cast<unsigned>(bits(157, 159));
      w.levels = number(188, 191) + 1;
    }
    if (array) {
      w.first_layer = number(160, 172);
      w.last_layer = family == Family::kGfx8 ? number(173, 185) : number(128, 140);
    }
  }
  if (w.type == k1D || w.type == k1DArray) w.height = 1;
  if (w.type != k3D) w.depth = w.last_layer - w.first_layer + 1;
  return w;
}

/// Size of a level, counted from the resource's first level.
struct Extent {
  int64_t size[3];
};
Extent extent_of(const Words& w, int64_t level) {
  const int64_t down = w.base_level + level;
  const auto halved = [&](int64_t size) { return std::max<int64_t>(size >> down, 1); };
  return {{halved(w.width), w.type == k1D || w.type == k1DArray ? 1 : halved(w.height),
           w.type == k3D ? halved(w.depth) : w.depth}};
}

uint64_t address_in_tiles(const Words& w, const State& state, int64_t level, int64_t x, int64_t y,
                          int64_t z) {
  const auto whole = [](int64_t number) { return static_cast<uint64_t>(number); };
  TiledImage image;
  image.major = state.target.major;
  image.minor = state.target.minor;
  image.base = w.base;
  image.mode = w.tiling;
  image.volume = w.type == k3D;
  image.element_bytes = w.format.bytes();
  image.width = whole(w.width);
  image.height = whole(w.height);
  image.planes = whole(w.type == k3D ? w.depth : w.last_layer + 1);
  image.pitch = whole(w.pitch);
  image.levels = whole(w.levels);
  return tiled_address(image, state.world.tiling, {whole(w.base_level + level), whole(x), whole(y), whole(z)})
      .value_or(0);
}

/// Linear surfaces: rows are a multiple of 256 bytes on gfx9 and later. A slice has all levels in sequence.
/// gfx9's levels have the pitch of the first and start with it; those of gfx10 and gfx11 have separate
/// pitches and start with the smallest. Rows of gfx12 are a multiple of 128 bytes, in as much memory.
uint64_t texel_address(const Words& w, const State& state, int64_t level, int64_t x, int64_t y, int64_t z) {
  if (!w.in_rows) return address_in_tiles(w, state, level, x, y, z);
  const int64_t bytes = w.format.bytes();
  const int64_t unit = std::max<int64_t>(256 / bytes, 1);
  const auto aligned = [&](int64_t width) { return (width + unit - 1) / unit * unit; };
  const auto halved = [](int64_t size, int64_t times) { return (size + (int64_t{1} << times) - 1) >> times; };
  const bool rdna = is_rdna(state);
  std::vector<int64_t> pitches, rows;
  for (int64_t i = 0; i < w.levels; ++i) {
    int64_t pitch = aligned(rdna ? halved(w.width, i) : w.width);
    if (w.levels == 1) pitch = rdna ? std::max(w.pitch, aligned(w.width)) : w.pitch;
    pitches.push_back(pitch);
    rows.push_back(halved(w.height, i));
  }
  int64_t slice = 0, before = 0;
  const int64_t wanted = w.base_level + level;
  for (int64_t i = 0; i < w.levels; ++i) {
    const int64_t size = pitches[static_cast<size_t>(i)] * rows[static_cast<size_t>(i)];
    slice += size;
    if (rdna ? i > wanted : i < wanted) before += size;
  }
  int64_t pitch = pitches[static_cast<size_t>(wanted)];
  if (state.target.major == 12) {
    const int64_t narrow = std::max<int64_t>(128 / bytes, 1);
    pitch =
        w.levels == 1 && w.pitch != 0 ? w.pitch : (halved(w.width, wanted) + narrow - 1) / narrow * narrow;
  }
  const int64_t texel = slice * z + before + pitch * y + x;
  return w.base + static_cast<uint64_t>(texel * bytes);
}

bool is_integer(const TypedFormat& format) {
  return format.number == TypedFormat::Number::kUint || format.number == TypedFormat::Number::kSint;
}

uint32_t one_of(const TypedFormat& format) {
  return is_integer(format) ? 1 : 0x3f800000;
}

/// An instruction in one lane.
class Lane {
 public:
  Lane(const isa::Instruction& in, const ImageForm& form, const Words& words, const State& before,
       State& state, unsigned lane)
      : in_(in), form_(form), w_(words), before_(before), state_(state), lane_(lane) {
    packed_ = before.target.major != 8 || before.target.minor != 0;
  }

  void run() {
    switch (form_.kind) {
      case Kind::kLoad:
        return load();
      case Kind::kStore:
        return store();
      case Kind::kAtomic:
        return change();
      case Kind::kSample:
      case Kind::kGather:
        return sample();
      case Kind::kSizes:
        return sizes();
      case Kind::kLod:
        return tell_lod();
    }
  }

 private:
  uint32_t address(unsigned n, unsigned lane) const {
    return before_.vgpr[image_address_register(in_, before_, n)][lane];
  }
  uint32_t half_address(unsigned first, unsigned n, unsigned lane) const {
    const uint32_t two = address(first + n / 2, lane);
    return n % 2 == 0 ? two & 0xffff : two >> 16;
  }
  double number(unsigned first, unsigned n, bool halves, unsigned lane) const {
    const uint32_t bits = halves ? widened(kHalf, half_address(first, n, lane)) : address(first + n, lane);
    return static_cast<double>(std::bit_cast<float>(bits));
  }
  double body(unsigned n, unsigned lane) const { return number(form_.body_at, n, form_.half_body, lane); }
  int64_t whole(unsigned n) const {
    return form_.half_body ? half_address(form_.body_at, n, lane_) : address(form_.body_at + n, lane_);
  }

  void put(const uint32_t (&components)[4]) {
    unsigned n = 0;
    uint32_t asked[4] = {};
    for (unsigned i = 0; i < 4; ++i) {
      if (((in_.dmask == 0 ? 1 : in_.dmask) >> i & 1) != 0) asked[n++] = components[i];
    }
    put_first(asked, n);
  }
  void put_first(const uint32_t (&values)[4], unsigned count) {
    const unsigned first = in_.vdst.vgpr();
    unsigned registers = count;
    if (!in_.d16) {
      for (unsigned i = 0; i < count; ++i) state_.vgpr[first + i][lane_] = values[i];
    } else {
      if (packed_) registers = (count + 1) / 2;
      for (unsigned i = 0; i < count; ++i) {
        const uint32_t half = integer_result_
                                  ? values[i] & 0xffff
                                  : static_cast<uint32_t>(converted(kSingle, values[i], {}, kHalf, {}));
        uint32_t& to = state_.vgpr[first + (packed_ ? i / 2 : i)][lane_];
        if (!packed_) {
          to = half;
        } else if (i % 2 == 1) {
          to = (to & 0xffff) | half << 16;
        } else {
          to = count == 1 && !d16_clears(state_.target) ? (to & 0xffff0000) | half : half;
        }
      }
    }
    if (in_.tfe || in_.lwe) state_.vgpr[first + registers][lane_] = 0;
  }
  void put_selected(const uint32_t (&memory)[4]) {
    uint32_t result[4];
    for (unsigned i = 0; i < 4; ++i) result[i] = selected(memory, i);
    put(result);
  }
  uint32_t selected(const uint32_t (&memory)[4], unsigned i) const {
    return w_.dst_sel[i] >= 4 ? memory[w_.dst_sel[i] - 4] : w_.dst_sel[i] == 1 ? one_of(w_.format) : 0;
  }

  void read_texel(int64_t level, int64_t x, int64_t y, int64_t z, uint32_t (&memory)[4]) {
    const uint64_t va = texel_address(w_, before_, level, x, y, z);
    uint8_t bytes[16] = {};
    for (unsigned i = 0; i < w_.format.bytes(); ++i)
      bytes[i] = static_cast<uint8_t>(state_.world.read(Space::kGlobal, va + i, 1));
    unsigned bit = 0;
    for (unsigned c = 0; c < 4; ++c) {
      memory[c] = c == 3 ? one_of(w_.format) : 0;
      if (c >= w_.format.components()) continue;
      uint32_t value = 0;
      for (unsigned i = 0; i < w_.format.bits[c]; ++i, ++bit) value |= (bytes[bit / 8] >> bit % 8 & 1u) << i;
      memory[c] = component_to_register(w_.format, c, value);
    }
  }

  struct Place {
    int64_t level, x, y, z;
  };
  /// Returns the texel of a load, store or atomic; false if it does not exist.
  bool named(Place& place) const {
    if (w_.unbound) return false;
    int64_t at[3] = {};
    for (unsigned i = 0; i < form_.space; ++i) at[i] = whole(i);
    if (form_.layer) at[2] = whole(form_.space);
    const int64_t level = form_.level ? whole(form_.coordinates()) : 0;
    if (level > w_.last_level - w_.base_level) return false;
    const Extent extent = extent_of(w_, level);
    for (unsigned i = 0; i < 3; ++i) {
      if (at[i] >= extent.size[i]) return false;
    }
    place = {level, at[0], at[1], at[2] + (w_.type == k3D ? 0 : w_.first_layer)};
    return true;
  }

  void load() {
    uint32_t memory[4] = {};
    Place place;
    if (named(place)) read_texel(place.level, place.x, place.y, place.z, memory);
    if (w_.unbound) return put(memory);
    put_selected(memory);
  }

  void store() {
    Place place;
    if (!named(place)) return;
    uint32_t given[4] = {};
    unsigned n = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (((in_.dmask == 0 ? 1 : in_.dmask) >> i & 1) == 0) continue;
      const unsigned first = in_.vdata.vgpr();
      if (!in_.d16) {
        given[i] = before_.vgpr[first + n][lane_];
      } else {
        const uint32_t held = before_.vgpr[first + (packed_ ? n / 2 : n)][lane_];
        const uint32_t half = packed_ && n % 2 == 1 ? held >> 16 : held & 0xffff;
        given[i] = w_.format.number == TypedFormat::Number::kSint   ? (half ^ 0x8000) - 0x8000
                   : w_.format.number == TypedFormat::Number::kUint ? half
                                                                    : widened(kHalf, half);
      }
      ++n;
    }
    uint32_t memory[4] = {};
    for (unsigned i : {3, 2, 1, 0}) {  // Red if several select the same component of memory.
      if (w_.dst_sel[i] >= 4) memory[w_.dst_sel[i] - 4] = given[i];
    }
    const uint64_t va = texel_address(w_, before_, place.level, place.x, place.y, place.z);
    uint8_t bytes[16] = {};
    unsigned bit = 0;
    for (unsigned c = 0; c < w_.format.components(); ++c) {
      const uint32_t value = component_from_register(w_.format, c, memory[c]);
      for (unsigned i = 0; i < w_.format.bits[c]; ++i, ++bit)
        bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | (value >> i & 1) << bit % 8);
    }
    for (unsigned i = 0; i < w_.format.bytes(); ++i) state_.world.write(Space::kGlobal, va + i, 1, bytes[i]);
  }

  void change() {
    const auto element = element_of("atomic_" + std::string(form_.atomic));
    if (!element) return;
    const bool pair = form_.atomic.ends_with("cmpswap");
    const unsigned given = static_cast<unsigned>(std::popcount(in_.dmask));
    const bool wide = given > (pair ? 2u : 1u);
    const unsigned bytes = wide ? 8 : 4, registers = bytes / 4;
    uint64_t old = 0;
    Place place;
    if (named(place)) {
      const uint64_t va = texel_address(w_, before_, place.level, place.x, place.y, place.z);
      const auto operand = [&](unsigned n) {
        const unsigned first = in_.vdata.vgpr() + n * registers;
        uint64_t value = before_.vgpr[first][lane_];
        if (wide) value |= uint64_t{before_.vgpr[first + 1][lane_]} << 32;
        return value;
      };
      for (unsigned i = 0; i < bytes; ++i) old |= state_.world.read(Space::kGlobal, va + i, 1) << 8 * i;
      const uint64_t next =
          changed(element->change, bytes, old, operand(0), pair ? operand(1) : 0, rules_of_memory(*element));
      for (unsigned i = 0; i < bytes; ++i) state_.world.update(Space::kGlobal, va + i, 1, next >> 8 * i);
    }
    if (!in_.glc) return;
    for (unsigned i = 0; i < registers; ++i)
      state_.vgpr[in_.vdst.vgpr() + i][lane_] = static_cast<uint32_t>(old >> 32 * i);
  }

  int64_t sampler(unsigned from, unsigned to) const {
    return static_cast<int64_t>(scalar_bits(before_, in_.extra[0].code, from, to));
  }
  bool unnormalized() const { return in_.unorm || sampler(15, 15) != 0; }
  int64_t bias_of_sampler() const {
    const int64_t field = sampler(64, 77);
    return field >= 1 << 13 ? field - (1 << 14) : field;
  }

  static int64_t in_256ths(double value) {
    if (std::isnan(value)) return 0;
    return static_cast<int64_t>(std::floor(std::fmin(std::fmax(value, -64), 64) * 256 + 0.5));
  }

  /// Pmax, Pmin and N of OpenGL's anisotropic filter extension, with Vulkan's ratio.
  struct Footprint {
    int64_t lod = 0;  // Without the sampler's bias and limits, in 1/256.
    int64_t samples = 1;
    std::array<double, 3> major{};
  };

  int64_t most_samples() const {
    const bool filters = (sampler(84, 87) & 0b1010) != 0;
    const unsigned override_bit = before_.target.family() >= Family::kGfx10 ? 93 : 95;
    const bool single = w_.last_level == w_.base_level && sampler(override_bit, override_bit) != 0;
    if (!filters || single || unnormalized() || is_integer(w_.format)) return 1;
    static constexpr int64_t kRatios[] = {1, 2, 4, 8, 16, 16, 16, 16};
    return kRatios[sampler(9, 11)];
  }

  Footprint footprint() const {
    Footprint result;
    if (form_.zero) return result;
    if (form_.level) {
      result.lod = in_256ths(body(form_.coordinates(), lane_));
      return result;
    }
    std::array<double, 3> slopes[2]{};
    double lengths[2]{};  // Squared.
    for (unsigned direction = 0; direction < 2; ++direction) {
      double squares = 0;
      for (unsigned i = 0; i < form_.space; ++i) {
        double slope = 0;
        if (form_.gradients) {
          const unsigned registers = form_.half_gradients ? (form_.space + 1) / 2 : form_.space;
          slope = number(form_.gradients_at + direction * registers, i, form_.half_gradients, lane_);
        } else {
          const unsigned corner = lane_ / 4 * 4;
          slope = static_cast<double>(static_cast<float>(body(i, corner + 1 + direction)) -
                                      static_cast<float>(body(i, corner)));
        }
        if (i >= (w_.type == k3D ? 3u : w_.type == k1D || w_.type == k1DArray ? 1u : 2u)) continue;
        slopes[direction][i] = slope;
        const double texels = slope * (unnormalized() ? 1 : static_cast<double>(extent_of(w_, 0).size[i]));
        squares += texels * texels;
      }
      lengths[direction] = squares;
      if (std::isnan(squares)) state_.world.open = true;
    }
    const bool first = lengths[0] > lengths[1];
    const double most = lengths[first ? 0 : 1], least = lengths[first ? 1 : 0];
    double quotient = 1;
    if (most > least) quotient = std::fmin(std::sqrt(most / least), static_cast<double>(most_samples()));
    result.samples = static_cast<int64_t>(std::ceil(quotient));
    result.major = slopes[first ? 0 : 1];
    result.lod = in_256ths(std::log2(most) / 2 - std::log2(quotient));
    if (form_.bias) result.lod += in_256ths(number(form_.bias_at, 0, form_.half_body, lane_));
    if (form_.clamp) result.lod = std::max(result.lod, in_256ths(body(form_.coordinates(), lane_)));
    return result;
  }
  int64_t limited(int64_t value) const {
    const bool wide = before_.target.major == 12;
    const int64_t least = std::max(sampler(32, wide ? 44 : 43), w_.min_lod - w_.base_level * 256);
    return std::min(std::max(value, least), wide ? sampler(45, 57) : sampler(44, 55));
  }
  int64_t greatest_lod() const { return (w_.last_level - w_.base_level) * 256; }

  struct Axis {
    int64_t texel[2] = {};
    bool border[2] = {};
    int64_t weight = 0;  // Weight of the second texel, in 1/256.
    bool linear = false;
  };

  /// Whether a linear filter crosses the edges of cube faces. Texels keep their numbers here.
  bool wraps(const Extent& extent, bool linear) const {
    return w_.type == kCube && sampler(28, 28) == 0 && linear && extent.size[0] == extent.size[1];
  }

  Axis axis(unsigned i, double coordinate, int64_t size, bool linear, bool wraps) const {
    const bool cube = w_.type == kCube;
    if (cube) coordinate -= 1;
    double texels = unnormalized() ? coordinate : coordinate * static_cast<double>(size);
    constexpr int64_t kNoMode = 8;
    int64_t mode = wraps ? kNoMode : cube && sampler(28, 28) == 0 ? 2 : sampler(3 * i, 3 * i + 2);
    if (mode == 4 || mode == 5) {  // Half of the border.
      if (mode == 5) texels = std::fabs(texels);
      texels = std::fmin(std::fmax(texels, 0), static_cast<double>(size));
      mode = !linear ? 2 : mode == 5 ? 7 : 6;
    }
    int64_t at = 0;
    if (!std::isnan(texels)) {
      texels = std::fmin(std::fmax(texels, -0x1p40), 0x1p40) * 256;
      at = static_cast<int64_t>(std::floor(sampler(27, 27) != 0 ? texels : texels + 0.5));
    }
    if (form_.offset) {
      const uint32_t field = address(form_.offset_at, lane_) >> 8 * i & 0x3f;
      at += (field >= 32 ? int64_t{field} - 64 : int64_t{field}) * 256;
    }
    if (linear) at -= 128;
    Axis result;
    result.linear = linear;
    result.weight = linear ? ((at % 256) + 256) % 256 : 0;
    const int64_t low = (at - ((at % 256) + 256) % 256) / 256;
    for (unsigned n = 0; n < 2; ++n) {
      int64_t texel = low + n;
      if (mode == 0) {
        texel = (texel % size + size) % size;
      } else if (mode == 1) {
        texel = (texel % (2 * size) + 2 * size) % (2 * size);
        if (texel >= size) texel = 2 * size - 1 - texel;
      } else if (mode != kNoMode) {
        if ((mode == 3 || mode == 7) && texel < 0) texel = -texel - 1;
        if (mode == 2 || mode == 3) texel = std::min(std::max<int64_t>(texel, 0), size - 1);
        result.border[n] = texel < 0 || texel >= size;
      }
      result.texel[n] = texel;
    }
    return result;
  }

  int64_t layer() const {
    if (!form_.layer || w_.type == k1D || w_.type == k2D) return w_.first_layer;
    if (w_.type == kCube) return layer_of_face(cube_and_face().first, cube_and_face().second);
    double at = std::nearbyint(body(form_.space, lane_));
    if (std::isnan(at)) at = 0;
    return within_layers(at);
  }
  int64_t within_layers(double at) const {
    return w_.first_layer + static_cast<int64_t>(std::fmin(
                                std::fmax(at, 0), static_cast<double>(w_.last_layer - w_.first_layer)));
  }
  std::pair<int64_t, int64_t> cube_and_face() const {
    if (!form_.layer) return {0, 0};
    double at = std::nearbyint(body(form_.space, lane_));
    if (std::isnan(at)) at = 0;
    const auto whole = static_cast<int64_t>(std::fmin(std::fmax(at, 0), 65535));
    return {whole / 8, std::min<int64_t>(whole % 8, 5)};
  }
  int64_t layer_of_face(int64_t cube, int64_t face) const {
    return within_layers(static_cast<double>(cube * 6 + face));
  }

  /// Returns the texels for coordinates that may be outside of a cube's face.
  std::vector<Place> on_cube(int64_t level, int64_t size, int64_t x, int64_t y) const {
    const auto [cube, face] = cube_and_face();
    std::vector<Place> places;
    for (const CubeTexel& texel : texels_of_cube(size, {face, x, y}))
      places.push_back({level, texel.x, texel.y, layer_of_face(cube, texel.face)});
    return places;
  }

  /// Reads a texel as the sampler sees it, or the border.
  void read_sampled(int64_t level, int64_t x, int64_t y, int64_t z, bool border, uint32_t (&result)[4]) {
    uint32_t memory[4];
    uint32_t color[4];
    const int64_t kind = sampler(126, 127);
    for (unsigned i = 0; i < 4; ++i) color[i] = kind == 2 || (kind == 1 && i == 3) ? one_of(w_.format) : 0;
    if (border) {
      static constexpr const char* kOrders[] = {"XYZW", "XWYZ", "WZYX", "WXYZ",
                                                "ZYXW", "YXWZ", "XYZW", "XYZW"};
      for (unsigned i = 0; i < 4; ++i)
        memory[i] = color[std::string_view("XYZW").find(kOrders[w_.border_swizzle][i])];
    } else {
      read_texel(level, x, y, z, memory);
    }
    if (form_.compare) {
      float reference = std::bit_cast<float>(address(form_.compare_at, lane_));
      const float texel = std::bit_cast<float>(memory[0]);
      if (std::isnan(reference) || std::isnan(texel)) state_.world.open = true;
      if (w_.format.number == TypedFormat::Number::kUnorm)
        reference = std::fmin(std::fmax(reference, 0.0f), 1.0f);
      const bool results[] = {false,
                              reference<texel, reference == texel, reference <= texel, reference> texel,
                              reference != texel, reference >= texel, true};
      memory[0] = results[sampler(12, 14)] ? 0x3f800000 : 0;
    }
    const bool as_seen = border && before_.target.family() == Family::kGfx8 && !form_.compare;
    for (unsigned i = 0; i < 4; ++i)
      result[i] = as_seen && w_.dst_sel[i] >= 4 ? color[i] : selected(memory, i);
  }

  void sample() {
    if (w_.unbound) return put_first({}, form_.kind == Kind::kGather ? 4 : count());
    if (sampler(126, 127) == 3) state_.world.open = true;
    const Footprint seen = footprint();
    int64_t lambda = unnormalized() ? 0 : limited(seen.lod + bias_of_sampler());
    const bool integer = is_integer(w_.format);
    const bool linear = (lambda <= 0 ? sampler(84, 84) : sampler(86, 86)) != 0 && !integer;
    lambda = std::min(std::max<int64_t>(lambda, 0), greatest_lod());
    const int64_t mip_filter = sampler(90, 91);
    int64_t level = 0, between = 0;
    if (mip_filter == 2 && form_.kind == Kind::kSample) {
      level = lambda / 256;
      between = integer ? 0 : lambda % 256;
    } else if (mip_filter != 0) {
      level = std::min(lambda + 128, greatest_lod()) / 256;
    }
    if (form_.kind == Kind::kGather) return gather(level);

    Sum sum;
    for (int64_t n = 1; n <= seen.samples; ++n) {
      const double along = static_cast<double>(n) / static_cast<double>(seen.samples + 1) - 0.5;
      std::array<double, 3> at{};
      for (unsigned i = 0; i < form_.space; ++i) {
        at[i] = body(i, lane_);
        if (seen.samples > 1) at[i] += seen.major[i] * along;
      }
      add_level(sum, level, static_cast<double>(256 - between) / 256, linear, at);
      if (between != 0) add_level(sum, level + 1, static_cast<double>(between) / 256, linear, at);
    }
    if (sum.texels > 1) {
      if (not_a_number_) state_.world.open = true;
      const double samples = sampler(29, 30) % 3 == 0 ? static_cast<double>(seen.samples) : 1;
      for (unsigned c = 0; c < 4; ++c)
        sum.last_texel[c] = std::bit_cast<uint32_t>(static_cast<float>(sum.totals[c] / samples));
    }
    put(sum.last_texel);
  }

  struct Sum {
    unsigned texels = 0;
    double totals[4] = {};
    uint32_t last_texel[4] = {};
  };

  void add_level(Sum& sum, int64_t level, double share, bool linear, const std::array<double, 3>& at) {
    const Extent extent = extent_of(w_, level);
    const bool wrapped = wraps(extent, linear);
    const Axis x = axis(0, at[0], extent.size[0], linear, wrapped);
    Axis y, z;
    if (w_.type != k1D && w_.type != k1DArray) y = axis(1, at[1], extent.size[1], linear, wrapped);
    if (w_.type == k3D) {
      const int64_t filter = sampler(88, 89);
      z = axis(2, at[2], extent.size[2], filter == 0 ? linear : filter == 2, false);
    } else {
      z.texel[0] = layer();
    }
    for (unsigned k = 0; k < (z.weight != 0 ? 2u : 1u); ++k) {
      for (unsigned j = 0; j < (y.weight != 0 ? 2u : 1u); ++j) {
        for (unsigned i = 0; i < (x.weight != 0 ? 2u : 1u); ++i) {
          const auto part = [](const Axis& axis, unsigned which) {
            return static_cast<double>(which == 0 ? 256 - axis.weight : axis.weight) / 256;
          };
          const double weight = share * part(x, i) * part(y, j) * part(z, k);
          if (wrapped) {
            const std::vector<Place> places = on_cube(level, extent.size[0], x.texel[i], y.texel[j]);
            for (const Place& place : places) {
              read_sampled(place.level, place.x, place.y, place.z, false, sum.last_texel);
              add(sum, places.size() == 1 ? weight : weight / 3);
            }
            continue;
          }
          read_sampled(level, x.texel[i], y.texel[j], z.texel[k], x.border[i] || y.border[j] || z.border[k],
                       sum.last_texel);
          add(sum, weight);
        }
      }
    }
  }

  void add(Sum& sum, double weight) {
    const int64_t reduction = sampler(29, 30);
    for (unsigned c = 0; c < 4; ++c) {
      const auto value = static_cast<double>(std::bit_cast<float>(sum.last_texel[c]));
      double& total = sum.totals[c];
      if (reduction == 1 || reduction == 2) {
        total = sum.texels == 0 ? value : reduction == 1 ? std::fmin(total, value) : std::fmax(total, value);
        if (std::isnan(value)) not_a_number_ = true;
        if (sum.texels != 0 && value == 0 && total == 0) not_a_number_ = true;  // The sign of zero.
      } else {
        total += weight * value;
        if (!std::isfinite(value)) not_a_number_ = true;
      }
    }
    ++sum.texels;
  }

  void gather(int64_t level) {
    const Extent extent = extent_of(w_, level);
    const bool wrapped = wraps(extent, true);
    const Axis x = axis(0, body(0, lane_), extent.size[0], true, wrapped);
    Axis y;
    const bool has_height = w_.type != k1D && w_.type != k1DArray;
    if (has_height) y = axis(1, form_.space > 1 ? body(1, lane_) : 0, extent.size[1], true, wrapped);
    int64_t z = layer();
    bool border_z = false;
    if (w_.type == k3D) {
      const Axis depth = axis(2, form_.space > 2 ? body(2, lane_) : 0, extent.size[2],
                              sampler(88, 89) == 0 || sampler(88, 89) == 2, false);
      z = depth.texel[0];
      border_z = depth.border[0];
    }
    uint32_t result[4] = {};
    const unsigned component = static_cast<unsigned>(std::countr_zero(in_.dmask == 0 ? 1u : in_.dmask));
    for (unsigned n = 0; n < 4; ++n) {
      const unsigned i = n == 1 || n == 2 ? 1 : 0, j = n < 2 && has_height ? 1 : 0;
      uint32_t texel[4];
      Place place = {level, x.texel[i], y.texel[j], z};
      if (wrapped) place = on_cube(level, extent.size[0], place.x, place.y).front();
      read_sampled(level, place.x, place.y, place.z, x.border[i] || y.border[j] || border_z, texel);
      result[n] = texel[component];
    }
    put_first(result, 4);
  }

  void sizes() {
    integer_result_ = true;
    uint32_t answer[4] = {};
    if (!w_.unbound) {
      const int64_t level = whole(0), levels = w_.last_level - w_.base_level + 1;
      answer[3] = static_cast<uint32_t>(levels);
      if (level < levels) {
        const Extent extent = extent_of(w_, level);
        for (unsigned i = 0; i < 3; ++i) answer[i] = static_cast<uint32_t>(extent.size[i]);
        if (w_.type == k1DArray) std::swap(answer[1], answer[2]);
      }
    }
    put(answer);
  }

  void tell_lod() {
    integer_result_ = false;
    uint32_t answer[4] = {};
    if (!w_.unbound) {
      const int64_t lambda = footprint().lod + bias_of_sampler();
      const int64_t seen = std::min(std::max<int64_t>(limited(lambda), 0), greatest_lod());
      answer[0] = std::bit_cast<uint32_t>(static_cast<float>(seen) / 256);
      answer[1] = std::bit_cast<uint32_t>(static_cast<float>(lambda) / 256);
    }
    put(answer);
  }

  unsigned count() const { return static_cast<unsigned>(std::popcount(in_.dmask == 0 ? 1u : in_.dmask)); }

  const isa::Instruction& in_;
  const ImageForm& form_;
  const Words& w_;
  const State& before_;
  State& state_;
  const unsigned lane_;
  bool packed_ = true;
  bool integer_result_ = is_integer(w_.format);
  bool not_a_number_ = false;
};

}  // namespace

bool image_form(const isa::Instruction& in, const State& state, ImageForm& form) {
  std::string_view name = isa::name(in.op);
  name.remove_prefix(std::string_view("image_").size());
  form = {};
  const auto take = [&](std::string_view word) {
    if (!name.starts_with(word)) return false;
    name.remove_prefix(word.size());
    return true;
  };
  if (take("load")) {
    form.level = take("_mip");
  } else if (take("store")) {
    form.kind = Kind::kStore;
    form.level = take("_mip");
  } else if (take("atomic_")) {
    form.kind = Kind::kAtomic;
    form.atomic = name;
    name = {};
  } else if (take("get_resinfo")) {
    form.kind = Kind::kSizes;
  } else if (take("get_lod")) {
    form.kind = Kind::kLod;
  } else if (name.starts_with("sample") || name.starts_with("gather4")) {
    form.kind = take("sample") ? Kind::kSample : Kind::kGather;
    take("gather4");
    form.compare = name == "_c" || name.starts_with("_c_");
    if (form.compare) take("_c");
    form.zero = take("_lz");
    form.level = !form.zero && take("_l");
    form.gradients = take("_d") || take("_cd");
    form.bias = take("_b");
    form.clamp = take("_cl");
    form.offset = take("_o");
    form.half_gradients = take("_g16");
  }
  if (!name.empty()) return false;
  form.half_body = in.a16;
  if (in.a16 && state.target.family() < Family::kGfx10) form.half_gradients = true;
  if (state.target.family() >= Family::kGfx10) {
    static constexpr unsigned kSpace[] = {1, 2, 3, 2, 1, 2, 2, 2};
    form.space = kSpace[in.dim];
    form.layer = in.dim >= 3 && in.dim <= 5;
    if (in.dim > 5) return false;
  } else {
    const unsigned type = static_cast<unsigned>(scalar_bits(state, in.saddr.code, 124, 127));
    form.space = type == k1D || type == k1DArray ? 1 : type == k3D ? 3 : 2;
    form.layer = type == kCube || (type != k3D && in.da);
  }
  unsigned next = 0;
  if (form.offset) form.offset_at = next++;
  if (form.bias) form.bias_at = next++;
  if (form.compare) form.compare_at = next++;
  form.gradients_at = next;
  if (form.gradients) next += 2 * (form.half_gradients ? (form.space + 1) / 2 : form.space);
  form.body_at = next;
  const unsigned parts =
      form.kind == Kind::kSizes ? 1 : form.coordinates() + (form.level || form.clamp ? 1 : 0);
  form.registers = next + (form.half_body ? (parts + 1) / 2 : parts);
  return true;
}

unsigned image_address_register(const isa::Instruction& in, const State& state, unsigned n) {
  unsigned number = in.vaddr.vgpr() + n;
  if (in.nsa_count != 0 && n != 0) number = n <= in.nsa_count ? in.nsa[n - 1] : 0;
  return number < state.vgpr.size() ? number : 0;
}

Outcome execute_image(const isa::Instruction& in, State& state) {
  ImageForm form;
  if (!image_form(in, state, form)) return Outcome::kNotModelled;
  // Data registers past the wave's last register: their number does not follow from the fields alone.
  constexpr unsigned kMostData = 6;
  const isa::Operand& data = in.vdst.exists() ? in.vdst : in.vdata;
  if (data.vgpr() + kMostData > state.vgpr.size()) {
    state.world.open = true;
    return Outcome::kDone;
  }
  const State before = state;
  const Words words = words_of(in, before);
  for (unsigned lane = 0; lane < before.wave_size; ++lane) {
    if ((before.exec() >> lane & 1) == 0) continue;
    Lane(in, form, words, before, state, lane).run();
  }
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
