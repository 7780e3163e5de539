// The *duty* of waiting in the driver until a device announces a changed signal. One thread at a time has it.
//
// The leader is a thread that would sleep anyway. A thread that is about to sleep without a timeout takes the
// duty if it is free: the interrupt then wakes this thread directly. Each time the leader returns from the
// driver, it notifies the waiters of all changed signals (KfdEvents::Callbacks::signalled), and it returns to
// the driver until its wait is over. The other threads, the followers, sleep on their parkers. When the
// leader leaves, it wakes one of them to take over the duty. If only handlers and sleepers with a timeout
// remain, which cannot lead (the driver counts time in milliseconds), the thread of KfdEvents takes the duty.
// If there are no waiters, no thread has it, and interrupts wake no thread.
//
// An interrupt is therefore always taken by exactly one thread, which then checks every signal that has
// waiters. The driver keeps an interrupt that finds no thread for the next one. signal.hpp proves that none
// is lost.
//
// *Threads:* any thread, unless stated otherwise. Callers hold no lock of signals. The duty's lock is
// acquired before that of DeviceSignals.
// *Lifetime:* the state lives until the process ends, because threads may sleep through the end of a runtime
// and the start of the next.
#pragma once

#include "core/signal/device_sleeper.hpp"

namespace rigel {

class KfdEvents;

namespace event_duty {

/// Switches all sleeping and future threads to `events`. Only one KfdEvents can be active.
void begin(KfdEvents& events) noexcept;
/// Returns when no thread waits in the driver. Sleeping threads stay asleep; devices do not wake them.
void end() noexcept;

bool is_held_by_events_thread() noexcept;
/// Called by the thread of KfdEvents after it has notified waiters: keeps the duty or hands it over.
void events_thread_has_notified() noexcept;

// The functions of SignalHooks.
void watch() noexcept;
void sleep(DeviceSleeper& sleeper) noexcept;
void awake(DeviceSleeper& sleeper) noexcept;
void wake_in_driver() noexcept;

/// In a forked child, while it has one thread.
void reset_after_fork() noexcept;

}  // namespace event_duty
}  // namespace rigel
