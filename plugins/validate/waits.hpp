// Threads that wait for signals, and a watch on those that wait for nothing.
//
// That nobody will change a signal can be known of a program that has stopped altogether: all threads that have
// ever called the API wait in it without an end, as does each handler that the runtime has called, nothing that a
// device has been given can go on, and it has been so for a while.
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

/// The calling thread's number in the system.
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

  /// The calling thread uses the API.
  void note_thread();
  /// A thread of the runtime's calls a handler of the program's, and is one of the program's until `end_handler`.
  /// False if it is one anyway.
  bool begin_handler();
  void end_handler(uint64_t now);
  /// The calling thread waits, until `end`.
  void begin(Wait wait);
  /// Returns the signals that it has waited for.
  std::vector<uint64_t> end();

  /// Looks every so often whether all stands still, and reports each wait once.
  void watch(uint32_t stall_seconds, std::function<bool()> may_progress, std::function<uint64_t()> now,
             std::function<void(const Wait&)> report);
  void stop();

 private:
  void look(uint64_t stall_ns, uint64_t now, const std::function<bool()>& may_progress,
            const std::function<void(const Wait&)>& report);

  uint64_t number_ = 0;  // differs from that of all others of the process
  rigel::Mutex mutex_;
  rigel::Condition stopped_;
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  std::set<uint64_t> threads_ RIGEL_GUARDED_BY(mutex_);
  std::list<Wait> waits_ RIGEL_GUARDED_BY(mutex_);
  uint64_t last_end_ RIGEL_GUARDED_BY(mutex_) =
      0;  // of a thread or a handler: what it has changed may be on its way
  std::thread watcher_;
};

}  // namespace validate
