// A trace: the recorder that threads write to, the thread that empties it, the file, and the final table.
//
// *Threads:* start_here and stop: any thread (serialized by a mutex). Callbacks of the ABI use recorder().
// *Lifetime:* one object per process, never freed, because a thread may be in a callback after stop().
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
  /// Returns the tracer of this process, or null if start_here was not called.
  static Tracer* of_this_process() noexcept;
  /// Starts a session in this process. Throws an exception with the reason on failure.
  static Tracer& start_here(const hsatool::Host& host);

  /// Ends the session and writes all records. Does nothing if it has ended.
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
  /// Calls `step`. If it throws, logs the exception as an error and returns false.
  template <class Step>
  bool attempt(Step&& step) noexcept;
  void log_error(std::string_view message) noexcept;

  const pid_t process_;
  Recorder recorder_;
  rigel::Mutex mutex_;
  // These members are modified only by start and stop, while there is no session and no writer thread.
  bool is_started_ = false;
  uint32_t sessions_ = 0;
  Options options_;
  Agents agents_;
  std::string path_;
  std::string summary_path_;  // table file of the previous session
  OutputFile file_;
  std::string out_;
  bool file_failed_ = false;    // writing stopped, counting continues
  bool writer_failed_ = false;  // out of memory
  std::unique_ptr<Writer> writer_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
};

}  // namespace trace
