// Global wave sync (GWS), which DS instructions use. The resource index is M0's field plus the
// instruction's offset. The value is the first active lane's.
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

uint32_t resource_of(const MicroOp* op, const Wave* wave) {
  return (scalar(wave->registers, scalar_offset(isa::code::kM0)) >> 16 & 63) + op->aux;
}

uint32_t value_of(const MicroOp* op, std::byte* registers, uint64_t exec) {
  return row(registers, op->src[0].offset)[exec == 0 ? 0 : first_lane(exec)];
}

// `kAct(device, resource, value, wave)` returns whether the wave continues. If not, the wave repeats the
// instruction in its next time slice. imm: whether the instruction has a value; otherwise the value is 1.
template <auto kAct>
void sync(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  GlobalWaveSync* const device = wave->core->global_wave_sync();
  if (device == nullptr) {
    wave->stop = Stop::kIllegal;
    wave->illegal_reason = "this GPU has no global wave sync";
    RIGEL_LEAVE(op, wave);
  }
  const uint32_t value = op->imm != 0 ? value_of(op, registers, exec) : 1;
  if (!kAct(*device, resource_of(op, wave), value, wave)) {
    wave->stop = Stop::kSleep;
    RIGEL_LEAVE(op, wave);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

bool barrier(GlobalWaveSync& device, uint32_t resource, uint32_t value, Wave* wave) {
  if (wave->sync_round == 0) {
    wave->sync_round = device.arrive(resource, value);
    return wave->sync_round == 0;
  }
  if (!device.passed(resource, wave->sync_round)) return false;
  wave->sync_round = 0;
  return true;
}

bool take(GlobalWaveSync& device, uint32_t resource, uint32_t, Wave* wave) {
  bool waits = wave->sync_round != 0;
  const bool taken = device.take(resource, waits);
  wave->sync_round = waits ? 1 : 0;
  return taken;
}

}  // namespace

Refusal lower_gws(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  Handler handler = nullptr;
  bool has_value = false;
  switch (instruction.op) {
    case Op::ds_gws_init:
      has_value = true;
      handler = sync<([](GlobalWaveSync& device, uint32_t resource, uint32_t value, Wave*) {
        device.init(resource, value);
        return true;
      })>;
      break;
    case Op::ds_gws_barrier:
      has_value = true;
      handler = sync<barrier>;
      break;
    case Op::ds_gws_sema_br:
    case Op::ds_gws_sema_v:
      has_value = instruction.op == Op::ds_gws_sema_br;
      handler = sync<([](GlobalWaveSync& device, uint32_t resource, uint32_t value, Wave*) {
        device.add(resource, value);
        return true;
      })>;
      break;
    case Op::ds_gws_sema_p:
      handler = sync<take>;
      break;
    default:
      handler = sync<([](GlobalWaveSync& device, uint32_t resource, uint32_t, Wave*) {
        device.release_all(resource);
        return true;
      })>;
      break;
  }
  const isa::Operand& value = instruction.vdata.exists() ? instruction.vdata : instruction.vaddr;
  if (has_value && (!value.is_vgpr() || !in_file(value, 1, context.layout))) return kRefuseRegister;
  MicroOp& op = out.emit(handler);
  op.src[0].offset = has_value ? context.layout.vgpr_offset(value.vgpr()) : 0;
  op.imm = has_value ? 1 : 0;
  op.aux = static_cast<uint32_t>(instruction.offset);
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
