#include "plugins/vgpu/exec/native/perf_map.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

#include "api/support/file_signals.hpp"

namespace rigel::vgpu::exec::compiler {

bool perf_map_wanted() {
  static const bool wanted = [] {
    const char* const text = std::getenv("VGPU_PERF_MAP");
    return text != nullptr && std::strcmp(text, "1") == 0;
  }();
  return wanted;
}

void write_perf_map(std::span<const std::byte> code, const std::string& kernel, uint64_t entry) {
  const std::string text = fmt::format("{:x} {:x} vgpu:{}\n", reinterpret_cast<uintptr_t>(code.data()),
                                       code.size(), kernel.empty() ? fmt::format("{:#x}", entry) : kernel);
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  // System calls bypass the preload front end's hooks of libc. /tmp is world-writable, so an existing file
  // must be the user's regular file. The program itself may write to it, too.
  const auto open = [&](int flags) {
    constexpr int kAlways = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), kAlways | flags, 0600));
  };
  int file = open(O_CREAT | O_EXCL);
  if (file < 0 && errno == EEXIST) file = open(0);
  if (file < 0) return;
  struct stat status {};
  if (syscall(SYS_fstat, file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      status.st_nlink == 1)
    without_file_signals([&] { return ::write(file, text.data(), text.size()); });
  syscall(SYS_close, file);
}

}  // namespace rigel::vgpu::exec::compiler
