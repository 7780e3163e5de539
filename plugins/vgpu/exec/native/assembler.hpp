// The assembler of native code. Emitters write AVX-512: vectors of 16 lanes, lane masks in k1 … k7. On hosts
// without it the same calls make AVX2: vectors of 8 lanes in ymm0 … ymm13, lane masks as vectors, each in one
// of these registers or in memory, ymm14 and ymm15 for what one call needs. So an operation is written once.
// Whatever AVX2 cannot do in a few instructions is missing here in that form; emitters ask eight_lanes(), or
// leave it to handlers.
#pragma once

#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>

#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "plugins/vgpu/exec/native/native.hpp"

namespace rigel::vgpu::exec::native {

/// Position-independent code in a buffer of ours, with a pool of constants behind it.
class Assembler : public Xbyak::CodeGenerator {
  using Base = Xbyak::CodeGenerator;
  using Address = Xbyak::Address;
  using Operand = Xbyak::Operand;
  using Opmask = Xbyak::Opmask;
  using Reg32 = Xbyak::Reg32;
  using Ymm = Xbyak::Ymm;
  using Zmm = Xbyak::Zmm;

 public:
  /// As wide as the request says. Of 8 lanes: their masks are in the wave's temporary rows, unless they are
  /// put elsewhere.
  Assembler(std::span<uint8_t> buffer, const Request& request)
      : CodeGenerator(buffer.size(), buffer.data()),
        eight_(request.has_eight_lanes()),
        masks_at_(static_cast<int>(request.layout.temporary_offset(0))) {
    static_assert(kMaskCount * 32 <= kTemporaryRows * 32 * 4);
    for (int k = 0; k < kMaskCount; ++k) {
      mask_places_[static_cast<size_t>(k)].memory = yword[rdx + masks_at_ + k * 32];
    }
  }

  bool eight_lanes() const { return eight_; }
  uint32_t lanes() const { return eight_ ? 8 : 16; }
  /// Of a vector.
  int bytes() const { return eight_ ? 32 : 64; }

  /// A vector in memory.
  Address vector(const Xbyak::RegExp& at) const { return eight_ ? yword[at] : zword[at]; }
  /// The bits of a vector's lanes in memory.
  Address mask_bits(const Xbyak::RegExp& at) const { return eight_ ? byte[at] : word[at]; }
  /// A dword of the pool, for all lanes.
  Address splat(uint32_t value);
  Address constant32(uint32_t value) { return dword[rip + constant(value, 4)]; }
  Address constant64(uint64_t value) { return qword[rip + constant(value, 8)]; }
  Address splat64(uint64_t value);
  void emit_pool();

  void jump_if_none(const Opmask& k, const Xbyak::Label& label);
  void jump_if_all(const Opmask& k, const Xbyak::Label& label);

#define RIGEL_VECTOR_OP(name)                                                     \
  void name(const Zmm& to, const Zmm& x, const Operand& y) {                      \
    if (!eight_) return Base::name(to, x, y);                                     \
    with(y, [&](const Operand& other) {                                           \
      masked(to, [&](const Ymm& result) { Base::name(result, half(x), other); }); \
    });                                                                           \
  }
  RIGEL_VECTOR_OP(vaddps)
  RIGEL_VECTOR_OP(vsubps)
  RIGEL_VECTOR_OP(vmulps)
  RIGEL_VECTOR_OP(vdivps)
  RIGEL_VECTOR_OP(vminps)
  RIGEL_VECTOR_OP(vmaxps)
  RIGEL_VECTOR_OP(vaddpd)
  RIGEL_VECTOR_OP(vmulpd)
  RIGEL_VECTOR_OP(vpaddd)
  RIGEL_VECTOR_OP(vpaddq)
  RIGEL_VECTOR_OP(vpsubd)
  RIGEL_VECTOR_OP(vpmulld)
  RIGEL_VECTOR_OP(vpmuludq)
  RIGEL_VECTOR_OP(vpminsd)
  RIGEL_VECTOR_OP(vpmaxsd)
  RIGEL_VECTOR_OP(vpminud)
  RIGEL_VECTOR_OP(vpmaxud)
  RIGEL_VECTOR_OP(vpsllvd)
  RIGEL_VECTOR_OP(vpsrlvd)
  RIGEL_VECTOR_OP(vpsravd)
  RIGEL_VECTOR_OP(vpsllvq)
  RIGEL_VECTOR_OP(vpsrlvq)
  RIGEL_VECTOR_OP(vpunpckldq)
  RIGEL_VECTOR_OP(vpunpckhdq)
#undef RIGEL_VECTOR_OP

#define RIGEL_LOGIC(name, ymm_name)                                                   \
  void name(const Zmm& to, const Zmm& x, const Operand& y) {                          \
    if (!eight_) return Base::name(to, x, y);                                         \
    with(y, [&](const Operand& other) {                                               \
      masked(to, [&](const Ymm& result) { Base::ymm_name(result, half(x), other); }); \
    });                                                                               \
  }
  RIGEL_LOGIC(vpandd, vpand)
  RIGEL_LOGIC(vpandq, vpand)
  RIGEL_LOGIC(vpandnd, vpandn)
  RIGEL_LOGIC(vpord, vpor)
  RIGEL_LOGIC(vporq, vpor)
  RIGEL_LOGIC(vpxord, vpxor)
  RIGEL_LOGIC(vpxorq, vpxor)
#undef RIGEL_LOGIC

// Of all lanes only: they read what they write.
#define RIGEL_FUSED(name)                                                         \
  void name(const Zmm& to, const Zmm& x, const Operand& y) {                      \
    if (!eight_) return Base::name(to, x, y);                                     \
    with(y, [&](const Operand& other) { Base::name(half(to), half(x), other); }); \
  }
  RIGEL_FUSED(vfmadd213ps)
  RIGEL_FUSED(vfmadd231ps)
  RIGEL_FUSED(vfmsub213ps)
  RIGEL_FUSED(vfnmadd231ps)
  RIGEL_FUSED(vfmadd231pd)
#undef RIGEL_FUSED

#define RIGEL_CONVERSION(name)                                                                              \
  void name(const Zmm& to, const Operand& x) {                                                              \
    if (!eight_) return Base::name(to, x);                                                                  \
    with(x,                                                                                                 \
         [&](const Operand& value) { masked(to, [&](const Ymm& result) { Base::name(result, value); }); }); \
  }
  RIGEL_CONVERSION(vsqrtps)
  RIGEL_CONVERSION(vcvtdq2ps)
  RIGEL_CONVERSION(vcvttps2dq)
  RIGEL_CONVERSION(vmovaps)
  RIGEL_CONVERSION(vmovapd)
#undef RIGEL_CONVERSION

#define RIGEL_SHIFT(name)                                                    \
  using Base::name;                                                          \
  void name(const Zmm& to, const Zmm& x, uint8_t by) {                       \
    if (!eight_) return Base::name(to, x, by);                               \
    masked(to, [&](const Ymm& result) { Base::name(result, half(x), by); }); \
  }
  RIGEL_SHIFT(vpslld)
  RIGEL_SHIFT(vpsrld)
  RIGEL_SHIFT(vpsrad)
  RIGEL_SHIFT(vpsrlq)
#undef RIGEL_SHIFT

