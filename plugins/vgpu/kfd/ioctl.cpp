#include "plugins/vgpu/kfd/ioctl.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include <fmt/core.h>

#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

// Formats the arguments for the trace. Called after the ioctl, so out fields are filled.
template <class T, class... Fields>
std::string fields(const void* arguments, fmt::format_string<const Fields&...> format,
                   Fields T::*... members) {
  const T& a = *static_cast<const T*>(arguments);
  return fmt::format(format, (a.*members)...);
}

template <class T>
const T& as(const void* arguments) {
  return *static_cast<const T*>(arguments);
}

std::string show_create_queue(const void* p) {
  const auto& a = as<kfd_create_queue>(p);
  return fmt::format(
      "gpu={:#x} type={} ring={:#x}+{:#x} wptr={:#x} rptr={:#x} eop={:#x}+{:#x} cwsr={:#x}+{:#x} -> "
      "queue={} doorbell={:#x}",
      a.gpu_id, a.queue_type, a.ring_base_address, a.ring_size, a.write_pointer_address,
      a.read_pointer_address, a.eop_buffer_address, a.eop_buffer_size, a.ctx_save_restore_address,
      a.ctx_save_restore_size, a.queue_id, a.doorbell_offset);
}
std::string show_queue(const void* p) {
  return fields(p, "queue={}", &kfd_destroy_queue::queue_id);
}
std::string show_update_queue(const void* p) {
  return fields(p, "queue={} ring={:#x}+{:#x} percentage={} priority={}", &kfd_update_queue::queue_id,
                &kfd_update_queue::ring_base_address, &kfd_update_queue::ring_size,
                &kfd_update_queue::queue_percentage, &kfd_update_queue::queue_priority);
}
std::string show_create_event(const void* p) {
  return fields(p, "type={} auto_reset={} -> id={:#x} slot={}", &kfd_create_event::event_type,
                &kfd_create_event::auto_reset, &kfd_create_event::event_id,
                &kfd_create_event::event_slot_index);
}
std::string show_event(const void* p) {
  return fields(p, "id={:#x}", &kfd_event_ref::event_id);
}
std::string show_wait(const void* p) {
  return fields(p, "n={} all={} timeout={} -> result={}", &kfd_wait_events::num_events,
                &kfd_wait_events::wait_for_all, &kfd_wait_events::timeout, &kfd_wait_events::wait_result);
}
std::string show_alloc(const void* p) {
  const auto& a = as<kfd_alloc_memory>(p);
  constexpr const char* kKinds[] = {"VRAM", "GTT", "USERPTR", "DOORBELL", "MMIO"};
  std::string kind;
  for (unsigned i = 0; i < 5; ++i) {
    if ((a.flags >> i & 1) != 0) kind += kKinds[i];
  }
  return fmt::format("gpu={:#x} {} flags={:#x} va={:#x}+{:#x} -> handle={:#x} offset={:#x}", a.gpu_id, kind,
                     a.flags, a.va_addr, a.size, a.handle, a.mmap_offset);
}
std::string show_free(const void* p) {
  return fields(p, "handle={:#x}", &kfd_free_memory::handle);
}
std::string show_map(const void* p) {
  return fields(p, "handle={:#x} devices={} done={}", &kfd_map_memory::handle, &kfd_map_memory::n_devices,
                &kfd_map_memory::n_success);
}
std::string show_acquire(const void* p) {
  return fields(p, "gpu={:#x} drm_fd={}", &kfd_acquire_vm::gpu_id, &kfd_acquire_vm::drm_fd);
}
std::string show_version(const void* p) {
  return fields(p, "-> {}.{}", &kfd_get_version::major, &kfd_get_version::minor);
}
std::string show_svm(const void* p) {
  return fields(p, "{:#x}+{:#x} op={} attributes={}", &kfd_svm::start_addr, &kfd_svm::size, &kfd_svm::op,
                &kfd_svm::nattr);
}
std::string show_export(const void* p) {
  return fields(p, "handle={:#x} -> fd={}", &kfd_export_dmabuf::handle, &kfd_export_dmabuf::dmabuf_fd);
}
std::string show_import(const void* p) {
  return fields(p, "gpu={:#x} fd={} va={:#x} -> handle={:#x}", &kfd_import_dmabuf::gpu_id,
                &kfd_import_dmabuf::dmabuf_fd, &kfd_import_dmabuf::va_addr, &kfd_import_dmabuf::handle);
}
std::string show_scratch(const void* p) {
  return fields(p, "gpu={:#x} va={:#x}", &kfd_set_scratch_backing_va::gpu_id,
                &kfd_set_scratch_backing_va::va_addr);
}

using I = KfdIoctls;
constexpr auto kExact = Faithful::kExact;
constexpr auto kApproximate = Faithful::kApproximate;
constexpr auto kAbsent = Faithful::kAbsent;

