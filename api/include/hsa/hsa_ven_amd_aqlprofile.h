// SPDX-License-Identifier: MIT

/**
 * @file
 * AMD extension "aqlprofile", version 1: packets that start, read and stop performance counters and thread
 * traces of a GPU. Profilers use it; the functions live in a library of their own,
 * libhsa-amd-aqlprofile64.so, which is not part of this runtime. hsa_system_get_major_extension_table with
 * HSA_EXTENSION_AMD_AQLPROFILE fills in ::hsa_ven_amd_aqlprofile_pfn_t from it where it is installed, and
 * fails where it isn't.
 *
 * How it is used. Fill in an ::hsa_ven_amd_aqlprofile_profile_t without buffers and call
 * ::hsa_ven_amd_aqlprofile_start: it says how large they must be. Allocate them and call it again: it makes
 * the start packet. Put that before the kernels in their queue and the packet from
 * ::hsa_ven_amd_aqlprofile_stop after them; wait for the latter; iterate over the results.
 *
 * The rules of hsa.h hold. Profile, events, parameters and buffers belong to the application and stay as they
 * are from start until the results are read. Calls for one profile must not overlap. A function that can't do
 * what it is asked to returns HSA_STATUS_ERROR, and ::hsa_ven_amd_aqlprofile_error_string says why.
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

/** Major version of the library in use. */
uint32_t hsa_ven_amd_aqlprofile_version_major(void);
/** Minor version of the library in use. */
uint32_t hsa_ven_amd_aqlprofile_version_minor(void);

/** What a profile collects. */
typedef enum {
  /** Performance counters. */
  HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC = 0,
  /** A trace of what waves do. */
  HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_TRACE = 1,
} hsa_ven_amd_aqlprofile_event_type_t;

/**
 * Kinds of hardware block with counters. All instances of a kind have one name. Not every GPU has every kind.
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
  /** The same, for each shader engine. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBMSE = 4,
  /** Launches waves. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI = 5,
  /** Issues instructions. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ = 6,
  /** The same, counting compute waves only. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQCS = 7,
  /** System register bus manager. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SRBM = 8,
  /** Shader export. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SX = 9,
  /** Texture addresses: vector memory instructions on their way to the first cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA = 10,
  /** Arbiter of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCA = 11,
  /** Channel of the second-level cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC = 12,
  /** First-level vector cache. */
  HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP = 13,
  /** Texture data: results of vector memory instructions on their way back. */
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
  /** What is counted: the selector that the GPU's counter guide gives. */
  uint32_t counter_id;
} hsa_ven_amd_aqlprofile_event_t;

/**
 * Tells whether a GPU has a counter.
 *
 * @param agent [in] the GPU.
 * @param event [in] the counter. Not NULL.
 * @param result [out] true if it has. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_validate_event(hsa_agent_t agent,
                                                   const hsa_ven_amd_aqlprofile_event_t* event, bool* result);

/** Settings of a profile. One that does not apply to the GPU or the kind of profile is an error. */
typedef enum {
  /** Trace: compute unit, or work-group processor, to look at. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_COMPUTE_UNIT_TARGET = 0,
  /** Trace: set of VMIDs to look at. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_VM_ID_MASK = 1,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_MASK = 2,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_TOKEN_MASK = 3,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_TOKEN_MASK2 = 4,
  /** Set of shader engines to look at. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SE_MASK = 5,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SAMPLE_RATE = 6,
  /** @deprecated */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_K_CONCURRENT = 7,
  /** Trace: SIMDs to look at; a set on gfx9, a number from gfx10 on. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SIMD_SELECTION = 8,
  /** Trace: not 0: only when waves begin and end. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_OCCUPANCY_MODE = 9,
  /** Trace: most data to collect, in MiB, over all shader engines. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_ATT_BUFFER_SIZE = 10,
  /** Counters in a trace (gfx9): set of compute units that count. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_MASK = 240,
  /** Counters in a trace (gfx9): how often they are written. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_CTRL = 241,
  /** Counters in a trace (gfx9): selector of an SQ counter. Once for each counter. */
  HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_PERFCOUNTER_NAME = 242,
} hsa_ven_amd_aqlprofile_parameter_name_t;

/** A setting and its value. */
typedef struct {
  /** Which setting. */
  hsa_ven_amd_aqlprofile_parameter_name_t parameter_name;
  /** Its value. */
  uint32_t value;
} hsa_ven_amd_aqlprofile_parameter_t;

/** Channels of a trace that markers can go to. */
typedef enum {
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_0 = 0,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_1,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_2,
  HSA_VEN_AMD_AQLPROFILE_ATT_CHANNEL_3
} hsa_ven_amd_aqlprofile_att_marker_channel_t;

/** Memory of the application. */
typedef struct {
  /** Its address. */
  void* ptr;
  /** Its size in bytes. */
  uint32_t size;
} hsa_ven_amd_aqlprofile_descriptor_t;

