// List of loaded code objects for debuggers: the exported variable _amdgpu_r_debug, with the layout of struct
// r_debug of <link.h>, points to a list of link_map. There is one entry for each loaded code object of a
// frozen executable, with its URI and the difference between load and link address. A function of this file
// is called before and after each change of the list, so that debuggers can set a breakpoint.
//
// *Threads:* a process has one list. Any thread may add and remove; a dedicated lock serialises changes.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>

namespace rigel {

/// An entry of the list, whose address is constant while it is in the list.
class DebugEntry {
 public:
  DebugEntry(std::string uri, int64_t load_delta);
  DebugEntry(const DebugEntry&) = delete;
  DebugEntry& operator=(const DebugEntry&) = delete;
  ~DebugEntry() { remove(); }

  const std::string& uri() const { return uri_; }

  /// Adds the entry and notifies debuggers. Call once.
  void add();
  /// Removes the entry and notifies debuggers, if it was added.
  void remove();

 private:
  std::string uri_;
  link_map map_{};
  bool listed_ = false;
};

}  // namespace rigel

extern "C" {

/// struct r_debug with the breakpoint as a function pointer, so that it is initialised before any code runs.
struct RigelDebugRendezvous {
  int32_t version;
  link_map* map;
  void (*breakpoint)();
  int32_t state;
  uint64_t loader_base;
};

/// Exported from the runtime. The kernel driver receives its address when debugging is enabled.
extern __attribute__((visibility("default"))) RigelDebugRendezvous _amdgpu_r_debug;
}
