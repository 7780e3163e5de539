// Hooks of opendir and related functions, scandir and glob. For directories of the driver's files, they
// return the virtual GPU's entries.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/preload/face.hpp"
#include "plugins/vgpu/preload/next.hpp"

namespace rigel::vgpu {

constinit Mutex directories_mutex;

namespace {

// The stream that opendir returns for a directory of the virtual GPU, in place of the C library's DIR.
struct DirectoryStream {
  std::vector<dirent> entries;
  std::atomic<size_t> at{0};  // readdir_r() may be called by several threads.
  int fd = -1;

  // Returns the next entry, or null at the end.
  dirent* next() {
    size_t index = at.load(std::memory_order_relaxed);
    while (index < entries.size()) {
      if (at.compare_exchange_weak(index, index + 1, std::memory_order_relaxed)) return &entries[index];
    }
    return nullptr;
  }
};

// All open streams of the virtual GPU; any other DIR* is the C library's. Leaked, because it may be used
// during exit.
constinit std::vector<DirectoryStream*>* streams = nullptr;

// Returns the virtual GPU's stream, or null if the stream is the C library's.
DirectoryStream* find_stream(DIR* stream) {
  const MutexLock lock(directories_mutex);
  if (streams == nullptr) return nullptr;
  auto* const directory = reinterpret_cast<DirectoryStream*>(stream);
  return std::find(streams->begin(), streams->end(), directory) == streams->end() ? nullptr : directory;
}

// Creates the stream, which takes ownership of the descriptor.
DIR* open_directory(System& system, const std::string& path, int fd) {
  const Inside guard;
  auto directory = std::make_unique<DirectoryStream>();
  const auto add = [&](const std::string& name, unsigned char type) {
    dirent entry{};
    entry.d_ino = System::inode_of(system.files().canonical(path + "/" + name, LastLink::kKeep));
    entry.d_off = static_cast<off_t>(directory->entries.size() + 1);
    entry.d_reclen = sizeof entry;
    entry.d_type = type;
    std::strncpy(entry.d_name, name.c_str(), sizeof entry.d_name - 1);
    directory->entries.push_back(entry);
  };
  add(".", DT_DIR);
  add("..", DT_DIR);
  for (const std::string& name : system.files().list(path)) {
    struct stat status {};
    system.stat(path + "/" + name, status);
    add(name, static_cast<unsigned char>(IFTODT(status.st_mode)));
  }
  directory->fd = fd;
  const MutexLock lock(directories_mutex);
  if (streams == nullptr) streams = new std::vector<DirectoryStream*>;
  streams->push_back(directory.get());
  return reinterpret_cast<DIR*>(directory.release());
}

DIR* open_directory(const VgpuPath& found) {
  const int fd = to_libc(open_path(found, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd < 0 ? nullptr : open_directory(*found.system, found.path, fd);
}

}  // namespace
}  // namespace rigel::vgpu

using namespace rigel::vgpu;

HOOK DIR* opendir(const char* path) {
  if (const VgpuPath found = find_path(path)) return open_directory(found);
  return NEXT(opendir)(path);
}
HOOK DIR* fdopendir(int fd) {
  if (System* system = system_for_fd(fd)) {
    const std::string path = system->directory_of(fd);
    if (!path.empty()) return open_directory(*system, path, fd);
  }
  return NEXT(fdopendir)(fd);
}
HOOK dirent* readdir(DIR* stream) {
  if (DirectoryStream* directory = find_stream(stream)) {
    return directory->next();
  }
  return NEXT(readdir)(stream);
}
HOOK dirent64* readdir64(DIR* stream) {
  static_assert(sizeof(dirent) == sizeof(dirent64));
  if (DirectoryStream* directory = find_stream(stream)) {
    return reinterpret_cast<dirent64*>(directory->next());
  }
  return NEXT(readdir64)(stream);
}
static int read_entry(DirectoryStream& directory, dirent* entry, dirent** result) {
  const dirent* const next = directory.next();
  if (next != nullptr) *entry = *next;
  *result = next == nullptr ? nullptr : entry;
  return 0;
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HOOK int readdir_r(DIR* stream, dirent* entry, dirent** result) {
  if (DirectoryStream* directory = find_stream(stream)) return read_entry(*directory, entry, result);
  return NEXT(readdir_r)(stream, entry, result);
}
HOOK int readdir64_r(DIR* stream, dirent64* entry, dirent64** result) {
  if (DirectoryStream* directory = find_stream(stream)) {
    return read_entry(*directory, reinterpret_cast<dirent*>(entry), reinterpret_cast<dirent**>(result));
  }
  return NEXT(readdir64_r)(stream, entry, result);
}
#pragma GCC diagnostic pop
HOOK int closedir(DIR* stream) {
  if (DirectoryStream* directory = find_stream(stream)) {
    {
      const rigel::MutexLock lock(directories_mutex);
      std::erase(*streams, directory);
    }
    const int fd = directory->fd;
    delete directory;
    return ::close(fd);
  }
  return NEXT(closedir)(stream);
}
HOOK void rewinddir(DIR* stream) {
  if (DirectoryStream* directory = find_stream(stream)) {
    directory->at = 0;
    return;
  }
  NEXT(rewinddir)(stream);
}
HOOK long telldir(DIR* stream) {
  if (DirectoryStream* directory = find_stream(stream)) return static_cast<long>(directory->at.load());
  return NEXT(telldir)(stream);
}
HOOK void seekdir(DIR* stream, long at) {
  if (DirectoryStream* directory = find_stream(stream)) {
    directory->at = static_cast<size_t>(at);
    return;
  }
  NEXT(seekdir)(stream, at);
}
HOOK int dirfd(DIR* stream) {
  if (DirectoryStream* directory = find_stream(stream)) return directory->fd;
  return NEXT(dirfd)(stream);
}
static int scan_directory(const VgpuPath& found, dirent*** names, int (*filter)(const dirent*),
                          int (*compare)(const dirent**, const dirent**)) {
  DIR* const stream = open_directory(found);
  if (stream == nullptr) return -1;
  std::vector<dirent*> entries;
  while (const dirent* entry = readdir(stream)) {
    if (filter != nullptr && filter(entry) == 0) continue;
    auto* const copy = static_cast<dirent*>(std::malloc(sizeof(dirent)));
    entries.push_back(copy);
    if (copy == nullptr) break;
    *copy = *entry;
  }
  closedir(stream);
  auto** const list = static_cast<dirent**>(std::malloc(sizeof(dirent*) * (entries.size() + 1)));
  if (list == nullptr || (!entries.empty() && entries.back() == nullptr)) {
    for (dirent* const entry : entries) std::free(entry);
    std::free(list);
    return to_libc(-ENOMEM);
  }
  if (compare != nullptr) {
    std::sort(entries.begin(), entries.end(),
              [&](const dirent* a, const dirent* b) { return compare(&a, &b) < 0; });
  }
  std::copy(entries.begin(), entries.end(), list);
  *names = list;
  return static_cast<int>(entries.size());
}
HOOK int scandirat(int at, const char* path, dirent*** names, int (*filter)(const dirent*),
                   int (*compare)(const dirent**, const dirent**)) {
  if (const VgpuPath found = find_path_at(at, path)) return scan_directory(found, names, filter, compare);
  return NEXT(scandirat)(at, path, names, filter, compare);
}
HOOK int scandir(const char* path, dirent*** names, int (*filter)(const dirent*),
                 int (*compare)(const dirent**, const dirent**)) {
  return scandirat(AT_FDCWD, path, names, filter, compare);
}
// The 64-bit variants have the same layout.
extern "C" {
__attribute__((visibility("default"), alias("scandir"))) int scandir64(
    const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**));
__attribute__((visibility("default"), alias("scandirat"))) int scandirat64(
    int, const char*, dirent64***, int (*)(const dirent64*), int (*)(const dirent64**, const dirent64**));
}

// The C library's glob() opens directories by internal calls, which cannot be hooked. With GLOB_ALTDIRFUNC it
// calls the functions in `out` instead, which are the hooks.
static int glob_with(decltype(&::glob) next, const char* pattern, int flags,
                     int (*on_error)(const char*, int), glob_t* out) {
  if (own_calls != 0 || !may_be_vgpu_path(pattern) || (flags & GLOB_ALTDIRFUNC) != 0 ||
      system_for_path() == nullptr) {
    return next(pattern, flags, on_error, out);
  }
  out->gl_opendir = [](const char* path) { return static_cast<void*>(opendir(path)); };
  out->gl_readdir = [](void* directory) { return readdir(static_cast<DIR*>(directory)); };
  out->gl_closedir = [](void* directory) { closedir(static_cast<DIR*>(directory)); };
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
