// SPDX-License-Identifier: MIT

/**
 * @file
 * The ABI between the runtime and tools: tables of function pointers that tools may read and replace, and
 * functions by which a tool receives the packets of a queue. C++11 and later only.
 *
 * **How a tool receives the tables.** During the first hsa_init, the runtime loads each library that
 * HSA_TOOLS_LIB or its configuration names, and calls the library's
 *
 * @code
 * extern "C" bool OnLoad(void* table, uint64_t runtime_version, uint64_t failed_tool_count,
 *                        const char* const* failed_tool_names);
 * @endcode
 *
 * The arguments are an ::HsaApiTable, its major version, and the names of the libraries that could not be
 * loaded so far. The runtime owns the table, which is valid until `extern "C" void OnUnload()` has returned.
 * The last hsa_shut_down calls OnUnload, of the last tool first. If OnLoad returns false, the runtime
 * restores the entries and does not use the tool.
 *
 * **How a tool uses them.** It copies the entries that it wants to call (::copyTables) and stores its
 * functions in the runtime's table. Each later call of the API, by the application or another tool, calls the
 * function that was stored last. OnLoad may replace entries, because no other thread uses the tables then.
 * Later, a replaced entry and running calls have no order. The tool must restore a replaced entry, or keep
 * its function callable while the process can call the API.
 *
 * **Versions.** Every table starts with an ::ApiTableVersion. See hsa_api_trace_version.h.
 */

#ifndef HSA_RUNTIME_INC_HSA_API_TRACE_H
#define HSA_RUNTIME_INC_HSA_API_TRACE_H

#ifndef __cplusplus
#error "hsa_api_trace.h needs C++11"
#endif

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "hsa.h"
#include "hsa_amd_tool.h"
#include "hsa_api_trace_version.h"
#include "hsa_ext_amd.h"
#include "hsa_ext_finalize.h"
#include "hsa_ext_image.h"
#include "hsa_ven_amd_pc_sampling.h"

/** @name Receiving and changing the packets of a queue
 *
 *  The library does not export these functions: call them through ::AmdExtTable. The rules of hsa.h apply.
 *
 *  Packets of an intercepted queue pass through its handlers, the last registered first, and then to the
 *  hardware queue. Handlers run before the packets can execute, on the thread that rings the doorbell, on one
 *  thread at a time per queue. If a device rings the doorbell, they run on a thread of the runtime. A handler
 *  must not submit packets to its queue.
 *  @{ */

/** Value of amd_aql_intercept_marker_t::format. */
const uint32_t AMD_AQL_FORMAT_INTERCEPT_MARKER = 0xFE;

struct amd_aql_intercept_marker_s;

/**
 * Called when the index of a packet in the hardware queue is known, before the packet can execute. Runs like
 * a handler.
 *
 * @param packet [in] the marker that preceded the packet. Valid during the call.
 * @param queue [in] the hardware queue. Do not submit packets to it.
 * @param packet_id [in] index in `queue` of the packet that follows the marker.
 */
typedef void (*amd_intercept_marker_handler)(const struct amd_aql_intercept_marker_s* packet,
                                             hsa_queue_t* queue, uint64_t packet_id);

/**
 * A packet that a handler writes directly before another packet, to receive the other packet's index. It
 * occupies no slot in the hardware queue. Handlers that receive it must keep its position. 64 bytes.
 */
typedef struct amd_aql_intercept_marker_s {
  /** AQL header of type HSA_PACKET_TYPE_VENDOR_SPECIFIC. */
  uint16_t header;
  /** ::AMD_AQL_FORMAT_INTERCEPT_MARKER. */
  uint8_t format;
  /** Must be 0. */
  uint8_t reserved[5];
#ifdef HSA_LARGE_MODEL
  /** Called with this packet. Not NULL. */
  amd_intercept_marker_handler callback;
#elif defined HSA_LITTLE_ENDIAN
  amd_intercept_marker_handler callback;
  uint32_t reserved1;
#else
  uint32_t reserved1;
  amd_intercept_marker_handler callback;
#endif
  /** Data of the tool. */
  uint64_t user_data[6];
} amd_aql_intercept_marker_t;

/**
 * Forwards packets to the next handler, or after the last handler to the hardware queue. A handler may call
 * it any number of times, also with packets that it did not receive. Packets that it does not forward are
 * dropped. Valid during the handler's call, on its thread.
 *
 * @param pkts [in] packets of 64 bytes. Copied before the function returns.
 * @param pkt_count [in] number of packets.
 */
typedef void (*hsa_amd_queue_intercept_packet_writer)(const void* pkts, uint64_t pkt_count);

/**
 * Receives packets before the hardware queue.
 *
 * @param pkts [in] packets of 64 bytes. Valid during the call.
 * @param pkt_count [in] number of packets, at least 1.
 * @param user_pkt_index [in] index, in the application's queue, of the packet from which these originate.
 * @param data [in] argument of ::hsa_amd_queue_intercept_register.
 * @param writer [in] forwards packets.
 */
typedef void (*hsa_amd_queue_intercept_handler)(const void* pkts, uint64_t pkt_count, uint64_t user_pkt_index,
                                                void* data, hsa_amd_queue_intercept_packet_writer writer);

/**
 * Adds a handler to a queue. It cannot be removed and exists as long as the queue. Do not call it while
 * packets are submitted to `queue`: register directly after creating the queue.
 *
 * @param queue [in] from ::hsa_amd_queue_intercept_create.
 * @param callback [in] the handler. Not NULL.
 * @param user_data [in] argument for the handler. May be NULL.
 * @retval INVALID_QUEUE `queue` cannot be intercepted.
 * @retval INVALID_ARGUMENT `callback` is NULL.
 */
