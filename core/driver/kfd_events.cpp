#include "core/driver/kfd_events.hpp"

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "core/driver/event_duty.hpp"

namespace rigel {
namespace {

constexpr std::chrono::milliseconds kPauseWithoutMemory{1};

}  // namespace

Result<std::unique_ptr<KfdEvents>> KfdEvents::create(Kfd& kfd, Callbacks callbacks) {
  std::unique_ptr<KfdEvents> events(new KfdEvents(kfd, std::move(callbacks)));
  const auto page = kfd.event_page();
  if (!page) return error(page.error());
  events->mailboxes_ = reinterpret_cast<uint64_t>(*page);
  const std::pair<uint32_t*, uint32_t> wanted[] = {
      {&events->signal_event_, KFD_EVENT_SIGNAL}, {&events->exception_event_, KFD_EVENT_SIGNAL},
      {&events->memory_event_, KFD_EVENT_MEMORY}, {&events->hardware_event_, KFD_EVENT_HW_EXCEPTION},
      {&events->thread_event_, KFD_EVENT_SIGNAL}, {&events->leader_event_, KFD_EVENT_SIGNAL}};
  for (const auto& [id, type] : wanted) {
    const auto event = kfd.create_event(type);
    if (!event) return error(event.error());
    *id = *event;
  }
  return events;
}

KfdEvents::~KfdEvents() {
  stop();
  for (const uint32_t id :
       {leader_event_, thread_event_, hardware_event_, memory_event_, exception_event_, signal_event_}) {
    kfd_event_ref gone{id, 0};
    if (id != 0) kfd_.call(KFD_NR_DESTROY_EVENT, gone);
  }
}

Status KfdEvents::start() {
  const MutexLock lock(mutex_);
  if (thread_.joinable()) return HSA_STATUS_SUCCESS;
  const ProgramSignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& problem) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "event thread: cannot be started: {}", problem.what());
  }
  pthread_setname_np(thread_.native_handle(), "hsa-events");
  event_duty::begin(*this);
  return HSA_STATUS_SUCCESS;
}

void KfdEvents::stop() {
  const MutexLock lock(mutex_);
  if (!thread_.joinable()) return;
  event_duty::end();
  stopping_.store(true, std::memory_order_release);
  interrupt_thread();
  thread_.join();
}

void KfdEvents::set(uint32_t event) noexcept {
  kfd_event_ref of_this_process{event, 0};
  kfd_.call(KFD_NR_SET_EVENT, of_this_process);  // stays set until a thread waits for it
}

bool KfdEvents::wait(std::span<kfd_event_data> events) noexcept {
  kfd_wait_events wait{reinterpret_cast<uint64_t>(events.data()), static_cast<uint32_t>(events.size()), 0,
                       UINT32_MAX, 0};
  const int problem = kfd_.call(KFD_NR_WAIT_EVENTS, wait);
  if (problem == 0) return true;
  if (problem == -ENOMEM) {  // temporary; waiters poll until then
    std::this_thread::sleep_for(kPauseWithoutMemory);
    return true;
  }
  // In a forked child, or after the device is gone: no event will ever arrive.
  log_message(LogLevel::kError, LogTopic::kSignal, "/dev/kfd: waiting for events failed: {}",
              std::strerror(-problem));
  return false;
}

bool KfdEvents::wait_for_signals() noexcept {
  kfd_event_data events[2]{};
  events[0].event_id = leader_event_;
  events[1].event_id = signal_event_;
  return wait(events);
}

void KfdEvents::work() {
  while (!stopping_.load(std::memory_order_acquire)) {
    kfd_event_data events[5]{};
    events[0].event_id = memory_event_;
    events[1].event_id = hardware_event_;
    events[2].event_id = thread_event_;
    events[3].event_id = exception_event_;
    events[4].event_id = signal_event_;
    const bool on_duty = event_duty::is_held_by_events_thread();
    if (!wait({events, on_duty ? 5u : 4u})) return;
    // Each kind of event leaves a different state. Checking the signals after another event is cheap.
    callbacks_.exception_signalled();
    if (on_duty) callbacks_.signalled();
    const kfd_memory_exception& fault = events[0].memory_exception;
    if (fault.gpu_id != 0) callbacks_.memory_fault(fault);
    const kfd_hw_exception& failure = events[1].hw_exception;
    if (failure.gpu_id != 0) callbacks_.hardware_failed(failure);
    if (on_duty) event_duty::events_thread_has_notified();
  }
}

}  // namespace rigel
