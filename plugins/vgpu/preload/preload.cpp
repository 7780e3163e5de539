// The preload front end of the virtual GPU: libvgpu_preload.so overrides libc functions for the files of
// amdkfd, so that unmodified programs find the boards of VGPU_GPUS. `vgpu-run` sets it up.
//
// Each hook forwards foreign calls as early as possible; System (plugins/vgpu/kfd/system.hpp) does the work.
// glibc does not call itself through these names: fopen does not call open, and opendir does not call openat.
// Each function that programs use therefore needs a hook.
//
// Foreign calls go to libc if they are cancellation points; the others are raw system calls.
//
// Before the first call for a path of the virtual GPU, only the pid is recorded. Nothing is destroyed at
// exit. Calls of the virtual GPU itself (for /proc/cpuinfo, or by an allocator that unmaps) are passed on.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/cp/shared_copy.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/system.hpp"
#include "plugins/vgpu/preload/face.hpp"
#include "plugins/vgpu/preload/next.hpp"

namespace rigel::vgpu {
namespace {

int open_at(int directory, const char* path, int flags, mode_t mode) {
  if (const VgpuPath found = find_path_at(directory, path)) {
    return to_libc(open_path(found, flags));
  }
  return NEXT(openat)(directory, path, flags, mode);
}

FILE* open_stream(const VgpuPath& found, const char* mode) {
  const bool is_read_mode = std::strchr(mode, 'w') == nullptr && std::strchr(mode, 'a') == nullptr;
  const bool update = std::strchr(mode, '+') != nullptr;
  const int flags =
      (is_read_mode && !update ? O_RDONLY : O_RDWR) | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
  const int fd = to_libc(open_path(found, flags));
  if (fd < 0) return nullptr;
  FILE* const stream = fdopen(fd, is_read_mode && !update ? "r" : "r+");
  if (stream == nullptr) ::close(fd);
  return stream;
}

int stat_fd(int fd, struct stat* out) {
  if (const FileCall file{fd}; file && file->stat(fd, *out)) return 0;
  const long result = syscall(SYS_fstat, fd, out);
  if (result == 0 && own_calls == 0) {
    if (System* system = current.load(std::memory_order_acquire)) system->stat_plain_file(fd, *out);
  }
  return static_cast<int>(result);
}

LastLink last_link(int flags) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? LastLink::kKeep : LastLink::kFollow;
}

int stat_path(int directory, const char* path, struct stat* out, int flags) {
  if (const VgpuPath found = find_path_or_parent_at(directory, path, last_link(flags))) {
    if (found.system->stat(found.path, *out)) return 0;
    errno = ENOENT;
    return -1;
  }
  if ((flags & AT_EMPTY_PATH) != 0 && can_be_string(path) && *path == 0) return stat_fd(directory, out);
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, out, flags));
}

char* copy_path(const std::string& path, char* to) {
  if (to == nullptr) return strdup(path.c_str());
  std::memcpy(to, path.c_str(), path.size() + 1);
  return to;
}

}  // namespace
}  // namespace rigel::vgpu

using namespace rigel::vgpu;

// open ---------------------------------------------------------------------------------------------------

#define MODE_OF(flags)                                              \
  mode_t mode = 0;                                                  \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list list;                                                   \
    va_start(list, flags);                                          \
    mode = va_arg(list, mode_t);                                    \
    va_end(list);                                                   \
  }

HOOK int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
HOOK int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
HOOK int openat(int directory, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(directory, path, flags, mode);
}
HOOK int openat64(int directory, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(directory, path, flags, mode);
}
HOOK int __open_2(const char* path, int flags) {
  return open_at(AT_FDCWD, path, flags, 0);
}
HOOK int __open64_2(const char* path, int flags) {
  return open_at(AT_FDCWD, path, flags, 0);
}
HOOK int __openat_2(int directory, const char* path, int flags) {
  return open_at(directory, path, flags, 0);
}
HOOK int __openat64_2(int directory, const char* path, int flags) {
  return open_at(directory, path, flags, 0);
}

