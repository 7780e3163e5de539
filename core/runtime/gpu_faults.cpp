// Handles memory faults and hardware failures of GPUs.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "api/support/environment.hpp"
#include "api/support/log.hpp"
#include "core/runtime/foundation.hpp"

namespace rigel {
namespace {

constexpr const char* kNoMemory = "GPU: failed; out of memory for the event handlers of the program";

const Agent* agent_of(const Machine& machine, Gpus& gpus, uint32_t gpu_id) {
  const KfdGpu* gpu = gpus.kfd().find_gpu(gpu_id);
  if (gpu == nullptr) return nullptr;
  for (const Agent& agent : machine.agents()) {
    if (agent.node().bus == HSABE_BUS_KFD && agent.node().node_id == gpu->node) return &agent;
  }
  return nullptr;
}

// Makes pending copies of a failed GPU end, because its queues may be dead.
void abandon_copies(const Agent* agent) {
  if (agent == nullptr || agent->backend().copy.abandon == nullptr) return;
  agent->backend().copy.abandon(agent->device(), HSA_STATUS_ERROR);
}

// A wait for the GPU would never return: without a handler for the failure the process ends, as with ROCr.
[[noreturn]] void give_up(const char* text) {
  const char* silent = environment("HSA_ENABLE_VM_FAULT_MESSAGE");
  if (silent == nullptr || std::string_view(silent) != "0") std::fprintf(stderr, "rigel: error: %s\n", text);
  std::abort();
}

}  // namespace

void Foundation::memory_fault(const kfd_memory_exception& fault) noexcept try {
  const Agent* agent = agent_of(machine, *gpus, fault.gpu_id);
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault.agent = agent == nullptr ? hsa_agent_t{} : agent->handle();
  event.memory_fault.virtual_address = fault.va;
  uint32_t reasons = 0;
  std::string text;
  const auto reason = [&](bool holds, uint32_t bit, const char* words) {
    if (!holds) return;
    reasons |= bit;
    text += text.empty() ? words : fmt::format(", {}", words);
  };
  reason(fault.not_present != 0, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
         "page not present or not accessible to the process");
  reason(fault.read_only != 0, HSA_AMD_MEMORY_FAULT_READ_ONLY, "write to a read-only page");
  reason(fault.no_execute != 0, HSA_AMD_MEMORY_FAULT_NX, "execution of a page that is not executable");
  reason(fault.imprecise != 0, HSA_AMD_MEMORY_FAULT_IMPRECISE, "the address is imprecise");
  event.memory_fault.fault_reason_mask = reasons;
  raise(event, agent,
        fmt::format("GPU node {}: memory access fault at address {:#x}: {}",
                    agent == nullptr ? 0 : agent->node().node_id, fault.va,
                    text.empty() ? "unknown reason" : text));
} catch (...) {
  give_up(kNoMemory);
}

void Foundation::hardware_failed(const kfd_hw_exception& failure) noexcept try {
  const Agent* agent = agent_of(machine, *gpus, failure.gpu_id);
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_HW_EXCEPTION_EVENT;
  event.hw_exception.agent = agent == nullptr ? hsa_agent_t{} : agent->handle();
  event.hw_exception.reset_type = HSA_AMD_HW_EXCEPTION_RESET_TYPE_OTHER;
  event.hw_exception.reset_cause = static_cast<hsa_amd_hw_exception_reset_cause_t>(
      failure.reset_cause == 0 ? HSA_AMD_HW_EXCEPTION_CAUSE_GPU_HANG : HSA_AMD_HW_EXCEPTION_CAUSE_ECC);
  raise(event, agent,
        fmt::format("GPU node {}: hardware exception (reset cause {})",
                    agent == nullptr ? 0 : agent->node().node_id, failure.reset_cause));
} catch (...) {
  give_up(kNoMemory);
}

// Runs on a different thread than the driver's events: a handler may end the runtime, for example by exit(),
// which waits for the events thread.
void Foundation::raise(const hsa_amd_event_t& event, const Agent* agent, std::string otherwise) {
  struct Raised {
    SystemEvents& handlers;
    const Agent* agent;
    hsa_amd_event_t event;
    std::string otherwise;
  };
  auto raised = std::make_unique<Raised>(Raised{system_events, agent, event, std::move(otherwise)});
  const auto call_handlers = [](void* argument) {
    const std::unique_ptr<Raised> failure(static_cast<Raised*>(argument));
    abandon_copies(failure->agent);  // first: a handler may end the runtime and its agents
    if (!failure->handlers.raise(failure->event)) give_up(failure->otherwise.c_str());
  };
  if (fault_dispatcher.post(call_handlers, raised.get()) != HSA_STATUS_SUCCESS) {
    log_message(LogLevel::kError, LogTopic::kSignal, "{}", kNoMemory);
    give_up(raised->otherwise.c_str());
  }
  raised.release();  // NOLINT(bugprone-unused-return-value): the posted function owns it now
}

}  // namespace rigel
