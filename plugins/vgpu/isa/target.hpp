// Which chip: the family decides encodings, the chip which instructions exist.
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
  bool wave32 = false;  ///< How wide lane masks are: gfx10 has both; of a kernel, its descriptor says which.

  /// The instruction set of a chip that chip_bit() knows; the decoder refuses others first.
  constexpr Family family() const {
    return major == 8 ? Family::kGfx8 : major == 9 ? Family::kGfx9 : Family::kGfx10;
  }
  constexpr bool operator==(const Target&) const = default;
};

/// The target of a processor's name, "gfx906" or "gfx90a", features after a colon ("gfx906:xnack-") ignored.
/// Nothing for a chip that is not here.
std::optional<Target> target_of(std::string_view name);

/// The processor's name, without features.
std::string name(const Target& target);

/// One bit of the chip masks in the instruction tables; 0 for a chip that they don't know.
uint32_t chip_bit(const Target& target);

/// The chip of a bit.
std::optional<Target> target_of_bit(uint32_t bit);

}  // namespace rigel::vgpu::isa
