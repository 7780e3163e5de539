// The table of /dev/kfd's ioctls: number, name, size, how faithful, and the function. It is the only place
// where a number becomes an action, and the fidelity report is printed from it.
//
// Functions take the arguments as the newest kernel knows them (shorter ones have been extended with zeros)
// and return 0 or an error number of <cerrno>, positive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {

enum class Faithful : uint8_t {
  kExact,        ///< As amdkfd answers, as far as a program can tell.
  kApproximate,  ///< Works; the note says what differs.
  kAbsent        ///< Fails with a status; the note says which.
};

/// One call: the copy of the arguments, of which the program has given the first `program_bytes`: fewer than
/// the call has, or more, where its length varies. As many go back to it.
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
  /// What is copied. As in the kernel, what the request says of that is ignored. 0: refused unseen.
  uint8_t directions;
  Faithful faithful;
  std::string_view note;
  Errno (*run)(Process&, const IoctlCall&);
  /// What the arguments say, for the trace; null: nothing worth it.
  std::string (*describe)(const void* arguments);
};

std::span<const IoctlEntry> kfd_ioctls();
const IoctlEntry* find_kfd_ioctl(uint32_t number);

/// Errors that no driver of hardware has: its buffers are files here, which limits of the process may be too low for. Says
/// in the log, once in a process, which limit it is.
void explain_limit(Log& log, Errno error);

/// The functions by chapter; each in the file ioctl_<chapter>.cpp.
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
  static Errno not_there(Process&, const IoctlCall&);
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
};

}  // namespace rigel::vgpu
