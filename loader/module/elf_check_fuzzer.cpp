// Checks any bytes as a shared library: the check before dlopen terminates with or without a reason. The file
// is not opened.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include <fmt/core.h>

#include "loader/module/elf_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = ::memfd_create("library", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  const auto good = rigel::check_shared_library(fmt::format("/proc/self/fd/{}", fd));
  if (!good && good.error().empty()) std::abort();
  ::close(fd);
  return 0;
}
