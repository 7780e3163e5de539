// The preload face of the virtual GPU: libvgpu_preload.so stands in front of libc for the files of amdkfd, so
// that unmodified programs find the boards that VGPU_GPUS names. `vgpu-run` sets it up.
//
// Each hook decides as cheaply as it can that a call is none of its business and passes it on; the work is
// done by System (plugins/vgpu/kfd/system.hpp). glibc does not call itself through these names, so every
// entry point that programs use needs a hook of its own: fopen never reaches open, nor opendir openat.
//
// Nothing but the process's number is noted before the first call for one of our paths, and nothing is
// destroyed at exit. Calls that come from within (the virtual GPU reads /proc/cpuinfo; an allocator that
// unmaps) pass straight through.
//
// Children. One of fork has none of what its parent had open: see System. One of vfork runs in its parent's
// memory with descriptors of its own, so what it opens and closes is not put down here.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
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
#include "plugins/vgpu/preload/signals.hpp"

#define HOOK extern "C" __attribute__((visibility("default")))

namespace rigel::vgpu {
namespace {

// The state of this process: nothing yet, being made, made, or failed for good.
enum : int { kNone, kMaking, kReady, kOff };
constinit std::atomic<int> state{kNone};
constinit std::atomic<System*> current{nullptr};
constinit std::atomic<System*> inherited{
    nullptr};                               // after fork: the parent's, whose descriptors are dead here
constinit std::atomic<pid_t> owner_pid{0};  // whose descriptors are the ones that we know
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
  state.store(kReady, std::memory_order_release);
}

// A child of vfork shares our memory but not our descriptors: what it closes is still open here.
bool shares_descriptors() {
  return owner_pid.load(std::memory_order_relaxed) == getpid();
}

// The system, made if this is the first call that needs it. Null: the call is not ours.
System* system_for_path() {
  if (inside != 0) return nullptr;
  for (;;) {
    int seen = state.load(std::memory_order_acquire);
    if (seen == kReady) return current.load(std::memory_order_acquire);
    if (seen == kOff || !shares_descriptors()) return nullptr;
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

using LastLink = FileTree::LastLink;

OurPath our_path(System& system, std::string_view path, LastLink last) {
  std::string canonical = system.files().canonical(path, last);
  if (!system.files().owns(canonical)) return {};
  return {&system, std::move(canonical)};
}

OurPath our_path(const char* path, LastLink last = LastLink::kFollow) {
  if (inside != 0 || !could_be_ours(path)) return {};
  System* const system = system_for_path();
  if (system == nullptr) return {};
  const Inside guard;
  return our_path(*system, path, last);
}

OurPath our_path_at(int folder, const char* path, LastLink last = LastLink::kFollow) {
  if (path == nullptr || path[0] == '/' || folder == AT_FDCWD) return our_path(path, last);
  System* const system = system_for_fd(folder);
  if (system == nullptr) return {};
  const Inside guard;
  const std::string base = system->folder_of(folder);
  if (base.empty()) return {};
  return our_path(*system, base + "/" + path, last);
}

// A result with a negated error number in it becomes libc's -1 and errno.
template <class T>
T to_libc(T result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

int open_ours(const OurPath& ours, int flags) {
  const Inside guard;
  const int fd = ours.system->open(ours.path, flags);
  if (fd >= 0 && !shares_descriptors()) ours.system->forget(fd);
  return fd;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (const OurPath ours = our_path_at(folder, path)) {
    return to_libc(open_ours(ours, flags));
  }
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
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

// Folders ------------------------------------------------------------------------------------------------

// What opendir gives for a folder of ours. Told from libc's by being in the list.
struct Folder {
  std::vector<dirent> entries;
  size_t at = 0;
  int fd = -1;
};

constinit std::mutex folders_mutex;                 // no fork comes in between
constinit std::vector<Folder*>* folders = nullptr;  // leaked: there is no good moment at exit

Folder* our_folder(DIR* stream) {
  const std::lock_guard lock(folders_mutex);
  if (folders == nullptr) return nullptr;
  auto* const folder = reinterpret_cast<Folder*>(stream);
  return std::find(folders->begin(), folders->end(), folder) == folders->end() ? nullptr : folder;
}

// Names of a folder, which takes the descriptor as its own.
DIR* open_folder(System& system, const std::string& path, int fd) {
  const Inside guard;
  auto folder = std::make_unique<Folder>();
  const auto add = [&](const std::string& name, unsigned char type) {
    dirent entry{};
    entry.d_ino = System::inode_of(system.files().canonical(path + "/" + name, LastLink::kKeep));
    entry.d_off = static_cast<off_t>(folder->entries.size() + 1);
    entry.d_reclen = sizeof entry;
    entry.d_type = type;
    std::strncpy(entry.d_name, name.c_str(), sizeof entry.d_name - 1);
    folder->entries.push_back(entry);
  };
  add(".", DT_DIR);
  add("..", DT_DIR);
  for (const std::string& name : system.files().list(path)) {
    struct stat status {};
    system.stat(path + "/" + name, status);
    add(name, static_cast<unsigned char>(IFTODT(status.st_mode)));
  }
  folder->fd = fd;
  const std::lock_guard lock(folders_mutex);
  if (folders == nullptr) folders = new std::vector<Folder*>;
  folders->push_back(folder.get());
  return reinterpret_cast<DIR*>(folder.release());
}

DIR* open_folder(const OurPath& ours) {
  const int fd = to_libc(open_ours(ours, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd < 0 ? nullptr : open_folder(*ours.system, ours.path, fd);
}

int stat_fd(int fd, struct stat* out) {
  if (System* system = system_for_fd(fd)) {
    const Inside guard;
    if (system->stat(fd, *out)) return 0;
  }
  const long result = syscall(SYS_fstat, fd, out);
  if (result == 0 && inside == 0) {
    if (System* system = current.load(std::memory_order_acquire)) system->stat_plain_file(fd, *out);
  }
  return static_cast<int>(result);
}

LastLink last_link(int flags) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? LastLink::kKeep : LastLink::kFollow;
}

int stat_path(int folder, const char* path, struct stat* out, int flags) {
  if (const OurPath ours = our_path_at(folder, path, last_link(flags))) {
    if (ours.system->stat(ours.path, *out)) return 0;
    errno = ENOENT;
    return -1;
  }
  if ((flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == 0) return stat_fd(folder, out);
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, out, flags));
}

char* copy_path(const std::string& path, char* to) {
  if (to == nullptr) return strdup(path.c_str());
  std::memcpy(to, path.c_str(), path.size() + 1);
  return to;
}

// Processes -----------------------------------------------------------------------------------------------

void before_fork() {
  if (System* system = current.load(std::memory_order_acquire)) system->before_fork();
  folders_mutex.lock();
}

void after_fork_in_parent() {
  folders_mutex.unlock();
  if (System* system = current.load(std::memory_order_acquire)) system->after_fork_in_parent();
}

void after_fork_in_child() {
  folders_mutex.unlock();
  owner_pid.store(getpid(), std::memory_order_relaxed);
  if (System* const system = current.exchange(nullptr); system != nullptr) {
    system->abandon_in_child();
    inherited.store(system, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) != kOff) state.store(kNone, std::memory_order_release);
}

// A child of vfork cannot be told from its parent later.
__attribute__((constructor)) void begin() {
  keep_faults_unblocked();
  owner_pid.store(getpid(), std::memory_order_relaxed);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
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

// Folders ------------------------------------------------------------------------------------------------

HOOK DIR* opendir(const char* path) {
  if (const OurPath ours = our_path(path)) return open_folder(ours);
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
// Of one thread at a time for a stream, as these are not told apart from readdir() otherwise.
static int read_folder(Folder& folder, dirent* entry, dirent** result) {
  *result = nullptr;
  if (folder.at >= folder.entries.size()) return 0;
  *entry = folder.entries[folder.at++];
  *result = entry;
  return 0;
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HOOK int readdir_r(DIR* stream, dirent* entry, dirent** result) {
  if (Folder* folder = our_folder(stream)) return read_folder(*folder, entry, result);
  return NEXT(readdir_r)(stream, entry, result);
}
HOOK int readdir64_r(DIR* stream, dirent64* entry, dirent64** result) {
  if (Folder* folder = our_folder(stream)) {
    return read_folder(*folder, reinterpret_cast<dirent*>(entry), reinterpret_cast<dirent**>(result));
  }
  return NEXT(readdir64_r)(stream, entry, result);
}
#pragma GCC diagnostic pop
HOOK int closedir(DIR* stream) {
  if (Folder* folder = our_folder(stream)) {
    {
      const std::lock_guard lock(folders_mutex);
      std::erase(*folders, folder);
    }
    const int fd = folder->fd;
    delete folder;
    return ::close(fd);
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
  if (Folder* folder = our_folder(stream)) return folder->fd;
  return NEXT(dirfd)(stream);
}
static int scan_folder(const OurPath& ours, dirent*** names, int (*filter)(const dirent*),
                       int (*compare)(const dirent**, const dirent**)) {
  DIR* const stream = open_folder(ours);
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
HOOK int scandirat(int at, const char* path, dirent*** names, int (*filter)(const dirent*),
                   int (*compare)(const dirent**, const dirent**)) {
  if (const OurPath ours = our_path_at(at, path)) return scan_folder(ours, names, filter, compare);
  return NEXT(scandirat)(at, path, names, filter, compare);
}
HOOK int scandir(const char* path, dirent*** names, int (*filter)(const dirent*),
                 int (*compare)(const dirent**, const dirent**)) {
  return scandirat(AT_FDCWD, path, names, filter, compare);
}
// The same with other names for the same things.
extern "C" {
__attribute__((visibility("default"), alias("scandir"))) int scandir64(
    const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**));
__attribute__((visibility("default"), alias("scandirat"))) int scandirat64(
    int, const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**));
}

// glob() opens folders by itself unless it is told how.
static int glob_with(decltype(&::glob) next, const char* pattern, int flags,
                     int (*on_error)(const char*, int), glob_t* out) {
  if (inside != 0 || !could_be_ours(pattern) || (flags & GLOB_ALTDIRFUNC) != 0 ||
      system_for_path() == nullptr) {
    return next(pattern, flags, on_error, out);
  }
  out->gl_opendir = [](const char* path) { return static_cast<void*>(opendir(path)); };
  out->gl_readdir = [](void* folder) { return readdir(static_cast<DIR*>(folder)); };
  out->gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };
  out->gl_stat = stat;
  out->gl_lstat = lstat;
  const int result = next(pattern, flags | GLOB_ALTDIRFUNC, on_error, out);
  out->gl_flags &= ~GLOB_ALTDIRFUNC;
  return result;
}
HOOK int glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* out) noexcept {
  return glob_with(NEXT(glob), pattern, flags, on_error, out);
}
HOOK int glob64(const char* pattern, int flags, int (*on_error)(const char*, int), glob64_t* out) noexcept {
  static_assert(sizeof(glob_t) == sizeof(glob64_t));
  return glob_with(NEXT(glob), pattern, flags, on_error, reinterpret_cast<glob_t*>(out));
}

// Names --------------------------------------------------------------------------------------------------

static int access_ours(const OurPath& ours, int mode) {
  const FileNode* const node = ours.system->files().find(ours.path);
  if (node == nullptr) return to_libc(-ENOENT);
  const bool read_only = node->kind == FileNode::Kind::kFile || node->kind == FileNode::Kind::kFolder;
  return read_only && (mode & W_OK) != 0 ? to_libc(-EACCES) : 0;
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
    std::memcpy(buffer, target->data(), bytes);
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
HOOK ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  if (our_path(path)) return to_libc(ssize_t{-EOPNOTSUPP});
  return NEXT(getxattr)(path, name, value, size);
}
HOOK ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  if (our_path(path, LastLink::kKeep)) return to_libc(ssize_t{-EOPNOTSUPP});
  return NEXT(lgetxattr)(path, name, value, size);
}
HOOK ssize_t listxattr(const char* path, char* list, size_t size) noexcept {
  return our_path(path) ? 0 : NEXT(listxattr)(path, list, size);
}
HOOK ssize_t llistxattr(const char* path, char* list, size_t size) noexcept {
  return our_path(path, LastLink::kKeep) ? 0 : NEXT(llistxattr)(path, list, size);
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
  const bool of_fd = (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || *path == 0);
  const OurPath ours = of_fd ? OurPath{} : our_path_at(folder, path, last_link(flags));
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
  if (inside == 0 && InternalFd::is_internal(fd) && shares_descriptors()) return to_libc(-EBADF);
  if (System* system = system_for_fd(fd); system != nullptr && shares_descriptors()) {
    const Inside guard;
    return to_libc(system->close(fd));
  }
  return static_cast<int>(syscall(SYS_close, fd));
}
HOOK int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr unsigned kHighest = 65536;
  const bool knows_some = current.load(std::memory_order_acquire) != nullptr ||
                          inherited.load(std::memory_order_acquire) != nullptr;
  if (!knows_some || !shares_descriptors() || first > last || (flags & CLOSE_RANGE_CLOEXEC) != 0) {
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
  if (System* system = system_for_fd(fd); copy >= 0 && system != nullptr && shares_descriptors()) {
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
    if (System* system = system_for_fd(fd); system != nullptr && shares_descriptors()) {
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
  System* system = (flags & MAP_ANONYMOUS) != 0 ? nullptr : system_for_fd(fd);
  // What is put in the place of doorbells takes them away.
  if (system == nullptr && (flags & MAP_FIXED) != 0 && inside == 0) {
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
  System* const system = inside == 0 ? current.load(std::memory_order_acquire) : nullptr;
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
  System* const system = inside == 0 ? current.load(std::memory_order_acquire) : nullptr;
  if (system != nullptr) {
    const Inside guard;
    void* out = nullptr;
    return to_libc(system->mremap(address, bytes, new_bytes, flags, fixed, &out)) < 0 ? MAP_FAILED : out;
  }
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, bytes, new_bytes, flags, fixed));
}
