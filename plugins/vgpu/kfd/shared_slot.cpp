#include "plugins/vgpu/kfd/shared_slot.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/core.h>

namespace rigel::vgpu {
namespace {

// Shortens a name to the room in an address; the end of a longer name is replaced by a hash of the whole
// name.
std::string address_name(const std::string& name, size_t capacity) {
  if (name.size() <= capacity) return name;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const std::string end = fmt::format("/{:016x}", hash);
  return name.substr(0, capacity - end.size()) + end;
}

}  // namespace

SharedSlot SharedSlot::claim(const std::string& name) {
  SharedSlot slot;
  const InternalFd low(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!low) return slot;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string in_address = address_name(name, sizeof address.sun_path - 1);  // the first byte is zero
  std::memcpy(address.sun_path + 1, in_address.data(), in_address.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + in_address.size());
  if (::bind(low.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    if (auto high = InternalFd::duplicate(low.get())) slot.fd_ = std::move(*high);
  }
  return slot;
}

}  // namespace rigel::vgpu
