// One entry of a signal's list of waiters: a thread that sleeps, or an asynchronous handler that is armed.
//
// Owned by who waits; linked, unlinked and changed under the signal's wake lock. The signaller that finds a
// thread's condition to hold unlinks its node, posts its parker, and last of all stores `state`: once the
// owner sees kSatisfied or kSignalGone (acquire), nobody will touch the node or the parker again, and it may
// go without taking the lock. A handler's node stays linked, and goes from kArmed to kReady and to the
// dispatcher's queue.
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
    kArmed,       ///< in a list: the next change that satisfies is for this node
    kReady,       ///< handlers only: in a list, but already on its way to the dispatcher
    kSatisfied,   ///< threads only: not in a list; `seen` is the value that satisfied
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

/// The node of an asynchronous handler. Made by the dispatcher, and freed by nobody else: a node that has
/// left its signal still goes through the queue.
struct HandlerNode : WaitNode, ReadyItem {
  ReadyQueue* queue = nullptr;
  /// Whether the handler is to be called when it comes out of the queue, with `seen`.
  bool fires = false;
};

/// Whether values that are not announced to waiters of `signal` are possible: they have to look now and then.
bool needs_polling(const Signal& signal) noexcept;

/// Links an unlinked node and arms it. False, and not linked, if the signal is no longer of `generation`, or
/// that is no living signal's. The caller then has to run asymmetric_fence::heavy() and look at the value.
bool link_waiter(Signal& signal, WaitNode& node, uint32_t generation) noexcept;

/// Takes a thread's node out. True if it was still armed; false if a signaller or destroyer has been quicker
/// (and then it is done with the node).
bool unlink_waiter(Signal& signal, WaitNode& node) noexcept;

/// The dispatcher's, with a node that came out of the queue: whether the handler is to be called, and with
/// what value.
bool take_handler(Signal& signal, HandlerNode& node, int64_t& value) noexcept;

/// The dispatcher's, after a handler has run: arms the node again, and sends it to the queue at once if its
/// condition holds. False if the signal has gone.
bool rearm_handler(Signal& signal, HandlerNode& node) noexcept;

/// Takes a handler's node out, whatever its state. Afterwards nobody but the queue knows it.
void unlink_handler(Signal& signal, HandlerNode& node) noexcept;

/// Takes out every node of a signal that is being destroyed, after its generation has moved on. Threads come
/// back with kSignalGone. A handler whose condition holds, or did when it was sent to the queue, is called
/// one last time; others are dropped.
void release_waiters(Signal& signal) noexcept;

}  // namespace rigel
