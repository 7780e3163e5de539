// Integer operations of one lane, and operations on bytes.
#include <algorithm>
#include <bit>

#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

int64_t s16(uint64_t x) {
  return static_cast<int16_t>(x);
}
int64_t s32(uint64_t x) {
  return static_cast<int32_t>(x);
}
int64_t s24(uint64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8;
}
uint64_t u16(uint64_t x) {
  return x & 0xffff;
}
uint64_t u24(uint64_t x) {
  return x & 0xffffff;
}
uint64_t u32(uint64_t x) {
  return x & 0xffffffff;
}
uint64_t low(Int128 x, unsigned bits) {
  return static_cast<uint64_t>(x) & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
}

// With the clamp bit, results saturate instead of wrapping.
void set_signed(Lane& lane, Int128 x, unsigned bits) {
  const Int128 largest = (Int128{1} << (bits - 1)) - 1;
  if (lane.in.clamp) x = std::clamp(x, -largest - 1, largest);
  lane.set(low(x, bits));
}
void set_unsigned(Lane& lane, Int128 x, unsigned bits) {
  if (lane.in.clamp) x = std::clamp(x, Int128{0}, (Int128{1} << bits) - 1);
  lane.set(low(x, bits));
}

uint64_t byte(uint64_t x, unsigned n) {
  return x >> 8 * n & 0xff;
}
uint64_t difference(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

uint64_t sum_of_differences(uint64_t a, uint64_t b, bool masked) {
  uint64_t sum = 0;
  for (unsigned n = 0; n < 4; ++n) {
    if (masked && byte(b, n) == 0) continue;
    sum += difference(byte(a, n), byte(b, n));
  }
  return sum;
}

template <typename T, typename Less>
T median(T a, T b, T c, Less less) {
  const T low = less(a, b) ? a : b, high = less(a, b) ? b : a;
  return less(c, low) ? low : less(high, c) ? high : c;
}

}  // namespace

