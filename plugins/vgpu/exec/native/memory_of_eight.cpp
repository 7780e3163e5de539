// Native code of loads and stores of lanes on hosts with AVX2 only. Lanes that follow each other, in all or
// each 8 of them, and loads that are all from one place, are done by vectors of 8 lanes, other ones by lanes:
// all are within the extent that the instruction used last, or a handler does it.
#include <cstddef>

#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/native/memory_access.hpp"
#include "plugins/vgpu/exec/native/vectors.hpp"
#include "plugins/vgpu/exec/native/vectors_of_eight.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::RegExp;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr auto kNear = Assembler::T_NEAR;

class MemoryOfEight {
 public:
  MemoryOfEight(Assembler& assembler, const Request& request, const MemoryStep& step, const MicroOp& op,
                Label& otherwise)
      : a_(assembler),
        eight_(assembler, request.layout),
        step_(step),
        op_(op),
        otherwise_(otherwise),
        is_load_(step.kind == MemoryStep::Kind::kLoad),
        row_(static_cast<int>(request.layout.row_bytes())),
        low_(static_cast<int>(op.src[0].offset)),
        high_(low_ + row_),
        data_(static_cast<int>(is_load_ ? op.dst : op.src[2].offset)),
        bytes_(step.dwords * 4) {}

  void emit() {
    Label some;
    if (!is_load_ && !may_follow()) {
      a_.test(a_.rcx, a_.rcx);
      a_.jz(done_, kNear);
    } else {
      row_ == 256 ? a_.cmp(a_.rcx, -1) : a_.cmp(a_.ecx, -1);
      a_.jne(some, kNear);
      together(false);
      a_.L(some);
      a_.test(a_.rcx, a_.rcx);
      a_.jz(done_, kNear);
      together(true);
    }
    a_.L(apart_);
    apart();
    a_.L(done_);
  }

 private:
  bool may_follow() const { return step_.dwords <= 2; }
  int chunks() const { return eight_.chunks(); }
  Xbyak::Address row_at(int row, int chunk) const { return a_.yword[a_.rdx + row + chunk * 32]; }
  // Of the 8 lanes that are done at present.
  Xbyak::Address data_at(int d) const { return a_.yword[a_.r10 + data_ + d * row_]; }

  // All lanes, or those in EXEC, of which r10 is the first. It depends on the first two which way is tried.
  void together(bool masked) {
    masked_ = masked;
    if (masked) {
      a_.tzcnt(a_.r10, a_.rcx);
      a_.mov(a_.eax, a_.dword[a_.rdx + a_.r10 * 4 + low_]);
      a_.blsr(a_.r11, a_.rcx);
      a_.jz(apart_, kNear);
      a_.tzcnt(a_.r9, a_.r11);
      a_.mov(a_.r11d, a_.dword[a_.rdx + a_.r9 * 4 + low_]);
    } else {
      a_.mov(a_.eax, a_.dword[a_.rdx + low_]);
      a_.mov(a_.r11d, a_.dword[a_.rdx + low_ + 4]);
    }
    a_.sub(a_.r11d, a_.eax);
    Label same;
    if (may_follow()) {
      if (masked) {
        a_.sub(a_.r9d, a_.r10d);
        a_.imul(a_.r9d, a_.r9d, bytes_);
        a_.cmp(a_.r11d, a_.r9d);
      } else {
        a_.cmp(a_.r11d, bytes_);
      }
      a_.jne(is_load_ ? same : apart_, kNear);
      follow_each_other();
      is_load_ ? load() : store();
      a_.jmp(done_, kNear);
    }
    if (!is_load_) return;
    a_.L(same);
    a_.test(a_.r11d, a_.r11d);
    a_.jne(apart_, kNear);
    load_one();
    a_.jmp(done_, kNear);
  }