template <class T>
constexpr uint32_t bytes_of = sizeof(T);

// The kernel's directions; those in the request are ignored.
constexpr uint8_t kNone = 0, kIn = IoctlEntry::kIn, kOut = IoctlEntry::kOut, kInOut = kIn | kOut;

constexpr auto kTable = std::to_array<IoctlEntry>({
    {KFD_NR_GET_VERSION, "GET_VERSION", bytes_of<kfd_get_version>, kOut, kExact, "1.17", I::get_version,
     show_version},
    {KFD_NR_CREATE_QUEUE, "CREATE_QUEUE", bytes_of<kfd_create_queue>, kInOut, kExact,
     "buffers are checked as in Linux 6.12", I::create_queue, show_create_queue},
    {KFD_NR_DESTROY_QUEUE, "DESTROY_QUEUE", bytes_of<kfd_destroy_queue>, kInOut, kExact, "", I::destroy_queue,
     show_queue},
    {KFD_NR_SET_MEMORY_POLICY, "SET_MEMORY_POLICY", bytes_of<kfd_set_memory_policy>, kIn, kApproximate,
     "checked; memory is always coherent", I::set_memory_policy, nullptr},
    {KFD_NR_GET_CLOCK_COUNTERS, "GET_CLOCK_COUNTERS", bytes_of<kfd_get_clock_counters>, kInOut, kExact, "",
     I::get_clock_counters, nullptr},
    {KFD_NR_GET_PROCESS_APERTURES, "GET_PROCESS_APERTURES", bytes_of<kfd_get_process_apertures>, kOut, kExact,
     "", I::get_process_apertures, nullptr},
    {KFD_NR_UPDATE_QUEUE, "UPDATE_QUEUE", bytes_of<kfd_update_queue>, kIn, kExact, "", I::update_queue,
     show_update_queue},
    {KFD_NR_CREATE_EVENT, "CREATE_EVENT", bytes_of<kfd_create_event>, kInOut, kExact, "", I::create_event,
     show_create_event},
    {KFD_NR_DESTROY_EVENT, "DESTROY_EVENT", bytes_of<kfd_event_ref>, kIn, kExact, "", I::destroy_event,
     show_event},
    {KFD_NR_SET_EVENT, "SET_EVENT", bytes_of<kfd_event_ref>, kIn, kExact, "", I::set_event, show_event},
    {KFD_NR_RESET_EVENT, "RESET_EVENT", bytes_of<kfd_event_ref>, kIn, kExact, "", I::reset_event, show_event},
    {KFD_NR_WAIT_EVENTS, "WAIT_EVENTS", bytes_of<kfd_wait_events>, kInOut, kApproximate,
     "signals do not interrupt the wait; under vgpu-run, auto-reset events also wake late waiters",
     I::wait_events, show_wait},
    {KFD_NR_DBG_REGISTER, "DBG_REGISTER", 8, kIn, kExact, "EPERM, as in Linux 5.15 and later",
     I::not_permitted, nullptr},
    {KFD_NR_DBG_UNREGISTER, "DBG_UNREGISTER", 8, kIn, kExact, "EPERM", I::not_permitted, nullptr},
    {KFD_NR_DBG_ADDRESS_WATCH, "DBG_ADDRESS_WATCH", 16, kIn, kExact, "EPERM", I::not_permitted, nullptr},
    {KFD_NR_DBG_WAVE_CONTROL, "DBG_WAVE_CONTROL", 16, kIn, kExact, "EPERM", I::not_permitted, nullptr},
    {KFD_NR_SET_SCRATCH_BACKING_VA, "SET_SCRATCH_BACKING_VA", bytes_of<kfd_set_scratch_backing_va>, kInOut,
     kExact, "", I::set_scratch_backing_va, show_scratch},
    {KFD_NR_GET_TILE_CONFIG, "GET_TILE_CONFIG", bytes_of<kfd_get_tile_config>, kInOut, kApproximate,
     "banks and ranks as implied by the mode tables", I::get_tile_config, nullptr},
    {KFD_NR_SET_TRAP_HANDLER, "SET_TRAP_HANDLER", bytes_of<kfd_set_trap_handler>, kIn, kApproximate,
     "s_trap enters the handler; faults and illegal instructions are reported without it",
     I::set_trap_handler, nullptr},
    {KFD_NR_GET_PROCESS_APERTURES_NEW, "GET_PROCESS_APERTURES_NEW", bytes_of<kfd_get_process_apertures_new>,
     kInOut, kExact, "", I::get_process_apertures_new, nullptr},
    {KFD_NR_ACQUIRE_VM, "ACQUIRE_VM", bytes_of<kfd_acquire_vm>, kIn, kExact, "", I::acquire_vm, show_acquire},
    {KFD_NR_ALLOC_MEMORY, "ALLOC_MEMORY_OF_GPU", bytes_of<kfd_alloc_memory>, kInOut, kApproximate,
     "VRAM is counted per process, not per system", I::alloc_memory, show_alloc},
    {KFD_NR_FREE_MEMORY, "FREE_MEMORY_OF_GPU", bytes_of<kfd_free_memory>, kIn, kExact, "", I::free_memory,
     show_free},
    {KFD_NR_MAP_MEMORY, "MAP_MEMORY_TO_GPU", bytes_of<kfd_map_memory>, kInOut, kExact, "", I::map_memory,
     show_map},
    {KFD_NR_UNMAP_MEMORY, "UNMAP_MEMORY_FROM_GPU", bytes_of<kfd_map_memory>, kInOut, kExact, "",
     I::unmap_memory, show_map},
    {KFD_NR_SET_CU_MASK, "SET_CU_MASK", bytes_of<kfd_set_cu_mask>, kIn, kApproximate,
     "applies to later dispatches; a mask without any of the chip's units enables all", I::set_cu_mask,
     nullptr},
    {KFD_NR_GET_QUEUE_WAVE_STATE, "GET_QUEUE_WAVE_STATE", bytes_of<kfd_get_queue_wave_state>, kInOut,
     kApproximate, "a stopped queue has no waves", I::get_queue_wave_state, nullptr},
    {KFD_NR_GET_DMABUF_INFO, "GET_DMABUF_INFO", bytes_of<kfd_get_dmabuf_info>, kInOut, kApproximate,
     "buffers of the virtual GPU only; metadata written by other processes is not visible",
     I::get_dmabuf_info, nullptr},
    {KFD_NR_IMPORT_DMABUF, "IMPORT_DMABUF", bytes_of<kfd_import_dmabuf>, kInOut, kExact, "", I::import_dmabuf,
     show_import},
    {KFD_NR_ALLOC_QUEUE_GWS, "ALLOC_QUEUE_GWS", bytes_of<kfd_alloc_queue_gws>, kInOut, kExact, "",
     I::alloc_queue_gws, nullptr},
    {KFD_NR_SMI_EVENTS, "SMI_EVENTS", bytes_of<kfd_smi_events>, kInOut, kApproximate,
     "events of this process only: start, end, faults, evictions, migrations; no throttling, no resets",
     I::smi_events, nullptr},
    {KFD_NR_SVM, "SVM", bytes_of<kfd_svm>, kInOut, kApproximate,
     "memory does not migrate; locations are stored and reported; NO_ACCESS has no effect with XNACK", I::svm,
     show_svm},
    {KFD_NR_SET_XNACK_MODE, "SET_XNACK_MODE", bytes_of<kfd_set_xnack_mode>, kInOut, kExact, "",
     I::set_xnack_mode, nullptr},
    {KFD_NR_CRIU_OP, "CRIU_OP", 56, kNone, kAbsent, "EACCES, as for a process without the capability",
     I::no_access, nullptr},
    {KFD_NR_AVAILABLE_MEMORY, "AVAILABLE_MEMORY", bytes_of<kfd_available_memory>, kInOut, kApproximate,
     "exact bytes; the driver rounds to 2 MiB and reserves some for page tables", I::available_memory,
     nullptr},
    {KFD_NR_EXPORT_DMABUF, "EXPORT_DMABUF", bytes_of<kfd_export_dmabuf>, kInOut, kApproximate,
     "the descriptor is a memory file, not a dma-buf", I::export_dmabuf, show_export},
    {KFD_NR_RUNTIME_ENABLE, "RUNTIME_ENABLE", bytes_of<kfd_runtime_enable>, kInOut, kApproximate,
     "queue errors are reported as requested; no debugger is notified", I::runtime_enable, nullptr},
    {KFD_NR_DBG_TRAP, "DBG_TRAP", 32, kInOut, kAbsent,
     "EINVAL, as for a driver without the hardware scheduler", I::no_debugger, nullptr},
    {KFD_NR_IPC_IMPORT_HANDLE, "IPC_IMPORT_HANDLE", bytes_of<kfd_ipc_import_handle>, kInOut, kApproximate,
     "the exporting process must be running, under the same user", I::ipc_import, nullptr},
    {KFD_NR_IPC_EXPORT_HANDLE, "IPC_EXPORT_HANDLE", bytes_of<kfd_ipc_export_handle>, kInOut, kApproximate,
     "the handle is valid while this process runs", I::ipc_export, nullptr},
    {KFD_NR_DBG_TRAP_OLD, "DBG_TRAP (old)", 32, kNone, kAbsent, "ENOTTY, as in upstream kernels",
     I::not_implemented, nullptr},
    {KFD_NR_CROSS_MEMORY_COPY, "CROSS_MEMORY_COPY", 48, kNone, kAbsent, "ENOTTY, as in upstream kernels",
     I::not_implemented, nullptr},
    {KFD_NR_RLC_SPM, "RLC_SPM", 32, kNone, kAbsent, "ENOTTY, as in upstream kernels", I::not_implemented,
     nullptr},
    {KFD_NR_PC_SAMPLE, "PC_SAMPLE", 32, kNone, kAbsent, "ENOTTY, as in upstream kernels", I::not_implemented,
     nullptr},
});

