#include "plugins/vgpu/reference/aim.hpp"

#include <algorithm>
#include <iterator>

#include "plugins/vgpu/reference/element.hpp"

namespace rigel::vgpu::exec::reference {

void draw_offsets(Draw& draw, uint32_t size, uint32_t unit, uint32_t (&offsets)[64]) {
  const uint32_t elements = std::max(size / unit, 1u);
  const uint32_t pattern = draw.below(8);
  const uint32_t start = draw.below(elements) * unit;
  const uint32_t stride = (1 + draw.below(3)) * unit;
  const bool descends = draw.one_in(2);
  const bool unaligned = draw.one_in(8);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    uint32_t& offset = offsets[lane];
    switch (pattern) {
      case 0:  // Contiguous.
      case 1:
        offset = start % std::max(size / 2, 1u) / unit * unit + lane * unit;
        break;
      case 2:  // With a stride, or backwards.
        offset = start % std::max(size / 2, 1u) / unit * unit + (descends ? 63 - lane : lane) * stride;
        break;
      case 3:  // All equal.
        offset = start;
        break;
      case 4:  // Near each other.
        offset = (start / unit + draw.below(32)) * unit;
        break;
      case 5:  // Near the end.
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
  // AGPRs are for matrix instructions, which are not executed.
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
    case isa::Encoding::kSmem:
      return aim_scalar_memory(draw, instruction, state);
    case isa::Encoding::kFlat:
    case isa::Encoding::kGlobal:
    case isa::Encoding::kScratch:
      return aim_flat(draw, instruction, state);
    case isa::Encoding::kMubuf:
    case isa::Encoding::kMtbuf:
      return aim_buffer(draw, instruction, state);
    case isa::Encoding::kMimg:
      return aim_image(draw, instruction, state);
    default:
      return false;
  }
}

void fill(Draw& draw, std::vector<uint8_t>& bytes) {
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    const uint32_t value = draw.value();
    for (unsigned b = 0; b < 4; ++b) bytes[i + b] = static_cast<uint8_t>(value >> 8 * b);
  }
}

uint64_t map_memory(Draw& draw, World& world, uint32_t bytes) {
  const unsigned unit_bits = bytes % kLargeMemoryUnit == 0 ? 16 : 12;
  const uint64_t begin =
      uint64_t{0x10 + draw.below(16)} << 32 | (draw.one_in(4) ? 0 : draw.below(256) << unit_bits);
  const uint64_t va = draw.one_in(4) ? begin - bytes / 2 : begin;
  const bool writable = !draw.one_in(16);
  for (unsigned i = 0; i < 2; ++i) {
    World::Region region;
    region.va = va + i * (bytes / 2);
    region.bytes.resize(bytes / 2);
    region.writable = writable || i == 0;
    fill(draw, region.bytes);
    world.regions.push_back(std::move(region));
  }
  return va;
}

bool aim_scalar_memory(Draw& draw, isa::Instruction& in, State& state) {
  if (!in.saddr.exists()) return true;
  if (in.saddr.code > 96) return false;
  const std::string_view name = isa::name(in.op);
  const uint64_t va = map_memory(draw, state.world);
  const bool wide = name.find("_x2") != name.npos && name.find("atomic") != name.npos;
  const uint32_t unit = wide ? 8 : 4;
  uint32_t at = draw.below(kMemoryBytes / unit - 16) * unit;
  if (draw.one_in(8)) at = kMemoryBytes - draw.below(20) * 4 / unit * unit;  // At the end, or past it.
  if (!draw.one_in(4)) in.offset %= 1024;
  if (wide) in.offset &= ~7;
  uint64_t soffset = 0;
  if (in.soffset.exists() && in.soffset.is_scalar_register()) {
    soffset = draw.below(128) * uint64_t{unit};
    state.scalar[in.soffset.code] = static_cast<uint32_t>(soffset) | (wide ? 0 : draw.below(4));
    if (in.soffset.code == isa::code::kNull && state.target.family() >= isa::Family::kGfx10) {
      state.scalar[in.soffset.code] = 0;
      soffset = 0;
    }
    if (name.starts_with("s_scratch_")) soffset *= 64;
  }
  const uint64_t base = va + at - (static_cast<uint64_t>(int64_t{in.offset}) & ~uint64_t{3}) - soffset;
  if (!name.starts_with("s_buffer_")) {
    state.set_pair(in.saddr.code, base | (wide ? 0 : draw.below(4)));
    return true;
  }
  const uint32_t stride = draw.one_in(2) ? 0 : 1 + draw.below(32);
  const uint32_t bytes =
      draw.one_in(4) ? draw.below(kMemoryBytes) : static_cast<uint32_t>(va + at - base) + draw.below(96);
  state.set_pair(in.saddr.code, (base & 0xffffffffffff) | uint64_t{stride} << 48);
  state.scalar[in.saddr.code + 2u] = stride == 0 ? bytes : bytes / stride;
  return true;
}

