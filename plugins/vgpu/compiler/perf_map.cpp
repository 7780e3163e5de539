#include "plugins/vgpu/compiler/perf_map.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

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
  // By number: the preload face stands in front of libc.
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(),
                                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  syscall(SYS_close, file);
}

}  // namespace rigel::vgpu::exec::compiler