constexpr uint32_t kMaxBytes = 512;
static_assert(std::all_of(kTable.begin(), kTable.end(),
                          [](const IoctlEntry& e) { return e.bytes <= kMaxBytes; }));
static_assert(std::is_sorted(kTable.begin(), kTable.end(),
                             [](const IoctlEntry& a, const IoctlEntry& b) { return a.number < b.number; }));

}  // namespace

std::span<const IoctlEntry> kfd_ioctls() {
  return kTable;
}

const IoctlEntry* find_kfd_ioctl(uint32_t number) {
  const auto it = std::lower_bound(kTable.begin(), kTable.end(), number,
                                   [](const IoctlEntry& e, uint32_t n) { return e.number < n; });
  return it != kTable.end() && it->number == number ? &*it : nullptr;
}

void count_ioctl(fidelity::Set set, std::string_view name, Faithful faithful, std::string_view note) {
  using fidelity::Degree;
  constexpr Degree kDegrees[] = {Degree::kExact, Degree::kApproximate, Degree::kUnsupported};
  fidelity::RunFidelity::of_process().count(set, name, kDegrees[static_cast<size_t>(faithful)], note);
}

void count_unknown_ioctl(fidelity::Set set, uint32_t number, std::string_view error) {
  fidelity::RunFidelity& run = fidelity::RunFidelity::of_process();
  if (run.is_on()) run.count(set, fmt::format("{:#x}", number), fidelity::Degree::kUnsupported, error);
}

