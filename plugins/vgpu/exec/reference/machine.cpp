#include "plugins/vgpu/exec/reference/machine.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Memory64 = std::unique_ptr<std::byte, Free>;

Memory64 allocate64(uint64_t bytes) {
  const uint64_t size = (bytes + 63) & ~uint64_t{63};
  Memory64 memory(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  std::memset(memory.get(), 0xcd, size);
  return memory;
}

// What the last operation was told EXEC is.
thread_local uint64_t exec_at_end = 0;

void end_of_code(const MicroOp* op, Wave* wave, std::byte*, uint64_t exec) {
  exec_at_end = exec;
  wave->stop = Stop::kEnd;
  RIGEL_LEAVE(op, wave);
}

class Collector : public Emitter {
 public:
  Collector() { ops_.reserve(256); }
  MicroOp& emit(Handler handler) override {
    MicroOp& op = ops_.emplace_back();
    op.handler = handler;
    return op;
  }
  void* allocate(uint64_t bytes, uint64_t) override {
    arena_.push_back(allocate64(bytes));
    std::memset(arena_.back().get(), 0, bytes);
    return arena_.back().get();
  }
  Link* link(uint64_t pc) override {
    links_.push_back(std::make_unique<Link>());
    links_.back()->pc = pc;
    return links_.back().get();
  }
  std::vector<MicroOp>& ops() { return ops_; }

 private:
  std::vector<MicroOp> ops_;
  std::vector<Memory64> arena_;
  std::vector<std::unique_ptr<Link>> links_;
};

/// MXCSR as the scheduler sets it: rounding and denormals of single precision.
class FloatEnvironment {
 public:
  explicit FloatEnvironment(const FloatMode& mode) {
#if defined(__x86_64__)
    saved_ = _mm_getcsr();
    static constexpr unsigned kRounding[] = {0, 2, 1, 3};  // nearest, up, down, zero
    unsigned csr = 0x1f80 | kRounding[mode.round32] << 13;
    if ((mode.denorm32 & 1) == 0) csr |= 0x0040;  // DAZ
    if ((mode.denorm32 & 2) == 0) csr |= 0x8000;  // FTZ
    _mm_setcsr(csr);
#else
    (void)mode;
#endif
  }
  ~FloatEnvironment() {
#if defined(__x86_64__)
    _mm_setcsr(saved_);
#endif
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  unsigned saved_ = 0;
};

}  // namespace

MachineResult run_on_machine(const isa::Instruction& instruction, SimdLevel level, State& state) {
  RegisterLayout layout;
  layout.wave_size = state.wave_size;
  layout.vgprs = static_cast<uint32_t>(state.vgpr.size());

  LoweringContext context;
  context.target = state.target;
  context.layout = layout;
  context.mode = FloatMode::from_mode(state.mode);
  context.level = level;
  context.pc = state.pc;
  Collector collector;
  MachineResult result;
  const Refusal refusal = lower(instruction, context, collector);
  if (!refusal.empty()) {
    result.refusal = refusal;
    return result;
  }
  Block block;
  block.pc = state.pc;
  block.bytes = instruction.bytes;
  std::vector<MicroOp>& ops = collector.ops();
  MicroOp& end = collector.emit(end_of_code);
  end.code_offset = instruction.bytes;
  for (MicroOp& op : ops) op.block = &block;
  block.ops = ops.data();
  block.op_count = static_cast<uint32_t>(ops.size());

  const Memory64 registers = allocate64(layout.bytes());
  Wave wave;
  WorkGroup group;
  group.waves = &wave;
  group.wave_count = 1;
  wave.registers = registers.get();
  wave.group = &group;
  wave.layout = layout;
  wave.scc = state.scc;
  wave.mode = state.mode;
  wave.budget = 1'000;
  wave.op = ops.data();
  wave.launched_exec = wave.mask();
  std::memcpy(wave.scalars(), state.scalar.data(), sizeof state.scalar);
  for (uint32_t n = 0; n < layout.vgprs; ++n) {
    std::memcpy(registers.get() + layout.vgpr_offset(n), state.vgpr[n].data(), layout.row_bytes());
  }

  {
    const FloatEnvironment environment(context.mode);
    run_wave(&wave);
  }

  result.consistent = wave.stop != Stop::kEnd || exec_at_end == wave.exec();
  std::memcpy(state.scalar.data(), wave.scalars(), sizeof state.scalar);
  for (uint32_t n = 0; n < layout.vgprs; ++n) {
    std::memcpy(state.vgpr[n].data(), registers.get() + layout.vgpr_offset(n), layout.row_bytes());
  }
  state.scc = wave.scc;
  state.mode = wave.mode;
  return result;
}

}  // namespace rigel::vgpu::exec::reference
