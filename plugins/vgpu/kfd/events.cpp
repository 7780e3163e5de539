#include "plugins/vgpu/kfd/events.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/bell.hpp"
#include "plugins/vgpu/kfd/driver_call.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kNothingHappened = ~uint64_t{0};
constexpr uint32_t kFirstOther = 0x40000000;
constexpr uint32_t kLastOther = INT32_MAX;
constexpr uint32_t kSlotsUnlessMapped = 256;  // the number that the oldest programs map

}  // namespace

// One call of wait(). Shared, because lists refer to it after its thread may have left.
struct Events::Wait {
  Wait(Thread waiting_thread, uint32_t count) : thread(waiting_thread), waiters(count) {}
  const Thread thread;
  std::vector<Waiter> waiters;
  Alarm sleeper;
  bool ended = false;  // ended by a later wait of the same thread

  void wake() {
    sleeper.wake();
    sleeper.wake_up();  // one wake-up is enough
  }
};

std::atomic<uint64_t>* Events::slot(uint32_t id) const {
  if (page_ == nullptr || id >= KFD_SIGNAL_EVENTS_MAX) return nullptr;
  return reinterpret_cast<std::atomic<uint64_t>*>(page_->host()) + id;
}

Errno Events::set_page(std::shared_ptr<MemoryObject> page) {
  const MutexLock lock(mutex_);
  if (page_ != nullptr || page->bytes() < KFD_EVENT_PAGE_BYTES) return EINVAL;
  page_ = std::move(page);
  page_from_program_ = true;
  usable_slots_ = KFD_SIGNAL_EVENTS_MAX;
  for (uint32_t i = 0; i < KFD_SIGNAL_EVENTS_MAX; ++i)
    slot(i)->store(kNothingHappened, std::memory_order_relaxed);
  return 0;
}

Errno Events::create_page() {
  auto page = MemoryObject::allocate(MemoryObject::Kind::kGtt, KFD_EVENT_PAGE_BYTES, KFD_MEM_GTT, 0, 0);
  if (!page) return page.error();
  page_ = std::move(*page);
  usable_slots_ = kSlotsUnlessMapped;
  for (uint32_t i = 0; i < KFD_SIGNAL_EVENTS_MAX; ++i)
    slot(i)->store(kNothingHappened, std::memory_order_relaxed);
  return 0;
}

ErrnoOr<std::shared_ptr<MemoryObject>> Events::page_for_mmap(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (page_ == nullptr || page_from_program_ || bytes > KFD_EVENT_PAGE_BYTES) return tl::unexpected(EINVAL);
  usable_slots_ = static_cast<uint32_t>(bytes / sizeof(uint64_t));
  return page_;
}

ErrnoOr<Events::Created> Events::create(uint32_t type, bool auto_reset) {
  const MutexLock lock(mutex_);
  auto event = std::make_shared<Event>();
  event->type = type;
  event->auto_reset = auto_reset;
  Created created;
  if (is_signal(type)) {
    if (page_ == nullptr) {
      if (const Errno error = create_page(); error != 0) return tl::unexpected(error);
    }
    // The lowest free id: ids are slots, and programs may map fewer than all.
    uint32_t id = next_signal_;
    while (id < usable_slots_ && events_.contains(id)) ++id;
    if (id >= usable_slots_) return tl::unexpected(ENOSPC);
    next_signal_ = id + 1;
    created = {id, id};
    slot(id)->store(kNothingHappened, std::memory_order_relaxed);
  } else {
    uint32_t id = next_other_;
    while (id <= kLastOther && events_.contains(id)) ++id;
    if (id > kLastOther) return tl::unexpected(ENOSPC);
    next_other_ = id + 1;
    created.id = id;
  }
  events_.emplace(created.id, std::move(event));
  return created;
}

Errno Events::destroy(uint32_t id) {
  const MutexLock lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end()) return EINVAL;
  Event& event = *it->second;
  event.destroyed = true;
  for (Waiter* waiter : event.waiters) {
    waiter->listed = false;
    waiter->wait->wake();
  }
  event.waiters.clear();
  uint32_t& next = is_signal(event.type) ? next_signal_ : next_other_;
  next = std::min(next, id);
  events_.erase(it);
  return 0;
}

void Events::set_event(Event& event) noexcept {
  event.signalled = !event.auto_reset || event.waiters.empty();
  if (++event.age == 0) event.age = 2;  // 0 means "no age"
  event.informed.clear();
  for (Waiter* waiter : event.waiters) {
    note_informed(event, waiter->thread);
    waiter->activated = true;
    waiter->listed = false;
    waiter->wait->wake();
  }
  event.waiters.clear();
}

// Removes all waiters of the wait() call from the event's list at once, so that a call with many entries of
// one event searches the list only once.
void Events::stop_waiting(Waiter& waiter) {
  if (!waiter.listed) return;
  std::erase_if(waiter.event->waiters, [&](Waiter* other) {
    if (other->wait != waiter.wait) return false;
    other->listed = false;
    return true;
  });
}

