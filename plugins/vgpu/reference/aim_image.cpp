// Images for image instructions: small, linear and tiled, of every format, dimension and clamp mode.
#include <algorithm>
#include <bit>

#include "plugins/vgpu/reference/aim.hpp"
#include "plugins/vgpu/reference/buffer_format.hpp"
#include "plugins/vgpu/reference/image.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Family;
using Kind = ImageForm::Kind;

/// Bits of a resource or sampler, numbered as in the manuals.
class Bits {
 public:
  Bits(State& state, unsigned code, unsigned words) : state_(state), code_(code) {
    for (unsigned i = 0; i < words; ++i) state.scalar[code + i] = 0;
  }
  void set(unsigned from, unsigned to, uint64_t value) {
    for (unsigned bit = from; bit <= to; ++bit)
      state_.scalar[code_ + bit / 32] |= static_cast<uint32_t>(value >> (bit - from) & 1) << bit % 32;
  }

 private:
  State& state_;
  const unsigned code_;
};

struct Choice {
  unsigned data, number, unified, compact;
};
// Image formats: numbers of gfx8 and gfx9, of gfx10 and of gfx11. Integers of 32 and 64 bits, for atomics,
// come first.
constexpr Choice kChoices[] = {
    {4, 4, 20, 20},   {4, 5, 21, 21},   {4, 7, 22, 22},   {11, 4, 62, 48}, {11, 5, 63, 49}, {11, 7, 64, 50},
    {1, 0, 1, 1},     {1, 1, 2, 2},     {1, 4, 5, 5},     {1, 5, 6, 6},    {2, 0, 7, 7},    {2, 1, 8, 8},
    {2, 4, 11, 11},   {2, 5, 12, 12},   {2, 7, 13, 13},   {3, 0, 14, 14},  {3, 1, 15, 15},  {3, 4, 18, 18},
    {3, 5, 19, 19},   {5, 0, 23, 23},   {5, 1, 24, 24},   {5, 4, 27, 27},  {5, 5, 28, 28},  {5, 7, 29, 29},
    {6, 7, 36, 30},   {7, 7, 43, 31},   {9, 0, 50, 36},   {9, 4, 54, 40},  {10, 0, 56, 42}, {10, 1, 57, 43},
    {10, 4, 60, 46},  {10, 5, 61, 47},  {10, 9, 130, 66}, {12, 0, 65, 51}, {12, 1, 66, 52}, {12, 4, 69, 55},
    {12, 5, 70, 56},  {12, 7, 71, 57},  {14, 4, 75, 61},  {14, 5, 76, 62}, {14, 7, 77, 63}, {16, 0, 133, 68},
    {17, 0, 134, 69}, {18, 0, 135, 70}, {19, 0, 136, 71}, {1, 9, 128, 64}, {3, 9, 129, 65}};

// Common formats, for which the executor has a fast path.
constexpr unsigned kPlainChoices[] = {2, 5, 6, 28, 40};

void draw_sampler(Draw& draw, State& state, unsigned code, bool plain) {
  const bool gfx10 = state.target.family() >= Family::kGfx10;
  Bits sampler(state, code, 4);
  const bool same = draw.one_in(2);
  const unsigned most_lod = state.target.family() == Family::kGfx12 ? 45 : 44;
  if (plain) {
    for (unsigned i = 0; i < 3; ++i) sampler.set(3 * i, 3 * i + 2, draw.one_in(8) ? 6 : draw.below(3));
    sampler.set(15, 15, draw.one_in(2));
    sampler.set(27, 27, draw.one_in(4));
    sampler.set(most_lod, most_lod + 11, 4095);
    if (draw.one_in(2)) sampler.set(84, 87, 5);  // Linear.
    return;
  }
  const uint64_t mode = draw.below(8);
  for (unsigned i = 0; i < 3; ++i) sampler.set(3 * i, 3 * i + 2, same ? mode : draw.below(8));
  sampler.set(12, 14, draw.below(8));
  sampler.set(15, 15, draw.one_in(4));
  sampler.set(27, 27, draw.one_in(4));
  sampler.set(29, 30, draw.one_in(4) ? 1 + draw.below(2) : 0);
  if (draw.one_in(4)) sampler.set(32, most_lod - 1, draw.below(3 * 256));
  sampler.set(most_lod, most_lod + 11, draw.one_in(4) ? draw.below(4 * 256) : 4095);
  if (draw.one_in(4)) sampler.set(64, 77, draw.below(1 << 14));
  const bool linear = draw.one_in(2);
  sampler.set(84, 85, linear);
  sampler.set(86, 87, draw.one_in(4) ? !linear : linear);
  sampler.set(88, 89, draw.one_in(4) ? draw.below(3) : 0);
  sampler.set(90, 91, draw.below(3));
  if (draw.one_in(4)) {  // Anisotropic.
    sampler.set(9, 11, draw.below(8));
    sampler.set(85, 85, 1);
    sampler.set(87, 87, draw.below(2));
    if (draw.one_in(4)) sampler.set(gfx10 ? 93 : 95, gfx10 ? 93 : 95, 1);
  }
  sampler.set(28, 28, draw.one_in(4));
  sampler.set(126, 127, draw.below(3));
}

