// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * PC sampling (HSA_EXTENSION_AMD_PC_SAMPLING 1.0, experimental): where the waves of a GPU are, at regular
 * intervals. A session is created, started, stopped, flushed and destroyed; meanwhile a thread of the runtime
 * calls the client with full buffers.
 *
 * The rules at the top of hsa.h and hsa_ext_amd.h hold here too, and so do the marks for the origin of facts:
 * H, AMD's public header; C, ROCr's code; R, Rigel's rule.
 */
#ifndef HSA_VEN_AMD_PC_SAMPLING_H
#define HSA_VEN_AMD_PC_SAMPLING_H

#include "hsa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One sample of ::HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1, 64 bytes as the trap handler writes them. Facts: H
 * C. */
typedef struct {
  uint64_t pc;              /**< Address of the instruction that the wave was at. */
  uint64_t exec_mask;       /**< Its active lanes. */
  uint32_t workgroup_id_x;  /**< Its work-group, x. */
  uint32_t workgroup_id_y;  /**< Its work-group, y. */
  uint32_t workgroup_id_z;  /**< Its work-group, z. */
  uint32_t wave_in_wg : 6;  /**< Its number in the work-group. */
  uint32_t reserved_wg : 2; /**< 0. */
  uint32_t chiplet : 3;     /**< Its compute die. */
  uint32_t reserved : 21;   /**< 0. */
  uint32_t hw_id;           /**< Where it ran: the generation's HW_ID register. */
  uint32_t reserved0;       /**< 0. */
  uint64_t reserved1;       /**< 0. */
  uint64_t timestamp;       /**< Ticks of the HSA system clock. */
  uint64_t correlation_id;  /**< Identifies the dispatch. */
} perf_sample_hosttrap_v1_t;

/** One sample of ::HSA_VEN_AMD_PCS_METHOD_STOCHASTIC_V1, 64 bytes as the trap handler writes them. Facts: H
 * C. */
typedef struct {
  uint64_t pc;                  /**< Address of the instruction that the wave was at. */
  uint64_t exec_mask;           /**< Its active lanes. */
  uint32_t workgroup_id_x;      /**< Its work-group, x. */
  uint32_t workgroup_id_y;      /**< Its work-group, y. */
  uint32_t workgroup_id_z;      /**< Its work-group, z. */
  uint32_t wave_in_wg : 6;      /**< Its number in the work-group. */
  uint32_t reserved_wg : 2;     /**< 0. */
  uint32_t chiplet : 3;         /**< Its compute die. */
  uint32_t reserved : 21;       /**< 0. */
  uint32_t hw_id;               /**< Where it ran: the generation's HW_ID register. */
  uint32_t perf_snapshot_data;  /**< Hardware's snapshot: issued or not, and why not. */
  uint32_t perf_snapshot_data1; /**< Snapshot, second word. */
  uint32_t perf_snapshot_data2; /**< Snapshot, third word. */
  uint64_t timestamp;           /**< Ticks of the HSA system clock. */
  uint64_t correlation_id;      /**< Identifies the dispatch. */
} perf_sample_snapshot_v1_t;

/** Ways to sample. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1,  /**< The driver traps waves; ::perf_sample_hosttrap_v1_t. */
  HSA_VEN_AMD_PCS_METHOD_STOCHASTIC_V1 /**< Hardware picks waves; ::perf_sample_snapshot_v1_t. */
} hsa_ven_amd_pcs_method_kind_t;

/** Units of the interval. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS, /**< Microseconds. */
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_CLOCK_CYCLES,  /**< Clock cycles of the agent. */
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS   /**< Instructions issued. */
} hsa_ven_amd_pcs_units_t;

/** The runtime's function that copies samples out; called by the client from within its data-ready function,
 * on the same thread. Successive calls deliver successive parts. What isn't fetched is kept for the next
 * data-ready call.
 *
 * @param[in] hsa_callback_data What the data-ready function was given.
 * @param[in] data_size Bytes wanted, a multiple of the sample size; 0 ends the fetching.
 * @param[out] destination Receives them; the client's memory.
 * @retval EXCEPTION That many aren't there.
 * @remark Facts: H C (C takes only the whole size in one call). */
typedef hsa_status_t (*hsa_ven_amd_pcs_data_copy_callback_t)(void* hsa_callback_data, size_t data_size,
                                                             void* destination);

