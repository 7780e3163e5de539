// Messages of a backend about a failing call (events->report), which become part of the log.
//
// A report belongs to the failure that the backend will return next on the same thread. The code that handles
// the failure takes the report, or drops it if the failure is expected. Otherwise it would be logged as the
// reason of the next failure without a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/support/status.hpp"

namespace rigel::backend_report {

/// Called by the backend's service on any thread. Reports above 1 KiB are cut.
void keep(std::string_view text) noexcept;

/// Returns this thread's report and clears it; empty if there is none.
std::string take();
void drop() noexcept;

/// Logs a backend's failure with its report, and returns the status. Allocates no memory.
Status refused(std::string_view what, int32_t status) noexcept;

/// Logs the report of a call whose failure has no caller, such as a handler's.
void settle() noexcept;

}  // namespace rigel::backend_report
