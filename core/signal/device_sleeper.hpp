// A thread that sleeps on signals that devices change, without a timeout: only a post ends its wait.
//
// A device announces a change by an interrupt, for which a thread must wait in the driver. With hooks
// (SignalHooks in signal.hpp), one of these threads does so and is woken directly; the others sleep on their
// parkers.
//
// *Lifetime:* on the stack of its thread, from before it is linked to signals until after it is unlinked.
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
