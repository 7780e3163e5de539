// The events of a process, with amdkfd's semantics of CREATE_EVENT and WAIT_EVENTS.
//
//  - set: activates all current waiters and removes them from the event's list. An auto-reset event stays
//    signalled only if it had no waiter. A wait for all may go on for other events; the next set then goes to
//    other waiters.
//  - wait: takes an event that is signalled on entry at once, and resets it if it is auto-reset.
//  - ages: each set increments the event's age. A waiter that passes the age it last saw does not sleep if it
//    missed a set. Without ages, two waiters on one auto-reset event can lose a wake-up. This is a flaw of
//    the interface, and is kept unless Latecomers::kHear is chosen.
//  - event page: one 64-bit slot per signal event, all ones while nothing happened. An engine stores to the
//    slot and then interrupts; the interrupt searches the changed slots.
//
// Threads: all functions from any thread. wait() sleeps without a lock, and the program's signal handlers may
// run there (driver_call.hpp). They may use events, fork, or leave by siglongjmp. State of a wait that other
// threads use is therefore not on the stack. The page's slots are shared with engines and only accessed
// atomically.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/smi_events.hpp"

namespace rigel::vgpu {

/// Treatment of a thread that waits without an age for an auto-reset event, but too late: the event was set
/// while the thread was about to wait, and another waiter took the set. kSleep is the driver's behaviour: the
/// thread sleeps. kHear ends the wait once, as if the thread had passed an age. ROCr 5.2.3 needs kHear on a
/// busy host: hsa_queue_destroy waits for an event that ROCr's thread of asynchronous handlers sets and also
/// waits for. If hsa_queue_destroy is delayed between its last check of the signal and the ioctl, that thread
/// takes its own set, and both threads sleep for ever.
enum class Latecomers : uint8_t { kSleep, kHear };

class Events {
 public:
  explicit Events(Latecomers latecomers = Latecomers::kSleep) : latecomers_(latecomers) {}
  ~Events() { interrupt_all(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Uses `page` for the slots. EINVAL: a page exists already, or `page` is too small for all slots.
  Errno set_page(std::shared_ptr<MemoryObject> page);
  /// Returns the page for an mmap of `bytes`. From then on, the program's events may use that part of it;
  /// before the mmap they use as much as the oldest programs map. EINVAL: no event has created the page yet,
  /// it is the program's memory, or it is smaller than `bytes`.
  ErrnoOr<std::shared_ptr<MemoryObject>> page_for_mmap(uint64_t bytes);

  struct Created {
    uint32_t id = 0;
    uint32_t slot = 0;
  };
  ErrnoOr<Created> create(uint32_t type, bool auto_reset);
  Errno destroy(uint32_t id);
  /// SET_EVENT and RESET_EVENT. EINVAL: not a signal event; debug events are set by the GPU.
  Errno set(uint32_t id);
  Errno reset(uint32_t id);

  /// WAIT_EVENTS. Updates `events` in place; appends the indices of the updated entries to `updated` if it is
  /// not null. `result` is a KFD_WAIT_ value. EINVAL: an event does not exist, or was destroyed after the
  /// condition was met. EIO: an event was destroyed earlier. EBADF: the process is closing. Throws
  /// std::bad_alloc. The time is linear in the number of entries, also if one event occurs in many of them.
  Errno wait(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms, uint32_t& result,
             std::vector<uint32_t>* updated = nullptr);

  /// An interrupt with `context_id`, whose low `valid_bits` bits are valid.
  void interrupt(uint32_t context_id, unsigned valid_bits) noexcept;
  /// A page fault: sets every memory event. Returns false if there is none.
  bool memory_fault(const kfd_memory_exception& fault) noexcept;
  /// An error that stopped hardware: sets every hardware-exception event. Returns false if there is none.
  bool hw_exception(const kfd_hw_exception& exception) noexcept;
  /// Sets an event of any kind by id (queue errors of RUNTIME_ENABLE).
  void signal(uint32_t id) noexcept;

  SmiEvents& smi() { return smi_; }

  /// Ends all waits with EBADF because the process is closing.
  void interrupt_all() noexcept;

 private:
  using Thread = const void*;  // identifies a thread
  using Clock = std::chrono::steady_clock;

  SmiEvents smi_;
  struct Wait;
  struct Waiter;
  struct Event {
    uint32_t type = 0;
    bool auto_reset = false;
    bool signalled = false;
    uint64_t age = 1;
    bool destroyed = false;
    std::vector<Waiter*> waiters;  // those not activated yet
    std::vector<Thread> informed;  // threads that know of the last set; used only with Latecomers::kHear
    kfd_memory_exception memory{};
    kfd_hw_exception hw{};
  };
  // One event of one wait() call.
  struct Waiter {
    Wait* wait = nullptr;
    std::shared_ptr<Event> event;
    Thread thread = nullptr;
    bool activated = false;
    bool listed = false;  // among the event's waiters
    bool has_age = false;
  };

  Errno wait_once(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms,
                  Clock::time_point deadline, uint32_t& result, std::vector<uint32_t>* updated);
  void end_waits_of_thread(Thread thread) RIGEL_REQUIRES(mutex_);
  void stop_waiting(Waiter& waiter);
  bool missed_last_set(const Event& event, Thread thread) const;
  void reserve_informed(Event& event) const;
  void note_informed(Event& event, Thread thread) const noexcept;  // needs reserve_informed()
  static bool is_signal(uint32_t type) { return type == KFD_EVENT_SIGNAL || type == KFD_EVENT_DEBUG_EVENT; }
  std::atomic<uint64_t>* slot(uint32_t id) const RIGEL_REQUIRES(mutex_);
  Errno create_page() RIGEL_REQUIRES(mutex_);
  void set_event(Event& event) noexcept RIGEL_REQUIRES(mutex_);
  void interrupt_slot(uint32_t id, Event& event) RIGEL_REQUIRES(mutex_);

  const Latecomers latecomers_;
  Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Event>> events_ RIGEL_GUARDED_BY(mutex_);
  uint32_t next_signal_ RIGEL_GUARDED_BY(mutex_) = 1;          // all lower ids are in use
  uint32_t next_other_ RIGEL_GUARDED_BY(mutex_) = 0x40000000;  // all lower ids are in use
  std::shared_ptr<MemoryObject> page_ RIGEL_GUARDED_BY(mutex_);
  uint32_t usable_slots_ RIGEL_GUARDED_BY(mutex_) = 0;  // number of slots that events may use
  bool page_from_program_ RIGEL_GUARDED_BY(mutex_) = false;
  bool closing_ RIGEL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Wait>> waits_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
