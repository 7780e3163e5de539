// What the virtual GPU says: lines by category, chosen by VGPU_LOG (comma separated, `all`, `none`), written
// to stderr, to the file that VGPU_LOG_FILE names, or to the sink that a host gave.
//
// Warnings (a queue stopped, a fault, a request that real hardware would refuse loudly) are shown unless
// VGPU_LOG is `none`. Any thread; a line is one write(2). Created before the threads that use it and
// destroyed after them. A file has a descriptor that the program cannot close or replace by accident, and
// that a child of fork does not have. Where it cannot be opened a warning says so, and lines go where they would without.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "plugins/vgpu/kfd/memory_object.hpp"

namespace rigel::vgpu {

enum class LogCategory : uint8_t {
  kWarning,
  kFile,
  kIoctl,
  kMemory,
  kEvent,
  kQueue,
  kDoorbell,
  kFault,
  kAql,
  kPm4,
  kSdma,
  kDispatch,
  kCount
};

/// Where lines go without a file; by default to stderr.
struct LogSink {
  void (*write)(void* self, LogCategory category, std::string_view line) = nullptr;
  void* self = nullptr;
};

class Log {
 public:
  /// `words` as in VGPU_LOG; null is as good as empty. `path` may be null. Words that are no category are
  /// answered with a warning that lists the categories.
  Log(const char* words, const char* path, LogSink sink = {}) noexcept;
  /// What of `words` is no category, with a guess and the categories that there are; empty: all of it is.
  static std::string wrong_words(std::string_view words);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogCategory category) const noexcept {
    return (mask_ >> static_cast<unsigned>(category) & 1) != 0;
  }

  template <class... Args>
  void operator()(LogCategory category, fmt::format_string<const Args&...> format,
                  const Args&... args) noexcept {
    if (!enabled(category)) return;
    char line[1024];
    try {
      const auto end = fmt::format_to_n(line, sizeof line, format, args...);
      if (end.size <= sizeof line) {
        write(category, {line, end.size});
      } else {
        write(category, fmt::format(format, args...));  // a report with the registers of a wave
      }
    } catch (...) {
      write(category, "(a message could not be formatted)");
    }
  }

  void write(LogCategory category, std::string_view text) noexcept;

 private:
  uint32_t mask_ = 0;
  InternalFd file_;  // none: the sink
  const LogSink sink_;
};

}  // namespace rigel::vgpu
