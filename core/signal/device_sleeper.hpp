// A thread that waits, without a timeout, for signals that devices change. Its wait ends when its parker is
// released.
//
// A device announces a change by an interrupt, which the driver reports to one thread that waits for it. If
// SignalHooks (signal.hpp) are installed, one of the sleepers waits in the driver: it *leads*. The interrupt
// wakes the leader, which then releases the parkers of other threads. All other sleepers sleep on their
// parkers.
//
// *Lifetime:* on the stack of its thread, from before the thread's nodes are linked to signals until after
// they are unlinked.
#pragma once

#include <pthread.h>

#include <atomic>

#include "core/signal/parker.hpp"

namespace rigel {

struct DeviceSleeper {
  Parker& parker;
  const pthread_t thread = pthread_self();
  // Owned by the hooks.
  std::atomic<bool> leads = false;  ///< whether this thread waits in the driver
  DeviceSleeper* next = nullptr;
  DeviceSleeper* previous = nullptr;
};

}  // namespace rigel
