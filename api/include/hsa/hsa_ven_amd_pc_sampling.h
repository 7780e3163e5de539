// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * PC sampling (HSA_EXTENSION_AMD_PC_SAMPLING 1.0, experimental): records the program counters of a GPU's
 * waves at regular intervals. A client creates a session, starts it, stops it, flushes it and destroys it.
 * While it exists, a thread of the runtime calls the client when a buffer is full.
 *
 * The rules at the top of hsa.h and hsa_ext_amd.h apply. "Facts" names sources: H, AMD's public header; C,
 * ROCr's code; R, Rigel's rule.
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
  uint64_t pc;              /**< Address of the wave's current instruction. */
  uint64_t exec_mask;       /**< Active lanes of the wave. */
  uint32_t workgroup_id_x;  /**< Work-group of the wave, x. */
  uint32_t workgroup_id_y;  /**< Work-group of the wave, y. */
  uint32_t workgroup_id_z;  /**< Work-group of the wave, z. */
  uint32_t wave_in_wg : 6;  /**< Number of the wave in its work-group. */
  uint32_t reserved_wg : 2; /**< 0. */
  uint32_t chiplet : 3;     /**< Compute die of the wave. */
  uint32_t reserved : 21;   /**< 0. */
  uint32_t hw_id;           /**< HW_ID register: place of the wave. */
  uint32_t reserved0;       /**< 0. */
  uint64_t reserved1;       /**< 0. */
  uint64_t timestamp;       /**< Ticks of the HSA system clock. */
  uint64_t correlation_id;  /**< Identifier of the dispatch. */
} perf_sample_hosttrap_v1_t;

/** One sample of ::HSA_VEN_AMD_PCS_METHOD_STOCHASTIC_V1, 64 bytes as the trap handler writes them. Facts: H
 * C. */
typedef struct {
  uint64_t pc;                  /**< Address of the wave's current instruction. */
  uint64_t exec_mask;           /**< Active lanes of the wave. */
  uint32_t workgroup_id_x;      /**< Work-group of the wave, x. */
  uint32_t workgroup_id_y;      /**< Work-group of the wave, y. */
  uint32_t workgroup_id_z;      /**< Work-group of the wave, z. */
  uint32_t wave_in_wg : 6;      /**< Number of the wave in its work-group. */
  uint32_t reserved_wg : 2;     /**< 0. */
  uint32_t chiplet : 3;         /**< Compute die of the wave. */
  uint32_t reserved : 21;       /**< 0. */
  uint32_t hw_id;               /**< HW_ID register: place of the wave. */
  uint32_t perf_snapshot_data;  /**< Hardware's snapshot: issued, or the reason. */
  uint32_t perf_snapshot_data1; /**< Snapshot, second word. */
  uint32_t perf_snapshot_data2; /**< Snapshot, third word. */
  uint64_t timestamp;           /**< Ticks of the HSA system clock. */
  uint64_t correlation_id;      /**< Identifier of the dispatch. */
} perf_sample_snapshot_v1_t;

/** Sampling methods. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1,  /**< The driver traps waves; ::perf_sample_hosttrap_v1_t. */
  HSA_VEN_AMD_PCS_METHOD_STOCHASTIC_V1 /**< Hardware selects waves; ::perf_sample_snapshot_v1_t. */
} hsa_ven_amd_pcs_method_kind_t;

/** Units of the interval. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS, /**< Microseconds. */
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_CLOCK_CYCLES,  /**< Clock cycles of the agent. */
  HSA_VEN_AMD_PCS_INTERVAL_UNITS_INSTRUCTIONS   /**< Number of issued instructions. */
} hsa_ven_amd_pcs_units_t;

/** The runtime's function that copies samples. The client calls it from its data-ready function, on the same
 * thread. Successive calls return successive parts. The runtime keeps the rest for the next data-ready call.
 *
 * @param[in] hsa_callback_data Argument of the data-ready function.
 * @param[in] data_size Number of bytes, a multiple of the sample size; 0 ends the copying.
 * @param[out] destination Receives the samples; memory of the client.
 * @retval EXCEPTION Fewer bytes are ready.
 * @remark Facts: H C (C takes only the whole size in one call). */
