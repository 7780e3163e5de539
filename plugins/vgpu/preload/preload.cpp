// The preload face of the virtual GPU: libvgpu_preload.so stands in front of libc for the files of amdkfd, so
// that unmodified programs find the boards that VGPU_GPUS names. `vgpu-run` sets it up.
//
// Each hook decides as cheaply as it can that a call is none of its business and passes it on; the work is
// done by System (plugins/vgpu/kfd/system.hpp). glibc does not call itself through these names, so every
// entry point that programs use needs a hook of its own: fopen never reaches open, nor opendir openat.
//
// What is none of ours is libc's where threads can be cancelled in it; the rest are system calls by number.
//
// Nothing but the process's number is noted before the first call for one of our paths, and nothing is
// destroyed at exit. Calls that come from within (the virtual GPU reads /proc/cpuinfo; an allocator that
// unmaps) pass straight through.
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

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (const OurPath ours = our_path_at(folder, path)) {
    return to_libc(open_ours(ours, flags));
  }
  return NEXT(openat)(folder, path, flags, mode);
}

FILE* open_stream(const OurPath& ours, const char* mode) {
  const bool plain_read = std::strchr(mode, 'w') == nullptr && std::strchr(mode, 'a') == nullptr;
  const bool update = std::strchr(mode, '+') != nullptr;
  const int flags =
      (plain_read && !update ? O_RDONLY : O_RDWR) | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
  const int fd = to_libc(open_ours(ours, flags));
  if (fd < 0) return nullptr;
  FILE* const stream = fdopen(fd, plain_read && !update ? "r" : "r+");
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

int stat_path(int folder, const char* path, struct stat* out, int flags) {
  if (const OurPath ours = our_path_or_parent_at(folder, path, last_link(flags))) {
    if (ours.system->stat(ours.path, *out)) return 0;
    errno = ENOENT;
    return -1;
  }
  if ((flags & AT_EMPTY_PATH) != 0 && can_be_string(path) && *path == 0) return stat_fd(folder, out);
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, out, flags));
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
HOOK int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags, mode);
}
HOOK int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags, mode);
}
HOOK int __open_2(const char* path, int flags) {
  return open_at(AT_FDCWD, path, flags, 0);
}
HOOK int __open64_2(const char* path, int flags) {
  return open_at(AT_FDCWD, path, flags, 0);
}
HOOK int __openat_2(int folder, const char* path, int flags) {
  return open_at(folder, path, flags, 0);
}
HOOK int __openat64_2(int folder, const char* path, int flags) {
  return open_at(folder, path, flags, 0);
}

HOOK FILE* fopen(const char* path, const char* mode) {
  if (const OurPath ours = our_path(path)) return open_stream(ours, mode);
  return NEXT(fopen)(path, mode);
}
HOOK FILE* fopen64(const char* path, const char* mode) {
  if (const OurPath ours = our_path(path)) return open_stream(ours, mode);
  return NEXT(fopen64)(path, mode);
}

