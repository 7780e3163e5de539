// What the hooks of the preload face share: the machine of this process, whether a call is the program's, and
// which paths and descriptors are ours to answer.
//
// Threads: all from any thread. Children: one of fork has none of what its parent had open (System); one of
// vfork runs in its parent's memory with descriptors and signal handlers of its own, so what it opens, closes and
// sets is not put down.
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

extern constinit std::atomic<System*> current;  ///< Null: none yet.
/// After fork: the parent's, whose descriptors are dead here.
extern constinit std::atomic<System*> inherited;
extern constinit Mutex folders_mutex;  ///< Of folders.cpp: no fork comes in between.

using Inside = DriverCall;

/// Such a child shares our memory, and has descriptors and signal handlers of its own.
bool in_vfork_child();

/// The system, made if this is the first call that needs it. Null: the call is not ours.
System* system_for_path();

/// The system that knows this descriptor, if any. Never makes one.
System* system_for_fd(int fd);

/// The same for a call on it: if there is a system, the thread does the driver's work while this lives.
class FileCall {
 public:
  /// `is_sure`: who calls knows that a number of ours still stands for our file.
  explicit FileCall(int fd, bool is_sure = false);
  explicit operator bool() const { return system_ != nullptr; }
  System* operator->() const { return system_; }
  System& operator*() const { return *system_; }

 private:
  std::optional<Inside> inside_;
  System* system_ = nullptr;
};

/// Whether the address may be a string's. Others are for the kernel to refuse: some programs ask with them what it knows.
bool can_be_string(const char* path);

/// Whether it is worth asking.
bool could_be_ours(const char* path);

/// A path of the program that is ours to answer.
struct OurPath {
  System* system = nullptr;
  std::string path;  ///< Canonical.
  explicit operator bool() const { return system != nullptr; }
};

using LastLink = FileTree::LastLink;
OurPath our_path(const char* path, LastLink last = LastLink::kFollow);
OurPath our_path_at(int folder, const char* path, LastLink last = LastLink::kFollow);
/// The same for stat and its kind: also the parent of a folder of ours, by "..", though the folders above are
/// shared with the real system. There the folder may be missing, so that it would find no parent.
OurPath our_path_or_parent_at(int folder, const char* path, LastLink last);

/// A descriptor, or a negated error number.
int open_ours(const OurPath& ours, int flags);

/// A result with a negated error number in it becomes libc's -1 and errno.
template <class T>
T to_libc(T result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace rigel::vgpu
