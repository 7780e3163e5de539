// An entry of a signal's list of waiters: a sleeping thread or an armed asynchronous handler.
//
// *Threads:* linked, unlinked and changed under the signal's wake lock.
// *Lifetime:* owned by the waiter. The signaller that finds a thread's condition satisfied unlinks the node,
// posts its parker, and stores `state` last. When the owner reads kSatisfied or kSignalGone (acquire), no
// other thread accesses the node or the parker any more, and the owner may leave without the lock. A
// handler's node stays linked: its state changes from kArmed to kReady, and it enters the dispatcher's queue.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/signal/parker.hpp"
#include "core/signal/ready_queue.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

struct WaitNode {
  enum class Owner : uint8_t { kThread, kHandler };
  enum class State : uint8_t {
    kUnlinked,    ///< not in a list
    kArmed,       ///< in a list; the next satisfying change is delivered to this node
    kReady,       ///< handlers only: in a list and in the dispatcher's queue
    kSatisfied,   ///< threads only: not in a list; `seen` is the satisfying value
    kSignalGone,  ///< not in a list: the signal was destroyed
  };

  WaitNode* next = nullptr;
  WaitNode* previous = nullptr;
  Parker* parker = nullptr;  ///< threads only
  int64_t compare = 0;
  int64_t seen = 0;
  SignalCondition condition = HSA_SIGNAL_CONDITION_EQ;
  Owner owner = Owner::kThread;
  std::atomic<State> state{State::kUnlinked};
};

/// The node of an asynchronous handler. Created and freed by the dispatcher only: an unlinked node may still
/// be in the queue.
struct HandlerNode : WaitNode, ReadyItem {
  ReadyQueue* queue = nullptr;
  /// Whether the handler is called with `seen` when the node leaves the queue.
  bool fires = false;
};

/// Whether the value of `signal` can change without a notification, so that waiters must poll.
bool needs_polling(const Signal& signal) noexcept;

/// Links and arms an unlinked node. The caller must then run asymmetric_fence::heavy() and read the value.
/// Returns false without linking if the signal was destroyed or recycled (its generation differs from
/// `generation`, or is even).
bool link_waiter(Signal& signal, WaitNode& node, uint32_t generation) noexcept;

/// Unlinks a thread's node. Returns true if it was armed; false if a signaller or destroyer was faster and no
/// longer uses the node.
bool unlink_waiter(Signal& signal, WaitNode& node) noexcept;

/// Called by the dispatcher with a node from the queue. Returns whether the handler must be called, and its
/// value.
bool take_handler(Signal& signal, HandlerNode& node, int64_t& value) noexcept;

/// Called by the dispatcher after a handler has run: arms the node, or sends it to the queue at once if its
/// condition holds. Returns false if the signal was destroyed.
bool rearm_handler(Signal& signal, HandlerNode& node) noexcept;

/// Unlinks a handler's node in any state. Afterwards only the queue may refer to it.
void unlink_handler(Signal& signal, HandlerNode& node) noexcept;

/// Unlinks every node of a signal that is being destroyed, after its generation has changed. Threads receive
/// kSignalGone. A handler whose condition holds, or held when it was queued, is called a last time; others
/// are dropped.
void release_waiters(Signal& signal) noexcept;

}  // namespace rigel
