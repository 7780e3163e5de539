// Registration of handlers for system events.
#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback, void* data) {
  return Runtime::current().system_events().add_handler(callback, data);
}

hsa_status_t hsa_amd_runtime_queue_create_register(hsa_amd_runtime_queue_notifier callback, void* user_data) {
  return Runtime::current().system_events().set_queue_notifier(callback, user_data);
}

}  // namespace rigel::api
