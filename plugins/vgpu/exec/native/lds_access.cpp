// Native code of DS instructions on the work-group's local memory: loads and stores of dwords and pairs of
// dwords by one or two addresses, and sums.
//
// A load is done for 16 lanes at a time, whose places are a few vectors behind the first one's: these are
// loaded as they lie, and permuted. That covers lanes that follow each other, one place for all, and most of
// what sorting networks and transforms do. Stores of lanes that follow each other are stores of vectors;
// other ones are scattered.
#include <algorithm>
#include <cstddef>

#include "plugins/vgpu/exec/memory_ops/shape.hpp"
#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/native/memory_access.hpp"
#include "plugins/vgpu/exec/native/vectors.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Label;
using Xbyak::Opmask;
using Xbyak::Reg64;
using Xbyak::Zmm;
using Xbyak::util::T_z;

constexpr auto kNear = Assembler::T_NEAR;
constexpr int kVector = 64;
constexpr uint8_t kLessEqual = 2, kNotEqual = 4, kGreater = 6;  // of the host's comparisons

// While it runs: r9 is the LDS, k2 … k5 are EXEC by 16 lanes, bases and indices of each 16 lanes are in
// registers.
class LdsCode {
 public:
  LdsCode(Assembler& assembler, const Request& request, const MemoryStep& step, const MicroOp& op,
          Label& otherwise)
      : a_(assembler),
        step_(step),
        op_(op),
        otherwise_(otherwise),
        row_(static_cast<int>(request.layout.row_bytes())),
        chunks_(row_ / kVector),
        bytes_(step.dwords * 4),
        addresses_(static_cast<int>(op.src[0].offset)),
        offsets_{static_cast<int>(op.aux), static_cast<int>(op.dst2)} {}

  void emit() {
    Label some, done;
    row_ == 256 ? a_.cmp(a_.rcx, -1) : a_.cmp(a_.ecx, -1);
    a_.jne(some, kNear);
    lanes(false);
    a_.jmp(done, kNear);
    a_.L(some);
    a_.test(a_.rcx, a_.rcx);
    a_.jz(done, kNear);
    lanes(true);
    a_.L(done);
  }

 private:
  bool is_load() const { return step_.kind == MemoryStep::Kind::kLdsLoad; }
  int elements() const { return step_.pair ? 2 : 1; }

  void lanes(bool masked) {
    masked_ = masked;
    find_limit();
    if (masked_) take_masks();
    for (int chunk = 0; chunk < chunks_; ++chunk) check(chunk);
    masked_ ? a_.kortestw(a_.k7, a_.k7) : a_.kortestw(a_.k1, a_.k1);
    masked_ ? a_.jnz(otherwise_, kNear) : a_.jnc(otherwise_, kNear);
    switch (step_.kind) {
      case MemoryStep::Kind::kLdsLoad:
        return load();
      case MemoryStep::Kind::kLdsStore:
        return store();
      default:
        return add();
    }
  }

  void find_limit() {
    emit_find_lds(a_, step_, op_, otherwise_);
    a_.vpbroadcastd(kLimit, a_.r8d);
  }

  Opmask mask(int chunk) const { return Opmask(2 + chunk); }
  Zmm index(int chunk) const { return Zmm(16 + chunk); }
  Reg64 base(int chunk) const {
    const Reg64 registers[] = {a_.r8, a_.r10, a_.r11, a_.rdi};
    return registers[chunk];
  }
  Xbyak::Address row_at(int row, int chunk) const { return a_.zword[a_.rdx + row + chunk * kVector]; }

  void take_masks() {
    a_.kmovq(mask(0), a_.rcx);
    for (int chunk = 1; chunk < chunks_; ++chunk) {
      a_.kshiftrq(mask(chunk), mask(0), static_cast<uint8_t>(chunk * 16));
    }
    a_.kxorw(a_.k7, a_.k7, a_.k7);
  }

  void skip_if_inactive(int chunk, Label& skipped) {
    if (!masked_) return;
    a_.kortestw(mask(chunk), mask(chunk));
    a_.jz(skipped, kNear);
  }