hsa_status_t hsa_amd_queue_intercept_register(hsa_queue_t* queue, hsa_amd_queue_intercept_handler callback,
                                              void* user_data);

/**
 * Creates a queue whose packets can be intercepted, and a hardware queue of the same size. Parameters,
 * statuses and destruction are those of hsa_queue_create.
 *
 * @param agent_handle [in] agent that executes the packets.
 * @param size [in] number of packets, a power of two; at least 4 for ROCr.
 * @param type [in] kind of queue.
 * @param callback [in] receives errors, asynchronously. May be NULL.
 * @param data [in] argument for `callback`. May be NULL.
 * @param private_segment_size [in] hint: bytes of scratch for each work-item; UINT32_MAX: none.
 * @param group_segment_size [in] hint: bytes of group memory for each work-group; UINT32_MAX: none.
 * @param queue [out] the new queue. Not NULL.
 * @retval INVALID_ARGUMENT as for hsa_queue_create. (ROCr also rejects a `size` below 3.)
 */
hsa_status_t hsa_amd_queue_intercept_create(hsa_agent_t agent_handle, uint32_t size, hsa_queue_type32_t type,
                                            void (*callback)(hsa_status_t status, hsa_queue_t* source,
                                                             void* data),
                                            void* data, uint32_t private_segment_size,
                                            uint32_t group_segment_size, hsa_queue_t** queue);

/**
 * Receives queues that the runtime creates for its own use, such as copies.
 *
 * @param queue [in] the new queue. It can be intercepted.
 * @param agent [in] agent of the queue.
 * @param data [in] argument of ::hsa_amd_runtime_queue_create_register.
 */
typedef void (*hsa_amd_runtime_queue_notifier)(const hsa_queue_t* queue, hsa_agent_t agent, void* data);

/**
 * Registers a notifier for queues that the runtime creates for its own use. It does not receive earlier
 * queues. A process can have one notifier, until the last hsa_shut_down.
 *
 * @param callback [in] called on the thread that needs the queue, before its first packet.
 * @param user_data [in] argument for `callback`. May be NULL.
 * @retval HSA_STATUS_ERROR a notifier is already registered.
 */
hsa_status_t hsa_amd_runtime_queue_create_register(hsa_amd_runtime_queue_notifier callback, void* user_data);
/** @} */

/** @name Tables
 *
 *  An entry `hsa_x_fn` is the function that a call of hsa_x calls, and has its type. New entries are appended
 *  only. A change of position increments the table's major version. The runtime's tables have no NULL
 *  entries.
 *  @{ */

/** First member of every table. */
struct ApiTableVersion {
  /** Layout. 0: do not use the table. */
  uint32_t major_id;
  /** Size of the table in bytes, including this structure. Entries beyond it do not exist. */
  uint32_t minor_id;
  /** Counter of additions to the layout. */
  uint32_t step_id;
  /** Must be 0. */
  uint32_t reserved;
};

/**
 * Callbacks of tools, which receive scratch events; see hsa_amd_tool.h. In contrast to other tables, the
 * runtime calls the entries, and NULL entries are not called. They run on the thread that handles the queue's
 * requests while the queue is stopped: they must not wait for the queue.
 */
struct ToolsApiTable {
  /** Version and size. */
  ApiTableVersion version;

  /** Before scratch is allocated for a queue. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_alloc_start_fn;
  /** After scratch was allocated, or could not be. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_alloc_end_fn;
  /** Before scratch of a queue is freed. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_free_start_fn;
  /** After scratch was freed. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_free_end_fn;
  /** Before the runtime reclaims scratch from a queue that did not request it. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_async_reclaim_start_fn;
  /** After the reclaim. */
  hsa_amd_tool_event hsa_amd_tool_scratch_event_async_reclaim_end_fn;
};

/** Functions of hsa_ext_finalize.h. */
struct FinalizerExtTable {
  /** Version and size. */
  ApiTableVersion version;

  decltype(hsa_ext_program_create)* hsa_ext_program_create_fn;
  decltype(hsa_ext_program_destroy)* hsa_ext_program_destroy_fn;
  decltype(hsa_ext_program_add_module)* hsa_ext_program_add_module_fn;
  decltype(hsa_ext_program_iterate_modules)* hsa_ext_program_iterate_modules_fn;
  decltype(hsa_ext_program_get_info)* hsa_ext_program_get_info_fn;
  decltype(hsa_ext_program_finalize)* hsa_ext_program_finalize_fn;
};

/** Functions of hsa_ext_image.h. */
struct ImageExtTable {
  /** Version and size. */
  ApiTableVersion version;

  decltype(hsa_ext_image_get_capability)* hsa_ext_image_get_capability_fn;
  decltype(hsa_ext_image_data_get_info)* hsa_ext_image_data_get_info_fn;
  decltype(hsa_ext_image_create)* hsa_ext_image_create_fn;
  decltype(hsa_ext_image_import)* hsa_ext_image_import_fn;
  decltype(hsa_ext_image_export)* hsa_ext_image_export_fn;
  decltype(hsa_ext_image_copy)* hsa_ext_image_copy_fn;
  decltype(hsa_ext_image_clear)* hsa_ext_image_clear_fn;
  decltype(hsa_ext_image_destroy)* hsa_ext_image_destroy_fn;
  decltype(hsa_ext_sampler_create)* hsa_ext_sampler_create_fn;
  decltype(hsa_ext_sampler_destroy)* hsa_ext_sampler_destroy_fn;

