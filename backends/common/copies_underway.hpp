// Copies that a queue has received and may not have completed. They determine which signals will change, and
// which signals become negative if the queue fails.
//
// Positions are indices in the queue. The owner reports the queue's read index.
//
// A copy engine has completed all copies that it has read. It also announces each completion before it
// changes the signal. If a program sees the change and stores to the signal again, the completed copy is
// therefore not expected to change the new value. A processor has only started the kernels that it has read.
// The latest copies of a queue for kernels are therefore kept, and only unread ones are certain to complete
// later.
//
// *Threads:* not thread-safe; guarded by the owner's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa_backend/hsa_backend.hpp>

namespace rigel::gfx {

/// Returns the value of a signal, with acquire.
int64_t signal_value(uint64_t handle);

/// Returns the signal's generation, which distinguishes it from a later signal at the same address.
inline uint32_t signal_generation(uint64_t handle) {
  return std::atomic_ref(reinterpret_cast<amd_signal_t*>(handle)->reserved3[0])
      .load(std::memory_order_relaxed);
}

/// State of a completion signal before its copy is submitted. After the submission, the copy may complete and
/// the signal be recycled at any time.
struct CompletionBefore {
  uint64_t signal = 0;
  uint32_t generation = 0;
  bool last = false;   ///< its value is 1: only one operation is left to decrement it
  uint64_t stamp = 0;  ///< end time of the previous operation, by the stamping clock

  static CompletionBefore of(uint64_t signal);
};

class CopiesUnderway {
 public:
  /// Copies are dropped when the queue has read `lag` beyond their end.
  explicit CopiesUnderway(uint64_t lag = 0) : lag_(lag) {}

  /// Reserves memory for the next add(), which then cannot fail after the copy has been submitted.
  void make_room() {
    if (copies_.size() == copies_.capacity()) copies_.reserve(2 * copies_.size() + 64);
  }
  /// Adds a copy that ends at `end` and then decrements a signal. Ends never decrease.
  void add(uint64_t completion, uint64_t end) {
    if (completion != 0) copies_.push_back({{completion, signal_generation(completion)}, end});
  }
  /// Adds a copy of a queue with a lag. `completion` is the signal's state before the copy was submitted.
  void add(const CompletionBefore& completion, uint64_t end) {
    if (completion.signal != 0) copies_.push_back({completion, end});
  }

  /// Sets the queue's read index, and the end of the last copy that is complete or completing.
  void read(uint64_t index, uint64_t completed);
  void read(uint64_t index) { read(index, index); }
  /// Number of copies that are kept. Small if read() is called often.
  size_t size() const { return copies_.size(); }

  /// Number of incomplete copies that will decrement a signal.
  struct Promise {
    int64_t count = 0;
    bool open = false;  ///< one of them is after an open wait
  };
  Promise promised(uint64_t signal) const;

  /// The queue's next copy starts at `begin` and waits until `end` for signals that no known copy will
  /// satisfy.
  void open_wait(uint64_t begin, uint64_t end, std::vector<uint64_t> signals) noexcept;
  /// Whether the queue has not passed the open wait.
  bool open() const { return open_end_ > read_; }
  /// Whether the queue is at the open wait and one of its signals is negative: it will never pass it.
  bool wait_is_lost() const;

  /// Fails all remaining copies: sets their signals to the negative of `status`. With `lag`, only signals
  /// that are positive and were not stamped since. Destroyed or recycled signals are unchanged.
  void fail(const hsabe_host_t* host, hsa_status_t status);

 private:
  struct Copy {
    CompletionBefore completion;
    uint64_t end;
  };

  const uint64_t lag_;
  std::vector<Copy> copies_;  // oldest first
  uint64_t read_ = 0, completed_ = 0;
  uint64_t open_begin_ = 0, open_end_ = 0;
  std::vector<uint64_t> open_signals_;
};

}  // namespace rigel::gfx
