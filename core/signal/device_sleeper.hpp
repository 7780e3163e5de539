// A thread that sleeps because devices change what it waits for, with nothing else that could end its wait but a post.
//
// A device announces a change by an interrupt, for which somebody has to wait in the driver. Where there are hooks
// (SignalHooks in signal.hpp), one of these threads does that, and is woken with no other thread between; the others
// sleep on their parkers.
//
// On the stack of its thread, from before it is linked to signals until after it has left them.
#pragma once

#include <pthread.h>

#include <atomic>

#include "core/signal/parker.hpp"

namespace rigel {

struct DeviceSleeper {
  Parker& parker;
  const pthread_t thread = pthread_self();
  // The hooks' own.
  std::atomic<bool> leads = false;  ///< it is this thread that waits in the driver
  DeviceSleeper* next = nullptr;
  DeviceSleeper* previous = nullptr;
};

}  // namespace rigel
