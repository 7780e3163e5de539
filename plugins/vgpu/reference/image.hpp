// Addresses of MIMG instructions, for the model and for aim_image().
#pragma once

#include <string_view>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// An image instruction, parsed from its mnemonic and fields.
struct ImageForm {
  enum class Kind : uint8_t { kLoad, kStore, kAtomic, kSample, kGather, kSizes, kLod };
  Kind kind = Kind::kLoad;
  std::string_view atomic;  ///< For example "smax".
  bool offset = false, bias = false, compare = false, gradients = false, clamp = false;
  bool level = false;  ///< _l or _mip
  bool zero = false;   ///< _lz
  bool half_gradients = false, half_body = false;
  unsigned space = 2;  ///< Coordinates without layer and face.
  bool layer = false;
  // First address registers of each part.
  unsigned offset_at = 0, bias_at = 0, compare_at = 0, gradients_at = 0, body_at = 0;
  unsigned registers = 0;

  unsigned coordinates() const { return space + (layer ? 1 : 0); }
};

/// Returns false for unsupported instructions. On gfx8 and gfx9 the resource determines the number of
/// coordinates.
bool image_form(const isa::Instruction& in, const State& state, ImageForm& form);

/// Returns the VGPR of address register n, listed or consecutive; v0 if the wave does not have it.
unsigned image_address_register(const isa::Instruction& in, const State& state, unsigned n);

}  // namespace rigel::vgpu::exec::reference
