/* The functions that tools can intercept: the number and the arguments of each. Numbers never change.
 *
 * Generated from api/entry/functions.inc by `tool_calls`; do not edit. A number is 0x10000 times the number
 * of the API table plus the index of the entry. New entries are appended. C11 and C++20.
 */
#ifndef HSA_PLUGIN_HSA_TOOL_CALLS_H_
#define HSA_PLUGIN_HSA_TOOL_CALLS_H_

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <hsa/hsa_api_trace.h>
#else
/* Pointers to functions that only C++ can spell: hsa_api_trace.h. */
typedef void (*hsa_amd_queue_intercept_handler)(void);
typedef void (*hsa_amd_runtime_queue_notifier)(void);
#endif

/* clang-format off */
enum {
  HSATOOL_ID_hsa_init = 0x10000,
  HSATOOL_ID_hsa_shut_down = 0x10001,
  HSATOOL_ID_hsa_system_get_info = 0x10002,
  HSATOOL_ID_hsa_system_extension_supported = 0x10003,
  HSATOOL_ID_hsa_system_get_extension_table = 0x10004,
  HSATOOL_ID_hsa_iterate_agents = 0x10005,
  HSATOOL_ID_hsa_agent_get_info = 0x10006,
  HSATOOL_ID_hsa_queue_create = 0x10007,
  HSATOOL_ID_hsa_soft_queue_create = 0x10008,
  HSATOOL_ID_hsa_queue_destroy = 0x10009,
  HSATOOL_ID_hsa_queue_inactivate = 0x1000a,
  HSATOOL_ID_hsa_queue_load_read_index_scacquire = 0x1000b,
  HSATOOL_ID_hsa_queue_load_read_index_relaxed = 0x1000c,
  HSATOOL_ID_hsa_queue_load_write_index_scacquire = 0x1000d,
  HSATOOL_ID_hsa_queue_load_write_index_relaxed = 0x1000e,
  HSATOOL_ID_hsa_queue_store_write_index_relaxed = 0x1000f,
  HSATOOL_ID_hsa_queue_store_write_index_screlease = 0x10010,
  HSATOOL_ID_hsa_queue_cas_write_index_scacq_screl = 0x10011,
  HSATOOL_ID_hsa_queue_cas_write_index_scacquire = 0x10012,
  HSATOOL_ID_hsa_queue_cas_write_index_relaxed = 0x10013,
  HSATOOL_ID_hsa_queue_cas_write_index_screlease = 0x10014,
  HSATOOL_ID_hsa_queue_add_write_index_scacq_screl = 0x10015,
  HSATOOL_ID_hsa_queue_add_write_index_scacquire = 0x10016,
  HSATOOL_ID_hsa_queue_add_write_index_relaxed = 0x10017,
  HSATOOL_ID_hsa_queue_add_write_index_screlease = 0x10018,
  HSATOOL_ID_hsa_queue_store_read_index_relaxed = 0x10019,
  HSATOOL_ID_hsa_queue_store_read_index_screlease = 0x1001a,
  HSATOOL_ID_hsa_agent_iterate_regions = 0x1001b,
  HSATOOL_ID_hsa_region_get_info = 0x1001c,
  HSATOOL_ID_hsa_agent_get_exception_policies = 0x1001d,
  HSATOOL_ID_hsa_agent_extension_supported = 0x1001e,
  HSATOOL_ID_hsa_memory_register = 0x1001f,
  HSATOOL_ID_hsa_memory_deregister = 0x10020,
  HSATOOL_ID_hsa_memory_allocate = 0x10021,
  HSATOOL_ID_hsa_memory_free = 0x10022,
  HSATOOL_ID_hsa_memory_copy = 0x10023,
  HSATOOL_ID_hsa_memory_assign_agent = 0x10024,
  HSATOOL_ID_hsa_signal_create = 0x10025,
  HSATOOL_ID_hsa_signal_destroy = 0x10026,
  HSATOOL_ID_hsa_signal_load_relaxed = 0x10027,
  HSATOOL_ID_hsa_signal_load_scacquire = 0x10028,
  HSATOOL_ID_hsa_signal_store_relaxed = 0x10029,
  HSATOOL_ID_hsa_signal_store_screlease = 0x1002a,
  HSATOOL_ID_hsa_signal_wait_relaxed = 0x1002b,
  HSATOOL_ID_hsa_signal_wait_scacquire = 0x1002c,
  HSATOOL_ID_hsa_signal_and_relaxed = 0x1002d,
  HSATOOL_ID_hsa_signal_and_scacquire = 0x1002e,
  HSATOOL_ID_hsa_signal_and_screlease = 0x1002f,
  HSATOOL_ID_hsa_signal_and_scacq_screl = 0x10030,
  HSATOOL_ID_hsa_signal_or_relaxed = 0x10031,
  HSATOOL_ID_hsa_signal_or_scacquire = 0x10032,
  HSATOOL_ID_hsa_signal_or_screlease = 0x10033,
  HSATOOL_ID_hsa_signal_or_scacq_screl = 0x10034,
  HSATOOL_ID_hsa_signal_xor_relaxed = 0x10035,
  HSATOOL_ID_hsa_signal_xor_scacquire = 0x10036,
  HSATOOL_ID_hsa_signal_xor_screlease = 0x10037,
  HSATOOL_ID_hsa_signal_xor_scacq_screl = 0x10038,
  HSATOOL_ID_hsa_signal_exchange_relaxed = 0x10039,
  HSATOOL_ID_hsa_signal_exchange_scacquire = 0x1003a,
  HSATOOL_ID_hsa_signal_exchange_screlease = 0x1003b,
  HSATOOL_ID_hsa_signal_exchange_scacq_screl = 0x1003c,
  HSATOOL_ID_hsa_signal_add_relaxed = 0x1003d,
  HSATOOL_ID_hsa_signal_add_scacquire = 0x1003e,
  HSATOOL_ID_hsa_signal_add_screlease = 0x1003f,
  HSATOOL_ID_hsa_signal_add_scacq_screl = 0x10040,
  HSATOOL_ID_hsa_signal_subtract_relaxed = 0x10041,
  HSATOOL_ID_hsa_signal_subtract_scacquire = 0x10042,
  HSATOOL_ID_hsa_signal_subtract_screlease = 0x10043,
  HSATOOL_ID_hsa_signal_subtract_scacq_screl = 0x10044,
  HSATOOL_ID_hsa_signal_cas_relaxed = 0x10045,
  HSATOOL_ID_hsa_signal_cas_scacquire = 0x10046,
  HSATOOL_ID_hsa_signal_cas_screlease = 0x10047,
  HSATOOL_ID_hsa_signal_cas_scacq_screl = 0x10048,
  HSATOOL_ID_hsa_isa_from_name = 0x10049,
  HSATOOL_ID_hsa_isa_get_info = 0x1004a,
  HSATOOL_ID_hsa_isa_compatible = 0x1004b,
  HSATOOL_ID_hsa_code_object_serialize = 0x1004c,
  HSATOOL_ID_hsa_code_object_deserialize = 0x1004d,
  HSATOOL_ID_hsa_code_object_destroy = 0x1004e,
  HSATOOL_ID_hsa_code_object_get_info = 0x1004f,
  HSATOOL_ID_hsa_code_object_get_symbol = 0x10050,
  HSATOOL_ID_hsa_code_symbol_get_info = 0x10051,
  HSATOOL_ID_hsa_code_object_iterate_symbols = 0x10052,
  HSATOOL_ID_hsa_executable_create = 0x10053,
  HSATOOL_ID_hsa_executable_destroy = 0x10054,
  HSATOOL_ID_hsa_executable_load_code_object = 0x10055,
  HSATOOL_ID_hsa_executable_freeze = 0x10056,
  HSATOOL_ID_hsa_executable_get_info = 0x10057,
  HSATOOL_ID_hsa_executable_global_variable_define = 0x10058,
  HSATOOL_ID_hsa_executable_agent_global_variable_define = 0x10059,
  HSATOOL_ID_hsa_executable_readonly_variable_define = 0x1005a,
  HSATOOL_ID_hsa_executable_validate = 0x1005b,
  HSATOOL_ID_hsa_executable_get_symbol = 0x1005c,
  HSATOOL_ID_hsa_executable_symbol_get_info = 0x1005d,
  HSATOOL_ID_hsa_executable_iterate_symbols = 0x1005e,
  HSATOOL_ID_hsa_status_string = 0x1005f,
  HSATOOL_ID_hsa_extension_get_name = 0x10060,
  HSATOOL_ID_hsa_system_major_extension_supported = 0x10061,
  HSATOOL_ID_hsa_system_get_major_extension_table = 0x10062,
  HSATOOL_ID_hsa_agent_major_extension_supported = 0x10063,
  HSATOOL_ID_hsa_cache_get_info = 0x10064,
  HSATOOL_ID_hsa_agent_iterate_caches = 0x10065,
  HSATOOL_ID_hsa_signal_silent_store_relaxed = 0x10066,
  HSATOOL_ID_hsa_signal_silent_store_screlease = 0x10067,
  HSATOOL_ID_hsa_signal_group_create = 0x10068,
  HSATOOL_ID_hsa_signal_group_destroy = 0x10069,
  HSATOOL_ID_hsa_signal_group_wait_any_scacquire = 0x1006a,
  HSATOOL_ID_hsa_signal_group_wait_any_relaxed = 0x1006b,
  HSATOOL_ID_hsa_agent_iterate_isas = 0x1006c,
  HSATOOL_ID_hsa_isa_get_info_alt = 0x1006d,
  HSATOOL_ID_hsa_isa_get_exception_policies = 0x1006e,
  HSATOOL_ID_hsa_isa_get_round_method = 0x1006f,
  HSATOOL_ID_hsa_wavefront_get_info = 0x10070,
  HSATOOL_ID_hsa_isa_iterate_wavefronts = 0x10071,
  HSATOOL_ID_hsa_code_object_get_symbol_from_name = 0x10072,
  HSATOOL_ID_hsa_code_object_reader_create_from_file = 0x10073,
  HSATOOL_ID_hsa_code_object_reader_create_from_memory = 0x10074,
  HSATOOL_ID_hsa_code_object_reader_destroy = 0x10075,
  HSATOOL_ID_hsa_executable_create_alt = 0x10076,
  HSATOOL_ID_hsa_executable_load_program_code_object = 0x10077,
  HSATOOL_ID_hsa_executable_load_agent_code_object = 0x10078,
  HSATOOL_ID_hsa_executable_validate_alt = 0x10079,
  HSATOOL_ID_hsa_executable_get_symbol_by_name = 0x1007a,
  HSATOOL_ID_hsa_executable_iterate_agent_symbols = 0x1007b,
  HSATOOL_ID_hsa_executable_iterate_program_symbols = 0x1007c,
  HSATOOL_ID_hsa_amd_coherency_get_type = 0x20000,
  HSATOOL_ID_hsa_amd_coherency_set_type = 0x20001,
  HSATOOL_ID_hsa_amd_profiling_set_profiler_enabled = 0x20002,
  HSATOOL_ID_hsa_amd_profiling_async_copy_enable = 0x20003,
  HSATOOL_ID_hsa_amd_profiling_get_dispatch_time = 0x20004,
  HSATOOL_ID_hsa_amd_profiling_get_async_copy_time = 0x20005,
  HSATOOL_ID_hsa_amd_profiling_convert_tick_to_system_domain = 0x20006,
  HSATOOL_ID_hsa_amd_signal_async_handler = 0x20007,
  HSATOOL_ID_hsa_amd_async_function = 0x20008,
  HSATOOL_ID_hsa_amd_signal_wait_any = 0x20009,
  HSATOOL_ID_hsa_amd_queue_cu_set_mask = 0x2000a,
  HSATOOL_ID_hsa_amd_memory_pool_get_info = 0x2000b,
  HSATOOL_ID_hsa_amd_agent_iterate_memory_pools = 0x2000c,
  HSATOOL_ID_hsa_amd_memory_pool_allocate = 0x2000d,
  HSATOOL_ID_hsa_amd_memory_pool_free = 0x2000e,
  HSATOOL_ID_hsa_amd_memory_async_copy = 0x2000f,
  HSATOOL_ID_hsa_amd_memory_async_copy_on_engine = 0x20010,
  HSATOOL_ID_hsa_amd_memory_copy_engine_status = 0x20011,
  HSATOOL_ID_hsa_amd_agent_memory_pool_get_info = 0x20012,
  HSATOOL_ID_hsa_amd_agents_allow_access = 0x20013,
  HSATOOL_ID_hsa_amd_memory_pool_can_migrate = 0x20014,
  HSATOOL_ID_hsa_amd_memory_migrate = 0x20015,
  HSATOOL_ID_hsa_amd_memory_lock = 0x20016,
  HSATOOL_ID_hsa_amd_memory_unlock = 0x20017,
  HSATOOL_ID_hsa_amd_memory_fill = 0x20018,
  HSATOOL_ID_hsa_amd_interop_map_buffer = 0x20019,
  HSATOOL_ID_hsa_amd_interop_unmap_buffer = 0x2001a,
  HSATOOL_ID_hsa_amd_image_create = 0x2001b,
  HSATOOL_ID_hsa_amd_pointer_info = 0x2001c,
  HSATOOL_ID_hsa_amd_pointer_info_set_userdata = 0x2001d,
  HSATOOL_ID_hsa_amd_ipc_memory_create = 0x2001e,
  HSATOOL_ID_hsa_amd_ipc_memory_attach = 0x2001f,
  HSATOOL_ID_hsa_amd_ipc_memory_detach = 0x20020,
  HSATOOL_ID_hsa_amd_signal_create = 0x20021,
  HSATOOL_ID_hsa_amd_ipc_signal_create = 0x20022,
  HSATOOL_ID_hsa_amd_ipc_signal_attach = 0x20023,
  HSATOOL_ID_hsa_amd_register_system_event_handler = 0x20024,
  HSATOOL_ID_hsa_amd_queue_intercept_create = 0x20025,
  HSATOOL_ID_hsa_amd_queue_intercept_register = 0x20026,
  HSATOOL_ID_hsa_amd_queue_set_priority = 0x20027,
  HSATOOL_ID_hsa_amd_memory_async_copy_rect = 0x20028,
  HSATOOL_ID_hsa_amd_runtime_queue_create_register = 0x20029,
  HSATOOL_ID_hsa_amd_memory_lock_to_pool = 0x2002a,
  HSATOOL_ID_hsa_amd_register_deallocation_callback = 0x2002b,
  HSATOOL_ID_hsa_amd_deregister_deallocation_callback = 0x2002c,
  HSATOOL_ID_hsa_amd_signal_value_pointer = 0x2002d,
  HSATOOL_ID_hsa_amd_svm_attributes_set = 0x2002e,
  HSATOOL_ID_hsa_amd_svm_attributes_get = 0x2002f,
  HSATOOL_ID_hsa_amd_svm_prefetch_async = 0x20030,
  HSATOOL_ID_hsa_amd_spm_acquire = 0x20031,
  HSATOOL_ID_hsa_amd_spm_release = 0x20032,
  HSATOOL_ID_hsa_amd_spm_set_dest_buffer = 0x20033,
  HSATOOL_ID_hsa_amd_queue_cu_get_mask = 0x20034,
  HSATOOL_ID_hsa_amd_portable_export_dmabuf = 0x20035,
  HSATOOL_ID_hsa_amd_portable_close_dmabuf = 0x20036,
  HSATOOL_ID_hsa_amd_vmem_address_reserve = 0x20037,
  HSATOOL_ID_hsa_amd_vmem_address_free = 0x20038,
  HSATOOL_ID_hsa_amd_vmem_handle_create = 0x20039,
  HSATOOL_ID_hsa_amd_vmem_handle_release = 0x2003a,
  HSATOOL_ID_hsa_amd_vmem_map = 0x2003b,
  HSATOOL_ID_hsa_amd_vmem_unmap = 0x2003c,
  HSATOOL_ID_hsa_amd_vmem_set_access = 0x2003d,
  HSATOOL_ID_hsa_amd_vmem_get_access = 0x2003e,
  HSATOOL_ID_hsa_amd_vmem_export_shareable_handle = 0x2003f,
  HSATOOL_ID_hsa_amd_vmem_import_shareable_handle = 0x20040,
  HSATOOL_ID_hsa_amd_vmem_retain_alloc_handle = 0x20041,
  HSATOOL_ID_hsa_amd_vmem_get_alloc_properties_from_handle = 0x20042,
  HSATOOL_ID_hsa_amd_agent_set_async_scratch_limit = 0x20043,
  HSATOOL_ID_hsa_amd_queue_get_info = 0x20044,
  HSATOOL_ID_hsa_amd_vmem_address_reserve_align = 0x20045,
  HSATOOL_ID_hsa_amd_enable_logging = 0x20046,
  HSATOOL_ID_hsa_amd_signal_wait_all = 0x20047,
  HSATOOL_ID_hsa_amd_memory_get_preferred_copy_engine = 0x20048,
  HSATOOL_ID_hsa_amd_portable_export_dmabuf_v2 = 0x20049,
  HSATOOL_ID_hsa_amd_ais_file_write = 0x2004a,
  HSATOOL_ID_hsa_amd_ais_file_read = 0x2004b,
  HSATOOL_ID_hsa_amd_counted_queue_acquire = 0x2004c,
  HSATOOL_ID_hsa_amd_counted_queue_release = 0x2004d,
  HSATOOL_ID_hsa_amd_memory_async_batch_copy = 0x2004e,
  HSATOOL_ID_hsa_amd_agent_preload = 0x2004f,
  HSATOOL_ID_hsa_amd_svm_discard_batch_async = 0x20050,
  HSATOOL_ID_hsa_amd_signal_get_event_id = 0x20051,
  HSATOOL_ID_hsa_amd_external_semaphore_handle_open = 0x20052,
  HSATOOL_ID_hsa_amd_external_semaphore_handle_close = 0x20053,
  HSATOOL_ID_hsa_amd_vmem_export_fabric_handle = 0x20054,
  HSATOOL_ID_hsa_amd_vmem_import_fabric_handle = 0x20055,
  HSATOOL_ID_hsa_amd_queue_create = 0x20056,
  HSATOOL_ID_hsa_amd_queue_signal_external_semaphore = 0x20057,
  HSATOOL_ID_hsa_amd_queue_wait_external_semaphore = 0x20058,
  HSATOOL_ID_hsa_amd_image_create_v2 = 0x20059,
  HSATOOL_ID_hsa_amd_interop_map_buffer_with_size = 0x2005a,
  HSATOOL_ID_hsa_amd_svm_discard_and_prefetch_batch_async = 0x2005b,
  HSATOOL_ID_hsa_ext_program_create = 0x30000,
  HSATOOL_ID_hsa_ext_program_destroy = 0x30001,
  HSATOOL_ID_hsa_ext_program_add_module = 0x30002,
  HSATOOL_ID_hsa_ext_program_iterate_modules = 0x30003,
  HSATOOL_ID_hsa_ext_program_get_info = 0x30004,
  HSATOOL_ID_hsa_ext_program_finalize = 0x30005,
  HSATOOL_ID_hsa_ext_image_get_capability = 0x40000,
  HSATOOL_ID_hsa_ext_image_data_get_info = 0x40001,
  HSATOOL_ID_hsa_ext_image_create = 0x40002,
  HSATOOL_ID_hsa_ext_image_import = 0x40003,
  HSATOOL_ID_hsa_ext_image_export = 0x40004,
  HSATOOL_ID_hsa_ext_image_copy = 0x40005,
  HSATOOL_ID_hsa_ext_image_clear = 0x40006,
  HSATOOL_ID_hsa_ext_image_destroy = 0x40007,
  HSATOOL_ID_hsa_ext_sampler_create = 0x40008,
  HSATOOL_ID_hsa_ext_sampler_destroy = 0x40009,
  HSATOOL_ID_hsa_ext_image_get_capability_with_layout = 0x4000a,
  HSATOOL_ID_hsa_ext_image_data_get_info_with_layout = 0x4000b,
  HSATOOL_ID_hsa_ext_image_create_with_layout = 0x4000c,
  HSATOOL_ID_hsa_ext_sampler_create_v2 = 0x4000d,
  HSATOOL_ID_hsa_amd_image_get_info_max_dim = 0x70000,
  HSATOOL_ID_hsa_ext_image_data_get_info_v2 = 0x70001,
  HSATOOL_ID_hsa_ext_image_create_v2 = 0x70002,
  HSATOOL_ID_hsa_ext_image_destroy_v2 = 0x70003,
  HSATOOL_ID_hsa_ext_image_mipmap_array_get_level = 0x70004,
  HSATOOL_ID_hsa_ven_amd_pcs_iterate_configuration = 0x60000,
  HSATOOL_ID_hsa_ven_amd_pcs_create = 0x60001,
  HSATOOL_ID_hsa_ven_amd_pcs_create_from_id = 0x60002,
  HSATOOL_ID_hsa_ven_amd_pcs_destroy = 0x60003,
  HSATOOL_ID_hsa_ven_amd_pcs_start = 0x60004,
  HSATOOL_ID_hsa_ven_amd_pcs_stop = 0x60005,
  HSATOOL_ID_hsa_ven_amd_pcs_flush = 0x60006,
  HSATOOL_ID_NONE = 0
};

