#include "plugins/vgpu/check/findings.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "api/support/file_signals.hpp"

namespace rigel::vgpu::check {
namespace {

std::string_view name(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

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

std::string json_of(const Finding& finding) {
  nlohmann::json object;
  object["tool"] = check::name(finding.tool);
  object["severity"] = name(finding.severity);
  object["summary"] = finding.summary;
  object["kernel"] = finding.kernel;
  if (!finding.source.empty()) object["source"] = finding.source;
  object["details"] = finding.details;
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Called by exit(). The program's own status stays if it reports a failure.
void end_process(int status, void*) {
  Findings& findings = Findings::of_process();
  const Options& options = findings.options();
  if (!options.json) write_text(options.log_file, findings.summary());
  if (findings.errors() == 0 || options.exit_status == 0 || status != 0) return;
  std::fflush(nullptr);
  _exit(options.exit_status);
}

}  // namespace

Findings& Findings::of_process() {
  static Findings* const findings = [] {
    auto* const created = new Findings(Options::from_environment());
    if (created->options().tools != 0) {
      on_exit(end_process, nullptr);
      pthread_atfork(nullptr, nullptr, [] { of_process().forget(); });
    }
    return created;
  }();
  return *findings;
}

bool Findings::count(const Kind& kind, Severity severity) {
  const MutexLock lock(mutex_);
  const auto [found, is_new] = kinds_.try_emplace(kind, Count{severity, 0});
  ++found->second.times;
  return is_new && kinds_.size() <= options_.limit;
}

void Findings::add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) {
  if (options_.json) return write_text(options_.log_file, json_of(finding));
  const std::string text =
      fmt::format("check {}: {}{}", check::name(finding.tool), finding.summary, finding.details);
  if (options_.log_file.empty()) return bus.report(finding.severity, queue_id, text);
  write_text(options_.log_file, fmt::format("{}: {}\n", name(finding.severity), text));
}

void Findings::note_unchecked(std::string_view text) {
  const MutexLock lock(mutex_);
  if (std::find(unchecked_.begin(), unchecked_.end(), text) == unchecked_.end())
    unchecked_.emplace_back(text);
}

std::string Findings::summary() {
  const MutexLock lock(mutex_);
  uint64_t kinds[2] = {}, times[2] = {};
  for (const auto& [kind, count] : kinds_) {
    ++kinds[static_cast<size_t>(count.severity)];
    times[static_cast<size_t>(count.severity)] += count.times;
  }
  const auto part = [&](Severity severity, std::string_view one, std::string_view more) {
    const auto i = static_cast<size_t>(severity);
    std::string text = fmt::format("{} {}", kinds[i], kinds[i] == 1 ? one : more);
    if (times[i] > kinds[i]) text += fmt::format(" (found {} times)", times[i]);
    return text;
  };
  std::string tools;
  for (uint32_t i = 0; i < kTools; ++i) {
    if (!options_.has(static_cast<Tool>(i))) continue;
    tools.append(tools.empty() ? "" : ", ").append(check::name(static_cast<Tool>(i)));
  }
  std::string text = fmt::format("check: {}, {} by {}\n", part(Severity::kError, "error", "errors"),
                                 part(Severity::kWarning, "warning", "warnings"), tools);
  if (kinds_.size() > options_.limit) {
    text += fmt::format("check: {} findings were not printed; raise VGPU_CHECK_LIMIT\n",
                        kinds_.size() - options_.limit);
  }
  for (const std::string& part_of_program : unchecked_)
    text += fmt::format("check: not checked: {}\n", part_of_program);
  return text;
}

uint64_t Findings::errors() {
  const MutexLock lock(mutex_);
  return static_cast<uint64_t>(std::count_if(kinds_.begin(), kinds_.end(), [](const auto& entry) {
    return entry.second.severity == Severity::kError;
  }));
}

void Findings::forget() {
  // Another thread may have held the lock during fork().
  new (&mutex_) Mutex;
  const MutexLock lock(mutex_);
  kinds_.clear();
  unchecked_.clear();
}

}  // namespace rigel::vgpu::check
