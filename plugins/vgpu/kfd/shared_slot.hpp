// Resources that a board has few of and that the processes of one virtual machine share. A slot is a name that one
// process at a time can have; it is free again when that process ends, in whatever way.
//
// Names are those of abstract sockets, so nothing is left in a file system. Any thread; one object at a time.
#pragma once

#include <string>

#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

class SharedSlot {
 public:
  /// Empty if somebody has it, or if there are no such names here. Names are of any length.
  static SharedSlot claim(const std::string& name);

  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  InternalFd fd_;
};

}  // namespace rigel::vgpu
