#include "plugins/vgpu/exec/native/group_code.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <utility>

#include "plugins/vgpu/exec/native/lanes.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Op;
using Xbyak::Label;
using Xbyak::Reg32;
using Xbyak::Reg64;
using Xbyak::Zmm;

constexpr auto kNear = Assembler::T_NEAR;

// The frame, from rsp on: 8 bytes for each base of a ramp and each place in memory, then room for masks and
// rows that find none in registers, and what 64 lanes store.
constexpr uint32_t kSlots = 256;
constexpr uint32_t kMaxStored = 8;  // dwords of a lane
constexpr int kMaskRoom = kSlots * 8;
constexpr int kStored = kMaskRoom + 1024;
constexpr int kRowRoom = kStored + static_cast<int>(kMaxStored) * 256;
constexpr int kFrame = kRowRoom + 256 * 64;

constexpr unsigned kPieces = 4;  // of 16 lanes, in an iteration
// All of a work-group's lanes together don't come near to 32 bits.
constexpr uint32_t kMaxStride = 1 << 16;

struct alignas(64) Vectors {
  uint32_t lanes[17][16];  // multiples of powers of 2
  uint32_t gather[2][16];  // pairs of dwords: the first ones, the second ones
  uint32_t scatter[2][16];
};
constexpr Vectors kVectors = [] {
  Vectors made{};
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t power = 0; power < 17; ++power) made.lanes[power][i] = i << power;
    for (uint32_t d = 0; d < 2; ++d) {
      made.gather[d][i] = i * 2 + d;
      made.scatter[d][i] = (d * 16 + i) / 2 + (i % 2) * 16;
    }
  }
  return made;
}();

int slot_at(uint64_t slot) {
  return static_cast<int>(slot) * 8;
}

void load_vector(Assembler& a, const Zmm& to, const uint32_t (&vector)[16]) {
  a.mov(a.rax, reinterpret_cast<uint64_t>(vector));
  a.vmovdqa32(to, a.zword[a.rax]);
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
  if (l.piece != 0) a.vpaddd(to, to, a.splat(stride * 16 * l.piece));
}

// Slot src[1] has the place in memory of the work-group's first lane; rbx counts bytes of dwords.
void load_row(Lanes& l) {
  l.a.mov(l.a.rax, l.a.qword[l.a.rsp + slot_at(parameter(l, 1))]);
  l.a.vmovdqu32(l.result(), l.a.zword[l.a.rax + l.a.rbx + static_cast<int>(l.piece * 64)]);
}

void load_pair(Lanes& l) {
  Assembler& a = l.a;
  const Zmm first = l.temporary(), second = l.temporary(), low = l.result(0), high = l.result(1);
  const auto at = static_cast<int>(l.piece * 128);
  a.mov(a.rax, a.qword[a.rsp + slot_at(parameter(l, 1))]);
  a.vmovdqu32(first, a.zword[a.rax + a.rbx * 2 + at]);
  a.vmovdqu32(second, a.zword[a.rax + a.rbx * 2 + at + 64]);
  load_vector(a, low, kVectors.gather[0]);
  load_vector(a, high, kVectors.gather[1]);
  a.vpermi2d(low, first, second);
  a.vpermi2d(high, first, second);
}

