// Handlers of system events: GPU faults, and queues that the runtime creates for itself.
//
// *Threads:* the application or a tool registers handlers from any thread; they remain until the runtime
// ends. They are called on a thread of the runtime, without a lock; a handler of GPU faults may end the
// runtime.
#pragma once

#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"

namespace rigel {

class SystemEvents {
 public:
  Status add_handler(hsa_amd_system_event_callback_t callback, void* data) {
    if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "system event handler: is NULL");
    const MutexLock lock(mutex_);
    handlers_.push_back({callback, data});
    return HSA_STATUS_SUCCESS;
  }

  /// Calls all handlers in the order of their registration. Returns true if one of them has handled the
  /// event.
  bool raise(const hsa_amd_event_t& event) {
    std::vector<Handler> handlers;
    {
      const MutexLock lock(mutex_);
      handlers = handlers_;
    }
    bool handled = false;
    for (const Handler& handler : handlers)
      handled |= handler.callback(&event, handler.data) == HSA_STATUS_SUCCESS;
    return handled;
  }

  /// Returns HSA_STATUS_ERROR if there is a notifier.
  Status set_queue_notifier(hsa_amd_runtime_queue_notifier callback, void* data) {
    if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue notifier: is NULL");
    const MutexLock lock(mutex_);
    if (notifier_ != nullptr) return fail(HSA_STATUS_ERROR, "queue notifier: already registered");
    notifier_ = callback;
    notifier_data_ = data;
    return HSA_STATUS_SUCCESS;
  }

  /// Called after the runtime has created a queue for itself, before it writes a packet.
  void queue_created(const hsa_queue_t* queue, hsa_agent_t agent) {
    hsa_amd_runtime_queue_notifier notifier;
    void* data;
    {
      const MutexLock lock(mutex_);
      notifier = notifier_;
      data = notifier_data_;
    }
    if (notifier != nullptr) notifier(queue, agent, data);
  }

 private:
  struct Handler {
    hsa_amd_system_event_callback_t callback;
    void* data;
  };
  Mutex mutex_;
  std::vector<Handler> handlers_ RIGEL_GUARDED_BY(mutex_);
  hsa_amd_runtime_queue_notifier notifier_ RIGEL_GUARDED_BY(mutex_) = nullptr;
  void* notifier_data_ RIGEL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace rigel
