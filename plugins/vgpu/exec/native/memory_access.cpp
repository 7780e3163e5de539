#include "plugins/vgpu/exec/native/memory_access.hpp"

#include <cstddef>

#include "plugins/vgpu/exec/memory.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"
#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/native/vectors.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using Xbyak::Label;
using Xbyak::Opmask;
using Xbyak::Zmm;

constexpr auto kNear = Assembler::T_NEAR;
constexpr int kVector = 64;

// Fields of the extent that the instruction used last, of the Memory that is in rax.
auto extent_field(Assembler& a, const MicroOp& op, Access access) {
  const auto at =
      static_cast<int>(Memory::sites_offset() + Memory::slot(&op, access) * sizeof(Memory::Extent));
  return [&a, at](size_t offset) { return a.qword[a.rax + at + static_cast<int>(offset)]; };
}

void emit_offset(Assembler& a, const MicroOp& op) {
  const auto offset = static_cast<int32_t>(op.aux);
  if (offset > 0) a.add(a.r8, static_cast<uint32_t>(offset));
  if (offset < 0) a.sub(a.r8, static_cast<uint32_t>(-offset));
}

class MemoryCode {
 public:
  MemoryCode(Assembler& assembler, const Request& request, const MemoryStep& step, const MicroOp& op,
             Label& otherwise)
      : a_(assembler),
        step_(step),
        op_(op),
        otherwise_(otherwise),
        row_(static_cast<int>(request.layout.row_bytes())),
        chunks_(row_ / kVector),
        stride_(step.dwords == 2 ? 8 : 4),
        low_(static_cast<int>(op.src[0].offset)),
        high_(low_ + row_) {}

  void scalar_load() {
    a_.mov(a_.r8, a_.qword[a_.rdx + low_]);
    a_.and_(a_.r8, -4);
    if (step_.register_offset) {
      a_.mov(a_.eax, a_.dword[a_.rdx + static_cast<int>(op_.src[1].offset)]);
      a_.and_(a_.eax, -4);
      a_.add(a_.r8, a_.rax);
    }
    emit_offset(a_, op_);
    a_.mov(a_.r11d, step_.dwords * 4);
    find(Access::kRead);
    const auto to = static_cast<int>(op_.dst);
    switch (step_.dwords) {
      case 1:
        a_.mov(a_.eax, a_.dword[a_.r9]);
        return a_.mov(a_.dword[a_.rdx + to], a_.eax);
      case 2:
        a_.mov(a_.rax, a_.qword[a_.r9]);
        return a_.mov(a_.qword[a_.rdx + to], a_.rax);
      case 4:
        a_.vmovdqu(a_.xmm0, a_.ptr[a_.r9]);
        return a_.vmovdqu(a_.ptr[a_.rdx + to], a_.xmm0);
      case 8:
        a_.vmovdqu(a_.ymm0, a_.ptr[a_.r9]);
        return a_.vmovdqu(a_.ptr[a_.rdx + to], a_.ymm0);
      default:
        for (int at = 0; at < 64; at += a_.bytes()) {
          a_.vmovdqu32(a_.zmm0, a_.vector(a_.r9 + at));
          a_.vmovdqu32(a_.vector(a_.rdx + to + at), a_.zmm0);
        }
    }
  }

  void vector() {
    Label some, done;
    const bool by_masks = step_.dwords != 2;
    row_ == 256 ? a_.cmp(a_.rcx, -1) : a_.cmp(a_.ecx, -1);
    a_.jne(by_masks ? some : otherwise_, kNear);
    lanes(false, done);
    if (by_masks) {
      a_.jmp(done, kNear);
      a_.L(some);
      a_.test(a_.rcx, a_.rcx);
      a_.jz(done, kNear);
      lanes(true, done);
    }
    a_.L(done);
  }

 private:
  static int constant(const uint32_t (&vector)[16]) {
    return static_cast<int>(reinterpret_cast<const std::byte*>(vector) -
                            reinterpret_cast<const std::byte*>(&kVectors));
  }