typedef struct hsatool_hsa_init_args {
  char none; /* C has no empty structs */
} hsatool_hsa_init_args_t;

typedef struct hsatool_hsa_shut_down_args {
  char none; /* C has no empty structs */
} hsatool_hsa_shut_down_args_t;

typedef struct hsatool_hsa_system_get_info_args {
  hsa_system_info_t attribute;
  void* value;
} hsatool_hsa_system_get_info_args_t;

typedef struct hsatool_hsa_system_extension_supported_args {
  uint16_t extension;
  uint16_t version_major;
  uint16_t version_minor;
  bool* result;
} hsatool_hsa_system_extension_supported_args_t;

typedef struct hsatool_hsa_system_get_extension_table_args {
  uint16_t extension;
  uint16_t version_major;
  uint16_t version_minor;
  void* table;
} hsatool_hsa_system_get_extension_table_args_t;

typedef struct hsatool_hsa_iterate_agents_args {
  hsa_status_t (*callback)(hsa_agent_t, void*);
  void* data;
} hsatool_hsa_iterate_agents_args_t;

typedef struct hsatool_hsa_agent_get_info_args {
  hsa_agent_t agent;
  hsa_agent_info_t attribute;
  void* value;
} hsatool_hsa_agent_get_info_args_t;

typedef struct hsatool_hsa_queue_create_args {
  hsa_agent_t agent;
  uint32_t size;
  hsa_queue_type32_t type;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  hsa_queue_t** queue;
} hsatool_hsa_queue_create_args_t;

