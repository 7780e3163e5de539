// Small things with words: patterns, lists, and messages that help whoever mistyped.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace rigel {

/// A value, or the text that says why there is none: for steps whose failures are shown, not handled.
template <class T>
using Explained = tl::expected<T, std::string>;

/// Whether the whole of `text` fits `pattern`, in which `*` is any run of characters and `?` any one.
bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

/// The non-empty pieces of `list` between separators.
std::vector<std::string_view> split(std::string_view list, char separator);

/// The word of `known` that somebody who wrote `word` probably meant, or an empty one.
std::string_view closest(std::string_view word, std::span<const std::string_view> known);

/// ", did you mean 'x'?" for the closest of the known words, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

/// Text from outside in quotes, fit for one line of a log: cut if long, control characters shown as ?.
std::string in_quotes(std::string_view text);

}  // namespace rigel
