// Global wave sync, which DS instructions reach. The resource is the instruction's offset after what M0 says;
// its value is the first active lane's.
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/memory_ops/lds.hpp"
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

// Whether the wave goes on; false: it asks again when it has its next turn.
using Act = bool (*)(GlobalWaveSync& sync, uint32_t resource, uint32_t value, Wave* wave);

template <Act kAct, bool kHasValue>
void sync(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  GlobalWaveSync* const device = wave->core->global_wave_sync();
  if (device == nullptr) {
    wave->stop = Stop::kIllegal;
    wave->illegal_reason = "the GPU has no global wave sync";
    RIGEL_LEAVE(op, wave);
  }
  const uint32_t value = kHasValue ? value_of(op, registers, exec) : 0;
  if (!kAct(*device, resource_of(op, wave), value, wave)) {
    wave->stop = Stop::kSleep;
    RIGEL_LEAVE(op, wave);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

bool init(GlobalWaveSync& device, uint32_t resource, uint32_t value, Wave*) {
  device.init(resource, value);
  return true;
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

bool add_one(GlobalWaveSync& device, uint32_t resource, uint32_t, Wave*) {
  device.add(resource, 1);
  return true;
}

bool add_value(GlobalWaveSync& device, uint32_t resource, uint32_t value, Wave*) {
  device.add(resource, value);
  return true;
}

bool take(GlobalWaveSync& device, uint32_t resource, uint32_t, Wave* wave) {
  bool waits = wave->sync_round != 0;
  const bool taken = device.take(resource, waits);
  wave->sync_round = waits ? 1 : 0;
  return taken;
}

bool release_all(GlobalWaveSync& device, uint32_t resource, uint32_t, Wave*) {
  device.release_all(resource);
  return true;
}

}  // namespace

Refusal lower_gws(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Op;
  Handler handler = nullptr;
  bool has_value = false;
  switch (instruction.op) {
    case Op::ds_gws_init:
      handler = sync<init, true>;
      has_value = true;
      break;
    case Op::ds_gws_barrier:
      handler = sync<barrier, true>;
      has_value = true;
      break;
    case Op::ds_gws_sema_br:
      handler = sync<add_value, true>;
      has_value = true;
      break;
    case Op::ds_gws_sema_v:
      handler = sync<add_one, false>;
      break;
    case Op::ds_gws_sema_p:
      handler = sync<take, false>;
      break;
    default:
      handler = sync<release_all, false>;
      break;
  }
  const isa::Operand& value = instruction.vdata.exists() ? instruction.vdata : instruction.vaddr;
  if (has_value && (!value.is_vgpr() || !in_file(value, 1, context.layout))) return kRefuseRegister;
  MicroOp& op = out.emit(handler);
  op.src[0].offset = has_value ? context.layout.vgpr_offset(value.vgpr()) : 0;
  op.aux = static_cast<uint32_t>(instruction.offset);
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