  // Explicit layouts; samplers with a mode for each axis.
  decltype(hsa_ext_image_get_capability_with_layout)* hsa_ext_image_get_capability_with_layout_fn;
  decltype(hsa_ext_image_data_get_info_with_layout)* hsa_ext_image_data_get_info_with_layout_fn;
  decltype(hsa_ext_image_create_with_layout)* hsa_ext_image_create_with_layout_fn;
  decltype(hsa_ext_sampler_create_v2)* hsa_ext_sampler_create_v2_fn;
};

/** Functions of hsa_ven_amd_pc_sampling.h. */
struct PcSamplingExtTable {
  /** Version and size. */
  ApiTableVersion version;

  decltype(hsa_ven_amd_pcs_iterate_configuration)* hsa_ven_amd_pcs_iterate_configuration_fn;
  decltype(hsa_ven_amd_pcs_create)* hsa_ven_amd_pcs_create_fn;
  decltype(hsa_ven_amd_pcs_create_from_id)* hsa_ven_amd_pcs_create_from_id_fn;
  decltype(hsa_ven_amd_pcs_destroy)* hsa_ven_amd_pcs_destroy_fn;
  decltype(hsa_ven_amd_pcs_start)* hsa_ven_amd_pcs_start_fn;
  decltype(hsa_ven_amd_pcs_stop)* hsa_ven_amd_pcs_stop_fn;
  decltype(hsa_ven_amd_pcs_flush)* hsa_ven_amd_pcs_flush_fn;
};

/** Functions of hsa_ext_amd.h, and those of this header. hsa_amd_image_get_info_max_dim has no entry. */
struct AmdExtTable {
  /** Version and size. */
  ApiTableVersion version;

  // Coherency and profiling.
  decltype(hsa_amd_coherency_get_type)* hsa_amd_coherency_get_type_fn;
  decltype(hsa_amd_coherency_set_type)* hsa_amd_coherency_set_type_fn;
  decltype(hsa_amd_profiling_set_profiler_enabled)* hsa_amd_profiling_set_profiler_enabled_fn;
  decltype(hsa_amd_profiling_async_copy_enable)* hsa_amd_profiling_async_copy_enable_fn;
  decltype(hsa_amd_profiling_get_dispatch_time)* hsa_amd_profiling_get_dispatch_time_fn;
  decltype(hsa_amd_profiling_get_async_copy_time)* hsa_amd_profiling_get_async_copy_time_fn;
  decltype(hsa_amd_profiling_convert_tick_to_system_domain)*
      hsa_amd_profiling_convert_tick_to_system_domain_fn;

  // Asynchronous work and queues.
  decltype(hsa_amd_signal_async_handler)* hsa_amd_signal_async_handler_fn;
  decltype(hsa_amd_async_function)* hsa_amd_async_function_fn;
  decltype(hsa_amd_signal_wait_any)* hsa_amd_signal_wait_any_fn;
  decltype(hsa_amd_queue_cu_set_mask)* hsa_amd_queue_cu_set_mask_fn;

  // Memory pools, copies and access.
  decltype(hsa_amd_memory_pool_get_info)* hsa_amd_memory_pool_get_info_fn;
  decltype(hsa_amd_agent_iterate_memory_pools)* hsa_amd_agent_iterate_memory_pools_fn;
  decltype(hsa_amd_memory_pool_allocate)* hsa_amd_memory_pool_allocate_fn;
  decltype(hsa_amd_memory_pool_free)* hsa_amd_memory_pool_free_fn;
  decltype(hsa_amd_memory_async_copy)* hsa_amd_memory_async_copy_fn;
  decltype(hsa_amd_memory_async_copy_on_engine)* hsa_amd_memory_async_copy_on_engine_fn;
  decltype(hsa_amd_memory_copy_engine_status)* hsa_amd_memory_copy_engine_status_fn;
  decltype(hsa_amd_agent_memory_pool_get_info)* hsa_amd_agent_memory_pool_get_info_fn;
  decltype(hsa_amd_agents_allow_access)* hsa_amd_agents_allow_access_fn;
  decltype(hsa_amd_memory_pool_can_migrate)* hsa_amd_memory_pool_can_migrate_fn;
  decltype(hsa_amd_memory_migrate)* hsa_amd_memory_migrate_fn;
  decltype(hsa_amd_memory_lock)* hsa_amd_memory_lock_fn;
  decltype(hsa_amd_memory_unlock)* hsa_amd_memory_unlock_fn;
  decltype(hsa_amd_memory_fill)* hsa_amd_memory_fill_fn;

  // Interoperation, pointers, sharing between processes.
  decltype(hsa_amd_interop_map_buffer)* hsa_amd_interop_map_buffer_fn;
  decltype(hsa_amd_interop_unmap_buffer)* hsa_amd_interop_unmap_buffer_fn;
  decltype(hsa_amd_image_create)* hsa_amd_image_create_fn;
  decltype(hsa_amd_pointer_info)* hsa_amd_pointer_info_fn;
  decltype(hsa_amd_pointer_info_set_userdata)* hsa_amd_pointer_info_set_userdata_fn;
  decltype(hsa_amd_ipc_memory_create)* hsa_amd_ipc_memory_create_fn;
  decltype(hsa_amd_ipc_memory_attach)* hsa_amd_ipc_memory_attach_fn;
  decltype(hsa_amd_ipc_memory_detach)* hsa_amd_ipc_memory_detach_fn;
  decltype(hsa_amd_signal_create)* hsa_amd_signal_create_fn;
  decltype(hsa_amd_ipc_signal_create)* hsa_amd_ipc_signal_create_fn;
  decltype(hsa_amd_ipc_signal_attach)* hsa_amd_ipc_signal_attach_fn;