void set_flat_scratch(Draw& draw, State& state, uint64_t va) {
  World& world = state.world;
  if (state.target.family() == isa::Family::kGfx8) {
    const uint32_t units = draw.below(1 << 16);
    world.scratch_base = va - units * uint64_t{256};
    state.scalar[102] = draw.value();
    state.scalar[103] = units;
  } else if (state.target.family() == isa::Family::kGfx9 && !state.is_gfx942()) {
    state.set_pair(102, va);
  } else {
    world.flat_scratch[0] = static_cast<uint32_t>(va);
    world.flat_scratch[1] = static_cast<uint32_t>(va >> 32);
  }
}

// Maps memory apart from that of the world.
uint64_t map_apart(Draw& draw, World& world) {
  const auto overlaps = [](const World::Region& a, const World::Region& b) {
    return a.va < b.va + b.bytes.size() && b.va < a.va + a.bytes.size();
  };
  for (;;) {
    World other;
    const uint64_t va = map_memory(draw, other);
    const bool is_apart = std::ranges::none_of(other.regions, [&](const World::Region& region) {
      return std::ranges::any_of(world.regions,
                                 [&](const World::Region& mine) { return overlaps(mine, region); });
    });
    if (!is_apart) continue;
    std::ranges::move(other.regions, std::back_inserter(world.regions));
    return va;
  }
}

// M0 selects registers that exist.
void aim_block(Draw& draw, isa::Instruction& in, State& state) {
  const auto vgprs = static_cast<uint32_t>(state.vgpr.size()), first = draw.below(vgprs);
  (in.vdst.exists() ? in.vdst : in.vdata).code = static_cast<uint16_t>(isa::code::kVgpr + first);
  const uint32_t existing = vgprs - first < 32 ? (1u << (vgprs - first)) - 1 : ~0u;
  const uint32_t selected = draw.one_in(2) ? 1u << draw.below(8) | 1u << draw.below(8) : draw.value();
  state.scalar[isa::code::kM0] = selected & existing;
}

