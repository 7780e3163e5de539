// Options of one backend, driver or plugin: a JSON object with typed reads.
//
// Immutable and cheap to copy; any thread. A missing member returns the fallback silently; a member of
// another type returns the fallback and an error in `*wrong`. Views live as long as any copy of the
// ModuleOptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/diagnostics.hpp"

namespace rigel {

class ModuleOptions {
 public:
  struct Data;  // in module_options_data.hpp, so that this header does not include a JSON library

  ModuleOptions() = default;
  explicit ModuleOptions(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  int64_t integer(std::string_view key, int64_t fallback, std::string* wrong = nullptr) const;
  bool boolean(std::string_view key, bool fallback, std::string* wrong = nullptr) const;
  std::string_view string(std::string_view key, std::string_view fallback,
                          std::string* wrong = nullptr) const;
  /// Returns the elements of an array of strings; a single string counts as an array of one.
  std::vector<std::string_view> strings(std::string_view key, std::string* wrong = nullptr) const;

  std::vector<std::string_view> keys() const;

  /// Warns about members that `known` does not have, each by its JSON pointer, which starts with `pointer`.
  void warn_about_keys_beyond(const ModuleOptions& known, std::string pointer,
                              Diagnostics& diagnostics) const;

  /// Returns the object as JSON text, "{}" if empty.
  std::string_view json() const;

  /// Returns these options with members overridden by those of `over`; members that are objects in both are
  /// merged.
  ModuleOptions overlaid_by(const ModuleOptions& over) const;

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace rigel