  // All lanes, or those in EXEC, of which r10 is the first.
  void lanes(bool masked, Label& done) {
    Label ramp, apart;
    masked_ = masked;
    // Of the first two lanes, before all are looked at.
    if (masked) {
      a_.tzcnt(a_.r10, a_.rcx);
      a_.mov(a_.eax, a_.dword[a_.rdx + a_.r10 * 4 + low_]);
      a_.blsr(a_.r11, a_.rcx);
      a_.jz(ramp, kNear);
      a_.tzcnt(a_.r9, a_.r11);
      a_.mov(a_.r11d, a_.dword[a_.rdx + a_.r9 * 4 + low_]);
      a_.sub(a_.r11d, a_.eax);
      a_.sub(a_.r9d, a_.r10d);
      a_.imul(a_.r9d, a_.r9d, stride_);
      a_.cmp(a_.r11d, a_.r9d);
    } else {
      a_.mov(a_.eax, a_.dword[a_.rdx + low_]);
      a_.mov(a_.r11d, a_.dword[a_.rdx + low_ + 4]);
      a_.sub(a_.r11d, a_.eax);
      a_.cmp(a_.r11d, stride_);
    }
    const bool is_load = step_.kind == MemoryStep::Kind::kLoad;
    const bool by_dwords = is_load && step_.dwords == 1;
    Label elsewhere;
    Label& neither = by_dwords ? elsewhere : otherwise_;
    a_.jne(is_load ? apart : otherwise_, kNear);
    a_.L(ramp);
    follow_each_other(neither);
    if (!is_load) return store();
    load();
    a_.jmp(done, kNear);
    a_.L(apart);
    a_.test(a_.r11d, a_.r11d);
    a_.jne(neither, kNear);
    load_one(neither);
    if (!by_dwords) return;
    a_.jmp(done, kNear);
    a_.L(elsewhere);
    load_apart();
  }

