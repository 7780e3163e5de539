// Reports broken rules: to the log or a file, to a callback of the program, and optionally by abort().
//
// *Threads:* any function, any thread.
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
  /// Throws std::runtime_error if the file cannot be opened or the callback is not exported.
  Reporter(hsatool::Host host, const Options& options);

  bool applies(Rule rule) const { return rules_[static_cast<size_t>(rule)].applies; }

  /// Reports a broken rule. `call` is the API function or another action of the program. `text` describes the
  /// packet and the objects, and may have several lines.
  void report(Rule rule, std::string_view call, std::string_view text);

  /// Writes the number of reports beyond the limit. Called once, at the end.
  void report_omitted_counts();

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
  rigel::Mutex mutex_;  // held while a report is written
  std::unique_ptr<std::FILE, Close> file_ RIGEL_PT_GUARDED_BY(mutex_);
};

}  // namespace validate
