// Scarce resources of a board that the processes of one virtual system share. A slot is a name that one
// process at a time can claim. It is released when the process ends, also after a crash.
//
// The names are abstract socket addresses, so nothing remains in a file system.
// Threads: any; one thread at a time per object.
#pragma once

#include <string>

#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class SharedSlot {
 public:
  /// Claims `name`, of any length. Empty if it is taken, or if abstract sockets are not available.
  static SharedSlot claim(const std::string& name);

  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  InternalFd fd_;
};

}  // namespace rigel::vgpu
