#include "plugins/vgpu/kfd/events.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace rigel::vgpu {
namespace {

constexpr uint64_t kNothingHappened = ~uint64_t{0};
constexpr uint32_t kFirstOther = 0x40000000;

}  // namespace

// One call of wait(): what its waiters have in common.
struct Wait {
  std::condition_variable wake;
};

std::atomic<uint64_t>* Events::slot(uint32_t id) const {
  return page_ == nullptr || id >= slots_ ? nullptr
                                          : reinterpret_cast<std::atomic<uint64_t>*>(page_->host()) + id;
}

Errno Events::set_page(std::shared_ptr<MemoryObject> page) {
  const std::lock_guard lock(mutex_);
  if (page_ != nullptr || page->bytes() < KFD_EVENT_PAGE_BYTES) return EINVAL;
  page_ = std::move(page);
  page_from_program_ = true;
  slots_ = KFD_SIGNAL_EVENTS_MAX;
  for (uint32_t i = 0; i < slots_; ++i) slot(i)->store(kNothingHappened, std::memory_order_relaxed);
  return 0;
}

Errno Events::make_page() {
  auto page = MemoryObject::allocate(MemoryObject::Kind::kGtt, KFD_EVENT_PAGE_BYTES, KFD_MEM_GTT, 0, 0);
  if (!page) return page.error();
  page_ = std::move(*page);
  slots_ = KFD_SIGNAL_EVENTS_MAX;
  for (uint32_t i = 0; i < slots_; ++i) slot(i)->store(kNothingHappened, std::memory_order_relaxed);
  return 0;
}

ErrnoOr<std::shared_ptr<MemoryObject>> Events::page_for_mmap() {
  const std::lock_guard lock(mutex_);
  if (page_ == nullptr) {
    if (const Errno error = make_page(); error != 0) return tl::unexpected(error);
  }
  if (page_from_program_) return tl::unexpected(EINVAL);
  return page_;
}

ErrnoOr<Events::Created> Events::create(uint32_t type, bool auto_reset) {
  const std::lock_guard lock(mutex_);
  auto event = std::make_unique<Event>();
  event->type = type;
  event->auto_reset = auto_reset;
  Created created;
  if (is_signal(type)) {
    if (page_ == nullptr) {
      if (const Errno error = make_page(); error != 0) return tl::unexpected(error);
    }
    // The lowest free id: ids are slots, and programs may map fewer than all.
    uint32_t id = next_signal_;
    while (id < slots_ && events_.contains(id)) ++id;
    if (id >= slots_) return tl::unexpected(ENOSPC);
    next_signal_ = id + 1;
    created = {id, id};
    slot(id)->store(kNothingHappened, std::memory_order_relaxed);
  } else {
    while (events_.contains(next_other_) || next_other_ < kFirstOther) {
      next_other_ = next_other_ < kFirstOther ? kFirstOther : next_other_ + 1;
    }
    created.id = next_other_++;
  }
  events_.emplace(created.id, std::move(event));
  return created;
}

Errno Events::destroy(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end()) return EINVAL;
  for (Waiter* waiter : it->second->waiters) {
    waiter->event = nullptr;
    waiter->wait->wake.notify_one();
  }
  if (is_signal(it->second->type)) next_signal_ = std::min(next_signal_, id);
  events_.erase(it);
  return 0;
}

void Events::set_locked(Event& event) {
  event.signalled = !event.auto_reset || event.waiters.empty();
  if (++event.age == 0) event.age = 2;  // 0 means "no age"
  event.heard.clear();
  for (Waiter* waiter : event.waiters) {
    if (latecomers_ == Latecomers::kHear) event.heard.push_back(waiter->thread);
    waiter->activated = true;
    waiter->age = event.age;
    waiter->wait->wake.notify_one();
  }
}

Errno Events::set(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end() || it->second->type != KFD_EVENT_SIGNAL) return EINVAL;
  set_locked(*it->second);
  return 0;
}

Errno Events::reset(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end() || it->second->type != KFD_EVENT_SIGNAL) return EINVAL;
  it->second->signalled = false;
  return 0;
}

// A set that has been had by others before this thread has waited. One that has come and gone before the
// thread had any business with the event looks the same: then the wait ends for nothing, once.
bool Events::hears_late(const Event& event, Thread thread) const {
  return latecomers_ == Latecomers::kHear && event.auto_reset && is_signal(event.type) && event.age != 1 &&
         std::find(event.heard.begin(), event.heard.end(), thread) == event.heard.end();
}

