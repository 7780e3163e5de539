// Threads that wait for signals, and a watchdog that detects waits that can never end.
//
// A wait is endless if the whole program is stalled for some time. It is stalled if every thread that ever
// called the API and every running handler wait without a timeout, and no device has work that can progress.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"

namespace validate {

/// Returns the calling thread's ID in the kernel (gettid).
uint64_t thread_number();

class Waits {
 public:
  struct Wait {
    std::string call;
    std::vector<uint64_t> signals;
    uint64_t thread = 0;
    uint64_t since = 0;  ///< ns
    bool endless = false;
    bool reported = false;
  };

  Waits();
  ~Waits() { stop(); }

  /// Registers the calling thread as a user of the API.
  void add_thread();
  /// Registers a runtime thread that calls a handler of the program. Returns false if it is registered.
  bool begin_handler();
  void end_handler(uint64_t now);
  /// Registers a wait of the calling thread, until `end`.
  void begin(Wait wait);
  /// Returns the signals of the wait.
  std::vector<uint64_t> end();

  /// Starts a thread that periodically checks for a stall, and reports each endless wait once.
  void watch(uint32_t stall_seconds, std::function<bool()> may_progress, std::function<uint64_t()> now,
             std::function<void(const Wait&)> report);
  void stop();

 private:
  void check_stall(uint64_t stall_ns, uint64_t now, const std::function<bool()>& may_progress,
                   const std::function<void(const Wait&)>& report);

  uint64_t number_ = 0;  // unique in the process
  rigel::Mutex mutex_;
  rigel::Condition stopped_;
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  std::set<uint64_t> threads_ RIGEL_GUARDED_BY(mutex_);
  std::list<Wait> waits_ RIGEL_GUARDED_BY(mutex_);
  // Time when a thread or a handler last ended: its changes may not have taken effect yet.
  uint64_t last_end_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::thread watcher_;
};

}  // namespace validate