/** The client's function for samples that are ready. It fetches them with @p data_copy_callback, at once or
 * in parts. One session's calls never overlap; they come on a thread of the runtime, or of the one that calls
 * ::hsa_ven_amd_pcs_flush. It must not call ::hsa_ven_amd_pcs_flush, nor stop or destroy the session.
 *
 * @param[in] client_callback_data What was given to create.
 * @param[in] data_size Bytes that are ready.
 * @param[in] lost_sample_count Samples lost for want of room since the last call.
 * @param[in] data_copy_callback Copies them out; valid during the call.
 * @param[in] hsa_callback_data To be passed to it.
 * @remark Facts: H C; stop and destroy: R. */
typedef void (*hsa_ven_amd_pcs_data_ready_callback_t)(void* client_callback_data, size_t data_size,
                                                      size_t lost_sample_count,
                                                      hsa_ven_amd_pcs_data_copy_callback_t data_copy_callback,
                                                      void* hsa_callback_data);

/** A session. Equal handles are the same session. Facts: H. */
typedef struct {
  uint64_t handle; /**< Opaque. */
} hsa_ven_amd_pcs_t;

/** Flags of a configuration. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_CONFIGURATION_FLAGS_INTERVAL_POWER_OF_2 = (1 << 0) /**< Only powers of two as interval. */
} hsa_ven_amd_pcs_configuration_flags_t;

/** A way to sample that an agent offers. Facts: H. */
typedef struct {
  hsa_ven_amd_pcs_method_kind_t method; /**< Method. */
  hsa_ven_amd_pcs_units_t units;        /**< Units of the interval. */
  size_t min_interval;                  /**< Shortest interval. */
  size_t max_interval;                  /**< Longest interval. */
  uint64_t flags;                       /**< Any of ::hsa_ven_amd_pcs_configuration_flags_t. */
} hsa_ven_amd_pcs_configuration_t;

/** Function for ::hsa_ven_amd_pcs_iterate_configuration.
 *
 * @param[in] configuration One of them; valid during the call.
 * @param[in] callback_data What was given.
 * @return HSA_STATUS_INFO_BREAK ends the iteration; anything else goes on.
 * @remark Facts: H C. */
typedef hsa_status_t (*hsa_ven_amd_pcs_iterate_configuration_callback_t)(
    const hsa_ven_amd_pcs_configuration_t* configuration, void* callback_data);

/** Calls a function for each way to sample that an agent offers at the moment: sessions, of any process, can
 * take some away.
 *
 * @param[in] agent A GPU.
 * @param[in] configuration_callback The function.
 * @param[in] callback_data Passed on; may be NULL.
 * @retval INVALID_AGENT @p agent is no GPU.
 * @retval INVALID_ARGUMENT @p configuration_callback is NULL.
 * @retval ERROR The driver can't sample.
 * @remark Facts: H C; NULL: R. */
hsa_status_t HSA_API hsa_ven_amd_pcs_iterate_configuration(
    hsa_agent_t agent, hsa_ven_amd_pcs_iterate_configuration_callback_t configuration_callback,
    void* callback_data);

/** Creates a session, which is stopped at first. It can take ways to sample away from others until
 * ::hsa_ven_amd_pcs_destroy.
 *
 * @param[in] agent A GPU.
 * @param[in] method With @p units and @p interval: one of the agent's configurations.
 * @param[in] units Units of the interval.
 * @param[in] interval Distance of the samples, not 0.
 * @param[in] latency How long the client takes to react, microseconds: the call comes that much earlier, so
 *   that nothing is lost meanwhile. 0 for no time at all.
 * @param[in] buffer_size Bytes of samples to be called for; a multiple of twice the sample size, and not 0.
 * @param[in] data_ready_callback Called when as much is ready, or at ::hsa_ven_amd_pcs_flush.
 * @param[in] client_callback_data Passed on; may be NULL.
 * @param[out] pc_sampling Receives the session.
 * @retval INVALID_AGENT @p agent is no GPU.
 * @retval INVALID_ARGUMENT A pointer is NULL, or it is no such configuration or size.
 * @retval RESOURCE_BUSY The agent serves another session that excludes this one.
 * @retval OUT_OF_RESOURCES No memory for the buffers.
 * @remark Facts: H C (H: a multiple of the sample size; C wants twice, and answers OUT_OF_RESOURCES when
 *   busy). */
hsa_status_t HSA_API hsa_ven_amd_pcs_create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                            hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency,
                                            size_t buffer_size,
                                            hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback,
                                            void* client_callback_data, hsa_ven_amd_pcs_t* pc_sampling);

