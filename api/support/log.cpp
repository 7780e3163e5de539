#include "api/support/log.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "api/support/file_signals.hpp"

namespace rigel {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames{"error", "warn", "info", "debug"};
constexpr std::array<std::string_view, 4> kPrefixes{
    "rigel: error: ", "rigel: warning: ", "rigel: info: ", "rigel: debug: "};
constexpr std::array<std::string_view, static_cast<size_t>(LogTopic::kCount)> kTopicNames{
    "manifest", "module", "chain", "api", "queue", "memory", "signal"};

constexpr uint32_t kAll = 0xffffffff;
constexpr uint32_t kErrorsAndWarnings = 0x0000ffff;

constinit std::atomic<int> log_fd{STDERR_FILENO};
constinit std::atomic<int> file_fd{-1};  // descriptor of the log file that was named last; never closed

constexpr uint32_t level_mask(size_t level) {
  // A level includes more severe ones.
  return level == 3 ? kAll : (1u << (level + 1) * 8) - 1;
}

constexpr uint32_t topic_mask(size_t topic) {
  return 0x01010101u << topic;
}

bool mask_of_word(std::string_view word, uint32_t& mask) {
  if (word == "all") return mask |= kAll, true;
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (word == kLevelNames[i]) return mask |= level_mask(i), true;
  }
  for (size_t i = 0; i < kTopicNames.size(); ++i) {
    if (word == kTopicNames[i]) return mask |= topic_mask(i), true;
  }
  return false;
}

}  // namespace

namespace detail {

constinit std::atomic<uint32_t> log_mask{kErrorsAndWarnings};

void write_log_line(LogLevel level, LogTopic topic, std::string_view text) noexcept {
  const auto part = [](std::string_view of) { return iovec{const_cast<char*>(of.data()), of.size()}; };
  // The topic helps to choose a filter, and is omitted from messages for users.
  const bool has_topic = level == LogLevel::kDebug;
  const iovec parts[] = {part(kPrefixes[static_cast<size_t>(level)]),
                         part(has_topic ? kTopicNames[static_cast<size_t>(topic)] : ""),
                         part(has_topic ? ": " : ""), part(text), part("\n")};
  // A failure to write the log cannot be reported.
  without_file_signals([&] {
    return ::writev(log_fd.load(std::memory_order_relaxed), parts, static_cast<int>(std::size(parts)));
  });
}

void write_long_log_line(LogLevel level, LogTopic topic, fmt::string_view format, fmt::format_args args,
                         std::string_view beginning) noexcept try {
  write_log_line(level, topic, fmt::vformat(format, args));
} catch (...) {
  write_log_line(level, topic, beginning);
}

}  // namespace detail

void configure_log(const char* words, std::string_view source) noexcept {
  if (words == nullptr) {
    detail::log_mask.store(kErrorsAndWarnings, std::memory_order_relaxed);
    return;
  }
  std::string_view rest(words);
  if (rest == "none") {
    detail::log_mask.store(0, std::memory_order_relaxed);
    return;
  }
  uint32_t mask = kErrorsAndWarnings;
  detail::log_mask.store(mask, std::memory_order_relaxed);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const auto word = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
    if (!word.empty() && !mask_of_word(word, mask)) {
      log_message(LogLevel::kWarn, LogTopic::kApi, "{}: unknown level or topic '{}'; use none, all, {}, {}",
                  source, word, fmt::join(kLevelNames, ", "), fmt::join(kTopicNames, ", "));
    }
  }
  detail::log_mask.store(mask, std::memory_order_relaxed);
}

bool log_to_file(const char* path) noexcept {
  // A pipe without a reader, or with a slow one, must not block.
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  if (fd < 0) return false;
  int file = -1;
  if (!file_fd.compare_exchange_strong(file, fd, std::memory_order_relaxed)) {
    // Another thread may be about to write to the earlier file, so the new one takes over its descriptor. If
    // it were closed, the line could be written to any file of the application that gets the number next.
    const bool moved = ::dup3(fd, file, O_CLOEXEC) == file;
    ::close(fd);
    if (!moved) return false;
  }
  log_fd.store(file_fd.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return true;
}

void log_to_stderr() noexcept {
  log_fd.store(STDERR_FILENO, std::memory_order_relaxed);
}

}  // namespace rigel
