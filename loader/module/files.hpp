// Finds untrusted files, and checks if they may be trusted. Stateless; any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "loader/text/small_file.hpp"
#include "loader/text/words.hpp"

namespace rigel {

/// Returns the absolute path without symbolic links, or the reason for a failure.
Explained<std::string> real_path(const std::string& path);

/// Returns the part before the last slash; "/" for a file in the root.
std::string folder_of(std::string_view path);
std::string_view file_name_of(std::string_view path);

/// Returns the names in a directory that end with `suffix` and do not start with a dot, sorted by bytes.
Explained<std::vector<std::string>> list_folder(const std::string& path, std::string_view suffix);

bool is_folder(const std::string& path) noexcept;
bool is_link(const std::string& path) noexcept;
bool exists(const std::string& path) noexcept;

/// Checks that only root and `owner` can have written the file, moved it to its directory, or replaced a
/// parent directory. `path` must be a real path. Parent directories other than the file's may be writable by
/// other users if they are sticky.
Explained<void> check_trusted(const std::string& path, uid_t owner);

}  // namespace rigel
