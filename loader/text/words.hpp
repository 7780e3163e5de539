// Patterns, lists, and suggestions for misspelled words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace rigel {

/// A value, or the reason for its absence: for failures that are reported, not handled.
template <class T>
using Explained = tl::expected<T, std::string>;

/// Whether `pattern` matches all of `text`; `*` is any run of characters and `?` any one.
bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

/// Returns the non-empty parts of `list` between separators.
std::vector<std::string_view> split(std::string_view list, char separator);

/// Returns the word of `known` that is closest to `word`, or an empty one.
std::string_view closest(std::string_view word, std::span<const std::string_view> known);

/// Returns ", did you mean 'x'?" for the closest known word, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// Returns untrusted text in quotes for one line of a log: truncated if long, control characters shown as ?.
std::string in_quotes(std::string_view text);

}  // namespace rigel
