#include <algorithm>
#include <cstddef>

#include "plugins/vgpu/exec/native/group_compiler.hpp"
#include "plugins/vgpu/exec/native/vectors.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Label;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr unsigned kLanes = 64;  // in an iteration
// Of a lane, that load_row() and load_pair() load and emit_store() stores. Others go by waves.
constexpr uint32_t kMaxDwords = 2;

// Of a row, where the lanes are that are done at present.
int at_piece(const Lanes& l, int bytes_of_lane = 4) {
  return static_cast<int>(l.piece * l.a.lanes()) * bytes_of_lane;
}

void load_vector(Assembler& a, const Zmm& to, const uint32_t (&vector)[16]) {
  a.mov(a.rax, reinterpret_cast<uint64_t>(vector));
  a.vmovdqa32(to, a.vector(a.rax));
}

Ymm half(const Zmm& reg) {
  return Ymm(reg.getIdx());
}

// Steps of rows that are no instruction's arithmetic. What they have to know is in src[1] and src[2].
uint32_t parameter(const Lanes& l, unsigned i) {
  return l.constant(i);
}

// The ramp whose base is in slot src[1], with stride src[2].
void ramp_to_row(Lanes& l) {
  Assembler& a = l.a;
  const uint32_t stride = parameter(l, 2);
  const Zmm to = l.result();
  a.vpbroadcastd(to, a.dword[a.rsp + slot_at(parameter(l, 1))]);
  if (stride == 0) return;
  const Zmm lanes = l.temporary();
  const auto power = static_cast<unsigned>(__builtin_ctz(stride));
  load_vector(a, lanes, kVectors.lanes[power]);
  if (stride >> power != 1) a.vpmulld(lanes, lanes, a.splat(stride >> power));
  a.vpaddd(to, to, lanes);
  if (l.piece != 0) a.vpaddd(to, to, a.splat(stride * a.lanes() * l.piece));
}

// Slot src[1] has the place in memory of the work-group's first lane; rbx counts bytes of dwords.
void load_row(Lanes& l) {
  l.a.mov(l.a.rax, l.a.qword[l.a.rsp + slot_at(parameter(l, 1))]);
  l.a.vmovdqu32(l.result(), l.a.vector(l.a.rax + l.a.rbx + at_piece(l)));
}

void load_pair(Lanes& l) {
  Assembler& a = l.a;
  const Zmm first = l.temporary(), second = l.temporary(), low = l.result(0), high = l.result(1);
  const int at = at_piece(l, 8);
  a.mov(a.rax, a.qword[a.rsp + slot_at(parameter(l, 1))]);
  a.vmovdqu32(first, a.vector(a.rax + a.rbx * 2 + at));
  a.vmovdqu32(second, a.vector(a.rax + a.rbx * 2 + at + a.bytes()));
  if (a.eight_lanes()) return a.split_pairs(half(low), half(high), half(first), half(second));
  load_vector(a, low, kVectors.deinterleaved[0]);
  load_vector(a, high, kVectors.deinterleaved[1]);
  a.vpermi2d(low, first, second);
  a.vpermi2d(high, first, second);
}

// The src[2]th dword of those that a lane stores: kept until 64 lanes have loaded what they load.
void keep_row(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vmovdqa32(l.a.vector(l.a.rsp + kStored + static_cast<int>(parameter(l, 2) * 256) + at_piece(l)), value);
}

VectorOp make_op(uint8_t sources, uint8_t wide, void (*emit)(Lanes&)) {
  VectorOp op{Op::v_mov_b32};
  op.sources = sources;
  op.wide = wide;
  op.compares = sources != 0;  // it has no row as a result
  op.emit = emit;
  return op;
}
const VectorOp& ramp_op() {
  static const VectorOp op = make_op(0, 0, ramp_to_row);
  return op;
}
const VectorOp& load_op(unsigned dwords) {
  static const VectorOp row = make_op(0, 0, load_row), pair = make_op(0, 0x80, load_pair);
  return dwords == 2 ? pair : row;
}
const VectorOp& keep_op() {
  static const VectorOp op = make_op(1, 0, keep_row);
  return op;
}

}  // namespace

