#include "plugins/vgpu/reference/handler_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/register_bounds.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

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

// EXEC as passed to the last operation.
thread_local uint64_t exec_at_end = 0;

void end_of_code(const MicroOp* op, Wave* wave, std::byte*, uint64_t exec) {
  exec_at_end = exec;
  wave->stop = Stop::kEnd;
  RIGEL_LEAVE(op, wave);
}

class Collector : public Emitter {
 public:
  Collector() { ops_.reserve(1024); }
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

/// The device and the memory of a wave, with the contents of the model's world.
class Device final : public Core {
 public:
  explicit Device(const World& world)
      : world_(world),
        tiling_{world.tiling.gb_addr_config, 0, 0, world.tiling.tile_modes, world.tiling.macro_tile_modes},
        memory_(bus_) {
    for (const World::Region& region : world.regions) {
      buffers_.push_back(bus_.map_at(region.va, region.bytes.size(), region.writable));
      std::memcpy(buffers_.back().host, region.bytes.data(), region.bytes.size());
    }
    for (uint32_t i = 0; i < world.gws.size(); ++i) sync_.init(i, world.gws[i]);
    if (!world.gds.empty()) {
      share_ = std::make_unique<GlobalDataShare>();
      std::memcpy(GlobalDataShare::Held(*share_).bytes(), world.gds.data(), world.gds.size());
    }
    const size_t lds_bytes = world.lds.size();
    lds_ = allocate64(lds_bytes + kGuard);
    if (lds_bytes != 0) std::memcpy(lds_.get(), world.lds.data(), lds_bytes);
  }

  void attach_to(Wave& wave, WorkGroup& group) {
    group.lds = lds_.get();
    group.lds_bytes = static_cast<uint32_t>(world_.lds.size());
    wave.core = this;
    wave.memory = &memory_;
    wave.shared_aperture_hi = world_.shared_aperture_hi;
    wave.private_aperture_hi = world_.private_aperture_hi;
    wave.scratch_base = world_.scratch_base;
    std::memcpy(wave.scalars() + kFlatScratchSlot, world_.flat_scratch, sizeof world_.flat_scratch);
    wave.scratch_lane_bytes = world_.scratch_lane_bytes;
    wave.private_va = world_.private_va;
    wave.id_in_group = world_.id_in_group;
  }

  /// Copies the results to `world`. Returns false if bytes past the end of LDS were written.
  bool copy_results(World& world) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      std::memcpy(world.regions[i].bytes.data(), buffers_[i].host, world.regions[i].bytes.size());
    }
    for (uint32_t i = 0; i < world.gws.size(); ++i) {
      world.gws[i] = 0;
      for (bool waits = false; sync_.take(i, waits);) ++world.gws[i];
    }
    if (share_ != nullptr) {
      std::memcpy(world.gds.data(), GlobalDataShare::Held(*share_).bytes(), world.gds.size());
    }
    const size_t lds_bytes = world.lds.size();
    if (lds_bytes != 0) std::memcpy(world.lds.data(), lds_.get(), lds_bytes);
    for (size_t i = 0; i < kGuard; ++i) {
      if (lds_.get()[lds_bytes + i] != std::byte{0xcd}) return false;
    }
    return true;
  }

  WaveMemory& memory() { return memory_; }

  uint64_t reference_clock() override { return world_.reference_clock; }
  uint64_t shader_clock() override { return world_.shader_clock; }
  void send_interrupt(Wave&, uint32_t) override {}
  void invalidate_instructions(Wave&) override {}
  TrapHandler trap_handler() override { return {}; }
  GlobalWaveSync* global_wave_sync() override { return &sync_; }
  GlobalDataShare* global_data_share() override { return share_.get(); }
  const images::TilingConfig* tiling() override { return &tiling_; }

 private:
  static constexpr size_t kGuard = 256;

  const World& world_;
  const images::TilingConfig tiling_;
  vgpu::testing::FakeBus bus_;
  std::vector<vgpu::testing::Buffer> buffers_;
  GlobalWaveSync sync_;
  std::unique_ptr<GlobalDataShare> share_;
  Memory64 lds_;
  WaveMemory memory_;
};

bool accesses_memory(isa::Encoding encoding) {
  return encoding == isa::Encoding::kSmem || encoding >= isa::Encoding::kDs;
}

}  // namespace

HandlerResult run_handlers(std::span<const isa::Instruction> instructions, SimdLevel level, State& state) {
  RegisterLayout layout;
  layout.wave_size = state.wave_size;
  layout.vgprs = static_cast<uint32_t>(state.vgpr.size());
  layout.sgprs = state.sgprs;
  layout.agprs = static_cast<uint32_t>(state.agpr.size());

  LoweringContext context;
  context.target = state.target;
  context.layout = layout;
  context.mode = FloatMode::from_mode(state.mode);
  context.level = level;
  context.pc = state.pc;
  if (state.indexes_vgprs()) context.gpr_index = state.scalar[isa::code::kM0] >> 12 & 0xf;
  Collector collector;
  HandlerResult result;
  Block block;
  block.pc = state.pc;
  std::vector<MicroOp>& ops = collector.ops();
  for (isa::Instruction instruction : instructions) {
    const auto first = static_cast<uint32_t>(ops.size());
    context.pc = state.pc + block.bytes;
    const Bounds bounds = bound_registers(instruction, layout, context.gpr_index);
    const Refusal refusal = bounds == Bounds::kIgnored ? Refusal() : lower(instruction, context, collector);
    if (!refusal.empty()) {
      result.refusal = refusal;
      return result;
    }
    for (uint32_t i = first; i < ops.size(); ++i) ops[i].code_offset = block.bytes;
    block.bytes += instruction.bytes;
    ++context.position;
  }
  collector.emit(end_of_code).code_offset = block.bytes;
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
  for (uint32_t n = 0; n < layout.agprs; ++n) {
    std::memcpy(registers.get() + layout.agpr_offset(n), state.agpr[n].data(), layout.row_bytes());
  }

  std::unique_ptr<Device> device;
  if (std::any_of(instructions.begin(), instructions.end(),
                  [](const isa::Instruction& in) { return accesses_memory(in.encoding); })) {
    device = std::make_unique<Device>(state.world);
    device->attach_to(wave, group);
  }
  {
    FloatEnvironment environment(context.level != SimdLevel::kBaseline);
    environment.enter(state.mode);
    if (device != nullptr) {
      const WaveMemory::Scope scope(device->memory());
      run_wave(&wave);
    } else {
      run_wave(&wave);
    }
  }
  result.faulted = wave.stop == Stop::kFault;
  result.fault_va = wave.fault_va;
  result.waits = wave.stop == Stop::kSleep;
  if (device != nullptr) result.wrote_past_lds = !device->copy_results(state.world);

  result.consistent = wave.stop != Stop::kEnd || exec_at_end == wave.exec();
  std::memcpy(state.scalar.data(), wave.scalars(), sizeof state.scalar);
  for (uint32_t n = 0; n < layout.vgprs; ++n) {
    std::memcpy(state.vgpr[n].data(), registers.get() + layout.vgpr_offset(n), layout.row_bytes());
  }
  for (uint32_t n = 0; n < layout.agprs; ++n) {
    std::memcpy(state.agpr[n].data(), registers.get() + layout.agpr_offset(n), layout.row_bytes());
  }
  state.scc = wave.scc;
  state.mode = wave.mode;
  return result;
}

}  // namespace rigel::vgpu::exec::reference
