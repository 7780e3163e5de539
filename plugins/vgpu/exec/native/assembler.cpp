#include "plugins/vgpu/exec/native/assembler.hpp"

namespace rigel::vgpu::exec::native {
namespace {

// How integers are compared: bit 2 is "not".
constexpr uint8_t kEqual = 0, kLess = 1, kNotEqual = 4, kNotLess = 5, kNotLessEqual = 6;

}  // namespace

// Constants
// ---------------------------------------------------------------------------------------------------

const Xbyak::Label& Assembler::constant(uint64_t value, uint32_t bytes) {
  for (const Constant& known : pool_) {
    if (known.value == value && known.bytes == bytes) return known.label;
  }
  Constant& made = pool_.emplace_back();
  made.value = value;
  made.bytes = bytes;
  return made.label;
}

Xbyak::Address Assembler::splat(uint32_t value) {
  return eight_ ? yword[rip + constant(uint64_t{value} << 32 | value, 32)] : ptr_b[rip + constant(value, 4)];
}

Xbyak::Address Assembler::splat64(uint64_t value) {
  return eight_ ? yword[rip + constant(value, 32)] : ptr_b[rip + constant(value, 8)];
}

Xbyak::Address Assembler::lane_bits(int chunk) {
  has_lane_bits_ = true;
  return yword[rip + lane_bits_ + chunk * 32];
}

void Assembler::emit_pool() {
  align(eight_ ? 32 : 8);
  if (has_lane_bits_) {
    L(lane_bits_);
    for (uint32_t bit = 0; bit < 32; ++bit) dd(1u << bit);
  }
  for (const uint32_t bytes : {32u, 8u, 4u}) {
    for (Constant& constant : pool_) {
      if (constant.bytes != bytes) continue;
      L(constant.label);
      for (uint32_t at = 0; at < bytes; at += 8)
        bytes >= 8 ? dq(constant.value) : dd(static_cast<uint32_t>(constant.value));
    }
  }
}

// Moves and arithmetic
// ---------------------------------------------------------------------------------------------------

void Assembler::vprord(const Zmm& to, const Zmm& x, uint8_t by) {
  if (!eight_) return Base::vprord(to, x, by);
  Base::vpsrld(ymm14, half(x), by);
  Base::vpslld(ymm15, half(x), static_cast<uint8_t>(32 - by));
  Base::vpor(half(to), ymm14, ymm15);
}

// Its scale is 0 here, so that both mean the same by `how`.
void Assembler::vrndscaleps(const Zmm& to, const Zmm& x, uint8_t how) {
  eight_ ? Base::vroundps(half(to), half(x), how) : Base::vrndscaleps(to, x, how);
}

void Assembler::vshufps(const Zmm& to, const Zmm& x, const Operand& y, uint8_t which) {
  if (!eight_) return Base::vshufps(to, x, y, which);
  with(y, [&](const Operand& other) { Base::vshufps(half(to), half(x), other, which); });
}

void Assembler::vpternlogd(const Zmm& to, const Zmm& x, const Operand& y, uint8_t table) {
  if (!eight_) return Base::vpternlogd(to, x, y, table);
  if (to.getOpmaskIdx() != 0) throw Xbyak::Error(Xbyak::ERR_INTERNAL);
  const Ymm a = half(to), b = half(x);
  with(y, [&](const Operand& c) {
    switch (table) {
      case 0x55:  // not c
        Base::vpcmpeqd(ymm14, ymm14, ymm14);
        return Base::vpxor(a, ymm14, c);
      case 0xff:
        return Base::vpcmpeqd(a, a, a);
      case 0x99:  // not (b xor c)
        Base::vpxor(a, b, c);
        Base::vpcmpeqd(ymm14, ymm14, ymm14);
        return Base::vpxor(a, a, ymm14);
      case 0xea:  // (a and b) or c
        Base::vpand(ymm14, a, b);
        return Base::vpor(a, ymm14, c);
      case 0xfe:
        Base::vpor(ymm14, a, b);
        return Base::vpor(a, ymm14, c);
      case 0x96:
        Base::vpxor(ymm14, a, b);
        return Base::vpxor(a, ymm14, c);
      case 0xca:  // b where a is set, else c
        Base::vpxor(ymm14, b, c);
        Base::vpand(ymm14, ymm14, a);
        return Base::vpxor(a, ymm14, c);
      default:
        throw Xbyak::Error(Xbyak::ERR_INTERNAL);
    }
  });
}

void Assembler::vmovdqa32(const Zmm& to, const Operand& from) {
  if (!eight_) return Base::vmovdqa32(to, from);
  const int k = to.getOpmaskIdx();
  with(from, [&](const Operand& value) {
    if (k == 0) return Base::vmovdqa(half(to), value);
    const Ymm mask = mask_in_register(k, ymm14);
    if (to.hasZero()) return Base::vpand(half(to), mask, value);
    Base::vblendvps(half(to), half(to), value, mask);
  });
}

void Assembler::vmovdqa32(const Address& to, const Zmm& from) {
  if (!eight_) return Base::vmovdqa32(to, from);
  const int k = to.getOpmaskIdx();
  if (k == 0) return Base::vmovdqa(to, half(from));
  const Address place = yword[to.getRegExp()];
  const Ymm mask = mask_in_register(k, ymm14);
  Base::vmovdqa(ymm15, place);
  Base::vblendvps(ymm15, ymm15, half(from), mask);
  Base::vmovdqa(place, ymm15);
}

void Assembler::vmovdqu32(const Zmm& to, const Address& from) {
  eight_ ? Base::vmovdqu(half(to), from) : Base::vmovdqu32(to, from);
}

void Assembler::vmovdqu32(const Address& to, const Zmm& from) {
  eight_ ? Base::vmovdqu(to, half(from)) : Base::vmovdqu32(to, from);
}

void Assembler::vpbroadcastd(const Zmm& to, const Address& from) {
  if (!eight_) return Base::vpbroadcastd(to, from);
  masked(to, [&](const Ymm& result) { Base::vpbroadcastd(result, from); });
}

void Assembler::vpbroadcastq(const Zmm& to, const Address& from) {
  if (!eight_) return Base::vpbroadcastq(to, from);
  masked(to, [&](const Ymm& result) { Base::vpbroadcastq(result, from); });
}

void Assembler::split_pairs(const Ymm& low, const Ymm& high, const Ymm& first, const Ymm& second) {
  Base::vshufps(low, first, second, 0x88);  // lanes 0, 1, 4, 5; 2, 3, 6, 7
  Base::vshufps(high, first, second, 0xdd);
  Base::vpermq(low, low, 0xd8);
  Base::vpermq(high, high, 0xd8);
}

void Assembler::join_pairs(const Ymm& first, const Ymm& second, const Ymm& low, const Operand& high) {
  Base::vpunpckldq(ymm14, low, high);   // lanes 0, 1; 4, 5
  Base::vpunpckhdq(second, low, high);  // lanes 2, 3; 6, 7
  Base::vperm2i128(first, ymm14, second, 0x20);
  Base::vperm2i128(second, ymm14, second, 0x31);
}

void Assembler::vpblendmd(const Zmm& to, const Zmm& no, const Operand& yes) {
  if (!eight_) return Base::vpblendmd(to, no, yes);
  with(yes, [&](const Operand& value) {
    Base::vblendvps(half(to), half(no), value, mask_in_register(to.getOpmaskIdx(), ymm14));
  });
}

// Comparisons
// ---------------------------------------------------------------------------------------------------

void Assembler::store_mask(const Opmask& k) {
  if (!place_of(k).in_register) Base::vmovdqa(place_of(k).memory, ymm14);
}

void Assembler::keep_mask(const Opmask& k, bool inverted) {
  const Ymm to = made_in(k);
  if (is_among(k)) {
    const Operand& others = mask_of(k.getOpmaskIdx());
    inverted ? Base::vpandn(to, ymm14, others) : Base::vpand(to, ymm14, others);
  } else if (inverted) {
    Base::vpxor(to, to, splat(~0u));
  }
  store_mask(k);
}

void Assembler::vcmpps(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how) {
  if (!eight_) return Base::vcmpps(k, x, y, how);
  with(y, [&](const Operand& other) { Base::vcmpps(compared_in(k), half(x), other, how); });
  keep_mask(k);
}

// x >= y where x is the greater of both, x <= y where it is the lesser.
template <class Greater, class Lesser>
void Assembler::compare_integers(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how,
                                 Greater&& greater, Lesser&& lesser) {
  const Ymm to = compared_in(k);
  with(y, [&](const Operand& other) {
    if (how == kEqual || how == kNotEqual) return Base::vpcmpeqd(to, half(x), other);
    how == kLess || how == kNotLess ? greater(to, half(x), other) : lesser(to, half(x), other);
    Base::vpcmpeqd(to, to, half(x));
  });
  keep_mask(k, how == kLess || how == kNotLessEqual || how == kNotEqual);
}

void Assembler::vpcmpd(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how) {
  if (!eight_) return Base::vpcmpd(k, x, y, how);
  if (how == kNotLessEqual) {
    with(y, [&](const Operand& other) { Base::vpcmpgtd(compared_in(k), half(x), other); });
    return keep_mask(k);
  }
  if (how == kLess && !y.isMEM()) {
    Base::vpcmpgtd(compared_in(k), half(y), half(x));
    return keep_mask(k);
  }
  compare_integers(
      k, x, y, how, [&](const Ymm& to, const Ymm& a, const Operand& b) { Base::vpmaxsd(to, a, b); },
      [&](const Ymm& to, const Ymm& a, const Operand& b) { Base::vpminsd(to, a, b); });
}

void Assembler::vpcmpud(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how) {
  if (!eight_) return Base::vpcmpud(k, x, y, how);
  compare_integers(
      k, x, y, how, [&](const Ymm& to, const Ymm& a, const Operand& b) { Base::vpmaxud(to, a, b); },
      [&](const Ymm& to, const Ymm& a, const Operand& b) { Base::vpminud(to, a, b); });
}

void Assembler::vpcmpeqd(const Opmask& k, const Zmm& x, const Operand& y) {
  eight_ ? vpcmpd(k, x, y, kEqual) : Base::vpcmpeqd(k, x, y);
}

// Where x and y have no bit in common.
void Assembler::find_apart(const Opmask& k, const Zmm& x, const Operand& y) {
  const Ymm to = compared_in(k);
  with(y, [&](const Operand& other) { Base::vpand(to, half(x), other); });
  Base::vpxor(ymm15, ymm15, ymm15);
  Base::vpcmpeqd(to, to, ymm15);
}

void Assembler::vptestnmd(const Opmask& k, const Zmm& x, const Operand& y) {
  if (!eight_) return Base::vptestnmd(k, x, y);
  find_apart(k, x, y);
  keep_mask(k);
}

void Assembler::vptestmd(const Opmask& k, const Zmm& x, const Operand& y) {
  if (!eight_) return Base::vptestmd(k, x, y);
  find_apart(k, x, y);
  keep_mask(k, true);
}

void Assembler::mask_of_signs(const Opmask& k, const Zmm& x, bool only_signs) {
  only_signs ? Base::vmovdqa(compared_in(k), half(x)) : Base::vpsrad(compared_in(k), half(x), 31);
  keep_mask(k);
}

// Masks
// ---------------------------------------------------------------------------------------------------

template <class Fn>
void Assembler::combine_masks(const Opmask& to, const Opmask& x, const Opmask& y, Fn&& fn) {
  fn(made_in(to), mask_in_register(x.getIdx(), ymm14), mask_of(y.getIdx()));
}

void Assembler::kandw(const Opmask& to, const Opmask& x, const Opmask& y) {
  if (!eight_) return Base::kandw(to, x, y);
  if (x.getIdx() == all_) return kmovw(to, y);
  if (y.getIdx() == all_) return kmovw(to, x);
  combine_masks(to, x, y, [&](const Ymm& made, const Ymm& a, const Operand& b) { Base::vpand(made, a, b); });
  store_mask(to);
}

void Assembler::kandnw(const Opmask& to, const Opmask& x, const Opmask& y) {
  if (!eight_) return Base::kandnw(to, x, y);
  combine_masks(to, x, y, [&](const Ymm& made, const Ymm& a, const Operand& b) { Base::vpandn(made, a, b); });
  store_mask(to);
}

void Assembler::korw(const Opmask& to, const Opmask& x, const Opmask& y) {
  if (!eight_) return Base::korw(to, x, y);
  combine_masks(to, x, y, [&](const Ymm& made, const Ymm& a, const Operand& b) { Base::vpor(made, a, b); });
  store_mask(to);
}

void Assembler::kxorw(const Opmask& to, const Opmask& x, const Opmask& y) {
  if (!eight_) return Base::kxorw(to, x, y);
  combine_masks(to, x, y, [&](const Ymm& made, const Ymm& a, const Operand& b) { Base::vpxor(made, a, b); });
  store_mask(to);
}

void Assembler::kxnorw(const Opmask& to, const Opmask& x, const Opmask& y) {
  if (!eight_) return Base::kxnorw(to, x, y);
  const Ymm made = made_in(to);
  if (x.getIdx() == y.getIdx()) {
    Base::vpcmpeqd(made, made, made);
    return store_mask(to);
  }
  kxorw(to, x, y);
  knotw(to, to);
}

void Assembler::knotw(const Opmask& to, const Opmask& x) {
  if (!eight_) return Base::knotw(to, x);
  Base::vpxor(made_in(to), mask_in_register(x.getIdx(), ymm14), splat(~0u));
  store_mask(to);
}

void Assembler::spread_bits(const Opmask& to, const Reg32& from) {
  const Ymm made = made_in(to);
  Base::vmovd(Xbyak::Xmm(made.getIdx()), from);
  Base::vpbroadcastd(made, Xbyak::Xmm(made.getIdx()));
  spread_bits(made, made, 0);
  store_mask(to);
}

void Assembler::spread_bits(const Ymm& to, const Ymm& bits, int chunk) {
  Base::vpand(to, bits, lane_bits(chunk));
  Base::vpcmpeqd(to, to, lane_bits(chunk));
}

void Assembler::kmovw(const Opmask& to, const Opmask& from) {
  if (!eight_) return Base::kmovw(to, from);
  Base::vmovdqa(made_in(to), mask_of(from.getIdx()));
  store_mask(to);
}

void Assembler::kmovw(const Opmask& to, const Address& from) {
  if (!eight_) return Base::kmovw(to, from);
  const Ymm made = made_in(to);
  Base::vpbroadcastb(made, from);
  spread_bits(made, made, 0);
  store_mask(to);
}

void Assembler::kmovw(const Address& to, const Opmask& from) {
  if (!eight_) return Base::kmovw(to, from);
  kmovw(eax, from);
  mov(to, al);
}

void Assembler::kmovw(const Reg32& to, const Opmask& from) {
  if (!eight_) return Base::kmovw(to, from);
  Base::vmovmskps(to, mask_in_register(from.getIdx(), ymm14));
}

void Assembler::kmovd(const Opmask& to, const Reg32& from) {
  eight_ ? spread_bits(to, from) : Base::kmovd(to, from);
}

void Assembler::jump_if_none(const Opmask& k, const Xbyak::Label& label) {
  if (eight_) {
    const Ymm mask = mask_in_register(k.getIdx(), ymm14);
    Base::vptest(mask, mask);
  } else {
    Base::kortestw(k, k);
  }
  jz(label, T_NEAR);
}

void Assembler::jump_if_all(const Opmask& k, const Xbyak::Label& label) {
  if (!eight_) {
    Base::kortestw(k, k);
    return jc(label, T_NEAR);
  }
  // Carry: nothing of the second is missing in the first.
  Base::vptest(mask_in_register(k.getIdx(), ymm14), splat(~0u));
  jc(label, T_NEAR);
}

}  // namespace rigel::vgpu::exec::native