  // Events, intercepted queues (declared above) and other functions.
  decltype(hsa_amd_register_system_event_handler)* hsa_amd_register_system_event_handler_fn;
  decltype(hsa_amd_queue_intercept_create)* hsa_amd_queue_intercept_create_fn;
  decltype(hsa_amd_queue_intercept_register)* hsa_amd_queue_intercept_register_fn;
  decltype(hsa_amd_queue_set_priority)* hsa_amd_queue_set_priority_fn;
  decltype(hsa_amd_memory_async_copy_rect)* hsa_amd_memory_async_copy_rect_fn;
  decltype(hsa_amd_runtime_queue_create_register)* hsa_amd_runtime_queue_create_register_fn;
  decltype(hsa_amd_memory_lock_to_pool)* hsa_amd_memory_lock_to_pool_fn;
  decltype(hsa_amd_register_deallocation_callback)* hsa_amd_register_deallocation_callback_fn;
  decltype(hsa_amd_deregister_deallocation_callback)* hsa_amd_deregister_deallocation_callback_fn;
  decltype(hsa_amd_signal_value_pointer)* hsa_amd_signal_value_pointer_fn;

  // Shared virtual memory, stream performance monitors, dma-buf.
  decltype(hsa_amd_svm_attributes_set)* hsa_amd_svm_attributes_set_fn;
  decltype(hsa_amd_svm_attributes_get)* hsa_amd_svm_attributes_get_fn;
  decltype(hsa_amd_svm_prefetch_async)* hsa_amd_svm_prefetch_async_fn;
  decltype(hsa_amd_spm_acquire)* hsa_amd_spm_acquire_fn;
  decltype(hsa_amd_spm_release)* hsa_amd_spm_release_fn;
  decltype(hsa_amd_spm_set_dest_buffer)* hsa_amd_spm_set_dest_buffer_fn;
  decltype(hsa_amd_queue_cu_get_mask)* hsa_amd_queue_cu_get_mask_fn;
  decltype(hsa_amd_portable_export_dmabuf)* hsa_amd_portable_export_dmabuf_fn;
  decltype(hsa_amd_portable_close_dmabuf)* hsa_amd_portable_close_dmabuf_fn;

  // Virtual memory.
  decltype(hsa_amd_vmem_address_reserve)* hsa_amd_vmem_address_reserve_fn;
  decltype(hsa_amd_vmem_address_free)* hsa_amd_vmem_address_free_fn;
  decltype(hsa_amd_vmem_handle_create)* hsa_amd_vmem_handle_create_fn;
  decltype(hsa_amd_vmem_handle_release)* hsa_amd_vmem_handle_release_fn;
  decltype(hsa_amd_vmem_map)* hsa_amd_vmem_map_fn;
  decltype(hsa_amd_vmem_unmap)* hsa_amd_vmem_unmap_fn;
  decltype(hsa_amd_vmem_set_access)* hsa_amd_vmem_set_access_fn;
  decltype(hsa_amd_vmem_get_access)* hsa_amd_vmem_get_access_fn;
  decltype(hsa_amd_vmem_export_shareable_handle)* hsa_amd_vmem_export_shareable_handle_fn;
  decltype(hsa_amd_vmem_import_shareable_handle)* hsa_amd_vmem_import_shareable_handle_fn;
  decltype(hsa_amd_vmem_retain_alloc_handle)* hsa_amd_vmem_retain_alloc_handle_fn;
  decltype(hsa_amd_vmem_get_alloc_properties_from_handle)* hsa_amd_vmem_get_alloc_properties_from_handle_fn;

  // Later additions.
  decltype(hsa_amd_agent_set_async_scratch_limit)* hsa_amd_agent_set_async_scratch_limit_fn;
  decltype(hsa_amd_queue_get_info)* hsa_amd_queue_get_info_fn;
  decltype(hsa_amd_vmem_address_reserve_align)* hsa_amd_vmem_address_reserve_align_fn;
  decltype(hsa_amd_enable_logging)* hsa_amd_enable_logging_fn;
  decltype(hsa_amd_signal_wait_all)* hsa_amd_signal_wait_all_fn;
  decltype(hsa_amd_memory_get_preferred_copy_engine)* hsa_amd_memory_get_preferred_copy_engine_fn;
  decltype(hsa_amd_portable_export_dmabuf_v2)* hsa_amd_portable_export_dmabuf_v2_fn;