/** What to collect, where, and with what memory. */
typedef struct {
  /** The GPU. */
  hsa_agent_t agent;
  /** What is collected. */
  hsa_ven_amd_aqlprofile_event_type_t type;
  /** Counters; in a trace, those that are sampled into it. May be NULL if there are none. */
  const hsa_ven_amd_aqlprofile_event_t* events;
  /** Number of counters. */
  uint32_t event_count;
  /** Settings. May be NULL if there are none. */
  const hsa_ven_amd_aqlprofile_parameter_t* parameters;
  /** Number of settings. */
  uint32_t parameter_count;
  /** Where the GPU puts what it collects. GPU and host must have access. */
  hsa_ven_amd_aqlprofile_descriptor_t output_buffer;
  /** Where the library puts the commands that packets refer to. The GPU must have access. */
  hsa_ven_amd_aqlprofile_descriptor_t command_buffer;
} hsa_ven_amd_aqlprofile_profile_t;

/**
 * A vendor-specific AQL packet that executes PM4 commands. 64 bytes. The library fills in @c pm4_command;
 * header and completion signal are the application's.
 */
typedef struct {
  /** AQL header of type HSA_PACKET_TYPE_VENDOR_SPECIFIC. */
  uint16_t header;
  /** PM4 commands. */
  uint16_t pm4_command[27];
  /** Decremented when the commands have been executed. May be 0. */
  hsa_signal_t completion_signal;
} hsa_ext_amd_aql_pm4_packet_t;

/**
 * Works out the sizes of buffers, and if there are buffers, makes the packet after which collection is on.
 *
 * @param profile [in,out] the profile. Sizes of buffers that are too small are set to what is needed. Not
 *        NULL.
 * @param aql_start_packet [out] the packet. May be NULL as long as the profile has no command buffer.
 * @retval INVALID_ARGUMENT a buffer is too small, or unknown kind of profile or setting.
 */
hsa_status_t hsa_ven_amd_aqlprofile_start(hsa_ven_amd_aqlprofile_profile_t* profile,
                                          hsa_ext_amd_aql_pm4_packet_t* aql_start_packet);

/**
 * Makes the packet that ends collection and writes the results to the output buffer.
 *
 * @param profile [in] the profile that was started. Not NULL.
 * @param aql_stop_packet [out] the packet. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_stop(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* aql_stop_packet);

/**
 * Makes the packet that writes the results so far to the output buffer and goes on collecting. Counters only;
 * fails if the library was told, by AQLPROFILE_READ_API=0 in its environment, that nobody will read.
 *
 * @param profile [in] the profile that was started. Not NULL.
 * @param aql_read_packet [out] the packet. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_read(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* aql_read_packet);

/** Bytes that ::hsa_ven_amd_aqlprofile_legacy_get_pm4 writes: three AQL slots. */
static const unsigned HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE = 192;

/**
 * Turns a packet into raw PM4 for queues that have no vendor-specific packet of this kind (gfx8 and older).
 * Its first word must be written last, as an AQL header is. A library without such GPUs fails.
 *
 * @param aql_packet [in] packet made by the library. Not NULL.
 * @param data [out] room for ::HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE bytes. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t* aql_packet,
                                                   void* data);

/**
 * Makes the packet that puts a value of the application's into a trace, by which it finds a place in it.
 *
 * @param profile [in,out] the profile that was started. Not NULL.
 * @param aql_marker_packet [out] the packet. Not NULL.
 * @param data [in] the value.
 * @param channel [in] where it goes.
 */
hsa_status_t hsa_ven_amd_aqlprofile_att_marker(hsa_ven_amd_aqlprofile_profile_t* profile,
                                               hsa_ext_amd_aql_pm4_packet_t* aql_marker_packet, uint32_t data,
                                               hsa_ven_amd_aqlprofile_att_marker_channel_t channel);

// C99 has no unnamed unions, and C++ no types within them, but for an extension of the compilers.
#if defined(__GNUC__)
#define AQLPROFILE_UNNAMED_ __extension__
#else
#define AQLPROFILE_UNNAMED_
#endif

/** A result. Counters have 64 bits. */
typedef struct {
  /**
   * Which of several: instance of a counter's block, or number of a trace's buffer. UINT32_MAX in a question:
   * all.
   */
  uint32_t sample_id;
  AQLPROFILE_UNNAMED_ union {
    /** If it is a counter's. */
    struct {
      /** The counter. */
      hsa_ven_amd_aqlprofile_event_t event;
      /** Its value. */
      uint64_t result;
    } pmc_data;
    /** If it is a trace's: the part of the output buffer that holds it. */
    hsa_ven_amd_aqlprofile_descriptor_t trace_data;
  };
} hsa_ven_amd_aqlprofile_info_data_t;

#undef AQLPROFILE_UNNAMED_

/** For finding a block by name. */
typedef struct {
  /** Its name: set by the application, a null-terminated string. */
  const char* name;
  /** Its ::hsa_ven_amd_aqlprofile_block_name_t. */
  uint32_t id;
  /** Number of instances. */
  uint32_t instance_count;
} hsa_ven_amd_aqlprofile_id_query_t;