// The src[2]th dword of those that a lane stores: kept until 64 lanes have loaded what they load.
void keep_row(Lanes& l) {
  const Zmm value = l.reg(0);
  l.a.vmovdqa32(l.a.zword[l.a.rsp + kStored + static_cast<int>(parameter(l, 2) * 256 + l.piece * 64)], value);
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

// Comparisons of numbers that rise with the lanes.
struct Comparison {
  Op op, to_exec;
  bool is_signed, wide;
  enum class How : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual } how;
};
#define RIGEL_ORDER(type, is_signed, wide)                                                       \
  {Op::v_cmp_lt_##type, Op::v_cmpx_lt_##type, is_signed, wide, Comparison::How::kLess},          \
      {Op::v_cmp_le_##type, Op::v_cmpx_le_##type, is_signed, wide, Comparison::How::kLessEqual}, \
      {Op::v_cmp_gt_##type, Op::v_cmpx_gt_##type, is_signed, wide, Comparison::How::kGreater}, { \
    Op::v_cmp_ge_##type, Op::v_cmpx_ge_##type, is_signed, wide, Comparison::How::kGreaterEqual   \
  }
constexpr Comparison kComparisons[] = {RIGEL_ORDER(i32, true, false), RIGEL_ORDER(u32, false, false),
                                       RIGEL_ORDER(i64, true, true), RIGEL_ORDER(u64, false, true)};

class GroupCompiler {
 public:
  GroupCompiler(const Request& request, std::span<uint8_t> buffer) : request_(request), a_(buffer) {
    wave64_ = request.layout.wave_size == 64;
  }

  /// How many instructions a wave executes; none: this kernel goes by waves.
  uint32_t run() {
    begin();
    uint32_t count = 0;
    bool ends = false;
    uint32_t next_op = 0;
    for (uint32_t index = 0; index < request_.sites.size() && !ends; ++index) {
      const Site& site = request_.sites[index];
      if (site.op != next_op || site.is_indexed) return 0;
      next_op += site.op_count;
      ++count;
      ends = site.instruction.op == Op::s_endpgm;
      if (!ends && site.op_count != 0 && !(place(index) && fits_)) return 0;
    }
    if (!ends) return 0;
    if (!stores_.empty()) loop();
    finish();
    return count;
  }

  std::span<const std::byte> code() const {
    return {reinterpret_cast<const std::byte*>(a_.getCode()), a_.getSize()};
  }

 private:
  // What a scalar slot holds. Lane masks are known here and not in the scalar file.
  enum class Slot : uint8_t {
    kScalar,
    kCarry,   ///< A mask, all lanes or none: a ramp's carry, in carries_.
    kFull,    ///< A mask of all lanes.
    kRow,     ///< A mask that rows have made.
    kUpper,   ///< The upper half of the mask before it.
    kUnknown  ///< Nobody may read it.
  };
  struct Value {  // of a VGPR
    bool is_ramp = false;
    bool is_row = false;  ///< It may be both.
    uint32_t slot = 0, stride = 0;
  };
  // A dword of a ramp, or the same for all lanes.
  struct Term {
    enum class Kind : uint8_t { kConstant, kScalar, kSlot } kind = Kind::kConstant;
    uint32_t value = 0;
    uint32_t stride = 0;
    bool is_constant() const { return kind == Kind::kConstant; }
  };
  struct Stored {
    uint32_t slot = 0, first = 0, dwords = 1;
  };
  static constexpr uint32_t kZero = 0, kLane = 1;  // slots: of VGPRs that nobody has set, of v0

  void begin() {
    a_.push(a_.rbp);
    a_.mov(a_.rbp, a_.rsp);
    a_.push(a_.rbx);
    a_.push(a_.r12);
    a_.sub(a_.rsp, kFrame);
    a_.and_(a_.rsp, -64);
    a_.mov(a_.r12d, a_.edi);
    a_.lea(a_.ebx, a_.ptr[a_.rdi - 1]);
    used_slots_ = 2;
    a_.xor_(a_.eax, a_.eax);
    a_.mov(a_.qword[a_.rsp + slot_at(kZero)], a_.rax);
    a_.mov(a_.qword[a_.rsp + slot_at(kLane)], a_.rax);
    values_.fill({true, false, kZero, 0});
    values_[0] = {true, false, kLane, 1};
    rises_.set(kLane);
  }

  void finish() {
    Label out;
    a_.mov(a_.eax, 1);
    a_.L(out);
    a_.lea(a_.rsp, a_.ptr[a_.rbp - 16]);
    a_.pop(a_.r12);
    a_.pop(a_.rbx);
    a_.pop(a_.rbp);
    a_.ret();
    a_.L(otherwise_);
    a_.xor_(a_.eax, a_.eax);
    a_.jmp(out, kNear);
    a_.emit_pool();
  }

  // The rows, for 64 lanes in an iteration.
  void loop() {
    Request sixteen = request_;
    sixteen.layout.wave_size = 16;
    a_.shl(a_.r12d, 2);
    a_.xor_(a_.ebx, a_.ebx);
    a_.lea(a_.r10, a_.ptr[a_.rsp + kRowRoom + static_cast<int>(Lanes::kRowBias)]);
    a_.lea(a_.r11, a_.ptr[a_.rsp + kMaskRoom]);
    a_.kxnorw(a_.k7, a_.k7, a_.k7);
    Label again;
    a_.L(again);
    for (unsigned piece = 0; piece < kPieces; ++piece) {
      Lanes lanes(a_, sixteen, steps_);
      lanes.piece = piece;
      lanes.emit_sixteen();
    }
    for (const Stored& stored : stores_) store(stored);
    for (const auto& [slot, stride] : moving_) {
      a_.add(a_.dword[a_.rsp + slot_at(slot)], stride * 16 * kPieces);
    }
    a_.add(a_.rbx, 64 * kPieces);
    a_.cmp(a_.rbx, a_.r12);
    a_.jb(again, kNear);
  }

  void store(const Stored& stored) {
    a_.mov(a_.rdi, a_.qword[a_.rsp + slot_at(stored.slot)]);
    const auto kept = [&](uint32_t d, unsigned piece) {
      return a_.zword[a_.rsp + kStored + static_cast<int>((stored.first + d) * 256 + piece * 64)];
    };
    if (stored.dwords == 2) {
      load_vector(a_, Zmm(4), kVectors.scatter[0]);
      load_vector(a_, Zmm(5), kVectors.scatter[1]);
    }
    for (unsigned piece = 0; piece < kPieces; ++piece) {
      a_.vmovdqa32(Zmm(0), kept(0, piece));
      if (stored.dwords == 1) {
        a_.vmovdqu32(a_.zword[a_.rdi + a_.rbx + static_cast<int>(piece * 64)], Zmm(0));
        continue;
      }
      a_.vmovdqa32(Zmm(1), kept(1, piece));
      for (int half = 0; half < 2; ++half) {
        a_.vmovdqa32(Zmm(2), Zmm(4 + half));
        a_.vpermi2d(Zmm(2), Zmm(0), Zmm(1));
        a_.vmovdqu32(a_.zword[a_.rdi + a_.rbx * 2 + static_cast<int>(piece * 128) + half * 64], Zmm(2));
      }
    }
  }

  // Scalars and masks
  // -------------------------------------------------------------------------------------------------

  bool is_scalar(uint32_t first, uint32_t count = 1) const {
    for (uint32_t i = first; i < first + count; ++i) {
      if (scalars_[i] != Slot::kScalar || i == isa::code::kExecLo || i == isa::code::kExecLo + 1)
        return false;
    }
    return true;
  }
  bool are_scalars(const Scalars& slots) const {
    for (uint32_t i = 0; i < slots.size(); ++i) {
      if (slots[i] && i != kSccSlot && !is_scalar(i)) return false;
    }
    return true;
  }

  // Part of a mask that is overwritten leaves the rest without meaning.
  void set_scalar(uint32_t slot, Slot what) {
    if (scalars_[slot] == Slot::kUpper) scalars_[slot - 1] = Slot::kUnknown;
    if (scalars_[slot + 1] == Slot::kUpper && scalars_[slot] != Slot::kScalar) {
      scalars_[slot + 1] = Slot::kUnknown;
    }
    scalars_[slot] = what;
  }
  // Rows read scalars when all scalar instructions are done: they have to be the same then.
  bool write_scalar(uint32_t slot) {
    set_scalar(slot, Slot::kScalar);
    return !row_reads_[slot];
  }
  void set_mask(uint32_t slot, Slot what) {
    set_scalar(slot, what);
    if (!wave64_) return;
    set_scalar(slot + 1, Slot::kUnknown);
    scalars_[slot] = what;
    scalars_[slot + 1] = Slot::kUpper;
  }
  bool is_mask(uint32_t slot, Slot what) const {
    return scalars_[slot] == what && (!wave64_ || scalars_[slot + 1] == Slot::kUpper);
  }

  bool is_full(const Input& mask) const {
    return mask.kind == Input::Kind::kScalar &&
           (mask.index == isa::code::kExecLo || is_mask(mask.index, Slot::kFull));
  }

  // Instructions
  // -------------------------------------------------------------------------------------------------

  bool place(uint32_t index) {
    const Site& site = request_.sites[index];
    if (const std::optional<MemoryStep> memory = memory_step(request_, site)) {
      const MicroOp& op = request_.ops[site.op];
      switch (memory->kind) {
        case MemoryStep::Kind::kScalarLoad:
          return scalar_load(*memory, op);
        case MemoryStep::Kind::kLoad:
          return load(*memory, site.instruction, op);
        case MemoryStep::Kind::kStore:
          return store(*memory, site.instruction, op);
        default:
          return false;
      }
    }
    const Step step = make_step(request_, index);
    switch (step.kind) {
      case StepKind::kNothing:
        return true;
      case StepKind::kScalar:
        return scalar(step, site.instruction.op);
      case StepKind::kBranch:
        return branch(site.instruction.op);
      case StepKind::kVector:
        return vector(step, site.instruction.op);
      default:
        return false;
    }
  }

  // All lanes are active, so nothing is skipped; branches by SCC have to go straight on.
  bool branch(Op op) {
    if (op == Op::s_cbranch_execz) return true;
    if (op != Op::s_cbranch_scc0 && op != Op::s_cbranch_scc1) return false;
    Label not_taken;
    emit_unless_taken(a_, op, request_.layout.wave_size, not_taken);
    a_.jmp(otherwise_, kNear);
    a_.L(not_taken);
    return true;
  }

  bool scalar(const Step& step, Op op) {
    if (op == (wave64_ ? Op::s_and_saveexec_b64 : Op::s_and_saveexec_b32)) {
      if (!is_full(step.src[0])) return false;
      set_mask(step.dst, Slot::kFull);
      a_.mov(a_.dword[a_.rsi + static_cast<int>(offsetof(Wave, scc))], 1);
      return true;
    }
    // EXEC is put aside, or what was put aside comes back: all lanes.
    if (op == (wave64_ ? Op::s_mov_b64 : Op::s_mov_b32) && !step.writes_exec && is_full(step.src[0])) {
      set_mask(step.dst, Slot::kFull);
      return true;
    }
    if (op == (wave64_ ? Op::s_or_b64 : Op::s_or_b32) && step.dst == isa::code::kExecLo &&
        is_full(step.src[0]) && is_full(step.src[1])) {
      a_.mov(a_.dword[a_.rsi + static_cast<int>(offsetof(Wave, scc))], 1);
      return true;
    }
    if (step.writes_exec || !are_scalars(step.reads)) return false;
    for (uint32_t i = 0; i < step.writes.size(); ++i) {
      if (step.writes[i] && i != kSccSlot && !write_scalar(i)) return false;
    }
    ScalarCode(a_, request_.layout.wave_size).emit(step);
    return true;
  }

  bool scalar_load(const MemoryStep& step, const MicroOp& op) {
    const uint32_t to = op.dst / 4;
    if (!stores_.empty() || !is_scalar(op.src[0].offset / 4, 2)) return false;
    if (step.register_offset && !is_scalar(op.src[1].offset / 4)) return false;
    for (uint32_t i = to; i < to + step.dwords; ++i) {
      if (!write_scalar(i)) return false;
    }
    emit_memory(a_, request_, step, op, otherwise_);
    return true;
  }

  // Memory
  // -------------------------------------------------------------------------------------------------

  // The place in memory of the work-group's first lane to r9, where all its lanes' dwords lie.
  bool locate(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op, Access access,
              uint32_t& stride) {
    const uint32_t v = in.vaddr.vgpr();
    const Value& low = values_[v];
    if (!low.is_ramp) return false;
    stride = low.stride;
    rise({Term::Kind::kSlot, low.slot, low.stride});
    a_.mov(a_.eax, a_.dword[a_.rsp + slot_at(low.slot)]);
    if (step.scalar_base) {
      if (!is_scalar(op.src[1].offset / 4, 2)) return false;
      a_.mov(a_.r8, a_.qword[a_.rdx + static_cast<int>(op.src[1].offset)]);
      a_.add(a_.r8, a_.rax);
    } else {
      const Value& high = values_[v + 1];
      if (!high.is_ramp || high.stride != 0) return false;
      a_.mov(a_.r8d, a_.dword[a_.rsp + slot_at(high.slot)]);
      if (step.flat) {
        a_.cmp(a_.r8d, a_.dword[a_.rsi + static_cast<int>(offsetof(Wave, shared_aperture_hi))]);
        a_.je(otherwise_, kNear);
        a_.cmp(a_.r8d, a_.dword[a_.rsi + static_cast<int>(offsetof(Wave, private_aperture_hi))]);
        a_.je(otherwise_, kNear);
      }
      a_.shl(a_.r8, 32);
      a_.or_(a_.r8, a_.rax);
    }
    const auto offset = static_cast<int32_t>(op.aux);
    if (offset > 0) a_.add(a_.r8, static_cast<uint32_t>(offset));
    if (offset < 0) a_.sub(a_.r8, static_cast<uint32_t>(-offset));
    if (stride == 0) {
      a_.mov(a_.r11d, step.dwords * 4);
    } else {
      a_.imul(a_.r11d, a_.ebx, static_cast<int>(stride));
      a_.add(a_.r11d, step.dwords * 4);
    }
    emit_find(a_, op, access, otherwise_);
    return true;
  }

  bool load(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op) {
    uint32_t stride = 0;
    if (!stores_.empty() || !locate(step, in, op, Access::kRead, stride)) return false;
    const uint32_t to = in.vdst.vgpr();
    if (stride == 0) {  // one place: as a scalar
      if (step.dwords > 2) return false;
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
    if (step.dwords > 2 || stride != step.dwords * 4u) return false;
    const uint32_t slot = new_slot();
    a_.mov(a_.qword[a_.rsp + slot_at(slot)], a_.r9);
    add_step(load_op(step.dwords), to, slot, 0);
    for (uint32_t d = 0; d < step.dwords; ++d) values_[to + d] = {false, true, 0, 0};
    return true;
  }

  bool store(const MemoryStep& step, const isa::Instruction& in, const MicroOp& op) {
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

  // Rows
  // -------------------------------------------------------------------------------------------------

  Step& add_step(const VectorOp& op, uint32_t dst, uint32_t one, uint32_t other) {
    Step& step = steps_.emplace_back();
    step.kind = StepKind::kVector;
    step.vector = &op;
    step.dst = dst;
    step.src[1].kind = step.src[2].kind = Input::Kind::kConstant;
    step.src[1].bits = one;
    step.src[2].bits = other;
    return step;
  }

  void make_row(uint32_t v) {
    Value& value = values_[v];
    if (value.is_row) return;
    add_step(ramp_op(), v, value.slot, value.stride);
    value.is_row = true;
    const std::pair<uint32_t, uint32_t> moves{value.slot, value.stride};
    if (value.stride != 0 && std::find(moving_.begin(), moving_.end(), moves) == moving_.end()) {
      moving_.push_back(moves);
    }
  }

  bool vector(const Step& step, Op op) {
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

  // Ramps
  // -------------------------------------------------------------------------------------------------

  uint32_t new_slot() {
    if (used_slots_ == kSlots) {
      fits_ = false;
      return kZero;
    }
    return used_slots_++;
  }
  uint32_t keep_eax() {
    const uint32_t slot = new_slot();
    a_.mov(a_.dword[a_.rsp + slot_at(slot)], a_.eax);
    return slot;
  }
  void set_ramp(uint32_t v, uint32_t slot, uint32_t stride) { values_[v] = {true, false, slot, stride}; }

  // A source that is a ramp or the same for all lanes.
  bool term(const Step& step, unsigned i, Term& out, unsigned part = 0) const {
    const Input& input = step.src[i];
    if (!input.is_plain()) return false;
    switch (input.kind) {
      case Input::Kind::kConstant:
        out = {Term::Kind::kConstant, static_cast<uint32_t>(input.bits >> (part * 32)), 0};
        return true;
      case Input::Kind::kScalar:
        out = {Term::Kind::kScalar, input.index + part, 0};
        return is_scalar(out.value);
      case Input::Kind::kRow: {
        const Value& value = values_[input.index + part];
        out = {Term::Kind::kSlot, value.slot, value.stride};
        return value.is_ramp;
      }
      default:
        return false;
    }
  }

  // The first lane's.
  void get(const Reg32& to, const Term& term) {
    switch (term.kind) {
      case Term::Kind::kConstant:
        return a_.mov(to, term.value);
      case Term::Kind::kScalar:
        return a_.mov(to, a_.dword[a_.rdx + static_cast<int>(term.value * 4)]);
      case Term::Kind::kSlot:
        return a_.mov(to, a_.dword[a_.rsp + slot_at(term.value)]);
    }
  }
  void get_wide(const Reg64& to, const Term& low, const Term& high, const Reg64& scratch) {
    get(to.cvt32(), low);
    get(scratch.cvt32(), high);
    a_.shl(scratch, 32);
    a_.or_(to, scratch);
  }
  // What the last lane has more than the first.
  void get_reach(const Reg32& to, uint32_t stride) { a_.imul(to, a_.ebx, static_cast<int>(stride)); }

  // From here on it is sure that the ramp doesn't wrap.
  void rise(const Term& ramp) {
    if (ramp.stride == 0 || rises_[ramp.value]) return;
    get_reach(a_.ecx, ramp.stride);
    a_.add(a_.ecx, a_.dword[a_.rsp + slot_at(ramp.value)]);
    a_.jc(otherwise_, kNear);
    rises_.set(ramp.value);
  }

  // eax is the result's first lane.
  bool result(const Step& step, uint64_t stride) {
    if (stride > kMaxStride) return false;
    set_ramp(step.dst, keep_eax(), static_cast<uint32_t>(stride));
    return true;
  }

  // False: it is done as a row, or not at all. Nothing may have been emitted then.
  bool ramp(const Step& step, Op op) {
    if (compare(step, op)) return true;
    Term x, y, z;
    const unsigned sources = step.vector->sources;
    if (!term(step, 0, x) || (sources > 1 && !term(step, 1, y)) || (sources > 2 && !term(step, 2, z))) {
      return false;
    }
    const uint64_t strides = uint64_t{x.stride} + y.stride;
    const bool uniform = strides == 0;
    switch (op) {
      case Op::v_mov_b32:
        if (x.kind == Term::Kind::kSlot) {
          set_ramp(step.dst, x.value, x.stride);
          return true;
        }
        get(a_.eax, x);
        return result(step, 0);
      case Op::v_cndmask_b32:
        if (!is_mask(step.mask_in, Slot::kFull)) return false;
        get(a_.eax, y);
        return result(step, y.stride);
      case Op::v_add_u32:
        if (strides > kMaxStride) return false;
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.add(a_.eax, a_.ecx);
        return result(step, strides);
      case Op::v_sub_u32:
        return y.stride == 0 && difference(step, x, y);
      case Op::v_subrev_u32:
        return x.stride == 0 && difference(step, y, x);
      case Op::v_add3_u32:
        if (strides + z.stride > kMaxStride) return false;
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.add(a_.eax, a_.ecx);
        get(a_.ecx, z);
        a_.add(a_.eax, a_.ecx);
        return result(step, strides + z.stride);
      case Op::v_lshlrev_b32:
        return x.is_constant() && shifted(step, y, x.value & 31, {});
      case Op::v_lshl_add_u32:
        return y.is_constant() && shifted(step, x, y.value & 31, z);
      case Op::v_add_lshl_u32: {
        if (!z.is_constant() || strides << (z.value & 31) > kMaxStride) return false;
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.add(a_.eax, a_.ecx);
        a_.shl(a_.eax, static_cast<int>(z.value & 31));
        return result(step, strides << (z.value & 31));
      }
      case Op::v_mul_lo_u32: {
        if (x.stride != 0) std::swap(x, y);
        if (x.stride != 0 || (y.stride != 0 && (!x.is_constant() || x.value > kMaxStride ||
                                                uint64_t{x.value} * y.stride > kMaxStride))) {
          return false;
        }
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.imul(a_.eax, a_.ecx);
        return result(step, y.stride == 0 ? 0 : uint64_t{x.value} * y.stride);
      }
      case Op::v_mad_u32_u24:
        if (!uniform) return false;
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.and_(a_.eax, 0xffffff);
        a_.and_(a_.ecx, 0xffffff);
        a_.imul(a_.eax, a_.ecx);
        get(a_.ecx, z);
        a_.add(a_.eax, a_.ecx);
        return result(step, z.stride);
      case Op::v_and_b32:
        return uniform && logic(step, x, y, [&] { a_.and_(a_.eax, a_.ecx); });
      case Op::v_or_b32:
        return uniform && logic(step, x, y, [&] { a_.or_(a_.eax, a_.ecx); });
      case Op::v_ashrrev_i32:
        return sign(step, x, y);
      case Op::v_lshlrev_b64:
        return shift_wide(step, x, y);
      case Op::v_mad_u64_u32:
        return uniform && multiply_add_wide(step, x, y, z);
      case Op::v_add_co_u32:
        return add_with_carry_out(step, x, y);
      case Op::v_addc_u32:
        if (!is_mask(step.mask_in, Slot::kCarry) || !uniform) return false;
        get(a_.eax, x);
        get(a_.ecx, y);
        a_.add(a_.eax, a_.ecx);
        a_.add(a_.eax, a_.dword[a_.rsp + slot_at(carries_[step.mask_in])]);
        set_mask_out(step, Slot::kUnknown);
        return result(step, 0);
      default:
        return false;
    }
  }

  void set_mask_out(const Step& step, Slot what) {
    if (row_reads_[step.mask_out] || row_reads_[step.mask_out + 1]) fits_ = false;
    set_mask(step.mask_out, what);
  }

  bool difference(const Step& step, const Term& x, const Term& y) {
    get(a_.eax, x);
    get(a_.ecx, y);
    a_.sub(a_.eax, a_.ecx);
    return result(step, x.stride);
  }

  bool shifted(const Step& step, const Term& x, uint32_t by, const Term& sum) {
    const uint64_t stride = (uint64_t{x.stride} << by) + sum.stride;
    if (stride > kMaxStride) return false;
    get(a_.eax, x);
    a_.shl(a_.eax, static_cast<int>(by));
    get(a_.ecx, sum);
    a_.add(a_.eax, a_.ecx);
    return result(step, stride);
  }

  template <class Fn>
  bool logic(const Step& step, const Term& x, const Term& y, Fn&& fn) {
    get(a_.eax, x);
    get(a_.ecx, y);
    fn();
    return result(step, 0);
  }

  // x >> by, of which there is nothing left but the sign: all lanes have the same.
  bool sign(const Step& step, const Term& by, const Term& x) {
    if (!by.is_constant() || ((by.value & 31) != 31 && x.stride != 0)) return false;
    get(a_.eax, x);
    if (x.stride != 0) {
      get_reach(a_.ecx, x.stride);
      a_.add(a_.ecx, a_.eax);
      a_.xor_(a_.ecx, a_.eax);
      a_.js(otherwise_, kNear);
    }
    a_.sar(a_.eax, static_cast<int>(by.value & 31));
    return result(step, 0);
  }

  bool shift_wide(const Step& step, const Term& by, const Term& low) {
    Term high;
    const uint32_t amount = by.value & 63;
    if (!by.is_constant() || amount > 31 || !term(step, 1, high, 1) || high.stride != 0 ||
        uint64_t{low.stride} << amount > kMaxStride) {
      return false;
    }
    get_wide(a_.rax, low, high, a_.rcx);
    a_.shl(a_.rax, static_cast<int>(amount));
    set_pair(step, low.stride << amount);
    return true;
  }

  // rax is the first lane's; the lanes' low dwords rise from it.
  void set_pair(const Step& step, uint32_t stride) {
    const uint32_t low = keep_eax();
    a_.shr(a_.rax, 32);
    const uint32_t high = keep_eax();
    rise({Term::Kind::kSlot, low, stride});
    set_ramp(step.dst, low, stride);
    set_ramp(step.dst + 1, high, 0);
  }

  bool multiply_add_wide(const Step& step, const Term& x, const Term& y, const Term& low) {
    Term high;
    if (!term(step, 2, high, 1) || high.stride != 0) return false;
    rise(low);
    get_wide(a_.r8, low, high, a_.rcx);
    get(a_.eax, x);
    get(a_.ecx, y);
    a_.imul(a_.rax, a_.rcx);
    a_.add(a_.rax, a_.r8);
    set_pair(step, low.stride);
    set_mask_out(step, Slot::kUnknown);
    return true;
  }

  // Neither the sources nor the sum wrap, so that all lanes have the first one's carry.
  bool add_with_carry_out(const Step& step, const Term& x, const Term& y) {
    const uint64_t stride = uint64_t{x.stride} + y.stride;
    if (stride > kMaxStride) return false;
    rise(x);
    rise(y);
    get(a_.eax, x);
    get(a_.ecx, y);
    a_.xor_(a_.edi, a_.edi);
    a_.add(a_.eax, a_.ecx);
    a_.setc(a_.dil);
    const uint32_t carry = new_slot();
    a_.mov(a_.dword[a_.rsp + slot_at(carry)], a_.edi);
    const uint32_t sum = keep_eax();
    rise({Term::Kind::kSlot, sum, static_cast<uint32_t>(stride)});
    set_mask_out(step, Slot::kCarry);
    carries_[step.mask_out] = carry;
    set_ramp(step.dst, sum, static_cast<uint32_t>(stride));
    return true;
  }

  // Who goes on: all lanes, or it goes by waves.
  bool compare(const Step& step, Op op) {
    const auto* const how = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                         [&](const Comparison& c) { return c.op == op || c.to_exec == op; });
    if (how == std::end(kComparisons)) return false;
    Term x, y, x_high, y_high;
    if (!term(step, 0, x) || !term(step, 1, y) || (x.stride != 0 && y.stride != 0)) return false;
    if (how->wide && (!term(step, 0, x_high, 1) || !term(step, 1, y_high, 1) || x_high.stride != 0 ||
                      y_high.stride != 0)) {
      return false;
    }
    if (how->wide) {
      rise(x);
      rise(y);
      get_wide(a_.rax, x, x_high, a_.r8);
      get_wide(a_.rcx, y, y_high, a_.r8);
    } else {
      get(a_.eax, x);
      get(a_.ecx, y);
    }
    decide(*how);
    if (const uint32_t stride = x.stride + y.stride; stride != 0) {
      get_reach(a_.edi, stride);
      if (how->wide) {
        x.stride != 0 ? a_.add(a_.rax, a_.rdi) : a_.add(a_.rcx, a_.rdi);
      } else {
        x.stride != 0 ? a_.add(a_.eax, a_.edi) : a_.add(a_.ecx, a_.edi);
        how->is_signed ? a_.jo(otherwise_, kNear) : a_.jc(otherwise_, kNear);
      }
      decide(*how);
    }
    if (step.mask_out != kNoMask && step.mask_out != kSinkSlot) set_mask_out(step, Slot::kFull);
    return true;
  }

  void decide(const Comparison& how) {
    how.wide ? a_.cmp(a_.rax, a_.rcx) : a_.cmp(a_.eax, a_.ecx);
    switch (how.how) {
      case Comparison::How::kLess:
        return how.is_signed ? a_.jge(otherwise_, kNear) : a_.jae(otherwise_, kNear);
      case Comparison::How::kLessEqual:
        return how.is_signed ? a_.jg(otherwise_, kNear) : a_.ja(otherwise_, kNear);
      case Comparison::How::kGreater:
        return how.is_signed ? a_.jle(otherwise_, kNear) : a_.jbe(otherwise_, kNear);
      case Comparison::How::kGreaterEqual:
        return how.is_signed ? a_.jl(otherwise_, kNear) : a_.jb(otherwise_, kNear);
    }
  }

  const Request& request_;
  Assembler a_;
  bool wave64_ = true;
  bool fits_ = true;
  Label otherwise_;
  std::array<Value, 257> values_;
  std::array<Slot, kScalarSlots + 2> scalars_{};
  std::array<uint32_t, kScalarSlots> carries_{};  // slots
  Scalars row_reads_;
  std::bitset<kSlots> rises_;  // ramps that don't wrap
  uint32_t used_slots_ = 0;
  std::vector<Step> steps_;
  std::vector<Stored> stores_;
  uint32_t stored_ = 0;                                // dwords of a lane
  std::vector<std::pair<uint32_t, uint32_t>> moving_;  // slots and strides of ramps that rows are made of
};

}  // namespace

GroupCode compile_group(const Request& request, CodeMemory& memory) {
  const size_t bytes = (request.sites.size() + 16) * 2048;
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[bytes]);
  try {
    GroupCompiler compiler(request, {buffer.get(), bytes});
    const uint32_t instructions = compiler.run();
    if (instructions == 0) return {};
    const std::byte* const code = memory.add(compiler.code());
    if (code == nullptr) return {};
    GroupCode made;
    made.run = reinterpret_cast<uint32_t (*)(uint32_t, Wave*, std::byte*)>(reinterpret_cast<uintptr_t>(code));
    made.instructions = instructions;
    return made;
  } catch (const Xbyak::Error&) {
    return {};
  }
}

}  // namespace rigel::vgpu::exec::native