  // ROCm 7: files, queues by descriptors, batches, sharing with other nodes and graphics APIs.
  decltype(hsa_amd_ais_file_write)* hsa_amd_ais_file_write_fn;
  decltype(hsa_amd_ais_file_read)* hsa_amd_ais_file_read_fn;
  decltype(hsa_amd_counted_queue_acquire)* hsa_amd_counted_queue_acquire_fn;
  decltype(hsa_amd_counted_queue_release)* hsa_amd_counted_queue_release_fn;
  decltype(hsa_amd_memory_async_batch_copy)* hsa_amd_memory_async_batch_copy_fn;
  decltype(hsa_amd_agent_preload)* hsa_amd_agent_preload_fn;
  decltype(hsa_amd_svm_discard_batch_async)* hsa_amd_svm_discard_batch_async_fn;
  decltype(hsa_amd_signal_get_event_id)* hsa_amd_signal_get_event_id_fn;
  decltype(hsa_amd_external_semaphore_handle_open)* hsa_amd_external_semaphore_handle_open_fn;
  decltype(hsa_amd_external_semaphore_handle_close)* hsa_amd_external_semaphore_handle_close_fn;
  decltype(hsa_amd_vmem_export_fabric_handle)* hsa_amd_vmem_export_fabric_handle_fn;
  decltype(hsa_amd_vmem_import_fabric_handle)* hsa_amd_vmem_import_fabric_handle_fn;
  decltype(hsa_amd_queue_create)* hsa_amd_queue_create_fn;
  decltype(hsa_amd_queue_signal_external_semaphore)* hsa_amd_queue_signal_external_semaphore_fn;
  decltype(hsa_amd_queue_wait_external_semaphore)* hsa_amd_queue_wait_external_semaphore_fn;
  decltype(hsa_amd_image_create_v2)* hsa_amd_image_create_v2_fn;
  decltype(hsa_amd_interop_map_buffer_with_size)* hsa_amd_interop_map_buffer_with_size_fn;
  decltype(hsa_amd_svm_discard_and_prefetch_batch_async)* hsa_amd_svm_discard_and_prefetch_batch_async_fn;
};

/**
 * Functions of hsa.h. Functions whose names end in _acquire, _release or _acq_rel have no entries: they are
 * aliases of _scacquire, _screlease and _scacq_screl.
 */
struct CoreApiTable {
  /** Version and size. */
  ApiTableVersion version;

  // System and agents.
  decltype(hsa_init)* hsa_init_fn;
  decltype(hsa_shut_down)* hsa_shut_down_fn;
  decltype(hsa_system_get_info)* hsa_system_get_info_fn;
  decltype(hsa_system_extension_supported)* hsa_system_extension_supported_fn;
  decltype(hsa_system_get_extension_table)* hsa_system_get_extension_table_fn;
  decltype(hsa_iterate_agents)* hsa_iterate_agents_fn;
  decltype(hsa_agent_get_info)* hsa_agent_get_info_fn;

  // Queues.
  decltype(hsa_queue_create)* hsa_queue_create_fn;
  decltype(hsa_soft_queue_create)* hsa_soft_queue_create_fn;
  decltype(hsa_queue_destroy)* hsa_queue_destroy_fn;
  decltype(hsa_queue_inactivate)* hsa_queue_inactivate_fn;
  decltype(hsa_queue_load_read_index_scacquire)* hsa_queue_load_read_index_scacquire_fn;
  decltype(hsa_queue_load_read_index_relaxed)* hsa_queue_load_read_index_relaxed_fn;
  decltype(hsa_queue_load_write_index_scacquire)* hsa_queue_load_write_index_scacquire_fn;
  decltype(hsa_queue_load_write_index_relaxed)* hsa_queue_load_write_index_relaxed_fn;
  decltype(hsa_queue_store_write_index_relaxed)* hsa_queue_store_write_index_relaxed_fn;
  decltype(hsa_queue_store_write_index_screlease)* hsa_queue_store_write_index_screlease_fn;
  decltype(hsa_queue_cas_write_index_scacq_screl)* hsa_queue_cas_write_index_scacq_screl_fn;
  decltype(hsa_queue_cas_write_index_scacquire)* hsa_queue_cas_write_index_scacquire_fn;
  decltype(hsa_queue_cas_write_index_relaxed)* hsa_queue_cas_write_index_relaxed_fn;
  decltype(hsa_queue_cas_write_index_screlease)* hsa_queue_cas_write_index_screlease_fn;
  decltype(hsa_queue_add_write_index_scacq_screl)* hsa_queue_add_write_index_scacq_screl_fn;
  decltype(hsa_queue_add_write_index_scacquire)* hsa_queue_add_write_index_scacquire_fn;
  decltype(hsa_queue_add_write_index_relaxed)* hsa_queue_add_write_index_relaxed_fn;
  decltype(hsa_queue_add_write_index_screlease)* hsa_queue_add_write_index_screlease_fn;
  decltype(hsa_queue_store_read_index_relaxed)* hsa_queue_store_read_index_relaxed_fn;
  decltype(hsa_queue_store_read_index_screlease)* hsa_queue_store_read_index_screlease_fn;

  // Regions, agents, memory.
  decltype(hsa_agent_iterate_regions)* hsa_agent_iterate_regions_fn;
  decltype(hsa_region_get_info)* hsa_region_get_info_fn;
  decltype(hsa_agent_get_exception_policies)* hsa_agent_get_exception_policies_fn;
  decltype(hsa_agent_extension_supported)* hsa_agent_extension_supported_fn;
  decltype(hsa_memory_register)* hsa_memory_register_fn;
  decltype(hsa_memory_deregister)* hsa_memory_deregister_fn;
  decltype(hsa_memory_allocate)* hsa_memory_allocate_fn;
  decltype(hsa_memory_free)* hsa_memory_free_fn;
  decltype(hsa_memory_copy)* hsa_memory_copy_fn;
  decltype(hsa_memory_assign_agent)* hsa_memory_assign_agent_fn;

