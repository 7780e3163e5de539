#include "plugins/vgpu/preload/bypass.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

// explain_bus_error() runs in a signal handler: it uses raw system calls and stack memory only.

namespace rigel::vgpu {
namespace {

// Calls `line` with the first 256 bytes of each line of /proc/self/maps.
template <class Line>
void for_each_mapping(Line line) {
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  char buffer[1024], text[256];
  size_t length = 0;
  for (long bytes_read; (bytes_read = syscall(SYS_read, file, buffer, sizeof buffer)) > 0;) {
    for (const char c : std::string_view(buffer, static_cast<size_t>(bytes_read))) {
      if (c != '\n') {
        if (length < sizeof text) text[length++] = c;
        continue;
      }
      line(std::string_view(text, length));
      length = 0;
    }
  }
  syscall(SYS_close, file);
}

uint64_t parse_hex(std::string_view& text) {
  uint64_t number = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    number = number * 16 + static_cast<uint64_t>(digit);
  }
  return number;
}

}  // namespace

void explain_bus_error(const std::byte* address) {
  static constinit std::atomic<bool> explained{false};
  const auto at = reinterpret_cast<uint64_t>(address);
  for_each_mapping([&](std::string_view line) {
    const uint64_t start = parse_hex(line);
    if (!line.starts_with('-')) return;
    line.remove_prefix(1);
    if (at < start || at >= parse_hex(line)) return;
    constexpr std::string_view kPrefix = "/memfd:";
    const size_t name = line.find(kPrefix);
    if (name == line.npos) return;
    const std::string_view path =
        line.substr(name + kPrefix.size(), line.rfind(" (deleted)") - name - kPrefix.size());
    if (path != "/dev/kfd" && !path.starts_with("/dev/dri/")) return;
    if (explained.exchange(true)) return;
    constexpr std::string_view kBegin = "vgpu: error: ";
    constexpr std::string_view kEnd =
        ": SIGBUS: the program mapped the file by a direct system call, which vgpu-run does not intercept; "
        "use mmap() of the C library\n";
    char text[kBegin.size() + 256 + kEnd.size()];
    char* to = text;
    for (const std::string_view part : {kBegin, path, kEnd}) to = std::copy(part.begin(), part.end(), to);
    syscall(SYS_write, STDERR_FILENO, text, to - text);
  });
}

}  // namespace rigel::vgpu
