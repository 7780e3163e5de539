// Which libhsa-runtime64.so.1 the program gets: the Rigel that vgpu-run came with, the system's, or another; and whether
// the dynamic linker can be told of a folder.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace rigel::vgpu_run {

/// The folder that the dynamic linker has to look into first, or nothing if it finds the library by itself.
/// `what` is "rigel", "system", or a path: of a folder that has a libhsa-runtime64.so.1, or of that library.
/// `own_folder` is where the libraries are that came with this program. An error says what is wrong with
/// `what`.
tl::expected<std::string, std::string> runtime_folder(std::string_view what, const std::string& own_folder);

/// The dynamic linker ends a name in LD_PRELOAD and LD_LIBRARY_PATH at some characters, and nothing keeps it from that:
/// why `folder` cannot be named in `variable`, or nothing if it can.
std::string cannot_be_named(std::string_view folder, std::string_view variable);

}  // namespace rigel::vgpu_run
