// GPU events for management tools: a tool writes a 64-bit mask to a file, and reads one line of text for each
// event in the mask.
//
// A file is one end of a socket pair and receives events of the process that opened it. The lines are those
// of Linux 6.15, whose interface version is also 1.17. A virtual GPU never throttles or resets.
//
// Threads: any. Ownership: the program owns its end. If it is closed, the other end is closed with the next
// event or file.
#pragma once

#include <cstdint>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class SmiEvents {
 public:
  /// Opens a file for events of one GPU and returns the program's end.
  ErrnoOr<InternalFd> open(uint32_t gpu_index);

  /// A GPU could not access memory of this process.
  void memory_fault(uint32_t gpu_index);
  /// The process has acquired or released an address space on a GPU.
  void process_starts(uint32_t gpu_index);
  void process_ends(uint32_t gpu_index);

  enum class Eviction : uint8_t { kSvm = 0, kUserptr = 1 };
  /// The process's queues on a GPU are stopped while the program's memory changes, and restored afterwards.
  void queues_evicted(uint32_t gpu_index, uint32_t gpu_id, Eviction reason);
  void queues_restored(uint32_t gpu_index, uint32_t gpu_id);

  /// Shared pages move from one memory to another: a GPU's (its gpu_id) or the system's (0).
  struct Migration {
    uint64_t first_page, pages;
    uint32_t from, to;
    uint32_t prefetch, preferred;  ///< The range's attributes.
  };
  void migrated_for_prefetch(uint32_t gpu_index, const Migration& migration);
  /// The program has unmapped shared pages that were mapped on a GPU.
  void unmapped(uint32_t gpu_index, uint32_t gpu_id, uint64_t first_page, uint64_t pages);

 private:
  /// Sends a line that starts with the event's number to the listeners whose masks include the event.
  template <class... Args>
  void send_event(uint32_t gpu_index, uint32_t event, const char* format, const Args&... args);
  struct Listener {
    uint32_t gpu_index;
    InternalFd end;
    uint64_t mask = 0;
    uint64_t partial = 0;  // part of the next mask
    size_t partial_bytes = 0;
  };
  /// Reads the masks that the program has written; returns false if it has closed the file.
  static bool update(Listener& listener);

  Mutex mutex_;
  std::vector<Listener> listeners_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
