// Native code of DS instructions on hosts with AVX2 only: what lds_access.cpp does for 16 lanes. Where lanes
// follow each other, or each 1, 2, 4 … of them leave room for their second elements, as in sorting networks
// and transforms, it is known from the first lane's place where everything is. Else a load is done for 8
// lanes at a time if their places are within two vectors behind the first one's, which are permuted; a store
// if lanes follow each other. Other ones are done by lanes.
#include <algorithm>
#include <bit>

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

// Where the first elements of 8 lanes are, of one dword or two, if each 1, 2, 4 or 8 lanes leave room for the
// second ones.
struct alignas(32) Interleaved {
  uint32_t at[2][4][8];
};
constexpr uint32_t place_in_turns(uint32_t lane, uint32_t together, uint32_t bytes) {
  return (lane / together * 2 * together + lane % together) * bytes;
}
constexpr Interleaved kInterleaved = [] {
  Interleaved made{};
  for (uint32_t dwords = 1; dwords <= 2; ++dwords) {
    for (uint32_t power = 0; power < 4; ++power) {
      for (uint32_t lane = 0; lane < 8; ++lane) {
        made.at[dwords - 1][power][lane] = place_in_turns(lane, 1u << power, dwords * 4);
      }
    }
  }
  return made;
}();

// While it runs: r9 is the LDS, r8 has the bits of EXEC that are still to come, r10 points to rows.
class LdsOfEight {
 public:
  LdsOfEight(Assembler& assembler, const Request& request, const MemoryStep& step, const MicroOp& op,
             Label& otherwise)
      : a_(assembler),
        eight_(assembler, request.layout),
        step_(step),
        op_(op),
        otherwise_(otherwise),
        row_(static_cast<int>(request.layout.row_bytes())),
        bytes_(step.dwords * 4),
        addresses_(static_cast<int>(op.src[0].offset)),
        offsets_{static_cast<int>(op.aux), static_cast<int>(op.dst2)} {
    if (step.kind == MemoryStep::Kind::kLdsAdd) return;
    const int lanes = row_ / 4, gap = offsets_[1] - offsets_[0];
    if (!step.pair) together_ = lanes;
    for (int power = 1; step.pair && power <= gap / bytes_; power *= 2) {
      if (gap == power * bytes_) together_ = std::min(power, lanes);
    }
  }

  void emit() {
    Label some, checked, done;
    a_.test(a_.rcx, a_.rcx);
    a_.jz(done, kNear);
    emit_find_lds(a_, step_, op_, otherwise_);
    eight_.broadcast(kLimit, a_.r8d);
    row_ == 256 ? a_.cmp(a_.rcx, -1) : a_.cmp(a_.ecx, -1);
    a_.jne(some, kNear);
    Label otherwise_placed;
    if (together_ != 0) in_turns(otherwise_placed, done);
    a_.L(otherwise_placed);
    if (step_.dwords == 1 && step_.kind != MemoryStep::Kind::kLdsAdd) {
      together(checked, done);
    } else {
      check(false);
      a_.jmp(checked, kNear);
    }
    a_.L(some);
    check(true);
    a_.L(checked);
    switch (step_.kind) {
      case MemoryStep::Kind::kLdsLoad:
        load();
        break;
      case MemoryStep::Kind::kLdsStore:
        store();
        break;
      default:
        add();
    }
    a_.L(done);
  }

 private:
  int elements() const { return step_.pair ? 2 : 1; }

  // All lanes that are to be done are where this code gets by.
  void check(bool masked) {
    if (masked) eight_.take_exec();
    a_.vmovdqa(kFarthest, kLimit);
    if (step_.aligned) a_.vpxor(kBits, kBits, kBits);
    Label checked;
    for (int chunk = 0; chunk < eight_.chunks(); ++chunk) {
      const auto row = a_.yword[a_.rdx + addresses_ + chunk * 32];
      if (masked && std::has_single_bit(static_cast<unsigned>(chunk)))
        eight_.jump_if_none_from(chunk, checked);
      if (masked) {
        a_.vpand(kAddress, eight_.mask(kMask, chunk), row);
      } else {
        a_.vmovdqa(kAddress, row);
      }
      a_.avx2().vpmaxud(kFarthest, kFarthest, kAddress);
      if (step_.aligned) a_.vpor(kBits, kBits, kAddress);
    }
    a_.L(checked);
    end_check();
  }
  void end_check() {
    a_.vpxor(kFarthest, kFarthest, kLimit);
    a_.vptest(kFarthest, kFarthest);
    a_.jnz(otherwise_, kNear);
    if (!step_.aligned) return;
    a_.vptest(kBits, a_.splat(static_cast<uint32_t>(bytes_ - 1)));
    a_.jnz(otherwise_, kNear);
  }

