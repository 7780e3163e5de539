// A chip. Its family determines the encodings; the chip determines which instructions exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::isa {

/// A gfx target by its version: 8.0.3 is {8, 0, 3}, gfx90a {9, 0, 10}.
struct Target {
  uint8_t major = 9, minor = 0, stepping = 0;
  /// Wave size, which is the width of lane masks. gfx10 kernels select it in their descriptor.
  bool wave32 = false;

  /// Returns the instruction set. Valid only for chips that chip_bit() knows; the decoder rejects others
  /// first.
  constexpr Family family() const {
    return major == 8 ? Family::kGfx8 : major == 9 ? Family::kGfx9 : Family::kGfx10;
  }
  constexpr bool operator==(const Target&) const = default;
};

/// Parses a processor name such as "gfx906" or "gfx90a"; ignores features after a colon ("gfx906:xnack-").
/// Nothing for an unknown chip.
std::optional<Target> target_of(std::string_view name);

/// Returns the processor name, without features.
std::string name(const Target& target);

/// Returns the chip's bit in the masks of the instruction tables; 0 for an unknown chip.
uint32_t chip_bit(const Target& target);

/// Returns the chip of a bit.
std::optional<Target> target_of_bit(uint32_t bit);

}  // namespace rigel::vgpu::isa