bool aim_flat(Draw& draw, isa::Instruction& in, State& state) {
  World& world = state.world;
  const uint64_t va = map_memory(draw, world);
  world.lds.resize(1024);
  fill(draw, world.lds);
  // Lanes of a FLAT instruction may access both, in an order that is not defined.
  set_flat_scratch(draw, state, in.encoding == isa::Encoding::kFlat ? map_apart(draw, world) : va);
  world.scratch_lane_bytes = kMemoryBytes / state.wave_size;
  if (state.target.family() == isa::Family::kGfx8) state.scalar[isa::code::kM0] = ~0u;
  if (in.lds) state.scalar[isa::code::kM0] = draw.below(1024) | draw.value() << 16;
  if (in.saddr.exists() && in.saddr.code > 100) return false;

  std::string_view name = isa::name(in.op);
  name.remove_prefix(name.find('_') + 1);
  if (name.ends_with("_block")) aim_block(draw, in, state);
  const auto element = element_of(name);
  const uint32_t unit = element ? element->bytes : 4;
  const int64_t offset = in.offset;
  uint32_t offsets[64];
  if (in.encoding == isa::Encoding::kScratch) {
    draw_offsets(draw, world.scratch_lane_bytes, unit, offsets);
    uint32_t base = 0;
    if (in.saddr.exists()) {
      base = in.vaddr.exists() ? draw.below(64) * 4 : offsets[0] - static_cast<uint32_t>(offset);
      state.scalar[in.saddr.code] = base;
    }
    if (!in.vaddr.exists()) return true;
    for (uint32_t lane = 0; lane < 64; ++lane)
      state.vgpr[in.vaddr.vgpr()][lane] = offsets[lane] - base - static_cast<uint32_t>(offset);
    return true;
  }
  draw_offsets(draw, kMemoryBytes, unit, offsets);
  if (in.encoding == isa::Encoding::kGlobal && in.saddr.exists()) {
    const uint64_t before = 8192 + draw.below(4096) * uint64_t{4};
    uint64_t base = va - before;
    if (!in.vaddr.exists() || name.ends_with("_addtid"))
      base = va + offsets[0] - static_cast<uint64_t>(offset);
    state.set_pair(in.saddr.code, base);
    if (!in.vaddr.exists()) return true;
    for (uint32_t lane = 0; lane < 64; ++lane)
      state.vgpr[in.vaddr.vgpr()][lane] =
          offsets[lane] + static_cast<uint32_t>(before - static_cast<uint64_t>(offset));
    return true;
  }
  if (!in.vaddr.exists()) return true;
  const bool gfx10_1 = state.target.major == 10 && state.target.minor == 1;
  const uint64_t counted = in.encoding == isa::Encoding::kFlat && gfx10_1 ? 0 : static_cast<uint64_t>(offset);
  const uint32_t spaces = in.encoding == isa::Encoding::kFlat ? draw.below(6) : 0;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    uint64_t address = va + offsets[lane] - counted;
    const uint32_t space = spaces < 3 ? 0 : spaces < 5 ? spaces - 2 : draw.below(3);
    if (space != 0) {
      const uint32_t size = space == 1 ? 1024 : world.scratch_lane_bytes;
      const uint32_t limit = draw.one_in(32) ? size + 64 : size;
      const uint32_t at = offsets[lane] % limit / unit * unit + (draw.one_in(16) ? draw.below(unit) : 0);
      // The offset must not cross the bounds of an aperture.
      const uint64_t without_offset = at >= offset ? at - static_cast<uint64_t>(offset) : 0;
      address =
          uint64_t{space == 1 ? world.shared_aperture_hi : world.private_aperture_hi} << 32 | without_offset;
    }
    state.vgpr[in.vaddr.vgpr()][lane] = static_cast<uint32_t>(address);
    state.vgpr[in.vaddr.vgpr() + 1u][lane] = static_cast<uint32_t>(address >> 32);
  }
  return true;
}

