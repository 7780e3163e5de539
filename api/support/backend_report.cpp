#include "api/support/backend_report.hpp"

#include <algorithm>
#include <cstring>

#include "api/support/log.hpp"

namespace rigel::backend_report {
namespace {

// Plain bytes: a thread may end after the runtime has.
constexpr size_t kMaxBytes = 1024;
constinit thread_local char report_text[kMaxBytes];
constinit thread_local size_t report_size = 0;

std::string_view kept() noexcept {
  return {report_text, report_size};
}

}  // namespace

void keep(std::string_view text) noexcept {
  report_size = std::min(text.size(), kMaxBytes);
  if (report_size != 0) std::memcpy(report_text, text.data(), report_size);
}

std::string take() {
  std::string text(kept());
  report_size = 0;
  return text;
}

void drop() noexcept {
  report_size = 0;
}

Status refused(std::string_view what, int32_t status) noexcept {
  const Failure failure = fail(static_cast<Status>(status), "{}: {}", what,
                               report_size != 0 ? kept() : std::string_view("rejected by the backend"));
  report_size = 0;
  return failure;
}

void settle() noexcept {
  if (report_size == 0) return;
  log_message(LogLevel::kWarn, LogTopic::kModule, "backend: asynchronous work failed: {}", kept());
  report_size = 0;
}

}  // namespace rigel::backend_report