  // Signals.
  decltype(hsa_signal_create)* hsa_signal_create_fn;
  decltype(hsa_signal_destroy)* hsa_signal_destroy_fn;
  decltype(hsa_signal_load_relaxed)* hsa_signal_load_relaxed_fn;
  decltype(hsa_signal_load_scacquire)* hsa_signal_load_scacquire_fn;
  decltype(hsa_signal_store_relaxed)* hsa_signal_store_relaxed_fn;
  decltype(hsa_signal_store_screlease)* hsa_signal_store_screlease_fn;
  decltype(hsa_signal_wait_relaxed)* hsa_signal_wait_relaxed_fn;
  decltype(hsa_signal_wait_scacquire)* hsa_signal_wait_scacquire_fn;
  decltype(hsa_signal_and_relaxed)* hsa_signal_and_relaxed_fn;
  decltype(hsa_signal_and_scacquire)* hsa_signal_and_scacquire_fn;
  decltype(hsa_signal_and_screlease)* hsa_signal_and_screlease_fn;
  decltype(hsa_signal_and_scacq_screl)* hsa_signal_and_scacq_screl_fn;
  decltype(hsa_signal_or_relaxed)* hsa_signal_or_relaxed_fn;
  decltype(hsa_signal_or_scacquire)* hsa_signal_or_scacquire_fn;
  decltype(hsa_signal_or_screlease)* hsa_signal_or_screlease_fn;
  decltype(hsa_signal_or_scacq_screl)* hsa_signal_or_scacq_screl_fn;
  decltype(hsa_signal_xor_relaxed)* hsa_signal_xor_relaxed_fn;
  decltype(hsa_signal_xor_scacquire)* hsa_signal_xor_scacquire_fn;
  decltype(hsa_signal_xor_screlease)* hsa_signal_xor_screlease_fn;
  decltype(hsa_signal_xor_scacq_screl)* hsa_signal_xor_scacq_screl_fn;
  decltype(hsa_signal_exchange_relaxed)* hsa_signal_exchange_relaxed_fn;
  decltype(hsa_signal_exchange_scacquire)* hsa_signal_exchange_scacquire_fn;
  decltype(hsa_signal_exchange_screlease)* hsa_signal_exchange_screlease_fn;
  decltype(hsa_signal_exchange_scacq_screl)* hsa_signal_exchange_scacq_screl_fn;
  decltype(hsa_signal_add_relaxed)* hsa_signal_add_relaxed_fn;
  decltype(hsa_signal_add_scacquire)* hsa_signal_add_scacquire_fn;
  decltype(hsa_signal_add_screlease)* hsa_signal_add_screlease_fn;
  decltype(hsa_signal_add_scacq_screl)* hsa_signal_add_scacq_screl_fn;
  decltype(hsa_signal_subtract_relaxed)* hsa_signal_subtract_relaxed_fn;
  decltype(hsa_signal_subtract_scacquire)* hsa_signal_subtract_scacquire_fn;
  decltype(hsa_signal_subtract_screlease)* hsa_signal_subtract_screlease_fn;
  decltype(hsa_signal_subtract_scacq_screl)* hsa_signal_subtract_scacq_screl_fn;
  decltype(hsa_signal_cas_relaxed)* hsa_signal_cas_relaxed_fn;
  decltype(hsa_signal_cas_scacquire)* hsa_signal_cas_scacquire_fn;
  decltype(hsa_signal_cas_screlease)* hsa_signal_cas_screlease_fn;
  decltype(hsa_signal_cas_scacq_screl)* hsa_signal_cas_scacq_screl_fn;

  // Instruction sets.
  decltype(hsa_isa_from_name)* hsa_isa_from_name_fn;
  decltype(hsa_isa_get_info)* hsa_isa_get_info_fn;
  decltype(hsa_isa_compatible)* hsa_isa_compatible_fn;

  // Code objects (deprecated with HSA 1.1).
  decltype(hsa_code_object_serialize)* hsa_code_object_serialize_fn;
  decltype(hsa_code_object_deserialize)* hsa_code_object_deserialize_fn;
  decltype(hsa_code_object_destroy)* hsa_code_object_destroy_fn;
  decltype(hsa_code_object_get_info)* hsa_code_object_get_info_fn;
  decltype(hsa_code_object_get_symbol)* hsa_code_object_get_symbol_fn;
  decltype(hsa_code_symbol_get_info)* hsa_code_symbol_get_info_fn;
  decltype(hsa_code_object_iterate_symbols)* hsa_code_object_iterate_symbols_fn;

  // Executables; create, load_code_object, get_symbol and iterate_symbols are deprecated with HSA 1.1.
  decltype(hsa_executable_create)* hsa_executable_create_fn;
  decltype(hsa_executable_destroy)* hsa_executable_destroy_fn;
  decltype(hsa_executable_load_code_object)* hsa_executable_load_code_object_fn;
  decltype(hsa_executable_freeze)* hsa_executable_freeze_fn;
  decltype(hsa_executable_get_info)* hsa_executable_get_info_fn;
  decltype(hsa_executable_global_variable_define)* hsa_executable_global_variable_define_fn;
  decltype(hsa_executable_agent_global_variable_define)* hsa_executable_agent_global_variable_define_fn;
  decltype(hsa_executable_readonly_variable_define)* hsa_executable_readonly_variable_define_fn;
  decltype(hsa_executable_validate)* hsa_executable_validate_fn;
  decltype(hsa_executable_get_symbol)* hsa_executable_get_symbol_fn;
  decltype(hsa_executable_symbol_get_info)* hsa_executable_symbol_get_info_fn;
  decltype(hsa_executable_iterate_symbols)* hsa_executable_iterate_symbols_fn;

