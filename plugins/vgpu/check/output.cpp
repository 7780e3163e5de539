#include "plugins/vgpu/check/output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "loader/text/words.hpp"
#include "plugins/vgpu/check/log_file.hpp"
#include "plugins/vgpu/check/sarif.hpp"
#include "plugins/vgpu/check/suppressions.hpp"

namespace rigel::vgpu::check {
namespace {

// Escape sequences of terminals (ECMA-48, SGR); empty if the text goes elsewhere.
struct Colors {
  std::string_view error, warning, source, faint, end;
};

Colors colors_of(const std::string& log_file) {
  const auto is_set = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != 0;
  };
  const char* const terminal = std::getenv("TERM");
  const bool is_colored = log_file.empty() && !is_set("VGPU_LOG_FILE") && !is_set("NO_COLOR") &&
                          terminal != nullptr && std::string_view(terminal) != "dumb" &&
                          ::isatty(STDERR_FILENO) == 1;
  if (!is_colored) return {};
  return {"\x1b[1;31m", "\x1b[1;33m", "\x1b[36m", "\x1b[2m", "\x1b[0m"};
}

class TextOutput final : public Output {
 public:
  explicit TextOutput(std::string log_file) : log_file_(std::move(log_file)), colors_(colors_of(log_file_)) {}

  void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) override {
    const bool is_error = finding.severity == Severity::kError;
    std::string text = fmt::format("{}check {}: {}{}", is_error ? colors_.error : colors_.warning,
                                   name(finding.kind.tool), finding.summary, colors_.end);
    for (const std::string_view line : split(finding.details, '\n')) text += colored(line);
    text += colored(fmt::format("  {:<12} {}", "suppress", suppression_for(finding)));
    if (log_file_.empty()) return bus.report(finding.severity, queue_id, text);
    append_to_log(log_file_, fmt::format("{}: {}\n", name(finding.severity), text));
  }

  void end(const Summary& summary) override { append_to_log(log_file_, summary.text()); }

 private:
  // Source lines stand out; machine code and suppressions are for a second look.
  std::string colored(std::string_view line) const {
    const bool is_source = line.starts_with("  at ") || line.starts_with("  inlined into ") ||
                           line.starts_with("  called from ");
    const bool is_faint = line.starts_with("     0x") || line.starts_with("  suppress ");
    const std::string_view color = is_source ? colors_.source : is_faint ? colors_.faint : "";
    return fmt::format("\n{}{}{}", color, line, color.empty() ? "" : colors_.end);
  }

  const std::string log_file_;
  const Colors colors_;
};

class JsonOutput final : public Output {
 public:
  explicit JsonOutput(std::string log_file) : log_file_(std::move(log_file)) {}

  void add(const Finding& finding, DeviceBus&, uint32_t) override {
    nlohmann::json object;
    object["tool"] = name(finding.kind.tool);
    object["problem"] = entry_of(finding.kind.problem).name;
    object["severity"] = name(finding.severity);
    object["summary"] = finding.summary;
    object["kernel"] = finding.kernel;
    if (const std::string source = source_of(finding.place); !source.empty()) object["source"] = source;
    object["launch"] = finding.launch;
    object["code"] = finding.place.code;
    object["details"] = finding.details;
    object["suppression"] = suppression_for(finding);
    append_to_log(log_file_, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

  void end(const Summary&) override {}

 private:
  const std::string log_file_;
};

}  // namespace

std::string Summary::text() const {
  std::string text = fmt::format("check: {}\n", findings);
  for (const std::string& note : notes) text += fmt::format("check: {}\n", note);
  return text;
}

std::unique_ptr<Output> make_output(const Options& options) {
  switch (options.format) {
    case Format::kText:
      return std::make_unique<TextOutput>(options.log_file);
    case Format::kJson:
      return std::make_unique<JsonOutput>(options.log_file);
    case Format::kSarif:
      return make_sarif_output(options);
  }
  return nullptr;
}

}  // namespace rigel::vgpu::check
