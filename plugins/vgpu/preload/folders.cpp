// The preload face, for folders: what opendir and its kind, scandir and glob show of the driver's tree.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/preload/face.hpp"
#include "plugins/vgpu/preload/next.hpp"

namespace rigel::vgpu {

constinit Mutex folders_mutex;

namespace {

// What opendir gives for a folder of ours. Told from libc's by being in the list.
struct Folder {
  std::vector<dirent> entries;
  size_t at = 0;
  int fd = -1;
};

constinit std::vector<Folder*>* folders = nullptr;  // leaked: there is no good moment at exit

Folder* our_folder(DIR* stream) {
  const MutexLock lock(folders_mutex);
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
  const MutexLock lock(folders_mutex);
  if (folders == nullptr) folders = new std::vector<Folder*>;
  folders->push_back(folder.get());
  return reinterpret_cast<DIR*>(folder.release());
}

DIR* open_folder(const OurPath& ours) {
  const int fd = to_libc(open_ours(ours, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd < 0 ? nullptr : open_folder(*ours.system, ours.path, fd);
}

}  // namespace
}  // namespace rigel::vgpu

using namespace rigel::vgpu;

HOOK DIR* opendir(const char* path) {
  if (const OurPath ours = our_path(path)) return open_folder(ours);
  return NEXT(opendir)(path);
}
HOOK DIR* fdopendir(int fd) {
  if (System* system = system_for_fd(fd)) {
    const std::string path = system->directory_of(fd);
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
      const rigel::MutexLock lock(folders_mutex);
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
  if (own_calls != 0 || !could_be_ours(pattern) || (flags & GLOB_ALTDIRFUNC) != 0 ||
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