  // Dwords of all lanes, where each 8 load from one vector, as most kernels do most of the time, or store to
  // one in their order. Goes on at `apart`, checked, if they do not.
  void together(Label& apart, Label& done) {
    const bool is_load = step_.kind == MemoryStep::Kind::kLdsLoad;
    if (!is_load) load_lanes();
    a_.vmovdqa(kFarthest, kLimit);
    if (step_.aligned) a_.vpxor(kBits, kBits, kBits);
    a_.vpxor(kAll, kAll, kAll);
    for (int chunk = 0; chunk < eight_.chunks(); ++chunk) {
      a_.vmovdqa(relative(chunk), a_.yword[a_.rdx + addresses_ + chunk * 32]);
      a_.avx2().vpmaxud(kFarthest, kFarthest, relative(chunk));
      if (step_.aligned) a_.vpor(kBits, kBits, relative(chunk));
      a_.vpbroadcastd(kAddress, a_.dword[a_.rdx + addresses_ + chunk * 32]);
      a_.avx2().vpsubd(relative(chunk), relative(chunk), kAddress);
      if (!is_load) a_.vpxor(relative(chunk), relative(chunk), kLanes);
      a_.vpor(kAll, kAll, relative(chunk));
    }
    end_check();
    a_.vptest(kAll, is_load ? a_.splat(~0x1cu) : a_.splat(~0u));
    a_.jnz(apart, kNear);
    // Loads may go where the addresses are; of two stores to one place, the latter is seen.
    for (int pass = 0; pass < (is_load ? 1 : elements()); ++pass) {
      for (int chunk = 0; chunk < eight_.chunks(); ++chunk) {
        a_.mov(a_.eax, a_.dword[a_.rdx + addresses_ + chunk * 32]);
        is_load ? load_near(chunk) : store_row(chunk, pass);
      }
    }
    a_.jmp(done, kNear);
  }
  // All lanes, where each `together_` follow each other and then leave room for as many second elements. Goes
  // on at `apart`, with nothing checked, if they do not.
  void in_turns(Label& apart, Label& done) {
    const auto last = static_cast<uint32_t>(row_ / 4 - 1);
    const uint32_t reach =
        place_in_turns(last, static_cast<uint32_t>(together_), static_cast<uint32_t>(bytes_));
    a_.mov(a_.eax, a_.dword[a_.rdx + addresses_]);
    a_.mov(a_.edi, a_.dword[a_.rdx + addresses_ + static_cast<int>(last) * 4]);
    a_.sub(a_.edi, a_.eax);
    a_.cmp(a_.edi, reach);
    a_.jne(apart, kNear);
    a_.sub(a_.r8d, reach);
    a_.jb(apart, kNear);
    a_.cmp(a_.eax, a_.r8d);
    a_.ja(apart, kNear);
    if (step_.aligned) {
      a_.test(a_.eax, static_cast<uint32_t>(bytes_ - 1));
      a_.jnz(apart, kNear);
    }
    const auto power = static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(std::min(together_, 8))));
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(kInterleaved.at[step_.dwords - 1][power]));
    eight_.broadcast(kLanes, a_.eax);
    a_.avx2().vpaddd(kLanes, kLanes, a_.yword[a_.rdi]);
    a_.vpxor(kAll, kLanes, a_.yword[a_.rdx + addresses_]);
    for (int chunk = 1; chunk < eight_.chunks(); ++chunk) {
      a_.avx2().vpaddd(kAddress, kLanes, a_.splat(static_cast<uint32_t>(place_of_vector(chunk))));
      a_.vpxor(kAddress, kAddress, a_.yword[a_.rdx + addresses_ + chunk * 32]);
      a_.vpor(kAll, kAll, kAddress);
    }
    a_.vptest(kAll, kAll);
    a_.jnz(apart, kNear);
    const bool is_load = step_.kind == MemoryStep::Kind::kLdsLoad;
    for (int chunk = 0; chunk < eight_.chunks(); ++chunk) {
      if (step_.pair && together_ < 8) {
        is_load ? load_in_turns(chunk) : store_in_turns(chunk);
        continue;
      }
      for (int element = 0; element < elements(); ++element) {
        const RegExp at = place(element) + place_of_vector(chunk);
        is_load ? load_following(at, chunk, element) : store_following(at, chunk, element);
      }
    }
    a_.jmp(done, kNear);
  }
  int place_of_vector(int chunk) const {
    return static_cast<int>(place_in_turns(static_cast<uint32_t>(chunk) * 8, static_cast<uint32_t>(together_),
                                           static_cast<uint32_t>(bytes_)));
  }

  // Dword `d` of 8 lanes.
  Xbyak::Address result_at(int element, int d, int chunk) const {
    return a_.yword[a_.rdx + row_of(element * step_.dwords + d) + chunk * 32];
  }
  Xbyak::Address data_at(int element, int d, int chunk) const {
    return a_.yword[a_.rdx + data_of(element) + d * row_ + chunk * 32];
  }

  // 8 lanes whose elements follow each other.
  void load_following(const RegExp& at, int chunk, int element) {
    if (step_.dwords == 2) return load_pairs(at, chunk, element);
    a_.vmovdqu(a_.ymm4, a_.yword[at]);
    a_.vmovdqa(result_at(element, 0, chunk), a_.ymm4);
  }
  void store_following(const RegExp& at, int chunk, int element) {
    a_.vmovdqa(a_.ymm4, data_at(element, 0, chunk));
    if (step_.dwords == 1) return a_.vmovdqu(a_.yword[at], a_.ymm4);
    a_.join_pairs(a_.ymm5, a_.ymm6, a_.ymm4, data_at(element, 1, chunk));
    a_.vmovdqu(a_.yword[at], a_.ymm5);
    a_.vmovdqu(a_.yword[at + 32], a_.ymm6);
  }

  // 8 lanes, each with a pair of dwords, of which at least two follow each other, from `at` on.
  void load_pairs(const RegExp& at, int chunk, int element) {
    eight_.load_pairs(a_.ymm6, a_.ymm7, [&](int two) { return at + place_of_two(two); });
    a_.vmovdqa(result_at(element, 0, chunk), a_.ymm6);
    a_.vmovdqa(result_at(element, 1, chunk), a_.ymm7);
  }
  void store_pairs(const RegExp& at, int chunk, int element) {
    a_.vmovdqa(a_.ymm4, data_at(element, 0, chunk));
    a_.avx2().vpunpckldq(a_.ymm6, a_.ymm4, data_at(element, 1, chunk));  // lanes 0, 1; 4, 5
    a_.avx2().vpunpckhdq(a_.ymm7, a_.ymm4, data_at(element, 1, chunk));  // lanes 2, 3; 6, 7
    for (int two = 0; two < 4; ++two) {
      const auto to = a_.xword[at + place_of_two(two)];
      const int from = 6 + two % 2;
      two < 2 ? a_.vmovdqu(to, Xmm(from)) : a_.vextracti128(to, Ymm(from), 1);
    }
  }
  int place_of_two(int two) const {
    return static_cast<int>(place_in_turns(static_cast<uint32_t>(two) * 2, static_cast<uint32_t>(together_),
                                           static_cast<uint32_t>(bytes_)));
  }

  // 8 lanes whose two elements take turns.
  void load_in_turns(int chunk) {
    const RegExp at = place(0) + place_of_vector(chunk);
    if (step_.dwords == 2 && together_ == 1) return load_both(at, chunk);
    if (step_.dwords == 2) {
      for (int element = 0; element < 2; ++element) {
        load_pairs(at + element * together_ * bytes_, chunk, element);
      }
      return;
    }
    a_.vmovdqu(a_.ymm9, a_.yword[at]);
    a_.vmovdqu(a_.ymm10, a_.yword[at + 32]);
    take_turns_apart(a_.ymm4, a_.ymm5, a_.ymm9, a_.ymm10);
    a_.vmovdqa(result_at(0, 0, chunk), a_.ymm4);
    a_.vmovdqa(result_at(1, 0, chunk), a_.ymm5);
  }
  void store_in_turns(int chunk) {
    const RegExp at = place(0) + place_of_vector(chunk);
    if (step_.dwords == 2 && together_ == 1) return store_both(at, chunk);
    if (step_.dwords == 2) {
      for (int element = 0; element < 2; ++element) {
        store_pairs(at + element * together_ * bytes_, chunk, element);
      }
      return;
    }
    a_.vmovdqa(a_.ymm4, data_at(0, 0, chunk));
    a_.vmovdqa(a_.ymm5, data_at(1, 0, chunk));
    put_in_turns(a_.ymm9, a_.ymm10, a_.ymm4, a_.ymm5);
    a_.vmovdqu(a_.yword[at], a_.ymm9);
    a_.vmovdqu(a_.yword[at + 32], a_.ymm10);
  }

  // Two pairs of each lane, together 16 bytes.
  void load_both(const RegExp& at, int chunk) {
    for (int lane = 0; lane < 4; ++lane) {
      a_.vmovdqu(Xmm(4 + lane), a_.xword[at + lane * 16]);
      a_.vinserti128(Ymm(4 + lane), Ymm(4 + lane), a_.xword[at + (lane + 4) * 16], 1);
    }
    for (int half = 0; half < 2; ++half) {
      a_.vunpcklps(Ymm(8 + half), Ymm(4 + half * 2), Ymm(5 + half * 2));  // first pairs of two lanes
      a_.vunpckhps(Ymm(10 + half), Ymm(4 + half * 2), Ymm(5 + half * 2));
    }
    for (int element = 0; element < 2; ++element) {
      const Ymm lanes01(8 + element * 2), lanes23(9 + element * 2);
      a_.vunpcklpd(a_.ymm4, lanes01, lanes23);
      a_.vunpckhpd(a_.ymm5, lanes01, lanes23);
      a_.vmovdqa(result_at(element, 0, chunk), a_.ymm4);
      a_.vmovdqa(result_at(element, 1, chunk), a_.ymm5);
    }
  }
  void store_both(const RegExp& at, int chunk) {
    for (int element = 0; element < 2; ++element) {
      a_.vmovdqa(a_.ymm4, data_at(element, 0, chunk));
      a_.vunpcklps(Ymm(8 + element), a_.ymm4, data_at(element, 1, chunk));   // lanes 0, 1; 4, 5
      a_.vunpckhps(Ymm(10 + element), a_.ymm4, data_at(element, 1, chunk));  // lanes 2, 3; 6, 7
    }
    for (int lane = 0; lane < 4; ++lane) {
      const Ymm first(8 + lane / 2 * 2), second(9 + lane / 2 * 2), both(4 + lane);
      lane % 2 == 0 ? a_.vunpcklpd(both, first, second) : a_.vunpckhpd(both, first, second);
      a_.vmovdqu(a_.xword[at + lane * 16], Xmm(both.getIdx()));
      a_.vextracti128(a_.xword[at + (lane + 4) * 16], both, 1);
    }
  }

  // Pieces of x and y, as long as those lanes' dwords that are together, in turns; and back.
  void put_in_turns(const Ymm& first, const Ymm& second, const Ymm& x, const Ymm& y) {
    switch (together_) {
      case 1:
        return a_.join_pairs(first, second, x, y);
      case 2:
        a_.vpunpcklqdq(a_.ymm14, x, y);
        a_.vpunpckhqdq(second, x, y);
        a_.vperm2i128(first, a_.ymm14, second, 0x20);
        return a_.vperm2i128(second, a_.ymm14, second, 0x31);
      default:
        a_.vperm2i128(first, x, y, 0x20);
        return a_.vperm2i128(second, x, y, 0x31);
    }
  }
  void take_turns_apart(const Ymm& x, const Ymm& y, const Ymm& first, const Ymm& second) {
    switch (together_) {
      case 1:
        return a_.split_pairs(x, y, first, second);
      case 2:
        a_.vpunpcklqdq(x, first, second);
        a_.vpunpckhqdq(y, first, second);
        a_.vpermq(x, x, 0xd8);
        return a_.vpermq(y, y, 0xd8);
      default:
        a_.vperm2i128(x, first, second, 0x20);
        return a_.vperm2i128(y, first, second, 0x31);
    }
  }

  void load_near(int chunk) {
    a_.vpsrld(relative(chunk), relative(chunk), 2);
    for (int element = 0; element < elements(); ++element) {
      a_.vpermd(kAddress, relative(chunk), a_.yword[place(element)]);
      a_.vmovdqa(a_.yword[a_.rdx + row_of(element) + chunk * 32], kAddress);
    }
  }
  void store_row(int chunk, int element) {
    a_.vmovdqa(kAddress, a_.yword[a_.rdx + data_of(element) + chunk * 32]);
    a_.vmovdqu(a_.yword[place(element)], kAddress);
  }
  static Ymm relative(int chunk) { return Ymm(4 + chunk); }

  // Of the 8 lanes that are done at present.
  Xbyak::Address addresses_at() const { return a_.yword[a_.r10 + addresses_]; }
  Xbyak::Address first_address() const { return a_.dword[a_.r10 + addresses_]; }

  // What their addresses are beyond the first one's.
  void find_index() {
    a_.vmovdqa(kIndex, addresses_at());
    a_.vpbroadcastd(kAddress, first_address());
    a_.avx2().vpsubd(kIndex, kIndex, kAddress);
  }

  // Where an element of a lane is; of the lane whose number is in rdi, that is in eax.
  RegExp place_of(int lane, int element) {
    const Reg64 to = lane % 2 == 0 ? a_.rax : a_.rdi;
    a_.mov(to.cvt32(), a_.dword[a_.r10 + addresses_ + lane * 4]);
    return a_.r9 + to + offsets_[element];
  }
  RegExp place(int element) const { return a_.r9 + a_.rax + offsets_[element]; }
  void take_address() { a_.mov(a_.eax, a_.dword[a_.r10 + a_.rdi * 4 + addresses_]); }

  // Loads
  // -------------------------------------------------------------------------------------------------

  static Ymm result(int n) { return Ymm(8 + n); }
  int results() const { return elements() * step_.dwords; }
  int row_of(int n) const { return static_cast<int>(op_.dst) + n * row_; }

  // The results may be where the addresses are, so they come last.
  void load() {
    eight_.by_vectors(
        a_.r8,
        [&] {
          load_vectors();
          for (int n = 0; n < results(); ++n) a_.vmovdqa(a_.yword[a_.r10 + row_of(n)], result(n));
        },
        [&] {
          eight_.by_lanes([&] {
            take_address();
            for (int element = 0; element < elements(); ++element) {
              step_.dwords == 2 ? a_.vmovq(Xmm(element), a_.qword[place(element)])
                                : a_.vmovd(Xmm(element), a_.dword[place(element)]);
            }
            for (int n = 0; n < results(); ++n) {
              const auto to = a_.dword[a_.r10 + a_.rdi * 4 + row_of(n)];
              const Xmm from(n / step_.dwords);
              n % step_.dwords == 0 ? a_.vmovd(to, from) : a_.vpextrd(to, from, 1);
            }
          });
        },
        [] {});
  }

  void load_vectors() {
    Label apart, done;
    const bool pairs = step_.dwords == 2;
    find_index();
    a_.vptest(kIndex, a_.splat(pairs ? ~0x38u : ~0x3cu));
    a_.jnz(apart, kNear);
    a_.mov(a_.eax, first_address());
    a_.vpsrld(kIndex, kIndex, 2);
    a_.vpslld(kUpper, kIndex, 28);  // the second vector: bit 3, to where blends look
    if (pairs) a_.vpor(kNext, kIndex, a_.splat(1));
    for (int element = 0; element < elements(); ++element) {
      for (int d = 0; d < step_.dwords; ++d) {
        const Ymm to = result(element * step_.dwords + d), index = d == 0 ? kIndex : kNext;
        a_.vpermd(to, index, a_.yword[place(element)]);
        a_.vpermd(kOther, index, a_.yword[place(element) + 32]);
        a_.vblendvps(to, to, kOther, kUpper);
      }
    }
    a_.jmp(done, kNear);
    a_.L(apart);
    for (int element = 0; element < elements(); ++element) {
      const auto each = [&](int lane) { return place_of(lane, element); };
      pairs ? eight_.gather_pairs(result(element * 2), result(element * 2 + 1), each)
            : eight_.gather_dwords(result(element), each);
    }
    a_.L(done);
  }

  // Stores
  // -------------------------------------------------------------------------------------------------

  int data_of(int element) const { return static_cast<int>(op_.src[element == 0 ? 2 : 1].offset); }
  void load_lanes() {
    a_.mov(a_.rax, reinterpret_cast<uint64_t>(kVectors.lanes[step_.dwords == 2 ? 3 : 2]));
    a_.vmovdqa(kLanes, a_.yword[a_.rax]);
  }

  // All first elements before the second ones, lanes in their order.
  void store() {
    load_lanes();
    for (int element = 0; element < elements(); ++element) {
      const int from = data_of(element);
      eight_.by_vectors(
          a_.r8, [&] { store_vectors(element, from); },
          [&] {
            eight_.by_lanes([&] {
              take_address();
              const auto dword = [&](int d) { return a_.dword[a_.r10 + a_.rdi * 4 + (from + d * row_)]; };
              a_.vmovd(a_.xmm0, dword(0));
              if (step_.dwords == 1) return a_.vmovd(a_.dword[place(element)], a_.xmm0);
              a_.vpinsrd(a_.xmm0, a_.xmm0, dword(1), 1);
              a_.vmovq(a_.qword[place(element)], a_.xmm0);
            });
          },
          [] {});
    }
  }

  void store_vectors(int element, int from) {
    Label apart, done;
    find_index();
    a_.vpxor(kIndex, kIndex, kLanes);
    a_.vptest(kIndex, kIndex);
    a_.jnz(apart, kNear);
    a_.mov(a_.eax, first_address());
    a_.vmovdqa(a_.ymm0, a_.yword[a_.r10 + from]);
    if (step_.dwords == 1) {
      a_.vmovdqu(a_.yword[place(element)], a_.ymm0);
    } else {
      a_.join_pairs(a_.ymm1, a_.ymm2, a_.ymm0, a_.yword[a_.r10 + (from + row_)]);
      a_.vmovdqu(a_.yword[place(element)], a_.ymm1);
      a_.vmovdqu(a_.yword[place(element) + 32], a_.ymm2);
    }
    a_.jmp(done, kNear);
    a_.L(apart);
    if (step_.dwords == 2) {
      eight_.scatter_pairs(a_.r10 + from, row_, [&](int lane) { return place_of(lane, element); });
    } else {
      for (int lane = 0; lane < 8; ++lane) {
        const RegExp to = place_of(lane, element);
        a_.mov(a_.r11d, a_.dword[a_.r10 + from + lane * 4]);
        a_.mov(a_.dword[to], a_.r11d);
      }
    }
    a_.L(done);
  }

  // Sums
  // -------------------------------------------------------------------------------------------------

  void add() {
    const auto data = static_cast<int>(op_.src[2].offset), to = static_cast<int>(op_.dst);
    eight_.by_vectors(
        a_.r8,
        [&] {
          for (int lane = 0; lane < 8; ++lane) {
            const RegExp sum = place_of(lane, 0);
            a_.mov(a_.r11d, a_.dword[a_.r10 + data + lane * 4]);
            if (!step_.returns) {
              a_.add(a_.dword[sum], a_.r11d);
              continue;
            }
            a_.xadd(a_.dword[sum], a_.r11d);
            a_.mov(a_.dword[a_.r10 + to + lane * 4], a_.r11d);
          }
        },
        [&] {
          eight_.by_lanes([&] {
            take_address();
            a_.vmovd(a_.xmm0, a_.dword[place(0)]);
            a_.vmovd(a_.xmm1, a_.dword[a_.r10 + a_.rdi * 4 + data]);
            a_.avx2().vpaddd(a_.xmm1, a_.xmm1, a_.xmm0);
            a_.vmovd(a_.dword[place(0)], a_.xmm1);
            if (step_.returns) a_.vmovd(a_.dword[a_.r10 + a_.rdi * 4 + to], a_.xmm0);
          });
        },
        [] {});
  }

  const Ymm kFarthest{0}, kBits{1}, kAddress{3}, kIndex{4}, kUpper{5}, kNext{6}, kOther{7};
  const Ymm kLimit{2}, kMask{4}, kAll{12}, kLanes{13};

  Assembler& a_;
  VectorsOfEight eight_;
  const MemoryStep& step_;
  const MicroOp& op_;
  Label& otherwise_;
  const int row_;    // bytes
  const int bytes_;  // of an element
  const int addresses_;
  const int offsets_[2];
  int together_ = 0;  // how many lanes may follow each other before their second elements come
};

}  // namespace

void emit_lds_of_eight(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                       Label& otherwise) {
  LdsOfEight(a, request, step, op, otherwise).emit();
}

}  // namespace rigel::vgpu::exec::native
