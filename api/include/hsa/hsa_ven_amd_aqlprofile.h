// SPDX-License-Identifier: MIT

/**
 * @file
 * AMD extension "aqlprofile", version 1: packets that start, read and stop performance counters and thread
 * traces of a GPU. For profilers. hsa_system_get_major_extension_table with HSA_EXTENSION_AMD_AQLPROFILE
 * fills in ::hsa_ven_amd_aqlprofile_pfn_t: from AMD's library, libhsa-amd-aqlprofile64.so, if it is
 * installed; otherwise with the runtime's functions. The runtime's support the events that a GPU's backend
 * counts, and no thread traces.
 *
 * Order of use:
 *
 *  1. Fill in an ::hsa_ven_amd_aqlprofile_profile_t without buffers and call ::hsa_ven_amd_aqlprofile_start,
 *    which returns the required sizes of the buffers.
 *  2. Allocate the buffers and call it again: it returns the start packet.
 *  3. Submit that packet before the kernels in their queue, and the packet from ::hsa_ven_amd_aqlprofile_stop
 *    after them.
 *  4. Wait for the stop packet, then iterate over the results.
 *
 * The rules of hsa.h apply. The application owns the profile, events, parameters and buffers, and does not
 * change them from the start until the results are read. Calls for one profile must not overlap. A function
 * that fails returns HSA_STATUS_ERROR; ::hsa_ven_amd_aqlprofile_error_string returns the reason. The
 * runtime's functions return the status that fits, for example INVALID_ARGUMENT for an event that is not
 * supported.
 */

#ifndef OPENSRC_HSA_RUNTIME_INC_HSA_VEN_AMD_AQLPROFILE_H_
#define OPENSRC_HSA_RUNTIME_INC_HSA_VEN_AMD_AQLPROFILE_H_

#include <stdint.h>

#include "hsa.h"

/** Major version of the library that this header describes. */
#define HSA_AQLPROFILE_VERSION_MAJOR 2
/** Minor version of the library that this header describes. */
#define HSA_AQLPROFILE_VERSION_MINOR 0

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the major version of the library in use. */
uint32_t hsa_ven_amd_aqlprofile_version_major(void);
/** Returns the minor version of the library in use. */
uint32_t hsa_ven_amd_aqlprofile_version_minor(void);

/** Kinds of profile. */
typedef enum {
  /** Performance counters. */
  HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC = 0,
  /** A trace of waves. */
  HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_TRACE = 1,
} hsa_ven_amd_aqlprofile_event_type_t;

/** Kinds of hardware block with counters. All instances of a kind have one name. A GPU may lack some kinds.
 */
typedef enum {
  /** Command processor, compute. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC = 0,
  /** Command processor, fetcher. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF = 1,
  /** Global data share. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GDS = 2,
  /** Register bus manager: which blocks are busy. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM = 3,
  /** Register bus manager of a shader engine. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBMSE = 4,
  /** Launcher of waves. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI = 5,
  /** Sequencer: issues instructions. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ = 6,
  /** Sequencer, counting compute waves only. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQCS = 7,
  /** System register bus manager. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SRBM = 8,
  /** Shader export. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SX = 9,
  /** Texture addresses: vector memory instructions before the first-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA = 10,
  /** Arbiter of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA = 11,
  /** Channel of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC = 12,
  /** First-level vector cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP = 13,
  /** Texture data: results of vector memory instructions after the first-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD = 14,

  // Memory.
  /** Memory controller, arbiter. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCARB = 15,
  /** Memory controller, hub. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCHUB = 16,
  /** Memory controller, virtual memory. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCMCBVM = 17,
  /** Memory controller, sequencer. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCSEQ = 18,
  /** Memory controller, second-level translation cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCVML2 = 19,
  /** Memory controller, crossbar. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MCXBAR = 20,
  /** Address translation cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_ATC = 21,
  /** Second-level address translation cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_ATCL2 = 22,
  /** Between graphics caches and memory. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCEA = 23,
  /** Between the memory hub and requests to the host. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_RPB = 24,

  // System.
  /** Copy engine. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SDMA = 25,

  // From gfx10 on.
  /** Arbiter of the cache of a shader array. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1A = 26,
  /** Cache of a shader array. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL1C = 27,
  /** Arbiter of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2A = 28,
  /** Channel of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GL2C = 29,
  /** Cache maintenance requests. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GCR = 30,
  /** Between fixed-function blocks and memory. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GUS = 31,

  // Memory, of recent accelerators.
  /** Memory controller of a channel. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_UMC = 32,
  /** Between the multimedia hub and memory. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_MMEA = 33,

  /** Number of kinds. */
  HSA_VEN_AMD_AQLPROFILE_BLOCKS_NUMBER
} hsa_ven_amd_aqlprofile_block_name_t;

