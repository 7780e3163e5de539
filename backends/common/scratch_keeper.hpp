// Manages scratch memory of the queues of a device: allocation, a limit for each queue, and reclaiming.
//
// A queue keeps scratch for every wave slot, up to a limit, so that its kernels need not request it again.
// Another queue's request has priority: memory is reclaimed from idle queues, and a queue waits if all
// scratch is in use. While one waits, a thread checks once a millisecond.
//
// *Threads:* any thread. No lock is held while a queue is asked to release scratch, because this is reported
// to tools, which may allocate memory or set the limit. Such calls use the available memory; nothing is
// reclaimed for them.
// *Lifetime:* destroyed by close, after the queues.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <thread>

#include <hsa_backend/hsa_backend.h>

#include "api/support/mutex.hpp"
#include "backends/common/scratch_need.hpp"

namespace rigel::gfx {

class DispatchQueue;
class Block;
class Device;

/// Whether this thread runs a tool's callback for scratch events.
inline thread_local bool in_scratch_callback = false;

constexpr uint64_t kMaxScratchLimit = uint64_t{4} << 30;        ///< size of the aperture
constexpr uint64_t kDefaultScratchLimit = uint64_t{140} << 20;  ///< as in ROCr

class ScratchKeeper {
 public:
  explicit ScratchKeeper(Device& device);
  ~ScratchKeeper();
  ScratchKeeper(const ScratchKeeper&) = delete;
  ScratchKeeper& operator=(const ScratchKeeper&) = delete;

  void add(DispatchQueue& queue);
  /// Stops using the queue; its scratch still counts as reclaimable.
  void leave(DispatchQueue& queue);
  /// Forgets the queue after its scratch was returned.
  void remove(DispatchQueue& queue);

  /// Allocates memory for `waves` waves; if there is none to reclaim either, for fewer, but for at least
  /// `least`. Returns the number of waves, or 0.
  uint32_t allocate(const DispatchQueue& asking, const ScratchNeed& need, uint32_t waves, uint32_t least,
                    Block& out);
  /// Reclaims scratch of idle queues with more than `more_than` bytes. Returns whether there was any.
  bool reclaim(const DispatchQueue* except = nullptr, uint64_t more_than = 0);
  /// Whether another queue has scratch that it will release eventually.
  bool others_hold(const DispatchQueue& asking) const;
  /// Calls queue.retry_scratch() until it returns true or the queue leaves (or has left). Returns false
  /// without a thread.
  bool retry_later(DispatchQueue& queue);

  /// Bytes that one queue may keep.
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  /// Returns INVALID_ARGUMENT above the maximum. Returns when no queue has more, except queues that the
  /// driver does not remove from the device; at once in a tool's callback for scratch events.
  hsabe_status_t set_limit(uint64_t bytes);

 private:
  struct Entry {
    DispatchQueue* queue;
    uint32_t users = 0;    // threads that use it without the lock: it must stay
    bool waits = false;    // whether it waits for scratch: the thread retries
    bool leaving = false;  // no further use may start
  };
  Entry* find(const DispatchQueue& queue) RIGEL_REQUIRES(mutex_);
  bool holds(const DispatchQueue* except, uint64_t more_than) const RIGEL_REQUIRES(mutex_);
  void work();

  Device& device_;
  std::atomic<uint64_t> limit_;

  mutable Mutex mutex_;
  Condition changed_;
  std::list<Entry> queues_ RIGEL_GUARDED_BY(mutex_);
  bool ending_ RIGEL_GUARDED_BY(mutex_) = false;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);  // since the first wait
};

}  // namespace rigel::gfx
