// Files that the virtual GPU writes when a process ends.
#pragma once

#include <string>
#include <string_view>

namespace rigel::vgpu {

/// Writes a file. Returns false and sets errno on an error.
bool write_file(const std::string& path, std::string_view text);

/// Replaces "%p" by the process ID.
std::string with_process_id(std::string path);

}  // namespace rigel::vgpu
