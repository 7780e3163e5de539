// Which names an option means: a list of patterns, in which `*` stands for any run of characters and `?` for
// any one. A name is meant if one of them matches, or there is none, and if none that begins with `!` does.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trace {

/// Whether the whole text matches. Takes no more than pattern times text steps.
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
        unwanted_.push_back(pattern.substr(1));
      } else {
        wanted_.push_back(std::move(pattern));
      }
    }
  }
  bool mean(std::string_view name) const { return mean({name}); }
  /// A thing that has several names.
  bool mean(std::initializer_list<std::string_view> names) const {
    bool wanted = wanted_.empty();
    for (const std::string_view name : names) {
      if (any(unwanted_, name)) return false;
      wanted = wanted || any(wanted_, name);
    }
    return wanted;
  }

  /// Those by which none of the names is meant or not meant, as they were given.
  std::vector<std::string> that_match_none(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    const auto add = [&](const std::vector<std::string>& patterns, const char* mark) {
      for (const std::string& pattern : patterns) {
        const auto fits = [&pattern](const std::string& name) { return matches(pattern, name); };
        if (std::none_of(names.begin(), names.end(), fits)) out.push_back(mark + pattern);
      }
    };
    add(wanted_, "");
    add(unwanted_, "!");
    return out;
  }

 private:
  static bool any(const std::vector<std::string>& patterns, std::string_view name) {
    for (const std::string& pattern : patterns) {
      if (matches(pattern, name)) return true;
    }
    return false;
  }

  std::vector<std::string> wanted_;
  std::vector<std::string> unwanted_;
};

}  // namespace trace
