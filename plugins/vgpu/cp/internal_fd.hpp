// File descriptors of the device itself. They have high numbers, so that the program's descriptors keep the
// usual low ones. The preload hooks prevent the program from closing them.
//
// Threads: static functions from any thread. Fork: see close_in_child().
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

namespace rigel::vgpu {

/// A positive error number of <cerrno>.
using Errno = int;

template <class T>
using ErrnoOr = tl::expected<T, Errno>;

/// An owned descriptor with a high number.
class InternalFd {
 public:
  InternalFd() = default;
  explicit InternalFd(int fd) noexcept;
  InternalFd(InternalFd&& other) noexcept : InternalFd(other.release()) {}
  InternalFd& operator=(InternalFd&& other) noexcept;
  ~InternalFd();

  /// Creates an anonymous file of `bytes` bytes.
  static ErrnoOr<InternalFd> anonymous(const char* name, uint64_t bytes) noexcept;
  /// Creates another descriptor of the same file.
  static ErrnoOr<InternalFd> duplicate(int fd) noexcept;

  int get() const noexcept { return fd_; }
  int release() noexcept;

  /// In a child of fork: closes all inherited descriptors. Existing objects become inactive.
  static void close_in_child() noexcept;
  /// Number of forks between the first process and this one: distinguishes a child from its parent.
  static uint32_t forks() noexcept;

  /// Whether a descriptor belongs to the device, and the program must not close it.
  static bool is_internal(int fd) noexcept;
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
  uint32_t forks_ = 0;  // forks() at construction; in other processes fd_ is not valid
};

}  // namespace rigel::vgpu
