#include "core/driver/kfd_events.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "api/support/mutex.hpp"
#include "core/base/program_signals.hpp"

namespace rigel {

Result<std::unique_ptr<KfdEvents>> KfdEvents::create(Kfd& kfd, Callbacks callbacks) {
  std::unique_ptr<KfdEvents> events(new KfdEvents(kfd, std::move(callbacks)));
  bool is_new = false;
  const auto page = kfd.event_page(is_new);
  if (!page) return error(page.error());
  const auto signal = events->create_event(KFD_EVENT_SIGNAL, is_new ? page->handle : 0);
  if (!signal) return error(signal.error());
  events->signal_event_ = *signal;
  events->mailboxes_ = reinterpret_cast<uint64_t>(page->address);
  const auto alarm = events->create_event(KFD_EVENT_SIGNAL, 0);
  if (!alarm) return error(alarm.error());
  events->alarm_event_ = *alarm;
  const auto memory = events->create_event(KFD_EVENT_MEMORY, 0);
  if (!memory) return error(memory.error());
  events->memory_event_ = *memory;
  const auto hardware = events->create_event(KFD_EVENT_HW_EXCEPTION, 0);
  if (!hardware) return error(hardware.error());
  events->hardware_event_ = *hardware;
  const auto control = events->create_event(KFD_EVENT_SIGNAL, 0);
  if (!control) return error(control.error());
  events->control_event_ = *control;
  return events;
}

KfdEvents::~KfdEvents() {
  stop();
  for (const uint32_t id : {control_event_, hardware_event_, memory_event_, alarm_event_, signal_event_}) {
    kfd_event_ref gone{id, 0};
    if (id != 0) kfd_.call(KFD_NR_DESTROY_EVENT, gone);
  }
}

Result<uint32_t> KfdEvents::create_event(uint32_t type, uint64_t page_handle) {
  kfd_create_event arguments{};
  arguments.event_page_offset = page_handle;
  arguments.event_type = type;
  arguments.auto_reset = 1;
  const int problem = kfd_.call(KFD_NR_CREATE_EVENT, arguments);
  if (problem == 0) return arguments.event_id;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "CREATE_EVENT of type {}: {}", type,
              std::strerror(-problem));
}

Status KfdEvents::start() {
  const MutexLock lock(mutex_);
  if (thread_.joinable()) return HSA_STATUS_SUCCESS;
  const ProgramSignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& problem) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no thread for the kernel's events: {}", problem.what());
  }
  pthread_setname_np(thread_.native_handle(), "hsa-events");
  return HSA_STATUS_SUCCESS;
}

void KfdEvents::stop() {
  const MutexLock lock(mutex_);
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  interrupt_thread();
  thread_.join();
}

void KfdEvents::interrupt_thread() noexcept {
  kfd_event_ref control{control_event_, 0};
  kfd_.call(KFD_NR_SET_EVENT, control);  // stays set until the thread looks
}

// Ordered against keep_listening(): either the thread sees who waits, or this sees that it does not listen.
void KfdEvents::listen() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (listening_.load(std::memory_order_relaxed)) return;
  if (!listening_.exchange(true, std::memory_order_relaxed)) interrupt_thread();
}

// Whether to wait for signals of devices again: as long as anybody sleeps until one comes. Decides listening_.
void KfdEvents::keep_listening() {
  if (!callbacks_.anyone_waits || callbacks_.anyone_waits()) return;
  listening_.store(false, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (callbacks_.anyone_waits()) listening_.store(true, std::memory_order_relaxed);
}

void KfdEvents::work() {
  while (!stopping_.load(std::memory_order_acquire)) {
    kfd_event_data events[5]{};
    events[0].event_id = memory_event_;
    events[1].event_id = hardware_event_;
    events[2].event_id = control_event_;
    events[3].event_id = alarm_event_;
    events[4].event_id = signal_event_;
    const uint32_t count = listening_.load(std::memory_order_relaxed) ? 5 : 4;
    kfd_wait_events wait{reinterpret_cast<uint64_t>(events), count, 0, UINT32_MAX, 0};
    const int problem = kfd_.call(KFD_NR_WAIT_EVENTS, wait);
    if (problem != 0) {
      // In a forked child, or when the device is gone: nothing will ever come.
      log_message(LogLevel::kError, LogTopic::kSignal, "the kernel's events cannot be waited for: {}",
                  std::strerror(-problem));
      return;
    }
    // Which of them it was is seen by what it left; looking at signals in vain is cheap.
    callbacks_.signalled();
    const kfd_memory_exception& fault = events[0].memory_exception;
    if (fault.gpu_id != 0) callbacks_.memory_fault(fault);
    const kfd_hw_exception& failure = events[1].hw_exception;
    if (failure.gpu_id != 0) callbacks_.hardware_failed(failure);
    if (count == 5) keep_listening();
  }
}

}  // namespace rigel