  // Whether all lanes are where this code gets by: k1 has the bits of those that are, or, of some lanes, k7
  // of those that are not.
  void check(int chunk) {
    const Reg64 from = base(chunk);
    Label skipped;
    if (masked_) {
      skip_if_inactive(chunk, skipped);
      a_.mov(a_.rax, a_.rcx);
      if (chunk != 0) a_.shr(a_.rax, static_cast<uint8_t>(chunk * 16));
      a_.tzcnt(a_.eax, a_.eax);
      a_.mov(from.cvt32(), a_.dword[a_.rdx + a_.rax * 4 + addresses_ + chunk * kVector]);
      if (step_.kind == MemoryStep::Kind::kLdsStore) {  // where the first of all lanes would be
        a_.shl(a_.eax, step_.dwords == 2 ? 3 : 2);
        a_.sub(from.cvt32(), a_.eax);
        a_.movsxd(from, from.cvt32());
      }
      a_.vpbroadcastd(kValue, from.cvt32());
    } else {
      a_.mov(from.cvt32(), a_.dword[a_.rdx + addresses_ + chunk * kVector]);
    }
    a_.vmovdqa32(kAddress, row_at(addresses_, chunk));
    if (masked_) {
      a_.vpsubd(index(chunk), kAddress, kValue);
    } else {
      a_.vpsubd(index(chunk), kAddress, a_.ptr_b[a_.rdx + addresses_ + chunk * kVector]);
    }
    if (masked_) {
      a_.vpcmpud(a_.k1 | mask(chunk), kAddress, kLimit, kGreater);
      a_.korw(a_.k7, a_.k7, a_.k1);
    } else {
      chunk == 0 ? a_.vpcmpud(a_.k1, kAddress, kLimit, kLessEqual)
                 : a_.vpcmpud(a_.k1 | a_.k1, kAddress, kLimit, kLessEqual);
    }
    if (is_load()) {
      none_has(index(chunk), step_.dwords == 2 ? ~0xf8u : ~0x7cu, chunk);
    } else if (step_.dwords == 2) {
      none_has(index(chunk), 7, chunk);
    }
    if (step_.aligned && is_load()) {  // the others are if the first one is
      a_.test(from.cvt32(), static_cast<uint32_t>(bytes_ - 1));
      a_.jnz(otherwise_, kNear);
    } else if (step_.aligned) {
      none_has(kAddress, static_cast<uint32_t>(bytes_ - 1), chunk);
    }
    a_.L(skipped);
  }

  void none_has(const Zmm& value, uint32_t bits, int chunk) {
    if (masked_) {
      a_.vptestmd(a_.k1 | mask(chunk), value, a_.splat(bits));
      a_.korw(a_.k7, a_.k7, a_.k1);
    } else {
      a_.vptestnmd(a_.k1 | a_.k1, value, a_.splat(bits));
    }
  }

  // Loads
  // -------------------------------------------------------------------------------------------------