  // Statuses.
  decltype(hsa_status_string)* hsa_status_string_fn;

  // Added by HSA 1.1, like the following. Extensions and caches.
  decltype(hsa_extension_get_name)* hsa_extension_get_name_fn;
  decltype(hsa_system_major_extension_supported)* hsa_system_major_extension_supported_fn;
  decltype(hsa_system_get_major_extension_table)* hsa_system_get_major_extension_table_fn;
  decltype(hsa_agent_major_extension_supported)* hsa_agent_major_extension_supported_fn;
  decltype(hsa_cache_get_info)* hsa_cache_get_info_fn;
  decltype(hsa_agent_iterate_caches)* hsa_agent_iterate_caches_fn;

  // Signals.
  decltype(hsa_signal_silent_store_relaxed)* hsa_signal_silent_store_relaxed_fn;
  decltype(hsa_signal_silent_store_screlease)* hsa_signal_silent_store_screlease_fn;
  decltype(hsa_signal_group_create)* hsa_signal_group_create_fn;
  decltype(hsa_signal_group_destroy)* hsa_signal_group_destroy_fn;
  decltype(hsa_signal_group_wait_any_scacquire)* hsa_signal_group_wait_any_scacquire_fn;
  decltype(hsa_signal_group_wait_any_relaxed)* hsa_signal_group_wait_any_relaxed_fn;

  // Instruction sets.
  decltype(hsa_agent_iterate_isas)* hsa_agent_iterate_isas_fn;
  decltype(hsa_isa_get_info_alt)* hsa_isa_get_info_alt_fn;
  decltype(hsa_isa_get_exception_policies)* hsa_isa_get_exception_policies_fn;
  decltype(hsa_isa_get_round_method)* hsa_isa_get_round_method_fn;
  decltype(hsa_wavefront_get_info)* hsa_wavefront_get_info_fn;
  decltype(hsa_isa_iterate_wavefronts)* hsa_isa_iterate_wavefronts_fn;

  // Code objects (deprecated).
  decltype(hsa_code_object_get_symbol_from_name)* hsa_code_object_get_symbol_from_name_fn;

  // Code object readers and executables.
  decltype(hsa_code_object_reader_create_from_file)* hsa_code_object_reader_create_from_file_fn;
  decltype(hsa_code_object_reader_create_from_memory)* hsa_code_object_reader_create_from_memory_fn;
  decltype(hsa_code_object_reader_destroy)* hsa_code_object_reader_destroy_fn;
  decltype(hsa_executable_create_alt)* hsa_executable_create_alt_fn;
  decltype(hsa_executable_load_program_code_object)* hsa_executable_load_program_code_object_fn;
  decltype(hsa_executable_load_agent_code_object)* hsa_executable_load_agent_code_object_fn;
  decltype(hsa_executable_validate_alt)* hsa_executable_validate_alt_fn;
  decltype(hsa_executable_get_symbol_by_name)* hsa_executable_get_symbol_by_name_fn;
  decltype(hsa_executable_iterate_agent_symbols)* hsa_executable_iterate_agent_symbols_fn;
  decltype(hsa_executable_iterate_program_symbols)* hsa_executable_iterate_program_symbols_fn;
};

/** All tables; the argument of OnLoad. */
struct HsaApiTable {
  /** Version and size of this structure. */
  ApiTableVersion version;

  /** hsa.h. */
  CoreApiTable* core_;
  /** hsa_ext_amd.h. */
  AmdExtTable* amd_ext_;
  /** hsa_ext_finalize.h. */
  FinalizerExtTable* finalizer_ext_;
  /** hsa_ext_image.h. */
  ImageExtTable* image_ext_;
  /** hsa_amd_tool.h. */
  ToolsApiTable* tools_;
  /** hsa_ven_amd_pc_sampling.h. */
  PcSamplingExtTable* pc_sampling_ext_;
};

/**
 * Storage for one of each table, with `root` pointing to the others, versions of this header and all entries
 * NULL. The root of a copy still points into the original: use ::copyTables.
 */
struct HsaApiTableContainer {
  /** Points to the tables that follow. */
  HsaApiTable root;
  /** `root.core_`. */
  CoreApiTable core;
  /** `root.amd_ext_`. */
  AmdExtTable amd_ext;
  /** `root.finalizer_ext_`. */
  FinalizerExtTable finalizer_ext;
  /** `root.image_ext_`. */
  ImageExtTable image_ext;
  /** `root.tools_`. */
  ToolsApiTable tools;
  /** `root.pc_sampling_ext_`. */
  PcSamplingExtTable pc_sampling_ext;

  /** Fills in versions and pointers. */
  HsaApiTableContainer()
      : root(), core(), amd_ext(), finalizer_ext(), image_ext(), tools(), pc_sampling_ext() {
    setVersion(root, HSA_API_TABLE_MAJOR_VERSION, HSA_API_TABLE_STEP_VERSION);
    setVersion(core, HSA_CORE_API_TABLE_MAJOR_VERSION, HSA_CORE_API_TABLE_STEP_VERSION);
    setVersion(amd_ext, HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, HSA_AMD_EXT_API_TABLE_STEP_VERSION);
    setVersion(finalizer_ext, HSA_FINALIZER_API_TABLE_MAJOR_VERSION, HSA_FINALIZER_API_TABLE_STEP_VERSION);
    setVersion(image_ext, HSA_IMAGE_API_TABLE_MAJOR_VERSION, HSA_IMAGE_API_TABLE_STEP_VERSION);
    setVersion(tools, HSA_TOOLS_API_TABLE_MAJOR_VERSION, HSA_TOOLS_API_TABLE_STEP_VERSION);
    setVersion(pc_sampling_ext, HSA_PC_SAMPLING_API_TABLE_MAJOR_VERSION,
               HSA_PC_SAMPLING_API_TABLE_STEP_VERSION);
    root.core_ = &core;
    root.amd_ext_ = &amd_ext;
    root.finalizer_ext_ = &finalizer_ext;
    root.image_ext_ = &image_ext;
    root.tools_ = &tools;
    root.pc_sampling_ext_ = &pc_sampling_ext;
  }

