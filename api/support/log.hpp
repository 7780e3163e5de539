// The runtime's log: one line per message, to stderr or a file, filtered by level and topic.
//
// *Threads:* any thread, also before hsa_init and after hsa_shut_down: there is no state to construct or
// destroy. A message is formatted on the stack and written with one system call, so that lines of different
// threads and processes do not mix. A message above 2 KiB, such as a report of the virtual GPU, needs memory,
// and is cut without it.
//
// A line is `rigel: <error|warning|info>: <object>: <problem>; <remedy>`, or `rigel: debug: <topic>: <text>`.
// An error makes hsa_init, a call, a queue, a driver or a tool fail. A warning is a condition that the
// runtime works around.
//
// HSA_LOADER_DEBUG selects messages by levels (error, warn, info, debug) and topics (manifest, module, chain,
// api, queue, memory, signal), comma separated, or `all`. A topic selects all its levels. Errors and warnings
// are shown unless the variable is `none`.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace rigel {

enum class LogLevel : uint8_t { kError, kWarn, kInfo, kDebug };
enum class LogTopic : uint8_t { kManifest, kModule, kChain, kApi, kQueue, kMemory, kSignal, kCount };

namespace detail {
// Bit `level * 8 + topic`: one relaxed load and a test decide if a message is formatted.
extern std::atomic<uint32_t> log_mask;
void write_log_line(LogLevel level, LogTopic topic, std::string_view text) noexcept;
// Writes the whole message, or its start without memory.
void write_long_log_line(LogLevel level, LogTopic topic, fmt::string_view format, fmt::format_args args,
                         std::string_view beginning) noexcept;
constexpr size_t kLogLineBytes = 2048;
}  // namespace detail

inline bool log_enabled(LogLevel level, LogTopic topic) noexcept {
  const auto bit = static_cast<unsigned>(level) * 8 + static_cast<unsigned>(topic);
  return (detail::log_mask.load(std::memory_order_relaxed) >> bit & 1u) != 0;
}

template <class... Args>
void log_message(LogLevel level, LogTopic topic, fmt::format_string<Args...> format,
                 Args&&... args) noexcept {
  if (!log_enabled(level, topic)) return;
  char line[detail::kLogLineBytes];
  try {
    const auto end = fmt::format_to_n(line, sizeof line, format, std::forward<Args>(args)...);
    if (end.size <= sizeof line) return detail::write_log_line(level, topic, {line, end.size});
    detail::write_long_log_line(level, topic, format, fmt::make_format_args(args...), {line, sizeof line});
  } catch (...) {
    detail::write_log_line(level, topic, "log: a message could not be formatted");
  }
}

/// Sets the filter from the text of HSA_LOADER_DEBUG (null: the default), or of `source`, its name in
/// messages. Unknown entries are ignored with a warning.
void configure_log(const char* words, std::string_view source = "HSA_LOADER_DEBUG") noexcept;

/// Appends the log to `path` (created if missing) instead of stderr. Returns false if it cannot be opened.
bool log_to_file(const char* path) noexcept;
void log_to_stderr() noexcept;

}  // namespace rigel
