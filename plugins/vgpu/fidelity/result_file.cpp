#include "plugins/vgpu/fidelity/result_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "api/support/file_signals.hpp"

namespace rigel::vgpu {

// Raw system calls, because the preload front end hooks open().
bool write_file(const std::string& path, std::string_view text) {
  const auto fd = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd < 0) return false;
  bool written = true;
  while (!text.empty() && written) {
    const ssize_t bytes = without_file_signals([&] { return ::write(fd, text.data(), text.size()); });
    written = bytes > 0 || (bytes < 0 && errno == EINTR);
    text.remove_prefix(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  const int error = errno;
  syscall(SYS_close, fd);
  errno = error;
  return written;
}

std::string with_process_id(std::string path) {
  for (size_t at = path.find("%p"); at != path.npos; at = path.find("%p", at))
    path.replace(at, 2, std::to_string(getpid()));
  return path;
}

}  // namespace rigel::vgpu
