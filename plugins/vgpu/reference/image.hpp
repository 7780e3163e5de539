// MIMG in the model: which addresses an instruction has. Shared by the model and by those who aim its instructions.
#pragma once

#include <string_view>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// An image instruction as its mnemonic and its fields have it.
struct ImageForm {
  enum class Kind : uint8_t { kLoad, kStore, kAtomic, kSample, kGather, kSizes, kLod };
  Kind kind = Kind::kLoad;
  std::string_view atomic;  ///< "smax"
  bool offset = false, bias = false, compare = false, gradients = false, clamp = false;
  bool level = false;  ///< _l, or _mip
  bool zero = false;   ///< _lz
  bool half_gradients = false, half_body = false;
  unsigned space = 2;  ///< Coordinates without layer and face
  bool layer = false;
  // Where in the registers of addresses these begin.
  unsigned offset_at = 0, bias_at = 0, compare_at = 0, gradients_at = 0, body_at = 0;
  unsigned registers = 0;

  unsigned coordinates() const { return space + (layer ? 1 : 0); }
};

/// False: not one that the model knows. The resource's words decide how many coordinates there are on gfx8 and gfx9.
bool image_form(const isa::Instruction& in, const State& state, ImageForm& form);

/// The VGPR of address register n: one of those that are listed, or that follow the first; v0 in place of those that
/// the wave does not have.
unsigned image_address_register(const isa::Instruction& in, const State& state, unsigned n);

}  // namespace rigel::vgpu::exec::reference
