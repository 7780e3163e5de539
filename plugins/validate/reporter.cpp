#include "plugins/validate/reporter.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fmt/core.h>

#include "api/support/file_signals.hpp"
#include "api/support/mutex.hpp"

namespace validate {

Reporter::Reporter(hsatool::Host host, const Options& options)
    : host_(host), limit_(options.limit), abort_(options.abort), rules_(all_rules().size()) {
  for (size_t i = 0; i < rules_.size(); ++i) rules_[i].applies = options.applies[i];
  if (!options.callback.empty()) {
    callback_ = reinterpret_cast<hsa_validate_callback_t>(::dlsym(RTLD_DEFAULT, options.callback.c_str()));
    if (callback_ == nullptr) {
      throw std::runtime_error(
          fmt::format("option callback: function '{}' not found; export it from the program (-rdynamic)",
                      options.callback));
    }
  }
  if (!options.file.empty()) {
    file_.reset(std::fopen(options.file.c_str(), "ae"));
    if (file_ == nullptr) {
      throw std::runtime_error(
          fmt::format("option file: cannot open '{}': {}", options.file, std::strerror(errno)));
    }
  }
}

void Reporter::report(Rule rule, std::string_view call, std::string_view details) {
  Counted& counted = rules_[static_cast<size_t>(rule)];
  if (!counted.applies) return;
  const uint32_t earlier_reports = counted.reports.fetch_add(1, std::memory_order_relaxed);
  if (limit_ != 0 && earlier_reports >= limit_) return;
  const RuleText& rule_text = text_of(rule);
  const std::string text = fmt::format("V{}: {} [{}]\n{}: {}", rule_text.number, rule_text.sentence,
                                       rule_text.source, call, details);
  write(text);
  if (callback_ != nullptr) {
    const hsa_validate_report_t report{sizeof report,
                                       rule_text.number,
                                       0,
                                       hsatool::str(rule_text.sentence),
                                       hsatool::str(rule_text.source),
                                       hsatool::str(call),
                                       hsatool::str(text)};
    callback_(&report);
  }
  if (abort_) std::abort();
}

void Reporter::write(std::string_view text) {
  const rigel::MutexLock lock(mutex_);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (file_ == nullptr) {
      host_.log(HSATOOL_LOG_ERROR, line);
    } else {
      rigel::without_file_signals([&] {
        const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                             std::fputc('\n', file_.get()) != EOF && std::fflush(file_.get()) == 0;
        return written ? 0 : -1;
      });
    }
  }
}

void Reporter::report_omitted_counts() {
  for (size_t i = 0; i < rules_.size(); ++i) {
    const uint32_t reports = rules_[i].reports.load(std::memory_order_relaxed);
    if (limit_ != 0 && reports > limit_)
      write(fmt::format("V{}: {} more reports omitted (option limit)", all_rules()[i].number,
                        reports - limit_));
  }
}

}  // namespace validate
