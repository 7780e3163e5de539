// Records events of the application's threads in one ring per thread.
//
// A session is the time between load and unload. A record without room is lost and counted. If the start of a
// call was recorded, its end always has room.
//
// *Threads:* enter, exit, enqueued, done, mark: any thread, without locks; a thread's first record may
// allocate. start, stop: one thread at a time. rings, sleep: the writer.
// *Lifetime:* the recorder is never freed, because a thread may be in a callback of an ended session. Rings
// are never freed: the writer empties the ring of an ended thread, and another thread reuses it. A forked
// child creates a new recorder, because the threads that own rings do not exist in it.
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

/// A ring and the state of its thread.
struct ThreadRing {
  ThreadRing(Recorder& its_owner, size_t words) : owner(its_owner), ring(words) {}

  enum State : uint32_t { kOwned, kLeft, kFree };

  Recorder& owner;
  Ring ring;
  std::atomic<uint32_t> state{kOwned};  ///< kLeft: thread ended; kFree: and all records read
  std::atomic<uint32_t> tid{0};
  std::atomic<bool> has_activities{false};
  std::atomic<uint64_t> lost{0};  ///< number of lost records
  ThreadRing* next = nullptr;     ///< link of the recorder's list

  // Used by the owning thread.
  uint64_t last_time = 0;
  uint32_t open_calls = 0;

  // Used by the writer.
  uint64_t reported_lost = 0;
};

class Recorder {
 public:
  explicit Recorder(std::vector<FunctionInfo> functions);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Starts a session. Records calls of the functions for which `shown` is true. `ring_words` is the size of
  /// new rings. Throws std::bad_alloc.
  void start(const hsatool_host_t* host, const std::vector<bool>& shown, size_t ring_words);
  /// Ends it: records that begin afterwards are not taken.
  void stop() noexcept;

  void enter(hsatool_call_t& call) noexcept;
  void exit(hsatool_call_t& call) noexcept;
  void enqueued(uint64_t queue_id, uint64_t index, const void* packet) noexcept;
  void done(const hsatool_activity_t& activity) noexcept;
  void mark(MarkerOperation operation, const char* text, uint64_t range) noexcept;

  const std::vector<FunctionInfo>& functions() const { return functions_; }
  bool is_shown(size_t function) const noexcept { return shown_[function].load(std::memory_order_relaxed); }
  KernelNames& kernels() { return kernels_; }
  const hsatool_host_t& host() const noexcept { return *host_.load(std::memory_order_relaxed); }

  /// The head of the list of rings.
  ThreadRing* rings() const noexcept { return rings_.load(std::memory_order_acquire); }
  /// Makes the writer sleep until a ring fills up, wake() is called, or the time is over.
  void sleep(uint32_t milliseconds) noexcept;
  void wake() noexcept;

 private:
  ThreadRing* ring() noexcept;
  ThreadRing* attach() noexcept;
  ThreadRing* find_ring();
  uint64_t time(ThreadRing& thread_ring) const noexcept;
  uint64_t* begin_record(ThreadRing& thread_ring, size_t words, size_t reserved_words) noexcept;
  void end_record(ThreadRing& thread_ring, size_t words) noexcept;
  void record_kernel_names(hsa_executable_t executable) noexcept;

  const std::vector<FunctionInfo> functions_;
  const std::unique_ptr<std::atomic<bool>[]> shown_;  // by function index
  std::atomic<const hsatool_host_t*> host_{nullptr};
  size_t ring_words_ = 0;
  std::atomic<uint32_t> session_{0};  // 0: no session
  std::atomic<ThreadRing*> rings_{nullptr};
  std::atomic<uint32_t> woken_{0};
  KernelNames kernels_;
};

}  // namespace trace