typedef struct hsatool_hsa_soft_queue_create_args {
  hsa_region_t region;
  uint32_t size;
  hsa_queue_type32_t type;
  uint32_t features;
  hsa_signal_t doorbell_signal;
  hsa_queue_t** queue;
} hsatool_hsa_soft_queue_create_args_t;

typedef struct hsatool_hsa_queue_destroy_args {
  hsa_queue_t* queue;
} hsatool_hsa_queue_destroy_args_t;

typedef struct hsatool_hsa_queue_inactivate_args {
  hsa_queue_t* queue;
} hsatool_hsa_queue_inactivate_args_t;

typedef struct hsatool_hsa_queue_load_read_index_scacquire_args {
  const hsa_queue_t* queue;
} hsatool_hsa_queue_load_read_index_scacquire_args_t;

typedef struct hsatool_hsa_queue_load_read_index_relaxed_args {
  const hsa_queue_t* queue;
} hsatool_hsa_queue_load_read_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_load_write_index_scacquire_args {
  const hsa_queue_t* queue;
} hsatool_hsa_queue_load_write_index_scacquire_args_t;

typedef struct hsatool_hsa_queue_load_write_index_relaxed_args {
  const hsa_queue_t* queue;
} hsatool_hsa_queue_load_write_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_store_write_index_relaxed_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_store_write_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_store_write_index_screlease_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_store_write_index_screlease_args_t;

typedef struct hsatool_hsa_queue_cas_write_index_scacq_screl_args {
  const hsa_queue_t* queue;
  uint64_t expected;
  uint64_t value;
} hsatool_hsa_queue_cas_write_index_scacq_screl_args_t;

typedef struct hsatool_hsa_queue_cas_write_index_scacquire_args {
  const hsa_queue_t* queue;
  uint64_t expected;
  uint64_t value;
} hsatool_hsa_queue_cas_write_index_scacquire_args_t;

typedef struct hsatool_hsa_queue_cas_write_index_relaxed_args {
  const hsa_queue_t* queue;
  uint64_t expected;
  uint64_t value;
} hsatool_hsa_queue_cas_write_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_cas_write_index_screlease_args {
  const hsa_queue_t* queue;
  uint64_t expected;
  uint64_t value;
} hsatool_hsa_queue_cas_write_index_screlease_args_t;

typedef struct hsatool_hsa_queue_add_write_index_scacq_screl_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_add_write_index_scacq_screl_args_t;

typedef struct hsatool_hsa_queue_add_write_index_scacquire_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_add_write_index_scacquire_args_t;

typedef struct hsatool_hsa_queue_add_write_index_relaxed_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_add_write_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_add_write_index_screlease_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_add_write_index_screlease_args_t;

typedef struct hsatool_hsa_queue_store_read_index_relaxed_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_store_read_index_relaxed_args_t;

typedef struct hsatool_hsa_queue_store_read_index_screlease_args {
  const hsa_queue_t* queue;
  uint64_t value;
} hsatool_hsa_queue_store_read_index_screlease_args_t;

typedef struct hsatool_hsa_agent_iterate_regions_args {
  hsa_agent_t agent;
  hsa_status_t (*callback)(hsa_region_t, void*);
  void* data;
} hsatool_hsa_agent_iterate_regions_args_t;

typedef struct hsatool_hsa_region_get_info_args {
  hsa_region_t region;
  hsa_region_info_t attribute;
  void* value;
} hsatool_hsa_region_get_info_args_t;

typedef struct hsatool_hsa_agent_get_exception_policies_args {
  hsa_agent_t agent;
  hsa_profile_t profile;
  uint16_t* mask;
} hsatool_hsa_agent_get_exception_policies_args_t;

typedef struct hsatool_hsa_agent_extension_supported_args {
  uint16_t extension;
  hsa_agent_t agent;
  uint16_t version_major;
  uint16_t version_minor;
  bool* result;
} hsatool_hsa_agent_extension_supported_args_t;

typedef struct hsatool_hsa_memory_register_args {
  void* ptr;
  size_t size;
} hsatool_hsa_memory_register_args_t;

typedef struct hsatool_hsa_memory_deregister_args {
  void* ptr;
  size_t size;
} hsatool_hsa_memory_deregister_args_t;

typedef struct hsatool_hsa_memory_allocate_args {
  hsa_region_t region;
  size_t size;
  void** ptr;
} hsatool_hsa_memory_allocate_args_t;

typedef struct hsatool_hsa_memory_free_args {
  void* ptr;
} hsatool_hsa_memory_free_args_t;

typedef struct hsatool_hsa_memory_copy_args {
  void* dst;
  const void* src;
  size_t size;
} hsatool_hsa_memory_copy_args_t;

typedef struct hsatool_hsa_memory_assign_agent_args {
  void* ptr;
  hsa_agent_t agent;
  hsa_access_permission_t access;
} hsatool_hsa_memory_assign_agent_args_t;

typedef struct hsatool_hsa_signal_create_args {
  hsa_signal_value_t initial_value;
  uint32_t num_consumers;
  const hsa_agent_t* consumers;
  hsa_signal_t* signal;
} hsatool_hsa_signal_create_args_t;

typedef struct hsatool_hsa_signal_destroy_args {
  hsa_signal_t signal;
} hsatool_hsa_signal_destroy_args_t;

typedef struct hsatool_hsa_signal_load_relaxed_args {
  hsa_signal_t signal;
} hsatool_hsa_signal_load_relaxed_args_t;

typedef struct hsatool_hsa_signal_load_scacquire_args {
  hsa_signal_t signal;
} hsatool_hsa_signal_load_scacquire_args_t;

typedef struct hsatool_hsa_signal_store_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_store_relaxed_args_t;

typedef struct hsatool_hsa_signal_store_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_store_screlease_args_t;

