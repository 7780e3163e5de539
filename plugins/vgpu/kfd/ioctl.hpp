// The table of /dev/kfd's ioctls: number, name, size, fidelity and function. The dispatch and the fidelity
// report both use it.
//
// Functions take the arguments in the layout of the newest kernel (shorter ones are extended with zeros) and
// return 0 or a positive error number of <cerrno>.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vgpu/fidelity/run_fidelity.hpp"
#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {

enum class Faithful : uint8_t {
  kExact,        ///< Programs cannot distinguish it from amdkfd.
  kApproximate,  ///< Works; the note describes the differences.
  kAbsent        ///< Fails with the status in the note.
};

/// One call: a copy of the arguments. The program passed `program_bytes` of them, which may be fewer or (if
/// the length varies) more than the structure's size. The same number is copied back.
struct IoctlCall {
  void* arguments;
  uint32_t program_bytes;
};

/// The arguments as the structure `T` of this call.
template <class T>
T& args(const IoctlCall& call) {
  return *static_cast<T*>(call.arguments);
}

struct IoctlEntry {
  static constexpr uint8_t kIn = 1, kOut = 2;
  uint32_t number;
  std::string_view name;
  uint32_t bytes;
  /// Copy directions. As in the kernel, the directions in the request are ignored. 0: rejected without a
  /// copy.
  uint8_t directions;
  Faithful faithful;
  std::string_view note;
  Errno (*run)(Process&, const IoctlCall&);
  /// Describes the arguments for the trace; null: no description.
  std::string (*describe)(const void* arguments);
};

std::span<const IoctlEntry> kfd_ioctls();
const IoctlEntry* find_kfd_ioctl(uint32_t number);

// Count a call for the fidelity of the run, if that is on.
void count_ioctl(fidelity::Set set, std::string_view name, Faithful faithful, std::string_view note);
void count_unknown_ioctl(fidelity::Set set, uint32_t number, std::string_view error);

/// Logs once per process which resource limit caused `error`. Buffers are files here, so limits of open files
/// and file sizes can cause errors that no hardware driver has.
void explain_limit(Log& log, Errno error);

/// The functions by chapter; each is in ioctl_<chapter>.cpp.
struct KfdIoctls {
  // misc
  static Errno get_version(Process&, const IoctlCall&);
  static Errno get_clock_counters(Process&, const IoctlCall&);
  static Errno get_process_apertures(Process&, const IoctlCall&);
  static Errno get_process_apertures_new(Process&, const IoctlCall&);
  static Errno acquire_vm(Process&, const IoctlCall&);
  static Errno set_memory_policy(Process&, const IoctlCall&);
  static Errno set_scratch_backing_va(Process&, const IoctlCall&);
  static Errno set_trap_handler(Process&, const IoctlCall&);
  static Errno get_tile_config(Process&, const IoctlCall&);
  static Errno set_xnack_mode(Process&, const IoctlCall&);
  static Errno runtime_enable(Process&, const IoctlCall&);
  static Errno smi_events(Process&, const IoctlCall&);
  static Errno not_permitted(Process&, const IoctlCall&);
  static Errno no_access(Process&, const IoctlCall&);
  static Errno no_debugger(Process&, const IoctlCall&);
  static Errno not_implemented(Process&, const IoctlCall&);
  // events
  static Errno create_event(Process&, const IoctlCall&);
  static Errno destroy_event(Process&, const IoctlCall&);
  static Errno set_event(Process&, const IoctlCall&);
  static Errno reset_event(Process&, const IoctlCall&);
  static Errno wait_events(Process&, const IoctlCall&);
  // memory
  static Errno alloc_memory(Process&, const IoctlCall&);
  static Errno free_memory(Process&, const IoctlCall&);
  static Errno map_memory(Process&, const IoctlCall&);
  static Errno unmap_memory(Process&, const IoctlCall&);
  static Errno available_memory(Process&, const IoctlCall&);
  static Errno svm(Process&, const IoctlCall&);
  // share
  static Errno get_dmabuf_info(Process&, const IoctlCall&);
  static Errno import_dmabuf(Process&, const IoctlCall&);
  static Errno export_dmabuf(Process&, const IoctlCall&);
  static Errno ipc_import(Process&, const IoctlCall&);
  static Errno ipc_export(Process&, const IoctlCall&);
  // queue
  static Errno create_queue(Process&, const IoctlCall&);
  static Errno destroy_queue(Process&, const IoctlCall&);
  static Errno update_queue(Process&, const IoctlCall&);
  static Errno set_cu_mask(Process&, const IoctlCall&);
  static Errno get_queue_wave_state(Process&, const IoctlCall&);
  static Errno alloc_queue_gws(Process&, const IoctlCall&);

 private:
  static Errno check_svm_range(Process&, const kfd_svm& header);
  static Errno set_svm_attributes(Process&, const kfd_svm& header, std::span<kfd_svm_attribute> attributes);
  static Errno get_svm_attributes(Process&, const kfd_svm& header, std::span<kfd_svm_attribute> attributes);
  static Errno change_mapping(Process&, kfd_map_memory& arguments, bool map);
  // Steps of create_queue(). The second chooses the queue's number, copy engine and doorbell.
  struct QueueMemory;
  static Errno reject_queue(Process&, const char* problem);
  static ErrnoOr<QueueMemory> find_queue_memory(Process& process, const GpuContext&, const kfd_create_queue&)
      RIGEL_REQUIRES(process.memory_mutex_);
  static Errno check_write_pointer(Process& process, const GpuContext&, const QueueMemory&);
  static Errno choose_slots(Process& process, const kfd_create_queue&, Process::Queue&)
      RIGEL_REQUIRES(process.queue_mutex_);
  static QueueConfig config_of(const kfd_create_queue&, const Process::Queue&);
};

}  // namespace rigel::vgpu
