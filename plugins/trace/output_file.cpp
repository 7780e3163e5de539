#include "plugins/trace/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "api/support/file_signals.hpp"

namespace trace {

OutputFile::~OutputFile() {
  close();
}

void OutputFile::open(const std::string& path, bool append) {
  close();
  const auto fail = [&](const char* what) {
    const int error = errno;
    close();
    throw std::system_error(error, std::generic_category(), path + what);
  };
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(": cannot open");
  // Pipes, terminals and devices may have several writers and cannot be truncated.
  struct stat facts {};
  if (::fstat(descriptor_, &facts) == 0 && !S_ISREG(facts.st_mode)) return;
  // Other errors mean that the file system does not support locks.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close();
    throw std::runtime_error(path +
                             ": another process writes this file; use %p (the process id) in option file");
  }
  if (!append && ::ftruncate(descriptor_, 0) != 0) fail(": cannot truncate");
}

int OutputFile::write(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written =
        rigel::without_file_signals([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

void OutputFile::close() noexcept {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);  // a forked child may have the file open
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace trace
