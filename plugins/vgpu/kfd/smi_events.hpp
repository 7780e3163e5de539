// The events of a GPU for management tools: a tool writes a mask of 64 bits to a file, and reads from it a line of
// text for each event that the mask has.
//
// A file is one end of a socket pair, and hears of the process that has opened it. The lines are those of
// Linux 6.15, whose interface is 1.17 as well. A virtual GPU never throttles or resets.
//
// Threads: any. Ownership: the program's end is the program's; an end whose other end is closed goes with the
// next event or file.
#pragma once

#include <cstdint>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class SmiEvents {
 public:
  /// A new file about one GPU, by its index: the program's end.
  ErrnoOr<InternalFd> open(uint32_t gpu_index);

  /// A GPU could not access memory that this process has.
  void memory_fault(uint32_t gpu_index);
  /// The process has got an address space on a GPU, or gives it up.
  void process_starts(uint32_t gpu_index);
  void process_ends(uint32_t gpu_index);

  enum class Eviction : uint8_t { kSvm = 0, kUserptr = 1 };
  /// The process's queues on a GPU must not run while memory of the program changes under it, and may again.
  void queues_evicted(uint32_t gpu_index, uint32_t gpu_id, Eviction why);
  void queues_restored(uint32_t gpu_index, uint32_t gpu_id);

  /// Shared pages go from one memory to another: of a GPU, by its gpu_id, or the system's (0).
  struct Migration {
    uint64_t first_page, pages;
    uint32_t from, to;
    uint32_t prefetch, preferred;  ///< The range's attributes.
  };
  void migrated_for_prefetch(uint32_t gpu_index, const Migration& migration);
  /// The program has unmapped shared pages that a GPU had.
  void unmapped(uint32_t gpu_index, uint32_t gpu_id, uint64_t first_page, uint64_t pages);

 private:
  /// Sends a line with the event's number before it to those who asked for the event.
  template <class... Args>
  void tell(uint32_t gpu_index, uint32_t event, const char* format, const Args&... args);
  struct Listener {
    uint32_t gpu_index;
    InternalFd end;
    uint64_t mask = 0;
    uint64_t partial = 0;  // of the next mask
    size_t partial_bytes = 0;
  };
  /// Takes what the program has written; false if it has closed the file.
  static bool update(Listener& listener);

  Mutex mutex_;
  std::vector<Listener> listeners_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
