#include "plugins/vgpu/kfd/memory_object.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "api/support/page_size.hpp"
#include "hsa_plugin/kfd_abi.h"

// Functions that the preload front end hooks are called as raw system calls, because the device's files are
// not the program's.

namespace rigel::vgpu {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

uint64_t make_nonce() noexcept {
  static std::atomic<uint64_t> counter{0};
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
    nonce = 0x9e3779b97f4a7c15ull * getpid();
  return nonce ^ counter.fetch_add(1, std::memory_order_relaxed);
}

// A file's name describes the buffer. Every process with a descriptor can read it, and the file's size
// remains that of the buffer.
constexpr char kNameFormat[] = "vgpu-buffer.%lx.%x.%x.%x.%lx";

// Parses a file's name as links in /proc show it.
std::optional<MemoryObject::Description> parse_name(const char* name) noexcept {
  constexpr char kPrefix[] = "/memfd:";
  if (std::strncmp(name, kPrefix, sizeof kPrefix - 1) != 0) return {};
  MemoryObject::Description d;
  const char* const text = name + sizeof kPrefix - 1;
  if (std::sscanf(text, kNameFormat, &d.bytes, &d.flags, &d.gpu_index, &d.gpu_id, &d.nonce) != 5) return {};
  return d;
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (address_ != nullptr) syscall(SYS_munmap, address_, bytes_);
}

ErrnoOr<Mapping> Mapping::of_file(int fd, uint64_t bytes, uint64_t offset) noexcept {
  const long address = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (address == -1) return tl::unexpected(errno);
  // Faults are faster with pages of 2 MiB. Depends on the host's shmem_enabled; a failure is harmless.
  if (bytes >= kHugePage) syscall(SYS_madvise, address, bytes, MADV_HUGEPAGE);
  // A child of fork does not use the device's mapping, and would keep memory that its parent frees.
  syscall(SYS_madvise, address, bytes, MADV_DONTFORK);
  return Mapping(reinterpret_cast<std::byte*>(address), bytes);
}

ErrnoOr<std::shared_ptr<MemoryObject>> MemoryObject::allocate(Kind kind, uint64_t bytes, uint32_t flags,
                                                              uint32_t gpu_index, uint32_t gpu_id) {
  auto object = std::make_shared<MemoryObject>(kind);
  object->description_ = {bytes, flags, gpu_index, make_nonce(), gpu_id};
  char name[128];
  std::snprintf(name, sizeof name, kNameFormat, bytes, flags, gpu_index, gpu_id, object->description_.nonce);
  auto fd = InternalFd::anonymous(name, bytes);
  if (!fd) return tl::unexpected(fd.error());
  auto mapping = Mapping::of_file(fd->get(), bytes);
  if (!mapping) return tl::unexpected(mapping.error());
  struct stat status {};
  if (syscall(SYS_fstat, fd->get(), &status) == 0) object->inode_ = status.st_ino;
  object->host_ = mapping->get();
  object->mapping_ = std::move(*mapping);
  object->fd_ = std::move(*fd);
  return object;
}

std::shared_ptr<MemoryObject> MemoryObject::of_program(std::byte* address, uint64_t bytes, uint32_t flags,
                                                       uint32_t gpu_index, uint32_t gpu_id) {
  auto object = std::make_shared<MemoryObject>(Kind::kUserptr);
  object->description_ = {bytes, flags, gpu_index, 0, gpu_id};
  object->host_ = address;
  return object;
}

ErrnoOr<MemoryObject::Description> MemoryObject::describe(int fd) {
  struct stat status {};
  if (syscall(SYS_fstat, fd, &status) != 0) return tl::unexpected(EBADF);
  char path[64], name[256];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlink, path, name, sizeof name - 1);
  if (length <= 0) return tl::unexpected(EINVAL);
  name[length] = 0;
  const auto description = parse_name(name);
  if (!description) return tl::unexpected(EINVAL);
  const Description& d = *description;
  // A file's name can be forged, so the values must match the file, whose size must be sealed.
  const uint32_t kind = d.flags & KFD_MEM_KINDS;
  const long seals = syscall(SYS_fcntl, fd, F_GET_SEALS, 0);
  if (!S_ISREG(status.st_mode) || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || d.bytes == 0 ||
      d.bytes != static_cast<uint64_t>(status.st_size) || d.bytes % kPageBytes != 0 ||
      (kind != KFD_MEM_VRAM && kind != KFD_MEM_GTT)) {
    return tl::unexpected(EINVAL);
  }
  return d;
}

ErrnoOr<InternalFd> MemoryObject::open_of_process(uint32_t pid, uint32_t fd, uint32_t nonce) {
  // A handle may name any file, and opening a device or a pipe may have side effects. An O_PATH descriptor is
  // checked first, so that the file cannot be replaced between check and open.
  char path[64], name[256];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, fd);
  const InternalFd path_fd(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC)));
  if (!path_fd) return tl::unexpected(EINVAL);
  struct stat status {};
  if (syscall(SYS_fstat, path_fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return tl::unexpected(EINVAL);
  if (status.st_uid != geteuid() && geteuid() != 0) return tl::unexpected(EINVAL);
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd.get());
  const long length = syscall(SYS_readlink, path, name, sizeof name - 1);
  if (length <= 0) return tl::unexpected(EINVAL);
  name[length] = 0;
  const auto description = parse_name(name);
  if (!description || static_cast<uint32_t>(description->nonce) != nonce ||
      description->bytes != static_cast<uint64_t>(status.st_size)) {
    return tl::unexpected(EINVAL);
  }
  const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  InternalFd file(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags)));
  if (!file) return tl::unexpected(EINVAL);
  return file;
}

ErrnoOr<std::shared_ptr<MemoryObject>> MemoryObject::import(int fd) {
  auto description = describe(fd);
  if (!description) return tl::unexpected(description.error());
  auto duplicate = InternalFd::duplicate(fd);
  if (!duplicate) return tl::unexpected(duplicate.error());
  auto mapping = Mapping::of_file(duplicate->get(), description->bytes);
  if (!mapping) return tl::unexpected(mapping.error());
  auto object =
      std::make_shared<MemoryObject>((description->flags & KFD_MEM_VRAM) != 0 ? Kind::kVram : Kind::kGtt);
  struct stat status {};
  if (syscall(SYS_fstat, duplicate->get(), &status) == 0) object->inode_ = status.st_ino;
  object->imported_ = true;
  object->description_ = *description;
  object->host_ = mapping->get();
  object->mapping_ = std::move(*mapping);
  object->fd_ = std::move(*duplicate);
  return object;
}

}  // namespace rigel::vgpu