HOOK FILE* fopen(const char* path, const char* mode) {
  if (const VgpuPath found = find_path(path)) return open_stream(found, mode);
  return NEXT(fopen)(path, mode);
}
HOOK FILE* fopen64(const char* path, const char* mode) {
  if (const VgpuPath found = find_path(path)) return open_stream(found, mode);
  return NEXT(fopen64)(path, mode);
}

// As in libc, the file is replaced, because the stream keeps its address.
static FILE* reopen(decltype(&::freopen) next, const char* path, const char* mode, FILE* stream) {
  const VgpuPath found = path == nullptr ? VgpuPath{} : find_path(path);
  if (!found) return next(path, mode, stream);
  const int fd = to_libc(open_path(found, O_RDONLY));
  if (fd < 0) {
    const int error = errno;
    std::fclose(stream);
    errno = error;
    return nullptr;
  }
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  FILE* const opened = next(name, mode, stream);
  ::close(fd);
  return opened;
}
HOOK FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen(NEXT(freopen), path, mode, stream);
}
HOOK FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen(NEXT(freopen64), path, mode, stream);
}

// Names --------------------------------------------------------------------------------------------------

static int access_path(const VgpuPath& found, int mode) {
  const FileNode* const node = found.system->files().find(found.path);
  if (node == nullptr) return to_libc(-ENOENT);
  const bool is_directory = node->kind == FileNode::Kind::kDirectory;
  const bool read_only = is_directory || node->kind == FileNode::Kind::kFile;
  const bool denied = (read_only && (mode & W_OK) != 0) || (!is_directory && (mode & X_OK) != 0);
  return denied ? to_libc(-EACCES) : 0;
}
HOOK int access(const char* path, int mode) noexcept {
  if (const VgpuPath found = find_path(path)) return access_path(found, mode);
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}
HOOK int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  if (const VgpuPath found = find_path_at(directory, path)) return access_path(found, mode);
  return NEXT(faccessat)(directory, path, mode, flags);
}
HOOK int eaccess(const char* path, int mode) noexcept {
  if (const VgpuPath found = find_path(path)) return access_path(found, mode);
  return NEXT(eaccess)(path, mode);
}
HOOK int euidaccess(const char* path, int mode) noexcept {
  return ::eaccess(path, mode);
}
HOOK ssize_t readlinkat(int directory, const char* path, char* buffer, size_t size) noexcept {
  if (const VgpuPath found = find_path_at(directory, path, LastLink::kKeep)) {
    const std::string* const target = found.system->files().link_target(found.path);
    if (target == nullptr) {
      return to_libc(found.system->files().find(found.path) == nullptr ? ssize_t{-ENOENT} : ssize_t{-EINVAL});
    }
    const size_t bytes = std::min(size, target->size());
    std::copy_n(target->data(), bytes, buffer);  // without a terminating zero
    return static_cast<ssize_t>(bytes);
  }
  return syscall(SYS_readlinkat, directory, path, buffer, size);
}
HOOK ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  return readlinkat(AT_FDCWD, path, buffer, size);
}
// Called by programs that are built with checks of buffer sizes.
HOOK ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t capacity) {
  if (size > capacity) std::abort();
  return readlinkat(AT_FDCWD, path, buffer, size);
}
HOOK ssize_t __readlinkat_chk(int directory, const char* path, char* buffer, size_t size, size_t capacity) {
  if (size > capacity) std::abort();
  return readlinkat(directory, path, buffer, size);
}
// The virtual GPU's files have no extended attributes; `ls -l` reads them.
static bool has_no_attributes(const char* path, LastLink last = LastLink::kFollow) {
  return static_cast<bool>(find_path_or_parent_at(AT_FDCWD, path, last));
}
HOOK ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  if (has_no_attributes(path)) return to_libc(ssize_t{-EOPNOTSUPP});
  return NEXT(getxattr)(path, name, value, size);
}
HOOK ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  if (has_no_attributes(path, LastLink::kKeep)) return to_libc(ssize_t{-EOPNOTSUPP});
  return NEXT(lgetxattr)(path, name, value, size);
}
HOOK ssize_t listxattr(const char* path, char* list, size_t size) noexcept {
  return has_no_attributes(path) ? 0 : NEXT(listxattr)(path, list, size);
}
HOOK ssize_t llistxattr(const char* path, char* list, size_t size) noexcept {
  return has_no_attributes(path, LastLink::kKeep) ? 0 : NEXT(llistxattr)(path, list, size);
}
HOOK char* realpath(const char* path, char* resolved) noexcept {
  if (const VgpuPath found = find_path(path)) {
    if (found.system->files().find(found.path) != nullptr) return copy_path(found.path, resolved);
    errno = ENOENT;
    return nullptr;
  }
  return NEXT(realpath)(path, resolved);
}
HOOK char* __realpath_chk(const char* path, char* resolved, size_t) {
  return ::realpath(path, resolved);
}
HOOK char* canonicalize_file_name(const char* path) noexcept {
  return ::realpath(path, nullptr);
}