typedef hsa_status_t (*hsa_ven_amd_pcs_data_copy_callback_t)(void* hsa_callback_data, size_t data_size,
                                                             void* destination);

/** The client's function for samples that are ready. It copies them with @p data_copy_callback, in one or
 * several calls. Threads: calls for one session never overlap. The caller is a thread of the runtime, or the
 * thread that calls ::hsa_ven_amd_pcs_flush. The function must not call ::hsa_ven_amd_pcs_flush, and must not
 * stop or destroy the session.
 *
 * @param[in] client_callback_data Argument of ::hsa_ven_amd_pcs_create.
 * @param[in] data_size Number of bytes that are ready.
 * @param[in] lost_sample_count Number of samples lost since the last call, because the buffers were full,
 *   memory was exhausted, or a dispatch had more samples than the driver keeps.
 * @param[in] data_copy_callback Copies the samples; valid during the call.
 * @param[in] hsa_callback_data Argument for @p data_copy_callback.
 * @remark Facts: H C; stop, destroy and the driver's limit: R. */
typedef void (*hsa_ven_amd_pcs_data_ready_callback_t)(void* client_callback_data, size_t data_size,
                                                      size_t lost_sample_count,
                                                      hsa_ven_amd_pcs_data_copy_callback_t data_copy_callback,
                                                      void* hsa_callback_data);

/** A session. Equal handles refer to the same session. Facts: H. */
typedef struct {
  uint64_t handle; /**< Opaque. */
} hsa_ven_amd_pcs_t;

/** Flags of a configuration. Facts: H. */
typedef enum {
  HSA_VEN_AMD_PCS_CONFIGURATION_FLAGS_INTERVAL_POWER_OF_2 = (1 << 0) /**< The interval is a power of two. */
} hsa_ven_amd_pcs_configuration_flags_t;

/** A configuration for sampling that an agent supports. Facts: H. */
typedef struct {
  hsa_ven_amd_pcs_method_kind_t method; /**< Method. */
  hsa_ven_amd_pcs_units_t units;        /**< Units of the interval. */
  size_t min_interval;                  /**< Minimum interval. */
  size_t max_interval;                  /**< Maximum interval. */
  uint64_t flags;                       /**< ::hsa_ven_amd_pcs_configuration_flags_t, combined. */
} hsa_ven_amd_pcs_configuration_t;

/** Function for ::hsa_ven_amd_pcs_iterate_configuration.
 *
 * @param[in] configuration A configuration; valid during the call.
 * @param[in] callback_data The argument of ::hsa_ven_amd_pcs_iterate_configuration.
 * @return HSA_STATUS_INFO_BREAK ends the iteration; any other status continues it.
 * @remark Facts: H C. */
typedef hsa_status_t (*hsa_ven_amd_pcs_iterate_configuration_callback_t)(
    const hsa_ven_amd_pcs_configuration_t* configuration, void* callback_data);

/** Calls a function for each configuration that an agent supports at the moment. Sessions of any process can
 * make configurations unavailable.
 *
 * @param[in] agent A GPU.
 * @param[in] configuration_callback The function.
 * @param[in] callback_data Argument for @p configuration_callback; may be NULL.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_ARGUMENT @p configuration_callback is NULL.
 * @retval ERROR The driver does not support sampling.
 * @remark Facts: H C; NULL: R. */
hsa_status_t HSA_API hsa_ven_amd_pcs_iterate_configuration(
    hsa_agent_t agent, hsa_ven_amd_pcs_iterate_configuration_callback_t configuration_callback,
    void* callback_data);

