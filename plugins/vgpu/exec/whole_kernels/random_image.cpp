#include "plugins/vgpu/exec/whole_kernels/random_image.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/image_shape.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using isa::Encoding;
using isa::Family;
using reference::Draw;

constexpr uint32_t k1D = 8, k2D = 9, k3D = 10, kCube = 11, k2DArray = 13;  // TYPE
constexpr uint32_t kLinearGfx8 = 8;                                        // TILING_INDEX of linear images

void set(std::span<uint32_t> words, unsigned first, unsigned last, uint64_t value) {
  for (unsigned bit = first; bit <= last; ++bit)
    words[bit / 32] |= static_cast<uint32_t>(value >> (bit - first) & 1) << bit % 32;
}

/// A format: encodings of gfx8 and gfx9, of gfx10, and bytes per texel.
struct Format {
  uint32_t data, number, unified, bytes;
};
constexpr Format kFormats[] = {{4, 7, 22, 4},   {10, 0, 56, 4}, {1, 0, 1, 1},   {11, 7, 64, 8},
                               {14, 7, 77, 16}, {5, 7, 29, 4},  {10, 1, 57, 4}, {12, 0, 65, 8},
                               {16, 0, 133, 2}, {10, 9, 130, 4}};
constexpr Format kIntegers[] = {{4, 4, 20, 4}, {11, 4, 62, 8}, {14, 4, 75, 16}, {2, 5, 12, 2}};

struct Extents {
  uint32_t type = k2D, width = 1, height = 1, planes = 1, pitch = 1, levels = 1;
};

void put_resource(const isa::Target& target, uint64_t va, const Format& format, const Extents& image,
                  std::span<uint32_t> words) {
  const bool gfx8 = target.family() == Family::kGfx8, gfx10 = target.family() == Family::kGfx10;
  set(words, 0, 39, va >> 8);
  set(words, 78, 91, image.height - 1);
  set(words, 112, 115, image.levels - 1);
  set(words, 116, 120, gfx8 ? kLinearGfx8 : 0);
  set(words, 124, 127, image.type);
  if (gfx10) {
    set(words, 52, 60, format.unified);
    set(words, 62, 75, image.width - 1);
    set(words, 95, 95, 1);
    const bool has_pitch = target.minor == 3 && (image.type == k1D || image.type == k2D);
    set(words, 128, 141, (has_pitch ? image.pitch : image.planes) - 1);
    set(words, 164, 167, image.levels - 1);
    return;
  }
  set(words, 52, 57, format.data);
  set(words, 58, 61, format.number);
  set(words, 64, 77, image.width - 1);
  set(words, 128, 140, image.planes - 1);
  set(words, 141, 154, image.pitch - 1);
  if (gfx8) {
    set(words, 173, 185, image.type == k3D ? 0 : image.planes - 1);
  } else {
    set(words, 188, 191, image.levels - 1);
  }
}

void put_selects(std::span<uint32_t> words, const std::array<uint32_t, 4>& selects) {
  for (unsigned i = 0; i < 4; ++i) set(words, 96 + 3 * i, 98 + 3 * i, selects[i]);
}

}  // namespace

RandomImage::RandomImage(const isa::Target& target) : target_(target) {
  const auto rows = isa::tables::rows();
  for (uint16_t row = 0; size_t{row} < rows.size(); ++row) {
    if (!rows[row].chips.intersects(isa::chip_set(target))) continue;
    if (isa::tables::shapes()[rows[row].shape].encoding != Encoding::kMimg) continue;
    const isa::ImageShape* const shape = isa::image_shape(rows[row].op);
    if (shape == nullptr) continue;
    const bool writes = shape->verb == isa::ImageVerb::kStore || shape->verb == isa::ImageVerb::kAtomic;
    (writes ? writes_ : reads_).push_back(row);
  }
}

ImageWords RandomImage::reads(Draw& draw, uint64_t va) const {
  const Format& format = draw.one_in(4) ? kIntegers[draw.below(std::size(kIntegers))]
                                        : kFormats[draw.below(std::size(kFormats))];
  static constexpr uint32_t kTypes[] = {k1D, k2D, k2D, k2D, k3D, kCube, k2DArray};
  Extents image;
  image.type = kTypes[draw.below(std::size(kTypes))];
  image.width = 1 + draw.below(16);
  image.height = image.type == k1D ? 1 : 1 + draw.below(image.type == kCube ? 2 : 4);
  image.planes = image.type == k3D || image.type == k2DArray ? 1 + draw.below(3)
                 : image.type == kCube                       ? 6
                                                             : 1;
  if (image.type == kCube) image.height = image.width = 1 + draw.below(2);
  if (target_.family() != Family::kGfx8 && image.type == k2D && draw.one_in(2))
    image.levels = 1 + draw.below(2);
  const uint32_t unit = 256 / format.bytes;
  image.pitch = (image.width + unit - 1) / unit * unit;

  ImageWords words;
  put_resource(target_, va, format, image, words.resource);
  std::array<uint32_t, 4> selects = {4, 5, 6, 7};
  if (draw.one_in(2)) {
    uint32_t& select = selects[draw.below(4)];
    std::swap(select, selects[draw.below(4)]);
  }
  if (draw.one_in(4)) selects[draw.below(4)] = draw.below(2);
  put_selects(words.resource, selects);

  const uint32_t mode = draw.below(8);
  const bool same = draw.one_in(2), plain = draw.one_in(2);
  for (unsigned i = 0; i < 3; ++i)
    set(words.sampler, 3 * i, 3 * i + 2, plain ? draw.below(3) : same ? mode : draw.below(8));
  set(words.sampler, 12, 14, draw.below(8));
  set(words.sampler, 15, 15, draw.one_in(3));
  set(words.sampler, 44, 55, 4095);
  const uint32_t linear = draw.below(2);
  set(words.sampler, 84, 85, linear);
  set(words.sampler, 86, 87, linear);
  set(words.sampler, 90, 91, plain ? 0 : draw.below(3));
  set(words.sampler, 126, 127, draw.below(3));
  return words;
}

