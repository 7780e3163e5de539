// The file of a findings' report, which several processes may write.
//
// Threads: any.
// Errors: if the file cannot be opened, the text goes to stderr.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rigel::vgpu::check {

/// Appends text to a file. An empty path is stderr.
void append_to_log(const std::string& path, std::string_view text);

/// Replaces the contents of a file by the result of `change`, which receives them. The file is locked
/// meanwhile.
void update_log(const std::string& path, const std::function<std::string(const std::string&)>& change);

}  // namespace rigel::vgpu::check