typedef struct hsatool_hsa_signal_wait_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t compare_value;
  uint64_t timeout_hint;
  hsa_wait_state_t wait_state_hint;
} hsatool_hsa_signal_wait_relaxed_args_t;

typedef struct hsatool_hsa_signal_wait_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t compare_value;
  uint64_t timeout_hint;
  hsa_wait_state_t wait_state_hint;
} hsatool_hsa_signal_wait_scacquire_args_t;

typedef struct hsatool_hsa_signal_and_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_and_relaxed_args_t;

typedef struct hsatool_hsa_signal_and_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_and_scacquire_args_t;

typedef struct hsatool_hsa_signal_and_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_and_screlease_args_t;

typedef struct hsatool_hsa_signal_and_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_and_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_or_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_or_relaxed_args_t;

typedef struct hsatool_hsa_signal_or_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_or_scacquire_args_t;

typedef struct hsatool_hsa_signal_or_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_or_screlease_args_t;

typedef struct hsatool_hsa_signal_or_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_or_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_xor_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_xor_relaxed_args_t;

typedef struct hsatool_hsa_signal_xor_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_xor_scacquire_args_t;

typedef struct hsatool_hsa_signal_xor_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_xor_screlease_args_t;

typedef struct hsatool_hsa_signal_xor_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_xor_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_exchange_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_exchange_relaxed_args_t;

typedef struct hsatool_hsa_signal_exchange_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_exchange_scacquire_args_t;

typedef struct hsatool_hsa_signal_exchange_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_exchange_screlease_args_t;

typedef struct hsatool_hsa_signal_exchange_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_exchange_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_add_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_add_relaxed_args_t;

typedef struct hsatool_hsa_signal_add_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_add_scacquire_args_t;

typedef struct hsatool_hsa_signal_add_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_add_screlease_args_t;

typedef struct hsatool_hsa_signal_add_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_add_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_subtract_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_subtract_relaxed_args_t;

typedef struct hsatool_hsa_signal_subtract_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_subtract_scacquire_args_t;

typedef struct hsatool_hsa_signal_subtract_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_subtract_screlease_args_t;

typedef struct hsatool_hsa_signal_subtract_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_subtract_scacq_screl_args_t;

typedef struct hsatool_hsa_signal_cas_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t expected;
  hsa_signal_value_t value;
} hsatool_hsa_signal_cas_relaxed_args_t;

typedef struct hsatool_hsa_signal_cas_scacquire_args {
  hsa_signal_t signal;
  hsa_signal_value_t expected;
  hsa_signal_value_t value;
} hsatool_hsa_signal_cas_scacquire_args_t;

typedef struct hsatool_hsa_signal_cas_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t expected;
  hsa_signal_value_t value;
} hsatool_hsa_signal_cas_screlease_args_t;

typedef struct hsatool_hsa_signal_cas_scacq_screl_args {
  hsa_signal_t signal;
  hsa_signal_value_t expected;
  hsa_signal_value_t value;
} hsatool_hsa_signal_cas_scacq_screl_args_t;

typedef struct hsatool_hsa_isa_from_name_args {
  const char* name;
  hsa_isa_t* isa;
} hsatool_hsa_isa_from_name_args_t;

typedef struct hsatool_hsa_isa_get_info_args {
  hsa_isa_t isa;
  hsa_isa_info_t attribute;
  uint32_t index;
  void* value;
} hsatool_hsa_isa_get_info_args_t;

typedef struct hsatool_hsa_isa_compatible_args {
  hsa_isa_t code_object_isa;
  hsa_isa_t agent_isa;
  bool* result;
} hsatool_hsa_isa_compatible_args_t;

typedef struct hsatool_hsa_code_object_serialize_args {
  hsa_code_object_t code_object;
  hsa_status_t (*alloc_callback)(size_t, hsa_callback_data_t, void**);
  hsa_callback_data_t callback_data;
  const char* options;
  void** serialized_code_object;
  size_t* serialized_code_object_size;
} hsatool_hsa_code_object_serialize_args_t;

typedef struct hsatool_hsa_code_object_deserialize_args {
  void* serialized_code_object;
  size_t serialized_code_object_size;
  const char* options;
  hsa_code_object_t* code_object;
} hsatool_hsa_code_object_deserialize_args_t;

typedef struct hsatool_hsa_code_object_destroy_args {
  hsa_code_object_t code_object;
} hsatool_hsa_code_object_destroy_args_t;

typedef struct hsatool_hsa_code_object_get_info_args {
  hsa_code_object_t code_object;
  hsa_code_object_info_t attribute;
  void* value;
} hsatool_hsa_code_object_get_info_args_t;

typedef struct hsatool_hsa_code_object_get_symbol_args {
  hsa_code_object_t code_object;
  const char* symbol_name;
  hsa_code_symbol_t* symbol;
} hsatool_hsa_code_object_get_symbol_args_t;

typedef struct hsatool_hsa_code_symbol_get_info_args {
  hsa_code_symbol_t code_symbol;
  hsa_code_symbol_info_t attribute;
  void* value;
} hsatool_hsa_code_symbol_get_info_args_t;

typedef struct hsatool_hsa_code_object_iterate_symbols_args {
  hsa_code_object_t code_object;
  hsa_status_t (*callback)(hsa_code_object_t, hsa_code_symbol_t, void*);
  void* data;
} hsatool_hsa_code_object_iterate_symbols_args_t;

typedef struct hsatool_hsa_executable_create_args {
  hsa_profile_t profile;
  hsa_executable_state_t executable_state;
  const char* options;
  hsa_executable_t* executable;
} hsatool_hsa_executable_create_args_t;

typedef struct hsatool_hsa_executable_destroy_args {
  hsa_executable_t executable;
} hsatool_hsa_executable_destroy_args_t;

typedef struct hsatool_hsa_executable_load_code_object_args {
  hsa_executable_t executable;
  hsa_agent_t agent;
  hsa_code_object_t code_object;
  const char* options;
} hsatool_hsa_executable_load_code_object_args_t;

typedef struct hsatool_hsa_executable_freeze_args {
  hsa_executable_t executable;
  const char* options;
} hsatool_hsa_executable_freeze_args_t;

typedef struct hsatool_hsa_executable_get_info_args {
  hsa_executable_t executable;
  hsa_executable_info_t attribute;
  void* value;
} hsatool_hsa_executable_get_info_args_t;

typedef struct hsatool_hsa_executable_global_variable_define_args {
  hsa_executable_t executable;
  const char* variable_name;
  void* address;
} hsatool_hsa_executable_global_variable_define_args_t;

typedef struct hsatool_hsa_executable_agent_global_variable_define_args {
  hsa_executable_t executable;
  hsa_agent_t agent;
  const char* variable_name;
  void* address;
} hsatool_hsa_executable_agent_global_variable_define_args_t;

typedef struct hsatool_hsa_executable_readonly_variable_define_args {
  hsa_executable_t executable;
  hsa_agent_t agent;
  const char* variable_name;
  void* address;
} hsatool_hsa_executable_readonly_variable_define_args_t;

typedef struct hsatool_hsa_executable_validate_args {
  hsa_executable_t executable;
  uint32_t* result;
} hsatool_hsa_executable_validate_args_t;

typedef struct hsatool_hsa_executable_get_symbol_args {
  hsa_executable_t executable;
  const char* module_name;
  const char* symbol_name;
  hsa_agent_t agent;
  int32_t call_convention;
  hsa_executable_symbol_t* symbol;
} hsatool_hsa_executable_get_symbol_args_t;

typedef struct hsatool_hsa_executable_symbol_get_info_args {
  hsa_executable_symbol_t executable_symbol;
  hsa_executable_symbol_info_t attribute;
  void* value;
} hsatool_hsa_executable_symbol_get_info_args_t;

typedef struct hsatool_hsa_executable_iterate_symbols_args {
  hsa_executable_t executable;
  hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*);
  void* data;
} hsatool_hsa_executable_iterate_symbols_args_t;

typedef struct hsatool_hsa_status_string_args {
  hsa_status_t status;
  const char** status_string;
} hsatool_hsa_status_string_args_t;

typedef struct hsatool_hsa_extension_get_name_args {
  uint16_t extension;
  const char** name;
} hsatool_hsa_extension_get_name_args_t;

typedef struct hsatool_hsa_system_major_extension_supported_args {
  uint16_t extension;
  uint16_t version_major;
  uint16_t* version_minor;
  bool* result;
} hsatool_hsa_system_major_extension_supported_args_t;

typedef struct hsatool_hsa_system_get_major_extension_table_args {
  uint16_t extension;
  uint16_t version_major;
  size_t table_length;
  void* table;
} hsatool_hsa_system_get_major_extension_table_args_t;

typedef struct hsatool_hsa_agent_major_extension_supported_args {
  uint16_t extension;
  hsa_agent_t agent;
  uint16_t version_major;
  uint16_t* version_minor;
  bool* result;
} hsatool_hsa_agent_major_extension_supported_args_t;

typedef struct hsatool_hsa_cache_get_info_args {
  hsa_cache_t cache;
  hsa_cache_info_t attribute;
  void* value;
} hsatool_hsa_cache_get_info_args_t;

typedef struct hsatool_hsa_agent_iterate_caches_args {
  hsa_agent_t agent;
  hsa_status_t (*callback)(hsa_cache_t, void*);
  void* data;
} hsatool_hsa_agent_iterate_caches_args_t;

typedef struct hsatool_hsa_signal_silent_store_relaxed_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_silent_store_relaxed_args_t;

