/* The amdkfd interface: the ioctls of /dev/kfd, their arguments and the numbers in them.
 *
 * Users and implementations of a driver transport (hsa_driver.h) include it. The layouts are those of the
 * kernel up to KFD 1.17. The kernel's header is not used, because distributions ship older versions without
 * many of these ioctls. C11 and C++20.
 *
 * The kernel decodes the number and the size of a request separately: it extends shorter arguments with zeros
 * and truncates longer ones. These structs may therefore grow.
 */
#ifndef HSA_PLUGIN_KFD_ABI_H_
#define HSA_PLUGIN_KFD_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define KFD_ABI_SIZE(T, bytes) static_assert(sizeof(T) == (bytes), #T " does not have its size")
extern "C" {
#else
#define KFD_ABI_SIZE(T, bytes) _Static_assert(sizeof(T) == (bytes), #T " does not have its size")
#endif

enum {
  KFD_ABI_IOCTL_TYPE = 'K',
  KFD_ABI_VERSION_MAJOR = 1,
  KFD_ABI_VERSION_MINOR = 17,
};

/* Request numbers. */
enum kfd_abi_nr {
  KFD_NR_GET_VERSION = 0x01,
  KFD_NR_CREATE_QUEUE = 0x02,
  KFD_NR_DESTROY_QUEUE = 0x03,
  KFD_NR_SET_MEMORY_POLICY = 0x04,
  KFD_NR_GET_CLOCK_COUNTERS = 0x05,
  KFD_NR_GET_PROCESS_APERTURES = 0x06,
  KFD_NR_UPDATE_QUEUE = 0x07,
  KFD_NR_CREATE_EVENT = 0x08,
  KFD_NR_DESTROY_EVENT = 0x09,
  KFD_NR_SET_EVENT = 0x0a,
  KFD_NR_RESET_EVENT = 0x0b,
  KFD_NR_WAIT_EVENTS = 0x0c,
  KFD_NR_DBG_REGISTER = 0x0d,
  KFD_NR_DBG_UNREGISTER = 0x0e,
  KFD_NR_DBG_ADDRESS_WATCH = 0x0f,
  KFD_NR_DBG_WAVE_CONTROL = 0x10,
  KFD_NR_SET_SCRATCH_BACKING_VA = 0x11,
  KFD_NR_GET_TILE_CONFIG = 0x12,
  KFD_NR_SET_TRAP_HANDLER = 0x13,
  KFD_NR_GET_PROCESS_APERTURES_NEW = 0x14,
  KFD_NR_ACQUIRE_VM = 0x15,
  KFD_NR_ALLOC_MEMORY = 0x16,
  KFD_NR_FREE_MEMORY = 0x17,
  KFD_NR_MAP_MEMORY = 0x18,
  KFD_NR_UNMAP_MEMORY = 0x19,
  KFD_NR_SET_CU_MASK = 0x1a,
  KFD_NR_GET_QUEUE_WAVE_STATE = 0x1b,
  KFD_NR_GET_DMABUF_INFO = 0x1c,
  KFD_NR_IMPORT_DMABUF = 0x1d,
  KFD_NR_ALLOC_QUEUE_GWS = 0x1e,
  KFD_NR_SMI_EVENTS = 0x1f,
  KFD_NR_SVM = 0x20,
  KFD_NR_SET_XNACK_MODE = 0x21,
  KFD_NR_CRIU_OP = 0x22,
  KFD_NR_AVAILABLE_MEMORY = 0x23,
  KFD_NR_EXPORT_DMABUF = 0x24,
  KFD_NR_RUNTIME_ENABLE = 0x25,
  KFD_NR_DBG_TRAP = 0x26,
  /* Only in AMD's own kernels. */
  KFD_NR_IPC_IMPORT_HANDLE = 0x80,
  KFD_NR_IPC_EXPORT_HANDLE = 0x81,
  KFD_NR_DBG_TRAP_OLD = 0x82,
  KFD_NR_CROSS_MEMORY_COPY = 0x83,
  KFD_NR_RLC_SPM = 0x84,
  KFD_NR_PC_SAMPLE = 0x85,
};

struct kfd_get_version {
  uint32_t major, minor; /* out */
};
KFD_ABI_SIZE(struct kfd_get_version, 8);

enum {
  KFD_QUEUE_PM4 = 0,
  KFD_QUEUE_SDMA = 1,
  KFD_QUEUE_AQL = 2,
  KFD_QUEUE_SDMA_XGMI = 3,
  KFD_QUEUE_SDMA_BY_ENGINE = 4
};
enum { KFD_QUEUE_PERCENTAGE_MAX = 100, KFD_QUEUE_PRIORITY_MAX = 15, KFD_QUEUE_RING_MIN = 1024 };

struct kfd_create_queue {
  uint64_t ring_base_address;
  uint64_t write_pointer_address; /* in: where user mode keeps it */
  uint64_t read_pointer_address;  /* in */
  uint64_t doorbell_offset;       /* out: for mmap of /dev/kfd */
  uint32_t ring_size;             /* bytes */
  uint32_t gpu_id;
  uint32_t queue_type;
  uint32_t queue_percentage;
  uint32_t queue_priority;
  uint32_t queue_id; /* out */
  uint64_t eop_buffer_address;
  uint64_t eop_buffer_size;
  uint64_t ctx_save_restore_address;
  uint32_t ctx_save_restore_size;
  uint32_t ctl_stack_size;
  uint32_t sdma_engine_id; /* since 1.16 */
  uint32_t pad;
};
KFD_ABI_SIZE(struct kfd_create_queue, 96);

struct kfd_destroy_queue {
  uint32_t queue_id, pad;
};
KFD_ABI_SIZE(struct kfd_destroy_queue, 8);

struct kfd_set_memory_policy {
  uint64_t alternate_aperture_base, alternate_aperture_size;
  uint32_t gpu_id, default_policy, alternate_policy, misc_process_flag;
};
KFD_ABI_SIZE(struct kfd_set_memory_policy, 32);
enum { KFD_CACHE_POLICY_COHERENT = 0, KFD_CACHE_POLICY_NONCOHERENT = 1 };

struct kfd_get_clock_counters {
  uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_freq; /* out */
  uint32_t gpu_id, pad;                                                                   /* in; 0: no GPU */
};
KFD_ABI_SIZE(struct kfd_get_clock_counters, 40);

struct kfd_apertures {
  uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base,
      gpuvm_limit; /* limits are inclusive */
  uint32_t gpu_id, pad;
};
KFD_ABI_SIZE(struct kfd_apertures, 56);

enum { KFD_APERTURES_OLD_MAX = 7 };
struct kfd_get_process_apertures {
  struct kfd_apertures apertures[KFD_APERTURES_OLD_MAX]; /* out */
  uint32_t num_of_nodes, pad;                            /* out */
};
KFD_ABI_SIZE(struct kfd_get_process_apertures, 400);

struct kfd_get_process_apertures_new {
  uint64_t apertures_ptr;     /* in: array of kfd_apertures */
  uint32_t num_of_nodes, pad; /* in: capacity, 0 asks for the number; out: filled */
};
KFD_ABI_SIZE(struct kfd_get_process_apertures_new, 16);

struct kfd_update_queue {
  uint64_t ring_base_address;
  uint32_t queue_id, ring_size, queue_percentage, queue_priority; /* percentage 0 stops the queue */
};
KFD_ABI_SIZE(struct kfd_update_queue, 24);

enum {
  KFD_EVENT_SIGNAL = 0,
  KFD_EVENT_NODECHANGE = 1,
  KFD_EVENT_DEVICESTATECHANGE = 2,
  KFD_EVENT_HW_EXCEPTION = 3,
  KFD_EVENT_SYSTEM_EVENT = 4,
  KFD_EVENT_DEBUG_EVENT = 5,
  KFD_EVENT_PROFILE_EVENT = 6,
  KFD_EVENT_QUEUE_EVENT = 7,
  KFD_EVENT_MEMORY = 8,
};
enum { KFD_WAIT_COMPLETE = 0, KFD_WAIT_TIMEOUT = 1, KFD_WAIT_FAIL = 2 };
enum { KFD_SIGNAL_EVENTS_MAX = 4096, KFD_EVENT_PAGE_BYTES = 4096 * 8 };

struct kfd_create_event {
  uint64_t event_page_offset;  /* in: handle of the event page, or 0; out: for mmap */
  uint32_t event_trigger_data; /* out */
  uint32_t event_type, auto_reset, node_id;
  uint32_t event_id, event_slot_index; /* out */
};
KFD_ABI_SIZE(struct kfd_create_event, 32);

/* DESTROY_EVENT, SET_EVENT, RESET_EVENT. */
struct kfd_event_ref {
  uint32_t event_id, pad;
};
KFD_ABI_SIZE(struct kfd_event_ref, 8);

struct kfd_memory_exception {
  uint32_t not_present, read_only, no_execute, imprecise;
  uint64_t va;
  uint32_t gpu_id, error_type;
};
KFD_ABI_SIZE(struct kfd_memory_exception, 32);

struct kfd_hw_exception {
  uint32_t reset_type, reset_cause, memory_lost, gpu_id;
};
KFD_ABI_SIZE(struct kfd_hw_exception, 16);

struct kfd_event_data {
  union {
    struct kfd_memory_exception memory_exception;
    struct kfd_hw_exception hw_exception;
    uint64_t last_event_age; /* in and out, since 1.14; 0: not used */
  };
  uint64_t extension;
  uint32_t event_id, pad;
};
KFD_ABI_SIZE(struct kfd_event_data, 48);

struct kfd_wait_events {
  uint64_t events_ptr; /* array of kfd_event_data */
  uint32_t num_events, wait_for_all;
  uint32_t timeout;     /* milliseconds; 0 polls, UINT32_MAX waits forever */
  uint32_t wait_result; /* out */
};
KFD_ABI_SIZE(struct kfd_wait_events, 24);

struct kfd_set_scratch_backing_va {
  uint64_t va_addr;
  uint32_t gpu_id, pad;
};
KFD_ABI_SIZE(struct kfd_set_scratch_backing_va, 16);

struct kfd_get_tile_config {
  uint64_t tile_config_ptr, macro_tile_config_ptr;       /* arrays of uint32_t */
  uint32_t num_tile_configs, num_macro_tile_configs;     /* in: capacity; out: filled */
  uint32_t gpu_id, gb_addr_config, num_banks, num_ranks; /* the last three: out */
};
KFD_ABI_SIZE(struct kfd_get_tile_config, 40);

struct kfd_set_trap_handler {
  uint64_t tba_addr, tma_addr;
  uint32_t gpu_id, pad;
};
KFD_ABI_SIZE(struct kfd_set_trap_handler, 24);

struct kfd_acquire_vm {
  uint32_t drm_fd, gpu_id;
};
KFD_ABI_SIZE(struct kfd_acquire_vm, 8);

#define KFD_MEM_VRAM (1u << 0)
#define KFD_MEM_GTT (1u << 1)
#define KFD_MEM_USERPTR (1u << 2)
#define KFD_MEM_DOORBELL (1u << 3)
#define KFD_MEM_MMIO_REMAP (1u << 4)
#define KFD_MEM_KINDS 0x1fu
#define KFD_MEM_WRITABLE (1u << 31)
#define KFD_MEM_EXECUTABLE (1u << 30)
#define KFD_MEM_PUBLIC (1u << 29)
#define KFD_MEM_NO_SUBSTITUTE (1u << 28)
#define KFD_MEM_AQL_QUEUE (1u << 27)
#define KFD_MEM_COHERENT (1u << 26)
#define KFD_MEM_UNCACHED (1u << 25)
#define KFD_MEM_EXT_COHERENT (1u << 24)
#define KFD_MEM_CONTIGUOUS (1u << 23)

struct kfd_alloc_memory {
  uint64_t va_addr, size;
  uint64_t handle;      /* out */
  uint64_t mmap_offset; /* out: for mmap of the render node; in, for a userptr: the CPU address */
  uint32_t gpu_id, flags;
};
KFD_ABI_SIZE(struct kfd_alloc_memory, 40);

struct kfd_free_memory {
  uint64_t handle;
};
KFD_ABI_SIZE(struct kfd_free_memory, 8);

/* MAP_MEMORY and UNMAP_MEMORY. */
struct kfd_map_memory {
  uint64_t handle;
  uint64_t device_ids_array_ptr; /* array of uint32_t */
  uint32_t n_devices;
  uint32_t n_success; /* in: how many to skip; out: how many are done */
};
KFD_ABI_SIZE(struct kfd_map_memory, 24);

struct kfd_set_cu_mask {
  uint32_t queue_id, num_cu_mask; /* bits, a multiple of 32 */
  uint64_t cu_mask_ptr;           /* array of uint32_t */
};
KFD_ABI_SIZE(struct kfd_set_cu_mask, 16);

struct kfd_get_queue_wave_state {
  uint64_t ctl_stack_address;
  uint32_t ctl_stack_used_size, save_area_used_size; /* out */
  uint32_t queue_id, pad;
};
KFD_ABI_SIZE(struct kfd_get_queue_wave_state, 24);

struct kfd_get_dmabuf_info {
  uint64_t size; /* out */
  uint64_t metadata_ptr;
  uint32_t metadata_size; /* in: capacity; out: size */
  uint32_t gpu_id, flags; /* out */
  uint32_t dmabuf_fd;
};
KFD_ABI_SIZE(struct kfd_get_dmabuf_info, 32);

struct kfd_import_dmabuf {
  uint64_t va_addr;
  uint64_t handle; /* out */
  uint32_t gpu_id, dmabuf_fd;
};
KFD_ABI_SIZE(struct kfd_import_dmabuf, 24);

struct kfd_alloc_queue_gws {
  uint32_t queue_id, num_gws;
  uint32_t first_gws; /* out */
  uint32_t pad;
};
KFD_ABI_SIZE(struct kfd_alloc_queue_gws, 16);

struct kfd_smi_events {
  uint32_t gpu_id;
  uint32_t anon_fd; /* out */
};
KFD_ABI_SIZE(struct kfd_smi_events, 8);
/* Bit n - 1 of the written mask requests event n. */
#define KFD_SMI_EVENT_VMFAULT 1u
#define KFD_SMI_EVENT_MIGRATE_START 5u
#define KFD_SMI_EVENT_MIGRATE_END 6u
#define KFD_SMI_EVENT_QUEUE_EVICTION 9u
#define KFD_SMI_EVENT_QUEUE_RESTORE 10u
#define KFD_SMI_EVENT_UNMAP_FROM_GPU 11u
#define KFD_SMI_EVENT_PROCESS_START 12u
#define KFD_SMI_EVENT_PROCESS_END 13u
#define KFD_SMI_EVENT_MESSAGE_BYTES 96u

enum { KFD_SVM_SET_ATTR = 0, KFD_SVM_GET_ATTR = 1 };
enum {
  KFD_SVM_ATTR_PREFERRED_LOC = 0,
  KFD_SVM_ATTR_PREFETCH_LOC = 1,
  KFD_SVM_ATTR_ACCESS = 2,
  KFD_SVM_ATTR_ACCESS_IN_PLACE = 3,
  KFD_SVM_ATTR_NO_ACCESS = 4,
  KFD_SVM_ATTR_SET_FLAGS = 5,
  KFD_SVM_ATTR_CLR_FLAGS = 6,
  KFD_SVM_ATTR_GRANULARITY = 7, /* log2 of pages */
};
#define KFD_SVM_LOCATION_SYSMEM 0u
#define KFD_SVM_LOCATION_UNDEFINED 0xffffffffu
#define KFD_SVM_FLAG_HOST_ACCESS 0x01u
#define KFD_SVM_FLAG_COHERENT 0x02u
#define KFD_SVM_FLAG_HIVE_LOCAL 0x04u
#define KFD_SVM_FLAG_GPU_RO 0x08u
#define KFD_SVM_FLAG_GPU_EXEC 0x10u
#define KFD_SVM_FLAG_GPU_READ_MOSTLY 0x20u
#define KFD_SVM_FLAG_GPU_ALWAYS_MAPPED 0x40u
#define KFD_SVM_FLAG_EXT_COHERENT 0x80u
#define KFD_SVM_FLAGS_KNOWN 0xffu

struct kfd_svm_attribute {
  uint32_t type, value;
};
KFD_ABI_SIZE(struct kfd_svm_attribute, 8);

/* Followed by nattr attributes. */
struct kfd_svm {
  uint64_t start_addr, size;
  uint32_t op, nattr;
};
KFD_ABI_SIZE(struct kfd_svm, 24);

struct kfd_set_xnack_mode {
  int32_t xnack_enabled; /* in: below 0 asks; out: the mode */
};
KFD_ABI_SIZE(struct kfd_set_xnack_mode, 4);

struct kfd_available_memory {
  uint64_t available; /* out */
  uint32_t gpu_id, pad;
};
KFD_ABI_SIZE(struct kfd_available_memory, 16);

struct kfd_export_dmabuf {
  uint64_t handle;
  uint32_t flags;     /* O_CLOEXEC, O_RDWR */
  uint32_t dmabuf_fd; /* out */
};
KFD_ABI_SIZE(struct kfd_export_dmabuf, 16);

#define KFD_RUNTIME_ENABLE_MODE_ENABLE 1u
#define KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE 2u
struct kfd_runtime_enable {
  uint64_t r_debug;
  uint32_t mode_mask, capabilities_mask;
};
KFD_ABI_SIZE(struct kfd_runtime_enable, 16);

struct kfd_ipc_import_handle {
  uint64_t handle; /* out */
  uint64_t va_addr;
  uint64_t mmap_offset; /* out */
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags; /* out */
};
KFD_ABI_SIZE(struct kfd_ipc_import_handle, 48);

struct kfd_ipc_export_handle {
  uint64_t handle;
  uint32_t share_handle[4]; /* out */
  uint32_t gpu_id, flags;
};
KFD_ABI_SIZE(struct kfd_ipc_export_handle, 32);

struct kfd_dbg_trap_old {
  uint64_t ptr;
  uint32_t pid, op, data1, data2, data3, data4;
};
KFD_ABI_SIZE(struct kfd_dbg_trap_old, 32);

/* Offsets for mmap of /dev/kfd: type in bits 63:62, gpu_id in 61:46, the rest in 45:0. */
#define KFD_MMAP_TYPE_SHIFT 62
#define KFD_MMAP_TYPE_DOORBELL (3ull << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_TYPE_EVENTS (2ull << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_TYPE_RESERVED_MEM (1ull << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_TYPE_MMIO (0ull << KFD_MMAP_TYPE_SHIFT)
#define KFD_MMAP_GPU_ID_SHIFT 46
#define KFD_MMAP_GPU_ID(id) ((uint64_t)(id) << KFD_MMAP_GPU_ID_SHIFT)

/* Bits of the topology's `capability`. */
#define KFD_CAP_ATS (1u << 1)
#define KFD_CAP_DOORBELL_TYPE_SHIFT 12
#define KFD_CAP_SRAM_EDC (1u << 26)
#define KFD_CAP_SVM (1u << 27)
#define KFD_CAP_COHERENT_HOST_ACCESS (1u << 28)

/* The version in the topology's `fw_version` and `sdma_fw_version`. */
#define KFD_FIRMWARE_VERSION_MASK 0x3ffu

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_KFD_ABI_H_ */
