#include "plugins/vgpu/exec/reference/aim.hpp"

#include <algorithm>

#include "plugins/vgpu/exec/reference/element.hpp"

namespace rigel::vgpu::exec::reference {

void draw_offsets(Draw& draw, uint32_t size, uint32_t unit, uint32_t (&offsets)[64]) {
  const uint32_t elements = std::max(size / unit, 1u);
  const uint32_t pattern = draw.below(8);
  const uint32_t start = draw.below(elements) * unit;
  const uint32_t stride = (1 + draw.below(3)) * unit;
  const bool unaligned = draw.one_in(8);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    uint32_t& offset = offsets[lane];
    switch (pattern) {
      case 0:  // in a row
      case 1:
        offset = start % std::max(size / 2, 1u) / unit * unit + lane * unit;
        break;
      case 2:  // in larger steps, or backwards
        offset = start % std::max(size / 2, 1u) / unit * unit + (draw.one_in(1) ? lane : 63 - lane) * stride;
        break;
      case 3:  // all the same
        offset = start;
        break;
      case 4:  // near each other
        offset = (start / unit + draw.below(32)) * unit;
        break;
      case 5:  // near the end
        offset = size + unit - draw.below(4) * unit - draw.below(2) * (unit / 2);
        break;
      default:
        offset = draw.below(elements) * unit;
        break;
    }
    if (unaligned) offset += draw.below(unit);
  }
}

bool aim(Draw& draw, isa::Instruction& instruction, State& state) {
  // Accumulation registers are for matrix instructions, which are not executed.
  for (const isa::Operand* operand : {&instruction.vdata, &instruction.vdata2, &instruction.vdst}) {
    if (operand->is_agpr()) return false;
  }
  World& world = state.world;
  world.shader_clock = draw.bits();
  world.reference_clock = draw.bits();
  world.id_in_group = draw.below(32);
  switch (instruction.encoding) {
    case isa::Encoding::kDs:
      return aim_data_share(draw, instruction, state);
    default:
      return false;
  }
}

bool aim_data_share(Draw& draw, isa::Instruction& in, State& state) {
  World& world = state.world;
  static constexpr uint32_t kSizes[] = {4096, 4096, 4096, 1024, 2052, 100, 0};
  world.lds.resize(kSizes[draw.below(7)]);
  for (size_t i = 0; i + 4 <= world.lds.size(); i += 4) {
    const uint32_t value = draw.value();
    for (unsigned b = 0; b < 4; ++b) world.lds[i + b] = static_cast<uint8_t>(value >> 8 * b);
  }
  for (uint32_t& counter : world.gws) counter = draw.below(3);
  const auto lds_bytes = static_cast<uint32_t>(world.lds.size());
  uint32_t size = lds_bytes;
  uint32_t& m0 = state.scalar[isa::code::kM0];
  const std::string_view name = isa::name(in.op);
  const bool two =
      name.find("read2") != name.npos || name.find("write2") != name.npos || name.find("xchg2") != name.npos;
  if (!two && name.find("_src2_") == name.npos && size != 0 && draw.one_in(2)) {
    in.offset = static_cast<int32_t>(static_cast<uint32_t>(in.offset) % size);
  }
  const bool m0_is_address =
      in.op == isa::Op::ds_append || in.op == isa::Op::ds_consume || name.find("_addtid_") != name.npos;
  world.gds.resize(in.gds ? 65536 : 0);
  if (in.gds) {
    uint32_t value = draw.value();
    for (size_t i = 0; i < world.gds.size(); ++i) {
      if (i % 64 == 0) value = draw.value();
      world.gds[i] = static_cast<uint8_t>(value >> i % 4 * 8);
    }
    size = draw.one_in(8) ? draw.below(256) : draw.below(65536);
    m0 = (draw.one_in(2) ? 0 : draw.below(4096) * 16) << 16 | size;
    size = std::min(size, 65536 - (m0 >> 16));
  } else if (m0_is_address) {
    m0 = ((draw.below(std::max(lds_bytes, 4u)) - static_cast<uint32_t>(draw.one_in(4) ? 0 : in.offset)) &
          0xffff) |
         (draw.one_in(2) ? draw.value() << 16 : 0);
  } else {
    m0 = draw.one_in(2) ? ~0u : draw.one_in(2) ? draw.below(lds_bytes + 64) : draw.value();
    if (state.target.family() == isa::Family::kGfx8) size = std::min(size, m0);
  }
  if (name.starts_with("ds_gws_")) {
    m0 = draw.value();
    // Values are counted one by one in the end.
    for (auto& row : state.vgpr)
      for (uint32_t& lane : row) lane = draw.below(4);
    return true;
  }
  if (!in.vaddr.is_vgpr() || in.op == isa::Op::ds_swizzle_b32) return true;

  uint32_t unit = std::max<uint32_t>({in.vdata.dwords, in.vdst.dwords / (two ? 2u : 1u), 1u}) * 4u;
  if (name.find("16") != name.npos) unit = 2;
  if (name.ends_with("8") || name.find("8_d16") != name.npos) unit = 1;
  if (unit == 12 && state.target.family() == isa::Family::kGfx8) unit = 16;
  uint32_t offsets[64];
  draw_offsets(draw, size, unit, offsets);
  const bool wraps = draw.one_in(16);
  const uint32_t scale = (name.find("st64") != name.npos ? 64 : 1) * unit;
  const uint32_t offset = static_cast<uint32_t>(in.offset) * (two ? scale : 1);
  auto& row = state.vgpr[in.vaddr.vgpr()];
  for (uint32_t lane = 0; lane < 64; ++lane) {
    // Offsets of two elements are small numbers only now and then: no use to take them off.
    row[lane] = offsets[lane] - (offset < size || wraps ? offset : 0);
    if (name.find("_src2_") != name.npos && (in.offset & 0x8000) != 0) {
      row[lane] = (offsets[lane] & 0x1ffff) | (draw.below(512) - 256) << 17;
    }
  }
  if (in.op == isa::Op::ds_bpermute_b32 || in.op == isa::Op::ds_permute_b32) {
    for (uint32_t& lane : row) lane = draw.one_in(4) ? draw.value() : draw.below(64) * 4;
  }
  return true;
}

}  // namespace rigel::vgpu::exec::reference
