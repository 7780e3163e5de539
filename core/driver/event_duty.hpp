// Who waits in the driver until a device says that it has changed a signal: one thread at a time, which has the duty.
//
// The leader is a thread that would sleep anyway. A thread that is about to sleep for ever, and finds that nobody has
// the duty, takes it: the interrupt wakes this thread itself, with no other one between. Each time it returns from the
// driver it tells everybody whose signals have changed (KfdEvents::Callbacks::signalled), and as long as its own wait
// is not over it goes back. The others follow: they sleep on their parkers. When the leader leaves, it calls one of
// them to take the duty over. Where only handlers and sleepers with a limit of time are left, which cannot lead (the
// driver counts time in milliseconds), the duty goes to the thread of KfdEvents; where nobody is left, nobody has it,
// and devices wake nobody.
//
// So an interrupt is always taken by a thread that then looks at every signal that is waited for, and never by two; one
// that comes while nobody is in the driver is kept there for who comes next. Why none is lost: signal.hpp.
//
// What is here lives as long as the process, because threads may sleep through the end of a runtime, and the beginning
// of another. Any thread, except where said. No lock of signals is held by callers; the duty's own is taken before that
// of DeviceSignals.
#pragma once

#include "core/signal/device_sleeper.hpp"

namespace rigel {

class KfdEvents;

namespace event_duty {

/// From here on threads wait for `events`: those that sleep already as well. One at a time.
void begin(KfdEvents& events) noexcept;
/// Nobody waits for the events any more on return. Who slept there sleeps on, where no device wakes it.
void end() noexcept;

/// Whether the thread of KfdEvents has the duty.
bool is_of_thread() noexcept;
/// The thread of KfdEvents has told everybody what the driver told it: it keeps the duty, or hands it over.
void thread_has_looked() noexcept;

// What SignalHooks asks for.
void watch() noexcept;
void sleep(DeviceSleeper& sleeper) noexcept;
void awake(DeviceSleeper& sleeper) noexcept;
void wake_in_driver() noexcept;

/// In a forked child, while it has one thread.
void reset_after_fork() noexcept;

}  // namespace event_duty
}  // namespace rigel
