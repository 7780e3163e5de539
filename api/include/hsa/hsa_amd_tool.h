// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * Events that the runtime reports to tools: scratch memory coming and going. A tool puts functions of type
 * ::hsa_amd_tool_event into the tools table of hsa_api_trace.h, in its OnLoad.
 *
 * The functions run on the thread where it happens, one of the runtime's as a rule, while the queue concerned
 * stands still: be quick, don't wait for the GPU, and don't create or destroy queues. Every start is followed
 * by its end on the same thread. The event and what it points to are valid during the call only. An event
 * whose slot is empty costs nothing. Facts: AMD's public header, and where ROCr's code of August 2025 raises
 * them.
 */
#ifndef HSA_RUNTIME_AMD_TOOL_EVENTS_H_
#define HSA_RUNTIME_AMD_TOOL_EVENTS_H_

#include <stddef.h>
#include <stdint.h>

#include "hsa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is special about a piece of scratch; to be combined. */
typedef enum {
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_NONE = 0,            /**< Nothing: it stays with the queue. */
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_USE_ONCE = (1 << 0), /**< For one dispatch, then taken back. */
  HSA_AMD_EVENT_SCRATCH_ALLOC_FLAG_ALT = (1 << 1),      /**< The queue's second, alternate scratch. */
} hsa_amd_event_scratch_alloc_flag_t;

/** Kinds of event. */
typedef enum {
  HSA_AMD_TOOL_EVENT_MIN = 0,                     /**< No event. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_START,         /**< A dispatch needs more scratch than its queue has. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_END,           /**< It got it, or didn't: size 0. */
  HSA_AMD_TOOL_EVENT_SCRATCH_FREE_START,          /**< Scratch is about to be taken from a queue. */
  HSA_AMD_TOOL_EVENT_SCRATCH_FREE_END,            /**< It has been. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_START, /**< Scratch is about to be taken from a running queue. */
  HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_END,   /**< It has been. */
  HSA_AMD_TOOL_EVENT_MAX                          /**< One past the last; grows. */
} hsa_amd_tool_event_kind_t;

/** What all events begin with. */
typedef struct {
  hsa_amd_tool_event_kind_t kind; /**< Which it is. */
} hsa_amd_tool_event_none_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch is looked for. */
  uint64_t dispatch_id;                     /**< Packet index, in the queue, of the dispatch that needs it. */
} hsa_amd_event_scratch_alloc_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ALLOC_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch it got. */
  uint64_t dispatch_id;                     /**< Packet index, in the queue, of the dispatch that needs it. */
  size_t size;                              /**< Bytes that the queue now has for it. */
  size_t num_slots;                         /**< Waves that these are enough for at a time. */
} hsa_amd_event_scratch_alloc_end_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_FREE_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch goes. */
} hsa_amd_event_scratch_free_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_FREE_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch went. */
} hsa_amd_event_scratch_free_end_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_START. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch goes. */
} hsa_amd_event_scratch_async_reclaim_start_t;

/** ::HSA_AMD_TOOL_EVENT_SCRATCH_ASYNC_RECLAIM_END. */
typedef struct {
  hsa_amd_tool_event_kind_t kind;           /**< Which event. */
  const hsa_queue_t* queue;                 /**< Whose scratch. */
  hsa_amd_event_scratch_alloc_flag_t flags; /**< What kind of scratch went. */
} hsa_amd_event_scratch_async_reclaim_end_t;

/** An event: read the kind through @ref none, then use the member that belongs to it. */
typedef union {
  const hsa_amd_tool_event_none_t* none;                                          /**< Any. */
  const hsa_amd_event_scratch_alloc_start_t* scratch_alloc_start;                 /**< ALLOC_START. */
  const hsa_amd_event_scratch_alloc_end_t* scratch_alloc_end;                     /**< ALLOC_END. */
  const hsa_amd_event_scratch_free_start_t* scratch_free_start;                   /**< FREE_START. */
  const hsa_amd_event_scratch_free_end_t* scratch_free_end;                       /**< FREE_END. */
  const hsa_amd_event_scratch_async_reclaim_start_t* scratch_async_reclaim_start; /**< RECLAIM_START. */
  const hsa_amd_event_scratch_async_reclaim_end_t* scratch_async_reclaim_end;     /**< RECLAIM_END. */
} hsa_amd_tool_event_t;

/** A tool's function for events.
 *
 * @param[in] event The event, of the kind that its slot in the table is for.
 * @return HSA_STATUS_SUCCESS. Anything else is logged and has no effect. */
typedef hsa_status_t (*hsa_amd_tool_event)(hsa_amd_tool_event_t event);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_RUNTIME_AMD_TOOL_EVENTS_H_
