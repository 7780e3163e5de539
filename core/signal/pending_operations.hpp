// Operations that wait for dependency signals without a thread, and complete a signal: asynchronous copies
// and prefetches.
//
// *Threads:* any thread starts operations. The handlers of the owner's dispatcher continue them.
// *Memory order:* an operation becomes ready after it has seen writes that precede its dependencies' 0, and
// happens before operations that see its completion.
// *Lifetime:* the owner drops the operations that still wait. It must outlive the others.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

/// Returns the signal of a program's handle; null if the handle is invalid or a doorbell's, which does not
/// count completions.
inline Signal* find_user_signal(hsa_signal_t handle) noexcept {
  Signal* const signal = Signal::from_handle(handle);
  return signal != nullptr && signal->kind() == AMD_SIGNAL_KIND_USER ? signal : nullptr;
}

/// The completion signal of an operation. A signal that is destroyed during the operation may be recycled: it
/// is not changed then.
class Completion {
 public:
  /// `signal` may be null.
  explicit Completion(Signal* signal) noexcept
      : signal_(signal),
        generation_(signal == nullptr ? 0 : signal->generation.load(std::memory_order_relaxed)) {}

  /// Returns the signal, or null if it was destroyed.
  Signal* signal() const noexcept {
    return signal_ != nullptr && signal_->generation.load(std::memory_order_relaxed) == generation_ ? signal_
                                                                                                    : nullptr;
  }
  /// Decrements the signal, or stores the negative status of a failure.
  void complete(Status status) const noexcept {
    Signal* const live = signal();
    if (live == nullptr) return;
    if (status == HSA_STATUS_SUCCESS) {
      live->subtract<std::memory_order_release>(1);
    } else {
      live->store<std::memory_order_release>(-static_cast<int64_t>(status));
    }
  }

 private:
  Signal* const signal_;
  const uint32_t generation_;
};

class PendingOperations;

class PendingOperation : public boost::intrusive::list_base_hook<> {
 public:
  virtual ~PendingOperation() = default;
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

 protected:
  /// `dependencies` are live signals.
  explicit PendingOperation(std::vector<Signal*> dependencies) : dependencies_(std::move(dependencies)) {}

 private:
  friend class PendingOperations;

  /// Called once when every dependency has been 0, or with an error if one is negative or cannot be watched.
  /// The operation owns itself from here on.
  virtual void ready(Status status) noexcept = 0;

  const std::vector<Signal*> dependencies_;
  size_t next_ = 0;  // earlier dependencies have been 0
  PendingOperations* owner_ = nullptr;
  bool waits_ = false;  // whether it is in the owner's list
};

class PendingOperations {
 public:
  PendingOperations() = default;
  ~PendingOperations();
  PendingOperations(const PendingOperations&) = delete;
  PendingOperations& operator=(const PendingOperations&) = delete;

  /// Starts an operation on the calling thread: it may be ready during the call. Returns an error, and drops
  /// the operation, if its first dependency cannot be watched.
  Status start(std::unique_ptr<PendingOperation> operation) noexcept;
  /// Starts an operation on the dispatcher's thread, where it becomes ready.
  Status post(std::unique_ptr<PendingOperation> operation) noexcept;

 private:
  Status advance(PendingOperation& operation) noexcept;
  void finish(PendingOperation& operation, Status status) noexcept;
  // The dispatcher rejects a wait: finishes it, unless the owner ends.
  void fail(PendingOperation& operation, Status status) noexcept;
  void link(PendingOperation& operation) noexcept;
  void unlink(PendingOperation& operation) noexcept;
  static bool on_dependency(hsa_signal_value_t value, void* argument);

  Mutex mutex_;
  boost::intrusive::list<PendingOperation> waiting_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> ends_{false};  // Set before the dispatcher is stopped
  AsyncDispatcher dispatcher_;
};

}  // namespace rigel
