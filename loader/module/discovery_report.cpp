#include "loader/module/discovery_report.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "api/support/log.hpp"
#include "api/support/mutex.hpp"

namespace rigel {
namespace {

constexpr std::array<std::string_view, 12> kStageNames{"config", "searched",   "found",  "permitted",
                                                       "parsed", "driver",     "node",   "selected",
                                                       "opened", "negotiated", "device", "tool"};
static_assert(kStageNames.size() == static_cast<size_t>(Stage::kTool) + 1);

constexpr std::array<std::string_view, 4> kOutcomeNames{"ok", "skipped", "warning", "failed"};

LogTopic topic_of(Stage stage) {
  if (stage == Stage::kConfig) return LogTopic::kApi;  // neither a manifest nor a module
  if (stage <= Stage::kParsed) return LogTopic::kManifest;
  return stage == Stage::kTool ? LogTopic::kChain : LogTopic::kModule;
}

LogLevel level_of(Stage stage, Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return LogLevel::kDebug;
    case Outcome::kSkipped:
      return LogLevel::kInfo;
    case Outcome::kWarning:
      return LogLevel::kWarn;
    case Outcome::kFailed:
      break;
  }
  const bool is_named_by_user = stage == Stage::kConfig || stage == Stage::kDriver || stage == Stage::kTool;
  return is_named_by_user ? LogLevel::kError : LogLevel::kWarn;
}

// Returns the kind of a name in a message; empty for a path.
std::string_view kind_of(Stage stage, std::string_view subject) {
  if (subject.find('/') != subject.npos) return "";
  switch (stage) {
    case Stage::kPermitted:
    case Stage::kOpened:
    case Stage::kNegotiated:
      return "backend ";
    case Stage::kDriver:
      return "driver ";
    case Stage::kTool:
      return "tool ";
    default:
      return "";
  }
}

}  // namespace

std::string_view name_of(Stage stage) noexcept {
  return kStageNames[static_cast<size_t>(stage)];
}
std::string_view name_of(Outcome outcome) noexcept {
  return kOutcomeNames[static_cast<size_t>(outcome)];
}

void DiscoveryReport::add(Stage stage, Outcome outcome, std::string_view subject, std::string_view text,
                          std::optional<LogLevel> level) {
  if (outcome == Outcome::kOk) {
    log_message(LogLevel::kDebug, topic_of(stage), "{}{}: {}{}{}", kind_of(stage, subject), subject,
                name_of(stage), text.empty() ? "" : ": ", text);
  } else {
    log_message(level.value_or(level_of(stage, outcome)), topic_of(stage), "{}{}: {}",
                kind_of(stage, subject), subject, text);
  }
  const MutexLock lock(mutex_);
  lines_.push_back({stage, outcome, std::string(subject), std::string(text)});
}

std::vector<ReportLine> DiscoveryReport::lines() const {
  const MutexLock lock(mutex_);
  return lines_;
}

std::string DiscoveryReport::to_text() const {
  std::string out;
  for (const auto& line : lines()) {
    fmt::format_to(std::back_inserter(out), "{:<8}{:<11} {}{}{}\n", name_of(line.outcome),
                   name_of(line.stage), line.subject, line.text.empty() ? "" : ": ", line.text);
  }
  return out;
}

std::string DiscoveryReport::to_json() const {
  auto array = nlohmann::json::array();
  for (const auto& line : lines()) {
    array.push_back({{"stage", name_of(line.stage)},
                     {"outcome", name_of(line.outcome)},
                     {"subject", line.subject},
                     {"text", line.text}});
  }
  // File names may be invalid UTF-8; a report with a replacement character is better than none.
  return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void DiscoveryReport::clear() {
  const MutexLock lock(mutex_);
  lines_.clear();
}

}  // namespace rigel