  // r9: where lane 0's place in memory is, or would be. Goes on at `apart` if they do not.
  void follow_each_other(Label& apart) {
    a_.mov(a_.rdi, reinterpret_cast<uint64_t>(&kVectors));
    if (masked_) {
      take_masks();
      a_.imul(a_.r11d, a_.r10d, stride_);
      a_.mov(a_.r9d, a_.eax);
      a_.sub(a_.r9d, a_.r11d);
      a_.vpbroadcastd(kStart, a_.r9d);
    } else {
      a_.vpbroadcastd(kStart, a_.eax);
    }
    a_.vpaddd(kExpected, kStart, a_.zword[a_.rdi + constant(kVectors.lanes[step_.dwords == 2 ? 3 : 2])]);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      if (chunk != 0) a_.vpaddd(kExpected, kExpected, a_.splat(static_cast<uint32_t>(stride_ * 16)));
      differ(kExpected, low_, chunk);
    }
    high_halves();
    none_wrong(apart);
    // From the first to the last lane.
    if (masked_) {
      a_.bsr(a_.r11, a_.rcx);
      a_.sub(a_.r11, a_.r10);
      a_.imul(a_.r11, a_.r11, stride_);
      a_.add(a_.r11, step_.dwords * 4);
    } else {
      a_.mov(a_.r11d, (row_ / 4 - 1) * stride_ + step_.dwords * 4);
    }
    // Their addresses do not carry into the high half.
    a_.mov(a_.edi, a_.eax);
    a_.add(a_.edi, a_.r11d);
    a_.jc(otherwise_, kNear);
    address();
    find(step_.kind == MemoryStep::Kind::kStore ? Access::kWrite : Access::kRead);
    if (masked_) {
      a_.imul(a_.r10, a_.r10, stride_);
      a_.sub(a_.r9, a_.r10);
    }
  }

  // All lanes load from one place, or it goes on at `apart`.
  void load_one(Label& apart) {
    if (masked_) take_masks();
    a_.vpbroadcastd(kStart, a_.eax);
    for (int chunk = 0; chunk < chunks_; ++chunk) differ(kStart, low_, chunk);
    high_halves();
    none_wrong(apart);
    address();
    a_.mov(a_.r11d, step_.dwords * 4);
    find(Access::kRead);
    // Pairs are not torn.
    if (step_.dwords == 2) a_.vmovq(a_.xmm5, a_.qword[a_.r9]);
    for (int d = 0; d < step_.dwords; ++d) {
      if (step_.dwords != 2) {
        a_.vpbroadcastd(kFirst, a_.dword[a_.r9 + d * 4]);
      } else {
        if (d == 1) a_.vpshufd(a_.xmm5, a_.xmm5, 1);
        a_.vpbroadcastd(kFirst, a_.xmm5);
      }
      for (int chunk = 0; chunk < chunks_; ++chunk) put(d, chunk, kFirst);
    }
  }

  Opmask mask(int chunk) const { return Opmask(1 + chunk); }

  void take_masks() {
    a_.kmovq(a_.k1, a_.rcx);
    for (int chunk = 1; chunk < chunks_; ++chunk) {
      a_.kshiftrq(mask(chunk), a_.k1, static_cast<uint8_t>(chunk * 16));
    }
  }

  // Notes in kWrong where addresses are others. The first one sets it.
  void differ(const Zmm& expected, int row, int chunk) {
    differ(expected, row, chunk, row == low_ && chunk == 0);
  }
  void differ(const Zmm& expected, int row, int chunk, bool first) {
    const auto at = a_.zword[a_.rdx + row + chunk * kVector];
    if (masked_) {
      first ? a_.vpxord(kWrong | mask(chunk) | Xbyak::util::T_z, expected, at)
            : a_.vpternlogd(kWrong | mask(chunk), expected, at, 0xf6);
    } else {
      first ? a_.vpxord(kWrong, expected, at) : a_.vpternlogd(kWrong, expected, at, 0xf6);
    }
  }

  // r8: the first lane's. They have one in common.
  void high_halves() {
    if (step_.scalar_base) return;
    load_high();
    a_.vpbroadcastd(kHigh, a_.r8d);
    for (int chunk = 0; chunk < chunks_; ++chunk) differ(kHigh, high_, chunk);
  }

  // Each 16 lanes load from two vectors of their own, as they do in rows of a tile; or each lane from a place
  // of its own, where the instruction found memory the last time.
  void load_apart() {
    if (masked_) take_masks();
    if (!step_.scalar_base) {
      load_high();
      a_.vpbroadcastd(kHigh, a_.r8d);
      a_.vpxord(kWrong, kWrong, kWrong);
      for (int chunk = 0; chunk < chunks_; ++chunk) differ(kHigh, high_, chunk, false);
      none_wrong(otherwise_);
    }
    if (masked_) return gather();
    Label each, done;
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      a_.vmovdqa32(kExpected, a_.zword[a_.rdx + low_ + chunk * kVector]);
      a_.vpsubd(index(chunk), kExpected, a_.ptr_b[a_.rdx + low_ + chunk * kVector]);
      chunk == 0 ? a_.vptestnmd(a_.k1, index(chunk), a_.splat(~0x7cu))
                 : a_.vptestnmd(a_.k1 | a_.k1, index(chunk), a_.splat(~0x7cu));
    }
    a_.kortestw(a_.k1, a_.k1);
    a_.jnc(each, kNear);
    a_.mov(a_.r11d, 2 * kVector);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      a_.mov(a_.eax, a_.dword[a_.rdx + low_ + chunk * kVector]);
      // Their addresses do not carry into the high half.
      a_.mov(a_.edi, a_.eax);
      a_.add(a_.edi, a_.r11d);
      a_.jc(each, kNear);
      load_high();
      address();
      emit_find(a_, op_, Access::kRead, each);
      a_.vpsrld(index(chunk), index(chunk), 2);
      a_.vmovdqu32(found(chunk), a_.zword[a_.r9]);
      a_.vpermt2d(found(chunk), index(chunk), a_.zword[a_.r9 + kVector]);
    }
    for (int chunk = 0; chunk < chunks_; ++chunk) put(0, chunk, found(chunk));
    a_.jmp(done, kNear);
    a_.L(each);
    gather();
    a_.L(done);
  }
  static Zmm index(int chunk) { return Zmm(16 + chunk); }
  static Zmm found(int chunk) { return Zmm(20 + chunk); }

  void load_high() {
    if (step_.scalar_base) return;
    masked_ ? a_.mov(a_.r8d, a_.dword[a_.rdx + a_.r10 * 4 + high_])
            : a_.mov(a_.r8d, a_.dword[a_.rdx + high_]);
  }

  void gather() {
    a_.xor_(a_.eax, a_.eax);
    load_high();
    address();
    emit_reach(a_, op_, Access::kRead, 4, otherwise_);
    a_.vpbroadcastd(kStart, a_.r9d);
    a_.vpbroadcastd(kHigh, a_.r11d);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      a_.vmovdqa32(kExpected, a_.zword[a_.rdx + low_ + chunk * kVector]);
      a_.vpsubd(kExpected, kExpected, kStart);
      a_.vpcmpud(masked_ ? a_.k5 | mask(chunk) : a_.k5, kExpected, kHigh, 6);
      a_.kortestw(a_.k5, a_.k5);
      a_.jnz(otherwise_, kNear);
    }
    masked_ ? gather_some() : gather_all();
  }

  // By lanes: on many hosts that is faster than their gathers are.
  void gather_some() {
    const auto to = static_cast<int>(op_.dst);
    Label again;
    a_.mov(a_.r9, a_.rcx);
    a_.L(again);
    a_.tzcnt(a_.r10, a_.r9);
    a_.mov(a_.eax, a_.dword[a_.rdx + a_.r10 * 4 + low_]);
    a_.mov(a_.eax, a_.dword[a_.r8 + a_.rax]);
    a_.mov(a_.dword[a_.rdx + a_.r10 * 4 + to], a_.eax);
    a_.blsr(a_.r9, a_.r9);
    a_.jnz(again, kNear);
  }
  void gather_all() {
    const auto to = static_cast<int>(op_.dst);
    Label again;
    a_.mov(a_.r10, a_.rdx);
    a_.lea(a_.r9, a_.ptr[a_.rdx + row_]);
    a_.L(again);
    for (int quarter = 0; quarter < 4; ++quarter) {
      const Xbyak::Xmm four(quarter);
      for (int lane = 0; lane < 4; ++lane) {
        const Xbyak::Reg32 from = lane % 2 == 0 ? a_.eax : a_.edi;
        a_.mov(from, a_.dword[a_.r10 + low_ + quarter * 16 + lane * 4]);
        const auto place = a_.dword[a_.r8 + (lane % 2 == 0 ? a_.rax : a_.rdi)];
        lane == 0 ? a_.vmovd(four, place) : a_.vpinsrd(four, four, place, static_cast<uint8_t>(lane));
      }
    }
    a_.vinserti128(a_.ymm0, a_.ymm0, a_.xmm1, 1);
    a_.vinserti128(a_.ymm2, a_.ymm2, a_.xmm3, 1);
    a_.vinserti64x4(a_.zmm0, a_.zmm0, a_.ymm2, 1);
    a_.vmovdqa32(a_.zword[a_.r10 + to], a_.zmm0);
    a_.add(a_.r10, kVector);
    a_.cmp(a_.r10, a_.r9);
    a_.jne(again, kNear);
  }
  void none_wrong(Label& otherwise) {
    a_.vptestmd(a_.k5, kWrong, kWrong);
    a_.kortestw(a_.k5, a_.k5);
    a_.jnz(otherwise, kNear);
  }

  // The first lane's to r8. Its low half is in eax.
  void address() { emit_address(a_, step_, op_, otherwise_); }
  void find(Access access) { emit_find(a_, op_, access, otherwise_); }

  // A vector of the result. Inactive lanes keep what they have; all are written, so that whoever reads them
  // next need not wait for the store.
  void put(int d, int chunk, const Zmm& value) {
    const auto at = a_.zword[a_.rdx + static_cast<int>(op_.dst) + d * row_ + chunk * kVector];
    if (!masked_) return a_.vmovdqa32(at, value);
    a_.vmovdqa32(kMixed, at);
    a_.vmovdqa32(kMixed | mask(chunk), value);
    a_.vmovdqa32(at, kMixed);
  }

  // What the next wave will load, as a rule: waves take turns too soon for the host to see where they go. A
  // prefetch is no access: past the end of what is mapped nothing happens, and no handler or debugger sees
  // it.
  void fetch_following() {
    const int bytes = row_ / 4 * stride_;
    for (int line = 0; line < bytes; line += 64) a_.prefetcht1(a_.ptr[a_.r9 + (bytes + line)]);
  }

  void load() {
    fetch_following();
    if (step_.dwords == 2) a_.mov(a_.r10, reinterpret_cast<uint64_t>(&kVectors));
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      if (step_.dwords != 2) {
        for (int d = 0; d < step_.dwords; ++d) {
          const auto from = a_.zword[a_.r9 + chunk * kVector + d * 4];
          masked_ ? a_.vmovdqu32(kFirst | mask(chunk) | Xbyak::util::T_z, from) : a_.vmovdqu32(kFirst, from);
          put(d, chunk, kFirst);
        }
        continue;
      }
      a_.vmovdqu32(kFirst, a_.zword[a_.r9 + chunk * 2 * kVector]);
      a_.vmovdqu32(kSecond, a_.zword[a_.r9 + (chunk * 2 + 1) * kVector]);
      for (int d = 0; d < 2; ++d) {
        a_.vmovdqa32(kMixed, a_.zword[a_.r10 + constant(kVectors.deinterleaved[d])]);
        a_.vpermi2d(kMixed, kFirst, kSecond);
        put(d, chunk, kMixed);
      }
    }
  }

  void store() {
    if (step_.dwords == 2) a_.mov(a_.r10, reinterpret_cast<uint64_t>(&kVectors));
    const auto from = static_cast<int>(op_.src[2].offset);
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      a_.vmovdqa32(kFirst, a_.zword[a_.rdx + from + chunk * kVector]);
      if (step_.dwords == 1) {
        const auto to = a_.zword[a_.r9 + chunk * kVector];
        masked_ ? a_.vmovdqu32(to | mask(chunk), kFirst) : a_.vmovdqu32(to, kFirst);
        continue;
      }
      a_.vmovdqa32(kSecond, a_.zword[a_.rdx + from + row_ + chunk * kVector]);
      for (int half = 0; half < 2; ++half) {
        a_.vmovdqa32(kMixed, a_.zword[a_.r10 + constant(kVectors.interleaved[half])]);
        a_.vpermi2d(kMixed, kFirst, kSecond);
        a_.vmovdqu32(a_.zword[a_.r9 + (chunk * 2 + half) * kVector], kMixed);
      }
    }
  }

  const Zmm kStart{0}, kExpected{1}, kWrong{2}, kHigh{3}, kFirst{4}, kSecond{5}, kMixed{6};

  Assembler& a_;
  const MemoryStep& step_;
  const MicroOp& op_;
  Label& otherwise_;
  const int row_;  // bytes
  const int chunks_;
  const int stride_;  // from lane to lane, in bytes
  const int low_, high_;
  bool masked_ = false;
};

}  // namespace

