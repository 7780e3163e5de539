// The options of one backend, driver or plugin: a JSON object with typed reads.
//
// Immutable and cheap to copy; any thread may read. A missing member gives the fallback in silence, one of
// another type gives it and says so in `*wrong`. Views live as long as any copy of the ModuleOptions.
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
  struct Data;  // module_options_data.hpp, so that no JSON library shows here

  /// No options.
  ModuleOptions() = default;
  explicit ModuleOptions(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  int64_t integer(std::string_view key, int64_t fallback, std::string* wrong = nullptr) const;
  bool boolean(std::string_view key, bool fallback, std::string* wrong = nullptr) const;
  std::string_view string(std::string_view key, std::string_view fallback,
                          std::string* wrong = nullptr) const;
  /// The members of an array of strings; a lone string is an array of one.
  std::vector<std::string_view> strings(std::string_view key, std::string* wrong = nullptr) const;

  std::vector<std::string_view> keys() const;

  /// Warns of the members that `known` does not have, each by its JSON pointer, which begins with `pointer`.
  void warn_about_keys_beyond(const ModuleOptions& known, std::string pointer,
                              Diagnostics& diagnostics) const;

  /// The whole object as JSON text, "{}" if there are none.
  std::string_view json() const;

  /// These options with those of `over` on top, member by member; what both call an object is merged.
  ModuleOptions overlaid_by(const ModuleOptions& over) const;

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace rigel
