// The copies that a queue has been given and may not have done yet. They say which signals will be changed, and
// whom to tell when the queue fails.
//
// Positions are the queue's own indices, and the owner says how far the queue has read. A copy engine has
// done what it has read, and says before each completion that it comes: who sees a signal changed and stores
// to it again is promised nothing by what changed it. A processor begins kernels when it reads them, so of a
// queue of kernels the latest are not forgotten, and only those that it has not read are certain to be on
// their way.
//
// Not safe for threads: its owner's lock guards it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa_backend/hsa_backend.hpp>

namespace rigel::gfx {

/// The value of a signal, with acquire.
int64_t signal_value(uint64_t handle);

/// Tells a signal from one that is made of its memory after it was destroyed.
inline uint32_t signal_life(uint64_t handle) {
  return std::atomic_ref(reinterpret_cast<amd_signal_t*>(handle)->reserved3[0])
      .load(std::memory_order_relaxed);
}

/// What a completion signal is like before its copy is handed over: afterwards the copy may be done, and the
/// signal be somebody else's, at any moment.
struct CompletionBefore {
  uint64_t signal = 0;
  uint32_t life = 0;
  bool last = false;   ///< it stands at 1: whoever decrements it next, nobody else is to
  uint64_t stamp = 0;  ///< when what it completed before ended, by the clock of who stamped it

  static CompletionBefore of(uint64_t signal);
};

class CopiesUnderway {
 public:
  /// Copies are forgotten when the queue has read `lag` further than where they end.
  explicit CopiesUnderway(uint64_t lag = 0) : lag_(lag) {}

  /// Takes what the next add() needs: it then cannot fail, when the copy has been handed over.
  void make_room() {
    if (copies_.size() == copies_.capacity()) copies_.reserve(2 * copies_.size() + 64);
  }
  /// A copy that ends at `end` and then subtracts one from a signal. Ends never decrease.
  void add(uint64_t completion, uint64_t end) {
    if (completion != 0) copies_.push_back({{completion, signal_life(completion)}, end});
  }
  /// The same for a queue with a lag, which stamps what it completes.
  void add(const CompletionBefore& completion, uint64_t end) {
    if (completion.signal != 0) copies_.push_back({completion, end});
  }

  /// How far the queue has read, and where the last copy ends that has been done, or is at this moment.
  void read(uint64_t index, uint64_t completed);
  void read(uint64_t index) { read(index, index); }
  /// How many are not forgotten. To be kept small by telling how far the queue has read.
  size_t size() const { return copies_.size(); }

  /// How many copies, of those that the queue has not done, subtract from a signal.
  struct Promise {
    int64_t count = 0;
    bool open = false;  ///< one of them is behind an open wait
  };
  Promise promised(uint64_t signal) const;

  /// The queue's next copy begins at `begin` and waits, until `end`, for signals that nothing it knows
  /// fulfils.
  void open_wait(uint64_t begin, uint64_t end, std::vector<uint64_t> signals) noexcept;
  /// Whether the queue has not got past that.
  bool open() const { return open_end_ > read_; }
  /// Whether the queue is at it, and one of the signals is negative: it will never get past it.
  bool wait_is_lost() const;

  /// The queue will do no more: every signal of what is not forgotten is set to the negative of `status`.
  /// With `lag`, those that still are positive and were not stamped since. Signals that were destroyed
  /// meanwhile are left alone, also if there are others in their place.
  void fail(const hsabe_host_t* host, hsa_status_t status);

 private:
  struct Copy {
    CompletionBefore completion;
    uint64_t end;
  };

  const uint64_t lag_;
  std::vector<Copy> copies_;  // the oldest first
  uint64_t read_ = 0, completed_ = 0;
  uint64_t open_begin_ = 0, open_end_ = 0;
  std::vector<uint64_t> open_signals_;
};

}  // namespace rigel::gfx