ImageWords RandomImage::plane(uint64_t va, uint32_t dwords, uint32_t rows) const {
  ImageWords words;
  const Format& format = kIntegers[dwords == 1 ? 0 : dwords == 2 ? 1 : 2];
  put_resource(target_, va, format, {k2D, kRowTexels, rows, 1, kRowTexels, 1}, words.resource);
  put_selects(words.resource, {4, 5, 6, 7});
  return words;
}

Words RandomImage::read(Draw& draw, const Registers& registers, uint32_t resource, uint32_t sampler) const {
  for (int i = 0; i < 200; ++i) {
    const uint16_t row = reads_[draw.below(static_cast<uint32_t>(reads_.size()))];
    if (Words words = attempt(row, draw, registers, resource, sampler); !words.empty()) return words;
  }
  return {};
}

Words RandomImage::attempt(uint16_t row, Draw& draw, const Registers& registers, uint32_t resource,
                           uint32_t sampler) const {
  const isa::tables::Row& entry = isa::tables::rows()[row];
  const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
  const auto vgpr = [&](bool written) {
    const uint32_t first = written ? registers.first_data : 0;
    return first + draw.below(registers.vgprs - first);
  };
  uint64_t fields = uint64_t{1 + draw.below(15)} << 8;  // DMASK
  if (target_.family() == Family::kGfx10) {
    fields |= draw.below(6) << 3;  // DIM
  } else {
    fields |= draw.below(2) << 14;  // DA
  }
  if (draw.one_in(4)) fields |= 1u << 12;           // UNORM
  if (draw.one_in(8)) fields |= 1u << 16;           // TFE
  if (draw.one_in(8)) fields |= uint64_t{1} << 62;  // A16 of gfx10
  if (draw.one_in(8)) fields |= uint64_t{1} << 63;  // D16
  fields |= uint64_t{vgpr(false)} << 32 | uint64_t{vgpr(true)} << 40;
  fields |= uint64_t{resource / 4} << 48;
  if (isa::image_shape(entry.op)->has_sampler()) fields |= uint64_t{sampler / 4} << 53;
  const uint64_t bits = entry.value | (fields & shape.live & ~shape.mask);
  Words words = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
  for (unsigned i = 0; i < 3; ++i) {  // for NSA addresses
    uint32_t further = 0;
    for (unsigned at = 0; at < 32; at += 8) further |= vgpr(false) << at;
    words.push_back(further);
  }
  isa::Instruction in;
  if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk || in.row != row)
    return {};
  if (in.lacks_registers && !draw.one_in(16)) return {};
  words.resize(in.bytes / 4);
  const auto fits = [&](const isa::Operand& operand, unsigned further) {
    return operand.vgpr() + operand.dwords + further <= registers.vgprs;
  };
  constexpr unsigned kMaxAddresses = 13;  // the resource determines the number of addresses
  const bool has_dimension = target_.family() == Family::kGfx10;
  return fits(in.vdst, 2) && fits(in.vaddr, has_dimension ? 0 : kMaxAddresses) ? words : Words{};
}

Words RandomImage::write(isa::Op op, uint32_t address, uint32_t data, uint32_t dmask,
                         uint32_t resource) const {
  for (const uint16_t row : writes_) {
    const isa::tables::Row& entry = isa::tables::rows()[row];
    if (entry.op != op) continue;
    const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
    uint64_t fields = uint64_t{dmask} << 8 | 1u << 12 | uint64_t{address} << 32 | uint64_t{data} << 40 |
                      uint64_t{resource / 4} << 48;
    if (target_.family() == Family::kGfx10) fields |= 1u << 3;  // DIM: 2D
    const uint64_t bits = entry.value | (fields & shape.live & ~shape.mask);
    Words words = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
    isa::Instruction in;
    if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk || in.op != op)
      continue;
    if (in.bytes == 8 && in.vdata.dwords <= 4) return words;
  }
  return {};
}

}  // namespace rigel::vgpu::exec::whole
