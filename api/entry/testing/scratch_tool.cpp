// A tool of ROCr's ABI that counts events of scratch memory, and ends the process on inconsistent events.
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<uint64_t> given{0}, returned{0}, reclaimed{0};

// Events that have started on this thread. A nested event, of another queue, reports reclaimed scratch.
struct Begun {
  hsa_amd_tool_event_kind_t kind;
  const hsa_queue_t* queue;
};
thread_local Begun begun[2];
thread_local int depth = 0;

void demand(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "scratch tool: %s\n", what);
  std::abort();
}

void begin(hsa_amd_tool_event_kind_t kind, const hsa_queue_t* queue) {
  demand(queue != nullptr && queue->size != 0, "an event of no queue");
  demand(depth < 2, "too many events at once");
  begun[depth++] = {kind, queue};
}

void end(hsa_amd_tool_event_kind_t kind, const hsa_queue_t* queue) {
  demand(depth > 0, "an end without a begin");
  --depth;
  demand(begun[depth].kind + 1 == kind && begun[depth].queue == queue, "the end of something else");
}

hsa_status_t alloc_start(hsa_amd_tool_event_t event) {
  begin(event.none->kind, event.scratch_alloc_start->queue);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t alloc_end(hsa_amd_tool_event_t event) {
  const auto& what = *event.scratch_alloc_end;
  end(what.kind, what.queue);
  demand((what.size == 0) == (what.num_slots == 0), "scratch for no waves");
  given += what.size != 0;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t free_start(hsa_amd_tool_event_t event) {
  demand(event.scratch_free_start->flags == HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE,
         "kept scratch is freed");
  begin(event.none->kind, event.scratch_free_start->queue);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t free_end(hsa_amd_tool_event_t event) {
  end(event.none->kind, event.scratch_free_end->queue);
  ++returned;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t reclaim_start(hsa_amd_tool_event_t event) {
  begin(event.none->kind, event.scratch_async_reclaim_start->queue);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t reclaim_end(hsa_amd_tool_event_t event) {
  end(event.none->kind, event.scratch_async_reclaim_end->queue);
  ++reclaimed;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT bool OnLoad(HsaApiTable* table, uint64_t, uint64_t, const char* const*) {
  ToolsApiTable& tools = *table->tools_;
  tools.hsa_amd_tool_scratch_event_alloc_start_fn = alloc_start;
  tools.hsa_amd_tool_scratch_event_alloc_end_fn = alloc_end;
  tools.hsa_amd_tool_scratch_event_free_start_fn = free_start;
  tools.hsa_amd_tool_scratch_event_free_end_fn = free_end;
  tools.hsa_amd_tool_scratch_event_async_reclaim_start_fn = reclaim_start;
  tools.hsa_amd_tool_scratch_event_async_reclaim_end_fn = reclaim_end;
  return true;
}

EXPORT void OnUnload() {
  std::fprintf(stderr, "scratch: given %s, returned %s, reclaimed %s\n", given != 0 ? "some" : "none",
               returned != 0 ? "some" : "none", reclaimed != 0 ? "some" : "none");
}
