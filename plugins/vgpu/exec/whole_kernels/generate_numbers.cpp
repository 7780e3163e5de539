// Splits and combines work-item ids as compilers do for addresses: masks, shifts, and bitwise OR of
// disjoint or overlapping bits.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;

// Returns a scalar with which sums exceed 2^30, 2^31 or 2^32 within a wave.
uint32_t Generator::scalar_near_overflow() {
  const uint32_t destination = data_sgpr();
  s_mov(destination, one_of({~15u, ~31u, 0xffffff00u, 0x7fffffe0u, 0x3ffffff0u, 0x3fffffe0u}));
  return destination;
}

// Returns a scalar whose low bits are often 0.
uint32_t Generator::aligned_scalar() {
  if (draw_.one_in(6)) return scalar_near_overflow();
  const uint32_t destination = data_sgpr(), source = draw_.one_in(2) ? kFirstGroupId : data_sgpr();
  const auto shift = static_cast<int32_t>(draw_.one_in(12) ? draw_.below(65) : 3 + draw_.below(7));
  switch (draw_.below(6)) {
    case 0:
      put(encoder_.sop2(op("s_and_b32"), destination, source, kLiteral, ~uint32_t{0} << draw_.below(10)));
      break;
    case 1:
      put(encoder_.sop2(op("s_mul_i32"), destination, source,
                        inline_integer(one_of({4, 12, 16, 48, 64, 24}))));
      break;
    case 2:
      put(encoder_.sop2(op("s_lshl_b64"), destination & ~1u, source & ~1u, inline_integer(shift)));
      return destination & ~1u;
    default:
      put(encoder_.sop2(op("s_lshl_b32"), destination, source, inline_integer(shift)));
      break;
  }
  if (draw_.one_in(2)) {
    const uint32_t other = draw_.one_in(2) ? data_sgpr() : inline_integer(one_of({16, 32, 64}));
    put(encoder_.sop2(op(one_of({"s_add_u32", "s_or_b32", "s_xor_b32", "s_sub_i32"})), destination,
                      destination, other));
  }
  return destination;
}

// 64-bit arithmetic as for an address; the halves are combined.
void Generator::wide_arithmetic(uint32_t to, uint32_t from) {
  const uint32_t low = data_vgpr(2), high = low + 1;
  if (draw_.one_in(2)) {
    v_mov(low, v(from));
  } else {
    const uint32_t addend = scalar_near_overflow();
    v_add(low, addend, draw_.one_in(2) ? item_ : from);
  }
  if (draw_.one_in(2)) {
    put(encoder_.vop2(op("v_ashrrev_i32"), high, inline_integer(31), low));
  } else {
    v_mov(high, inline_integer(0));
  }
  const auto shift = static_cast<int32_t>(draw_.one_in(3) ? draw_.below(32) : 1 + draw_.below(4));
  if (draw_.one_in(2)) put(encoder_.vop3(op("v_lshlrev_b64"), low, inline_integer(shift), v(low)));
  const uint32_t steps = 1 + draw_.below(2);
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t scalar = aligned_scalar();
    v_add_co(low, scalar, low);
    v_addc(high, inline_integer(0), high);
  }
  put(encoder_.vop2(op("v_xor_b32"), to, v(low), high));
  forget_written();
  if (draw_.one_in(2)) store_of(to);
}

// Multi-dword additions, or similar sequences: carries go to the next addition, are discarded, or come from
// elsewhere.
void Generator::carries() {
  const uint32_t masks[] = {isa::code::kVccLo, data_sgpr(2),
                            is_rdna() ? uint32_t{isa::code::kNull} : data_sgpr(2)};
  const auto mask = [&] { return draw_.one_in(2) ? masks[0] : masks[draw_.below(3)]; };
  const uint32_t count = 2 + draw_.below(4);
  const uint32_t to = data_vgpr(6), from = data_vgpr(6);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t part = draw_.one_in(8) ? data_vgpr() : to + i;
    const uint32_t a = draw_.one_in(4) ? data_sgpr() : v(from + i);
    const uint32_t b = draw_.one_in(2) ? to + i : data_vgpr();
    const uint32_t in = mask(), out = mask();
    if (i == 0 || draw_.one_in(4)) {
      put(encoder_.vop3(op(one_of({"v_add_co_u32", "v_sub_co_u32"})), part, a, v(b), 0, out));
    } else {
      put(encoder_.vop3(op(one_of({"v_addc_u32", "v_addc_u32", "v_subb_u32"})), part, a, v(b), in, out));
    }
    if (draw_.one_in(6)) arithmetic(1);
    if (out != isa::code::kNull && draw_.one_in(8)) change_half(out);
  }
  if (draw_.one_in(2)) store_of(to);
}

void Generator::id_arithmetic() {
  const uint32_t parts[] = {data_vgpr(), data_vgpr(), data_vgpr()};
  for (const uint32_t part : parts) {
    if (draw_.one_in(3)) {
      v_and_const(part, one_of({1u, 3u, 7u, 15u, 31u, 62u, 63u, 127u, 255u, ~31u}), index_);
    } else {
      v_mov(part, v(draw_.one_in(2) ? index_ : item_));
    }
  }
  const auto part = [&] { return one_of({parts[0], parts[1], parts[2]}); };
  const uint32_t count = 2 + draw_.below(7);
  for (uint32_t i = 0; i < count; ++i) {
    // Values that are uniform at one barrier may not be at the next.
    if (same_for_group_ && draw_.one_in(4)) put_barrier();
    // One draw per variable: compilers evaluate arguments in any order, and a seed must define one kernel.
    const uint32_t to = part(), a = part(), b = part();
    const uint32_t shift = inline_integer(static_cast<int32_t>(draw_.below(draw_.one_in(6) ? 32 : 10)));
    const bool is_scalar = draw_.one_in(2);
    switch (draw_.below(11)) {
      case 0:
        v_and_const(to, is_scalar ? 63u >> draw_.below(6) : draw_.below(0x1000), a);
        break;
      case 1:
        put(encoder_.vop2(op("v_lshrrev_b32"), to, shift, a));
        break;
      case 2:
        put(encoder_.vop2(op("v_lshlrev_b32"), to, shift, a));
        break;
      case 3:
        put(encoder_.vop2(op(one_of({"v_or_b32", "v_xor_b32", "v_and_b32"})), to, v(a), b));
        break;
      case 4:
        put(encoder_.vop3(op("v_lshl_or_b32"), to, v(a), shift, is_scalar ? aligned_scalar() : v(b)));
        break;
      case 5:
        v_add(to, is_scalar ? aligned_scalar() : v(a), b);
        break;
      case 6:
        put(encoder_.vop3(op("v_lshl_add_u32"), to, v(a), shift, v(b)));
        break;
      case 7:
      case 8:
        wide_arithmetic(to, a);
        break;
      default:
        put(encoder_.vop2(op(is_scalar ? "v_or_b32" : "v_and_b32"), to, aligned_scalar(), a));
        break;
    }
  }
  const uint32_t seen = part();
  if (draw_.one_in(2)) v_cmp(one_of({"v_cmp_gt_u32", "v_cmp_eq_u32", "v_cmp_gt_i32"}), sgpr::kLimit, seen);
  if (draw_.one_in(2)) store_of(seen);
}

}  // namespace rigel::vgpu::exec::whole
