#include "plugins/vgpu/kfd/smi_events.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"

namespace rigel::vgpu {
namespace {

int process_id() {
  return static_cast<int>(getpid());
}

long long nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The process's name. A thread of the virtual GPU may ask, whose name differs.
struct ProcessName {
  char text[16] = "";
  ProcessName() {
    prctl(PR_GET_NAME, text, 0, 0, 0);
    if (FILE* const file = std::fopen("/proc/self/comm", "re")) {
      if (std::fgets(text, sizeof text, file) != nullptr) text[std::strcspn(text, "\n")] = 0;
      std::fclose(file);
    }
  }
};

}  // namespace

ErrnoOr<InternalFd> SmiEvents::open(uint32_t gpu_index) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return tl::unexpected(errno);
  InternalFd device_end(ends[0]), program_end(ends[1]);
  auto high = InternalFd::duplicate(device_end.get());
  if (!high) return tl::unexpected(high.error());
  const MutexLock lock(mutex_);
  std::erase_if(listeners_, [](Listener& listener) { return !update(listener); });
  listeners_.push_back({gpu_index, std::move(*high)});
  return program_end;
}

bool SmiEvents::update(Listener& listener) {
  for (;;) {
    auto* const at = reinterpret_cast<char*>(&listener.partial) + listener.partial_bytes;
    const ssize_t received =
        recv(listener.end.get(), at, sizeof listener.partial - listener.partial_bytes, MSG_DONTWAIT);
    if (received == 0) return false;
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    listener.partial_bytes += static_cast<size_t>(received);
    if (listener.partial_bytes < sizeof listener.partial) continue;
    listener.mask = listener.partial;
    listener.partial_bytes = 0;
  }
}

template <class... Args>
void SmiEvents::send_event(uint32_t gpu_index, uint32_t event, const char* format, const Args&... args) {
  const MutexLock lock(mutex_);
  if (listeners_.empty()) return;
  char line[KFD_SMI_EVENT_MESSAGE_BYTES];
  const int head = std::snprintf(line, sizeof line, "%x ", event);
  const int body = std::snprintf(line + head, sizeof line - static_cast<size_t>(head), format, args...);
  const size_t bytes = std::min(sizeof line - 1, static_cast<size_t>(head + body));
  std::erase_if(listeners_, [&](Listener& listener) {
    if (!update(listener)) return true;
    if (listener.gpu_index == gpu_index && (listener.mask >> (event - 1) & 1) != 0) {
      // A program that does not read loses events, as in Linux.
      send(listener.end.get(), line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return false;
  });
}

void SmiEvents::memory_fault(uint32_t gpu_index) {
  send_event(gpu_index, KFD_SMI_EVENT_VMFAULT, "%x:%s\n", process_id(), ProcessName().text);
}

void SmiEvents::process_starts(uint32_t gpu_index) {
  send_event(gpu_index, KFD_SMI_EVENT_PROCESS_START, "%x %s\n", process_id(), ProcessName().text);
}

void SmiEvents::process_ends(uint32_t gpu_index) {
  send_event(gpu_index, KFD_SMI_EVENT_PROCESS_END, "%x %s\n", process_id(), ProcessName().text);
}

void SmiEvents::queues_evicted(uint32_t gpu_index, uint32_t gpu_id, Eviction reason) {
  send_event(gpu_index, KFD_SMI_EVENT_QUEUE_EVICTION, "%lld -%d %x %d\n", nanoseconds(), process_id(), gpu_id,
             static_cast<int>(reason));
}

void SmiEvents::queues_restored(uint32_t gpu_index, uint32_t gpu_id) {
  send_event(gpu_index, KFD_SMI_EVENT_QUEUE_RESTORE, "%lld -%d %x %c\n", nanoseconds(), process_id(), gpu_id,
             '0');
}

void SmiEvents::migrated_for_prefetch(uint32_t gpu_index, const Migration& m) {
  constexpr int kPrefetch = 0, kNoError = 0;
  send_event(gpu_index, KFD_SMI_EVENT_MIGRATE_START, "%lld -%d @%lx(%lx) %x->%x %x:%x %d\n", nanoseconds(),
             process_id(), m.first_page, m.pages, m.from, m.to, m.prefetch, m.preferred, kPrefetch);
  send_event(gpu_index, KFD_SMI_EVENT_MIGRATE_END, "%lld -%d @%lx(%lx) %x->%x %d %d\n", nanoseconds(),
             process_id(), m.first_page, m.pages, m.from, m.to, kPrefetch, kNoError);
}

void SmiEvents::unmapped(uint32_t gpu_index, uint32_t gpu_id, uint64_t first_page, uint64_t pages) {
  constexpr int kUnmappedByProgram = 2;
  send_event(gpu_index, KFD_SMI_EVENT_UNMAP_FROM_GPU, "%lld -%d @%lx(%lx) %x %d\n", nanoseconds(),
             process_id(), first_page, pages, gpu_id, kUnmappedByProgram);
}

}  // namespace rigel::vgpu