// stat ---------------------------------------------------------------------------------------------------

static_assert(sizeof(struct stat) == sizeof(struct stat64));

HOOK int stat(const char* path, struct stat* out) noexcept {
  return stat_path(AT_FDCWD, path, out, 0);
}
HOOK int lstat(const char* path, struct stat* out) noexcept {
  return stat_path(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
HOOK int fstat(int fd, struct stat* out) noexcept {
  return stat_fd(fd, out);
}
HOOK int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  return stat_path(directory, path, out, flags);
}
HOOK int stat64(const char* path, struct stat64* out) noexcept {
  return stat_path(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), 0);
}
HOOK int lstat64(const char* path, struct stat64* out) noexcept {
  return stat_path(AT_FDCWD, path, reinterpret_cast<struct stat*>(out), AT_SYMLINK_NOFOLLOW);
}
HOOK int fstat64(int fd, struct stat64* out) noexcept {
  return stat_fd(fd, reinterpret_cast<struct stat*>(out));
}
HOOK int fstatat64(int directory, const char* path, struct stat64* out, int flags) noexcept {
  return stat_path(directory, path, reinterpret_cast<struct stat*>(out), flags);
}
// Called by programs that are built against glibc before 2.33.
HOOK int __xstat(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, 0);
}
HOOK int __lxstat(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
HOOK int __fxstat(int, int fd, struct stat* out) {
  return stat_fd(fd, out);
}
HOOK int __fxstatat(int, int directory, const char* path, struct stat* out, int flags) {
  return stat_path(directory, path, out, flags);
}
HOOK int __xstat64(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, 0);
}
HOOK int __lxstat64(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
HOOK int __fxstat64(int, int fd, struct stat* out) {
  return stat_fd(fd, out);
}
HOOK int __fxstatat64(int, int directory, const char* path, struct stat* out, int flags) {
  return stat_path(directory, path, out, flags);
}
// Programs probe for statx with null paths. A compiler that has seen the declaration in the header would
// remove the null checks.
HOOK int statx_hook(int directory, const char* path, int flags, unsigned mask,
                    struct statx* out) __asm__("statx");
int statx_hook(int directory, const char* path, int flags, unsigned mask, struct statx* out) {
  struct stat s {};
  const bool by_descriptor =
      (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || (can_be_string(path) && *path == 0));
  const VgpuPath found =
      by_descriptor ? VgpuPath{} : find_path_or_parent_at(directory, path, last_link(flags));
  if (found) {
    if (!found.system->stat(found.path, s)) return to_libc(-ENOENT);
  } else if (!by_descriptor || current.load(std::memory_order_acquire) == nullptr ||
             stat_fd(directory, &s) != 0 || s.st_dev != System::files_device()) {
    return static_cast<int>(syscall(SYS_statx, directory, path, flags, mask, out));
  }
  if (out == nullptr) return to_libc(-EFAULT);
  *out = {};
  out->stx_mask = STATX_BASIC_STATS;
  out->stx_mode = static_cast<uint16_t>(s.st_mode);
  out->stx_nlink = static_cast<uint32_t>(s.st_nlink);
  out->stx_ino = s.st_ino;
  out->stx_size = static_cast<uint64_t>(s.st_size);
  out->stx_blksize = static_cast<uint32_t>(s.st_blksize);
  out->stx_dev_major = major(s.st_dev);
  out->stx_dev_minor = minor(s.st_dev);
  out->stx_rdev_major = major(s.st_rdev);
  out->stx_rdev_minor = minor(s.st_rdev);
  return 0;
}

// Descriptors --------------------------------------------------------------------------------------------

HOOK int close(int fd) {
  // Programs that close all unknown descriptors must not close those of the device.
  if (own_calls == 0 && InternalFd::is_internal(fd) && !in_vfork_child()) return to_libc(-EBADF);
  if (const FileCall file{fd}; file && !in_vfork_child()) return to_libc(file->close(fd));
  return NEXT(close)(fd);
}
HOOK int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr unsigned kHighest = 65536;
  const bool has_system = current.load(std::memory_order_acquire) != nullptr ||
                          inherited.load(std::memory_order_acquire) != nullptr;
  if (!has_system || in_vfork_child() || first > last || (flags & CLOSE_RANGE_CLOEXEC) != 0) {
    return static_cast<int>(syscall(SYS_close_range, first, last, flags));
  }
  unsigned start = first;
  for (unsigned fd = first; fd <= std::min(last, kHighest); ++fd) {
    const bool is_internal = InternalFd::is_internal(static_cast<int>(fd));
    const bool is_vgpu_file = !is_internal && system_for_fd(static_cast<int>(fd)) != nullptr;
    if (!is_internal && !is_vgpu_file) continue;
    if (fd > start) syscall(SYS_close_range, start, fd - 1, flags);
    if (is_vgpu_file) ::close(static_cast<int>(fd));
    start = fd + 1;
  }
  return start > last ? 0 : static_cast<int>(syscall(SYS_close_range, start, last, flags));
}
HOOK void closefrom(int first) noexcept {
  close_range(static_cast<unsigned>(std::max(first, 0)), ~0u, 0);
}

