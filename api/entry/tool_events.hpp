// Reports events of scratch memory to the functions that tools of ROCr's ABI have stored in ToolsApiTable.
#pragma once

#include <hsa_backend/hsa_backend.h>

namespace rigel::api {

/// Calls the function for the event in the current ToolsApiTable, if there is one. Any thread.
void tell_scratch(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);

}  // namespace rigel::api
