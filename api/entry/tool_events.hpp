// Reports events of scratch memory to functions that tools have stored in the tools' table.
#pragma once

#include <hsa_backend/hsa_backend.h>

namespace rigel::api {

/// Calls the function for the event in the tools' table, if any. Any thread.
void tell_scratch(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);

}  // namespace rigel::api
