// FLAT, GLOBAL and SCRATCH, lane by lane.
#include <bit>

#include "plugins/vgpu/reference/lane_access.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Encoding;
using isa::Family;

// FLAT_SCRATCH: on gfx8, s103 counts 256 bytes from the driver's base; on gfx9, s[102:103] is an address; on
// gfx942 and gfx10, two hardware registers are.
uint64_t flat_scratch(const State& state) {
  const World& world = state.world;
  if (state.is_gfx942()) return world.flat_scratch[0] + (uint64_t{world.flat_scratch[1]} << 32);
  if (state.target.family() == Family::kGfx8) return world.scratch_base + state.scalar[103] * uint64_t{256};
  if (state.target.family() == Family::kGfx9) return state.scalar[102] + (uint64_t{state.scalar[103]} << 32);
  return world.flat_scratch[0] + (uint64_t{world.flat_scratch[1]} << 32);
}

// Scratch of a wave: dword i of lane n is at index i * lanes + n.
ElementLocation in_scratch(const State& state, uint32_t offset, unsigned lane) {
  const uint64_t base = flat_scratch(state);
  const uint64_t row = state.wave_size * 4;
  ElementLocation location;
  location.alignment_address = offset;
  location.address = [=](unsigned byte) {
    const uint64_t at = uint64_t{offset} + byte;
    return base + at / 4 * row + lane * 4 + at % 4;
  };
  return location;
}

ElementLocation in_lds(const State& state, uint32_t offset, unsigned bytes) {
  ElementLocation location;
  location.space = Space::kLds;
  location.alignment_address = offset;
  location.address = [=](unsigned byte) { return uint64_t{offset} + byte; };
  const bool fits = uint64_t{offset} + bytes <= state.world.lds.size();
  location.in_range = [=](unsigned) { return fits; };
  return location;
}

ElementLocation in_memory(uint64_t address) {
  ElementLocation location;
  location.alignment_address = address;
  location.address = [=](unsigned byte) { return address + byte; };
  return location;
}

}  // namespace

namespace {

// Loads into LDS: LDS_OFFSET (M0) + inst_offset + 4 * lane.
void load_into_lds(const isa::Instruction& in, const Element& element, const ElementLocation& location,
                   unsigned lane, State& state) {
  uint32_t value = 0;
  for (unsigned i = 0; i < element.bytes && location.in_range(0); ++i)
    value |= static_cast<uint32_t>(state.world.read(location.space, location.address(i), 1)) << 8 * i;
  if (element.bytes < 4) value = narrow_loaded(element, value, 0, state.target);
  const uint64_t to = static_cast<uint32_t>(static_cast<int32_t>(state.scalar[isa::code::kM0] & 0xffff) +
                                            in.offset + static_cast<int32_t>(lane) * 4);
  if (to + 4 <= state.world.lds.size()) state.world.write(Space::kLds, to, 4, value);
}

}  // namespace

// Loads of gfx12 that transpose, in waves of 32. Lane 8 × a + b has row b of an 8×8 matrix of halves, and
// gets its column b. Bytes: lane 16 × a + 8 × b + 4 × c + d has the right (c = 1) or left half of row
// 4 × b + d of an 8×16 matrix, and gets a column of 8.
Outcome load_transposed(const isa::Instruction& in, unsigned bytes, State& state) {
  if (state.wave_size != 32) return Outcome::kNotModelled;
  const State before = state;
  if (static_cast<uint32_t>(before.exec()) != 0xffffffff) state.world.open = true;  // All must be active.
  const unsigned size = bytes / 8;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto address_part = [&](unsigned n) { return uint64_t{before.vgpr[in.vaddr.vgpr() + n][lane]}; };
    const uint64_t base = in.saddr.exists() ? before.pair(in.saddr.code) + address_part(0)
                                            : address_part(0) | address_part(1) << 32;
    for (unsigned e = 0; e < 8; ++e) {
      const uint64_t at = base + static_cast<uint64_t>(int64_t{in.offset}) + uint64_t{e} * size;
      uint32_t value = 0;
      for (unsigned byte = 0; byte < size; ++byte)
        value |= static_cast<uint32_t>(state.world.read(Space::kGlobal, at + byte, 1)) << 8 * byte;
      const unsigned column = size == 2 ? lane / 8 * 8 + e : lane / 16 * 16 + lane % 8 / 4 * 8 + e;
      const unsigned row = size == 2 ? lane % 8 : lane % 16 / 8 * 4 + lane % 4;
      uint32_t& to = state.vgpr[in.vdst.vgpr() + row * size / 4][column];
      const unsigned shift = row * size % 4 * 8;
      const uint32_t mask = size == 2 ? 0xffff : 0xff;
      to = (to & ~(mask << shift)) | value << shift;
    }
  }
  return Outcome::kDone;
}