// The stream keeps its address, so its file is replaced: what libc does too.
static FILE* reopen(decltype(&::freopen) next, const char* path, const char* mode, FILE* stream) {
  const OurPath ours = path == nullptr ? OurPath{} : our_path(path);
  if (!ours) return next(path, mode, stream);
  const int fd = to_libc(open_ours(ours, O_RDONLY));
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

static int access_ours(const OurPath& ours, int mode) {
  const FileNode* const node = ours.system->files().find(ours.path);
  if (node == nullptr) return to_libc(-ENOENT);
  const bool folder = node->kind == FileNode::Kind::kDirectory;
  const bool read_only = folder || node->kind == FileNode::Kind::kFile;
  const bool refused = (read_only && (mode & W_OK) != 0) || (!folder && (mode & X_OK) != 0);
  return refused ? to_libc(-EACCES) : 0;
}
HOOK int access(const char* path, int mode) noexcept {
  if (const OurPath ours = our_path(path)) return access_ours(ours, mode);
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}
HOOK int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (const OurPath ours = our_path_at(folder, path)) return access_ours(ours, mode);
  return NEXT(faccessat)(folder, path, mode, flags);
}
HOOK int eaccess(const char* path, int mode) noexcept {
  if (const OurPath ours = our_path(path)) return access_ours(ours, mode);
  return NEXT(eaccess)(path, mode);
}
HOOK int euidaccess(const char* path, int mode) noexcept {
  return ::eaccess(path, mode);
}
HOOK ssize_t readlinkat(int folder, const char* path, char* buffer, size_t size) noexcept {
  if (const OurPath ours = our_path_at(folder, path, LastLink::kKeep)) {
    const std::string* const target = ours.system->files().link_target(ours.path);
    if (target == nullptr) {
      return to_libc(ours.system->files().find(ours.path) == nullptr ? ssize_t{-ENOENT} : ssize_t{-EINVAL});
    }
    const size_t bytes = std::min(size, target->size());
    std::copy_n(target->data(), bytes, buffer);  // without a zero behind it
    return static_cast<ssize_t>(bytes);
  }
  return syscall(SYS_readlinkat, folder, path, buffer, size);
}
HOOK ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  return readlinkat(AT_FDCWD, path, buffer, size);
}
// What programs call that are built to check the sizes of their buffers.
HOOK ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t room) {
  if (size > room) std::abort();
  return readlinkat(AT_FDCWD, path, buffer, size);
}
HOOK ssize_t __readlinkat_chk(int folder, const char* path, char* buffer, size_t size, size_t room) {
  if (size > room) std::abort();
  return readlinkat(folder, path, buffer, size);
}
// Of ours there are no extended attributes: `ls -l` asks for them.
static bool has_no_attributes(const char* path, LastLink last = LastLink::kFollow) {
  return static_cast<bool>(our_path_or_parent_at(AT_FDCWD, path, last));
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
  if (const OurPath ours = our_path(path)) {
    if (ours.system->files().find(ours.path) != nullptr) return copy_path(ours.path, resolved);
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
HOOK int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
  return stat_path(folder, path, out, flags);
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
HOOK int fstatat64(int folder, const char* path, struct stat64* out, int flags) noexcept {
  return stat_path(folder, path, reinterpret_cast<struct stat*>(out), flags);
}
// What programs built against glibc before 2.33 call.
HOOK int __xstat(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, 0);
}
HOOK int __lxstat(int, const char* path, struct stat* out) {
  return stat_path(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
HOOK int __fxstat(int, int fd, struct stat* out) {
  return stat_fd(fd, out);
}
HOOK int __fxstatat(int, int folder, const char* path, struct stat* out, int flags) {
  return stat_path(folder, path, out, flags);
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
HOOK int __fxstatat64(int, int folder, const char* path, struct stat* out, int flags) {
  return stat_path(folder, path, out, flags);
}
// Programs ask with null paths whether the call is there: a compiler that has read the header of statx would
// leave out the questions.
HOOK int statx_hook(int folder, const char* path, int flags, unsigned mask,
                    struct statx* out) __asm__("statx");
int statx_hook(int folder, const char* path, int flags, unsigned mask, struct statx* out) {
  struct stat s {};
  const bool of_fd = (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || (can_be_string(path) && *path == 0));
  const OurPath ours = of_fd ? OurPath{} : our_path_or_parent_at(folder, path, last_link(flags));
  if (ours) {
    if (!ours.system->stat(ours.path, s)) return to_libc(-ENOENT);
  } else if (!of_fd || current.load(std::memory_order_acquire) == nullptr || stat_fd(folder, &s) != 0 ||
             s.st_dev != System::files_device()) {
    return static_cast<int>(syscall(SYS_statx, folder, path, flags, mask, out));
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
  // Programs that close every descriptor they don't know mean their own.
  if (own_calls == 0 && InternalFd::is_internal(fd) && !in_vfork_child()) return to_libc(-EBADF);
  if (const FileCall file{fd}; file && !in_vfork_child()) return to_libc(file->close(fd));
  return NEXT(close)(fd);
}
HOOK int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr unsigned kHighest = 65536;
  const bool knows_some = current.load(std::memory_order_acquire) != nullptr ||
                          inherited.load(std::memory_order_acquire) != nullptr;
  if (!knows_some || in_vfork_child() || first > last || (flags & CLOSE_RANGE_CLOEXEC) != 0) {
    return static_cast<int>(syscall(SYS_close_range, first, last, flags));
  }
  unsigned begin = first;
  for (unsigned fd = first; fd <= std::min(last, kHighest); ++fd) {
    const bool keep = InternalFd::is_internal(static_cast<int>(fd));
    const bool known = !keep && system_for_fd(static_cast<int>(fd)) != nullptr;
    if (!keep && !known) continue;
    if (fd > begin) syscall(SYS_close_range, begin, fd - 1, flags);
    if (known) ::close(static_cast<int>(fd));
    begin = fd + 1;
  }
  return begin > last ? 0 : static_cast<int>(syscall(SYS_close_range, begin, last, flags));
}
HOOK void closefrom(int first) noexcept {
  close_range(static_cast<unsigned>(std::max(first, 0)), ~0u, 0);
}

// A duplicate that there is no memory to note would be a file that nobody knows.
static int noted(System& system, int fd, int copy) {
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
    if (const FileCall file{fd}) return noted(*file, fd, copy);
  }
  return copy;
}
static int dup_to(int fd, int to, int flags) {
  if (own_calls == 0 && InternalFd::is_internal(to) && !in_vfork_child()) return to_libc(-EBADF);
  System* const from = system_for_fd(fd);
  System* const over = system_for_fd(to);
  const int copy = static_cast<int>(flags < 0 ? syscall(SYS_dup2, fd, to) : syscall(SYS_dup3, fd, to, flags));
  if (copy >= 0 && fd != to && !in_vfork_child()) {
    const Inside guard;
    if (over != nullptr) over->forget(to);
    if (from != nullptr) return noted(*from, fd, to);
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
    if (const FileCall file{fd}) return noted(*file, fd, result);
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
  // A structure of amdkfd is only sent to amdkfd. That saves a system call for WAIT_EVENTS. One of DRM may be for a
  // real GPU that has the number of a file of ours, which the C library has closed without a call of ours.
  const auto type = static_cast<unsigned char>(request >> 8);
  const bool is_kfds = type == KFD_ABI_IOCTL_TYPE && (request >> 16 & 0x3fff) != 0;
  if (const FileCall file{fd, is_kfds}) return to_libc(file->ioctl(fd, request, argument));
  const auto result = static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
  // A file that does not know the request may be a device that somebody else has opened.
  if (result == -1 && errno == ENOTTY && own_calls == 0) {
    errno = System::foreign_file(fd) == System::ForeignFile::kNone ? ENOTTY : EBADF;
  }
  return result;
}

// Memory -------------------------------------------------------------------------------------------------

HOOK void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  const bool of_file = (flags & MAP_ANONYMOUS) == 0;
  System* system = of_file ? system_for_fd(fd) : nullptr;
  // Devices that somebody else has opened: they are mapped where few files have anything.
  constexpr uint64_t kOffsetsOfDevices = uint64_t{1} << 32;
  if (of_file && system == nullptr && own_calls == 0 && static_cast<uint64_t>(offset) >= kOffsetsOfDevices) {
    if (const auto foreign_file = System::foreign_file(fd); foreign_file != System::ForeignFile::kNone) {
      errno = foreign_file == System::ForeignFile::kKfd ? EINVAL : EBADF;
      return MAP_FAILED;
    }
  }
  // What is put in the place of doorbells takes them away.
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

// Writes the queue status to the log: `call (void)vgpu_report()` in gdb, with a thread of the program selected.
HOOK void vgpu_report() {
  System* const system = current.load(std::memory_order_acquire);
  if (system == nullptr) return;
  const Inside guard;
  system->log().write(LogCategory::kInfo,
                      "debugger: queue status:\n" + system->process().describe_activity());
}

// Threads that are lent ------------------------------------------------------------------------------------

// As hsa_plugin/hsa_driver.h has it, for runtimes that know of it.
HOOK int32_t hsa_driver_lend_thread_v1() noexcept {
  return lend_program_thread();
}
