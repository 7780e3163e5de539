// What a backend says of a call that it refuses (events->report), on its way into the log.
//
// A report belongs to the failure that the backend is about to return on the same thread. The code that handles
// that failure takes the report, or drops it if the failure is expected. A report that is left behind would be
// logged as the reason of the next failure that has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace rigel::backend_report {

/// The backend's side. Any thread; what is longer than a kibibyte is cut.
void keep(std::string_view text) noexcept;

/// What was kept on this thread, once; empty if nothing was.
std::string take();
void drop() noexcept;

/// A backend's failure on its way up: logs what the backend has said of it, and hands it on. Needs no memory.
Status refused(std::string_view what, int32_t status) noexcept;

/// The end of a call that returns its failure to nobody, as a handler's: what was said of it goes to the log.
void settle() noexcept;

}  // namespace rigel::backend_report
