// Reads untrusted JSON: parsing within limits, and typed access that reports problem, location and probable
// intention instead of throwing. Used for all files of the runtime and of the virtual GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "loader/text/diagnostics.hpp"
#include "loader/text/json_document.hpp"

namespace rigel {

/// Parses a document; returns nothing on error. Duplicate keys, more than kMaxJsonBytes and nesting deeper
/// than kMaxJsonDepth are errors.
std::optional<JsonDocument> parse_json(std::string_view text, Diagnostics& diagnostics);

/// Typed access to the members of one object; records requested members, so that others can be reported.
/// Every diagnostic contains the JSON pointer.
class ObjectReader {
 public:
  enum Presence { kOptional, kRequired };

  /// `value` may be null (absent) and of any type: if it is not an object, an error is reported and all
  /// members are absent. `value` and `diagnostics` outlive the reader.
  ObjectReader(const nlohmann::json* value, std::string pointer, Diagnostics& diagnostics);

  std::string string(std::string_view key, Presence presence, std::string_view fallback = {});
  int64_t integer(std::string_view key, Presence presence, int64_t fallback, int64_t least, int64_t most);
  /// Returns a number of at least 0, which may also be a string of hexadecimal digits after 0x. Reports a
  /// missing or invalid number and returns `least`.
  uint64_t natural(std::string_view key, uint64_t least, uint64_t most);
  /// Returns an array of `count` such 32-bit numbers; zeros for missing or invalid ones.
  std::vector<uint32_t> words(std::string_view key, size_t count);
  bool boolean(std::string_view key, bool fallback);
  std::vector<std::string> strings(std::string_view key);
  ObjectReader object(std::string_view key, Presence presence);
  std::span<const nlohmann::json> array(std::string_view key, Presence presence);

  bool has(std::string_view key) const;
  const nlohmann::json* value() const { return object_; }
  const std::string& pointer() const { return pointer_; }
  /// Returns the JSON pointer of a member.
  std::string at(std::string_view key) const;
  Diagnostics& diagnostics() const { return *diagnostics_; }

  /// Calls `visit(key, value)` for each member that has not been requested.
  template <class Visit>
  void for_each_other(Visit&& visit) const {
    if (object_ == nullptr) return;
    for (auto it = object_->begin(); it != object_->end(); ++it) {
      if (!is_known(it.key())) visit(it.key(), it.value());
    }
  }

  /// Marks a key as known that other code reads. The key must outlive the reader.
  void know(std::string_view key) { known_.push_back(key); }
  /// Warns about members that have not been requested, with the closest known key, or with all keys if none
  /// is close. For formats that may grow, and for fixed ones.
  void warn_about_unknown_keys() const;
  void refuse_unknown_keys() const;

 private:
  const nlohmann::json* member(std::string_view key, Presence presence);
  void wrong_type(const std::string& where, std::string_view wanted, const nlohmann::json& value,
                  const std::string& meant = {}) const;
  uint64_t natural_at(const std::string& where, const nlohmann::json& value, uint64_t least,
                      uint64_t most) const;
  std::string unknown(std::string_view key) const;
  bool is_known(std::string_view key) const;

  const nlohmann::json* object_;  // null: absent or not an object
  std::string pointer_;
  Diagnostics* diagnostics_;
  std::vector<std::string_view> known_;
};

/// Checks "major.minor" of a file's format: another major version is an error.
void check_format_version(ObjectReader& reader, std::string_view key, uint32_t major);

}  // namespace rigel