bool compute_integer(Lane& lane) {
  const uint64_t a = lane.s[0], b = lane.s[1], c = lane.s[2];
  const Int128 wa = a, wb = b;
  switch (lane.in.op) {
    case Op::v_mov_b32:
    case Op::v_mov_b64:
      lane.set(a);
      return true;
    case Op::v_cndmask_b32:
    case Op::v_cndmask_b16:
      lane.set(lane.carry_in ? b : a);
      return true;
    case Op::v_mov_b16:
      lane.set(u16(a));
      return true;
    case Op::v_not_b16:
      lane.set(u16(~a));
      return true;
    case Op::v_and_b16:
      lane.set(u16(a & b));
      return true;
    case Op::v_or_b16:
      lane.set(u16(a | b));
      return true;
    case Op::v_xor_b16:
      lane.set(u16(a ^ b));
      return true;
    case Op::v_minmax_u32:
      lane.set(std::max(std::min(a, b), c));
      return true;
    case Op::v_maxmin_u32:
      lane.set(std::min(std::max(a, b), c));
      return true;
    case Op::v_minmax_i32:
      lane.set(u32(static_cast<uint64_t>(std::max(std::min(s32(a), s32(b)), s32(c)))));
      return true;
    case Op::v_maxmin_i32:
      lane.set(u32(static_cast<uint64_t>(std::min(std::max(s32(a), s32(b)), s32(c)))));
      return true;
    case Op::v_not_b32:
      lane.set(u32(~a));
      return true;
    case Op::v_and_b32:
      lane.set(a & b);
      return true;
    case Op::v_or_b32:
      lane.set(a | b);
      return true;
    case Op::v_xor_b32:
      lane.set(a ^ b);
      return true;
    case Op::v_xnor_b32:
      lane.set(u32(~(a ^ b)));
      return true;
    case Op::v_and_or_b32:
      lane.set((a & b) | c);
      return true;
    case Op::v_or3_b32:
      lane.set(a | b | c);
      return true;
    case Op::v_xor3_b32:
      lane.set(a ^ b ^ c);
      return true;
    case Op::v_bfi_b32:
      lane.set((a & b) | (~a & c & 0xffffffff));
      return true;
    case Op::v_bfe_u32: {
      const uint64_t width = c & 31;
      lane.set(a >> (b & 31) & ((uint64_t{1} << width) - 1));
      return true;
    }
    case Op::v_bfe_i32: {
      const unsigned width = static_cast<unsigned>(c & 31);
      uint64_t x = static_cast<uint64_t>(s32(a) >> (b & 31)) & ((uint64_t{1} << width) - 1);
      if (width != 0 && (x >> (width - 1) & 1) != 0) x |= ~uint64_t{0} << width;
      lane.set(u32(x));
      return true;
    }
    case Op::v_bfm_b32:
      lane.set(u32(((uint64_t{1} << (a & 31)) - 1) << (b & 31)));
      return true;
    case Op::v_bfrev_b32:
      for (unsigned i = 0; i < 32; ++i) lane.d |= (a >> i & 1) << (31 - i);
      return true;
    case Op::v_ffbh_u32:
      lane.set(a == 0 ? 0xffffffff : static_cast<uint64_t>(std::countl_zero(static_cast<uint32_t>(a))));
      return true;
    case Op::v_ffbl_b32:
      lane.set(a == 0 ? 0xffffffff : static_cast<uint64_t>(std::countr_zero(static_cast<uint32_t>(a))));
      return true;
    case Op::v_ffbh_i32:
      lane.set(0xffffffff);
      for (unsigned i = 31; i-- > 0;) {
        if ((a >> i & 1) != (a >> 31 & 1)) {
          lane.set(31 - i);
          break;
        }
      }
      return true;
    case Op::v_bcnt_u32_b32:
      lane.set(u32(static_cast<uint64_t>(std::popcount(a)) + b));
      return true;
    case Op::v_mbcnt_lo_u32_b32: {
      const uint64_t below = lane.number >= 32 ? 0xffffffff : (uint64_t{1} << lane.number) - 1;
      lane.set(u32(static_cast<uint64_t>(std::popcount(a & below)) + b));
      return true;
    }
    case Op::v_mbcnt_hi_u32_b32: {
      const uint64_t below = lane.number < 32 ? 0 : (uint64_t{1} << (lane.number - 32)) - 1;
      lane.set(u32(static_cast<uint64_t>(std::popcount(a & below)) + b));
      return true;
    }

    // Shifts: S0 is the count, since all are "rev".
    case Op::v_lshlrev_b32:
      lane.set(u32(b << (a & 31)));
      return true;
    case Op::v_lshrrev_b32:
      lane.set(b >> (a & 31));
      return true;
    case Op::v_ashrrev_i32:
      lane.set(u32(static_cast<uint64_t>(s32(b) >> (a & 31))));
      return true;
    case Op::v_lshlrev_b64:
      lane.set(b << (a & 63));
      return true;
    case Op::v_lshrrev_b64:
      lane.set(b >> (a & 63));
      return true;
    case Op::v_ashrrev_i64:
      lane.set(static_cast<uint64_t>(static_cast<int64_t>(b) >> (a & 63)));
      return true;
    case Op::v_lshlrev_b16:
      lane.set(u16(b << (a & 15)));
      return true;
    case Op::v_lshrrev_b16:
      lane.set(u16(b) >> (a & 15));
      return true;
    case Op::v_ashrrev_i16:
      lane.set(u16(static_cast<uint64_t>(s16(b) >> (a & 15))));
      return true;
    case Op::v_lshl_or_b32:
      lane.set(u32(a << (b & 31)) | c);
      return true;
    case Op::v_lshl_add_u64:
      lane.set((a << (b & 7)) + c);
      return true;
    case Op::v_lshl_add_u32:
      lane.set(u32((a << (b & 31)) + c));
      return true;
    case Op::v_add_lshl_u32:
      lane.set(u32(u32(a + b) << (c & 31)));
      return true;
    case Op::v_xad_u32:
      lane.set(u32((a ^ b) + c));
      return true;
    case Op::v_add3_u32:
      lane.set(u32(a + b + c));
      return true;
    case Op::v_alignbit_b32:
      lane.set(u32((a << 32 | b) >> (c & 31)));
      return true;
    case Op::v_alignbyte_b32:
      lane.set(u32((a << 32 | b) >> 8 * (c & 3)));
      return true;

    // Additions. The clamp bit saturates the result, not the carry.
    case Op::v_add_u32:
      set_unsigned(lane, wa + wb, 32);
      return true;
    case Op::v_sub_u32:
      set_unsigned(lane, wa - wb, 32);
      return true;
    case Op::v_subrev_u32:
      set_unsigned(lane, wb - wa, 32);
      return true;
    case Op::v_add_i32:
      set_signed(lane, Int128{s32(a)} + s32(b), 32);
      return true;
    case Op::v_sub_i32:
      set_signed(lane, Int128{s32(a)} - s32(b), 32);
      return true;
    case Op::v_add_u16:
    case Op::v_add_nc_u16:
      set_unsigned(lane, Int128{u16(a)} + u16(b), 16);
      return true;
    case Op::v_sub_u16:
    case Op::v_sub_nc_u16:
      set_unsigned(lane, Int128{u16(a)} - u16(b), 16);
      return true;
    case Op::v_subrev_u16:
      set_unsigned(lane, Int128{u16(b)} - u16(a), 16);
      return true;
    case Op::v_add_i16:
      set_signed(lane, Int128{s16(a)} + s16(b), 16);
      return true;
    case Op::v_sub_i16:
      set_signed(lane, Int128{s16(a)} - s16(b), 16);
      return true;
    case Op::v_add_co_u32:
      set_unsigned(lane, wa + wb, 32);
      lane.d1 = a + b > 0xffffffff;
      return true;
    case Op::v_sub_co_u32:
      set_unsigned(lane, wa - wb, 32);
      lane.d1 = b > a;
      return true;
    case Op::v_subrev_co_u32:
      set_unsigned(lane, wb - wa, 32);
      lane.d1 = a > b;
      return true;
    case Op::v_addc_u32: {
      const uint64_t sum = a + b + (lane.carry_in ? 1 : 0);
      set_unsigned(lane, sum, 32);
      lane.d1 = sum > 0xffffffff;
      return true;
    }
    case Op::v_subb_u32: {
      const Int128 r = wa - wb - (lane.carry_in ? 1 : 0);
      set_unsigned(lane, r, 32);
      lane.d1 = r < 0;
      return true;
    }
    case Op::v_subbrev_u32: {
      const Int128 r = wb - wa - (lane.carry_in ? 1 : 0);
      set_unsigned(lane, r, 32);
      lane.d1 = r < 0;
      return true;
    }

    // Multiplications.
    case Op::v_mul_lo_u16:
      set_unsigned(lane, Int128{u16(a)} * u16(b), 16);
      return true;
    case Op::v_mul_lo_u32:
    case Op::v_mul_lo_i32:
      lane.set(u32(a * b));
      return true;
    case Op::v_mul_hi_u32:
      lane.set(a * b >> 32);
      return true;
    case Op::v_mul_hi_i32:
      lane.set(u32(static_cast<uint64_t>(s32(a) * s32(b) >> 32)));
      return true;
    case Op::v_mul_i32_i24:
      set_signed(lane, Int128{s24(a)} * s24(b), 32);
      return true;
    case Op::v_mul_hi_i32_i24:
      lane.set(u32(static_cast<uint64_t>(s24(a) * s24(b) >> 32)));
      return true;
    case Op::v_mul_u32_u24:
      set_unsigned(lane, Int128{u24(a)} * u24(b), 32);
      return true;
    case Op::v_mul_hi_u32_u24:
      lane.set(u24(a) * u24(b) >> 32);
      return true;
    case Op::v_mad_i32_i24:
      set_signed(lane, Int128{s24(a)} * s24(b) + s32(c), 32);
      return true;
    case Op::v_mad_u32_u24:
      set_unsigned(lane, Int128{u24(a)} * u24(b) + c, 32);
      return true;
    case Op::v_mad_u16:
    case Op::v_mad_legacy_u16:
      set_unsigned(lane, Int128{u16(a)} * u16(b) + u16(c), 16);
      return true;
    case Op::v_mad_i16:
    case Op::v_mad_legacy_i16:
      set_signed(lane, Int128{s16(a)} * s16(b) + s16(c), 16);
      return true;
    case Op::v_mad_u32_u16:
      set_unsigned(lane, Int128{u16(a)} * u16(b) + c, 32);
      return true;
    case Op::v_mad_i32_i16:
      set_signed(lane, Int128{s16(a)} * s16(b) + s32(c), 32);
      return true;
    case Op::v_mad_u64_u32: {
      const Uint128 sum = Uint128{a * b} + c;
      lane.d1 = (sum >> 64) != 0;
      lane.set(lane.in.clamp && lane.d1 ? ~uint64_t{0} : static_cast<uint64_t>(sum));
      return true;
    }
    case Op::v_mad_i64_i32: {
      const Int128 sum = Int128{s32(a) * s32(b)} + static_cast<int64_t>(c);
      lane.d1 = sum < -(Int128{1} << 63) || sum > (Int128{1} << 63) - 1;
      set_signed(lane, sum, 64);
      return true;
    }

    // Minimum, maximum, median.
    case Op::v_min_i32:
      lane.set(s32(a) < s32(b) ? a : b);
      return true;
    case Op::v_max_i32:
      lane.set(s32(a) > s32(b) ? a : b);
      return true;
    case Op::v_min_u32:
      lane.set(std::min(a, b));
      return true;
    case Op::v_max_u32:
      lane.set(std::max(a, b));
      return true;
    case Op::v_min_i16:
      lane.set(u16(static_cast<uint64_t>(std::min(s16(a), s16(b)))));
      return true;
    case Op::v_max_i16:
      lane.set(u16(static_cast<uint64_t>(std::max(s16(a), s16(b)))));
      return true;
    case Op::v_min_u16:
      lane.set(std::min(u16(a), u16(b)));
      return true;
    case Op::v_max_u16:
      lane.set(std::max(u16(a), u16(b)));
      return true;
    case Op::v_min3_i32:
      lane.set(u32(static_cast<uint64_t>(std::min({s32(a), s32(b), s32(c)}))));
      return true;
    case Op::v_max3_i32:
      lane.set(u32(static_cast<uint64_t>(std::max({s32(a), s32(b), s32(c)}))));
      return true;
    case Op::v_min3_u32:
      lane.set(std::min({a, b, c}));
      return true;
    case Op::v_max3_u32:
      lane.set(std::max({a, b, c}));
      return true;
    case Op::v_min3_i16:
      lane.set(u16(static_cast<uint64_t>(std::min({s16(a), s16(b), s16(c)}))));
      return true;
    case Op::v_max3_i16:
      lane.set(u16(static_cast<uint64_t>(std::max({s16(a), s16(b), s16(c)}))));
      return true;
    case Op::v_min3_u16:
      lane.set(std::min({u16(a), u16(b), u16(c)}));
      return true;
    case Op::v_max3_u16:
      lane.set(std::max({u16(a), u16(b), u16(c)}));
      return true;
    case Op::v_med3_i32:
      lane.set(u32(static_cast<uint64_t>(median(s32(a), s32(b), s32(c), std::less<>()))));
      return true;
    case Op::v_med3_u32:
      lane.set(median(a, b, c, std::less<>()));
      return true;
    case Op::v_med3_i16:
      lane.set(u16(static_cast<uint64_t>(median(s16(a), s16(b), s16(c), std::less<>()))));
      return true;
    case Op::v_med3_u16:
      lane.set(median(u16(a), u16(b), u16(c), std::less<>()));
      return true;
    default:
      return false;
  }
}

