#include "plugins/vgpu/kfd/system.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "api/support/file_signals.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/driver_files.hpp"
#include "plugins/vgpu/kfd/variables.hpp"

// Functions that the preload front end hooks are called as raw system calls.

namespace rigel::vgpu {
namespace {

constexpr uint32_t kKfdMajor = 240;
constexpr uint64_t kProgramEnd = (uint64_t{1} << 47) - kPageBytes;  // TASK_SIZE of x86-64

int errno_or(long result) {
  return result == -1 ? -errno : static_cast<int>(result);
}

// The caller returns ENOSYS: EPERM or EACCES would make the program check its rights to the device file.
int explain_forbidden(Log& log, int error) {
  static constinit std::atomic<bool> explained{false};
  if (!explained.exchange(true)) {
    log(LogCategory::kWarning,
        "memfd_create: {}: the virtual GPU cannot create files; allow memfd_create in the container's "
        "seccomp "
        "filter, or set sysctl vm.memfd_noexec to 0 or 1",
        strerrorname_np(error));
  }
  return -ENOSYS;
}

constexpr size_t kMaxNameBytes = 512;

// Returns the name with which a memory file was created, in `name`; empty if `fd` is not a memory file.
// Allocates no memory, because programs also call fstat in signal handlers.
std::string_view memfd_name(int fd, std::span<char> name) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlink, link, name.data(), name.size());
  constexpr std::string_view kPrefix = "/memfd:", kSuffix = " (deleted)";
  std::string_view path(name.data(), static_cast<size_t>(std::max(length, 0L)));
  if (!path.starts_with(kPrefix) || !path.ends_with(kSuffix)) return "";
  path.remove_prefix(kPrefix.size());
  path.remove_suffix(kSuffix.size());
  return path;
}

bool is_page_range(const void* address, uint64_t bytes) {
  const auto start = reinterpret_cast<uint64_t>(address);
  return start % kPageBytes == 0 && bytes != 0 && bytes <= kProgramEnd && start <= kProgramEnd - bytes;
}

// Requests that the kernel handles for every open file, before the driver's.
bool is_generic_request(uint64_t request) {
  return request == FIOCLEX || request == FIONCLEX || request == FIONBIO || request == FIOASYNC;
}

ProcessOptions with_host_memory(ProcessOptions options, const HostProperties& host) {
  options.host_bytes = host.memory_bytes;
  return options;
}

}  // namespace

Hardware::Hardware(Machine system, const HostProperties& host_properties)
    : virtual_system(std::move(system)), host(host_properties), files(make_file_tree(virtual_system, host)) {}

System::System(std::shared_ptr<const Hardware> hardware, const ProcessOptions& options,
               std::unique_ptr<Log> log)
    : hardware_(std::move(hardware)),
      log_(std::move(log)),
      process_(hardware_->virtual_system, with_host_memory(options, hardware_->host), *this, *log_) {}

System::System(Machine virtual_system, const ProcessOptions& options, const HostProperties& host,
               std::unique_ptr<Log> log)
    : System(std::make_shared<const Hardware>(std::move(virtual_system), host), options, std::move(log)) {}

System::~System() {
  decltype(files_) files;
  {
    const WriterLock lock(files_mutex_);
    files.swap(files_);
  }
  files.clear();  // render nodes use the process, which closes those that it has acquired itself
}

std::shared_ptr<System::OpenFile> System::find(int fd) const {
  const ReaderLock lock(files_mutex_);
  const auto it = files_.find(fd);
  return it == files_.end() ? nullptr : it->second;
}

bool System::may_have(int fd) const noexcept {
  const auto number = static_cast<size_t>(fd);
  return number >= 64 * descriptor_bits_.size() ||
         (descriptor_bits_[number / 64].load(std::memory_order_acquire) >> (number % 64) & 1) != 0;
}

