// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * Events that the runtime reports to tools: allocation and release of scratch memory. In its OnLoad, a tool
 * stores functions of type ::hsa_amd_tool_event in the tools table of hsa_api_trace.h.
 *
 * Threads: the functions run on the thread that changes the scratch, usually a thread of the runtime, while
 * the queue is stopped. They must be short, must not wait for the GPU, and must not create or destroy queues.
 * The end event follows each start event on the same thread. Lifetime: the event and its data are valid
 * during the call only. An event without a function in its slot costs nothing. Facts: AMD's public header,
 * and the places at which ROCr's code of August 2025 raises them.
 */
#ifndef HSA_RUNTIME_AMD_TOOL_EVENTS_H_
#define HSA_RUNTIME_AMD_TOOL_EVENTS_H_

#include <stddef.h>
#include <stdint.h>

#include "hsa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Properties of scratch memory, combined with bitwise OR. */
typedef enum {
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_NONE = 0,            /**< The queue keeps it. */
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE = (1 << 0), /**< For one dispatch only. */
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_ALT = (1 << 1),      /**< The queue's second, alternate scratch. */
} hsa_amd_event_scratch_alloc_flag_t;

/** Kinds of event. */
typedef enum {
  HSA_AMD_TOOL_EVENT_MIN = 0,                     /**< No event. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_START,         /**< A dispatch needs more scratch than its queue has. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_END,           /**< The allocation is over. Size 0: it failed. */
  HSA_AMD_TOOL_EVENT_SCRATCH_FREE_START,          /**< The runtime is about to take scratch from a queue. */
  HSA_AMD_TOOL_EVENT_SCRATCH_FREE_END,            /**< The runtime has taken the scratch. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_START, /**< Like FREE_START, from a queue that runs. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_END,   /**< The runtime has taken the scratch. */
  HSA_AMD_TOOL_EVENT_MAX                          /**< One past the last; increases. */
} hsa_amd_tool_event_kind_t;

/** First member of all events. */
typedef struct {
  hsa_amd_tool_event_kind_t kind; /**< Kind of the event. */
} hsa_amd_tool_event_none_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the requested scratch. */
  uint64_t dispatch_id;                     /**< Index of the dispatch packet in the queue. */
} hsa_amd_event_scratch_alloc_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the allocated scratch. */
  uint64_t dispatch_id;                     /**< Index of the dispatch packet in the queue. */
  size_t size;                              /**< Bytes of scratch that the queue has. */
  size_t num_slots;                         /**< Number of concurrent waves with scratch. */
} hsa_amd_event_scratch_alloc_end_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_FREE_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the scratch. */
} hsa_amd_event_scratch_free_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_FREE_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the scratch. */
} hsa_amd_event_scratch_free_end_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the scratch. */
} hsa_amd_event_scratch_async_reclaim_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Kind of the event. */
  const hsa_queue_t* queue;                 /**< Queue of the scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< Properties of the scratch. */
} hsa_amd_event_scratch_async_reclaim_end_t;

/** An event: read the kind through @ref none, then use the member of that kind. */
typedef union {
  const hsa_amd_tool_event_none_t* none;                                          /**< Any kind. */
  const hsa_amd_event_scratch_alloc_start_t* scratch_alloc_start;                 /**< ALLOC_START. */
  const hsa_amd_event_scratch_alloc_end_t* scratch_alloc_end;                     /**< ALLOC_END. */
  const hsa_amd_event_scratch_free_start_t* scratch_free_start;                   /**< FREE_START. */
  const hsa_amd_event_scratch_free_end_t* scratch_free_end;                       /**< FREE_END. */
  const hsa_amd_event_scratch_async_reclaim_start_t* scratch_async_reclaim_start; /**< RECLAIM_START. */
  const hsa_amd_event_scratch_async_reclaim_end_t* scratch_async_reclaim_end;     /**< RECLAIM_END. */
} hsa_amd_tool_event_t;

/** A tool's function for events.
 *
 * @param[in] event The event, of the kind of its slot in the table.
 * @return HSA_STATUS_SUCCESS. The runtime logs any other status and continues. */
typedef hsa_status_t (*hsa_amd_tool_event)(hsa_amd_tool_event_t event);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_RUNTIME_AMD_TOOL_EVENTS_H_
