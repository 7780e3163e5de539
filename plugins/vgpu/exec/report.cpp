#include "plugins/vgpu/exec/report.hpp"

#include <fmt/format.h>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/group.hpp"

namespace rigel::vgpu::exec {

DispatchResult describe_failure(const Group& group) {
  const Wave& wave = group.failed_wave();
  const Dispatch& dispatch = group.launch().dispatch();
  const uint64_t pc = pc_of(wave.op);
  DispatchResult result;
  std::string where =
      fmt::format("wave {} of work-group ({}, {}, {}), pc {:#x} (entry + {:#x})", wave.id_in_group,
                  wave.group->id[0], wave.group->id[1], wave.group->id[2], pc, pc - dispatch.entry_va);
  switch (wave.stop) {
    case Stop::kFault:
      result.kind = DispatchResult::Kind::kFault;
      result.fault.va = wave.fault_va;
      result.fault.access = static_cast<Access>(wave.fault_access);
      result.fault.reason = static_cast<FaultReason>(wave.fault_reason);
      result.fault.queue_id = dispatch.queue_id;
      result.reason = fmt::format("memory fault at {:#x}: {}", wave.fault_va, where);
      break;
    case Stop::kTrap:
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kTrap;
      result.reason = fmt::format("trap {} without a handler: {}", wave.trap_id, where);
      break;
    default:
      result.kind = DispatchResult::Kind::kError;
      result.error = QueueError::kIllegalInstruction;
      result.reason =
          fmt::format("{}: {}", wave.illegal_reason == nullptr ? "illegal" : wave.illegal_reason, where);
      break;
  }
  return result;
}

std::string describe_end(const Launch& launch) {
  return fmt::format("dispatch {} of queue {} ended: {} work-groups, {} instructions{}",
                     launch.dispatch().packet_id, launch.dispatch().queue_id, launch.groups(),
                     launch.instructions(), launch.stopped() ? ", stopped" : "");
}

}  // namespace rigel::vgpu::exec