std::optional<MemoryStep> memory_step(const Request& request, const Site& site) {
  const isa::Instruction& in = site.instruction;
  if (site.op_count != 1) return std::nullopt;  // fences first, or changes EXEC
  if (in.encoding == isa::Encoding::kDs) return lds_step(request, site);
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  if (!shape || shape->verb == Verb::kAtomic || shape->bytes < 4 || shape->addtid) return std::nullopt;
  MemoryStep step;
  step.dwords = static_cast<uint8_t>(shape->dwords());
  if (in.encoding == isa::Encoding::kSmem) {
    if (shape->verb != Verb::kLoad || shape->space != isa::Space::kGlobal) return std::nullopt;
    step.kind = MemoryStep::Kind::kScalarLoad;
    const bool null = isa::traits_of(request.target).has_null && in.soffset.code == isa::code::kNull;
    step.register_offset = in.soffset.exists() && !null && in.soffset.is_scalar_register();
    return step;
  }
  if (in.encoding != isa::Encoding::kFlat && in.encoding != isa::Encoding::kGlobal) return std::nullopt;
  if (in.lds || !in.vaddr.exists() || !in.vaddr.is_vgpr()) return std::nullopt;
  if (step.dwords > 2 && shape->verb == Verb::kStore && !request.has_eight_lanes()) return std::nullopt;
  step.kind = shape->verb == Verb::kStore ? MemoryStep::Kind::kStore : MemoryStep::Kind::kLoad;
  step.flat = in.encoding == isa::Encoding::kFlat;
  step.scalar_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
  if (step.flat && step.scalar_base) return std::nullopt;
  return step;
}

