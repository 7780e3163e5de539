// What an image operation does, apart from which image and how large: which of load, store, atomic, sample, gather or
// query it is, and which addresses it has in front of the coordinates and behind them.
//
// Sources: the ISA manuals of AMD (Vega: "Image opcodes with a sampler"; RDNA 2: chapter 8.2), whose names of operations
// are made of these parts. image_shape_test.cpp holds the rows against what LLVM's tables say of their addresses.
//
// Threads: constants; any.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

enum class ImageVerb : uint8_t { kLoad, kStore, kAtomic, kSample, kGather, kSizes, kLod };

/// Where the level of detail comes from.
enum class LodSource : uint8_t {
  kNeighbours,  ///< The coordinates of the four lanes of a quad.
  kZero,
  kAddress,    ///< The last address: a number of samples and gathers, an integer of loads and stores.
  kGradients,  ///< Addresses before the coordinates.
};

struct ImageShape {
  ImageVerb verb = ImageVerb::kLoad;
  LodSource lod = LodSource::kZero;
  bool offset = false;          ///< _o: a dword with offsets in texels.
  bool bias = false;            ///< _b: added to the level of detail.
  bool compare = false;         ///< _c: texels are compared with a number.
  bool clamp = false;           ///< _cl: the least level of detail, the last address.
  bool half_gradients = false;  ///< _g16
  Atomic atomic{};

  /// Addresses before the gradients, a register each.
  constexpr unsigned further() const { return offset + bias + compare; }
  /// Whether an address follows the coordinates.
  constexpr bool has_last() const { return clamp || lod == LodSource::kAddress; }
  constexpr bool has_sampler() const {
    return verb == ImageVerb::kSample || verb == ImageVerb::kGather || verb == ImageVerb::kLod;
  }
};

/// The operation's row; nullptr if it is not of images, or not known here: images of several samples a texel, raw
/// (_pck) accesses, gathers of rows, and rays.
const ImageShape* image_shape(Op op);

}  // namespace rigel::vgpu::isa
