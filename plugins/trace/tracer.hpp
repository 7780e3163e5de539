// A trace from its beginning to its end: the recorder that threads write to, the thread that empties it, the
// file, and the table at the end. One of each process, and never freed: a thread may be late.
//
// start and stop: any thread, one after another. The callbacks of the ABI go to `recorder`.
#pragma once

#include <sys/types.h>
#include <hsa_plugin/hsa_tool.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "api/support/mutex.hpp"
#include "plugins/trace/agents.hpp"
#include "plugins/trace/options.hpp"
#include "plugins/trace/output_file.hpp"
#include "plugins/trace/recorder.hpp"
#include "plugins/trace/writer.hpp"

namespace trace {

class Tracer {
 public:
  /// That of the calling process, or null where `start_here` has not been called.
  static Tracer* of_this_process() noexcept;
  /// Begins a trace in this process. Throws what says why not.
  static Tracer& start_here(const hsatool::Host& host);

  /// Ends it: what has been recorded by now is in the file. Nothing if it has ended.
  void stop() noexcept;

  bool wants(const hsatool_function_t& function) const {
    return recorder_.is_shown(function.index) ||
           recorder_.functions()[function.index].role == FunctionRole::kFreezes;
  }
  bool wants_packets_of(hsa_agent_t agent) const { return options_.packets && agents_.is_wanted(agent); }
  uint32_t activities() const;
  Recorder& recorder() noexcept { return recorder_; }

 private:
  explicit Tracer(const hsatool::Host& host);
  void start(const hsatool::Host& host);
  void warn_of_unused_patterns(const hsatool::Host& host) const;
  void write_until_stopped() noexcept;
  void write_the_rest();
  void flush() noexcept;
  void summarise();
  /// What the step throws is an error in the log; then false.
  template <class Step>
  bool attempt(Step&& step) noexcept;
  void complain(std::string_view what) noexcept;

  const pid_t process_;
  Recorder recorder_;
  rigel::Mutex mutex_;
  // What follows is changed by start and stop only, while there is no session and no thread.
  bool is_started_ = false;
  uint32_t sessions_ = 0;
  Options options_;
  Agents agents_;
  std::string path_;
  std::string summary_path_;  // of a table that an earlier session has written
  OutputFile file_;
  std::string out_;
  bool file_failed_ = false;    // nothing more is written to it, and all is counted
  bool writer_failed_ = false;  // for want of memory
  std::unique_ptr<Writer> writer_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
};

}  // namespace trace
