// The process's environment, and whether it is trusted.
#pragma once

namespace rigel {

/// Whether the process has more rights than the user who started it (set-uid, set-gid, file capabilities:
/// AT_SECURE). The environment is then less trusted than the process.
bool is_elevated() noexcept;

/// Returns the value of `name`, or null. For variables that affect output and measurements, but not which
/// code is loaded or which file is opened.
const char* environment(const char* name) noexcept;

/// Returns the value of `name`, or null; in an elevated process, null and one warning for each name. For
/// variables that select code or files.
const char* trusted_environment(const char* name) noexcept;

}  // namespace rigel
