// Which libhsa-runtime64.so.1 the program gets: the Rigel that vgpu-run came with, the system's, or another.
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

}  // namespace rigel::vgpu_run