typedef struct hsatool_hsa_signal_silent_store_screlease_args {
  hsa_signal_t signal;
  hsa_signal_value_t value;
} hsatool_hsa_signal_silent_store_screlease_args_t;

typedef struct hsatool_hsa_signal_group_create_args {
  uint32_t num_signals;
  const hsa_signal_t* signals;
  uint32_t num_consumers;
  const hsa_agent_t* consumers;
  hsa_signal_group_t* signal_group;
} hsatool_hsa_signal_group_create_args_t;

typedef struct hsatool_hsa_signal_group_destroy_args {
  hsa_signal_group_t signal_group;
} hsatool_hsa_signal_group_destroy_args_t;

typedef struct hsatool_hsa_signal_group_wait_any_scacquire_args {
  hsa_signal_group_t signal_group;
  const hsa_signal_condition_t* conditions;
  const hsa_signal_value_t* compare_values;
  hsa_wait_state_t wait_state_hint;
  hsa_signal_t* signal;
  hsa_signal_value_t* value;
} hsatool_hsa_signal_group_wait_any_scacquire_args_t;

typedef struct hsatool_hsa_signal_group_wait_any_relaxed_args {
  hsa_signal_group_t signal_group;
  const hsa_signal_condition_t* conditions;
  const hsa_signal_value_t* compare_values;
  hsa_wait_state_t wait_state_hint;
  hsa_signal_t* signal;
  hsa_signal_value_t* value;
} hsatool_hsa_signal_group_wait_any_relaxed_args_t;

typedef struct hsatool_hsa_agent_iterate_isas_args {
  hsa_agent_t agent;
  hsa_status_t (*callback)(hsa_isa_t, void*);
  void* data;
} hsatool_hsa_agent_iterate_isas_args_t;

typedef struct hsatool_hsa_isa_get_info_alt_args {
  hsa_isa_t isa;
  hsa_isa_info_t attribute;
  void* value;
} hsatool_hsa_isa_get_info_alt_args_t;

typedef struct hsatool_hsa_isa_get_exception_policies_args {
  hsa_isa_t isa;
  hsa_profile_t profile;
  uint16_t* mask;
} hsatool_hsa_isa_get_exception_policies_args_t;

typedef struct hsatool_hsa_isa_get_round_method_args {
  hsa_isa_t isa;
  hsa_fp_type_t fp_type;
  hsa_flush_mode_t flush_mode;
  hsa_round_method_t* round_method;
} hsatool_hsa_isa_get_round_method_args_t;

typedef struct hsatool_hsa_wavefront_get_info_args {
  hsa_wavefront_t wavefront;
  hsa_wavefront_info_t attribute;
  void* value;
} hsatool_hsa_wavefront_get_info_args_t;

typedef struct hsatool_hsa_isa_iterate_wavefronts_args {
  hsa_isa_t isa;
  hsa_status_t (*callback)(hsa_wavefront_t, void*);
  void* data;
} hsatool_hsa_isa_iterate_wavefronts_args_t;

typedef struct hsatool_hsa_code_object_get_symbol_from_name_args {
  hsa_code_object_t code_object;
  const char* module_name;
  const char* symbol_name;
  hsa_code_symbol_t* symbol;
} hsatool_hsa_code_object_get_symbol_from_name_args_t;

typedef struct hsatool_hsa_code_object_reader_create_from_file_args {
  hsa_file_t file;
  hsa_code_object_reader_t* code_object_reader;
} hsatool_hsa_code_object_reader_create_from_file_args_t;

typedef struct hsatool_hsa_code_object_reader_create_from_memory_args {
  const void* code_object;
  size_t size;
  hsa_code_object_reader_t* code_object_reader;
} hsatool_hsa_code_object_reader_create_from_memory_args_t;

typedef struct hsatool_hsa_code_object_reader_destroy_args {
  hsa_code_object_reader_t code_object_reader;
} hsatool_hsa_code_object_reader_destroy_args_t;

typedef struct hsatool_hsa_executable_create_alt_args {
  hsa_profile_t profile;
  hsa_default_float_rounding_mode_t default_float_rounding_mode;
  const char* options;
  hsa_executable_t* executable;
} hsatool_hsa_executable_create_alt_args_t;

typedef struct hsatool_hsa_executable_load_program_code_object_args {
  hsa_executable_t executable;
  hsa_code_object_reader_t code_object_reader;
  const char* options;
  hsa_loaded_code_object_t* loaded_code_object;
} hsatool_hsa_executable_load_program_code_object_args_t;

typedef struct hsatool_hsa_executable_load_agent_code_object_args {
  hsa_executable_t executable;
  hsa_agent_t agent;
  hsa_code_object_reader_t code_object_reader;
  const char* options;
  hsa_loaded_code_object_t* loaded_code_object;
} hsatool_hsa_executable_load_agent_code_object_args_t;

typedef struct hsatool_hsa_executable_validate_alt_args {
  hsa_executable_t executable;
  const char* options;
  uint32_t* result;
} hsatool_hsa_executable_validate_alt_args_t;

typedef struct hsatool_hsa_executable_get_symbol_by_name_args {
  hsa_executable_t executable;
  const char* symbol_name;
  const hsa_agent_t* agent;
  hsa_executable_symbol_t* symbol;
} hsatool_hsa_executable_get_symbol_by_name_args_t;

typedef struct hsatool_hsa_executable_iterate_agent_symbols_args {
  hsa_executable_t executable;
  hsa_agent_t agent;
  hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void*);
  void* data;
} hsatool_hsa_executable_iterate_agent_symbols_args_t;

typedef struct hsatool_hsa_executable_iterate_program_symbols_args {
  hsa_executable_t executable;
  hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void*);
  void* data;
} hsatool_hsa_executable_iterate_program_symbols_args_t;

typedef struct hsatool_hsa_amd_coherency_get_type_args {
  hsa_agent_t agent;
  hsa_amd_coherency_type_t* type;
} hsatool_hsa_amd_coherency_get_type_args_t;

typedef struct hsatool_hsa_amd_coherency_set_type_args {
  hsa_agent_t agent;
  hsa_amd_coherency_type_t type;
} hsatool_hsa_amd_coherency_set_type_args_t;

typedef struct hsatool_hsa_amd_profiling_set_profiler_enabled_args {
  hsa_queue_t* queue;
  int enable;
} hsatool_hsa_amd_profiling_set_profiler_enabled_args_t;

typedef struct hsatool_hsa_amd_profiling_async_copy_enable_args {
  bool enable;
} hsatool_hsa_amd_profiling_async_copy_enable_args_t;

typedef struct hsatool_hsa_amd_profiling_get_dispatch_time_args {
  hsa_agent_t agent;
  hsa_signal_t signal;
  hsa_amd_profiling_dispatch_time_t* time;
} hsatool_hsa_amd_profiling_get_dispatch_time_args_t;

typedef struct hsatool_hsa_amd_profiling_get_async_copy_time_args {
  hsa_signal_t signal;
  hsa_amd_profiling_async_copy_time_t* time;
} hsatool_hsa_amd_profiling_get_async_copy_time_args_t;

typedef struct hsatool_hsa_amd_profiling_convert_tick_to_system_domain_args {
  hsa_agent_t agent;
  uint64_t agent_tick;
  uint64_t* system_tick;
} hsatool_hsa_amd_profiling_convert_tick_to_system_domain_args_t;

typedef struct hsatool_hsa_amd_signal_async_handler_args {
  hsa_signal_t signal;
  hsa_signal_condition_t cond;
  hsa_signal_value_t value;
  hsa_amd_signal_handler handler;
  void* arg;
} hsatool_hsa_amd_signal_async_handler_args_t;

typedef struct hsatool_hsa_amd_async_function_args {
  void (*callback)(void*);
  void* arg;
} hsatool_hsa_amd_async_function_args_t;

typedef struct hsatool_hsa_amd_signal_wait_any_args {
  uint32_t signal_count;
  hsa_signal_t* signals;
  hsa_signal_condition_t* conds;
  hsa_signal_value_t* values;
  uint64_t timeout_hint;
  hsa_wait_state_t wait_hint;
  hsa_signal_value_t* satisfying_value;
} hsatool_hsa_amd_signal_wait_any_args_t;

typedef struct hsatool_hsa_amd_queue_cu_set_mask_args {
  const hsa_queue_t* queue;
  uint32_t num_cu_mask_count;
  const uint32_t* cu_mask;
} hsatool_hsa_amd_queue_cu_set_mask_args_t;

typedef struct hsatool_hsa_amd_memory_pool_get_info_args {
  hsa_amd_memory_pool_t memory_pool;
  hsa_amd_memory_pool_info_t attribute;
  void* value;
} hsatool_hsa_amd_memory_pool_get_info_args_t;

typedef struct hsatool_hsa_amd_agent_iterate_memory_pools_args {
  hsa_agent_t agent;
  hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*);
  void* data;
} hsatool_hsa_amd_agent_iterate_memory_pools_args_t;

typedef struct hsatool_hsa_amd_memory_pool_allocate_args {
  hsa_amd_memory_pool_t memory_pool;
  size_t size;
  uint32_t flags;
  void** ptr;
} hsatool_hsa_amd_memory_pool_allocate_args_t;

typedef struct hsatool_hsa_amd_memory_pool_free_args {
  void* ptr;
} hsatool_hsa_amd_memory_pool_free_args_t;

typedef struct hsatool_hsa_amd_memory_async_copy_args {
  void* dst;
  hsa_agent_t dst_agent;
  const void* src;
  hsa_agent_t src_agent;
  size_t size;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
} hsatool_hsa_amd_memory_async_copy_args_t;

