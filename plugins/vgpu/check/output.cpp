#include "plugins/vgpu/check/output.hpp"

#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plugins/vgpu/check/log_file.hpp"
#include "plugins/vgpu/check/sarif.hpp"

namespace rigel::vgpu::check {
namespace {

class TextOutput final : public Output {
 public:
  explicit TextOutput(std::string log_file) : log_file_(std::move(log_file)) {}

  void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) override {
    const std::string text =
        fmt::format("check {}: {}{}\n  {:<12} {}", name(finding.kind.tool), finding.summary, finding.details,
                    "suppress", suppression_for(finding));
    if (log_file_.empty()) return bus.report(finding.severity, queue_id, text);
    append_to_log(log_file_, fmt::format("{}: {}\n", name(finding.severity), text));
  }

  void end(const Summary& summary) override { append_to_log(log_file_, summary.text()); }

 private:
  const std::string log_file_;
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
