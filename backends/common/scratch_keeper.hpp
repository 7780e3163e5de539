// Scratch memory among the queues of a device: who has some, how much each may keep, and what is done when
// there is not enough.
//
// A queue keeps what serves every wave slot, up to a limit, so that its kernels need not ask again. Another
// queue's need comes before that: memory is taken back from queues that run nothing, and a queue that finds
// all of it in use waits for it. While one waits, a thread looks once in a millisecond.
//
// Any thread. No lock is held while a queue is asked to give something up, as tools are told of it: they may
// allocate memory then, or set the limit, and find what is there; nothing is taken back for that. Ended by close,
// when the queues are gone.
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

/// Whether this thread is in a tool's function that is told of scratch.
inline thread_local bool telling_of_scratch = false;

constexpr uint64_t kScratchLimitMost = uint64_t{4} << 30;       ///< what the aperture has
constexpr uint64_t kScratchLimitAtFirst = uint64_t{140} << 20;  ///< as ROCr's

class ScratchKeeper {
 public:
  explicit ScratchKeeper(Device& device);
  ~ScratchKeeper();
  ScratchKeeper(const ScratchKeeper&) = delete;
  ScratchKeeper& operator=(const ScratchKeeper&) = delete;

  void add(DispatchQueue& queue);
  /// Nothing here asks the queue for anything any more when this returns, but others wait for what it has.
  void leave(DispatchQueue& queue);
  /// And they don't any more: it has given its scratch back.
  void remove(DispatchQueue& queue);

  /// Memory for `waves` waves; else, when there is none to take back either, for fewer, but not for fewer than
  /// `least`. Returns for how many, 0: there is none.
  uint32_t allocate(const DispatchQueue& asking, const ScratchNeed& need, uint32_t waves, uint32_t least,
                    Block& out);
  /// Takes back what idle queues have, those that have more than `more_than` bytes: whether it was anything.
  bool reclaim(const DispatchQueue* except = nullptr, uint64_t more_than = 0);
  /// Whether another queue has some, which it will not need for ever.
  bool others_hold(const DispatchQueue& asking) const;
  /// Calls queue.retry_scratch() until that returns true, or the queue leaves (or has left). False if it can't.
  bool retry_later(DispatchQueue& queue);

  /// Bytes that one queue may keep.
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  /// INVALID_ARGUMENT: more than there can be. Returns when no queue has more, but those that the driver does not
  /// take off the device; at once if a tool asks that is being told of scratch.
  hsabe_status_t set_limit(uint64_t bytes);

 private:
  struct Entry {
    DispatchQueue* queue;
    uint32_t users = 0;    // threads that have it do something, without the lock: it stays
    bool waits = false;    // for scratch: the thread has it try again
    bool leaving = false;  // nobody begins with it any more
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
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);  // from the first wait on
};

}  // namespace rigel::gfx