std::shared_ptr<System::OpenFile> System::replace(int fd, std::shared_ptr<OpenFile> file) {
  if (const auto number = static_cast<size_t>(fd); number < 64 * descriptor_bits_.size()) {
    const uint64_t bit = uint64_t{1} << (number % 64);
    if (file != nullptr) {
      descriptor_bits_[number / 64].fetch_or(bit, std::memory_order_release);
    } else {
      descriptor_bits_[number / 64].fetch_and(~bit, std::memory_order_release);
    }
  }
  if (file != nullptr) return std::exchange(files_[fd], std::move(file));
  const auto it = files_.find(fd);
  if (it == files_.end()) return nullptr;
  auto replaced = std::move(it->second);
  files_.erase(it);
  return replaced;
}

bool System::has(int fd, bool is_sure) const {
  if (is_sure) {
    const ReaderLock lock(files_mutex_);
    return files_.contains(fd);
  }
  const auto file = find(fd);
  if (file == nullptr) return false;
  const int saved_errno = errno;
  struct stat status {};
  const bool is_open = syscall(SYS_fstat, fd, &status) == 0;
  errno = saved_errno;
  return is_open && status.st_dev == file->device && status.st_ino == file->inode;
}

int System::make_file(const std::string& name, int flags) {
  const int fd =
      errno_or(syscall(SYS_memfd_create, name.c_str(), (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0));
  const bool is_forbidden = fd == -EPERM || fd == -EACCES || fd == -ENOSYS;
  return is_forbidden ? explain_forbidden(*log_, -fd) : fd;
}

int System::open(std::string_view path, int flags) {
  if (abandoned_.load(std::memory_order_acquire)) return -EBADF;
  const FileNode* const node = files().find(path);
  if (node == nullptr) return -ENOENT;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (node->kind == FileNode::Kind::kDirectory && writes) return -EISDIR;
  if (node->kind == FileNode::Kind::kFile && writes) return -EACCES;
  if (node->kind != FileNode::Kind::kDirectory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;

  const int fd = make_file(std::string(path), flags);
  if (fd < 0) return fd;
  Undo close([&] { syscall(SYS_close, fd); });
  if (node->kind == FileNode::Kind::kFile) {
    const std::string content = node->vram_use ? vram_in_use(*node->vram_use) : node->content;
    const auto written = without_file_signals([&] { return pwrite(fd, content.data(), content.size(), 0); });
    if (written < 0) {
      const int error = errno;
      explain_limit(*log_, error);
      return -error;
    }
    if (written != static_cast<ssize_t>(content.size())) return -ENOMEM;
  }
  struct stat status {};
  if (const int error = errno_or(syscall(SYS_fstat, fd, &status)); error != 0) return error;
  // Regular files are not in the table.
  if (node->kind == FileNode::Kind::kFile) {
    plain_files_device_.store(status.st_dev, std::memory_order_relaxed);
    close.cancel();
    return fd;
  }
  auto file = std::make_shared<OpenFile>();
  file->kind = node->kind;
  file->path = path;
  file->minor = node->minor;
  file->device = status.st_dev;
  file->inode = status.st_ino;
  // the previous file with this number; released outside the lock, see forget()
  std::shared_ptr<OpenFile> closed;
  {
    const WriterLock lock(files_mutex_);
    file->id = next_file_id_++;
    if (node->kind == FileNode::Kind::kDrmNode) {
      file->node = std::make_unique<vgpu::RenderNode>(process_, node->minor, file->id, *this);
    }
    closed = replace(fd, file);
  }
  close.cancel();
  (*log_)(LogCategory::kFile, "open {} = {}", path, fd);
  return fd;
}

std::string System::vram_in_use(const FileNode::VramUse& use) {
  const MutexLock lock(process_.memory_mutex());
  return fmt::format("{}\n", std::min(process_.gpu(use.gpu_index).vram_used, use.limit_bytes));
}

// An object of the abandoned system cannot be destroyed in the child, because its threads do not exist there.
void System::leak_if_abandoned(std::shared_ptr<OpenFile>& file) {
  if (file != nullptr && abandoned_.load(std::memory_order_acquire))
    new std::shared_ptr<OpenFile>(std::move(file));
}

void System::forget(int fd) {
  std::shared_ptr<OpenFile> last;  // released outside of the lock: closing a render node takes other locks
  const WriterLock lock(files_mutex_);
  last = replace(fd, nullptr);
  leak_if_abandoned(last);
}

int System::close(int fd) {
  forget(fd);
  return errno_or(syscall(SYS_close, fd));
}

void System::note_duplicate(int from, int to) {
  if (from == to) return;
  std::shared_ptr<OpenFile> replaced;
  const WriterLock lock(files_mutex_);
  const auto it = files_.find(from);
  replaced = replace(to, it == files_.end() ? nullptr : it->second);
  leak_if_abandoned(replaced);
}

int System::duplicate(int fd, int minimum) {
  if (!has(fd)) return -EBADF;
  const int copy = errno_or(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, minimum));
  if (copy < 0) return copy;
  Undo close([&] { syscall(SYS_close, copy); });
  note_duplicate(fd, copy);
  close.cancel();
  return copy;
}

int System::ioctl(int fd, uint64_t request, void* argument) {
  if (is_generic_request(request)) return errno_or(syscall(SYS_ioctl, fd, request, argument));
  if (abandoned_.load(std::memory_order_acquire)) return -EBADF;
  const auto file = find(fd);
  if (file == nullptr) return -EBADF;
  switch (file->kind) {
    case FileNode::Kind::kKfd:
      return process_.ioctl(request, argument);
    case FileNode::Kind::kDrmNode:
      return file->node->ioctl(request, argument);
    default:
      return -ENOTTY;
  }
}

int System::mmap(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset,
                 void** out) {
  try {
    return map(address, bytes, protection, flags, fd, offset, out);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int System::map(void* address, uint64_t bytes, int protection, int flags, int fd, uint64_t offset,
                void** out) {
  const auto file = fd < 0 || (flags & MAP_ANONYMOUS) != 0 ? nullptr : find(fd);
  const auto map_memory = [&](int real_flags, int real_fd, uint64_t real_offset) {
    Process::DoorbellMappings replaced;
    if ((flags & MAP_FIXED) != 0 && !abandoned_.load(std::memory_order_acquire))
      replaced = process_.doorbells_unmapped(address, bytes);
    const long result = syscall(SYS_mmap, address, bytes, protection, real_flags, real_fd, real_offset);
    const int error = errno;
    if (result == -1) {
      for (const auto& mapping : replaced) process_.doorbells_mapped(mapping);
      return -error;
    }
    *out = reinterpret_cast<void*>(result);
    Undo unmap([&] { syscall(SYS_munmap, *out, bytes); });
    if ((flags & MAP_FIXED) != 0 && !abandoned_.load(std::memory_order_acquire))
      process_.memory_replaced(address, bytes);
    unmap.cancel();
    return 0;
  };
  if (file == nullptr) return map_memory(flags, fd, offset);
  // amdkfd does not know the child before it has opened a file itself.
  if (abandoned_.load(std::memory_order_acquire))
    return file->kind == FileNode::Kind::kKfd ? -EINVAL : -EBADF;
  if (bytes == 0 || offset % kPageBytes != 0) return -EINVAL;
  const uint64_t length = page_up(bytes);
  if (file->kind == FileNode::Kind::kKfd) {
    auto object = process_.kfd_mmap(offset, length);
    if (!object) return -object.error();
    if (const int error = map_memory((flags & ~MAP_TYPE) | MAP_SHARED, (*object)->fd(), 0); error != 0)
      return error;
    // As in the driver: otherwise a child of fork would ring its parent's doorbells.
    madvise(*out, length, MADV_DONTFORK);
    if ((*object)->kind() == MemoryObject::Kind::kDoorbell) {
      Undo unmap([&] { syscall(SYS_munmap, *out, length); });
      process_.doorbells_mapped({(*object)->gpu_index(), static_cast<std::byte*>(*out), length, 0});
      unmap.cancel();
    }
    return 0;
  }
  if (file->kind != FileNode::Kind::kDrmNode) return -ENODEV;
  const auto target = process_.render_mmap(offset, length);
  if (!target) {
    log_->operator()(LogCategory::kMemory, "mmap of a render node at {:#x}+{:#x}: {}", offset, bytes,
                     strerrorname_np(target.error()));
    return -target.error();
  }
  const MemoryObject& object = *target->object;
  if ((object.flags() & MemoryObject::kNoHostAccess) != 0) return -EPERM;
  // Private mappings are not supported; a program may only reserve the addresses.
  if ((flags & MAP_TYPE) == MAP_PRIVATE && protection != PROT_NONE) return -EINVAL;
  return map_memory((flags & ~MAP_TYPE) | MAP_SHARED, object.fd(), target->offset);
}

int System::munmap(void* address, uint64_t bytes) {
  // The kernel, too, may need memory to unmap a part of a mapping. If it fails, the program keeps the whole
  // mapping; its own memory may be partly unmapped from a GPU.
  try {
    Process::DoorbellMappings removed;
    if (is_page_range(address, bytes) && !abandoned_.load(std::memory_order_acquire))
      removed = process_.before_munmap(address, bytes);
    const int error = errno_or(syscall(SYS_munmap, address, bytes));
    if (error != 0) {
      for (const auto& mapping : removed) process_.doorbells_mapped(mapping);
    }
    return error;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int System::mremap(void* address, uint64_t bytes, uint64_t new_bytes, int flags, void* fixed, void** out) {
  const auto map_memory = [&](int real_flags) {
    const long result = syscall(SYS_mremap, address, bytes, new_bytes, real_flags, fixed);
    if (result == -1) return -errno;
    *out = reinterpret_cast<void*>(result);
    return 0;
  };
  if (abandoned_.load(std::memory_order_acquire)) return map_memory(flags);
  const bool to_fixed = (flags & MREMAP_FIXED) != 0;
  Process::DoorbellMappings moved = process_.doorbells_unmapped(address, bytes), replaced;
  if (to_fixed) replaced = process_.doorbells_unmapped(fixed, new_bytes);
  auto* const from = static_cast<std::byte*>(address);
  const auto remap = [&] {
    // A mapping of doorbells cannot grow.
    if (!moved.empty() && new_bytes > bytes) return -EFAULT;
    // A rejected call must change nothing, and memory must be unmapped from the GPUs before the program can
    // map something else there. So whether the mapping moves must be known first.
    if (!is_page_range(address, std::max(bytes, kPageBytes)) || new_bytes == 0 || new_bytes > kProgramEnd)
      return map_memory(flags);
    if (to_fixed) {
      auto* const target = static_cast<std::byte*>(fixed);
      const bool is_disjoint = target + page_up(new_bytes) <= from || from + page_up(bytes) <= target;
      if (!is_page_range(fixed, new_bytes) || !is_disjoint || (flags & MREMAP_MAYMOVE) == 0)
        return map_memory(flags);
      process_.before_munmap(address, bytes);
      process_.memory_replaced(fixed, new_bytes);  // the kernel, too, unmaps this before it may fail
      return map_memory(flags);
    }
    const uint64_t kept = page_up(new_bytes);
    if (kept < bytes) process_.before_munmap(from + kept, bytes - kept);
    const bool always_moves = (flags & MREMAP_DONTUNMAP) != 0;
    const int error = always_moves ? -ENOMEM : map_memory(flags & ~MREMAP_MAYMOVE);
    if (error != -ENOMEM || (flags & MREMAP_MAYMOVE) == 0) return error;
    process_.before_munmap(address, bytes);
    return map_memory(flags);
  };
  const auto remap_with_memory = [&] {
    try {
      return remap();
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
  };
  if (const int error = remap_with_memory(); error != 0) {
    for (const auto& mapping : moved) process_.doorbells_mapped(mapping);
    for (const auto& mapping : replaced) process_.doorbells_mapped(mapping);
    return error;
  }
  auto* const to = static_cast<std::byte*>(*out);
  for (Process::DoorbellMapping mapping : moved) {
    if (static_cast<uint64_t>(mapping.address - from) >= new_bytes) continue;
    mapping.address = to + (mapping.address - from);
    process_.doorbells_mapped(mapping);
  }
  return 0;
}

dev_t System::files_device() {
  return makedev(0, 0xfffff);
}

uint64_t System::inode_of(std::string_view path) {
  return std::hash<std::string_view>{}(path) | 1;  // programs that walk a tree take equal numbers for a loop
}

void System::fill(const FileNode& node, struct stat& out) {
  switch (node.kind) {
    case FileNode::Kind::kFile:
      out.st_mode = S_IFREG | 0444;
      out.st_size = static_cast<off_t>(node.vram_use ? 4096 : node.content.size());  // as in sysfs
      break;
    case FileNode::Kind::kDirectory:
      out.st_mode = S_IFDIR | 0755;
      out.st_nlink = 2;
      break;
    case FileNode::Kind::kKfd:
      out.st_mode = S_IFCHR | 0666;
      out.st_rdev = makedev(kKfdMajor, 0);
      break;
    case FileNode::Kind::kDrmNode:
      out.st_mode = S_IFCHR | 0666;
      out.st_rdev = makedev(kDrmMajor, node.minor);
      break;
  }
}

bool System::stat(std::string_view path, struct stat& out) const {
  const FileNode* const node = files().find(path);
  const std::string* const target = files().link_target(path);
  if (node == nullptr && target == nullptr) return false;
  out = {};
  out.st_dev = files_device();
  out.st_ino = inode_of(path);
  out.st_nlink = 1;
  out.st_blksize = 4096;
  if (target != nullptr) {
    out.st_mode = S_IFLNK | 0777;
    out.st_size = static_cast<off_t>(target->size());
  } else {
    fill(*node, out);
  }
  return true;
}

bool System::stat(int fd, struct stat& out) const {
  const auto file = find(fd);
  return file != nullptr && stat(file->path, out);
}

bool System::stat_plain_file(int fd, struct stat& out) const {
  if (!S_ISREG(out.st_mode) || out.st_dev != plain_files_device_.load(std::memory_order_relaxed))
    return false;
  char name[kMaxNameBytes];
  const std::string_view path = memfd_name(fd, name);
  return !path.empty() && stat(path, out);
}

System::ForeignFile System::foreign_file(int fd) {
  char name[kMaxNameBytes];
  const std::string_view path = memfd_name(fd, name);
  if (path == "/dev/kfd") return ForeignFile::kKfd;
  return path.starts_with("/dev/dri/") ? ForeignFile::kDrmNode : ForeignFile::kNone;
}

std::string System::directory_of(int fd) const {
  const auto file = find(fd);
  return file != nullptr && file->kind == FileNode::Kind::kDirectory ? file->path : "";
}

ErrnoOr<OpenFiles::RenderNode> System::render_node(int fd) {
  const auto file = has(fd) ? find(fd) : nullptr;
  if (file == nullptr) return tl::unexpected(EBADF);
  if (file->node == nullptr) return tl::unexpected(EINVAL);
  return OpenFiles::RenderNode{file, file->node->gpu_index()};
}

ErrnoOr<int> System::give_to_program(int fd, bool close_on_exec) {
  const long copy = syscall(SYS_fcntl, fd, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  if (copy < 0) return tl::unexpected(errno);
  return static_cast<int>(copy);
}

std::unique_ptr<System> make_system(const Settings& settings, Diagnostics& diagnostics, LogSink sink) {
  Machine virtual_system = settings.make_machine(diagnostics);
  ProcessOptions options = settings.options;
  options.watchdog_seconds = settings.watchdog_seconds(diagnostics);
  if (diagnostics.has_errors()) return nullptr;
  auto log = std::make_unique<Log>(settings.log.c_str(), settings.log_file.c_str(), sink);
  // In an elevated process, another user controls the environment.
  const bool is_elevated = getauxval(AT_SECURE) != 0;
  for (const std::string& useless : useless_variables(is_elevated ? nullptr : environ))
    (*log)(LogCategory::kWarning, "{}", useless);
  return std::make_unique<System>(std::move(virtual_system), options, HostProperties::read(), std::move(log));
}

}  // namespace rigel::vgpu
