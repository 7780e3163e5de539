// Where a debugger finds the code objects that are loaded: the exported variable _amdgpu_r_debug, of the
// layout of struct r_debug of <link.h>, points to a list of link_map, one for each loaded code object of a
// frozen executable, with its URI and the difference between load and link address. A function of ours is
// called before and after each change of the list, for debuggers to set a breakpoint on.
//
// There is one list in a process. Any thread may add and remove; a lock of its own serialises them.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>

namespace rigel {

/// One entry of the list. It stays where it is while it is in the list.
class DebugEntry {
 public:
  DebugEntry(std::string uri, int64_t load_delta);
  DebugEntry(const DebugEntry&) = delete;
  DebugEntry& operator=(const DebugEntry&) = delete;
  ~DebugEntry() { remove(); }

  const std::string& uri() const { return uri_; }

  /// Tells debuggers. Not twice.
  void add();
  /// Tells debuggers, if it was added.
  void remove();

 private:
  std::string uri_;
  link_map map_{};
  bool listed_ = false;
};

}  // namespace rigel

extern "C" {

/// struct r_debug, with the breakpoint as a function, so that it is complete before any code of ours has run.
struct RigelDebugRendezvous {
  int32_t version;
  link_map* map;
  void (*breakpoint)();
  int32_t state;
  uint64_t loader_base;
};

/// Exported from the runtime. The kernel driver is told its address when debugging is enabled.
extern __attribute__((visibility("default"))) RigelDebugRendezvous _amdgpu_r_debug;
}
