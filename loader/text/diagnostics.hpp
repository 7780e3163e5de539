// Errors and warnings about an untrusted file. Separate from json_reader.hpp, so that users that only forward
// them do not include the JSON library, which compiles slowly.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rigel {

/// Limits of input files: size in bytes, and nesting depth of values.
constexpr size_t kMaxJsonBytes = 1 << 20;
constexpr size_t kMaxJsonDepth = 32;

/// Problems of a file. A file with errors must not be used; warnings do not prevent its use.
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