uint32_t half_of(float value) {
  return static_cast<uint32_t>(converted(kSingle, std::bit_cast<uint32_t>(value), {}, kHalf, {}));
}

}  // namespace

bool aim_image(Draw& draw, isa::Instruction& in, State& state) {
  const Family family = state.target.family();
  const bool gfx12 = family == Family::kGfx12, gfx11 = family == Family::kGfx11,
             rdna = family == Family::kGfx10 || gfx11 || gfx12;
  const std::string_view name = isa::name(in.op);
  in.r128 = false;
  if (rdna && in.dim > 5) return false;
  if (in.saddr.code > 88 || !in.vaddr.is_vgpr()) return false;
  const bool has_sampler = in.extra[0].exists();
  if (has_sampler && (in.extra[0].code > 96 ||
                      (in.extra[0].code + 4u > in.saddr.code && in.extra[0].code < in.saddr.code + 8u))) {
    return false;
  }
  // A resource cannot be in EXEC or in registers that the wave does not have.
  if (state.lacks_sgprs(in.saddr) || (has_sampler && state.lacks_sgprs(in.extra[0]))) return false;
  const bool atomic = name.find("atomic") != name.npos;
  const bool pair = name.ends_with("cmpswap");
  const unsigned given = static_cast<unsigned>(std::popcount(in.dmask));
  if (atomic && given != (pair ? 2u : 1u) && given != (pair ? 4u : 2u)) return false;
  const bool wide = given > (pair ? 2u : 1u);
  if (wide && name.find("add_") != name.npos) return false;  // These have 32 bits.
  // Only atomics on whole texels are compared: other register bits are not defined.
  if (atomic && in.d16) in.d16 = false;

  const bool compare = name.find("_c_") != name.npos || name.ends_with("_c");
  const bool is_float = name.find("_f") != name.npos;
  unsigned choice = draw.below(std::size(kChoices));
  if (atomic) choice = (wide ? 3 : 0) + (is_float ? 2 : draw.below(2));
  if (compare && draw.one_in(2)) choice = 2;
  const bool plain = has_sampler && !compare && draw.one_in(3);
  if (plain) choice = kPlainChoices[draw.below(std::size(kPlainChoices))];
  const Choice& format = kChoices[choice];
  const TypedFormat typed = gfx11 || gfx12 ? compact_format(format.compact)
                            : rdna         ? typed_format(format.unified)
                                           : typed_format(format.data, format.number);
  if (compare && (typed.number == TypedFormat::Number::kUint || typed.number == TypedFormat::Number::kSint))
    return false;  // Comparisons need numbers, not bits.

  static constexpr unsigned kTypes[] = {8, 9, 10, 11, 12, 13};
  // gfx10 instructions have a dimension; the resource may have another one.
  unsigned type = kTypes[rdna && !draw.one_in(8) ? in.dim : draw.below(6)];
  if (plain && draw.one_in(2)) {
    in.tfe = in.lwe = in.d16 = in.da = in.a16 = false;
    if (!rdna) type = 9;
  }
  if (!rdna && type == 11) in.da = true;
  const bool rows = type == 8 || type == 12, volume = type == 10, layers = type >= 11;
  const bool may_be_tiled = draw.one_in(3) && (family == Family::kGfx8 || !rows);
  const bool large = may_be_tiled && draw.one_in(2);  // Several blocks.
  uint32_t width = 1 + draw.below(large ? 300 : 20), height = rows ? 1 : 1 + draw.below(large ? 60 : 5);
  if (type == 11 && !draw.one_in(8)) width = height;  // A cube.
  const uint32_t planes = volume ? 1 + draw.below(3) : type == 11 ? 6 : layers ? 1 + draw.below(3) : 1;
  const uint32_t levels = family == Family::kGfx8 || draw.one_in(2) ? 1 : 1 + draw.below(3);
  const uint32_t base_level = draw.below(levels), last_level = base_level + draw.below(levels - base_level);
  const uint32_t first_layer = layers && draw.one_in(2) ? draw.below(planes) : 0;
  const uint32_t bytes = typed.bytes();
  const uint32_t unit = family == Family::kGfx8 ? 64 : 256;
  uint32_t pitch = (width * bytes + unit - 1) / unit * unit / bytes;

  World& world = state.world;
  TiledImage tiled{
      state.target.major, state.target.minor, 0, 0, volume, bytes, width, height, planes, pitch, levels};
  uint64_t va = 0;
  const uint32_t tiled_bytes = may_be_tiled ? draw_tiling(draw, tiled, world.tiling) : 0;
  if (tiled_bytes != 0) {
    va = map_memory(draw, world, (tiled_bytes + kLargeMemoryUnit - 1) / kLargeMemoryUnit * kLargeMemoryUnit);
    if (draw.one_in(8)) va += kLargeMemoryUnit / 2;  // Some tiles are outside.
    va += tiled.base;
  } else if (width * height > 20 * 5) {
    return false;  // Larger than the memory that is mapped for linear images.
  } else {
    va = map_memory(draw, world);
    if (draw.one_in(8)) va += kMemoryBytes - 512;  // Some rows are outside.
  }
  Bits resource(state, in.saddr.code, 8);
  resource.set(0, 39, va >> 8);
  if (draw.one_in(4)) {
    const unsigned min_lod = gfx12 ? 186 : gfx11 ? 187 : 40;
    resource.set(min_lod, min_lod + 11, draw.below(2 * 256));
  }
  resource.set(78, 91, height - 1);
  unsigned select[4] = {4, 5, 6, 7};
  if (draw.one_in(2)) {
    for (unsigned i = 3; i > 0; --i) std::swap(select[i], select[draw.below(i + 1)]);
    if (name.find("store") == name.npos && draw.one_in(2)) select[draw.below(4)] = draw.below(2);
  }
  for (unsigned i = 0; i < 4; ++i) resource.set(96 + 3 * i, 98 + 3 * i, select[i]);
  resource.set(gfx12 ? 57 : 108, gfx12 ? 61 : 111, base_level);
  resource.set(gfx12 ? 111 : 112, 115, last_level);
  resource.set(116, 120, tiled_bytes != 0 ? tiled.mode : family == Family::kGfx8 ? 8 : 0);
  resource.set(124, 127, type);
  const uint32_t last_plane = planes - 1;
  if (gfx12) {
    resource.set(49, 56, format.compact);
    resource.set(62, 77, width - 1);
    resource.set(121, 123, draw.below(6));
    const bool tells_pitch = type == 8 || type == 9;
    if (tells_pitch && levels == 1 && draw.one_in(2)) pitch *= 2;
    resource.set(128, 143, tells_pitch ? pitch - 1 : last_plane);
    if (layers) resource.set(144, 157, first_layer);
    resource.set(44, 48, levels - 1);
  } else if (rdna) {
    resource.set(52, 60, gfx11 ? format.compact : format.unified);
    resource.set(62, 75, width - 1);
    if (!gfx11) resource.set(95, 95, 1);
    resource.set(121, 123, draw.below(6));
    const bool tells_pitch = (gfx11 || state.target.minor == 3) && (type == 8 || type == 9);
    if (tells_pitch && levels == 1 && draw.one_in(2)) pitch *= 2;
    resource.set(128, 141, tells_pitch ? pitch - 1 : last_plane);
    if (layers) resource.set(144, 156, first_layer);
    resource.set(gfx11 ? 48 : 164, gfx11 ? 51 : 167, levels - 1);
  } else {
    resource.set(52, 57, format.data);
    resource.set(58, 61, format.number);
    resource.set(64, 77, width - 1);
    if (draw.one_in(4) && levels == 1) pitch += unit / bytes;
    resource.set(128, 140, last_plane);
    resource.set(141, family == Family::kGfx8 ? 154 : 156, pitch - 1);
    if (layers) resource.set(160, 172, first_layer);
    if (family == Family::kGfx8) {
      resource.set(173, 185, layers ? last_plane : 0);
    } else {
      resource.set(157, 159, draw.below(6));
      resource.set(188, 191, levels - 1);
    }
  }
  if (draw.one_in(32)) Bits(state, in.saddr.code, 8);  // An unbound resource.
  if (has_sampler) draw_sampler(draw, state, in.extra[0].code, plain);

  ImageForm form;
  if (!image_form(in, state, form)) return false;
  // Other tests draw data registers that the wave does not have.
  const isa::Operand& data = in.vdst.exists() ? in.vdst : in.vdata;
  if (data.vgpr() + 6u > kVgprs) return false;
  const bool numbers = form.kind == Kind::kSample || form.kind == Kind::kGather || form.kind == Kind::kLod;
  const bool texels = numbers && (in.unorm || (state.scalar[in.extra[0].code] >> 15 & 1) != 0);
  const uint32_t sizes[] = {width, height, planes};
  for (unsigned lane = 0; lane < 64; ++lane) {
    const auto put = [&](unsigned first, unsigned n, bool halves, float number, uint32_t whole,
                         bool is_number) {
      const unsigned at = first + (halves ? n / 2 : n);
      uint32_t& to = state.vgpr[image_address_register(in, state, at)][lane];
      if (!halves) {
        to = is_number ? std::bit_cast<uint32_t>(number) : whole;
        return;
      }
      const uint32_t half = is_number ? half_of(number) : whole & 0xffff;
      to = n % 2 == 0 ? (to & 0xffff0000) | half : (to & 0xffff) | half << 16;
    };
    const auto fraction = [&] { return static_cast<float>(draw.below(1 << 16)) / (1 << 16); };
    if (form.bias) put(form.bias_at, 0, form.half_body, fraction() * 4 - 2, 0, true);
    if (form.compare) put(form.compare_at, 0, false, fraction() * 2 - 0.5f, 0, true);
    for (unsigned i = 0; form.gradients && i < 2 * form.space; ++i) {
      const unsigned registers = form.half_gradients ? (form.space + 1) / 2 : form.space;
      put(form.gradients_at + i / form.space * registers, i % form.space, form.half_gradients,
          (fraction() - 0.5f) * (texels ? 8 : 1), 0, true);
    }
    const unsigned parts =
        form.kind == Kind::kSizes ? 1 : form.coordinates() + (form.level || form.clamp ? 1 : 0);
    for (unsigned i = 0; i < parts; ++i) {
      const bool last = form.kind == Kind::kSizes || i >= form.coordinates();
      const bool plane = i == 2 || (form.layer && i == form.space);
      const uint32_t size = last ? levels : sizes[plane ? 2 : std::min(i, 1u)];
      uint32_t whole = draw.one_in(16) ? size + draw.below(4) - 1 : draw.below(size);
      if (draw.one_in(64)) whole = draw.value();
      float number = (fraction() * 3 - 1) * (texels || plane || last ? static_cast<float>(size) : 1);
      if (volume && plane && !texels) number = fraction() * 3 - 1;
      if (type == 11 && !last)
        number = plane ? static_cast<float>(draw.below(8)) : 1.125f * fraction() + 0.9375f;
      if (draw.one_in(8)) number = std::floor(number * 4) / 4;
      if (!plain && draw.one_in(64)) number = std::bit_cast<float>(draw.value());
      put(form.body_at, i, form.half_body, number, whole, numbers);
    }
  }
  return true;
}

}  // namespace rigel::vgpu::exec::reference