void emit_address(Assembler& a, const MemoryStep& step, const MicroOp& op, Label& otherwise) {
  if (step.scalar_base) {
    a.mov(a.r8, a.qword[a.rdx + static_cast<int>(op.src[1].offset)]);
    a.add(a.r8, a.rax);
  } else {
    if (step.flat) {
      for (const size_t aperture :
           {offsetof(Wave, shared_aperture_hi), offsetof(Wave, private_aperture_hi)}) {
        a.cmp(a.r8d, a.dword[a.rsi + static_cast<int>(aperture)]);
        a.je(otherwise, kNear);
      }
    }
    a.shl(a.r8, 32);
    a.or_(a.r8, a.rax);
  }
  emit_offset(a, op);
}

void emit_find(Assembler& a, const MicroOp& op, Access access, Label& otherwise) {
  const auto field = extent_field(a, op, access);
  a.mov(a.rax, a.qword[a.rsi + static_cast<int>(offsetof(Wave, memory))]);
  a.mov(a.r9, a.r8);
  a.sub(a.r9, field(offsetof(Memory::Extent, begin)));
  a.mov(a.rdi, field(offsetof(Memory::Extent, bytes)));
  a.sub(a.rdi, a.r9);
  a.jb(otherwise, kNear);
  a.cmp(a.rdi, a.r11);
  a.jb(otherwise, kNear);
  a.add(a.r9, field(offsetof(Memory::Extent, host)));
}