Step& GroupCompiler::add_step(const VectorOp& op, uint32_t dst, uint32_t one, uint32_t other) {
  Step& step = steps_.emplace_back();
  step.kind = StepKind::kVector;
  step.vector = &op;
  step.dst = dst;
  step.src[1].kind = step.src[2].kind = Input::Kind::kConstant;
  step.src[1].bits = one;
  step.src[2].bits = other;
  return step;
}

void GroupCompiler::make_row(uint32_t v) {
  Value& value = values_[v];
  if (value.is_row) return;
  add_step(ramp_op(), v, value.slot, value.stride);
  value.is_row = true;
  const std::pair<uint32_t, uint32_t> moves{value.slot, value.stride};
  if (value.stride != 0 && std::find(moving_.begin(), moving_.end(), moves) == moving_.end()) {
    moving_.push_back(moves);
  }
}

bool GroupCompiler::vector(const Step& step, Op op) {
  if (!step.clamp && ramp(step, op)) return true;
  if (step.writes_exec) return false;
  const VectorOp& how = *step.vector;
  if (step.mask_in != kNoMask && !is_mask(step.mask_in, Slot::kRow)) return false;
  if (!are_scalars(step.whole_reads)) return false;
  row_reads_ |= step.whole_reads;
  for (unsigned i = 0; i < how.sources; ++i) {
    if (step.src[i].kind != Input::Kind::kRow) continue;
    make_row(step.src[i].index);
    if ((how.wide >> i & 1) != 0) make_row(step.src[i].index + 1);
  }
  steps_.push_back(step);
  if (step.mask_out != kNoMask) {
    if (row_reads_[step.mask_out] || (wave64_ && row_reads_[step.mask_out + 1])) return false;
    set_mask(step.mask_out, Slot::kRow);
  }
  if (how.compares) return true;
  values_[step.dst] = {false, true, 0, 0};
  if ((how.wide & 0x80) != 0) values_[step.dst + 1] = {false, true, 0, 0};
  return true;
}

void GroupCompiler::loop() {
  Request piece = request_;
  piece.layout.wave_size = a_.lanes();
  a_.shl(a_.r12d, 2);
  a_.xor_(a_.ebx, a_.ebx);
  a_.lea(a_.r10, a_.ptr[a_.rsp + kRowRoom + static_cast<int>(Lanes::kRowBias)]);
  a_.lea(a_.r11, a_.ptr[a_.rsp + kMaskRoom]);
  a_.kxnorw(a_.k7, a_.k7, a_.k7);
  Label again;
  a_.L(again);
  for (unsigned i = 0; i < kLanes / a_.lanes(); ++i) {
    Lanes lanes(a_, piece, steps_);
    lanes.piece = i;
    lanes.emit_piece();
  }
  for (const Stored& stored : stores_) emit_store(stored);
  for (const auto& [slot, stride] : moving_) {
    a_.add(a_.dword[a_.rsp + slot_at(slot)], stride * kLanes);
  }
  a_.add(a_.rbx, 4 * kLanes);
  a_.cmp(a_.rbx, a_.r12);
  a_.jb(again, kNear);
}

