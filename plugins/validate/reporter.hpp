// Says which rules a program breaks: in the log or a file, to a function of the program, and by ending the process.
//
// Any function, any thread.
#pragma once

#include <hsa_plugin/hsa_validate.h>
#include <hsa_plugin/hsa_tool.hpp>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/options.hpp"
#include "plugins/validate/rules.hpp"

namespace validate {

class Reporter {
 public:
  /// Throws a std::runtime_error that says what is wrong with a file or a callback.
  Reporter(hsatool::Host host, const Options& options);

  bool applies(Rule rule) const { return rules_[static_cast<size_t>(rule)].applies; }

  /// A rule is broken. `call` is the function of the API, or what else the program has done; `text` names the
  /// packet and the objects, and may have several lines.
  void report(Rule rule, std::string_view call, std::string_view text);

  /// At the end: what has been counted only.
  void say_what_was_left_out();

 private:
  struct Counted {
    bool applies = false;
    std::atomic<uint32_t> reports{0};
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void write(std::string_view text);

  const hsatool::Host host_;
  const uint32_t limit_;
  const bool abort_;
  hsa_validate_callback_t callback_ = nullptr;
  std::vector<Counted> rules_;
  rigel::Mutex mutex_;  // of what is written
  std::unique_ptr<std::FILE, Close> file_ RIGEL_PT_GUARDED_BY(mutex_);
};

}  // namespace validate