/** What can be asked about a profile, and kinds of result. */
typedef enum {
  /** Rough size of the command buffer, in bytes. Type uint32_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_COMMAND_BUFFER_SIZE = 0,
  /** Rough size of the output buffer for counters, in bytes. Type uint32_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA_SIZE = 1,
  /**
   * Value of a counter: asked with `sample_id` (UINT32_MAX: the sum) and `pmc_data.event`. Type
   * ::hsa_ven_amd_aqlprofile_info_data_t.
   */
  HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA = 2,
  /** A trace: asked with `sample_id`. Type ::hsa_ven_amd_aqlprofile_info_data_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_TRACE_DATA = 3,
  /**
   * Number of counters that a block can run at a time. Asked with the profile's first event. Type uint32_t.
   */
  HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS = 4,
  /** A block by its name. Type ::hsa_ven_amd_aqlprofile_id_query_t. */
  HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID = 5,
  /**
   * Packet that turns counters on. Type ::hsa_ext_amd_aql_pm4_packet_t; without a command buffer, only its
   * size is set.
   */
  HSA_VEN_AMD_AQLPROFILE_INFO_ENABLE_CMD = 6,
  /** Packet that turns counters off. Otherwise the same. */
  HSA_VEN_AMD_AQLPROFILE_INFO_DISABLE_CMD = 7,
} hsa_ven_amd_aqlprofile_info_type_t;

/**
 * Gets a result.
 *
 * @param info_type [in] kind of result.
 * @param info_data [in] the result. Valid during the call.
 * @param callback_data [in,out] what was given for it.
 * @return HSA_STATUS_INFO_BREAK ends the iteration, which succeeds; any other but HSA_STATUS_SUCCESS ends it
 *        and is returned.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_data_callback_t)(hsa_ven_amd_aqlprofile_info_type_t info_type,
                                                               hsa_ven_amd_aqlprofile_info_data_t* info_data,
                                                               void* callback_data);

/**
 * Tells something about a profile.
 *
 * @param profile [in] the profile. Not NULL.
 * @param attribute [in] what is asked.
 * @param value [in,out] room for a value of the attribute's type, filled in as far as it is part of the
 *        question. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_get_info(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                             hsa_ven_amd_aqlprofile_info_type_t attribute, void* value);

/**
 * Calls back for every result, in the calling thread. The stop or read packet must have been executed.
 *
 * @param profile [in] the profile. Not NULL.
 * @param callback [in] gets the results. Not NULL.
 * @param data [in,out] passed to `callback`. May be NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                 hsa_ven_amd_aqlprofile_data_callback_t callback, void* data);

/**
 * Says what went wrong last.
 *
 * @param str [out] a null-terminated string of the library's. Not NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_error_string(const char** str);

/**
 * Gets the name of a dimension in which instances of a block are counted: shader engine, channel and so on.
 *
 * @param id [in] number of the dimension.
 * @param name [in] its name, null-terminated.
 * @return HSA_STATUS_SUCCESS.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_eventname_callback_t)(int id, const char* name);

/** Calls back for every dimension that there is, in the calling thread. The callback must not be NULL. */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_event_ids(hsa_ven_amd_aqlprofile_eventname_callback_t);

/**
 * Gets one coordinate of an instance.
 *
 * @param position [in] number of the call, from 0.
 * @param id [in] number of the dimension.
 * @param extent [in] number of values in this dimension.
 * @param coordinate [in] where the instance is: 0 to `extent` - 1.
 * @param name [in] name of the dimension, null-terminated.
 * @param userdata [in] what was given for it.
 * @return HSA_STATUS_SUCCESS.
 */
typedef hsa_status_t (*hsa_ven_amd_aqlprofile_coordinate_callback_t)(int position, int id, int extent,
                                                                     int coordinate, const char* name,
                                                                     void* userdata);

/**
 * Calls back for every coordinate of the instance that a result came from, in the calling thread.
 *
 * @param agent [in] the GPU.
 * @param event [in] the counter.
 * @param sample_id [in] hsa_ven_amd_aqlprofile_info_data_t::sample_id of the result.
 * @param callback [in] gets the coordinates. Not NULL.
 * @param userdata [in] passed to `callback`. May be NULL.
 */
hsa_status_t hsa_ven_amd_aqlprofile_iterate_event_coord(hsa_agent_t agent,
                                                        hsa_ven_amd_aqlprofile_event_t event,
                                                        uint32_t sample_id,
                                                        hsa_ven_amd_aqlprofile_coordinate_callback_t callback,
                                                        void* userdata);

/** Version of the extension, as it is asked for by hsa_system_get_major_extension_table. */
#define hsa_ven_amd_aqlprofile_VERSION_MAJOR 1
/** File name of the library, made from its suffix: "64" for 64-bit programs, "" for others. */
#define hsa_ven_amd_aqlprofile_LIB(suff) "libhsa-amd-aqlprofile" suff ".so"

/** File name of the library for programs of this word size. */
#ifdef HSA_LARGE_MODEL
static const char kAqlProfileLib[] = hsa_ven_amd_aqlprofile_LIB("64");
#else
static const char kAqlProfileLib[] = hsa_ven_amd_aqlprofile_LIB("");
#endif

/**
 * Functions of the extension, as hsa_system_get_major_extension_table fills them in. Each is the function of
 * the same name.
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