Errno Events::wait(kfd_event_data* events, uint32_t count, bool all, uint32_t timeout_ms, uint32_t& result) {
  // A thread that has the address of one that is gone has looked at its signals later than that one has
  // waited.
  static constinit thread_local char this_thread = 0;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  result = KFD_WAIT_TIMEOUT;
  Wait wait;
  std::vector<Waiter> waiters(count);
  std::unique_lock lock(mutex_);
  for (uint32_t i = 0; i < count; ++i) {
    const auto it = events_.find(events[i].event_id);
    if (it == events_.end()) {
      result = KFD_WAIT_FAIL;
      return EINVAL;
    }
    waiters[i].wait = &wait;
    waiters[i].thread = &this_thread;
    waiters[i].event = it->second.get();
  }
  for (uint32_t i = 0; i < count; ++i) {
    Event& event = *waiters[i].event;
    Waiter& waiter = waiters[i];
    // The caller's own words, before anything is consumed: an age that is not the event's was missed.
    const bool has_age = event.type == KFD_EVENT_SIGNAL && events[i].last_event_age != 0;
    const bool late = !has_age && hears_late(event, waiter.thread);
    const bool missed = has_age ? events[i].last_event_age != event.age : late;
    if (late) event.heard.push_back(waiter.thread);
    waiter.activated = event.signalled || missed;
    waiter.age = event.age;
    if (event.auto_reset && event.signalled) event.signalled = false;
  }

  const auto finished = [&] {
    const auto active = [](const Waiter& w) { return w.activated; };
    if (std::any_of(waiters.begin(), waiters.end(), [](const Waiter& w) { return w.event == nullptr; })) {
      result = KFD_WAIT_FAIL;
    } else if (count == 0 || (all ? std::all_of(waiters.begin(), waiters.end(), active)
                                  : std::any_of(waiters.begin(), waiters.end(), active))) {
      result = KFD_WAIT_COMPLETE;
    }
    return result != KFD_WAIT_TIMEOUT;
  };

  bool done = finished();
  if (!done && timeout_ms != 0) {
    for (Waiter& waiter : waiters) waiter.event->waiters.push_back(&waiter);
    waits_.push_back(&wait);
    const auto ready = [&] { return finished() || closing_; };
    if (timeout_ms == UINT32_MAX) {
      wait.wake.wait(lock, ready);
    } else {
      wait.wake.wait_until(lock, deadline, ready);
    }
    done = result != KFD_WAIT_TIMEOUT;
    std::erase(waits_, &wait);
    for (Waiter& waiter : waiters) {
      if (waiter.event != nullptr) std::erase(waiter.event->waiters, &waiter);
    }
  }
  if (result == KFD_WAIT_FAIL) return EIO;
  if (!done && closing_) return EBADF;
  if (!done) return 0;

  for (uint32_t i = 0; i < count; ++i) {
    if (!waiters[i].activated) continue;
    const Event& event = *waiters[i].event;
    if (event.type == KFD_EVENT_MEMORY) events[i].memory_exception = event.memory;
    if (event.type == KFD_EVENT_HW_EXCEPTION) events[i].hw_exception = event.hw;
    if (event.type == KFD_EVENT_SIGNAL && events[i].last_event_age != 0)
      events[i].last_event_age = waiters[i].age;
  }
  return 0;
}

void Events::interrupt_slot(uint32_t id, Event& event) {
  std::atomic<uint64_t>* const s = slot(id);
  if (s == nullptr || s->load(std::memory_order_acquire) == kNothingHappened) return;
  s->store(kNothingHappened, std::memory_order_release);
  set_locked(event);
}

void Events::interrupt(uint32_t context_id, unsigned valid_bits) noexcept {
  const std::lock_guard lock(mutex_);
  const uint32_t mask = valid_bits >= 32 ? ~0u : (1u << valid_bits) - 1;
  const uint32_t id = context_id & mask;
  // A full id names its event. Anything else (an id that is not one, or that lost its high bits) means a look
  // at every slot, as the driver does.
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
  const std::lock_guard lock(mutex_);
  bool heard = false;
  for (auto& [id, event] : events_) {
    if (event->type != KFD_EVENT_MEMORY) continue;
    event->memory = fault;
    set_locked(*event);
    heard = true;
  }
  return heard;
}

bool Events::hw_exception(const kfd_hw_exception& exception) noexcept {
  const std::lock_guard lock(mutex_);
  bool heard = false;
  for (auto& [id, event] : events_) {
    if (event->type != KFD_EVENT_HW_EXCEPTION) continue;
    event->hw = exception;
    set_locked(*event);
    heard = true;
  }
  return heard;
}

void Events::signal(uint32_t id) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto it = events_.find(id); it != events_.end()) set_locked(*it->second);
}

void Events::interrupt_all() noexcept {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  for (Wait* wait : waits_) wait->wake.notify_all();
}

}  // namespace rigel::vgpu
