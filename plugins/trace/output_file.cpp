#include "plugins/trace/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace trace {

OutputFile::~OutputFile() {
  close();
}

void OutputFile::open(const std::string& path, bool goes_on) {
  close();
  const auto complain = [&path](const char* what) {
    throw std::system_error(errno, std::generic_category(), what + path);
  };
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) complain("cannot open ");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return;  // a file system without locks
    close();
    throw std::runtime_error(path +
                             " is being written by another process: %p in option 'file' is the process id");
  }
  // Not of a pipe or a terminal, which have nothing to empty.
  if (!goes_on && ::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) complain("cannot empty ");
}

int OutputFile::write(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
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
  ::flock(descriptor_, LOCK_UN);  // a forked child may have the file open, too
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace trace
