#include "plugins/vgpu/check/log_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/support/file_signals.hpp"

namespace rigel::vgpu::check {
namespace {

// Raw system calls, because the preload front end hooks open().
class LogFile {
 public:
  LogFile(const std::string& path, int flags)
      : fd_(static_cast<int>(
            syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CREAT | O_CLOEXEC, 0666))) {}
  ~LogFile() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  const int fd_;
};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = without_file_signals([&] { return ::write(fd, text.data(), text.size()); });
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t count; (count = ::read(fd, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(count));
  return text;
}

}  // namespace

void append_to_log(const std::string& path, std::string_view text) {
  if (path.empty()) return write_all(STDERR_FILENO, text);
  const LogFile file(path, O_WRONLY | O_APPEND);
  write_all(file.is_open() ? file.get() : STDERR_FILENO, text);
}

void update_log(const std::string& path, const std::function<std::string(const std::string&)>& change) {
  const LogFile file(path, O_RDWR);
  if (!file.is_open()) return write_all(STDERR_FILENO, change({}));
  flock(file.get(), LOCK_EX);  // until it is closed
  const std::string text = change(read_all(file.get()));
  if (ftruncate(file.get(), 0) == 0 && lseek(file.get(), 0, SEEK_SET) == 0) write_all(file.get(), text);
}

}  // namespace rigel::vgpu::check
