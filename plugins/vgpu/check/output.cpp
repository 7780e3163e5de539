#include "plugins/vgpu/check/output.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "api/support/file_signals.hpp"

namespace rigel::vgpu::check {
namespace {

// Appends text to the log file, or writes it to stderr. Raw system calls, because the preload front end
// hooks open().
void write_text(const std::string& path, std::string_view text) {
  int fd = STDERR_FILENO;
  if (!path.empty()) {
    fd = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (fd < 0) fd = STDERR_FILENO;
  }
  without_file_signals([&] { return ::write(fd, text.data(), text.size()); });
  if (fd != STDERR_FILENO) syscall(SYS_close, fd);
}

class TextOutput final : public Output {
 public:
  explicit TextOutput(std::string log_file) : log_file_(std::move(log_file)) {}

  void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) override {
    const std::string text =
        fmt::format("check {}: {}{}\n  {:<12} {}", name(finding.kind.tool), finding.summary, finding.details,
                    "suppress", suppression_for(finding));
    if (log_file_.empty()) return bus.report(finding.severity, queue_id, text);
    write_text(log_file_, fmt::format("{}: {}\n", name(finding.severity), text));
  }

  void end(std::string_view summary) override { write_text(log_file_, summary); }

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
    write_text(log_file_, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

  void end(std::string_view) override {}

 private:
  const std::string log_file_;
};

}  // namespace

std::unique_ptr<Output> make_output(const Options& options) {
  if (options.json) return std::make_unique<JsonOutput>(options.log_file);
  return std::make_unique<TextOutput>(options.log_file);
}

}  // namespace rigel::vgpu::check