/** Creates a session in the stopped state. Until ::hsa_ven_amd_pcs_destroy, it can make configurations
 * unavailable for others.
 *
 * @param[in] agent A GPU.
 * @param[in] method Method. With @p units and @p interval, it must match a configuration of the agent.
 * @param[in] units Units of the interval.
 * @param[in] interval Interval between samples, not 0.
 * @param[in] latency Time that the client needs to react, microseconds. The runtime calls the client earlier
 *   by this time, so that no samples are lost. 0 for none.
 * @param[in] buffer_size Bytes of samples per call; a multiple of twice the sample size, not 0.
 * @param[in] data_ready_callback Called when @p buffer_size bytes are ready, and by ::hsa_ven_amd_pcs_flush.
 * @param[in] client_callback_data Argument for @p data_ready_callback; may be NULL.
 * @param[out] pc_sampling Receives the session.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_ARGUMENT A pointer is NULL, or the configuration or the buffer size is invalid.
 * @retval RESOURCE_BUSY The agent has another session that excludes this one.
 * @retval OUT_OF_RESOURCES Memory for the buffers cannot be allocated.
 * @remark Facts: H C (H requires a multiple of the sample size; C requires twice that, and returns
 *   OUT_OF_RESOURCES if the agent is busy). */
hsa_status_t HSA_API hsa_ven_amd_pcs_create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t method,
                                            hsa_ven_amd_pcs_units_t units, size_t interval, size_t latency,
                                            size_t buffer_size,
                                            hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback,
                                            void* client_callback_data, hsa_ven_amd_pcs_t* pc_sampling);

/** Creates a session like ::hsa_ven_amd_pcs_create from a session that the caller has created in the driver.
 * Method, units and interval must be those of the driver's session. The runtime then owns that session and
 * ends it in ::hsa_ven_amd_pcs_destroy.
 *
 * @param[in] pcs_id The driver's number of the session.
 * @param[in] agent The GPU of the session.
 * @param[in] method Method.
 * @param[in] units Units of the interval.
 * @param[in] interval Interval between samples.
 * @param[in] latency Time that the client needs to react, microseconds.
 * @param[in] buffer_size Bytes of samples per call.
 * @param[in] data_ready_callback Called when @p buffer_size bytes are ready.
 * @param[in] client_callback_data Argument for @p data_ready_callback; may be NULL.
 * @param[out] pc_sampling Receives the session.
 * @retval INVALID_AGENT, INVALID_ARGUMENT, RESOURCE_BUSY, OUT_OF_RESOURCES As for ::hsa_ven_amd_pcs_create.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_create_from_id(uint32_t pcs_id, hsa_agent_t agent,
                                                    hsa_ven_amd_pcs_method_kind_t method,
                                                    hsa_ven_amd_pcs_units_t units, size_t interval,
                                                    size_t latency, size_t buffer_size,
                                                    hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback,
                                                    void* client_callback_data,
                                                    hsa_ven_amd_pcs_t* pc_sampling);

/** Stops and destroys a session. Samples that the client has not copied are lost. After the function returns,
 * the runtime does not call the client.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT @p pc_sampling is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_destroy(hsa_ven_amd_pcs_t pc_sampling);

/** Starts sampling. Does nothing if sampling is already on.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT @p pc_sampling is not valid.
 * @retval RESOURCE_BUSY Another session of the same method is on.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_start(hsa_ven_amd_pcs_t pc_sampling);

/** Stops sampling. Does nothing if sampling is already off. The next data-ready call delivers samples that
 * the client has not copied: after ::hsa_ven_amd_pcs_flush, or after another start.
 *
 * @param[in] pc_sampling The session.
 * @retval INVALID_ARGUMENT @p pc_sampling is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_stop(hsa_ven_amd_pcs_t pc_sampling);

/** Delivers all samples taken before this call. Returns after the client's function has returned from its
 * last call.
 *
 * @param[in] pc_sampling The session, on or off.
 * @retval INVALID_ARGUMENT @p pc_sampling is not valid.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_ven_amd_pcs_flush(hsa_ven_amd_pcs_t pc_sampling);

/** Defined if the header declares version 1.00 of the extension's table. */
#define hsa_ven_amd_pc_sampling_1_00

/** Functions of version 1.00 of the extension, for hsa_system_get_major_extension_table. Each member is
 * the function of its name. Facts: H. */
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
