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

/// Fields of an instruction's first three dwords.
class Fields {
 public:
  void put(isa::tables::Field at, uint64_t value) {
    for (unsigned bit = 0; bit < at.width; ++bit) {
      if ((value >> bit & 1) != 0) set(bits_, at.low + bit, at.low + bit, 1);
    }
  }
  /// Puts a group of four scalar registers or more. Short fields lack the low bits.
  void put_group(isa::tables::Field at, uint32_t code) { put(at, at.width < 7 ? code / 4 : code); }
  Words of(uint64_t value, const isa::tables::Shape& shape) const {
    const uint64_t low = bits_[0] | uint64_t{bits_[1]} << 32;
    const uint64_t bits = value | (low & shape.live & ~shape.mask);
    Words words = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
    if (shape.dwords == 3) words.push_back(bits_[2]);
    return words;
  }

 private:
  std::array<uint32_t, 3> bits_{};
};

/// A format: encodings of gfx8 and gfx9, of gfx10, and of gfx11 and gfx12; bytes per texel.
struct Format {
  uint32_t data, number, unified, compact, bytes;
};
constexpr Format kFormats[] = {
    {4, 7, 22, 22, 4}, {10, 0, 56, 42, 4}, {1, 0, 1, 1, 1},    {11, 7, 64, 50, 8},  {14, 7, 77, 63, 16},
    {5, 7, 29, 29, 4}, {10, 1, 57, 43, 4}, {12, 0, 65, 51, 8}, {16, 0, 133, 68, 2}, {10, 9, 130, 66, 4}};
constexpr Format kIntegers[] = {
    {4, 4, 20, 20, 4}, {11, 4, 62, 48, 8}, {14, 4, 75, 61, 16}, {2, 5, 12, 12, 2}};

struct Extents {
  uint32_t type = k2D, width = 1, height = 1, planes = 1, pitch = 1, levels = 1;
};

void put_resource(const isa::Target& target, uint64_t va, const Format& format, const Extents& image,
                  std::span<uint32_t> words) {
  const bool gfx8 = target.family() == Family::kGfx8, gfx10 = target.family() == Family::kGfx10,
             gfx11 = target.family() == Family::kGfx11, gfx12 = target.family() == Family::kGfx12;
  const bool has_pitch = image.type == k1D || image.type == k2D;
  set(words, 0, 39, va >> 8);
  set(words, 78, 91, image.height - 1);
  set(words, gfx12 ? 111 : 112, 115, image.levels - 1);
  set(words, 116, 120, gfx8 ? kLinearGfx8 : 0);
  set(words, 124, 127, image.type);
  if (gfx12) {
    set(words, 44, 48, image.levels - 1);
    set(words, 49, 56, format.compact);
    set(words, 62, 77, image.width - 1);
    set(words, 128, 143, (has_pitch ? image.pitch : image.planes) - 1);
    return;
  }
  if (gfx10 || gfx11) {
    set(words, 52, 60, gfx11 ? format.compact : format.unified);
    set(words, 62, 75, image.width - 1);
    set(words, 95, 95, gfx10);
    const bool uses_pitch = has_pitch && (gfx11 || target.minor == 3);
    set(words, 128, 141, (uses_pitch ? image.pitch : image.planes) - 1);
    set(words, gfx11 ? 48 : 164, gfx11 ? 51 : 167, image.levels - 1);
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
  const unsigned max_lod = target_.family() == Family::kGfx12 ? 45 : 44;
  set(words.sampler, max_lod, max_lod + 11, 4095);
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
  const isa::tables::FieldPositions& positions =
      isa::tables::field_positions(target_.family(), Encoding::kMimg);
  Fields fields;
  const auto put = [&fields](isa::tables::Field field, uint64_t value) { fields.put(field, value); };
  put(positions.dmask, 1 + draw.below(15));
  put(positions.dim, draw.below(6));
  put(positions.da, draw.below(2));
  put(positions.unorm, draw.one_in(4));
  const bool has_sampler_fields =
      positions.sampler_tfe.width != 0 && isa::tables::has_sampler_fields(entry.value);
  put(has_sampler_fields ? positions.sampler_tfe : positions.tfe, draw.one_in(8));
  put(positions.a16, draw.one_in(8));
  put(positions.d16, draw.one_in(8));
  put(positions.vaddr, vgpr(false));
  put(positions.vdata, vgpr(true));
  fields.put_group(positions.srsrc, resource);
  if (isa::image_shape(entry.op)->has_sampler()) fields.put_group(positions.ssamp, sampler);
  if (shape.dwords == 3) {  // The addresses after the first.
    for (uint8_t low = 72; low < 96; low += 8) put({low, 8}, vgpr(false));
    if (!has_sampler_fields) put({56, 8}, vgpr(false));
  }
  Words words = fields.of(entry.value, shape);
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
  const bool has_listed =
      std::all_of(in.nsa, in.nsa + in.nsa_count, [&](uint8_t n) { return n < registers.vgprs; });
  return has_listed && fits(in.vdst, 2) && fits(in.vaddr, positions.dim.width != 0 ? 0 : kMaxAddresses)
             ? words
             : Words{};
}

Words RandomImage::write(isa::Op op, uint32_t address, uint32_t data, uint32_t dmask,
                         uint32_t resource) const {
  for (const uint16_t row : writes_) {
    const isa::tables::Row& entry = isa::tables::rows()[row];
    if (entry.op != op) continue;
    const isa::tables::Shape& shape = isa::tables::shapes()[entry.shape];
    const isa::tables::FieldPositions& positions =
        isa::tables::field_positions(target_.family(), Encoding::kMimg);
    Fields fields;
    fields.put(positions.vaddr, address);
    if (shape.dwords == 3) fields.put({72, 8}, address + 1);
    fields.put(positions.vdata, data);
    fields.put_group(positions.srsrc, resource);
    fields.put(positions.dmask, dmask);
    fields.put(positions.unorm, 1);
    fields.put(positions.dim, 1);  // 2D
    Words words = fields.of(entry.value, shape);
    isa::Instruction in;
    if (isa::decode(target_, words.data(), words.size(), in) != isa::DecodeStatus::kOk || in.op != op)
      continue;
    if (in.bytes == words.size() * 4 && in.vdata.dwords <= 4) return words;
  }
  return {};
}

}  // namespace rigel::vgpu::exec::whole
