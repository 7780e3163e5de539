// Reading small files that somebody else wrote.
//
// Stateless; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "loader/text/words.hpp"

namespace rigel {

/// What the C library says about an error number.
std::string error_text(int code);

/// Closes a file descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

/// The content of a regular file of at most `limit` bytes. Never waits: a pipe or a device is refused.
Explained<std::string> read_small_file(const std::string& path, size_t limit);

}  // namespace rigel