void explain_limit(Log& log, Errno error) {
  const char* const explanation =
      error == EMFILE
          ? "the process has too many file descriptors, and each buffer needs one; raise ulimit -n"
      : error == ENFILE
          ? "the system has too many open files, and each buffer needs one; raise sysctl fs.file-max"
      : error == EFBIG ? "the buffer's file exceeds the process's limit of file sizes; raise ulimit -f"
                       : nullptr;
  static constinit std::atomic<bool> explained{false};
  if (explanation == nullptr || explained.exchange(true)) return;
  log(LogCategory::kWarning, "buffer allocation: {}: {}", strerrorname_np(error), explanation);
}

int Process::ioctl(uint64_t request, void* argument) {
  // As in the kernel, the type in the bits above the number is ignored.
  const auto number = static_cast<uint32_t>(request & 0xff);
  const auto bytes = static_cast<uint32_t>(request >> 16 & 0x3fff);
  const IoctlEntry* const entry = find_kfd_ioctl(number);
  if (entry == nullptr) {
    log_(LogCategory::kWarning, "/dev/kfd: unknown ioctl {:#x} (number {:#x}): ENOTTY", request, number);
    count_unknown_ioctl(fidelity::Set::kKfd, number, "ENOTTY");
    return -ENOTTY;
  }
  // A program built for another release may pass a longer structure; its tail is copied in and out unchanged.
  alignas(8) std::byte small_copy[kMaxBytes] = {};
  std::unique_ptr<uint64_t[]> large_copy;
  auto* copy = small_copy;
  if (bytes > kMaxBytes) {
    large_copy.reset(new (std::nothrow) uint64_t[(bytes + 7) / 8]());
    if (large_copy == nullptr) return -ENOMEM;
    copy = reinterpret_cast<std::byte*>(large_copy.get());
  }
  const auto program = reinterpret_cast<uint64_t>(argument);
  if ((entry->directions & kIn) != 0) {
    if (const Errno error = copy_from_program(copy, program, bytes); error != 0) return -error;
  }
  const IoctlCall call{copy, bytes};
  Errno error = 0;
  try {
    error = entry->run(*this, call);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  explain_limit(log_, error);
  count_ioctl(fidelity::Set::kKfd, entry->name, entry->faithful, entry->note);
  // Results are copied also after an error: they include how far the call came.
  if ((entry->directions & kOut) != 0 && copy_to_program(program, copy, bytes) != 0) error = EFAULT;
  if (log_.enabled(LogCategory::kIoctl)) {
    const std::string description = entry->describe == nullptr ? "" : entry->describe(copy);
    log_(LogCategory::kIoctl, "{}({}) = {}{}", entry->name, description, -error,
         error == 0 ? "" : fmt::format(" {}", strerrorname_np(error)));
  }
  return -error;
}

}  // namespace rigel::vgpu
