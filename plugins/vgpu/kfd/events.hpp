// The events of a process: what CREATE_EVENT makes and WAIT_EVENTS waits for, with the driver's semantics.
//
//  - set: an auto-reset event stays signalled only if nobody waits; every waiter of the moment is activated,
//    and waits for this event no more: a wait for all may go on for others, and the next set is somebody
//    else's.
//  - wait: an event that is signalled on entry is taken at once (and reset if auto-reset).
//  - ages: each set makes an event older; a waiter that brings the age it last saw does not sleep if it
//    missed one. Without ages, two waiters on one auto-reset event can lose a wake-up: that is the
//    interface's fault, and is kept, unless Latecomers says otherwise.
//  - the event page: one 64-bit slot for each signal event, all ones while nothing happened. A processor
//    stores to the slot and then interrupts; the interrupt looks for slots that changed.
//
// Threads: all functions from any thread. wait() sleeps without holding anything, and the program's handlers of
// signals may run there (driver_call.hpp): they may use events, fork, and never come back. What others know of a wait
// therefore does not lie on the stack. The page's slots are shared with processors and are only accessed atomically.
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

/// What becomes of a thread that waits, without an age, for an auto-reset event that has been set while it
/// was on its way, and whose set another waiter has had. kSleep is what the driver does. kHear ends its wait
/// once, as if it had brought an age. ROCr 5.2.3 needs that on a machine that is busy: hsa_queue_destroy
/// waits for an event that the thread of its asynchronous handlers sets, and waits for as well. Where
/// hsa_queue_destroy is held up between its last look at the signal and the ioctl, that thread takes its own
/// set, and both sleep for ever.
enum class Latecomers : uint8_t { kSleep, kHear };

class Events {
 public:
  explicit Events(Latecomers latecomers = Latecomers::kSleep) : latecomers_(latecomers) {}
  ~Events() { interrupt_all(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Uses `page` for the slots. EINVAL if there is one already, or it has not room for all slots.
  Errno set_page(std::shared_ptr<MemoryObject> page);
  /// The page for an mmap of `bytes`, which is also how much of it the program's events may use from then on:
  /// before, they use what the oldest programs map. EINVAL: no event has made it yet, it is made of the
  /// program's memory, or it is smaller than that.
  ErrnoOr<std::shared_ptr<MemoryObject>> page_for_mmap(uint64_t bytes);

  struct Created {
    uint32_t id = 0;
    uint32_t slot = 0;
  };
  ErrnoOr<Created> create(uint32_t type, bool auto_reset);
  Errno destroy(uint32_t id);
  /// SET_EVENT and RESET_EVENT: signal events only; those of debuggers are the GPU's to set.
  Errno set(uint32_t id);
  Errno reset(uint32_t id);

  /// WAIT_EVENTS. `events` is updated in place; `told`, if given, gets the places of those that were.
  /// `result` is a KFD_WAIT_ value. EINVAL: there is no such event, or there was one, and it was destroyed
  /// after what was waited for had come. EIO: it was destroyed before. EBADF: the process is going away.
  /// Throws std::bad_alloc. Takes time in proportion to the entries, however often one event is among them.
  Errno wait(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms, uint32_t& result,
             std::vector<uint32_t>* told = nullptr);

  /// An interrupt with `context_id`, of which `valid_bits` low bits count.
  void interrupt(uint32_t context_id, unsigned valid_bits) noexcept;
  /// A page fault: every memory event hears of it. False if there is none.
  bool memory_fault(const kfd_memory_exception& fault) noexcept;
  /// An error that stopped hardware: every hardware-exception event hears of it.
  bool hw_exception(const kfd_hw_exception& exception) noexcept;
  /// Sets an event of any kind by id (queue errors of RUNTIME_ENABLE).
  void signal(uint32_t id) noexcept;

  SmiEvents& smi() { return smi_; }

  /// Ends all waits with EINTR-like results: the process is going away.
  void interrupt_all() noexcept;

 private:
  using Thread = const void*;  // what tells threads apart
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
    std::vector<Waiter*> waiters;  // that are not activated
    std::vector<Thread> heard;     // who knows of the last set; kept only where latecomers hear
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
                  Clock::time_point deadline, uint32_t& result, std::vector<uint32_t>* told);
  void end_waits_of(Thread thread) RIGEL_REQUIRES(mutex_);
  void stop_waiting(Waiter& waiter);
  bool hears_late(const Event& event, Thread thread) const;
  void make_room(Event& event) const;
  void note_heard(Event& event, Thread thread) const noexcept;  // there is room
  static bool is_signal(uint32_t type) { return type == KFD_EVENT_SIGNAL || type == KFD_EVENT_DEBUG_EVENT; }
  std::atomic<uint64_t>* slot(uint32_t id) const RIGEL_REQUIRES(mutex_);
  Errno make_page() RIGEL_REQUIRES(mutex_);
  void set_locked(Event& event) noexcept RIGEL_REQUIRES(mutex_);
  void interrupt_slot(uint32_t id, Event& event) RIGEL_REQUIRES(mutex_);

  const Latecomers latecomers_;
  Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Event>> events_ RIGEL_GUARDED_BY(mutex_);
  uint32_t next_signal_ RIGEL_GUARDED_BY(mutex_) = 1;          // no lower one is free
  uint32_t next_other_ RIGEL_GUARDED_BY(mutex_) = 0x40000000;  // no lower one is free
  std::shared_ptr<MemoryObject> page_ RIGEL_GUARDED_BY(mutex_);
  uint32_t slots_ RIGEL_GUARDED_BY(mutex_) = 0;  // that events may have
  bool page_from_program_ RIGEL_GUARDED_BY(mutex_) = false;
  bool closing_ RIGEL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Wait>> waits_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
