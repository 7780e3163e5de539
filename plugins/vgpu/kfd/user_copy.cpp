#include "plugins/vgpu/kfd/user_copy.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rigel::vgpu {
namespace {

constexpr uint64_t kUserLimit = uint64_t{1} << 47;

bool plausible(uint64_t address, size_t bytes) {
  return address >= 4096 && address < kUserLimit && bytes < kUserLimit - address;
}

}  // namespace

// process_vm_readv on ourselves answers a bad address with an error where a load would end the process. Some
// sandboxes forbid it; there a bad address is the program's own crash, as it would be in any library.
Errno copy_from_program(void* to, uint64_t from, size_t bytes) noexcept {
  if (bytes == 0) return 0;
  if (!plausible(from, bytes)) return EFAULT;
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
  if (!plausible(to, bytes)) return EFAULT;
  const iovec local{const_cast<void*>(from), bytes};
  const iovec remote{reinterpret_cast<void*>(to), bytes};
  const ssize_t copied = process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) return 0;
  if (copied >= 0 || (errno != EPERM && errno != ENOSYS)) return EFAULT;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}

bool program_has(uint64_t address, uint64_t bytes) noexcept {
  if (!plausible(address, bytes)) return false;
  const uint64_t first = address & ~uint64_t{4095};
  // Starts no writing, but walks the mappings and minds gaps.
  return msync(reinterpret_cast<void*>(first), address + bytes - first, MS_ASYNC) == 0;
}

}  // namespace rigel::vgpu
