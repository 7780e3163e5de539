// Reads small untrusted files. Stateless; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "loader/text/words.hpp"

namespace rigel {

/// Returns the C library's text for an error number.
std::string error_text(int code);

/// Returns the contents of a regular file of at most `limit` bytes. Never blocks: rejects pipes and devices.
Explained<std::string> read_small_file(const std::string& path, size_t limit);

}  // namespace rigel