bool aim_buffer(Draw& draw, isa::Instruction& in, State& state) {
  if (!in.saddr.exists()) return true;
  if (in.saddr.code > 96) return false;
  // SOFFSET is a scalar register or an inline constant.
  uint64_t constant = 0;
  if (!in.soffset.is_scalar_register() &&
      (in.soffset.is_literal() || !constant_value(in.soffset, in, constant))) {
    return false;
  }
  World& world = state.world;
  const uint64_t va = map_memory(draw, world);
  world.lds.resize(draw.one_in(4) ? 200 : 4096);
  fill(draw, world.lds);
  const isa::Family family = state.target.family();
  const bool gfx10 = family >= isa::Family::kGfx10;
  std::string_view name = isa::name(in.op);
  name.remove_prefix(name.find('_') + 1);
  const bool typed = name.find("format") != name.npos;
  const auto element = element_of(name);
  const bool atomic = element && element->kind == Element::Kind::kAtomic;
  const uint32_t unit = element ? element->bytes : 4;
  if (in.lds || in.op == isa::Op::buffer_store_lds_dword)
    state.scalar[isa::code::kM0] = draw.below(2048) * (draw.one_in(8) ? 1 : 4) | draw.value() << 16;

  // Draws a range of bytes, records, or scratch.
  const uint32_t kind = draw.below(4);
  static constexpr uint32_t kStrides[] = {4, 8, 16, 20, 64, 12};
  uint32_t stride = kind == 0 ? 0 : kStrides[draw.below(6)];
  if (atomic && unit == 8) stride &= ~7u;
  bool swizzled = kind >= 2 && draw.one_in(2);
  bool add_tid = kind >= 1 && draw.one_in(3) && !(typed && !gfx10);
  uint32_t index_stride = draw.below(4);
  if (kind == 3) {
    swizzled = add_tid = !(typed && !gfx10);
    index_stride = state.wave_size == 64 ? 3 : 2;
    if (draw.one_in(2)) stride = 0;
  }
  const uint32_t span = swizzled ? 64 : 512;  // Range of offsets.
  const uint32_t records = draw.one_in(8) ? draw.value()
                                          : draw.below(kind == 0        ? 1024
                                                       : draw.one_in(2) ? 80
                                                                        : 4096);
  const uint64_t base = va + (draw.one_in(4) ? draw.below(64) * uint64_t{atomic ? unit : 4} : 0) +
                        (draw.one_in(16) && !atomic ? draw.below(4) : 0);
  if (!draw.one_in(4)) in.offset = static_cast<int32_t>(static_cast<uint32_t>(in.offset) % span);
  if (atomic || !draw.one_in(4))
    in.offset = static_cast<int32_t>(static_cast<uint32_t>(in.offset) / unit * unit);
  if (in.soffset.is_scalar_register() && !(gfx10 && in.soffset.code == isa::code::kNull))
    state.scalar[in.soffset.code] = draw.below(64) * (atomic ? unit : 4);

  // Some of these combinations are not valid formats.
  const uint32_t data_format = 1 + draw.below(14), number_format = draw.below(8),
                 unified = 1 + draw.below(family >= isa::Family::kGfx11 ? 63 : 77);
  if (in.encoding == isa::Encoding::kMtbuf) {
    in.dfmt = static_cast<uint8_t>(data_format);
    in.nfmt = static_cast<uint8_t>(number_format);
    in.format = static_cast<uint8_t>(gfx10 ? unified : data_format | number_format << 4);
  }
  uint32_t select[4] = {4, 5, 6, 7};
  if (draw.one_in(2)) {
    for (unsigned i = 3; i > 0; --i) std::swap(select[i], select[draw.below(i + 1)]);
    if (name.starts_with("load") && draw.one_in(2)) select[draw.below(4)] = draw.below(2);
  }
  uint32_t word3 = select[0] | select[1] << 3 | select[2] << 6 | select[3] << 9;
  word3 |= gfx10 ? unified << 12 : number_format << 12 | (add_tid ? 0 : data_format) << 15;
  if (family == isa::Family::kGfx8) word3 |= (swizzled && atomic ? 1 + draw.below(3) : draw.below(4)) << 19;
  word3 |= index_stride << 21 | static_cast<uint32_t>(add_tid) << 23;
  if (gfx10) word3 |= draw.below(4) << 28;
  const unsigned code = in.saddr.code;
  state.set_pair(code, base | uint64_t{stride} << 48 | uint64_t{swizzled} << 63);
  state.scalar[code + 2] = records;
  state.scalar[code + 3] = word3;

  if (kind == 3 && draw.one_in(2)) {  // The queue's scratch, a part of which is the wave's.
    uint64_t soffset = constant;
    if (in.soffset.is_scalar_register()) soffset = state.scalar[in.soffset.code];
    world.private_va = base + soffset - draw.below(4) * uint64_t{4} * state.wave_size;
    world.scratch_lane_bytes = 4 + draw.below(24) * 4;
  }

  uint32_t offsets[64], indices[64];
  draw_offsets(draw, span, unit, offsets);
  draw_offsets(draw, 64, 1, indices);
  if (!in.vaddr.exists()) return true;
  for (uint32_t lane = 0; lane < 64; ++lane) {
    unsigned next = in.vaddr.vgpr();
    if (in.idxen) state.vgpr[next++][lane] = draw.one_in(200) ? draw.value() : indices[lane];
    if (in.offen) {
      const uint32_t offset =
          offsets[lane] - (static_cast<uint32_t>(in.offset) <= offsets[lane] && !draw.one_in(4)
                               ? static_cast<uint32_t>(in.offset)
                               : 0);
      state.vgpr[next][lane] = draw.one_in(200) && !atomic ? draw.value() : offset;
    }
  }
  return true;
}

bool aim_data_share(Draw& draw, isa::Instruction& in, State& state) {
  World& world = state.world;
  static constexpr uint32_t kSizes[] = {4096, 4096, 4096, 1024, 2052, 100, 0};
  world.lds.resize(kSizes[draw.below(7)]);
  fill(draw, world.lds);
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
    // The counters are finally counted one by one, so values are small.
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
    // Offsets of two elements are rarely small enough to be subtracted.
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