void emit_reach(Assembler& a, const MicroOp& op, Access access, uint32_t bytes, Label& otherwise) {
  const auto field = extent_field(a, op, access);
  a.mov(a.rax, a.qword[a.rsi + static_cast<int>(offsetof(Wave, memory))]);
  a.mov(a.r9, field(offsetof(Memory::Extent, begin)));
  a.mov(a.r11, field(offsetof(Memory::Extent, bytes)));
  a.sub(a.r11, bytes);
  a.jb(otherwise, kNear);
  a.sub(a.r9, a.r8);  // of the extent, from the base on
  a.add(a.r11, a.r9);
  a.js(otherwise, kNear);
  a.mov(a.edi, ~0u);
  a.cmp(a.r11, a.rdi);
  a.cmova(a.r11, a.rdi);
  a.mov(a.r8, field(offsetof(Memory::Extent, host)));
  a.sub(a.r8, a.r9);
  a.xor_(a.edi, a.edi);
  a.test(a.r9, a.r9);
  a.cmovs(a.r9, a.rdi);
  a.cmp(a.r9, a.r11);
  a.ja(otherwise, kNear);
  a.sub(a.r11, a.r9);
}

void emit_memory(Assembler& a, const Request& request, const MemoryStep& step, const MicroOp& op,
                 Label& otherwise) {
  const bool is_lds = step.kind >= MemoryStep::Kind::kLdsLoad;
  if (step.kind == MemoryStep::Kind::kScalarLoad) {
    MemoryCode(a, request, step, op, otherwise).scalar_load();
  } else if (a.eight_lanes()) {
    (is_lds ? emit_lds_of_eight : emit_memory_of_eight)(a, request, step, op, otherwise);
  } else if (is_lds) {
    emit_lds(a, request, step, op, otherwise);
  } else {
    MemoryCode(a, request, step, op, otherwise).vector();
  }
}

}  // namespace rigel::vgpu::exec::native
