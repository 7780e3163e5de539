#include "core/runtime/foundation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/support/log.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "core/runtime/discovery.hpp"

namespace rigel {

Status Foundation::discover() {
  const Status discovered = Discovery(*this).run();
  discovering.store(false, std::memory_order_relaxed);
  if (discovered != HSA_STATUS_SUCCESS) return discovered;
  if (const Status status = suits_callers(); status != HSA_STATUS_SUCCESS) return status;
  add_heaps();
  return HSA_STATUS_SUCCESS;
}

Status Foundation::suits_callers() const {
  const auto& agents = machine.agents();
  const bool has_gpu =
      std::any_of(agents.begin(), agents.end(), [](const Agent& agent) { return !agent.is_cpu(); });
  if (has_gpu || !has_hip_that_needs_a_gpu()) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
              "hsa_init: there is no GPU, and HIP up to 5.x crashes without one");
}

void Foundation::stop() noexcept {
  clocks.stop();
  if (gpus != nullptr) gpus->stop_listening();
  fault_dispatcher.stop();
  driver_dispatcher.stop();
}

void Foundation::warn(Stage stage, std::string_view subject, std::string_view text) noexcept try {
  if (discovering.load(std::memory_order_relaxed)) {
    report.add(stage, Outcome::kWarning, subject, text);
  } else {
    log_message(LogLevel::kWarn, LogTopic::kModule, "{}: {}", subject, text);
  }
} catch (...) {
  log_message(LogLevel::kError, LogTopic::kModule, "runtime: out of memory for a warning");
}

void Foundation::queue_failed(uint64_t cookie, Status status) noexcept {
  struct Failed {
    QueueTable& queues;
    uint64_t cookie;
    Status status;
  };
  const auto raise_error = [](void* argument) {
    const std::unique_ptr<Failed> failure(static_cast<Failed*>(argument));
    if (const auto queue = failure->queues.find_cookie(failure->cookie)) queue->raise(failure->status);
  };
  try {
    const std::string why = backend_report::take();
    if (!why.empty()) {
      log_message(LogLevel::kError, LogTopic::kQueue, "queue: stopped with status {:#x}: {}",
                  static_cast<uint32_t>(status), why);
    }
    auto failed = std::make_unique<Failed>(Failed{queue_table, cookie, status});
    if (fault_dispatcher.post(raise_error, failed.get()) == HSA_STATUS_SUCCESS) {
      static_cast<void>(failed.release());  // the posted function owns it now
      return;
    }
  } catch (...) {  // reported like a failure of post
  }
  log_message(LogLevel::kError, LogTopic::kQueue,
              "queue: stopped with status {:#x}; out of memory for its error callback",
              static_cast<uint32_t>(status));
}

void Foundation::scratch_event(hsabe_scratch_event_t& event) {
  // At the end, the queue may already be in destruction.
  if (event.ended == 0)
    event.host = reinterpret_cast<uint64_t>(queue_table.handle_of_cookie(event.queue_cookie));
  const auto* const queue = reinterpret_cast<const hsa_queue_t*>(event.host);
  if (queue == nullptr) return;
  const InQueueCallback in_callback;  // the queue does not end before this has returned
  notify_scratch(*queue, event);
}

}  // namespace rigel