typedef struct hsatool_hsa_amd_memory_async_copy_on_engine_args {
  void* dst;
  hsa_agent_t dst_agent;
  const void* src;
  hsa_agent_t src_agent;
  size_t size;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
  hsa_amd_sdma_engine_id_t engine_id;
  bool force_copy_on_sdma;
} hsatool_hsa_amd_memory_async_copy_on_engine_args_t;

typedef struct hsatool_hsa_amd_memory_copy_engine_status_args {
  hsa_agent_t dst_agent;
  hsa_agent_t src_agent;
  uint32_t* engine_ids_mask;
} hsatool_hsa_amd_memory_copy_engine_status_args_t;

typedef struct hsatool_hsa_amd_agent_memory_pool_get_info_args {
  hsa_agent_t agent;
  hsa_amd_memory_pool_t memory_pool;
  hsa_amd_agent_memory_pool_info_t attribute;
  void* value;
} hsatool_hsa_amd_agent_memory_pool_get_info_args_t;

typedef struct hsatool_hsa_amd_agents_allow_access_args {
  uint32_t num_agents;
  const hsa_agent_t* agents;
  const uint32_t* flags;
  const void* ptr;
} hsatool_hsa_amd_agents_allow_access_args_t;

typedef struct hsatool_hsa_amd_memory_pool_can_migrate_args {
  hsa_amd_memory_pool_t src_memory_pool;
  hsa_amd_memory_pool_t dst_memory_pool;
  bool* result;
} hsatool_hsa_amd_memory_pool_can_migrate_args_t;

typedef struct hsatool_hsa_amd_memory_migrate_args {
  const void* ptr;
  hsa_amd_memory_pool_t memory_pool;
  uint32_t flags;
} hsatool_hsa_amd_memory_migrate_args_t;

typedef struct hsatool_hsa_amd_memory_lock_args {
  void* host_ptr;
  size_t size;
  hsa_agent_t* agents;
  int num_agent;
  void** agent_ptr;
} hsatool_hsa_amd_memory_lock_args_t;

typedef struct hsatool_hsa_amd_memory_unlock_args {
  void* host_ptr;
} hsatool_hsa_amd_memory_unlock_args_t;

typedef struct hsatool_hsa_amd_memory_fill_args {
  void* ptr;
  uint32_t value;
  size_t count;
} hsatool_hsa_amd_memory_fill_args_t;

typedef struct hsatool_hsa_amd_interop_map_buffer_args {
  uint32_t num_agents;
  hsa_agent_t* agents;
  hsa_handle_t interop_handle;
  uint32_t flags;
  size_t* size;
  void** ptr;
  size_t* metadata_size;
  const void** metadata;
} hsatool_hsa_amd_interop_map_buffer_args_t;

typedef struct hsatool_hsa_amd_interop_unmap_buffer_args {
  void* ptr;
} hsatool_hsa_amd_interop_unmap_buffer_args_t;

typedef struct hsatool_hsa_amd_image_create_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_t* image_descriptor;
  const hsa_amd_image_descriptor_t* image_layout;
  const void* image_data;
  hsa_access_permission_t access_permission;
  hsa_ext_image_t* image;
} hsatool_hsa_amd_image_create_args_t;

typedef struct hsatool_hsa_amd_pointer_info_args {
  const void* ptr;
  hsa_amd_pointer_info_t* info;
  void *(*alloc)(size_t);
  uint32_t* num_agents_accessible;
  hsa_agent_t** accessible;
} hsatool_hsa_amd_pointer_info_args_t;

typedef struct hsatool_hsa_amd_pointer_info_set_userdata_args {
  const void* ptr;
  void* userdata;
} hsatool_hsa_amd_pointer_info_set_userdata_args_t;

typedef struct hsatool_hsa_amd_ipc_memory_create_args {
  void* ptr;
  size_t len;
  hsa_amd_ipc_memory_t* handle;
} hsatool_hsa_amd_ipc_memory_create_args_t;

typedef struct hsatool_hsa_amd_ipc_memory_attach_args {
  const hsa_amd_ipc_memory_t* handle;
  size_t len;
  uint32_t num_agents;
  const hsa_agent_t* mapping_agents;
  void** mapped_ptr;
} hsatool_hsa_amd_ipc_memory_attach_args_t;

typedef struct hsatool_hsa_amd_ipc_memory_detach_args {
  void* mapped_ptr;
} hsatool_hsa_amd_ipc_memory_detach_args_t;

typedef struct hsatool_hsa_amd_signal_create_args {
  hsa_signal_value_t initial_value;
  uint32_t num_consumers;
  const hsa_agent_t* consumers;
  uint64_t attributes;
  hsa_signal_t* signal;
} hsatool_hsa_amd_signal_create_args_t;

typedef struct hsatool_hsa_amd_ipc_signal_create_args {
  hsa_signal_t signal;
  hsa_amd_ipc_signal_t* handle;
} hsatool_hsa_amd_ipc_signal_create_args_t;

typedef struct hsatool_hsa_amd_ipc_signal_attach_args {
  const hsa_amd_ipc_signal_t* handle;
  hsa_signal_t* signal;
} hsatool_hsa_amd_ipc_signal_attach_args_t;

typedef struct hsatool_hsa_amd_register_system_event_handler_args {
  hsa_amd_system_event_callback_t callback;
  void* data;
} hsatool_hsa_amd_register_system_event_handler_args_t;

typedef struct hsatool_hsa_amd_queue_intercept_create_args {
  hsa_agent_t agent;
  uint32_t size;
  hsa_queue_type32_t type;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  hsa_queue_t** queue;
} hsatool_hsa_amd_queue_intercept_create_args_t;

typedef struct hsatool_hsa_amd_queue_intercept_register_args {
  hsa_queue_t* queue;
  hsa_amd_queue_intercept_handler callback;
  void* user_data;
} hsatool_hsa_amd_queue_intercept_register_args_t;

typedef struct hsatool_hsa_amd_queue_set_priority_args {
  hsa_queue_t* queue;
  hsa_amd_queue_priority_t priority;
} hsatool_hsa_amd_queue_set_priority_args_t;

typedef struct hsatool_hsa_amd_memory_async_copy_rect_args {
  const hsa_pitched_ptr_t* dst;
  const hsa_dim3_t* dst_offset;
  const hsa_pitched_ptr_t* src;
  const hsa_dim3_t* src_offset;
  const hsa_dim3_t* range;
  hsa_agent_t copy_agent;
  hsa_amd_copy_direction_t dir;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
} hsatool_hsa_amd_memory_async_copy_rect_args_t;

typedef struct hsatool_hsa_amd_runtime_queue_create_register_args {
  hsa_amd_runtime_queue_notifier callback;
  void* user_data;
} hsatool_hsa_amd_runtime_queue_create_register_args_t;

typedef struct hsatool_hsa_amd_memory_lock_to_pool_args {
  void* host_ptr;
  size_t size;
  hsa_agent_t* agents;
  int num_agent;
  hsa_amd_memory_pool_t pool;
  uint32_t flags;
  void** agent_ptr;
} hsatool_hsa_amd_memory_lock_to_pool_args_t;

typedef struct hsatool_hsa_amd_register_deallocation_callback_args {
  void* ptr;
  hsa_amd_deallocation_callback_t callback;
  void* user_data;
} hsatool_hsa_amd_register_deallocation_callback_args_t;

typedef struct hsatool_hsa_amd_deregister_deallocation_callback_args {
  void* ptr;
  hsa_amd_deallocation_callback_t callback;
} hsatool_hsa_amd_deregister_deallocation_callback_args_t;

typedef struct hsatool_hsa_amd_signal_value_pointer_args {
  hsa_signal_t signal;
  volatile hsa_signal_value_t** value_ptr;
} hsatool_hsa_amd_signal_value_pointer_args_t;

typedef struct hsatool_hsa_amd_svm_attributes_set_args {
  void* ptr;
  size_t size;
  hsa_amd_svm_attribute_pair_t* attribute_list;
  size_t attribute_count;
} hsatool_hsa_amd_svm_attributes_set_args_t;

typedef struct hsatool_hsa_amd_svm_attributes_get_args {
  void* ptr;
  size_t size;
  hsa_amd_svm_attribute_pair_t* attribute_list;
  size_t attribute_count;
} hsatool_hsa_amd_svm_attributes_get_args_t;

typedef struct hsatool_hsa_amd_svm_prefetch_async_args {
  void* ptr;
  size_t size;
  hsa_agent_t agent;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
} hsatool_hsa_amd_svm_prefetch_async_args_t;

typedef struct hsatool_hsa_amd_spm_acquire_args {
  hsa_agent_t preferred_agent;
} hsatool_hsa_amd_spm_acquire_args_t;

typedef struct hsatool_hsa_amd_spm_release_args {
  hsa_agent_t preferred_agent;
} hsatool_hsa_amd_spm_release_args_t;

typedef struct hsatool_hsa_amd_spm_set_dest_buffer_args {
  hsa_agent_t preferred_agent;
  size_t size_in_bytes;
  uint32_t* timeout;
  uint32_t* size_copied;
  void* dest;
  bool* is_data_loss;
} hsatool_hsa_amd_spm_set_dest_buffer_args_t;

typedef struct hsatool_hsa_amd_queue_cu_get_mask_args {
  const hsa_queue_t* queue;
  uint32_t num_cu_mask_count;
  uint32_t* cu_mask;
} hsatool_hsa_amd_queue_cu_get_mask_args_t;

typedef struct hsatool_hsa_amd_portable_export_dmabuf_args {
  const void* ptr;
  size_t size;
  int* dmabuf;
  uint64_t* offset;
} hsatool_hsa_amd_portable_export_dmabuf_args_t;

