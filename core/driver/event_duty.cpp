#include "core/driver/event_duty.hpp"

#include <pthread.h>

#include <new>

#include "api/support/mutex.hpp"
#include "core/driver/device_signals.hpp"
#include "core/driver/kfd_events.hpp"

namespace rigel::event_duty {
namespace {

enum class Holder : uint8_t {
  kNobody,
  kThread,   // that of KfdEvents
  kSleeper,  // one of the sleeping threads
};

// Constant-initialised, never destroyed.
struct Duty {
  Mutex mutex;
  std::atomic<KfdEvents*> events = nullptr;       // written under the mutex; valid while a sleeper leads
  std::atomic<Holder> holder = Holder::kNobody;   // written under the mutex
  pthread_t leader RIGEL_GUARDED_BY(mutex) = {};  // the thread, if a sleeper leads
  DeviceSleeper* followers RIGEL_GUARDED_BY(mutex) = nullptr;  // newest first: it is likely to stay longest
};
constinit Duty duty;

void insert(DeviceSleeper& sleeper) RIGEL_REQUIRES(duty.mutex) {
  sleeper.previous = nullptr;
  sleeper.next = duty.followers;
  if (sleeper.next != nullptr) sleeper.next->previous = &sleeper;
  duty.followers = &sleeper;
}

void remove(DeviceSleeper& sleeper) RIGEL_REQUIRES(duty.mutex) {
  if (sleeper.next != nullptr) sleeper.next->previous = sleeper.previous;
  (sleeper.previous != nullptr ? sleeper.previous->next : duty.followers) = sleeper.next;
}

void give(Holder holder) RIGEL_REQUIRES(duty.mutex) {
  duty.holder.store(holder);
  duty.holder.notify_all();
}

// Hands the duty to a sleeping thread, to that of KfdEvents if there are other waiters, or to none.
void hand_over() RIGEL_REQUIRES(duty.mutex) {
  KfdEvents* const events = duty.events.load();
  DeviceSleeper* next = events == nullptr ? nullptr : duty.followers;
  while (next != nullptr && next->parker.released()) next = next->next;  // it is about to leave
  if (next != nullptr) {
    remove(*next);
    give(Holder::kSleeper);
    duty.leader = next->thread;
    next->leads.store(true, std::memory_order_release);
    next->parker.call();
  } else if (events != nullptr && DeviceSignals::anyone_waits()) {
    const bool has_it = duty.holder.load() == Holder::kThread;
    give(Holder::kThread);
    if (!has_it) events->interrupt_thread();
  } else {
    give(Holder::kNobody);
  }
}

// Waits in the driver for an event and notifies all waiters. Returns false if waiting is impossible.
bool lead(Parker& parker) {
  KfdEvents* const events = duty.events.load();
  if (events == nullptr) return false;
  if (!parker.enter_driver()) return true;
  // A transport in this process may wait in functions that are cancellation points; a program's wait must not
  // be one.
  int cancelling;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
  const bool waited = events->wait_for_signals();
  pthread_setcancelstate(cancelling, nullptr);
  parker.leave_driver();  // changes that this thread finds itself need no interrupt
  if (waited) events->notify_waiters();
  return waited;
}

}  // namespace

void begin(KfdEvents& events) noexcept {
  const MutexLock lock(duty.mutex);
  duty.events.store(&events);
  hand_over();
}

void end() noexcept {
  {
    const MutexLock lock(duty.mutex);
    KfdEvents* const events = duty.events.exchange(nullptr);
    if (events == nullptr) return;
    if (duty.holder.load() != Holder::kSleeper) return give(Holder::kNobody);
    events->interrupt_leader();
    // A signal handler of the program may end the runtime, for example by exit(), on the leading thread,
    // which cannot wait for itself.
    if (pthread_equal(duty.leader, pthread_self()) != 0) return give(Holder::kNobody);
  }
  duty.holder.wait(Holder::kSleeper);
}

bool is_held_by_events_thread() noexcept {
  return duty.holder.load() == Holder::kThread;
}

void events_thread_has_notified() noexcept {
  const MutexLock lock(duty.mutex);
  if (duty.holder.load() == Holder::kThread) hand_over();
}

void watch() noexcept {
  const MutexLock lock(duty.mutex);
  if (duty.holder.load() == Holder::kNobody) hand_over();
}

void sleep(DeviceSleeper& sleeper) noexcept {
  {
    const MutexLock lock(duty.mutex);
    insert(sleeper);
    if (duty.holder.load() == Holder::kNobody) hand_over();
  }
  while (!sleeper.parker.released()) {
    if (!sleeper.leads.load(std::memory_order_acquire)) {
      sleeper.parker.park(UINT64_MAX);
      continue;
    }
    if (lead(sleeper.parker)) continue;
    const MutexLock lock(duty.mutex);
    sleeper.leads.store(false, std::memory_order_relaxed);
    insert(sleeper);
    give(Holder::kNobody);
  }
}

void awake(DeviceSleeper& sleeper) noexcept {
  const MutexLock lock(duty.mutex);
  if (sleeper.leads.load(std::memory_order_relaxed)) {
    hand_over();
  } else {
    remove(sleeper);
  }
}

void wake_in_driver() noexcept {
  const MutexLock lock(duty.mutex);
  KfdEvents* const events = duty.events.load();
  if (events != nullptr && duty.holder.load() == Holder::kSleeper) events->interrupt_leader();
}

void reset_after_fork() noexcept {
  new (&duty.mutex) Mutex;
  const MutexLock lock(duty.mutex);
  duty.events.store(nullptr);
  duty.holder.store(Holder::kNobody);
  duty.followers = nullptr;  // the threads were the parent's
}

}  // namespace rigel::event_duty
