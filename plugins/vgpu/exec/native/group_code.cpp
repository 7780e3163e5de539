#include "plugins/vgpu/exec/native/group_code.hpp"

#include <memory>
#include <optional>

#include "plugins/vgpu/exec/native/group_compiler.hpp"
#include "plugins/vgpu/exec/native/perf_map.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::native {

using isa::Op;
using Xbyak::Label;

// With vectors of 8 lanes: what is longer goes by waves, whose loop is over one vector and fits a cache of
// instructions; here it is over 64 lanes.
constexpr size_t kMaxStepsOfEight = 256;

uint32_t GroupCompiler::run() {
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
  if (!ends || (a_.eight_lanes() && steps_.size() > kMaxStepsOfEight)) return 0;
  if (!stores_.empty()) loop();
  finish();
  return count;
}

void GroupCompiler::begin() {
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

void GroupCompiler::finish() {
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

// Scalars and masks
// ---------------------------------------------------------------------------------------------------

bool GroupCompiler::is_scalar(uint32_t first, uint32_t count) const {
  for (uint32_t i = first; i < first + count; ++i) {
    if (scalars_[i] != Slot::kScalar || i == isa::code::kExecLo || i == isa::code::kExecLo + 1) return false;
  }
  return true;
}

bool GroupCompiler::are_scalars(const Scalars& slots) const {
  for (uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i] && i != kSccSlot && !is_scalar(i)) return false;
  }
  return true;
}

void GroupCompiler::set_scalar(uint32_t slot, Slot what) {
  if (scalars_[slot] == Slot::kUpper) scalars_[slot - 1] = Slot::kUnknown;
  if (scalars_[slot + 1] == Slot::kUpper && scalars_[slot] != Slot::kScalar) {
    scalars_[slot + 1] = Slot::kUnknown;
  }
  scalars_[slot] = what;
}

bool GroupCompiler::write_scalar(uint32_t slot) {
  set_scalar(slot, Slot::kScalar);
  return !row_reads_[slot];
}

void GroupCompiler::set_mask(uint32_t slot, Slot what) {
  set_scalar(slot, what);
  if (!wave64_) return;
  set_scalar(slot + 1, Slot::kUnknown);
  scalars_[slot] = what;
  scalars_[slot + 1] = Slot::kUpper;
}

bool GroupCompiler::is_full(const Input& mask) const {
  return mask.kind == Input::Kind::kScalar &&
         (mask.index == isa::code::kExecLo || is_mask(mask.index, Slot::kFull));
}

// Instructions
// ---------------------------------------------------------------------------------------------------

bool GroupCompiler::place(uint32_t index) {
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

bool GroupCompiler::branch(Op op) {
  if (op == Op::s_cbranch_execz) return true;
  if (op != Op::s_cbranch_scc0 && op != Op::s_cbranch_scc1) return false;
  Label not_taken;
  emit_unless_taken(a_, op, request_.layout.wave_size, false, not_taken);
  a_.jmp(otherwise_, kNear);
  a_.L(not_taken);
  return true;
}

bool GroupCompiler::scalar(const Step& step, Op op) {
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

bool GroupCompiler::scalar_load(const MemoryStep& step, const MicroOp& op) {
  const uint32_t to = op.dst / 4;
  if (!stores_.empty() || !is_scalar(op.src[0].offset / 4, 2)) return false;
  if (step.register_offset && !is_scalar(op.src[1].offset / 4)) return false;
  for (uint32_t i = to; i < to + step.dwords; ++i) {
    if (!write_scalar(i)) return false;
  }
  emit_memory(a_, request_, step, op, otherwise_);
  return true;
}

GroupCode compile_group(const Request& request, CodeMemory& memory) {
  const size_t bytes = (request.sites.size() + 16) * (request.has_eight_lanes() ? 4096 : 2048);
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[bytes]);
  try {
    GroupCompiler compiler(request, {buffer.get(), bytes});
    const uint32_t instructions = compiler.run();
    if (instructions == 0) return {};
    const std::byte* const code = memory.add(compiler.code());
    if (code == nullptr) return {};
    if (perf_map_wanted() && request.kernel != nullptr) {
      const PerfPiece whole{code, compiler.code().size(), request.entry};
      write_perf_map({&whole, 1}, *request.kernel, request.entry);
    }
    GroupCode made;
    made.run = reinterpret_cast<uint32_t (*)(uint32_t, Wave*, std::byte*)>(reinterpret_cast<uintptr_t>(code));
    made.instructions = instructions;
    return made;
  } catch (const Xbyak::Error&) {
    return {};
  }
}

}  // namespace rigel::vgpu::exec::native
