#include "plugins/vgpu/cp/internal_fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <utility>

#include "api/support/file_signals.hpp"

// Hooked functions are called as system calls here, because the hooks must not see the device's descriptors.

namespace rigel::vgpu {
namespace {

constexpr int kHighFd = 700;  // leaves the usual numbers to the program
// Descriptors above this number are not protected.
constexpr int kMarkedFds = 65536;
constinit std::array<std::atomic<uint64_t>, kMarkedFds / 64> marks{};
constinit std::atomic<uint32_t> fork_count{0};

void mark(int fd, bool on) noexcept {
  if (fd < 0 || fd >= kMarkedFds) return;
  const uint64_t bit = uint64_t{1} << (fd % 64);
  if (on) {
    marks[fd / 64].fetch_or(bit, std::memory_order_relaxed);
  } else {
    marks[fd / 64].fetch_and(~bit, std::memory_order_relaxed);
  }
}

// Each buffer has a descriptor. At the soft limit, the limit is raised to the hard limit.
int duplicate_high(int fd) noexcept {
  auto dup = [&](int lowest) { return static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest)); };
  int high = dup(kHighFd);
  if (high >= 0) return high;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) high = dup(kHighFd);
  }
  return high >= 0 ? high : dup(3);
}

}  // namespace

InternalFd::InternalFd(int fd) noexcept : fd_(fd), forks_(forks()) {
  mark(fd, true);
}

void InternalFd::close_in_child() noexcept {
  fork_count.fetch_add(1, std::memory_order_relaxed);
  for (int word = 0; word < kMarkedFds / 64; ++word) {
    for (uint64_t bits = marks[word].exchange(0, std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
      syscall(SYS_close, word * 64 + std::countr_zero(bits));
    }
  }
}

uint32_t InternalFd::forks() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

bool InternalFd::is_internal(int fd) noexcept {
  return fd >= 0 && fd < kMarkedFds && (marks[fd / 64].load(std::memory_order_relaxed) >> (fd % 64) & 1) != 0;
}

InternalFd& InternalFd::operator=(InternalFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(forks_, other.forks_);
  return *this;
}

InternalFd::~InternalFd() {
  if (fd_ < 0 || forks_ != forks()) return;
  mark(fd_, false);
  syscall(SYS_close, fd_);
}

int InternalFd::release() noexcept {
  mark(fd_, false);
  return std::exchange(fd_, -1);
}

ErrnoOr<InternalFd> InternalFd::duplicate(int fd) noexcept {
  const int high = duplicate_high(fd);
  if (high < 0) return tl::unexpected(errno);
  return InternalFd(high);
}

ErrnoOr<InternalFd> InternalFd::anonymous(const char* name, uint64_t bytes) noexcept {
  InternalFd low(static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!low) return tl::unexpected(errno);
  const auto size = static_cast<off_t>(bytes);
  if (without_file_signals([&] { return ftruncate(low.get(), size); }) != 0) return tl::unexpected(errno);
  // Sealed: an importer of the descriptor could otherwise truncate the file under existing mappings.
  if (syscall(SYS_fcntl, low.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return tl::unexpected(errno);
  }
  return duplicate(low.get());
}

}  // namespace rigel::vgpu
