// The names that an option selects: a list of patterns, in which `*` matches any characters and `?` one
// character. A pattern that starts with `!` excludes names. A name is selected if it matches a pattern, or if
// there are only exclusions, and if no exclusion matches it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trace {

/// Whether the whole text matches. Takes at most |pattern| * |text| steps.
inline bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = pattern.npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

class Patterns {
 public:
  Patterns() = default;
  explicit Patterns(std::vector<std::string> patterns) {
    for (std::string& pattern : patterns) {
      if (pattern.starts_with('!')) {
        excluded_.push_back(pattern.substr(1));
      } else {
        included_.push_back(std::move(pattern));
      }
    }
  }
  bool selects(std::string_view name) const { return selects({name}); }
  /// Selects an object that has several names.
  bool selects(std::initializer_list<std::string_view> names) const {
    bool included = included_.empty();
    for (const std::string_view name : names) {
      if (any(excluded_, name)) return false;
      included = included || any(included_, name);
    }
    return included;
  }

  /// Returns the patterns, with their `!`, that match none of `names`.
  std::vector<std::string> unmatched(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    const auto add = [&](const std::vector<std::string>& patterns, const char* mark) {
      for (const std::string& pattern : patterns) {
        const auto matches_pattern = [&pattern](const std::string& name) { return matches(pattern, name); };
        if (std::none_of(names.begin(), names.end(), matches_pattern)) out.push_back(mark + pattern);
      }
    };
    add(included_, "");
    add(excluded_, "!");
    return out;
  }

 private:
  static bool any(const std::vector<std::string>& patterns, std::string_view name) {
    for (const std::string& pattern : patterns) {
      if (matches(pattern, name)) return true;
    }
    return false;
  }

  std::vector<std::string> included_;
  std::vector<std::string> excluded_;
};

}  // namespace trace