  void load() {
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      Label skipped;
      skip_if_inactive(chunk, skipped);
      a_.vpsrld(index(chunk), index(chunk), 2);
      for (int element = 0; element < elements(); ++element) {
        const int to = static_cast<int>(op_.dst) + element * step_.dwords * row_;
        step_.dwords == 2 ? load_pair(chunk, offsets_[element], to)
                          : load_dword(chunk, offsets_[element], to);
      }
      a_.L(skipped);
    }
  }

  void load_dword(int chunk, int offset, int to) {
    a_.vmovdqu32(kValue, a_.zword[a_.r9 + base(chunk) + offset]);
    a_.vpermt2d(kValue, index(chunk), a_.zword[a_.r9 + base(chunk) + offset + kVector]);
    put(to, chunk, kValue);
  }

  // Two vectors, or four.
  void load_pair(int chunk, int offset, int to) {
    const auto vector = [&](int n) { return a_.zword[a_.r9 + base(chunk) + offset + n * kVector]; };
    Label near, done;
    a_.vptestmd(a_.k6, index(chunk), a_.splat(32));
    a_.vmovdqu32(kFirst, vector(0));
    a_.vmovdqu32(kSecond, vector(1));
    if (masked_) a_.kandw(a_.k6, a_.k6, mask(chunk));
    a_.vpord(kOther, index(chunk), a_.splat(1));
    a_.vmovdqa32(kValue, index(chunk));
    a_.vmovdqa32(kHigh, kOther);
    a_.vpermi2d(kValue, kFirst, kSecond);
    a_.vpermi2d(kHigh, kFirst, kSecond);
    a_.kortestw(a_.k6, a_.k6);
    a_.jz(near, kNear);
    a_.vmovdqu32(kFirst, vector(2));
    a_.vmovdqu32(kSecond, vector(3));
    a_.vpermi2d(kOther, kFirst, kSecond);
    a_.vpermt2d(kFirst, index(chunk), kSecond);
    a_.vmovdqa32(kValue | a_.k6, kFirst);
    a_.vmovdqa32(kHigh | a_.k6, kOther);
    a_.L(near);
    put(to, chunk, kValue);
    put(to + row_, chunk, kHigh);
  }

  // Inactive lanes keep what they have; all are written, so that whoever reads them next need not wait for
  // the store.
  void put(int row, int chunk, const Zmm& value) {
    if (!masked_) return a_.vmovdqa32(row_at(row, chunk), value);
    a_.vmovdqa32(kMixed, row_at(row, chunk));
    a_.vmovdqa32(kMixed | mask(chunk), value);
    a_.vmovdqa32(row_at(row, chunk), kMixed);
  }

  // Stores
  // -------------------------------------------------------------------------------------------------

  void load_constant(const Zmm& to, const uint32_t (&vector)[16]) {
    a_.mov(a_.rax, reinterpret_cast<uint64_t>(vector));
    a_.vmovdqa32(to, a_.zword[a_.rax]);
  }

  // All first elements before the second ones, lanes in their order.
  void store() {
    const bool rows = step_.dwords == 1 || !masked_;
    if (rows) load_constant(kOther, kVectors.lanes[step_.dwords == 2 ? 3 : 2]);
    if (rows && step_.dwords == 2) {
      load_constant(kLow, kVectors.interleaved[0]);
      load_constant(kHigh, kVectors.interleaved[1]);
    }
    for (int element = 0; element < elements(); ++element) {
      const int from = static_cast<int>(op_.src[element == 0 ? 2 : 1].offset);
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        Label skipped, apart;
        skip_if_inactive(chunk, skipped);
        a_.vmovdqa32(kFirst, row_at(from, chunk));
        if (step_.dwords == 2) a_.vmovdqa32(kSecond, row_at(from + row_, chunk));
        if (rows) {
          masked_ ? a_.vpcmpud(a_.k1 | mask(chunk), index(chunk), kOther, kNotEqual)
                  : a_.vpcmpud(a_.k1, index(chunk), kOther, kNotEqual);
          a_.kortestw(a_.k1, a_.k1);
          a_.jnz(apart, kNear);
          store_row(chunk, offsets_[element]);
          a_.jmp(skipped, kNear);
        }
        a_.L(apart);
        masked_ ? scatter(chunk, offsets_[element]) : store_lanes(chunk, from, offsets_[element]);
        a_.L(skipped);
      }
    }
  }

  // One lane after the other, which is faster than many hosts' scatters are. Lanes that are apart in their
  // first elements are so in the second ones, so that nobody needs the base any more.
  void store_lanes(int chunk, int from, int offset) {
    constexpr int kUnrolled = 8;
    const Reg64 at = base(chunk);
    Label again;
    a_.xor_(at.cvt32(), at.cvt32());
    a_.L(again);
    for (int lane = 0; lane < kUnrolled; ++lane) {
      const auto in = [&](int row) { return a_.dword[a_.rdx + at + row + chunk * kVector + lane * 4]; };
      a_.mov(a_.eax, in(addresses_));
      a_.vmovd(a_.xmm0, in(from));
      if (step_.dwords == 2) {
        a_.vpinsrd(a_.xmm0, a_.xmm0, in(from + row_), 1);
        a_.vmovq(a_.qword[a_.r9 + a_.rax + offset], a_.xmm0);
      } else {
        a_.vmovd(a_.dword[a_.r9 + a_.rax + offset], a_.xmm0);
      }
    }
    a_.add(at.cvt32(), kUnrolled * 4);
    a_.cmp(at.cvt32(), kVector);
    a_.jb(again, kNear);
  }

  void scatter(int chunk, int offset) {
    a_.vmovdqa32(kAddress, row_at(addresses_, chunk));
    for (int d = 0; d < step_.dwords; ++d) {
      a_.kmovw(a_.k1, mask(chunk));
      a_.vpscatterdd(a_.ptr[a_.r9 + kAddress + offset + d * 4] | a_.k1, d == 0 ? kFirst : kSecond);
    }
  }

  void store_row(int chunk, int offset) {
    const auto to = [&](int n) { return a_.zword[a_.r9 + base(chunk) + offset + n * kVector]; };
    if (step_.dwords == 1) {
      return masked_ ? a_.vmovdqu32(to(0) | mask(chunk), kFirst) : a_.vmovdqu32(to(0), kFirst);
    }
    a_.vmovdqa32(kValue, kLow);
    a_.vpermi2d(kValue, kFirst, kSecond);
    a_.vmovdqu32(to(0), kValue);
    a_.vpermt2d(kFirst, kHigh, kSecond);
    a_.vmovdqu32(to(1), kFirst);
  }

  // Sums
  // -------------------------------------------------------------------------------------------------

  // One lane after the other, and if all are active four at a time.
  void add() {
    Label again;
    masked_ ? a_.mov(a_.r8, a_.rcx) : a_.xor_(a_.r8d, a_.r8d);
    a_.L(again);
    if (masked_) {
      a_.tzcnt(a_.r10, a_.r8);
      add_lane(a_.r10 * 4, 0);
      a_.blsr(a_.r8, a_.r8);
      a_.jnz(again, kNear);
      return;
    }
    for (int lane = 0; lane < 4; ++lane) add_lane(a_.r8 * 1, lane);
    a_.add(a_.r8d, 16);
    a_.cmp(a_.r8d, static_cast<uint32_t>(row_));
    a_.jb(again, kNear);
  }

  void add_lane(const Xbyak::RegExp& at, int lane) {
    const auto in = [&](uint64_t row) { return a_.dword[a_.rdx + at + static_cast<int>(row) + lane * 4]; };
    a_.mov(a_.eax, in(op_.src[0].offset));
    a_.mov(a_.r11d, in(op_.src[2].offset));
    const auto place = a_.dword[a_.r9 + a_.rax + offsets_[0]];
    if (!step_.returns) return a_.add(place, a_.r11d);
    a_.xadd(place, a_.r11d);
    a_.mov(in(op_.dst), a_.r11d);
  }

  const Zmm kLimit{0}, kAddress{1}, kValue{2}, kMixed{3}, kFirst{4}, kSecond{5}, kOther{6}, kLow{7}, kHigh{8};

  Assembler& a_;
  const MemoryStep& step_;
  const MicroOp& op_;
  Label& otherwise_;
  const int row_;  // bytes
  const int chunks_;
  const int bytes_;  // of an element
  const int addresses_;
  const int offsets_[2];
  bool masked_ = false;
};

}  // namespace

