#include "loader/module/discovery_report.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "api/support/mutex.hpp"
#include "core/base/log.hpp"

namespace rigel {
namespace {

constexpr std::array<std::string_view, 12> kStageNames{"config", "searched",   "found",  "permitted",
                                                       "parsed", "driver",     "node",   "selected",
                                                       "opened", "negotiated", "device", "tool"};
static_assert(kStageNames.size() == static_cast<size_t>(Stage::kTool) + 1);

constexpr std::array<std::string_view, 4> kOutcomeNames{"ok", "skipped", "warning", "failed"};

LogTopic topic_of(Stage stage) {
  if (stage == Stage::kConfig) return LogTopic::kApi;  // it is no manifest, nor a module
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
  // hsa_init fails with the configuration. A backend that fails is no error as long as another one works.
  return stage == Stage::kConfig ? LogLevel::kError : LogLevel::kWarn;
}

}  // namespace

std::string_view name_of(Stage stage) noexcept {
  return kStageNames[static_cast<size_t>(stage)];
}
std::string_view name_of(Outcome outcome) noexcept {
  return kOutcomeNames[static_cast<size_t>(outcome)];
}

void DiscoveryReport::add(Stage stage, Outcome outcome, std::string_view subject, std::string_view text) {
  log_message(level_of(stage, outcome), topic_of(stage), "{} ({}): {}{}{}", subject, name_of(stage),
              name_of(outcome), text.empty() ? "" : ": ", text);
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
  // File names need not be UTF-8; a report with a replacement character is better than none.
  return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void DiscoveryReport::clear() {
  const MutexLock lock(mutex_);
  lines_.clear();
}

}  // namespace rigel
