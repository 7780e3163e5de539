#include "plugins/vgpu/kfd/user_copy.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rigel::vgpu {
namespace {

bool is_plausible(uint64_t address, size_t bytes) {
  return address >= 4096 && address < kProgramLimit && bytes < kProgramLimit - address;
}

struct StackRange {
  uint64_t low, high;  // high 0: not determined yet
};
constinit thread_local StackRange own_stack{0, 0};

void find_own_stack() noexcept {
  own_stack = {0, 1};  // if the stack cannot be found, no address is in it
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0 && bytes != 0) {
    own_stack = {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + bytes};
  }
  pthread_attr_destroy(&attributes);
}

// Memory between the current frame and the end of the stack is always mapped and writable. Most arguments are
// such variables of a caller, and need no system call. On other stacks (of a coroutine or a signal handler)
// the result is false.
bool is_in_callers_frame(uint64_t address, size_t bytes) noexcept {
  if (own_stack.high == 0) find_own_stack();
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return frame >= own_stack.low && frame < own_stack.high && address > frame && address < own_stack.high &&
         bytes <= own_stack.high - address;
}

}  // namespace

// process_vm_readv on the own process reports a bad address as an error, where a load would crash. If a
// sandbox forbids it, a bad address crashes the program.
Errno copy_from_program(void* to, uint64_t from, size_t bytes) noexcept {
  if (bytes == 0) return 0;
  if (!is_plausible(from, bytes)) return EFAULT;
  if (is_in_callers_frame(from, bytes)) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
  }
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) return 0;
  if (copied >= 0 || (errno != EPERM && errno != ENOSYS)) return EFAULT;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}

Errno copy_to_program(uint64_t to, const void* from, size_t bytes) noexcept {
  if (bytes == 0) return 0;
  if (!is_plausible(to, bytes)) return EFAULT;
  if (is_in_callers_frame(to, bytes)) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
  }
  const iovec local{const_cast<void*>(from), bytes};
  const iovec remote{reinterpret_cast<void*>(to), bytes};
  const ssize_t copied = process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) return 0;
  if (copied >= 0 || (errno != EPERM && errno != ENOSYS)) return EFAULT;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}

bool program_reads(uint64_t address) noexcept {
  std::byte byte{};
  const iovec local{&byte, 1};
  const iovec remote{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EFAULT;
}

bool program_has(uint64_t address, uint64_t bytes) noexcept {
  if (!is_plausible(address, bytes)) return false;
  const uint64_t first = address & ~uint64_t{4095};
  // Starts no write-back, but reports unmapped pages in the range.
  return msync(reinterpret_cast<void*>(first), address + bytes - first, MS_ASYNC) == 0;
}

}  // namespace rigel::vgpu
