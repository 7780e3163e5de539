// What code of memory and of LDS shares on hosts with AVX2 only: rows by 8 lanes, masks of lanes as vectors.
#pragma once

#include "plugins/vgpu/exec/native/assembler.hpp"

namespace rigel::vgpu::exec::native {

class VectorsOfEight {
 public:
  VectorsOfEight(Assembler& a, const RegisterLayout& layout)
      : a_(a), row_(static_cast<int>(layout.row_bytes())) {}

  int chunks() const { return row_ / 32; }

  void broadcast(const Xbyak::Ymm& to, const Xbyak::Reg32& from) {
    const Xbyak::Xmm low(to.getIdx());
    a_.vmovd(low, from);
    a_.vpbroadcastd(to, low);
  }

  /// EXEC's bits to ymm12 and ymm13, for mask(). Uses rdi.
  void take_exec() {
    broadcast(kExec[0], a_.ecx);
    if (chunks() <= 4) return;
    a_.mov(a_.rdi, a_.rcx);
    a_.shr(a_.rdi, 32);
    broadcast(kExec[1], a_.edi);
  }
  /// The active lanes of 8.
  Xbyak::Ymm mask(const Xbyak::Ymm& to, int chunk) {
    a_.spread_bits(to, kExec[chunk / 4], chunk % 4);
    return to;
  }
  /// Goes on at `label` if no lane of this vector or of those behind it is active. Uses rdi.
  void jump_if_none_from(int chunk, Xbyak::Label& label) {
    a_.mov(a_.rdi, a_.rcx);
    a_.shr(a_.rdi, static_cast<uint8_t>(chunk * 8));
    a_.jz(label, Assembler::T_NEAR);
  }
  /// Those whose bits are in eax.
  void mask_of_eax(const Xbyak::Ymm& to) {
    broadcast(to, a_.eax);
    a_.spread_bits(to, to, 0);
  }

  /// A loop over lanes by 8, up to the last active one, whose rows r10 points into: `all()` where these are
  /// active, `some()` where some are, whose bits are in eax then, and `next()` in any case. `bits` has those
  /// that are to come. Uses rax; the parts may use it and rdi.
  template <class All, class Some, class Next>
  void by_vectors(const Xbyak::Reg64& bits, All&& all, Some&& some, Next&& next) {
    Xbyak::Label again, partly, behind, done;
    a_.mov(bits, a_.rcx);
    a_.mov(a_.r10, a_.rdx);
    a_.L(again);
    a_.movzx(a_.eax, bits.cvt8());
    a_.cmp(a_.eax, 0xff);
    a_.jne(partly, Assembler::T_NEAR);
    all();
    a_.L(behind);
    next();
    a_.add(a_.r10, 32);
    a_.shr(bits, 8);
    a_.jnz(again, Assembler::T_NEAR);
    a_.jmp(done, Assembler::T_NEAR);
    a_.L(partly);
    a_.test(a_.eax, a_.eax);
    a_.jz(behind, Assembler::T_NEAR);
    some();
    a_.jmp(behind, Assembler::T_NEAR);
    a_.L(done);
  }

  /// Those whose bits are in eax, one after the other: its number is in rdi for `each()`, which may use rax
  /// and rdi. Uses r11.
  template <class Each>
  void by_lanes(Each&& each) {
    Xbyak::Label again;
    a_.mov(a_.r11d, a_.eax);
    a_.L(again);
    a_.tzcnt(a_.edi, a_.r11d);
    each();
    a_.blsr(a_.r11d, a_.r11d);
    a_.jnz(again, Assembler::T_NEAR);
  }

  // `place(lane)` makes and says where a lane's place is; it stays valid until that of the lane after the
  // next is made. On many hosts this is faster than their gathers are. They use ymm0 … ymm3.

  template <class Place>
  void gather_dwords(const Xbyak::Ymm& to, Place&& place) {
    for (int lane = 0; lane < 8; ++lane) {
      const Xbyak::Xmm four(lane / 4);
      const auto from = a_.dword[place(lane)];
      lane % 4 == 0 ? a_.vmovd(four, from) : a_.vpinsrd(four, four, from, static_cast<uint8_t>(lane % 4));
    }
    a_.vinserti128(to, a_.ymm0, a_.xmm1, 1);
  }

  template <class Place>
  void gather_pairs(const Xbyak::Ymm& low, const Xbyak::Ymm& high, Place&& place) {
    for (int lane = 0; lane < 8; ++lane) {
      const Xbyak::Xmm two(lane / 2);
      const auto from = a_.qword[place(lane)];
      lane % 2 == 0 ? a_.vmovq(two, from) : a_.vmovhps(two, two, from);
    }
    a_.vinserti128(a_.ymm0, a_.ymm0, a_.xmm2, 1);
    a_.vinserti128(a_.ymm1, a_.ymm1, a_.xmm3, 1);
    a_.avx2().vshufps(low, a_.ymm0, a_.ymm1, 0x88);
    a_.avx2().vshufps(high, a_.ymm0, a_.ymm1, 0xdd);
  }

  /// Pairs of dwords of lanes of which each two follow each other, at `place(0)` to `place(3)`. Uses ymm0 and
  /// ymm1.
  template <class Place>
  void load_pairs(const Xbyak::Ymm& low, const Xbyak::Ymm& high, Place&& place) {
    for (int i = 0; i < 2; ++i) {
      a_.vmovdqu(Xbyak::Xmm(i), a_.xword[place(i)]);
      a_.vinserti128(Xbyak::Ymm(i), Xbyak::Ymm(i), a_.xword[place(i + 2)], 1);
    }
    a_.avx2().vshufps(low, a_.ymm0, a_.ymm1, 0x88);
    a_.avx2().vshufps(high, a_.ymm0, a_.ymm1, 0xdd);
  }

  /// Lanes in their order. `from` is the row of the first dwords, the second ones' is `row_bytes` behind it.
  template <class Place>
  void scatter_pairs(const Xbyak::RegExp& from, int row_bytes, Place&& place) {
    a_.vmovdqa(a_.ymm0, a_.yword[from]);
    a_.avx2().vpunpckldq(a_.ymm1, a_.ymm0, a_.yword[from + row_bytes]);  // lanes 0, 1; 4, 5
    a_.avx2().vpunpckhdq(a_.ymm2, a_.ymm0, a_.yword[from + row_bytes]);  // lanes 2, 3; 6, 7
    for (int lane = 0; lane < 8; ++lane) {
      const int two = 1 + lane / 2 % 2;
      if (lane >= 4 && lane % 2 == 0) a_.vextracti128(Xbyak::Xmm(two), Xbyak::Ymm(two), 1);
      const auto to = a_.qword[place(lane)];
      lane % 2 == 0 ? a_.vmovq(to, Xbyak::Xmm(two)) : a_.vmovhps(to, Xbyak::Xmm(two));
    }
  }

 private:
  const Xbyak::Ymm kExec[2] = {Xbyak::Ymm(12), Xbyak::Ymm(13)};
  Assembler& a_;
  const int row_;  // bytes
};

}  // namespace rigel::vgpu::exec::native
