// What a board has few of, among the processes of one virtual machine: a slot is a name that one process at a
// time can have, and that is free again when its owner ends, however that happens.
//
// Names are those of abstract sockets, so nothing is left in a file system. A child of a fork has its
// parent's slots too, until it ends or becomes another program. Any thread; one object at a time.
#pragma once

#include <string>
#include <utility>

namespace rigel::vgpu {

class SharedSlot {
 public:
  SharedSlot() = default;
  ~SharedSlot();
  SharedSlot(SharedSlot&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SharedSlot& operator=(SharedSlot&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  /// Empty if somebody has it, or if there are no such names here.
  static SharedSlot claim(const std::string& name);

  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace rigel::vgpu