Errno Events::set(uint32_t id) {
  const MutexLock lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end() || it->second->type != KFD_EVENT_SIGNAL) return EINVAL;
  set_event(*it->second);
  return 0;
}

Errno Events::reset(uint32_t id) {
  const MutexLock lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end() || it->second->type != KFD_EVENT_SIGNAL) return EINVAL;
  it->second->signalled = false;
  return 0;
}

// Records that a thread knows of the event's last set, so that it is not woken for that set later.
void Events::note_informed(Event& event, Thread thread) const noexcept {
  if (latecomers_ != Latecomers::kHear) return;
  if (event.informed.empty() || event.informed.back() != thread) event.informed.push_back(thread);
}

// Reserves memory in advance, so that note_informed() cannot fail.
void Events::reserve_informed(Event& event) const {
  if (latecomers_ != Latecomers::kHear) return;
  const size_t needed = std::max(event.waiters.size(), event.informed.size() + 1);
  if (needed > event.informed.capacity()) event.informed.reserve(2 * needed);
}

// Returns true if the last set was taken by other threads before this thread waited. A set from before the
// thread first used the event looks the same; then the wait ends once without cause.
bool Events::missed_last_set(const Event& event, Thread thread) const {
  return latecomers_ == Latecomers::kHear && event.auto_reset && is_signal(event.type) && event.age != 1 &&
         std::find(event.informed.begin(), event.informed.end(), thread) == event.informed.end();
}

// Ends earlier waits of a thread that waits again. A signal handler has interrupted such a wait: either this
// is the handler's call, or the handler has left the wait by siglongjmp. In Linux, the wait ends before the
// handler runs, and the events that it took are set again. If the handler returns, the wait restarts.
void Events::end_waits_of_thread(Thread thread) {
  const auto is_of_thread = [&](const auto& wait) { return wait->thread == thread; };
  for (auto it = waits_.begin();
       (it = std::find_if(waits_.begin(), waits_.end(), is_of_thread)) != waits_.end();) {
    const std::shared_ptr<Wait> ended_wait = std::move(*it);
    waits_.erase(it);
    ended_wait->ended = true;
    for (Waiter& waiter : ended_wait->waiters) stop_waiting(waiter);
    for (const Waiter& waiter : ended_wait->waiters) {
      if (waiter.activated && waiter.event->auto_reset && !waiter.event->destroyed) set_event(*waiter.event);
    }
  }
}

Errno Events::wait(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms, uint32_t& result,
                   std::vector<uint32_t>* updated) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  Errno error = 0;
  do {
    error = wait_once(events, count, all, timeout_ms, deadline, result, updated);
  } while (error == ERESTART);
  return error;
}

