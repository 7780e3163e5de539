#include "loader/text/small_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "api/support/descriptor.hpp"

namespace rigel {

std::string error_text(int code) {
  char buffer[128];
  return strerror_r(code, buffer, sizeof buffer);
}

Explained<std::string> read_small_file(const std::string& path, size_t limit) {
  // Without O_NONBLOCK, opening a pipe would block until it has a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return tl::unexpected(error_text(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(error_text(errno));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(std::string("not a regular file"));
  const auto too_big = [&] {
    return tl::unexpected(fmt::format("{} bytes exceed the maximum of {}", status.st_size, limit));
  };
  if (static_cast<uint64_t>(status.st_size) > limit) return too_big();

  // One additional byte, to detect the end even if the file grows.
  std::string content(static_cast<size_t>(status.st_size) + 1, '\0');
  size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0) {
      if (errno == EINTR) continue;
      return tl::unexpected(error_text(errno));
    }
    size += static_cast<size_t>(got);
    if (size > limit) return too_big();
    // A short read is the end, unless the kernel generates the contents and reports size 0.
    if (got == 0 || (size < content.size() && status.st_size != 0)) break;
    if (size == content.size()) content.resize(size * 2);
  }
  content.resize(size);
  return content;
}

}  // namespace rigel
