// What happens to scratch memory, for the functions that tools have put into the tools' table.
#pragma once

#include <hsa_backend/hsa_backend.h>

namespace rigel::api {

/// Calls the function of the tools' table that is for the event, if there is one. Any thread.
void tell_scratch(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);

}  // namespace rigel::api
