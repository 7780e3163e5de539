#include "plugins/vgpu/kfd/shared_slot.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

// System calls are made by number where the preload face hooks the function.

namespace rigel::vgpu {
namespace {

constexpr int kLowest = 700;  // the program's descriptors look as they would without us

}  // namespace

SharedSlot SharedSlot::claim(const std::string& name) {
  SharedSlot slot;
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return slot;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);  // a zero comes first
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    slot.fd_ = static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLowest));
  }
  syscall(SYS_close, fd);
  return slot;
}

SharedSlot::~SharedSlot() {
  if (fd_ >= 0) syscall(SYS_close, fd_);
}

}  // namespace rigel::vgpu
