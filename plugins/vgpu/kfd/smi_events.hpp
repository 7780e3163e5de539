// What management tools hear of a GPU: files from which they read lines of text, one for each event that they
// have asked for by writing a mask of 64 bits.
//
// A file is one end of a socket pair. A virtual GPU never throttles, resets or migrates: memory faults are
// the events that there are.
//
// Threads: any. Ownership: the program's end is the program's; an end whose other end is closed goes with the
// next event or file.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class SmiEvents {
 public:
  /// A new file about one GPU, by its index: the program's end.
  ErrnoOr<InternalFd> open(uint32_t gpu_index);

  /// A GPU could not access memory that this process has.
  void memory_fault(uint32_t gpu_index);

 private:
  struct Listener {
    uint32_t gpu_index;
    InternalFd end;
    uint64_t mask = 0;
    uint64_t partial = 0;  // of the next mask
    size_t partial_bytes = 0;
  };
  /// Takes what the program has written; false if it has closed the file.
  static bool update(Listener& listener);

  std::mutex mutex_;
  std::vector<Listener> listeners_;
};

}  // namespace rigel::vgpu