/** A counter. */
typedef struct {
  /** Kind of block. */
  hsa_ven_amd_aqlprofile_block_name_t block_name;
  /** Instance of the block, from 0. */
  uint32_t block_index;
  /** Selector of the counter, from the GPU's counter guide. */
  uint32_t counter_id;
} hsa_ven_amd_aqlprofile_event_t;

/**
 * Reports whether a GPU has a counter.
 *
 * @param agent [in] the GPU.
 * @param event [in] the counter. Not NULL.
 * @param result [out] true if the GPU has the counter. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_validate_event(hsa_agent_t agent,
                                                   const hsa_ven_amd_aqlprofile_event_t* event, bool* result);

/** Settings of a profile. A setting that does not apply to the GPU or to the kind of profile is an error. */
typedef enum {
  /** Trace: compute unit, or work-group processor, to record. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_COMPUTE_UNIT_TARGET = 0,
  /** Trace: mask of VMIDs to record. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_VM_ID_MASK = 1,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_MASK = 2,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_TOKEN_MASK = 3,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_TOKEN_MASK2 = 4,
  /** Mask of shader engines to record. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SE_MASK = 5,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SAMPLE_RATE = 6,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_K_CONCURRENT = 7,
  /** Trace: SIMDs to record; a mask on gfx9, a number from gfx10 on. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SIMD_SELECTION = 8,
  /** Trace: if not 0, record only the starts and ends of waves. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_OCCUPANCY_MODE = 9,
  /** Trace: maximum amount of data, in MiB, for all shader engines. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_ATT_BUFFER_SIZE = 10,
  /** Counters in a trace (gfx9): mask of compute units that count. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_MASK = 240,
  /** Counters in a trace (gfx9): interval between samples. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_CTRL = 241,
  /** Counters in a trace (gfx9): selector of an SQ counter. Once for each counter. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_NAME = 242,
} hsa_ven_amd_aqlprofile_parameter_name_t;

/** A setting and its value. */
typedef struct {
  /** The setting. */
  hsa_ven_amd_aqlprofile_parameter_name_t parameter_name;
  /** Value of the setting. */
  uint32_t value;
} hsa_ven_amd_aqlprofile_parameter_t;

/** Channels of a trace for markers. */
typedef enum {
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_0 = 0,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_1,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_2,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_3
} hsa_ven_amd_aqlprofile_att_marker_channel_t;

/** Memory of the application. */
typedef struct {
  /** Address of the memory. */
  void* ptr;
  /** Size in bytes. */
  uint32_t size;
} hsa_ven_amd_aqlprofile_descriptor_t;

/** Description of a profile: GPU, kind, counters, settings and buffers. */
typedef struct {
  /** The GPU. */
  hsa_agent_t agent;
  /** Kind of the profile. */
  hsa_ven_amd_aqlprofile_event_type_t type;
  /** Counters; in a trace, counters that are sampled into it. May be NULL if there are none. */
  const hsa_ven_amd_aqlprofile_event_t* events;
  /** Number of counters. */
  uint32_t event_count;
  /** Settings. May be NULL if there are none. */
  const hsa_ven_amd_aqlprofile_parameter_t* parameters;
  /** Number of settings. */
  uint32_t parameter_count;
  /** Buffer for the collected data. GPU and host must have access. */
  hsa_ven_amd_aqlprofile_descriptor_t output_buffer;
  /** Buffer for the library's commands, which packets refer to. The GPU must have access. */
  hsa_ven_amd_aqlprofile_descriptor_t command_buffer;
} hsa_ven_amd_aqlprofile_profile_t;

/**
 * A vendor-specific AQL packet that executes PM4 commands. 64 bytes. The library fills in @c pm4_command; the
 * application sets header and completion signal.
 */
typedef struct {
  /** AQL header of type HSA_PACKET_TYPE_VENDOR_SPECIFIC. */
  uint16_t header;
  /** PM4 commands. */
  uint16_t pm4_command[27];
  /** Signal that is decremented when the commands are complete. May be 0. */
  hsa_signal_t completion_signal;
} hsa_ext_amd_aql_pm4_packet_t;

/**
 * Returns the required sizes of buffers. If the profile has buffers, also creates the packet that starts
 * collection.
 *
 * @param profile [in,out] the profile. If a buffer is too small, its size is set to the required size. Not
 *   NULL.
 * @param aql_start_packet [out] the packet. May be NULL while the profile has no command buffer.
 * @retval INVALID_ARGUMENT a buffer is too small, or the kind of profile or a setting is unknown.
 */
hsa_status_t hsa_ven_amd_aqlprofile_start(hsa_ven_amd_aqlprofile_profile_t* profile,
                                          hsa_ext_amd_aql_pm4_packet_t* aql_start_packet);

/**
 * Creates the packet that ends collection and writes the results to the output buffer.
 *
 * @param profile [in] the profile that was started. Not NULL.
 * @param aql_stop_packet [out] the packet. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_stop(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* aql_stop_packet);

/**
 * Creates the packet that writes the current results to the output buffer and continues collection. Counters
 * only. Fails if AQLPROFILE_READ_API=0 is set in the library's environment.
 *
 * @param profile [in] the profile that was started. Not NULL.
 * @param aql_read_packet [out] the packet. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_read(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* aql_read_packet);

/** Bytes that ::hsa_ven_amd_aqlprofile_legacy_get_pm4 writes: three AQL slots. */
static const unsigned HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE = 192;

/**
 * Converts a packet to raw PM4, for queues without this vendor-specific packet (gfx8 and older). Write its
 * first word last, like an AQL header. Fails if the library does not support such GPUs.
 *
 * @param aql_packet [in] packet of the library. Not NULL.
 * @param data [out] buffer of ::HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE bytes. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t* aql_packet,
                                                   void* data);

/**
 * Creates the packet that writes a marker into a trace: a value that the application can search for.
 *
 * @param profile [in,out] the profile that was started. Not NULL.
 * @param aql_marker_packet [out] the packet. Not NULL.
 * @param data [in] the value.
 * @param channel [in] channel of the marker.
 */
hsa_status_t hsa_ven_amd_aqlprofile_att_marker(hsa_ven_amd_aqlprofile_profile_t* profile,
                                               hsa_ext_amd_aql_pm4_packet_t* aql_marker_packet, uint32_t data,
                                               hsa_ven_amd_aqlprofile_att_marker_channel_t channel);

// C99 has no unnamed unions, and C++ allows no types within them. The compilers accept both as extensions.
#if defined(__GNUC__)
#define AQLPROFILE_UNNAMED_ __extension__
#else
#define AQLPROFILE_UNNAMED_
#endif

/** A result. Counters have 64 bits. */
typedef struct {
  /**
   * Instance of a counter's block, or number of a trace's buffer. UINT32_MAX in a request: all.
   */
  uint32_t sample_id;
  AQLPROFILE_UNNAMED_ union {
    /** For counters. */
    struct {
      /** The counter. */
      hsa_ven_amd_aqlprofile_event_t event;
      /** Value of the counter. */
      uint64_t result;
    } pmc_data;
    /** For traces: the part of the output buffer with the trace. */
    hsa_ven_amd_aqlprofile_descriptor_t trace_data;
  };
} hsa_ven_amd_aqlprofile_info_data_t;

#undef AQLPROFILE_UNNAMED_

/** Request for a block by name. */
typedef struct {
  /** Name: set by the application, a null-terminated string. */
  const char* name;
  /** An ::hsa_ven_amd_aqlprofile_block_name_t. */
  uint32_t id;
  /** Number of instances. */
  uint32_t instance_count;
} hsa_ven_amd_aqlprofile_id_query_t;

/** Attributes of a profile, and kinds of result. */
typedef enum {
  /** Approximate size of the command buffer, in bytes. Type uint32_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_COMMAND_BUFFER_SIZE = 0,
  /** Approximate size of the output buffer for counters, in bytes. Type uint32_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA_SIZE = 1,
  /**
   * Value of a counter. The request has `sample_id` (UINT32_MAX: the sum) and `pmc_data.event`. Type
   * ::hsa_ven_amd_aqlprofile_info_data_t.
   */
  HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA = 2,
  /** A trace. The request has `sample_id`. Type ::hsa_ven_amd_aqlprofile_info_data_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_TRACE_DATA = 3,
  /**
   * Number of counters that a block can run at the same time. The request is the profile's first event.
   * Type uint32_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS = 4,
  /** A block by its name. Type ::hsa_ven_amd_aqlprofile_id_query_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID = 5,
  /**
   * Packet that enables counters. Type ::hsa_ext_amd_aql_pm4_packet_t. Without a command buffer, the function
   * only sets its size.
   */
  HSA_VEN_AMD_AQLPROFILE_INFO_ENABLE_CMD = 6,
  /** Packet that disables counters, with the rules of ENABLE_CMD. */
  HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD = 7,
} hsa_ven_amd_aqlprofile_info_type_t;

/**
 * Receives a result.
 *
 * @param info_type [in] kind of result.
 * @param info_data [in] the result. Valid during the call.
 * @param callback_data [in,out] argument of ::hsa_ven_amd_aqlprofile_iterate_data.
 * @return HSA_STATUS_INFO_BREAK ends the iteration with success. Any other status except HSA_STATUS_SUCCESS
 *   ends it, and the iteration returns it.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_data_callback_t)(hsa_ven_amd_aqlprofile_info_type_t info_type,
                                                               hsa_ven_amd_aqlprofile_info_data_t* info_data,
                                                               void* callback_data);

/**
 * Returns an attribute of a profile.
 *
 * @param profile [in] the profile. Not NULL.
 * @param attribute [in] the attribute.
 * @param value [in,out] buffer of the attribute's type, which also contains the request. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_get_info(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                             hsa_ven_amd_aqlprofile_info_type_t attribute, void* value);

/**
 * Calls a function for every result, in the calling thread. The stop or read packet must be complete.
 *
 * @param profile [in] the profile. Not NULL.
 * @param callback [in] receives the results. Not NULL.
 * @param data [in,out] argument for `callback`. May be NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                 hsa_ven_amd_aqlprofile_data_callback_t callback, void* data);

/**
 * Returns the reason of the last failure.
 *
 * @param str [out] a null-terminated string that the library owns. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_error_string(const char** str);

/**
 * Receives the name of a dimension in which instances of a block are counted: shader engine, channel and so
 * on.
 *
 * @param id [in] number of the dimension.
 * @param name [in] name of the dimension, null-terminated.
 * @return HSA_STATUS_SUCCESS.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_eventname_callback_t)(int id, const char* name);

/** Calls a function for every dimension, in the calling thread. The callback must not be NULL. */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_event_ids(hsa_ven_amd_aqlprofile_eventname_callback_t);

/**
 * Receives one coordinate of an instance.
 *
 * @param position [in] number of the call, from 0.
 * @param id [in] number of the dimension.
 * @param extent [in] number of values in this dimension.
 * @param coordinate [in] coordinate of the instance: 0 to `extent` - 1.
 * @param name [in] name of the dimension, null-terminated.
 * @param userdata [in] argument of ::hsa_ven_amd_aqlprofile_iterate_event_coord.
 * @return HSA_STATUS_SUCCESS.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_coordinate_callback_t)(int position, int id, int extent,
                                                                     int coordinate, const char* name,
                                                                     void* userdata);

/**
 * Calls a function for every coordinate of the instance of a result, in the calling thread.
 *
 * @param agent [in] the GPU.
 * @param event [in] the counter.
 * @param sample_id [in] hsa_ven_amd_aqlprofile_info_data_t::sample_id of the result.
 * @param callback [in] receives the coordinates. Not NULL.
 * @param userdata [in] argument for `callback`. May be NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_event_coord(hsa_agent_t agent,
                                                        hsa_ven_amd_aqlprofile_event_t event,
                                                        uint32_t sample_id,
                                                        hsa_ven_amd_aqlprofile_coordinate_callback_t callback,
                                                        void* userdata);

/** Major version of the extension, for hsa_system_get_major_extension_table. */
#define hsa_ven_amd_aqlprofile_VERSION_MAJOR 1
/** File name of the library with a suffix: "64" for 64-bit programs, "" for others. */
#define hsa_ven_amd_aqlprofile_LIB(suff) "libhsa-amd-aqlprofile" suff ".so"

/** File name of the library for programs of this word size. */
#ifdef HSA_LARGE_MODEL
static const char kAqlProfileLib[] = hsa_ven_amd_aqlprofile_LIB("64");
#else
static const char kAqlProfileLib[] = hsa_ven_amd_aqlprofile_LIB("");
#endif

/**
 * Functions of the extension, for hsa_system_get_major_extension_table. Each member is the function of the
 * same name.
 */
typedef struct hsa_ven_amd_aqlprofile_1_00_pfn_s {
  uint32_t (*hsa_ven_amd_aqlprofile_version_major)(void);
  uint32_t (*hsa_ven_amd_aqlprofile_version_minor)(void);
  hsa_status_t (*hsa_ven_amd_aqlprofile_error_string)(const char** str);
  hsa_status_t (*hsa_ven_amd_aqlprofile_validate_event)(hsa_agent_t agent,
                                                        const hsa_ven_amd_aqlprofile_event_t* event,
                                                        bool* result);
  hsa_status_t (*hsa_ven_amd_aqlprofile_start)(hsa_ven_amd_aqlprofile_profile_t* profile,
                                               hsa_ext_amd_aql_pm4_packet_t* aql_start_packet);
  hsa_status_t (*hsa_ven_amd_aqlprofile_stop)(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                              hsa_ext_amd_aql_pm4_packet_t* aql_stop_packet);
  hsa_status_t (*hsa_ven_amd_aqlprofile_read)(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                              hsa_ext_amd_aql_pm4_packet_t* aql_read_packet);
  hsa_status_t (*hsa_ven_amd_aqlprofile_legacy_get_pm4)(const hsa_ext_amd_aql_pm4_packet_t* aql_packet,
                                                        void* data);
  hsa_status_t (*hsa_ven_amd_aqlprofile_get_info)(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                  hsa_ven_amd_aqlprofile_info_type_t attribute, void* value);
  hsa_status_t (*hsa_ven_amd_aqlprofile_iterate_data)(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                      hsa_ven_amd_aqlprofile_data_callback_t callback,
                                                      void* data);
  hsa_status_t (*hsa_ven_amd_aqlprofile_iterate_event_ids)(hsa_ven_amd_aqlprofile_eventname_callback_t);
  hsa_status_t (*hsa_ven_amd_aqlprofile_iterate_event_coord)(
      hsa_agent_t agent, hsa_ven_amd_aqlprofile_event_t event, uint32_t sample_id,
      hsa_ven_amd_aqlprofile_coordinate_callback_t callback, void* userdata);
  hsa_status_t (*hsa_ven_amd_aqlprofile_att_marker)(hsa_ven_amd_aqlprofile_profile_t* profile,
                                                    hsa_ext_amd_aql_pm4_packet_t* aql_marker_packet,
                                                    uint32_t data,
                                                    hsa_ven_amd_aqlprofile_att_marker_channel_t channel);
} hsa_ven_amd_aqlprofile_1_00_pfn_t;

/** Functions of the latest version that this header describes. */
typedef hsa_ven_amd_aqlprofile_1_00_pfn_t hsa_ven_amd_aqlprofile_pfn_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // OPENSRC_HSA_RUNTIME_INC_HSA_VEN_AMD_AQLPROFILE_H_
