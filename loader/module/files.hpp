// Finding files that somebody else wrote, and judging whether they may be believed.
//
// Stateless; any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "loader/text/small_file.hpp"
#include "loader/text/words.hpp"

namespace rigel {

/// The absolute path without symbolic links, or why there is none.
Explained<std::string> real_path(const std::string& path);

/// Everything before the last slash; "/" for a file of the root.
std::string folder_of(std::string_view path);
std::string_view file_name_of(std::string_view path);

/// The names in a folder that end in `suffix` and do not begin with a dot, sorted by bytes.
Explained<std::vector<std::string>> list_folder(const std::string& path, std::string_view suffix);

bool is_folder(const std::string& path) noexcept;
bool is_link(const std::string& path) noexcept;
bool exists(const std::string& path) noexcept;

/// Whether nobody but root and `owner` could have written the file, put it where it is, or replaced a folder
/// above it. `path` must be a real path. The folders above may be writable by others if they are sticky,
/// except for the one that holds the file.
Explained<void> check_trusted(const std::string& path, uid_t owner);

}  // namespace rigel
