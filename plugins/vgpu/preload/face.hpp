// State that the hooks of the preload front end share: the system of this process, whether a call is the
// program's, and the paths and descriptors of the virtual GPU.
//
// Threads: all functions from any thread. Children: a child of fork cannot use its parent's files (System). A
// child of vfork runs in its parent's memory with separate descriptors and signal handlers, so its changes
// are not recorded.
#pragma once

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/kfd/driver_call.hpp"
#include "plugins/vgpu/kfd/system.hpp"

#define HOOK extern "C" __attribute__((visibility("default")))

namespace rigel::vgpu {

extern constinit std::atomic<System*> current;  ///< Null: not created yet.
/// After fork: the parent's system, whose descriptors fail here.
extern constinit std::atomic<System*> inherited;
extern constinit Mutex directories_mutex;  ///< Guards directory streams (folders.cpp); held during fork.

using Inside = DriverCall;

/// Whether this process is a child of vfork.
bool in_vfork_child();

/// Returns the system; creates it at the first call that needs it. Null: the call is not for the virtual GPU.
System* system_for_path();

/// Returns the system that has this descriptor, or null. Never creates one.
System* system_for_fd(int fd);

/// A call on a descriptor. If a system has the descriptor, the thread is in a DriverCall (driver_call.hpp)
/// while this object exists.
class FileCall {
 public:
  /// `is_current_file`: the caller knows that the descriptor has not been reused for another file.
  explicit FileCall(int fd, bool is_current_file = false);
  explicit operator bool() const { return system_ != nullptr; }
  System* operator->() const { return system_; }
  System& operator*() const { return *system_; }

 private:
  std::optional<Inside> inside_;
  System* system_ = nullptr;
};

/// Whether the address can be a string's. Other addresses are passed to the kernel: some programs probe it
/// with them.
bool can_be_string(const char* path);

/// A quick test for find_path(); may return true wrongly.
bool may_be_vgpu_path(const char* path);

struct VgpuPath {
  System* system = nullptr;
  std::string path;  ///< Canonical.
  explicit operator bool() const { return system != nullptr; }
};

using LastLink = FileTree::LastLink;
VgpuPath find_path(const char* path, LastLink last = LastLink::kFollow);
VgpuPath find_path_at(int directory, const char* path, LastLink last = LastLink::kFollow);
/// The same for stat and similar functions. Also finds the parent of a directory of the virtual GPU through
/// "..", although that directory belongs to the real file system: the child may not exist there.
VgpuPath find_path_or_parent_at(int directory, const char* path, LastLink last);

/// Returns a descriptor or a negated error number.
int open_path(const VgpuPath& found, int flags);

/// Converts a negated error number to -1 and errno.
template <class T>
T to_libc(T result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace rigel::vgpu