 private:
  template <typename Table>
  static void setVersion(Table& table, uint32_t major, uint32_t step) {
    table.version.major_id = major;
    table.version.minor_id = sizeof(Table);
    table.version.step_id = step;
  }
};
/** @} */

/** @name Copying tables
 *
 * Functions with which a tool copies the runtime's tables. They do not allocate. They must not run while a
 * thread writes to these tables.
 *  @{ */

/** The smaller of two sizes. */
static inline uint32_t Min(const uint32_t a, const uint32_t b) {
  return b < a ? b : a;
}

/**
 * Copies the entries of a table, but not its version.
 *
 * @param dest [out] table of at least `size` bytes.
 * @param src [in] table of at least `size` bytes and the same layout. Either the same table, or one that does
 *   not overlap.
 * @param size [in] bytes of the table, including the version. If it is at most the size of a version, nothing
 *   is copied.
 */
static inline void copyApi(void* dest, const void* src, size_t size) {
  if (size <= sizeof(ApiTableVersion) || dest == src) return;
  memcpy(static_cast<char*>(dest) + sizeof(ApiTableVersion),
         static_cast<const char*>(src) + sizeof(ApiTableVersion), size - sizeof(ApiTableVersion));
}

/**
 * Copies the entries that two tables have in common. Afterwards the version of `dest` has the smaller of the
 * two sizes and the step of `src`. Entries beyond that size do not change. If the layouts differ, or a size
 * is smaller than a version, the function copies nothing and sets major, minor and step of `dest` to 0.
 *
 * @param dest [in,out] version of the table to copy to, filled in. Not NULL.
 * @param src [in] version of the table to copy from. NULL counts as a different layout.
 */
static inline void copyElement(ApiTableVersion* dest, const ApiTableVersion* src) {
  const uint32_t size = src != nullptr ? Min(dest->minor_id, src->minor_id) : 0;
  if (size < sizeof(ApiTableVersion) || src->major_id == 0 || src->major_id != dest->major_id) {
    dest->major_id = 0;
    dest->minor_id = 0;
    dest->step_id = 0;
    return;
  }
  dest->minor_id = size;
  dest->step_id = src->step_id;
  copyApi(dest, src, size);
}

/**
 * Copies one child of a root table like ::copyElement. Reads the child's pointer only if both roots contain
 * it: `dest` has the smaller size of the two. Skips a child if `dest` has no table for it.
 *
 * @param src [in] root to copy from.
 * @param dest [in,out] root to copy to.
 * @param child [in] member to copy.
 * @param offset [in] offset of the member, bytes.
 */
template <typename Table>
static inline void copyChildTable(const HsaApiTable* src, HsaApiTable* dest, Table* HsaApiTable::*child,
                                  size_t offset) {
  if (dest->version.minor_id < offset + sizeof(Table*) || dest->*child == nullptr) return;
  // Tables may be shorter than their type here: only the version certainly exists.
  copyElement(reinterpret_cast<ApiTableVersion*>(dest->*child),
              reinterpret_cast<const ApiTableVersion*>(src->*child));
}

/**
 * Copies all tables that both roots have, each like ::copyElement. If the layouts of the roots differ, major,
 * minor and step of `dest` become 0 and no child changes. Otherwise `dest` has the smaller size and the step
 * of `src` afterwards.
 *
 * @param src [in] usually the table that OnLoad received. Not NULL.
 * @param dest [in,out] usually HsaApiTableContainer::root, with versions and pointers. Not NULL.
 */
static inline void copyTables(const HsaApiTable* src, HsaApiTable* dest) {
  if (dest->version.major_id != src->version.major_id) {
    dest->version.major_id = 0;
    dest->version.minor_id = 0;
    dest->version.step_id = 0;
    return;
  }
  dest->version.minor_id = Min(dest->version.minor_id, src->version.minor_id);
  dest->version.step_id = src->version.step_id;

  copyChildTable(src, dest, &HsaApiTable::core_, offsetof(HsaApiTable, core_));
  copyChildTable(src, dest, &HsaApiTable::amd_ext_, offsetof(HsaApiTable, amd_ext_));
  copyChildTable(src, dest, &HsaApiTable::finalizer_ext_, offsetof(HsaApiTable, finalizer_ext_));
  copyChildTable(src, dest, &HsaApiTable::image_ext_, offsetof(HsaApiTable, image_ext_));
  copyChildTable(src, dest, &HsaApiTable::tools_, offsetof(HsaApiTable, tools_));
  copyChildTable(src, dest, &HsaApiTable::pc_sampling_ext_, offsetof(HsaApiTable, pc_sampling_ext_));
}
/** @} */

#endif  // HSA_RUNTIME_INC_HSA_API_TRACE_H
