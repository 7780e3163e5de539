// Reading JSON that somebody else wrote: parsing within limits, and typed access that says what is wrong, where,
// and what was probably meant, instead of throwing. All files of the runtime and of the virtual GPU are read by it.
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

/// The document, or nothing and an error. Duplicate keys, more than kMaxJsonBytes and deeper nesting than
/// kMaxJsonDepth are errors.
std::optional<JsonDocument> parse_json(std::string_view text, Diagnostics& diagnostics);

/// Typed access to the members of one object; remembers which were asked for, so that the others can be
/// warned about. Every complaint names the JSON pointer.
class ObjectReader {
 public:
  enum Presence { kOptional, kRequired };

  /// `value` may be null (absent), and of any type: if it is not an object that is an error, and all members
  /// are absent. Both `value` and `diagnostics` outlive the reader.
  ObjectReader(const nlohmann::json* value, std::string pointer, Diagnostics& diagnostics);

  std::string string(std::string_view key, Presence presence, std::string_view fallback = {});
  int64_t integer(std::string_view key, Presence presence, int64_t fallback, int64_t least, int64_t most);
  /// A number that is 0 or more, which may also be a string of hexadecimal digits after 0x; `least` if it is
  /// missing or wrong, which is said.
  uint64_t natural(std::string_view key, uint64_t least, uint64_t most);
  /// An array of `count` such numbers of 32 bits; zeros where they are missing or wrong.
  std::vector<uint32_t> words(std::string_view key, size_t count);
  bool boolean(std::string_view key, bool fallback);
  std::vector<std::string> strings(std::string_view key);
  ObjectReader object(std::string_view key, Presence presence);
  /// The elements of an array.
  std::span<const nlohmann::json> array(std::string_view key, Presence presence);

  bool has(std::string_view key) const;
  const nlohmann::json* value() const { return object_; }
  const std::string& pointer() const { return pointer_; }
  /// The JSON pointer of a member.
  std::string at(std::string_view key) const;
  Diagnostics& diagnostics() const { return *diagnostics_; }

  /// Calls `visit(key, value)` for each member that has not been asked for.
  template <class Visit>
  void for_each_other(Visit&& visit) const {
    if (object_ == nullptr) return;
    for (auto it = object_->begin(); it != object_->end(); ++it) {
      if (!is_known(it.key())) visit(it.key(), it.value());
    }
  }

  /// Takes a key for known that somebody else asks for. It outlives the reader.
  void know(std::string_view key) { known_.push_back(key); }
  /// Members that have not been asked for, each with the known one that is most like it, or with all if none is. For
  /// formats that may grow, and for those that do not.
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

/// Checks "major.minor" of a file's format: a major version other than `major` is an error.
void check_format_version(ObjectReader& reader, std::string_view key, uint32_t major);

}  // namespace rigel