typedef struct hsatool_hsa_amd_portable_close_dmabuf_args {
  int dmabuf;
} hsatool_hsa_amd_portable_close_dmabuf_args_t;

typedef struct hsatool_hsa_amd_vmem_address_reserve_args {
  void** va;
  size_t size;
  uint64_t address;
  uint64_t flags;
} hsatool_hsa_amd_vmem_address_reserve_args_t;

typedef struct hsatool_hsa_amd_vmem_address_free_args {
  void* va;
  size_t size;
} hsatool_hsa_amd_vmem_address_free_args_t;

typedef struct hsatool_hsa_amd_vmem_handle_create_args {
  hsa_amd_memory_pool_t pool;
  size_t size;
  hsa_amd_memory_type_t type;
  uint64_t flags;
  hsa_amd_vmem_alloc_handle_t* memory_handle;
} hsatool_hsa_amd_vmem_handle_create_args_t;

typedef struct hsatool_hsa_amd_vmem_handle_release_args {
  hsa_amd_vmem_alloc_handle_t memory_handle;
} hsatool_hsa_amd_vmem_handle_release_args_t;

typedef struct hsatool_hsa_amd_vmem_map_args {
  void* va;
  size_t size;
  size_t in_offset;
  hsa_amd_vmem_alloc_handle_t memory_handle;
  uint64_t flags;
} hsatool_hsa_amd_vmem_map_args_t;

typedef struct hsatool_hsa_amd_vmem_unmap_args {
  void* va;
  size_t size;
} hsatool_hsa_amd_vmem_unmap_args_t;

typedef struct hsatool_hsa_amd_vmem_set_access_args {
  void* va;
  size_t size;
  const hsa_amd_memory_access_desc_t* desc;
  size_t desc_cnt;
} hsatool_hsa_amd_vmem_set_access_args_t;

typedef struct hsatool_hsa_amd_vmem_get_access_args {
  void* va;
  hsa_access_permission_t* perms;
  hsa_agent_t agent_handle;
} hsatool_hsa_amd_vmem_get_access_args_t;

typedef struct hsatool_hsa_amd_vmem_export_shareable_handle_args {
  int* dmabuf_fd;
  hsa_amd_vmem_alloc_handle_t handle;
  uint64_t flags;
} hsatool_hsa_amd_vmem_export_shareable_handle_args_t;

typedef struct hsatool_hsa_amd_vmem_import_shareable_handle_args {
  int dmabuf_fd;
  hsa_amd_vmem_alloc_handle_t* handle;
} hsatool_hsa_amd_vmem_import_shareable_handle_args_t;

typedef struct hsatool_hsa_amd_vmem_retain_alloc_handle_args {
  hsa_amd_vmem_alloc_handle_t* memory_handle;
  void* addr;
} hsatool_hsa_amd_vmem_retain_alloc_handle_args_t;

typedef struct hsatool_hsa_amd_vmem_get_alloc_properties_from_handle_args {
  hsa_amd_vmem_alloc_handle_t memory_handle;
  hsa_amd_memory_pool_t* pool;
  hsa_amd_memory_type_t* type;
} hsatool_hsa_amd_vmem_get_alloc_properties_from_handle_args_t;

typedef struct hsatool_hsa_amd_agent_set_async_scratch_limit_args {
  hsa_agent_t agent;
  size_t threshold;
} hsatool_hsa_amd_agent_set_async_scratch_limit_args_t;

typedef struct hsatool_hsa_amd_queue_get_info_args {
  hsa_queue_t* queue;
  hsa_queue_info_attribute_t attribute;
  void* value;
} hsatool_hsa_amd_queue_get_info_args_t;

typedef struct hsatool_hsa_amd_vmem_address_reserve_align_args {
  void** va;
  size_t size;
  uint64_t address;
  uint64_t alignment;
  uint64_t flags;
} hsatool_hsa_amd_vmem_address_reserve_align_args_t;

typedef struct hsatool_hsa_amd_enable_logging_args {
  uint8_t* flags;
  void* file;
} hsatool_hsa_amd_enable_logging_args_t;

typedef struct hsatool_hsa_amd_signal_wait_all_args {
  uint32_t signal_count;
  hsa_signal_t* signals;
  hsa_signal_condition_t* conds;
  hsa_signal_value_t* values;
  uint64_t timeout_hint;
  hsa_wait_state_t wait_hint;
  hsa_signal_value_t* satisfying_values;
} hsatool_hsa_amd_signal_wait_all_args_t;

typedef struct hsatool_hsa_amd_memory_get_preferred_copy_engine_args {
  hsa_agent_t dst_agent;
  hsa_agent_t src_agent;
  uint32_t* recommended_ids_mask;
} hsatool_hsa_amd_memory_get_preferred_copy_engine_args_t;

typedef struct hsatool_hsa_amd_portable_export_dmabuf_v2_args {
  const void* ptr;
  size_t size;
  int* dmabuf;
  uint64_t* offset;
  uint64_t flags;
} hsatool_hsa_amd_portable_export_dmabuf_v2_args_t;

typedef struct hsatool_hsa_amd_ais_file_write_args {
  hsa_amd_ais_file_handle_t handle;
  void* devicePtr;
  uint64_t size;
  int64_t file_offset;
  uint64_t* size_copied;
  int32_t* status;
} hsatool_hsa_amd_ais_file_write_args_t;

typedef struct hsatool_hsa_amd_ais_file_read_args {
  hsa_amd_ais_file_handle_t handle;
  void* devicePtr;
  uint64_t size;
  int64_t file_offset;
  uint64_t* size_copied;
  int32_t* status;
} hsatool_hsa_amd_ais_file_read_args_t;

typedef struct hsatool_hsa_amd_counted_queue_acquire_args {
  hsa_agent_t agent;
  hsa_queue_type_t type;
  hsa_amd_queue_priority_t priority;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
  uint64_t flags;
  hsa_queue_t** queue;
} hsatool_hsa_amd_counted_queue_acquire_args_t;

typedef struct hsatool_hsa_amd_counted_queue_release_args {
  hsa_queue_t* queue;
} hsatool_hsa_amd_counted_queue_release_args_t;

typedef struct hsatool_hsa_amd_memory_async_batch_copy_args {
  const hsa_amd_memory_copy_op_t* copy_ops;
  uint32_t num_copy_ops;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
} hsatool_hsa_amd_memory_async_batch_copy_args_t;

typedef struct hsatool_hsa_amd_agent_preload_args {
  hsa_agent_t agent;
  uint64_t flags;
} hsatool_hsa_amd_agent_preload_args_t;

typedef struct hsatool_hsa_amd_svm_discard_batch_async_args {
  void** ptrs;
  size_t* sizes;
  uint32_t count;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
} hsatool_hsa_amd_svm_discard_batch_async_args_t;

typedef struct hsatool_hsa_amd_signal_get_event_id_args {
  hsa_signal_t signal;
  uint32_t* event_id;
} hsatool_hsa_amd_signal_get_event_id_args_t;

typedef struct hsatool_hsa_amd_external_semaphore_handle_open_args {
  hsa_agent_t agent;
  const hsa_amd_external_semaphore_handle_descriptor_t* desc;
  hsa_amd_external_semaphore_t* out_sem;
} hsatool_hsa_amd_external_semaphore_handle_open_args_t;

typedef struct hsatool_hsa_amd_external_semaphore_handle_close_args {
  hsa_amd_external_semaphore_t sem;
} hsatool_hsa_amd_external_semaphore_handle_close_args_t;

typedef struct hsatool_hsa_amd_vmem_export_fabric_handle_args {
  hsa_fabric_handle_t* fabric_handle;
  hsa_amd_vmem_alloc_handle_t handle;
  uint64_t flags;
} hsatool_hsa_amd_vmem_export_fabric_handle_args_t;

typedef struct hsatool_hsa_amd_vmem_import_fabric_handle_args {
  hsa_fabric_handle_t fabric_handle;
  hsa_amd_vmem_alloc_handle_t* handle;
} hsatool_hsa_amd_vmem_import_fabric_handle_args_t;

typedef struct hsatool_hsa_amd_queue_create_args {
  hsa_agent_t agent;
  hsa_amd_queue_create_desc_t* descs;
  uint32_t num_descs;
} hsatool_hsa_amd_queue_create_args_t;

typedef struct hsatool_hsa_amd_queue_signal_external_semaphore_args {
  hsa_queue_t* queue;
  hsa_amd_external_semaphore_t sem;
  uint64_t value;
} hsatool_hsa_amd_queue_signal_external_semaphore_args_t;

typedef struct hsatool_hsa_amd_queue_wait_external_semaphore_args {
  hsa_queue_t* queue;
  hsa_amd_external_semaphore_t sem;
  uint64_t value;
} hsatool_hsa_amd_queue_wait_external_semaphore_args_t;

typedef struct hsatool_hsa_amd_image_create_v2_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_v2_t* image_descriptor;
  const hsa_amd_image_descriptor_t* image_layout;
  const void* image_data;
  hsa_access_permission_t access_permission;
  hsa_ext_image_t* image;
} hsatool_hsa_amd_image_create_v2_args_t;

typedef struct hsatool_hsa_amd_interop_map_buffer_with_size_args {
  uint32_t num_agents;
  hsa_agent_t* agents;
  hsa_handle_t interop_handle;
  uint32_t flags;
  size_t size_hint;
  size_t* size;
  void** ptr;
  size_t* metadata_size;
  const void** metadata;
} hsatool_hsa_amd_interop_map_buffer_with_size_args_t;

