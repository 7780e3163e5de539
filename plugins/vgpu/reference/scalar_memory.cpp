// SMEM, as in the ISA manuals: "All components of the address are in bytes, but the two lowest bits are
// ignored." Buffers are range-checked by dword.
#include "plugins/vgpu/reference/lane_access.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;
using Kind = Element::Kind;

// A group of registers that starts with NULL is NULL; LLVM has a pair (SGPR_NULL64).
bool is_null(const State& state, const isa::Operand& group) {
  return group.code == isa::code::kNull && state.target.family() >= isa::Family::kGfx10;
}
void put(State& state, const isa::Operand& group, unsigned n, uint32_t value) {
  if (!is_null(state, group)) state.scalar[group.code + n] = value;
}
uint32_t get(const State& state, const isa::Operand& group, unsigned n) {
  return is_null(state, group) ? 0 : state.scalar[group.code + n];
}

bool execute_special(const isa::Instruction& in, State& state) {
  const auto put_pair = [&](uint64_t value) {
    put(state, in.vdst, 0, static_cast<uint32_t>(value));
    put(state, in.vdst, 1, static_cast<uint32_t>(value >> 32));
  };
  switch (in.op) {
    case Op::s_memtime:
      put_pair(state.world.shader_clock);
      return true;
    case Op::s_memrealtime:
      put_pair(state.world.reference_clock);
      return true;
    case Op::s_get_waveid_in_workgroup:
      put(state, in.vdst, 0, state.world.id_in_group);
      return true;
    case Op::s_dcache_inv:  // There are no caches.
    case Op::s_dcache_inv_vol:
    case Op::s_dcache_wb:
    case Op::s_dcache_wb_vol:
    case Op::s_dcache_discard:
    case Op::s_dcache_discard_x2:
    case Op::s_gl1_inv:
    case Op::s_prefetch_data:
    case Op::s_prefetch_data_pc_rel:
    case Op::s_prefetch_inst:
    case Op::s_prefetch_inst_pc_rel:
    case Op::s_buffer_prefetch_data:
    case Op::s_atc_probe:
    case Op::s_atc_probe_buffer:
      return true;
    default:
      return false;
  }
}

}  // namespace

Outcome execute_scalar_memory(const isa::Instruction& in, State& state) {
  if (execute_special(in, state)) return Outcome::kDone;
  std::string_view name = isa::name(in.op);
  name.remove_prefix(2);  // s_
  const bool buffer = name.starts_with("buffer_"), scratch = name.starts_with("scratch_");
  if (buffer) name.remove_prefix(7);
  if (scratch) name.remove_prefix(8);
  const auto element = element_of(name);
  if (!element) return Outcome::kNotModelled;

  const State before = state;
  const unsigned base_code = in.saddr.code;
  uint64_t base = before.pair(base_code), size = ~uint64_t{0};
  if (buffer) {
    const uint64_t stride = base >> 48 & 0x3fff, records = before.scalar[base_code + 2];
    size = stride == 0 ? records : stride * records;
    base &= 0xffffffffffff;
  }
  // Bytes and halves of RDNA 4 are aligned to their size, all else to a dword.
  const uint64_t unaligned = element->bytes < 4 ? element->bytes - 1u : 3u;
  uint64_t offset = static_cast<uint64_t>(int64_t{in.offset}) & ~unaligned;
  if (in.soffset.exists()) {
    uint64_t value = scalar_value(in.soffset, in, before) & 0xffffffff & ~unaligned;
    if (scratch) value *= 64;  // A wave's scratch is allocated in units of 64 bytes.
    offset += value;
  }
  const uint64_t address = (base & ~unaligned) + offset;
  if (buffer && in.offset < 0) state.world.open = true;  // Before the buffer: specified for loads only.
  World& world = state.world;
  const auto in_range = [&](unsigned byte, unsigned count) {
    return !buffer || (offset + byte < size && size - offset - byte >= count);
  };
  if (element->bytes < 4) {
    auto value = static_cast<uint32_t>(
        in_range(0, element->bytes) ? world.read(Space::kGlobal, address, element->bytes) : 0);
    const uint32_t sign = 1u << (8 * element->bytes - 1);
    if (element->is_signed) value = (value ^ sign) - sign;
    put(state, in.vdst, 0, value);
    return Outcome::kDone;
  }
  const unsigned dwords = element->bytes / 4;
  switch (element->kind) {
    case Kind::kLoad:
      for (unsigned n = 0; n < dwords; ++n) {
        put(state, in.vdst, n,
            in_range(n * 4, 4) ? static_cast<uint32_t>(world.read(Space::kGlobal, address + n * 4, 4)) : 0);
      }
      return Outcome::kDone;
    case Kind::kStore:
      for (unsigned n = 0; n < dwords; ++n) {
        if (in_range(n * 4, 4)) {
          world.write(Space::kGlobal, address + n * 4, 4, get(before, in.vdata, n));
        }
      }
      return Outcome::kDone;
    case Kind::kAtomic:
      break;
  }
  uint64_t old = 0;
  if (in_range(0, element->bytes)) {
    if (address % element->bytes != 0) world.open = true;
    const auto operand = [&](unsigned n) -> uint64_t {
      if (dwords == 1) return get(before, in.vdata, n);
      return get(before, in.vdata, n * 2) | uint64_t{get(before, in.vdata, n * 2 + 1)} << 32;
    };
    const uint64_t other = element->change == Change::kCompareSwap ? operand(1) : 0;
    old = world.read(Space::kGlobal, address, element->bytes);
    world.update(Space::kGlobal, address, element->bytes,
                 changed(element->change, element->bytes, old, operand(0), other, {}));
  }
  if (!in.glc) return Outcome::kDone;
  for (unsigned n = 0; n < dwords; ++n) put(state, in.vdata, n, static_cast<uint32_t>(old >> 32 * n));
  return Outcome::kDone;
}

}  // namespace rigel::vgpu::exec::reference
