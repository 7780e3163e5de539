#include "plugins/vgpu/kfd/shared_slot.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace rigel::vgpu {
SharedSlot SharedSlot::claim(const std::string& name) {
  SharedSlot slot;
  const InternalFd low(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!low) return slot;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);  // a zero comes first
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  if (::bind(low.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    if (auto high = InternalFd::duplicate(low.get())) slot.fd_ = std::move(*high);
  }
  return slot;
}

}  // namespace rigel::vgpu
