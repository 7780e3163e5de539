#include "api/entry/tool_events.hpp"

#include <hsa/hsa_amd_tool.h>

#include "api/entry/tables.hpp"
#include "api/support/log.hpp"
#include "core/tool/call_frame.hpp"

namespace rigel::api {
namespace {

template <class Event>
void tell(const hsa_amd_tool_event& slot, const Event* hsa_amd_tool_event_t::*member,
          const Event& event) noexcept {
  // Precedes the lookup of the function: the tool removes it before it is unloaded, or it is removed for the
  // tool.
  const KeepTools keep;
  auto* const function = load_slot(slot);
  if (function == nullptr) return;
  hsa_amd_tool_event_t any{};
  any.*member = &event;
  try {
    const hsa_status_t status = function(any);
    if (status != HSA_STATUS_SUCCESS) {
      log_message(LogLevel::kWarn, LogTopic::kChain, "scratch event {}: a tool's callback returned {:#x}",
                  static_cast<uint32_t>(event.kind), static_cast<uint32_t>(status));
    }
  } catch (...) {
    log_message(LogLevel::kError, LogTopic::kChain, "scratch event {}: a tool's callback threw an exception",
                static_cast<uint32_t>(event.kind));
  }
}

}  // namespace

void tell_scratch(const hsa_queue_t& queue, const hsabe_scratch_event_t& event) {
  using Any = hsa_amd_tool_event_t;
  const ToolsApiTable& tools = current_tables.load(std::memory_order_acquire)->tools;
  const auto flags =
      event.use_once != 0 ? HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE : HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_NONE;
  const bool ended = event.ended != 0;
  switch (event.what) {
    case HSABE_SCRATCH_GIVEN:
      if (ended) {
        return tell(
            tools.hsa_amd_tool_scratch_event_alloc_end_fn, &Any::scratch_alloc_end,
            {HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_END, &queue, flags, event.packet, event.bytes, event.waves});
      }
      return tell(tools.hsa_amd_tool_scratch_event_alloc_start_fn, &Any::scratch_alloc_start,
                  {HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_START, &queue, flags, event.packet});
    case HSABE_SCRATCH_RETURNED:
      if (ended) {
        return tell(tools.hsa_amd_tool_scratch_event_free_end_fn, &Any::scratch_free_end,
                    {HSA_AMD_TOOL_EVENT_SCRATCH_FREE_END, &queue, flags});
      }
      return tell(tools.hsa_amd_tool_scratch_event_free_start_fn, &Any::scratch_free_start,
                  {HSA_AMD_TOOL_EVENT_SCRATCH_FREE_START, &queue, flags});
    case HSABE_SCRATCH_RECLAIMED:
      if (ended) {
        return tell(tools.hsa_amd_tool_scratch_event_async_reclaim_end_fn, &Any::scratch_async_reclaim_end,
                    {HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_END, &queue, flags});
      }
      return tell(tools.hsa_amd_tool_scratch_event_async_reclaim_start_fn, &Any::scratch_async_reclaim_start,
                  {HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_START, &queue, flags});
    default:
      return;  // an event of a newer backend
  }
}

}  // namespace rigel::api