void GroupCompiler::emit_store(const Stored& stored) {
  a_.mov(a_.rdi, a_.qword[a_.rsp + slot_at(stored.slot)]);
  const auto kept = [&](uint32_t d, unsigned piece) {
    return a_.vector(a_.rsp + kStored + static_cast<int>((stored.first + d) * 256) +
                     static_cast<int>(piece) * a_.bytes());
  };
  const auto pair = [&](unsigned piece, int i) {
    return a_.vector(a_.rdi + a_.rbx * 2 + (static_cast<int>(piece) * 2 + i) * a_.bytes());
  };
  if (stored.dwords == 2 && !a_.eight_lanes()) {
    load_vector(a_, Zmm(4), kVectors.interleaved[0]);
    load_vector(a_, Zmm(5), kVectors.interleaved[1]);
  }
  for (unsigned piece = 0; piece < kLanes / a_.lanes(); ++piece) {
    a_.vmovdqa32(Zmm(0), kept(0, piece));
    if (stored.dwords == 1) {
      a_.vmovdqu32(a_.vector(a_.rdi + a_.rbx + static_cast<int>(piece) * a_.bytes()), Zmm(0));
      continue;
    }
    if (a_.eight_lanes()) {
      a_.join_pairs(a_.ymm2, a_.ymm3, a_.ymm0, kept(1, piece));
      for (int i = 0; i < 2; ++i) a_.vmovdqu32(pair(piece, i), Zmm(2 + i));
      continue;
    }
    a_.vmovdqa32(Zmm(1), kept(1, piece));
    for (int i = 0; i < 2; ++i) {
      a_.vmovdqa32(Zmm(2), Zmm(4 + i));
      a_.vpermi2d(Zmm(2), Zmm(0), Zmm(1));
      a_.vmovdqu32(pair(piece, i), Zmm(2));
    }
  }
}

// Memory
// ---------------------------------------------------------------------------------------------------

bool GroupCompiler::locate(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op,
                           Access access, uint32_t& stride) {
  if (step.dwords > kMaxDwords) return false;
  const uint32_t v = in.vaddr.vgpr();
  const Value& low = values_[v];
  if (!low.is_ramp) return false;
  stride = low.stride;
  rise({Term::Kind::kSlot, low.slot, low.stride});
  a_.mov(a_.eax, a_.dword[a_.rsp + slot_at(low.slot)]);
  if (step.scalar_base) {
    if (!is_scalar(op.src[1].offset / 4, 2)) return false;
  } else {
    const Value& high = values_[v + 1];
    if (!high.is_ramp || high.stride != 0) return false;
    a_.mov(a_.r8d, a_.dword[a_.rsp + slot_at(high.slot)]);
  }
  emit_address(a_, step, op, otherwise_);
  if (stride == 0) {
    a_.mov(a_.r11d, step.dwords * 4);
  } else {
    a_.imul(a_.r11d, a_.ebx, static_cast<int>(stride));
    a_.add(a_.r11d, step.dwords * 4);
  }
  emit_find(a_, op, access, otherwise_);
  return true;
}

bool GroupCompiler::load(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op) {
  uint32_t stride = 0;
  if (!stores_.empty() || !locate(step, in, op, Access::kRead, stride)) return false;
  const uint32_t to = in.vdst.vgpr();
  if (stride == 0) {  // one place: as a scalar
    if (step.dwords == 2) {
      a_.mov(a_.rax, a_.qword[a_.r9]);  // pairs are not torn
    } else {
      a_.mov(a_.eax, a_.dword[a_.r9]);
    }
    for (uint32_t d = 0; d < step.dwords; ++d) {
      if (d == 1) a_.shr(a_.rax, 32);
      set_ramp(to + d, keep_eax(), 0);
    }
    return true;
  }
  if (stride != step.dwords * 4u) return false;
  const uint32_t slot = new_slot();
  a_.mov(a_.qword[a_.rsp + slot_at(slot)], a_.r9);
  add_step(load_op(step.dwords), to, slot, 0);
  for (uint32_t d = 0; d < step.dwords; ++d) values_[to + d] = {false, true, 0, 0};
  return true;
}

bool GroupCompiler::store(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op) {
  uint32_t stride = 0;
  if (!locate(step, in, op, Access::kWrite, stride) || stride != step.dwords * 4u) return false;
  if (stored_ + step.dwords > kMaxStored) return false;
  const uint32_t slot = new_slot();
  a_.mov(a_.qword[a_.rsp + slot_at(slot)], a_.r9);
  stores_.push_back({slot, stored_, step.dwords});
  for (uint32_t d = 0; d < step.dwords; ++d) {
    const uint32_t from = in.vdata.vgpr() + d;
    make_row(from);
    Step& keeps = add_step(keep_op(), 0, 0, stored_++);
    keeps.src[0].kind = Input::Kind::kRow;
    keeps.src[0].index = from;
  }
  return true;
}

}  // namespace rigel::vgpu::exec::native