// Returns ERESTART if a wait of a handler that has returned ended this wait.
Errno Events::wait_once(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms,
                        Clock::time_point deadline, uint32_t& result, std::vector<uint32_t>* updated) {
  // Its address identifies the thread. A later thread with the same address started after the earlier one had
  // ended.
  static constinit thread_local char this_thread = 0;
  result = KFD_WAIT_TIMEOUT;
  const auto wait = std::make_shared<Wait>(&this_thread, count);
  std::vector<Waiter>& waiters = wait->waiters;
  MutexLock lock(mutex_);
  end_waits_of_thread(&this_thread);
  for (uint32_t i = 0; i < count; ++i) {
    const auto it = events_.find(events[i].event_id);
    if (it == events_.end()) {
      result = KFD_WAIT_FAIL;
      return EINVAL;
    }
    waiters[i].wait = wait.get();
    waiters[i].thread = &this_thread;
    waiters[i].event = it->second;
    reserve_informed(*it->second);
  }
  for (uint32_t i = 0; i < count; ++i) {
    Event& event = *waiters[i].event;
    Waiter& waiter = waiters[i];
    // Read before anything is consumed: an age that differs from the event's means a missed set.
    waiter.has_age = event.type == KFD_EVENT_SIGNAL && events[i].last_event_age != 0;
    const bool missed_set = missed_last_set(event, waiter.thread);
    const bool missed = waiter.has_age ? events[i].last_event_age != event.age : missed_set;
    // The thread learns of the last set now: with an age, it passes the last one or receives it.
    if (missed_set) note_informed(event, waiter.thread);
    waiter.activated = event.signalled || missed;
    if (event.auto_reset && event.signalled) event.signalled = false;
  }

  // In the order of the entries, as in the driver.
  const auto finished = [&] {
    uint32_t active = 0;
    for (const Waiter& waiter : waiters) {
      if (waiter.event->destroyed) result = KFD_WAIT_FAIL;
      active += waiter.activated ? 1 : 0;
      if (result == KFD_WAIT_FAIL || (!all && active != 0)) break;
    }
    if (result != KFD_WAIT_FAIL && (active == count || (!all && active != 0))) result = KFD_WAIT_COMPLETE;
    return result != KFD_WAIT_TIMEOUT;
  };

  if (!finished() && timeout_ms != 0) {
    // Removes the wait from the lists in every case, also if an exception is thrown because of missing
    // memory.
    struct Listed {
      Events& all;
      const std::shared_ptr<Wait>& wait;
      bool is_listed = true;
      ~Listed() RIGEL_UNCHECKED_LOCKS {  // wait_once() holds the lock
        if (!is_listed) return;
        std::erase(all.waits_, wait);
        for (Waiter& waiter : wait->waiters) all.stop_waiting(waiter);
      }
    } listed{*this, wait};
    for (Waiter& waiter : waiters) {
      if (waiter.activated) continue;
      waiter.event->waiters.push_back(&waiter);
      waiter.listed = true;
      reserve_informed(*waiter.event);
    }
    waits_.push_back(wait);
    const uint32_t forks = InternalFd::forks();
    while (!finished() && !closing_) {
      std::optional<std::chrono::nanoseconds> time_left;
      if (timeout_ms != UINT32_MAX) {
        time_left = deadline - Clock::now();
        if (*time_left <= std::chrono::nanoseconds::zero()) break;
      }
      const uint32_t seen = wait->sleeper.wakes();
      wait->sleeper.fall_asleep();
      lock.unlock();
      {
        const ProgramTime handlers_run;
        wait->sleeper.sleep(seen, time_left);
      }
      // A handler may have forked. In the child, the lists and their lock are copies of the parent's.
      if (InternalFd::forks() != forks) {
        listed.is_listed = false;
        return EBADF;
      }
      lock.lock();
      wait->sleeper.wake_up();
      if (wait->ended) return ERESTART;
    }
  }
  if (result == KFD_WAIT_FAIL) return EIO;
  if (result == KFD_WAIT_TIMEOUT) return closing_ ? EBADF : 0;

  for (uint32_t i = 0; i < count; ++i) {
    const Event& event = *waiters[i].event;
    if (event.destroyed) {
      result = KFD_WAIT_FAIL;
      return EINVAL;
    }
    if (!waiters[i].activated) continue;
    if (event.type == KFD_EVENT_MEMORY) {
      events[i].memory_exception = event.memory;
    } else if (event.type == KFD_EVENT_HW_EXCEPTION) {
      events[i].hw_exception = event.hw;
    } else if (waiters[i].has_age) {
      events[i].last_event_age = event.age;
    } else {
      continue;
    }
    if (updated != nullptr) updated->push_back(i);
  }
  return 0;
}

void Events::interrupt_slot(uint32_t id, Event& event) {
  std::atomic<uint64_t>* const s = slot(id);
  if (s == nullptr || s->load(std::memory_order_acquire) == kNothingHappened) return;
  s->store(kNothingHappened, std::memory_order_release);
  set_event(event);
}

void Events::interrupt(uint32_t context_id, unsigned valid_bits) noexcept {
  const MutexLock lock(mutex_);
  const uint32_t mask = valid_bits >= 32 ? ~0u : (1u << valid_bits) - 1;
  const uint32_t id = context_id & mask;
  // A full id names its event. For any other id (unknown, or without its high bits), all slots are searched,
  // as in the driver.
  if (const auto it = events_.find(id); it != events_.end() && is_signal(it->second->type)) {
    const std::atomic<uint64_t>* const s = slot(id);
    if (s != nullptr && s->load(std::memory_order_acquire) != kNothingHappened) {
      interrupt_slot(id, *it->second);
      if (valid_bits >= 12) return;
    }
  }
  for (auto& [other, event] : events_) {
    if (other >= kFirstOther) break;
    if (is_signal(event->type)) interrupt_slot(other, *event);
  }
}

bool Events::memory_fault(const kfd_memory_exception& fault) noexcept {
  const MutexLock lock(mutex_);
  bool delivered = false;
  for (auto& [id, event] : events_) {
    if (event->type != KFD_EVENT_MEMORY) continue;
    event->memory = fault;
    set_event(*event);
    delivered = true;
  }
  return delivered;
}

bool Events::hw_exception(const kfd_hw_exception& exception) noexcept {
  const MutexLock lock(mutex_);
  bool delivered = false;
  for (auto& [id, event] : events_) {
    if (event->type != KFD_EVENT_HW_EXCEPTION) continue;
    event->hw = exception;
    set_event(*event);
    delivered = true;
  }
  return delivered;
}

void Events::signal(uint32_t id) noexcept {
  const MutexLock lock(mutex_);
  if (const auto it = events_.find(id); it != events_.end()) set_event(*it->second);
}

void Events::interrupt_all() noexcept {
  const MutexLock lock(mutex_);
  closing_ = true;
  for (const auto& wait : waits_) wait->wake();
}

}  // namespace rigel::vgpu
