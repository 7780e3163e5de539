// The side of the tracer that the application's threads are on: what they do becomes records in rings of
// their own.
//
//   * Each thread has a ring, which it gets with its first record. Rings are never freed: one whose thread has
//     ended is emptied by the writer and is then another thread's.
//   * Nothing here takes a lock, but for a thread's first record, which may allocate. A record for which there
//     is no room is lost and counted; the end of a call always has room if its beginning had.
//   * A session is the time between load and unload. A thread that is late, in a callback of a session that is
//     over, finds the recorder alive, as that is never freed; the writer knows its record by the session's
//     number.
//   * After a fork the child has a recorder of its own, as it has none of the threads that own rings.
//
// enter, exit, submit, done, mark: any thread. start, stop: one thread at a time. rings: the writer's.
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/trace/functions.hpp"
#include "plugins/trace/kernel_names.hpp"
#include "plugins/trace/records.hpp"
#include "plugins/trace/ring.hpp"

namespace trace {

class Recorder;

/// A ring and what its thread notes beside it.
struct ThreadRing {
  ThreadRing(Recorder& its_owner, size_t words) : owner(its_owner), ring(words) {}

  enum State : uint32_t { kOwned, kLeft, kFree };

  Recorder& owner;
  Ring ring;
  std::atomic<uint32_t> state{kOwned};  ///< kLeft: the thread has ended; kFree: and the writer is through
  std::atomic<uint32_t> tid{0};
  std::atomic<bool> has_activities{false};
  std::atomic<uint64_t> lost{0};  ///< records, ever
  ThreadRing* next = nullptr;     ///< in the recorder's list

  // Of the thread.
  uint64_t last_time = 0;
  uint32_t open_calls = 0;

  // Of the writer.
  uint64_t told_lost = 0;
};

class Recorder {
 public:
  explicit Recorder(std::vector<FunctionFacts> functions);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Begins a session, in which the calls of those functions are recorded for which `shown` says so.
  /// `ring_words`: of a thread that has none yet. Throws std::bad_alloc.
  void start(const hsatool_host_t* host, const std::vector<bool>& shown, size_t ring_words);
  /// Ends it: records that begin afterwards are not taken.
  void stop() noexcept;

  void enter(hsatool_call_t& call) noexcept;
  void exit(hsatool_call_t& call) noexcept;
  void enqueued(uint64_t queue_id, uint64_t index, const void* packet) noexcept;
  void done(const hsatool_activity_t& activity) noexcept;
  void mark(MarkerOperation operation, const char* text, uint64_t range) noexcept;

  const std::vector<FunctionFacts>& functions() const { return functions_; }
  bool is_shown(size_t function) const noexcept { return shown_[function].load(std::memory_order_relaxed); }
  KernelNames& kernels() { return kernels_; }
  const hsatool_host_t& host() const noexcept { return *host_.load(std::memory_order_relaxed); }

  /// The first of the list.
  ThreadRing* rings() const noexcept { return rings_.load(std::memory_order_acquire); }
  /// For the writer: sleeps until a ring fills up, `wake` is called, or the time is over.
  void sleep(uint32_t milliseconds) noexcept;
  void wake() noexcept;

 private:
  ThreadRing* ring() noexcept;
  ThreadRing* attach() noexcept;
  ThreadRing* find_ring();
  uint64_t time(ThreadRing& mine) const noexcept;
  uint64_t* begin_record(ThreadRing& mine, size_t words, size_t kept) noexcept;
  void end_record(ThreadRing& mine, size_t words) noexcept;
  void note_kernels(hsa_executable_t executable) noexcept;

  const std::vector<FunctionFacts> functions_;
  const std::unique_ptr<std::atomic<bool>[]> shown_;  // by function
  std::atomic<const hsatool_host_t*> host_{nullptr};
  size_t ring_words_ = 0;
  std::atomic<uint32_t> session_{0};  // 0: none
  std::atomic<ThreadRing*> rings_{nullptr};
  std::atomic<uint32_t> woken_{0};
  KernelNames kernels_;
};

}  // namespace trace