typedef struct hsatool_hsa_amd_svm_discard_and_prefetch_batch_async_args {
  void** ptrs;
  size_t* sizes;
  uint32_t count;
  const hsa_agent_t* dst_agents;
  uint32_t num_dst_agents;
  uint32_t num_dep_signals;
  const hsa_signal_t* dep_signals;
  hsa_signal_t completion_signal;
} hsatool_hsa_amd_svm_discard_and_prefetch_batch_async_args_t;

typedef struct hsatool_hsa_ext_program_create_args {
  hsa_machine_model_t machine_model;
  hsa_profile_t profile;
  hsa_default_float_rounding_mode_t default_float_rounding_mode;
  const char* options;
  hsa_ext_program_t* program;
} hsatool_hsa_ext_program_create_args_t;

typedef struct hsatool_hsa_ext_program_destroy_args {
  hsa_ext_program_t program;
} hsatool_hsa_ext_program_destroy_args_t;

typedef struct hsatool_hsa_ext_program_add_module_args {
  hsa_ext_program_t program;
  hsa_ext_module_t module;
} hsatool_hsa_ext_program_add_module_args_t;

typedef struct hsatool_hsa_ext_program_iterate_modules_args {
  hsa_ext_program_t program;
  hsa_status_t (*callback)(hsa_ext_program_t, hsa_ext_module_t, void*);
  void* data;
} hsatool_hsa_ext_program_iterate_modules_args_t;

typedef struct hsatool_hsa_ext_program_get_info_args {
  hsa_ext_program_t program;
  hsa_ext_program_info_t attribute;
  void* value;
} hsatool_hsa_ext_program_get_info_args_t;

typedef struct hsatool_hsa_ext_program_finalize_args {
  hsa_ext_program_t program;
  hsa_isa_t isa;
  int32_t call_convention;
  hsa_ext_control_directives_t control_directives;
  const char* options;
  hsa_code_object_type_t code_object_type;
  hsa_code_object_t* code_object;
} hsatool_hsa_ext_program_finalize_args_t;

typedef struct hsatool_hsa_ext_image_get_capability_args {
  hsa_agent_t agent;
  hsa_ext_image_geometry_t geometry;
  const hsa_ext_image_format_t* image_format;
  uint32_t* capability_mask;
} hsatool_hsa_ext_image_get_capability_args_t;

typedef struct hsatool_hsa_ext_image_data_get_info_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_t* image_descriptor;
  hsa_access_permission_t access_permission;
  hsa_ext_image_data_info_t* image_data_info;
} hsatool_hsa_ext_image_data_get_info_args_t;

typedef struct hsatool_hsa_ext_image_create_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_t* image_descriptor;
  const void* image_data;
  hsa_access_permission_t access_permission;
  hsa_ext_image_t* image;
} hsatool_hsa_ext_image_create_args_t;

typedef struct hsatool_hsa_ext_image_import_args {
  hsa_agent_t agent;
  const void* src_memory;
  size_t src_row_pitch;
  size_t src_slice_pitch;
  hsa_ext_image_t dst_image;
  const hsa_ext_image_region_t* image_region;
} hsatool_hsa_ext_image_import_args_t;

typedef struct hsatool_hsa_ext_image_export_args {
  hsa_agent_t agent;
  hsa_ext_image_t src_image;
  void* dst_memory;
  size_t dst_row_pitch;
  size_t dst_slice_pitch;
  const hsa_ext_image_region_t* image_region;
} hsatool_hsa_ext_image_export_args_t;

typedef struct hsatool_hsa_ext_image_copy_args {
  hsa_agent_t agent;
  hsa_ext_image_t src_image;
  const hsa_dim3_t* src_offset;
  hsa_ext_image_t dst_image;
  const hsa_dim3_t* dst_offset;
  const hsa_dim3_t* range;
} hsatool_hsa_ext_image_copy_args_t;

typedef struct hsatool_hsa_ext_image_clear_args {
  hsa_agent_t agent;
  hsa_ext_image_t image;
  const void* data;
  const hsa_ext_image_region_t* image_region;
} hsatool_hsa_ext_image_clear_args_t;

typedef struct hsatool_hsa_ext_image_destroy_args {
  hsa_agent_t agent;
  hsa_ext_image_t image;
} hsatool_hsa_ext_image_destroy_args_t;

typedef struct hsatool_hsa_ext_sampler_create_args {
  hsa_agent_t agent;
  const hsa_ext_sampler_descriptor_t* sampler_descriptor;
  hsa_ext_sampler_t* sampler;
} hsatool_hsa_ext_sampler_create_args_t;

typedef struct hsatool_hsa_ext_sampler_destroy_args {
  hsa_agent_t agent;
  hsa_ext_sampler_t sampler;
} hsatool_hsa_ext_sampler_destroy_args_t;

typedef struct hsatool_hsa_ext_image_get_capability_with_layout_args {
  hsa_agent_t agent;
  hsa_ext_image_geometry_t geometry;
  const hsa_ext_image_format_t* image_format;
  hsa_ext_image_data_layout_t image_data_layout;
  uint32_t* capability_mask;
} hsatool_hsa_ext_image_get_capability_with_layout_args_t;

typedef struct hsatool_hsa_ext_image_data_get_info_with_layout_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_t* image_descriptor;
  hsa_access_permission_t access_permission;
  hsa_ext_image_data_layout_t image_data_layout;
  size_t image_data_row_pitch;
  size_t image_data_slice_pitch;
  hsa_ext_image_data_info_t* image_data_info;
} hsatool_hsa_ext_image_data_get_info_with_layout_args_t;

typedef struct hsatool_hsa_ext_image_create_with_layout_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_t* image_descriptor;
  const void* image_data;
  hsa_access_permission_t access_permission;
  hsa_ext_image_data_layout_t image_data_layout;
  size_t image_data_row_pitch;
  size_t image_data_slice_pitch;
  hsa_ext_image_t* image;
} hsatool_hsa_ext_image_create_with_layout_args_t;

typedef struct hsatool_hsa_ext_sampler_create_v2_args {
  hsa_agent_t agent;
  const hsa_ext_sampler_descriptor_v2_t* sampler_descriptor;
  hsa_ext_sampler_t* sampler;
} hsatool_hsa_ext_sampler_create_v2_args_t;

typedef struct hsatool_hsa_amd_image_get_info_max_dim_args {
  hsa_agent_t agent;
  hsa_agent_info_t attribute;
  void* value;
} hsatool_hsa_amd_image_get_info_max_dim_args_t;

typedef struct hsatool_hsa_ext_image_data_get_info_v2_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_v2_t* image_descriptor;
  hsa_access_permission_t access_permission;
  hsa_ext_image_data_info_t* image_data_info;
} hsatool_hsa_ext_image_data_get_info_v2_args_t;

typedef struct hsatool_hsa_ext_image_create_v2_args {
  hsa_agent_t agent;
  const hsa_ext_image_descriptor_v2_t* image_descriptor;
  const void* image_data;
  hsa_access_permission_t access_permission;
  hsa_ext_image_t* image;
} hsatool_hsa_ext_image_create_v2_args_t;

typedef struct hsatool_hsa_ext_image_destroy_v2_args {
  hsa_agent_t agent;
  hsa_ext_image_t image;
} hsatool_hsa_ext_image_destroy_v2_args_t;

typedef struct hsatool_hsa_ext_image_mipmap_array_get_level_args {
  hsa_agent_t agent;
  const hsa_ext_image_t* mipmapped_array;
  uint32_t mip_level;
  const hsa_ext_image_descriptor_v2_t* image_descriptor;
  hsa_ext_image_t* level_image_out;
} hsatool_hsa_ext_image_mipmap_array_get_level_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_iterate_configuration_args {
  hsa_agent_t agent;
  hsa_ven_amd_pcs_iterate_configuration_callback_t configuration_callback;
  void* callback_data;
} hsatool_hsa_ven_amd_pcs_iterate_configuration_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_create_args {
  hsa_agent_t agent;
  hsa_ven_amd_pcs_method_kind_t method;
  hsa_ven_amd_pcs_units_t units;
  size_t interval;
  size_t latency;
  size_t buffer_size;
  hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback;
  void* client_callback_data;
  hsa_ven_amd_pcs_t* pc_sampling;
} hsatool_hsa_ven_amd_pcs_create_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_create_from_id_args {
  uint32_t pcs_id;
  hsa_agent_t agent;
  hsa_ven_amd_pcs_method_kind_t method;
  hsa_ven_amd_pcs_units_t units;
  size_t interval;
  size_t latency;
  size_t buffer_size;
  hsa_ven_amd_pcs_data_ready_callback_t data_ready_callback;
  void* client_callback_data;
  hsa_ven_amd_pcs_t* pc_sampling;
} hsatool_hsa_ven_amd_pcs_create_from_id_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_destroy_args {
  hsa_ven_amd_pcs_t pc_sampling;
} hsatool_hsa_ven_amd_pcs_destroy_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_start_args {
  hsa_ven_amd_pcs_t pc_sampling;
} hsatool_hsa_ven_amd_pcs_start_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_stop_args {
  hsa_ven_amd_pcs_t pc_sampling;
} hsatool_hsa_ven_amd_pcs_stop_args_t;

typedef struct hsatool_hsa_ven_amd_pcs_flush_args {
  hsa_ven_amd_pcs_t pc_sampling;
} hsatool_hsa_ven_amd_pcs_flush_args_t;
/* clang-format on */

#endif /* HSA_PLUGIN_HSA_TOOL_CALLS_H_ */
