#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <string>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;

// Writes the words to registers: the resource first, then the sampler. Returns the first register.
uint32_t Generator::image_words(const ImageWords& words) {
  constexpr uint32_t kWords = 12;
  const uint32_t first = sgpr::kData + 4 * draw_.below((sgpr::kDataEnd - sgpr::kData - kWords) / 4 + 1);
  for (uint32_t i = 0; i < 8; ++i) s_mov(first + i, words.resource[i]);
  for (uint32_t i = 0; i < 4; ++i) s_mov(first + 8 + i, words.sampler[i]);
  return first;
}

void Generator::read_image() {
  const uint32_t block = draw_.below((kernel_.in_bytes - RandomImage::kMaxBytes) / 256 + 1);
  const uint32_t words = image_words(image_.reads(draw_, kInVa + uint64_t{block} * 256));
  const Words read = image_.read(draw_, registers(), words, words + 8);
  isa::Instruction in;
  if (isa::decode(encoder_.target(), read.data(), read.size(), in) != isa::DecodeStatus::kOk) return;
  // Most coordinates are on the image or near it.
  for (uint32_t i = 0; i < 4 && !draw_.one_in(6); ++i) {
    const uint32_t address = i != 0 && i <= in.nsa_count ? in.nsa[i - 1] : in.vaddr.vgpr() + i;
    if (address < first_data_ || address >= kernel_.vgprs) continue;
    v_and_const(address, draw_.one_in(8) ? 31 : 3, address);
    if (in.extra[0].exists()) put(encoder_.vop1(op("v_cvt_f32_u32"), address, v(address)));
    if (in.extra[0].exists() && draw_.one_in(2))
      put(encoder_.vop2(op("v_mul_f32"), address, kLiteral, address, 0x3e000000 + draw_.below(1 << 24)));
  }
  put(read);
  wait();
}

void Generator::write_image() {
  const uint32_t dwords = image_dwords_.value_or(one_of({1u, 2u, 4u, 4u}));
  image_dwords_ = dwords;
  const uint32_t rows = (total_ + RandomImage::kRowTexels - 1) / RandomImage::kRowTexels;
  const uint32_t words = image_words(image_.plane(kOutVa + image_field_, dwords, rows));
  const uint32_t address = data_vgpr(2), data = data_vgpr(dwords);
  put(encoder_.vop2(op("v_lshrrev_b32"), address + 1, inline_integer(6), index_));
  v_and_const(address, RandomImage::kRowTexels - 1, index_);
  put(image_.write(op("image_store"), address, data, (1u << dwords) - 1, words));
}

// Atomic sums at the same places as sum().
void Generator::sum_image() {
  static constexpr const char* kKinds[] = {"add", "smin", "smax", "umin", "umax", "and", "or", "xor"};
  const uint32_t kind = draw_.below(8);
  const bool wide = draw_.one_in(4);
  const uint32_t offset = kind * 1024 + (wide ? 512 : 0);
  const uint32_t words = image_words(image_.plane(kAtomicsVa + offset, wide ? 2 : 1, 1));
  const uint32_t address = data_vgpr(2), data = data_vgpr(wide ? 2 : 1);
  v_and_const(address, draw_.one_in(8) ? 127 : 31, data_vgpr());
  v_const(address + 1, 0);
  put(image_.write(op(std::string("image_atomic_") + kKinds[kind]), address, data, wide ? 3 : 1, words));
}

}  // namespace rigel::vgpu::exec::whole
