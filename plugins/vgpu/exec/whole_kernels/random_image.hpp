// Random image instructions: small images in rows, and any instruction that reads an image.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/random_alu.hpp"

namespace rigel::vgpu::exec::whole {

struct ImageWords {
  std::array<uint32_t, 8> resource{};
  std::array<uint32_t, 4> sampler{};
};

class RandomImage {
 public:
  static constexpr uint32_t kMaxBytes = 4096;  ///< Maximum size of images that reads() draws.
  static constexpr uint32_t kRowTexels = 64;   ///< Row length of plane().

  explicit RandomImage(const isa::Target& target);

  /// Whether the chip has image instructions.
  bool exists() const { return !reads_.empty(); }

  /// Returns an image at `va`, a multiple of 256.
  ImageWords reads(reference::Draw& draw, uint64_t va) const;
  /// Returns a plane of kRowTexels by `rows` texels of one, two or four unsigned dwords, for stores and
  /// atomics.
  ImageWords plane(uint64_t va, uint32_t dwords, uint32_t rows) const;

  /// Returns a load, sample, gather or query of the image whose words are in scalar registers from
  /// `resource` and `sampler` on.
  Words read(reference::Draw& draw, const Registers& registers, uint32_t resource, uint32_t sampler) const;
  /// Returns image_store or an atomic without result, on a plane. `address` is a pair of VGPRs.
  Words write(isa::Op op, uint32_t address, uint32_t data, uint32_t dmask, uint32_t resource) const;

 private:
  Words attempt(uint16_t row, reference::Draw& draw, const Registers& registers, uint32_t resource,
                uint32_t sampler) const;

  isa::Target target_;
  std::vector<uint16_t> reads_, writes_;
};

}  // namespace rigel::vgpu::exec::whole
