// Reading the process's environment, and knowing when it must not be believed.
#pragma once

namespace rigel {

/// True when the process runs with more rights than the user who started it (set-uid, set-gid, file
/// capabilities: AT_SECURE). The environment then comes from somebody less trusted than the process.
bool is_elevated() noexcept;

/// The value of `name`, or null. For variables that change what is printed or measured, never what code is
/// loaded or which file is opened.
const char* environment(const char* name) noexcept;

/// The value of `name`, or null; null, with one warning for each name, in an elevated process. For every
/// variable that selects code or files.
const char* trusted_environment(const char* name) noexcept;

}  // namespace rigel