  // r9: where lane 0's place in memory is, or would be.
  void follow_each_other() {
    if (masked_) {
      eight_.take_exec();
      a_.imul(a_.r11d, a_.r10d, bytes_);
      a_.mov(a_.r9d, a_.eax);
      a_.sub(a_.r9d, a_.r11d);
      eight_.broadcast(kExpected, a_.r9d);
    } else {
      eight_.broadcast(kExpected, a_.eax);
    }
    load_lanes(kLanes);
    a_.avx2().vpaddd(kExpected, kExpected, kLanes);
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      if (chunk != 0) a_.avx2().vpaddd(kExpected, kExpected, a_.splat(static_cast<uint32_t>(bytes_ * 8)));
      differ(kExpected, low_, chunk);
    }
    high_halves();
    none_wrong();
    // From the first to the last lane.
    if (masked_) {
      a_.bsr(a_.r11, a_.rcx);
      a_.sub(a_.r11, a_.r10);
      a_.imul(a_.r11, a_.r11, bytes_);
      a_.add(a_.r11, bytes_);
    } else {
      a_.mov(a_.r11d, row_ / 4 * bytes_);
    }
    // Their addresses do not carry into the high half.
    a_.mov(a_.edi, a_.eax);
    a_.add(a_.edi, a_.r11d);
    a_.jc(otherwise_, kNear);
    emit_address(a_, step_, op_, otherwise_);
    emit_find(a_, op_, is_load_ ? Access::kRead : Access::kWrite, otherwise_);
    if (masked_) {
      a_.imul(a_.r10, a_.r10, bytes_);
      a_.sub(a_.r9, a_.r10);
    }
  }

  // All lanes load from one place.
  void load_one() {
    if (masked_) eight_.take_exec();
    eight_.broadcast(kExpected, a_.eax);
    for (int chunk = 0; chunk < chunks(); ++chunk) differ(kExpected, low_, chunk);
    high_halves();
    none_wrong();
    emit_address(a_, step_, op_, otherwise_);
    a_.mov(a_.r11d, bytes_);
    emit_find(a_, op_, Access::kRead, otherwise_);
    if (step_.dwords == 2) {  // pairs are not torn
      a_.vmovq(a_.xmm0, a_.qword[a_.r9]);
      a_.vpbroadcastd(result(0), a_.xmm0);
      a_.vpshufd(a_.xmm0, a_.xmm0, 1);
      a_.vpbroadcastd(result(1), a_.xmm0);
    } else {
      for (int d = 0; d < step_.dwords; ++d) a_.vpbroadcastd(result(d), a_.dword[a_.r9 + d * 4]);
    }
    if (!masked_) {
      for (int d = 0; d < step_.dwords; ++d) {
        for (int chunk = 0; chunk < chunks(); ++chunk) {
          a_.vmovdqa(row_at(data_ + d * row_, chunk), result(d));
        }
      }
      return;
    }
    eight_.by_vectors(
        a_.r8, [&] { put_results(); },
        [&] {
          eight_.mask_of_eax(kMask);
          put_some();
        },
        [] {});
  }

  // Notes in kWrong where addresses are others. The first one sets it.
  void differ(const Ymm& expected, int row, int chunk) {
    const bool first = row == low_ && chunk == 0;
    const Ymm to = first ? kWrong : kOther;
    a_.vpxor(to, expected, row_at(row, chunk));
    if (masked_) a_.vpand(to, to, eight_.mask(kMask, chunk));
    if (!first) a_.vpor(kWrong, kWrong, kOther);
  }

  // r8: the first lane's. They have one in common.
  void high_halves() {
    if (step_.scalar_base) return;
    masked_ ? a_.mov(a_.r8d, a_.dword[a_.rdx + a_.r10 * 4 + high_])
            : a_.mov(a_.r8d, a_.dword[a_.rdx + high_]);
    eight_.broadcast(kHigh, a_.r8d);
    for (int chunk = 0; chunk < chunks(); ++chunk) differ(kHigh, high_, chunk);
  }

  void none_wrong() {
    a_.vptest(kWrong, kWrong);
    a_.jnz(apart_, kNear);
  }

  // Lanes that follow each other
  // -------------------------------------------------------------------------------------------------

  // Inactive lanes keep what they have; all are written, so that whoever reads them next need not wait for
  // the store.
  void put_some() {
    for (int d = 0; d < step_.dwords; ++d) {
      a_.vmovdqa(kOther, data_at(d));
      a_.vblendvps(kOther, kOther, result(d), kMask);
      a_.vmovdqa(data_at(d), kOther);
    }
  }
  void put_results() {
    for (int d = 0; d < step_.dwords; ++d) a_.vmovdqa(data_at(d), result(d));
  }

  void load() {
    if (!masked_) {
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        load_vector(a_.r9 + chunk * 8 * bytes_);
        for (int d = 0; d < step_.dwords; ++d) {
          a_.vmovdqa(row_at(data_ + d * row_, chunk), result(d));
        }
      }
      return fetch_following();
    }
    fetch_following();
    eight_.by_vectors(
        a_.r8,
        [&] {
          load_vector(a_.r9);
          put_results();
        },
        [&] {
          if (step_.dwords == 2) {
            return eight_.by_lanes([&] { move_lane(a_.r9 + a_.rdi * 8); });
          }
          eight_.mask_of_eax(kMask);
          a_.vpmaskmovd(result(0), kMask, a_.yword[a_.r9]);
          put_some();
        },
        [&] { a_.add(a_.r9, 8 * bytes_); });
  }

  // What the next wave will load, as a rule. (A hint: where nothing is it does nothing.)
  void fetch_following() {
    const int bytes = row_ / 4 * bytes_;
    for (int line = 0; line < bytes; line += 64) a_.prefetcht0(a_.ptr[a_.r9 + (bytes + line)]);
  }

  void load_vector(const RegExp& from) {
    if (step_.dwords == 1) return a_.vmovdqu(result(0), a_.yword[from]);
    eight_.load_pairs(result(0), result(1), [&](int two) { return from + two * 16; });
  }

  void store() {
    if (!masked_) {
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        store_vector(a_.rdx + data_ + chunk * 32, a_.r9 + chunk * 8 * bytes_);
      }
      return;
    }
    eight_.by_vectors(
        a_.r8, [&] { store_vector(a_.r10 + data_, a_.r9); },
        [&] { eight_.by_lanes([&] { move_lane(a_.r9 + a_.rdi * bytes_); }); },
        [&] { a_.add(a_.r9, 8 * bytes_); });
  }

  void store_vector(const RegExp& from, const RegExp& to) {
    a_.vmovdqa(a_.ymm0, a_.yword[from]);
    if (step_.dwords == 1) return a_.vmovdqu(a_.yword[to], a_.ymm0);
    a_.join_pairs(a_.ymm1, a_.ymm2, a_.ymm0, a_.yword[from + row_]);
    a_.vmovdqu(a_.yword[to], a_.ymm1);
    a_.vmovdqu(a_.yword[to + 32], a_.ymm2);
  }

  // Lanes apart
  // -------------------------------------------------------------------------------------------------

  // All are looked at before any is done.
  void apart() {
    const Access access = is_load_ ? Access::kRead : Access::kWrite;
    a_.xor_(a_.eax, a_.eax);
    if (!step_.scalar_base) {
      a_.tzcnt(a_.r10, a_.rcx);
      a_.mov(a_.r8d, a_.dword[a_.rdx + a_.r10 * 4 + high_]);
      eight_.broadcast(kHigh, a_.r8d);
    }
    emit_address(a_, step_, op_, otherwise_);
    emit_reach(a_, op_, access, static_cast<uint32_t>(bytes_), otherwise_);
    eight_.broadcast(kFirst, a_.r9d);
    eight_.broadcast(kLimit, a_.r11d);
    Label some, checked;
    row_ == 256 ? a_.cmp(a_.rcx, -1) : a_.cmp(a_.ecx, -1);
    a_.jne(some, kNear);
    check(false);
    a_.jmp(checked, kNear);
    a_.L(some);
    eight_.take_exec();
    check(true);
    a_.L(checked);
    if (may_follow()) load_lanes(kLanes);
    eight_.by_vectors(
        a_.r9, [&] { is_load_ ? load_apart() : store_apart(); },
        [&] {
          eight_.by_lanes([&] {
            a_.mov(a_.eax, a_.dword[a_.r10 + a_.rdi * 4 + low_]);
            move_lane(a_.r8 + a_.rax);
          });
        },
        [] {});
  }

  void check(bool masked) {
    if (!step_.scalar_base) a_.vpxor(kWrong, kWrong, kWrong);
    a_.vmovdqa(kFarthest, kLimit);
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      if (masked) eight_.mask(kMask, chunk);
      a_.vmovdqa(kOther, row_at(low_, chunk));
      a_.avx2().vpsubd(kOther, kOther, kFirst);
      if (masked) a_.vpand(kOther, kOther, kMask);
      a_.avx2().vpmaxud(kFarthest, kFarthest, kOther);
      if (step_.scalar_base) continue;
      a_.vpxor(kOther, kHigh, row_at(high_, chunk));
      if (masked) a_.vpand(kOther, kOther, kMask);
      a_.vpor(kWrong, kWrong, kOther);
    }
    a_.vpxor(kFarthest, kFarthest, kLimit);
    if (!step_.scalar_base) a_.vpor(kFarthest, kFarthest, kWrong);
    a_.vptest(kFarthest, kFarthest);
    a_.jnz(otherwise_, kNear);
  }

  // What lanes that follow each other are beyond the first one, in bytes. Uses rdi.
  void load_lanes(const Ymm& to) {
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(kVectors.lanes[step_.dwords == 2 ? 3 : 2]));
    a_.vmovdqa(to, a_.yword[a_.rdi]);
  }
  // Of 8 lanes that follow each other the place to r8 + rax, or it goes on at `scattered`.
  void follow(Label& scattered) {
    a_.vpbroadcastd(kOther, a_.dword[a_.r10 + low_]);
    a_.avx2().vpaddd(kOther, kOther, kLanes);
    a_.vpxor(kOther, kOther, a_.yword[a_.r10 + low_]);
    a_.vptest(kOther, kOther);
    a_.jnz(scattered, kNear);
    a_.mov(a_.eax, a_.dword[a_.r10 + low_]);
  }

  // Of the lane whose number is in edi. May use eax when it has the address.
  void move_lane(const RegExp& place) {
    const RegExp at = a_.r10 + a_.rdi * 4 + data_;
    is_load_ ? load_xmm(a_.xmm0, place) : a_.vmovd(a_.xmm0, a_.dword[at]);
    for (int d = is_load_ ? 0 : 1; d < step_.dwords; ++d) {
      const auto dword = a_.dword[at + d * row_];
      const auto which = static_cast<uint8_t>(d);
      if (!is_load_) {
        a_.vpinsrd(a_.xmm0, a_.xmm0, dword, which);
      } else {
        d == 0 ? a_.vmovd(dword, a_.xmm0) : a_.vpextrd(dword, a_.xmm0, which);
      }
    }
    if (!is_load_) store_xmm(place, a_.xmm0);
  }

  // One lane's dwords. Pairs are not torn.
  void load_xmm(const Xmm& to, const RegExp& place) {
    switch (step_.dwords) {
      case 1:
        return a_.vmovd(to, a_.dword[place]);
      case 4:
        return a_.vmovdqu(to, a_.xword[place]);
      default:
        a_.vmovq(to, a_.qword[place]);
        if (step_.dwords == 3) a_.vpinsrd(to, to, a_.dword[place + 8], 2);
    }
  }
  void store_xmm(const RegExp& place, const Xmm& from) {
    switch (step_.dwords) {
      case 1:
        return a_.vmovd(a_.dword[place], from);
      case 4:
        return a_.vmovdqu(a_.xword[place], from);
      default:
        a_.vmovq(a_.qword[place], from);
        if (step_.dwords == 3) a_.vpextrd(a_.dword[place + 8], from, 2);
    }
  }

  // Where a lane's place is, of the 8 that are done at present.
  RegExp place_of(int lane) {
    const Reg64 to = lane % 2 == 0 ? a_.rax : a_.rdi;
    a_.mov(to.cvt32(), a_.dword[a_.r10 + low_ + lane * 4]);
    return a_.r8 + to;
  }

  void load_apart() {
    Label scattered, done;
    if (may_follow()) {
      follow(scattered);
      load_vector(a_.r8 + a_.rax);
      a_.jmp(done, kNear);
      a_.L(scattered);
    }
    load_scattered();
    a_.L(done);
    put_results();
  }
  void load_scattered() {
    switch (step_.dwords) {
      case 1:
        eight_.gather_dwords(result(0), [&](int lane) { return place_of(lane); });
        break;
      case 2:
        eight_.gather_pairs(result(0), result(1), [&](int lane) { return place_of(lane); });
        break;
      default:
        for (int lane = 0; lane < 8; ++lane) load_xmm(Xmm(lane), place_of(lane));
        for (int i = 0; i < 4; ++i) a_.vinserti128(Ymm(i), Ymm(i), Xmm(i + 4), 1);
        transpose();
    }
  }

  void store_apart() {
    Label scattered, done;
    if (may_follow()) {
      follow(scattered);
      store_vector(a_.r10 + data_, a_.r8 + a_.rax);
      a_.jmp(done, kNear);
      a_.L(scattered);
    }
    store_scattered();
    a_.L(done);
  }
  void store_scattered() {
    if (step_.dwords == 1) {
      for (int lane = 0; lane < 8; ++lane) {
        const RegExp place = place_of(lane);
        a_.mov(a_.r11d, a_.dword[a_.r10 + data_ + lane * 4]);
        a_.mov(a_.dword[place], a_.r11d);
      }
      return;
    }
    if (step_.dwords == 2) {
      return eight_.scatter_pairs(a_.r10 + data_, row_, [&](int lane) { return place_of(lane); });
    }
    for (int d = 0; d < 4; ++d) a_.vmovdqa(Ymm(d), data_at(d < step_.dwords ? d : 0));
    transpose();
    for (int lane = 0; lane < 8; ++lane) {
      const int from = result(lane % 4).getIdx();
      if (lane >= 4) a_.vextracti128(Xmm(from), Ymm(from), 1);
      store_xmm(place_of(lane), Xmm(from));
    }
  }

  // Four dwords of 8 lanes: from ymm0 … ymm3, of which each is four dwords of one lane and four of the fourth
  // one behind it, to the results' rows; and back.
  void transpose() {
    for (int i = 0; i < 2; ++i) {
      a_.vunpcklps(Ymm(4 + i * 2), Ymm(i * 2), Ymm(i * 2 + 1));
      a_.vunpckhps(Ymm(5 + i * 2), Ymm(i * 2), Ymm(i * 2 + 1));
    }
    for (int i = 0; i < 2; ++i) {
      a_.vunpcklpd(result(i * 2), Ymm(4 + i), Ymm(6 + i));
      a_.vunpckhpd(result(i * 2 + 1), Ymm(4 + i), Ymm(6 + i));
    }
  }

  static Ymm result(int d) { return Ymm(8 + d); }
  const Ymm kExpected{0}, kFirst{0}, kWrong{1}, kHigh{2}, kOther{3}, kLimit{4}, kFarthest{5}, kMask{6},
      kLanes{7};

  Assembler& a_;
  VectorsOfEight eight_;
  const MemoryStep& step_;
  const MicroOp& op_;
  Label& otherwise_;
  Label apart_, done_;
  const bool is_load_;
  const int row_;  // bytes
  const int low_, high_;
  const int data_;   // the rows that are loaded or stored
  const int bytes_;  // of a lane, in memory
  bool masked_ = false;
};

}  // namespace

void emit_memory_of_eight(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                          Label& otherwise) {
  MemoryOfEight(a, request, step, op, otherwise).emit();
}

}  // namespace rigel::vgpu::exec::native
