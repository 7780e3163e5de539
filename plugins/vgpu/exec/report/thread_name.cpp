#include "plugins/vgpu/exec/report/thread_name.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kMaxLength = 15;

bool is_traced() {
  // A system call, because the preload library intercepts libc's functions.
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  char text[4096];
  const ssize_t bytes = ::read(file, text, sizeof text);
  syscall(SYS_close, file);
  const std::string_view status(text, static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  constexpr std::string_view kKey = "\nTracerPid:";
  const size_t at = status.find(kKey);
  if (at == status.npos) return false;
  const size_t number = status.find_first_not_of(" \t", at + kKey.size());
  return number != status.npos && status[number] != '0';
}

// Removes arguments, template arguments, namespaces and the return type.
std::string short_name(std::string kernel) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = kernel.find(kAnonymous)) != kernel.npos;) kernel.erase(at, kAnonymous.size());
  size_t depth = 0, begin = 0, end = kernel.size();
  for (size_t i = 0; i < kernel.size(); ++i) {
    const char c = kernel[i];
    if (depth == 0 && (c == '<' || c == '(') && end == kernel.size() && i != begin) end = i;
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') depth -= depth == 0 ? 0 : 1;
    if (depth == 0 && (c == ' ' || c == ':')) begin = i + 1, end = kernel.size();
    if (depth == 0 && c == ')') break;
  }
  return kernel.substr(begin, end - begin);
}

}  // namespace

bool thread_names_wanted() {
  if (const char* const text = std::getenv("VGPU_THREAD_NAMES")) return std::string_view(text) == "1";
  return is_traced();
}

std::string thread_name(std::string_view kernel, uint64_t group) {
  const std::string number = std::to_string(group);
  if (number.size() + 1 >= kMaxLength) return number.substr(0, kMaxLength);
  return short_name(std::string(kernel)).substr(0, kMaxLength - 1 - number.size()) + " " + number;
}

void set_thread_name(const std::string& name) noexcept {
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace rigel::vgpu::exec
