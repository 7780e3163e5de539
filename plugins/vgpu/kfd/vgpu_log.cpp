#include "plugins/vgpu/kfd/vgpu_log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "api/support/file_signals.hpp"
#include "loader/text/words.hpp"
#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu {
namespace {

constexpr std::string_view kNames[] = {"error", "warning",  "info",  "file", "ioctl", "memory", "event",
                                       "queue", "doorbell", "fault", "aql",  "pm4",   "sdma",   "dispatch"};
static_assert(std::size(kNames) == static_cast<size_t>(LogCategory::kCount));

// Shown unless VGPU_LOG is `none`.
constexpr uint32_t kMessages = 1u << static_cast<unsigned>(LogCategory::kError) |
                               1u << static_cast<unsigned>(LogCategory::kWarning) |
                               1u << static_cast<unsigned>(LogCategory::kInfo);

// A raw system call, because the preload front end hooks open(). Opening a pipe without a reader fails
// instead of blocking; writes wait for a slow reader.
ErrnoOr<InternalFd> open_file(const char* path) noexcept {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
  const InternalFd low(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, kFlags | O_NONBLOCK, 0644)));
  if (!low || fcntl(low.get(), F_SETFL, O_APPEND) != 0) return tl::unexpected(errno);
  return InternalFd::duplicate(low.get());
}

}  // namespace

Log::Log(const char* words, const char* path, LogSink sink) noexcept : sink_(sink) {
  const std::string_view text = words == nullptr ? "" : words;
  mask_ = kMessages;
  Errno error = 0;
  if (path != nullptr && *path != 0) {
    if (auto file = open_file(path)) {
      file_ = std::move(*file);
    } else {
      error = file.error();
    }
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word == "all") mask_ = ~0u;
    if (word == "none") mask_ = 0;
    for (size_t i = 0; i < std::size(kNames); ++i) {
      if (word == kNames[i]) mask_ |= 1u << i;
    }
  }
  // After the categories: `none` suppresses these warnings too.
  if (error != 0) {
    (*this)(LogCategory::kWarning, "VGPU_LOG_FILE: cannot open '{}': {}", path, std::strerror(error));
  }
  try {
    if (const std::string problem = wrong_words(text); !problem.empty())
      (*this)(LogCategory::kWarning, "VGPU_LOG: {}", problem);
  } catch (const std::bad_alloc&) {  // the warning is lost
  }
}

std::string Log::wrong_words(std::string_view words) {
  std::vector<std::string_view> known_words{"all", "none"};
  known_words.insert(known_words.end(), std::begin(kNames), std::end(kNames));
  std::string problem;
  for (const std::string_view word : split(words, ',')) {
    if (std::find(known_words.begin(), known_words.end(), word) != known_words.end()) continue;
    problem += fmt::format("{}unknown category {}{}", problem.empty() ? "" : " ", in_quotes(word),
                           remedy(word, known_words));
  }
  return problem;
}

void Log::write(LogCategory category, std::string_view text) noexcept {
  if (!file_ && sink_.write != nullptr) return sink_.write(sink_.self, category, text);
  char head[64];
  const auto end = fmt::format_to_n(head, sizeof head, "vgpu[{}]: {}: ", syscall(SYS_gettid),
                                    kNames[static_cast<size_t>(category)]);
  char newline = '\n';
  const iovec parts[] = {{head, std::min<size_t>(end.size, sizeof head)},
                         {const_cast<char*>(text.data()), text.size()},
                         {&newline, 1}};
  const int fd = file_ ? file_.get() : STDERR_FILENO;
  without_file_signals([&] { return writev(fd, parts, 3); });
}

}  // namespace rigel::vgpu
