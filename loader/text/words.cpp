#include "loader/text/words.hpp"

#include <algorithm>
#include <array>

namespace rigel {
namespace {

constexpr size_t kLongestWord = 48;
constexpr size_t kLongestQuote = 120;

// Number of insertions, deletions, replacements and swaps of neighbours between `a` and `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLongestWord + 1>;
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  size_t p = 0;
  size_t t = 0;
  // Position for backtracking: the last star, and the text that it has not matched yet.
  size_t star = pattern.npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> pieces;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    if (end != 0) pieces.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return pieces;
}

std::string_view closest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const auto candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const size_t distance = edit_distance(word, candidate);
    const bool has_nothing_of_it = distance == std::max(word.size(), candidate.size());
    if (distance < best_distance && !has_nothing_of_it) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  const auto best = closest(word, known);
  return best.empty() ? std::string() : "; did you mean '" + std::string(best) + "'?";
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kLongestQuote)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  out += text.size() > kLongestQuote ? "...'" : "'";
  return out;
}

}  // namespace rigel