  void vprord(const Zmm& to, const Zmm& x, uint8_t by);
  void vrndscaleps(const Zmm& to, const Zmm& x, uint8_t how);
  void vshufps(const Zmm& to, const Zmm& x, const Operand& y, uint8_t which);
  /// Of the functions that emitters use.
  void vpternlogd(const Zmm& to, const Zmm& x, const Operand& y, uint8_t table);

  using Base::vmovdqa32;
  void vmovdqa32(const Zmm& to, const Operand& from);
  void vmovdqa32(const Address& to, const Zmm& from);
  void vmovdqu32(const Zmm& to, const Address& from);  ///< Of 8 lanes: all of them.
  void vmovdqu32(const Address& to, const Zmm& from);  ///< Likewise.
  using Base::vpbroadcastd;
  void vpbroadcastd(const Zmm& to, const Address& from);
  void vpbroadcastq(const Zmm& to, const Address& from);
  void vpblendmd(const Zmm& to, const Zmm& no, const Operand& yes);

  // Comparisons: masks that are the result leave out lanes that are not in the mask they are decorated with.
  using Base::vpcmpd;
  using Base::vpcmpeqd;
  using Base::vpcmpud;
  using Base::vptestmd;
  using Base::vptestnmd;
  void vcmpps(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how);
  void vpcmpd(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how);
  void vpcmpud(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how);
  void vpcmpeqd(const Opmask& k, const Zmm& x, const Operand& y);
  void vptestmd(const Opmask& k, const Zmm& x, const Operand& y);
  void vptestnmd(const Opmask& k, const Zmm& x, const Operand& y);

  void kandw(const Opmask& to, const Opmask& x, const Opmask& y);
  void kandnw(const Opmask& to, const Opmask& x, const Opmask& y);
  void korw(const Opmask& to, const Opmask& x, const Opmask& y);
  void kxorw(const Opmask& to, const Opmask& x, const Opmask& y);
  void kxnorw(const Opmask& to, const Opmask& x, const Opmask& y);
  void knotw(const Opmask& to, const Opmask& x);
  /// Bits and masks: those of the lanes of one vector.
  void kmovw(const Opmask& to, const Opmask& from);
  void kmovw(const Opmask& to, const Address& from);
  void kmovw(const Address& to, const Opmask& from);  ///< Of 8 lanes: uses eax.
  void kmovw(const Reg32& to, const Opmask& from);
  void kmovd(const Opmask& to, const Reg32& from);

  // Of 8 lanes only, masks in vectors
  // -------------------------------------------------------------------------------------------------

