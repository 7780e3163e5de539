#include "plugins/vgpu/exec/memory_ops/formats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plugins/vgpu/exec/memory_ops/halves.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {
namespace {

enum Number : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kSnormOgl, kFloat };

// Widths of the components, the lowest bits first.
struct Layout {
  uint8_t count;
  uint8_t bits[4];
};
constexpr Layout kLayouts[16] = {
    {0, {}},                // none
    {1, {8}},               // 8
    {1, {16}},              // 16
    {2, {8, 8}},            // 8_8
    {1, {32}},              // 32
    {2, {16, 16}},          // 16_16
    {3, {11, 11, 10}},      // 10_11_11
    {3, {10, 11, 11}},      // 11_11_10
    {4, {2, 10, 10, 10}},   // 10_10_10_2
    {4, {10, 10, 10, 2}},   // 2_10_10_10
    {4, {8, 8, 8, 8}},      // 8_8_8_8
    {2, {32, 32}},          // 32_32
    {4, {16, 16, 16, 16}},  // 16_16_16_16
    {3, {32, 32, 32}},      // 32_32_32
    {4, {32, 32, 32, 32}},  // 32_32_32_32
    {0, {}},
};

// gfx10's formats in the order of their numbers, from 1 on: so many kinds of numbers of each layout.
enum Kinds : uint8_t { kSix, kSeven, kWide };  // without float; with it; uint, sint and float
struct Group {
  uint8_t data;
  Kinds kinds;
};
constexpr Group kGroups[] = {{1, kSix},   {2, kSeven},  {3, kSix},   {4, kWide}, {5, kSeven},
                             {6, kSeven}, {7, kSeven},  {8, kSix},   {9, kSix},  {10, kSix},
                             {11, kWide}, {12, kSeven}, {13, kWide}, {14, kWide}};
constexpr uint8_t kSevenNumbers[] = {kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat};
constexpr uint8_t kWideNumbers[] = {kUint, kSint, kFloat};

int32_t sign_extended(uint32_t value, unsigned bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

// Unsigned floats of 10 and 11 bits: five bits of exponent, no sign.
float float_from_small(uint32_t value, unsigned bits) {
  return float_from_half(value << (15 - bits));
}

// To nearest even, once: by way of a half it would be twice.
uint32_t small_from_float(float value, unsigned bits) {
  if (std::isnan(value)) return (1u << bits) - 1;
  if (std::signbit(value)) return 0;
  const unsigned kept = bits - 5;  // of the mantissa
  const uint32_t infinity = 31u << kept;
  const uint32_t single = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = single >> 23;
  // Denormals have the mantissa's first bit, and are shifted by as much as they are too small.
  const bool normal = exponent >= 113;
  const unsigned shift = 23 - kept + (normal ? 0 : 113 - exponent);
  if (shift > 24) return 0;  // less than half of the smallest
  const uint32_t mantissa = normal ? single : (single & 0x7fffff) | 0x800000;
  const uint32_t rounded = (mantissa + (1u << (shift - 1)) - 1 + (mantissa >> shift & 1)) >> shift;
  return std::min(normal ? rounded - (112u << kept) : rounded, infinity);
}

bool is_integer(uint8_t number) {
  return number == kUint || number == kSint;
}

// A component as a register of 32 bits has it.
uint32_t component(uint32_t bits, unsigned width, uint8_t number) {
  const auto top = static_cast<float>((uint64_t{1} << width) - 1);
  const auto signed_top = static_cast<float>((uint64_t{1} << (width - 1)) - 1);
  const auto as_signed = static_cast<float>(sign_extended(bits, width));
  switch (number) {
    case kUnorm:
      return std::bit_cast<uint32_t>(static_cast<float>(bits) / top);
    case kSnorm:
      return std::bit_cast<uint32_t>(std::max(as_signed / signed_top, -1.0f));
    case kUscaled:
      return std::bit_cast<uint32_t>(static_cast<float>(bits));
    case kSscaled:
      return std::bit_cast<uint32_t>(as_signed);
    case kUint:
      return bits;
    case kSint:
      return static_cast<uint32_t>(sign_extended(bits, width));
    case kSnormOgl:
      return std::bit_cast<uint32_t>((as_signed * 2 + 1) / top);
    default:
      if (width == 32) return bits;
      return std::bit_cast<uint32_t>(width == 16 ? float_from_half(bits) : float_from_small(bits, width));
  }
}

// Rounded to the nearest integer and kept within bounds; what is not a number is 0.
int64_t bounded(double value, double low, double high) {
  if (std::isnan(value)) return 0;
  const double kept = std::clamp(value, low, high);
  const double below = std::floor(kept), rest = kept - below;  // ties to even
  const auto whole = static_cast<int64_t>(below);
  return whole + (rest > 0.5 || (rest == 0.5 && (whole & 1) != 0) ? 1 : 0);
}

uint32_t bits_of_component(uint32_t value, unsigned width, uint8_t number) {
  const double top = static_cast<double>((uint64_t{1} << width) - 1);
  const double signed_top = static_cast<double>((uint64_t{1} << (width - 1)) - 1);
  const auto real = static_cast<double>(std::bit_cast<float>(value));
  const auto mask = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  switch (number) {
    case kUnorm:
      return static_cast<uint32_t>(bounded(real * top, 0, top));
    case kSnorm:
      return static_cast<uint32_t>(bounded(real * signed_top, -signed_top, signed_top)) & mask;
    case kUscaled:
      return static_cast<uint32_t>(bounded(real, 0, top));
    case kSscaled:
      return static_cast<uint32_t>(bounded(real, -signed_top - 1, signed_top)) & mask;
    case kUint:
      return std::min(value, mask);
    case kSint:
      return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int32_t>(value),
                                                       -static_cast<int64_t>(signed_top) - 1,
                                                       static_cast<int64_t>(signed_top))) &
             mask;
    case kSnormOgl:
      return static_cast<uint32_t>(bounded((real * top - 1) / 2, -signed_top - 1, signed_top)) & mask;
    default:
      if (width == 32) return value;
      return width == 16 ? half_from_float(std::bit_cast<float>(value))
                         : small_from_float(std::bit_cast<float>(value), width);
  }
}

}  // namespace

