// What was found wrong in a file that somebody else wrote. Apart from json_reader.hpp, because those who only
// hand it on need none of the JSON library, which is long in the compiler.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rigel {

/// Limits of the files that are read: bytes of one, and how deep its values may nest.
constexpr size_t kMaxJsonBytes = 1 << 20;
constexpr size_t kMaxJsonDepth = 32;

/// What is wrong with a file. Errors make it useless, warnings do not.
class Diagnostics {
 public:
  struct Entry {
    bool is_error;
    std::string text;  // "/backend/priority: should be an integer but is string"
  };

  void error(std::string_view where, std::string_view text) { add(true, where, text); }
  void warning(std::string_view where, std::string_view text) { add(false, where, text); }

  bool has_errors() const { return errors_ != 0; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(bool is_error, std::string_view where, std::string_view text);

  std::vector<Entry> entries_;
  size_t errors_ = 0;
};

}  // namespace rigel
