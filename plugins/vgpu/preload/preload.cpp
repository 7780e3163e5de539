// The preload face of the virtual GPU: libvgpu_preload.so stands in front of libc for the files of amdkfd, so
// that unmodified programs find the boards that VGPU_GPUS names. `vgpu-run` sets it up.
//
// Each hook decides as cheaply as it can that a call is none of its business and passes it on; the work is
// done by System (plugins/vgpu/kfd/system.hpp). glibc does not call itself through these names, so every
// entry point that programs use needs a hook of its own: fopen never reaches open, nor opendir openat.
//
// Nothing is constructed before the first call for one of our paths, and nothing is destroyed at exit. Calls
// that come from within (the virtual GPU reads /proc/cpuinfo; an allocator that unmaps) pass straight
// through.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/system.hpp"
#include "plugins/vgpu/preload/next.hpp"

#define HOOK extern "C" __attribute__((visibility("default")))

namespace rigel::vgpu {
namespace {

// The state of this process: nothing yet, being made, made, or failed for good.
enum : int { kNone, kMaking, kReady, kOff };
constinit std::atomic<int> state{kNone};
constinit std::atomic<System*> current{nullptr};
constinit std::atomic<System*> inherited{
    nullptr};  // after fork: the parent's, whose descriptors are dead here
constinit std::atomic<int> owner_pid{0};
constinit std::atomic<bool> fork_handled{false};
constinit thread_local int inside = 0;

// While one of these lives, the thread's calls are our own.
struct Inside {
  Inside() { ++inside; }
  ~Inside() { --inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(2, text, std::strlen(text));
}

void make() {
  const Inside guard;
  use_sigaction(NEXT(sigaction));  // not our hook of it
  SystemSettings settings = SystemSettings::from_environment();
  // What runs here was made for real hardware, where that race is nearly never lost.
  const char* const events = std::getenv("VGPU_EVENTS");
  if (events == nullptr || std::strcmp(events, "exact") != 0) settings.options.latecomers = Latecomers::kHear;
  auto made = make_system(settings);
  if (!made) {
    say(("vgpu: " + made.error() + "\n").c_str());
    state.store(kOff, std::memory_order_release);
    return;
  }
  current.store(made->release(), std::memory_order_release);
  owner_pid.store(getpid(), std::memory_order_release);
  if (!fork_handled.exchange(true)) {
    pthread_atfork(
        [] {
          if (System* system = current.load(std::memory_order_acquire)) system->before_fork();
        },
        [] {
          if (System* system = current.load(std::memory_order_acquire)) system->after_fork_in_parent();
        },
        [] {
          System* const system = current.exchange(nullptr);
          if (system != nullptr) {
            system->abandon_in_child();
            inherited.store(system);
          }
          state.store(kNone);
        });
  }
  state.store(kReady, std::memory_order_release);
}

// The system, made if this is the first call that needs it. Null: the call is not ours.
System* system_for_path() {
  if (inside != 0) return nullptr;
  for (;;) {
    int seen = state.load(std::memory_order_acquire);
    if (seen == kReady) return current.load(std::memory_order_acquire);
    if (seen == kOff) return nullptr;
    if (seen == kNone && state.compare_exchange_strong(seen, kMaking)) {
      make();
      continue;
    }
    std::this_thread::yield();
  }
}

// The system that knows this descriptor, if any. Never makes one.
System* system_for_fd(int fd) {
  if (fd < 0 || inside != 0) return nullptr;
  if (System* system = current.load(std::memory_order_acquire); system != nullptr && system->has(fd))
    return system;
  if (System* system = inherited.load(std::memory_order_acquire); system != nullptr && system->has(fd))
    return system;
  return nullptr;
}

// A child of vfork shares our memory but not our descriptors: what it closes is still open here.
bool shares_descriptors() {
  return owner_pid.load(std::memory_order_relaxed) == getpid();
}

bool could_be_ours(const char* path) {
  if (path == nullptr || path[0] != '/') return false;
  while (path[1] == '/') ++path;
  return std::strncmp(path, "/dev", 4) == 0 || std::strncmp(path, "/sys", 4) == 0 ||
         std::strncmp(path, "/proc/modules", 13) == 0 || std::strstr(path, "..") != nullptr ||
         std::strstr(path, "/./") != nullptr;
}

// A path of the program that is ours to answer.
struct OurPath {
  System* system = nullptr;
  std::string path;
  explicit operator bool() const { return system != nullptr; }
};

OurPath our_path(const char* path) {
  if (inside != 0 || !could_be_ours(path)) return {};
  System* const system = system_for_path();
  if (system == nullptr) return {};
  const Inside guard;
  std::string canonical = system->files().canonical(path);
  if (!system->files().owns(canonical)) return {};
  return {system, std::move(canonical)};
}

OurPath our_path_at(int folder, const char* path) {
  if (path == nullptr || path[0] == '/' || folder == AT_FDCWD) return our_path(path);
  System* const system = system_for_fd(folder);
  if (system == nullptr) return {};
  const Inside guard;
  const std::string base = system->folder_of(folder);
  if (base.empty()) return {};
  std::string canonical = system->files().canonical(base + "/" + path);
  if (!system->files().owns(canonical)) return {};
  return {system, std::move(canonical)};
}

// A result with a negated error number in it becomes libc's -1 and errno.
template <class T>
T to_libc(T result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (const OurPath ours = our_path_at(folder, path)) {
    const Inside guard;
    return to_libc(ours.system->open(ours.path, flags));
  }
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

FILE* open_stream(const OurPath& ours, const char* mode) {
  const Inside guard;
  const bool plain_read = std::strchr(mode, 'w') == nullptr && std::strchr(mode, 'a') == nullptr;
  const bool update = std::strchr(mode, '+') != nullptr;
  const int flags =
      (plain_read && !update ? O_RDONLY : O_RDWR) | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
  const int fd = to_libc(ours.system->open(ours.path, flags));
  if (fd < 0) return nullptr;
  FILE* const stream = fdopen(fd, plain_read && !update ? "r" : "r+");
  if (stream == nullptr) ours.system->close(fd);
  return stream;
}

// Folders ------------------------------------------------------------------------------------------------

// What opendir gives for a folder of ours. Told from libc's by being in the list.
struct Folder {
  std::vector<dirent> entries;
  size_t at = 0;
  int fd = -1;
};

constinit std::mutex folders_mutex;
constinit std::vector<Folder*>* folders = nullptr;  // leaked: there is no good moment at exit

Folder* our_folder(DIR* stream) {
  const std::lock_guard lock(folders_mutex);
  if (folders == nullptr) return nullptr;
  auto* const folder = reinterpret_cast<Folder*>(stream);
  return std::find(folders->begin(), folders->end(), folder) == folders->end() ? nullptr : folder;
}

// Names of a folder: all that the tree says and, where the real system shares it, what is there besides.
DIR* open_folder(System& system, const std::string& path, int fd) {
  const Inside guard;
  const FileNode* const node = system.files().find(path);
  if (node == nullptr || node->kind != FileNode::Kind::kFolder) {
    errno = node == nullptr ? ENOENT : ENOTDIR;
    return nullptr;
  }
  auto folder = std::make_unique<Folder>();
  const auto add = [&](const std::string& name, unsigned char type) {
    dirent entry{};
    entry.d_ino = std::hash<std::string>{}(path + "/" + name) | 1;
    entry.d_off = static_cast<off_t>(folder->entries.size() + 1);
    entry.d_reclen = sizeof entry;
    entry.d_type = type;
    std::strncpy(entry.d_name, name.c_str(), sizeof entry.d_name - 1);
    folder->entries.push_back(entry);
  };
  add(".", DT_DIR);
  add("..", DT_DIR);
  for (const std::string& name : system.files().list(path)) {
    const FileNode* const child = system.files().find(path + "/" + name);
    const bool is_folder = child != nullptr && child->kind == FileNode::Kind::kFolder;
    const bool is_file = child != nullptr && child->kind == FileNode::Kind::kFile;
    add(name, is_folder ? DT_DIR : is_file ? DT_REG : DT_CHR);
  }
  folder->fd = fd;
  const std::lock_guard lock(folders_mutex);
  if (folders == nullptr) folders = new std::vector<Folder*>;
  folders->push_back(folder.get());
  return reinterpret_cast<DIR*>(folder.release());
}

int stat_path(int folder, const char* path, struct stat* out, int flags) {
  if (const OurPath ours = our_path_at(folder, path)) {
    if (ours.system->stat(ours.path, *out)) return 0;
    errno = ENOENT;
    return -1;
  }
  if ((flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == 0) {
    if (System* system = system_for_fd(folder); system != nullptr && system->stat(folder, *out)) return 0;
  }
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, out, flags));
}

int stat_fd(int fd, struct stat* out) {
  if (System* system = system_for_fd(fd)) {
    const Inside guard;
    if (system->stat(fd, *out)) return 0;
  }
  return static_cast<int>(syscall(SYS_fstat, fd, out));
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

// Folders ------------------------------------------------------------------------------------------------

HOOK DIR* opendir(const char* path) {
  if (const OurPath ours = our_path(path)) return open_folder(*ours.system, ours.path, -1);
  return NEXT(opendir)(path);
}
HOOK DIR* fdopendir(int fd) {
  if (System* system = system_for_fd(fd)) {
    const std::string path = system->folder_of(fd);
    if (!path.empty()) return open_folder(*system, path, fd);
  }
  return NEXT(fdopendir)(fd);
}
HOOK dirent* readdir(DIR* stream) {
  if (Folder* folder = our_folder(stream)) {
    return folder->at < folder->entries.size() ? &folder->entries[folder->at++] : nullptr;
  }
  return NEXT(readdir)(stream);
}
HOOK dirent64* readdir64(DIR* stream) {
  static_assert(sizeof(dirent) == sizeof(dirent64));
  if (Folder* folder = our_folder(stream)) {
    return folder->at < folder->entries.size() ? reinterpret_cast<dirent64*>(&folder->entries[folder->at++])
                                               : nullptr;
  }
  return NEXT(readdir64)(stream);
}
HOOK int closedir(DIR* stream) {
  if (Folder* folder = our_folder(stream)) {
    {
      const std::lock_guard lock(folders_mutex);
      std::erase(*folders, folder);
    }
    if (folder->fd >= 0) ::close(folder->fd);
    delete folder;
    return 0;
  }
  return NEXT(closedir)(stream);
}
HOOK void rewinddir(DIR* stream) {
  if (Folder* folder = our_folder(stream)) {
    folder->at = 0;
    return;
  }
  NEXT(rewinddir)(stream);
}
HOOK long telldir(DIR* stream) {
  if (Folder* folder = our_folder(stream)) return static_cast<long>(folder->at);
  return NEXT(telldir)(stream);
}
HOOK void seekdir(DIR* stream, long at) {
  if (Folder* folder = our_folder(stream)) {
    folder->at = static_cast<size_t>(at);
    return;
  }
  NEXT(seekdir)(stream, at);
}
HOOK int dirfd(DIR* stream) {
  if (Folder* folder = our_folder(stream)) return folder->fd >= 0 ? folder->fd : to_libc(-ENOTSUP);
  return NEXT(dirfd)(stream);
}
HOOK int scandir(const char* path, dirent*** names, int (*filter)(const dirent*),
                 int (*compare)(const dirent**, const dirent**)) {
  const OurPath ours = our_path(path);
  if (!ours) return NEXT(scandir)(path, names, filter, compare);
  DIR* const stream = open_folder(*ours.system, ours.path, -1);
  if (stream == nullptr) return -1;
  std::vector<dirent*> found;
  while (const dirent* entry = readdir(stream)) {
    if (filter != nullptr && filter(entry) == 0) continue;
    auto* const copy = static_cast<dirent*>(std::malloc(sizeof(dirent)));
    if (copy == nullptr) break;
    *copy = *entry;
    found.push_back(copy);
  }
  closedir(stream);
  if (compare != nullptr) {
    std::sort(found.begin(), found.end(),
              [&](const dirent* a, const dirent* b) { return compare(&a, &b) < 0; });
  }
  *names = static_cast<dirent**>(std::malloc(sizeof(dirent*) * (found.size() + 1)));
  if (*names == nullptr) return to_libc(-ENOMEM);
  std::copy(found.begin(), found.end(), *names);
  return static_cast<int>(found.size());
}

// Names --------------------------------------------------------------------------------------------------

HOOK int access(const char* path, int mode) noexcept {
  if (const OurPath ours = our_path(path)) {
    const FileNode* const node = ours.system->files().find(ours.path);
    if (node == nullptr) return to_libc(-ENOENT);
    const bool read_only = node->kind == FileNode::Kind::kFile || node->kind == FileNode::Kind::kFolder;
    return read_only && (mode & W_OK) != 0 ? to_libc(-EACCES) : 0;
  }
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}
HOOK int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (our_path_at(folder, path)) return access(path, mode);
  return NEXT(faccessat)(folder, path, mode, flags);
}
HOOK ssize_t readlink(const char* path, char* buffer, size_t size) noexcept {
  if (const OurPath ours = our_path(path)) {
    // The canonical path has its links followed; the name itself may be one.
    const std::string* const target = ours.system->files().link_target(path);
    if (target == nullptr) {
      return to_libc(ours.system->files().find(ours.path) == nullptr ? ssize_t{-ENOENT} : ssize_t{-EINVAL});
    }
    const size_t bytes = std::min(size, target->size());
    std::memcpy(buffer, target->data(), bytes);
    return static_cast<ssize_t>(bytes);
  }
  return syscall(SYS_readlink, path, buffer, size);
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
HOOK int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  struct stat s {};
  bool ours = false;
  if (const OurPath p = our_path_at(folder, path)) {
    if (!p.system->stat(p.path, s)) return to_libc(-ENOENT);
    ours = true;
  } else if ((flags & AT_EMPTY_PATH) != 0 && *path == 0) {
    System* const system = system_for_fd(folder);
    ours = system != nullptr && system->stat(folder, s);
  }
  if (!ours) return static_cast<int>(syscall(SYS_statx, folder, path, flags, mask, out));
  *out = {};
  out->stx_mask = STATX_BASIC_STATS;
  out->stx_mode = static_cast<uint16_t>(s.st_mode);
  out->stx_nlink = static_cast<uint32_t>(s.st_nlink);
  out->stx_size = static_cast<uint64_t>(s.st_size);
  out->stx_blksize = static_cast<uint32_t>(s.st_blksize);
  out->stx_rdev_major = major(s.st_rdev);
  out->stx_rdev_minor = minor(s.st_rdev);
  return 0;
}

// Descriptors --------------------------------------------------------------------------------------------

HOOK int close(int fd) {
  // Programs that close every descriptor they don't know mean their own.
  if (inside == 0 && InternalFd::is_internal(fd) && shares_descriptors()) return to_libc(-EBADF);
  if (System* system = system_for_fd(fd); system != nullptr && shares_descriptors()) {
    const Inside guard;
    return to_libc(system->close(fd));
  }
  return static_cast<int>(syscall(SYS_close, fd));
}
HOOK int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr unsigned kHighest = 65536;
  if (current.load(std::memory_order_acquire) == nullptr || !shares_descriptors() ||
      (flags & CLOSE_RANGE_CLOEXEC) != 0) {
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

HOOK int dup(int fd) noexcept {
  const int copy = static_cast<int>(syscall(SYS_dup, fd));
  if (System* system = system_for_fd(fd); copy >= 0 && system != nullptr) {
    const Inside guard;
    system->note_duplicate(fd, copy);
  }
  return copy;
}
static int dup_to(int fd, int to, int flags) {
  if (inside == 0 && InternalFd::is_internal(to) && shares_descriptors()) return to_libc(-EBADF);
  System* const from = system_for_fd(fd);
  System* const over = system_for_fd(to);
  const int copy = static_cast<int>(flags < 0 ? syscall(SYS_dup2, fd, to) : syscall(SYS_dup3, fd, to, flags));
  if (copy >= 0 && fd != to && shares_descriptors()) {
    const Inside guard;
    if (over != nullptr) over->forget(to);
    if (from != nullptr) from->note_duplicate(fd, to);
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
  const long result = syscall(SYS_fcntl, fd, command, argument);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) {
    if (System* system = system_for_fd(fd)) {
      const Inside guard;
      system->note_duplicate(fd, static_cast<int>(result));
    }
  }
  return static_cast<int>(result);
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
  if (System* system = system_for_fd(fd)) {
    const Inside guard;
    return to_libc(system->ioctl(fd, request, argument));
  }
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

// Memory -------------------------------------------------------------------------------------------------

HOOK void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  if (System* system = system_for_fd(fd)) {
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
  System* const system = inside == 0 ? current.load(std::memory_order_acquire) : nullptr;
  if (system != nullptr) {
    const Inside guard;
    return to_libc(system->munmap(address, bytes));
  }
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
