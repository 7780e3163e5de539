// A chip. Its family determines the encodings; the chip determines which instructions exist.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::isa {

/// A gfx target by its version: 8.0.3 is {8, 0, 3}, gfx90a {9, 0, 10}.
struct Target {
  uint8_t major = 9, minor = 0, stepping = 0;
  /// Wave size, which is the width of lane masks. gfx10 kernels select it in their descriptor.
  bool wave32 = false;

  /// Returns the instruction set; kNone for an unknown chip.
  constexpr Family family() const;
  constexpr bool operator==(const Target&) const = default;
};

/// A set of chips.
class ChipSet {
 public:
  constexpr ChipSet() = default;
  /// Bit n stands for the chip of line n of chips.inc.
  constexpr explicit ChipSet(uint64_t bits) : bits_(bits) {}

  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr bool intersects(ChipSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr ChipSet operator|(ChipSet other) const { return ChipSet(bits_ | other.bits_); }
  constexpr ChipSet& operator|=(ChipSet other) { return *this = *this | other; }
  constexpr bool operator==(const ChipSet&) const = default;

 private:
  uint64_t bits_ = 0;
};

namespace detail {

struct Chip {
  Target target;
  Family family;
};

inline constexpr Chip kChips[] = {
#define RIGEL_CHIP(major, minor, stepping, family) {{major, minor, stepping}, Family::family},
#include "plugins/vgpu/isa/chips.inc"
#undef RIGEL_CHIP
};
static_assert(std::size(kChips) <= 64, "a chip set has 64 bits");

constexpr size_t kVersions = 16 * 8 * 16;
constexpr size_t version_of(const Target& target) {
  return target.major * 128u + target.minor * 16u + target.stepping;
}

/// By version: line of chips.inc from 1; 0 for an unknown chip.
inline constexpr auto kChipNumbers = [] {
  std::array<uint8_t, kVersions> numbers{};
  for (size_t i = 0; i != std::size(kChips); ++i)
    numbers[version_of(kChips[i].target)] = static_cast<uint8_t>(i + 1);
  return numbers;
}();

constexpr uint8_t chip_number(const Target& target) {
  if (target.major > 15 || target.minor > 7 || target.stepping > 15) return 0;
  return kChipNumbers[version_of(target)];
}

}  // namespace detail

constexpr Family Target::family() const {
  const uint8_t number = detail::chip_number(*this);
  return number == 0 ? Family::kNone : detail::kChips[number - 1].family;
}

/// Returns the set that has this chip only; an empty set for an unknown chip.
constexpr ChipSet chip_set(const Target& target) {
  const uint8_t number = detail::chip_number(target);
  return ChipSet(number == 0 ? 0 : uint64_t{1} << (number - 1));
}

/// Returns the chips of a family.
constexpr ChipSet chip_set(Family family) {
  ChipSet chips;
  for (const detail::Chip& chip : detail::kChips) {
    if (chip.family == family) chips |= chip_set(chip.target);
  }
  return chips;
}

/// Returns the chips of the instruction tables.
std::span<const Target> all_targets();

/// Parses a processor name such as "gfx906" or "gfx90a"; ignores features after a colon ("gfx906:xnack-").
/// Nothing for an unknown chip.
std::optional<Target> target_of(std::string_view name);

/// Returns the processor name, without features.
std::string name(const Target& target);

}  // namespace rigel::vgpu::isa
