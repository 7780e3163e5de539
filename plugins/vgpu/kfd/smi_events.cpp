#include "plugins/vgpu/kfd/smi_events.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hsa_plugin/kfd_abi.h"

namespace rigel::vgpu {

ErrnoOr<InternalFd> SmiEvents::open(uint32_t gpu_index) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return tl::unexpected(errno);
  InternalFd ours(ends[0]), theirs(ends[1]);
  auto high = InternalFd::duplicate(ours.get());
  if (!high) return tl::unexpected(high.error());
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](Listener& listener) { return !update(listener); });
  listeners_.push_back({gpu_index, std::move(*high)});
  return theirs;
}

bool SmiEvents::update(Listener& listener) {
  for (;;) {
    auto* const at = reinterpret_cast<char*>(&listener.partial) + listener.partial_bytes;
    const ssize_t got =
        recv(listener.end.get(), at, sizeof listener.partial - listener.partial_bytes, MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    listener.partial_bytes += static_cast<size_t>(got);
    if (listener.partial_bytes < sizeof listener.partial) continue;
    listener.mask = listener.partial;
    listener.partial_bytes = 0;
  }
}

void SmiEvents::memory_fault(uint32_t gpu_index) {
  const std::lock_guard lock(mutex_);
  if (listeners_.empty()) return;
  char name[16] = "";
  prctl(PR_GET_NAME, name, 0, 0, 0);
  if (FILE* const file = std::fopen("/proc/self/comm", "re")) {  // of the process: this is a thread of ours
    if (std::fgets(name, sizeof name, file) != nullptr) name[std::strcspn(name, "\n")] = 0;
    std::fclose(file);
  }
  char line[KFD_SMI_EVENT_MESSAGE_BYTES];
  const int bytes = std::snprintf(line, sizeof line, "%x %x:%s\n", KFD_SMI_EVENT_VMFAULT,
                                  static_cast<unsigned>(getpid()), name);
  std::erase_if(listeners_, [&](Listener& listener) {
    if (!update(listener)) return true;
    if (listener.gpu_index == gpu_index && (listener.mask >> (KFD_SMI_EVENT_VMFAULT - 1) & 1) != 0) {
      // A program that does not read loses events, as with the kernel's.
      send(listener.end.get(), line, static_cast<size_t>(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return false;
  });
}

}  // namespace rigel::vgpu