std::optional<MemoryStep> lds_step(const Request& request, const Site& site) {
  const isa::Instruction& in = site.instruction;
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  if (!shape || in.gds || shape->addtid || shape->source2 || (shape->bytes != 4 && shape->bytes != 8)) {
    return std::nullopt;
  }
  MemoryStep step;
  step.dwords = static_cast<uint8_t>(shape->dwords());
  step.pair = shape->pair;
  step.m0_limits = isa::traits_of(request.target).m0_limits_lds;
  step.aligned = step.m0_limits;
  switch (shape->verb) {
    case Verb::kLoad:
      step.kind = MemoryStep::Kind::kLdsLoad;
      break;
    case Verb::kStore:
      step.kind = MemoryStep::Kind::kLdsStore;
      break;
    case Verb::kAtomic:
      if (in.op != Op::ds_add_u32 && in.op != Op::ds_add_rtn_u32) return std::nullopt;
      step.kind = MemoryStep::Kind::kLdsAdd;
      step.returns = shape->returns;
      step.aligned = true;
      break;
  }
  if (step.aligned && !step.pair && in.offset % shape->bytes != 0) return std::nullopt;
  return step;
}

void emit_find_lds(Assembler& a, const MemoryStep& step, const MicroOp& op, Label& otherwise) {
  const uint32_t last = std::max(op.aux, step.pair ? op.dst2 : 0);
  a.mov(a.rax, a.qword[a.rsi + static_cast<int>(offsetof(Wave, group))]);
  a.mov(a.r9, a.qword[a.rax + static_cast<int>(offsetof(WorkGroup, lds))]);
  a.mov(a.r8d, a.dword[a.rax + static_cast<int>(offsetof(WorkGroup, lds_bytes))]);
  if (step.m0_limits) {
    a.mov(a.eax, a.dword[a.rdx + static_cast<int>(isa::code::kM0) * 4]);
    a.cmp(a.eax, a.r8d);
    a.cmovb(a.r8d, a.eax);
  }
  a.sub(a.r8d, last + step.dwords * 4u);
  a.jb(otherwise, kNear);
}

void emit_lds(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
              Label& otherwise) {
  LdsCode(a, request, step, op, otherwise).emit();
}

}  // namespace rigel::vgpu::exec::native
