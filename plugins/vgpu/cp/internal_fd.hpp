// A descriptor that the device keeps for itself: among the high numbers, out of the way of the program's, and
// known to the preload face, which keeps the program from closing it.
//
// Threads: all static functions from any thread. Fork: see close_in_child().
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

namespace rigel::vgpu {

/// An error number of <cerrno>, positive.
using Errno = int;

template <class T>
using ErrnoOr = tl::expected<T, Errno>;

/// A descriptor that the device keeps for itself: closed with the object, out of the way of the program's.
class InternalFd {
 public:
  InternalFd() = default;
  explicit InternalFd(int fd) noexcept;
  InternalFd(InternalFd&& other) noexcept : InternalFd(other.release()) {}
  InternalFd& operator=(InternalFd&& other) noexcept;
  ~InternalFd();

  /// An anonymous file of `bytes`.
  static ErrnoOr<InternalFd> anonymous(const char* name, uint64_t bytes) noexcept;
  /// Another descriptor of the same file, among the high numbers.
  static ErrnoOr<InternalFd> duplicate(int fd) noexcept;

  int get() const noexcept { return fd_; }
  int release() noexcept;

  /// In a child of fork: closes all that there are, which are its parent's. The objects do nothing any more.
  static void close_in_child() noexcept;
  /// How often that was: tells a child from its parent, where code goes on in both.
  static uint32_t forks() noexcept;

  /// Whether a descriptor of the process is one of these: the program must not close it by accident.
  static bool is_internal(int fd) noexcept;
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
  uint32_t forks_ = 0;  // how often this process is a child of a fork: of another one the number says nothing
};

}  // namespace rigel::vgpu
