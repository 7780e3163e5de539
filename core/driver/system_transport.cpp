// The transport that makes real system calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/driver/transport.hpp"

namespace rigel {
namespace {

int32_t result_of(int result) {
  return result < 0 ? -errno : result;
}

int32_t sys_open(void*, const char* path, int32_t flags) {
  return result_of(::open(path, flags & ~O_CREAT));
}

int32_t sys_close(void*, int32_t fd) {
  return result_of(::close(fd));
}

int32_t sys_dup(void*, int32_t fd, int32_t minimum) {
  return result_of(::fcntl(fd, F_DUPFD_CLOEXEC, minimum));
}

int32_t sys_ioctl(void*, int32_t fd, uint64_t request, void* argument) {
  return result_of(::ioctl(fd, static_cast<unsigned long>(request), argument));
}

int32_t sys_mmap(void*, void* address, uint64_t size, int32_t protection, int32_t flags, int32_t fd,
                 uint64_t offset, void** out) {
  void* const mapped = ::mmap(address, size, protection, flags, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return -errno;
  *out = mapped;
  return 0;
}

int32_t sys_munmap(void*, void* address, uint64_t size) {
  return result_of(::munmap(address, size));
}

int64_t sys_read_file(void*, const char* path, void* buffer, uint64_t capacity) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  uint64_t filled = 0;
  int64_t problem = 0;
  while (filled < capacity) {
    const ssize_t got = ::read(fd, static_cast<char*>(buffer) + filled, capacity - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) problem = -errno;
    if (got <= 0) break;
    filled += static_cast<uint64_t>(got);
  }
  ::close(fd);
  return problem < 0 ? problem : static_cast<int64_t>(filled);
}

int32_t sys_list_dir(void*, const char* path, const hsadrv_dir_sink_t* sink) {
  DIR* const dir = ::opendir(path);
  if (dir == nullptr) return -errno;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") sink->entry(sink->self, {name.data(), name.size()});
  }
  ::closedir(dir);
  return 0;
}

constexpr hsadrv_ops_t kOps{sizeof(hsadrv_ops_t), sys_open,      sys_close,   sys_dup, sys_ioctl, sys_mmap,
                            sys_munmap,           sys_read_file, sys_list_dir};

}  // namespace

const hsadrv_ops_t& system_transport_ops() noexcept {
  return kOps;
}

}  // namespace rigel