// Blocks of registers of gfx12: a dword for each bit of M0, with the addresses from before the instruction.
Outcome access_block(const isa::Instruction& in, State& state) {
  using isa::Op;
  const uint32_t selected = state.scalar[isa::code::kM0];
  const bool loads = in.vdst.exists();
  const size_t first = (loads ? in.vdst : in.vdata).vgpr();
  if (selected != 0 && first + static_cast<size_t>(std::bit_width(selected)) > state.vgpr.size()) {
    state.world.open = true;
    return Outcome::kDone;
  }
  const bool is_scratch = in.encoding == Encoding::kScratch;
  isa::Instruction dword = in;
  dword.op = loads        ? is_scratch ? Op::scratch_load_dword : Op::global_load_dword
             : is_scratch ? Op::scratch_store_dword
                          : Op::global_store_dword;
  const State before = state;
  for (uint32_t n = 0; n < 32; ++n) {
    if ((selected >> n & 1) == 0) continue;
    dword.offset = in.offset + static_cast<int32_t>(4 * n);
    (loads ? dword.vdst : dword.vdata).code = static_cast<uint16_t>(isa::code::kVgpr + first + n);
    State part = before;
    part.world = std::move(state.world);
    if (execute_flat(dword, part) != Outcome::kDone) return Outcome::kNotModelled;
    state.world = std::move(part.world);
    if (loads) state.vgpr[first + n] = part.vgpr[first + n];
  }
  return Outcome::kDone;
}

Outcome execute_flat(const isa::Instruction& in, State& state) {
  using isa::Op;
  if (isa::name(in.op).ends_with("_block")) return access_block(in, state);
  if (in.op == Op::global_load_tr_b64) return load_transposed(in, 8, state);
  if (in.op == Op::global_load_tr_b128) return load_transposed(in, 16, state);
  if (in.op == Op::global_inv || in.op == Op::global_wb || in.op == Op::global_wbinv) return Outcome::kDone;
  std::string_view name = isa::name(in.op);
  name.remove_prefix(name.find('_') + 1);
  const bool add_tid = name.ends_with("_addtid");
  if (add_tid) name.remove_suffix(7);
  std::string words(name);
  if (const size_t lds = words.find("lds_"); lds != std::string::npos) words.erase(lds, 4);  // load_lds_dword
  const auto element = element_of(words);
  if (!element) return Outcome::kNotModelled;

  const State before = state;
  const auto offset = static_cast<uint64_t>(int64_t{in.offset});
  const unsigned bytes = element->bytes;
  for (unsigned lane = 0; lane < before.wave_size; ++lane) {
    if ((before.exec() >> lane & 1) == 0) continue;
    const auto vaddr = [&](unsigned n) -> uint64_t {
      return in.vaddr.exists() ? before.vgpr[in.vaddr.vgpr() + n][lane] : 0;
    };
    const auto finish = [&](const ElementLocation& location) {
      if (in.lds) {
        load_into_lds(in, *element, location, lane, state);
      } else {
        access_lane(in, *element, location, lane, before, state);
      }
    };
    const auto private_access = [&](uint32_t at) {
      if (uint64_t{at} + bytes > state.world.scratch_lane_bytes) {
        state.world.faults.insert(uint64_t{state.world.private_aperture_hi} << 32 | at);
        return;
      }
      finish(in_scratch(before, at, lane));
    };
    if (in.encoding == Encoding::kScratch) {
      const uint64_t base = in.saddr.exists() ? scalar_value(in.saddr, in, before) : 0;
      private_access(static_cast<uint32_t>(base + vaddr(0) + offset));
      continue;
    }
    uint64_t address = offset;
    if (in.encoding == Encoding::kGlobal && in.saddr.exists()) {
      address += before.pair(in.saddr.code) + (add_tid ? lane * 4 : vaddr(0));
    } else {
      address += add_tid ? lane * 4 : vaddr(0) | vaddr(1) << 32;
    }
    if (in.encoding == Encoding::kFlat) {
      const auto high = static_cast<uint32_t>(address >> 32);
      const auto low = static_cast<uint32_t>(address);
      if (high == before.world.private_aperture_hi) {
        private_access(low);
        continue;
      }
      if (high == before.world.shared_aperture_hi) {
        // The manuals specify misaligned LDS addresses for DS only.
        if (before.target.family() == Family::kGfx8 && low % (bytes == 12 ? 16 : bytes) != 0)
          state.world.open = true;
        finish(in_lds(before, low, bytes));
        continue;
      }
      // A bug of gfx10.1: the offset is ignored in global memory.
      if (before.target.major == 10 && before.target.minor == 1) address -= offset;
    }
    finish(in_memory(address));
  }
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