  /// From here on this mask has all bits, until it is another one or none.
  void assume_all(const Opmask& k) {
    all_ = k.getIdx();
  }
  void assume_nothing() {
    all_ = 0;
  }
  /// x + 1 or x - 1 in the mask's lanes, x in others.
  void increase(const Zmm& to, const Zmm& x, const Opmask& k) {
    Base::vpsubd(half(to), half(x), mask_of(k.getIdx()));
  }
  void decrease(const Zmm& to, const Zmm& x, const Opmask& k) {
    Base::vpaddd(half(to), half(x), mask_of(k.getIdx()));
  }
  /// The mask is in this register from now on, where nothing is of it yet; back in memory, with what it has.
  void put_mask(const Opmask& k, int reg) {
    place_of(k).reg = Ymm(reg), place_of(k).in_register = true;
  }
  void spill_mask(const Opmask& k) {
    Base::vmovdqa(place_of(k).memory, place_of(k).reg);
    forget_mask(k);
  }
  /// It is in no register any more, and nowhere else.
  void forget_mask(const Opmask& k) {
    place_of(k).in_register = false;
  }
  /// Where x is negative, as comparisons do; or with nothing right but the lanes' highest bits, of which
  /// those in general registers and in memory are made.
  void mask_of_signs(const Opmask& k, const Zmm& x, bool only_signs);
  /// What the names above hide: instructions on registers of AVX2.
  CodeGenerator& avx2() {
    return *this;
  }
  /// Bits of lanes as a mask: byte `chunk` of what stands in all dwords of `bits`.
  void spread_bits(const Ymm& to, const Ymm& bits, int chunk);
  /// Pairs of dwords in two vectors, in the order of memory: all first ones, all second ones. The results
  /// are other registers, here and below.
  void split_pairs(const Ymm& low, const Ymm& high, const Ymm& first, const Ymm& second);
  /// And back.
  void join_pairs(const Ymm& first, const Ymm& second, const Ymm& low, const Operand& high);

 private:
  struct Constant {
    uint64_t value;
    uint32_t bytes;
    Xbyak::Label label;
  };

  static Ymm half(const Operand& reg) {
    return Ymm(reg.getIdx());
  }
  // Of 8 lanes: where a mask is.
  struct MaskPlace {
    bool in_register = false;
    Ymm reg{0};
    Address memory = Address(256);
  };
  static constexpr int kMaskCount = 8;

  MaskPlace& place_of(const Opmask& k) {
    return mask_places_[static_cast<size_t>(k.getIdx())];
  }
  const Operand& mask_of(int k) const {
    const MaskPlace& place = mask_places_[static_cast<size_t>(k)];
    if (place.in_register) return place.reg;
    return place.memory;
  }
  // In a register, loaded to `scratch` if it is in none.
  Ymm mask_in_register(int k, const Ymm& scratch) {
    const MaskPlace& place = mask_places_[static_cast<size_t>(k)];
    if (place.in_register) return place.reg;
    Base::vmovdqa(scratch, place.memory);
    return scratch;
  }
  // What leaves out lanes that are in no other mask.
  bool is_among(const Opmask& k) const {
    return k.getOpmaskIdx() != 0 && k.getOpmaskIdx() != all_;
  }
  // Where a mask is made, for store_mask(); and where a comparison leaves all bits of lanes for which it
  // holds (or does not), for keep_mask().
  Ymm made_in(const Opmask& k) {
    return place_of(k).in_register ? place_of(k).reg : ymm14;
  }
  Ymm compared_in(const Opmask& k) {
    return is_among(k) ? ymm14 : made_in(k);
  }
  void store_mask(const Opmask& k);
  void keep_mask(const Opmask& k, bool inverted = false);
  const Xbyak::Label& constant(uint64_t value, uint32_t bytes);
  Address lane_bits(int chunk);
  void spread_bits(const Opmask& to, const Reg32& from);
  template <class Greater, class Lesser>
  void compare_integers(const Opmask& k, const Zmm& x, const Operand& y, uint8_t how, Greater&& greater,
                        Lesser&& lesser);
  template <class Fn>
  void combine_masks(const Opmask& to, const Opmask& x, const Opmask& y, Fn&& fn);
  void find_apart(const Opmask& k, const Zmm& x, const Operand& y);

  // An operand in the form that AVX2 knows: may be in ymm15.
  template <class Fn>
  void with(const Operand& operand, Fn&& fn) {
    if (!operand.isMEM()) return fn(half(operand));
    const auto& memory = static_cast<const Address&>(operand);
    if (!memory.isBroadcast()) return fn(memory);
    Base::vpbroadcastd(ymm15, dword[memory.getRegExp()]);
    fn(ymm15);
  }

  // A result that may leave out lanes: made in ymm14 then.
  template <class Fn>
  void masked(const Zmm& to, Fn&& fn) {
    const int k = to.getOpmaskIdx();
    if (k == 0) return fn(half(to));
    fn(ymm14);
    if (to.hasZero()) return Base::vpand(half(to), ymm14, mask_of(k));
    Base::vblendvps(half(to), half(to), ymm14, mask_in_register(k, ymm15));
  }

  const bool eight_;
  const int masks_at_;
  std::array<MaskPlace, kMaskCount> mask_places_;
  std::deque<Constant> pool_;
  int all_ = 0;  // the mask that has all bits
  Xbyak::Label lane_bits_;
  bool has_lane_bits_ = false;
};

}  // namespace rigel::vgpu::exec::native
