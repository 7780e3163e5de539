// Who is told of what happens to the system as a whole: GPU faults, and queues that the runtime makes for
// itself.
//
// Handlers are registered by the application or a tool from any thread and stay until the runtime ends. They
// are called on a thread of the runtime, without a lock held; one of GPU faults may end the runtime.
#pragma once

#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"

namespace rigel {

class SystemEvents {
 public:
  Status add_handler(hsa_amd_system_event_callback_t callback, void* data) {
    if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "system event handler: is NULL");
    const MutexLock lock(mutex_);
    handlers_.push_back({callback, data});
    return HSA_STATUS_SUCCESS;
  }

  /// Calls all handlers in the order of their registration. True if one of them has dealt with the event.
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

  /// HSA_STATUS_ERROR if there is a notifier already.
  Status set_queue_notifier(hsa_amd_runtime_queue_notifier callback, void* data) {
    if (callback == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue notifier: is NULL");
    const MutexLock lock(mutex_);
    if (notifier_ != nullptr) return fail(HSA_STATUS_ERROR, "queue notifier: already registered");
    notifier_ = callback;
    notifier_data_ = data;
    return HSA_STATUS_SUCCESS;
  }

  /// The runtime has made a queue for itself, and has written no packet to it yet.
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