// If there is no memory to record the duplicate, the call fails, so that there is no unknown duplicate.
static int record_duplicate(System& system, int fd, int copy) {
  try {
    system.note_duplicate(fd, copy);
    return copy;
  } catch (const std::bad_alloc&) {
    syscall(SYS_close, copy);
    return to_libc(-ENOMEM);
  }
}

HOOK int dup(int fd) noexcept {
  const int copy = static_cast<int>(syscall(SYS_dup, fd));
  if (copy >= 0 && !in_vfork_child()) {
    if (const FileCall file{fd}) return record_duplicate(*file, fd, copy);
  }
  return copy;
}
static int dup_to(int fd, int to, int flags) {
  if (own_calls == 0 && InternalFd::is_internal(to) && !in_vfork_child()) return to_libc(-EBADF);
  System* const from = system_for_fd(fd);
  System* const replaced = system_for_fd(to);
  const int copy = static_cast<int>(flags < 0 ? syscall(SYS_dup2, fd, to) : syscall(SYS_dup3, fd, to, flags));
  if (copy >= 0 && fd != to && !in_vfork_child()) {
    const Inside guard;
    if (replaced != nullptr) replaced->forget(to);
    if (from != nullptr) return record_duplicate(*from, fd, to);
  }
  return copy;
}
HOOK int dup2(int fd, int to) noexcept {
  return dup_to(fd, to, -1);
}
HOOK int dup3(int fd, int to, int flags) noexcept {
  return dup_to(fd, to, flags);
}

static int do_fcntl(int fd, int command, long argument) {
  const int result = NEXT(fcntl)(fd, command, argument);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC) && !in_vfork_child()) {
    if (const FileCall file{fd}) return record_duplicate(*file, fd, result);
  }
  return result;
}
HOOK int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  return do_fcntl(fd, command, argument);
}
HOOK int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  return do_fcntl(fd, command, argument);
}