/** ::hsa_ven_amd_pcs_create on a session that the caller has already made in the driver. Method, units and
 * interval must be those that it was made with. From now on it belongs to the runtime, which ends it in
 * ::hsa_ven_amd_pcs_destroy.
 *
 * @param[in] pcs_id The driver's number of it.
 * @param[in] agent The GPU that it is on.
 * @param[in] method Method.
 * @param[in] units Units of the interval.
 * @param[in] interval Distance of the samples.
 * @param[in] latency How long the client takes to react, microseconds.
 * @param[in] buffer_size Bytes of samples to be called for.
 * @param[in] data_ready_callback Called when as much is ready.
 * @param[in] client_callback_data Passed on; may be NULL.
 * @param[out] pc_sampling Receives the session.
 * @retval INVALID_AGENT, INVALID_ARGUMENT, RESOURCE_BUSY, OUT_OF_RESOURCES As there.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_create_from_id(uint32_t pcs_id, hsa_agent_t agent,
                                                    hsa_ven_amd_pcs_method_kind_t method,
                                                    hsa_ven_amd_pcs_units_t units, size_t interval,
                                                    size_t latency, size_t buffer_size,
                                                    hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback,
                                                    void* client_callback_data,
                                                    hsa_ven_amd_pcs_t* pc_sampling);

/** Ends a session, stopping it first. Samples not yet fetched are lost. No call to the client comes after it
 * returns.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT It is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_destroy(hsa_ven_amd_pcs_t pc_sampling);

/** Starts sampling; nothing happens if it is on already.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT It is not valid.
 * @retval RESOURCE_BUSY Another session of the same method is on.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_start(hsa_ven_amd_pcs_t pc_sampling);

/** Stops sampling; nothing happens if it is off already. Samples not yet fetched come with the next
 * data-ready call: after ::hsa_ven_amd_pcs_flush, or after another start.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT It is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_stop(hsa_ven_amd_pcs_t pc_sampling);

/** Delivers all samples taken before this call, and returns when the client's function has returned from the
 * last of them.
 *
 * @param[in] pc_sampling The session, on or off.
 * @retval INVALID_ARGUMENT It is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_flush(hsa_ven_amd_pcs_t pc_sampling);

/** Says that version 1.00 of the extension's table is declared. */
#define hsa_ven_amd_pc_sampling_1_00

/** Version 1.00 of the extension, as hsa_system_get_major_extension_table returns it; each member is the
 * function of its name. Facts: H. */
typedef struct hsa_ven_amd_pc_sampling_1_00_pfn_t {
  hsa_status_t (*hsa_ven_amd_pcs_iterate_configuration)(
      hsa_agent_t agent, hsa_ven_amd_pcs_iterate_configuration_callback_t configuration_callback,
      void* callback_data); /**< ::hsa_ven_amd_pcs_iterate_configuration */

  hsa_status_t (*hsa_ven_amd_pcs_create)(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                         hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency,
                                         size_t buffer_size,
                                         hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback,
                                         void* client_callback_data,
                                         hsa_ven_amd_pcs_t* pc_sampling); /**< ::hsa_ven_amd_pcs_create */

  hsa_status_t (*hsa_ven_amd_pcs_create_from_id)(
      uint32_t pcs_id, hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method, hsa_ven_amd_pcs_units_t units,
      size_t interval, size_t latency, size_t buffer_size,
      hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback, void* client_callback_data,
      hsa_ven_amd_pcs_t* pc_sampling); /**< ::hsa_ven_amd_pcs_create_from_id */

  hsa_status_t (*hsa_ven_amd_pcs_destroy)(hsa_ven_amd_pcs_t pc_sampling); /**< ::hsa_ven_amd_pcs_destroy */
  hsa_status_t (*hsa_ven_amd_pcs_start)(hsa_ven_amd_pcs_t pc_sampling);   /**< ::hsa_ven_amd_pcs_start */
  hsa_status_t (*hsa_ven_amd_pcs_stop)(hsa_ven_amd_pcs_t pc_sampling);    /**< ::hsa_ven_amd_pcs_stop */
  hsa_status_t (*hsa_ven_amd_pcs_flush)(hsa_ven_amd_pcs_t pc_sampling);   /**< ::hsa_ven_amd_pcs_flush */
} hsa_ven_amd_pc_sampling_1_00_pfn_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_VEN_AMD_PC_SAMPLING_H
