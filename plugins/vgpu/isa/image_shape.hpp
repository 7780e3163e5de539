// What an image operation does, and which addresses it has before and after the coordinates.
//
// Sources: AMD's ISA manuals (Vega: "Image opcodes with a sampler"; RDNA 2: chapter 8.2); operation names
// consist of these parts. image_shape_test.cpp compares the rows with LLVM's tables.
//
// *Threads:* any; constants.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

enum class ImageVerb : uint8_t { kLoad, kStore, kAtomic, kSample, kGather, kSizes, kLod };

/// Source of the level of detail.
enum class LodSource : uint8_t {
  kNeighbours,  ///< Differences of the coordinates within a quad of lanes.
  kZero,
  kAddress,    ///< The last address: a float for samples and gathers, an integer for loads and stores.
  kGradients,  ///< Addresses before the coordinates.
};

struct ImageShape {
  ImageVerb verb = ImageVerb::kLoad;
  LodSource lod = LodSource::kZero;
  bool offset = false;          ///< _o: a dword with texel offsets.
  bool bias = false;            ///< _b: a bias of the level of detail.
  bool compare = false;         ///< _c: texels are compared with a reference value.
  bool clamp = false;           ///< _cl: the last address is the minimum level of detail.
  bool half_gradients = false;  ///< _g16
  Atomic atomic{};

  /// Number of addresses before the gradients, one register each.
  constexpr unsigned further() const { return offset + bias + compare; }
  /// Whether an address follows the coordinates.
  constexpr bool has_last() const { return clamp || lod == LodSource::kAddress; }
  constexpr bool has_sampler() const {
    return verb == ImageVerb::kSample || verb == ImageVerb::kGather || verb == ImageVerb::kLod;
  }
};

/// Returns the operation's row. Null for other operations, and for unsupported ones: multisampled images, raw
/// (_pck) accesses, gathers of rows, rays.
const ImageShape* image_shape(Op op);

}  // namespace rigel::vgpu::isa