HOOK int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  // A request of amdkfd goes to amdkfd only, which saves a system call for WAIT_EVENTS. A DRM request may be
  // for a physical GPU whose descriptor has reused the number of a file of the virtual GPU that libc has
  // closed without a hook.
  const auto type = static_cast<unsigned char>(request >> 8);
  const bool is_kfd_request = type == KFD_ABI_IOCTL_TYPE && (request >> 16 & 0x3fff) != 0;
  if (const FileCall file{fd, is_kfd_request}) return to_libc(file->ioctl(fd, request, argument));
  const auto result = static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
  // A file that rejects the request may be a device that another process has opened.
  if (result == -1 && errno == ENOTTY && own_calls == 0) {
    errno = System::foreign_file(fd) == System::ForeignFile::kNone ? ENOTTY : EBADF;
  }
  return result;
}

// Memory -------------------------------------------------------------------------------------------------

HOOK void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  const bool of_file = (flags & MAP_ANONYMOUS) == 0;
  System* system = of_file ? system_for_fd(fd) : nullptr;
  // Devices that another process has opened; few other files are mapped at such offsets.
  constexpr uint64_t kMinDeviceOffset = uint64_t{1} << 32;
  if (of_file && system == nullptr && own_calls == 0 && static_cast<uint64_t>(offset) >= kMinDeviceOffset) {
    if (const auto foreign_file = System::foreign_file(fd); foreign_file != System::ForeignFile::kNone) {
      errno = foreign_file == System::ForeignFile::kKfd ? EINVAL : EBADF;
      return MAP_FAILED;
    }
  }
  // A fixed mapping may replace doorbells.
  if (system == nullptr && (flags & MAP_FIXED) != 0 && own_calls == 0) {
    system = current.load(std::memory_order_acquire);
  }
  if (system != nullptr) {
    const Inside guard;
    void* out = nullptr;
    return to_libc(system->mmap(address, bytes, protection, flags, fd, static_cast<uint64_t>(offset), &out)) <
                   0
               ? MAP_FAILED
               : out;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
HOOK void* mmap64(void* address, size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept {
  return ::mmap(address, bytes, protection, flags, fd, offset);
}
HOOK int munmap(void* address, size_t bytes) noexcept {
  System* const system = own_calls == 0 ? current.load(std::memory_order_acquire) : nullptr;
  if (system != nullptr) {
    const Inside guard;
    return to_libc(system->munmap(address, bytes));
  }
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
HOOK void* mremap(void* address, size_t bytes, size_t new_bytes, int flags, ...) noexcept {
  void* fixed = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list list;
    va_start(list, flags);
    fixed = va_arg(list, void*);
    va_end(list);
  }
  System* const system = own_calls == 0 ? current.load(std::memory_order_acquire) : nullptr;
  if (system != nullptr) {
    const Inside guard;
    void* out = nullptr;
    return to_libc(system->mremap(address, bytes, new_bytes, flags, fixed, &out)) < 0 ? MAP_FAILED : out;
  }
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, bytes, new_bytes, flags, fixed));
}

// For debuggers --------------------------------------------------------------------------------------------

// Writes the queue status to the log. In gdb: `call (void)vgpu_report()` in a thread of the program.
HOOK void vgpu_report() {
  System* const system = current.load(std::memory_order_acquire);
  if (system == nullptr) return;
  const Inside guard;
  system->log().write(LogCategory::kInfo,
                      "debugger: queue status:\n" + system->process().describe_activity());
}

// Helper threads -------------------------------------------------------------------------------------------

// See hsa_plugin/hsa_driver.h.
HOOK int32_t hsa_driver_lend_thread_v1() noexcept {
  return lend_program_thread();
}

HOOK const hsadrv_sampling_ops_t* hsa_driver_sampling_v1() noexcept {
  static constexpr hsadrv_sampling_ops_t kOps{
      .struct_size = sizeof(hsadrv_sampling_ops_t),
      .start = [](void*, uint32_t gpu_id, const hsadrv_sampler_t* sampler) -> int32_t {
        System* const system = current.load(std::memory_order_acquire);
        if (system == nullptr) return -EINVAL;
        const Inside guard;
        return system->process().start_sampling(gpu_id, sampler);
      },
      .stop = [](void*, uint32_t gpu_id) -> int32_t {
        System* const system = current.load(std::memory_order_acquire);
        if (system == nullptr) return -EINVAL;
        const Inside guard;
        return system->process().stop_sampling(gpu_id);
      },
  };
  return &kOps;
}
