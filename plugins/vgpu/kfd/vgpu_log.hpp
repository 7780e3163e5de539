// The virtual GPU's messages: lines by category, chosen by VGPU_LOG (comma separated, `all`, `none`), written
// to stderr, to the file that VGPU_LOG_FILE names, or to the host's sink.
//
// A line is "vgpu[THREAD]: <category>: <text>". The text of an error or a warning is
// "<object>: <problem>; <remedy>" (docs/style.md). An error is a failure that stops a queue or the program. A
// warning is a condition that the virtual GPU works around. Both are shown unless VGPU_LOG is `none`.
//
// *Threads:* any; a line is one write(2).
// *Lifetime:* created before the threads that use it and destroyed after them. The descriptor of the file has
// a number that the program does not use, and a child of fork does not have it.
// *Errors:* if the file cannot be opened, a warning reports it, and lines go to stderr or the sink.
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
  kError,
  kWarning,
  kInfo,
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
  /// `words` as in VGPU_LOG; null means empty. `path` may be null. Unknown categories cause a warning that
  /// lists the categories.
  Log(const char* words, const char* path, LogSink sink = {}) noexcept;
  /// The unknown categories of `words`, with the closest or all known ones; empty if all are known.
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
      write(category, "(message could not be formatted)");
    }
  }

  void write(LogCategory category, std::string_view text) noexcept;

 private:
  uint32_t mask_ = 0;
  InternalFd file_;  // empty: use the sink
  const LogSink sink_;
};

}  // namespace rigel::vgpu
