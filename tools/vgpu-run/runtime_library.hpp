// Selects the libhsa-runtime64.so.1 of the program: the Rigel installed with vgpu-run, the system's, or
// another.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace rigel::vgpu_run {

/// Returns the directory that the dynamic linker must search first, or an empty string if it finds the
/// library itself. `selection` is "rigel", "system", or a path: a directory with a libhsa-runtime64.so.1, or
/// that library. `own_folder` has the libraries installed with vgpu-run. Errors describe the invalid
/// `selection`.
tl::expected<std::string, std::string> runtime_folder(std::string_view selection,
                                                      const std::string& own_folder);

/// Returns why `folder` cannot be in `variable`, or an empty string. The dynamic linker ends names in
/// LD_PRELOAD and LD_LIBRARY_PATH at some characters, without an escape.
std::string cannot_be_named(std::string_view folder, std::string_view variable);

}  // namespace rigel::vgpu_run