bool compute_bytes(Lane& lane) {
  const uint64_t a = lane.s[0], b = lane.s[1], c = lane.s[2];
  // Sums of differences saturate with the clamp bit.
  switch (lane.in.op) {
    case Op::v_sad_u8:
      set_unsigned(lane, Int128{sum_of_differences(a, b, false)} + c, 32);
      return true;
    case Op::v_sad_hi_u8:
      set_unsigned(lane, (Int128{sum_of_differences(a, b, false)} << 16) + c, 32);
      return true;
    case Op::v_sad_u16:
      set_unsigned(lane, Int128{difference(u16(a), u16(b))} + difference(u16(a >> 16), u16(b >> 16)) + c, 32);
      return true;
    case Op::v_sad_u32:
      set_unsigned(lane, Int128{difference(a, b)} + c, 32);
      return true;
    case Op::v_msad_u8:
      set_unsigned(lane, Int128{sum_of_differences(a, b, true)} + c, 32);
      return true;
    case Op::v_qsad_pk_u16_u8:
    case Op::v_mqsad_pk_u16_u8:
      for (unsigned n = 0; n < 4; ++n) {
        uint64_t sum =
            sum_of_differences(u32(a >> 8 * n), b, lane.in.op == Op::v_mqsad_pk_u16_u8) + u16(c >> 16 * n);
        if (lane.in.clamp) sum = std::min<uint64_t>(sum, 0xffff);
        lane.d |= u16(sum) << 16 * n;
      }
      return true;
    case Op::v_mqsad_u32_u8:
      for (unsigned n = 0; n < 4; ++n) {
        uint64_t sum = sum_of_differences(u32(a >> 8 * n), b, true) + lane.wide[2][n];
        if (lane.in.clamp) sum = std::min<uint64_t>(sum, 0xffffffff);
        lane.wide_d[n] = static_cast<uint32_t>(sum);
      }
      return true;
    case Op::v_lerp_u8:
      for (unsigned n = 0; n < 4; ++n) lane.d |= ((byte(a, n) + byte(b, n) + (c >> 8 * n & 1)) >> 1) << 8 * n;
      return true;
    case Op::v_perm_b32:
      for (unsigned n = 0; n < 4; ++n) {
        const uint64_t both = a << 32 | b, selector = byte(c, n);
        uint64_t x;
        if (selector >= 13) {
          x = 0xff;
        } else if (selector == 12) {
          x = 0;
        } else if (selector >= 8) {
          x = (both >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
        } else {
          x = byte(both, static_cast<unsigned>(selector));
        }
        lane.d |= x << 8 * n;
      }
      return true;
    default:
      return false;
  }
}

}  // namespace rigel::vgpu::exec::reference