BufferFormat unified_format(uint8_t format) {
  unsigned first = 1;
  for (const Group& group : kGroups) {
    const unsigned count = group.kinds == kSix ? 6 : group.kinds == kSeven ? 7 : 3;
    if (format >= first && format < first + count) {
      return {group.data,
              group.kinds == kWide ? kWideNumbers[format - first] : kSevenNumbers[format - first]};
    }
    first += count;
  }
  return {};
}

unsigned bytes_of(BufferFormat format) {
  const Layout& layout = kLayouts[format.data & 15];
  unsigned bits = 0;
  for (unsigned i = 0; i < layout.count; ++i) bits += layout.bits[i];
  return bits / 8;
}

std::optional<FormatAccess> format_access(const isa::Instruction& instruction, const isa::Traits& traits) {
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  if (shape == nullptr || shape->components == 0) return std::nullopt;
  FormatAccess access;
  access.store = shape->verb == isa::Verb::kStore;
  access.half = shape->d16;
  access.high = shape->high;
  access.packed = traits.packs_d16;
  access.components = shape->components;
  if (instruction.encoding == isa::Encoding::kMtbuf) {
    access.format = traits.buffer == isa::BufferRules::kSelected
                        ? unified_format(instruction.format)
                        : BufferFormat{instruction.dfmt, instruction.nfmt};
  }
  return access;
}

void unpack(const FormatAccess& access, const uint32_t (&element)[4], bool inside, uint32_t (&values)[4]) {
  const Layout& layout = kLayouts[access.format.data & 15];
  const uint8_t number = access.format.number;
  const uint32_t one = is_integer(number) ? 1 : 0x3f800000;
  uint32_t memory[4] = {0, 0, 0, inside && layout.count != 0 ? one : 0};
  unsigned at = 0;
  for (unsigned i = 0; i < layout.count && inside; ++i) {
    const unsigned width = layout.bits[i];
    const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
    memory[i] = component(element[at / 32] >> at % 32 & mask, width, number);
    at += width;
  }
  for (unsigned i = 0; i < access.components; ++i) {
    const uint8_t select = access.select[i];
    uint32_t value = select >= 4 ? memory[select - 4] : select == 1 ? one : 0;
    if (!access.half) {
      values[i] = value;
      continue;
    }
    value = is_integer(number) ? value & 0xffff : half_from_float(std::bit_cast<float>(value));
    if (access.high || (access.packed && i % 2 == 1)) {
      values[i / 2] = (values[i / 2] & 0xffff) | value << 16;
    } else if (access.packed && access.components == 1) {
      values[0] = (values[0] & 0xffff0000) | value;
    } else {
      values[access.packed ? i / 2 : i] = value;
    }
  }
}

void pack(const FormatAccess& access, const uint32_t (&values)[4], uint32_t (&element)[4]) {
  const Layout& layout = kLayouts[access.format.data & 15];
  const uint8_t number = access.format.number;
  uint32_t memory[4] = {};
  for (unsigned i = 0; i < access.components; ++i) {
    uint32_t value = values[i];
    if (access.half) {
      const uint32_t from = values[access.packed ? i / 2 : i];
      const uint32_t half = access.high || (access.packed && i % 2 == 1) ? from >> 16 : from & 0xffff;
      value = number == kSint   ? static_cast<uint32_t>(sign_extended(half, 16))
              : number == kUint ? half
                                : std::bit_cast<uint32_t>(float_from_half(half));
    }
    if (access.select[i] >= 4) memory[access.select[i] - 4] = value;
  }
  for (uint32_t& dword : element) dword = 0;
  unsigned at = 0;
  for (unsigned i = 0; i < layout.count; ++i) {
    element[at / 32] |= bits_of_component(memory[i], layout.bits[i], number) << at % 32;
    at += layout.bits[i];
  }
}

}  // namespace rigel::vgpu::exec
