#include "loader/text/json_reader.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "loader/text/words.hpp"

namespace rigel {
namespace {

using nlohmann::json;

// A file may have any number of errors; further ones are not useful.
constexpr size_t kMaxDiagnostics = 32;

// Builds the document from the parser's events. The library's builder neither limits the depth, nor detects
// duplicate keys, nor returns the parser's message without an exception.
class Builder {
 public:
  explicit Builder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t&) { return false; }

  bool start_object(size_t) { return push(json::object()); }
  bool start_array(size_t) { return push(json::array()); }
  bool end_object() { return pop(); }
  bool end_array() { return pop(); }

  bool key(std::string& name) {
    const auto [place, is_new] = open_.back()->emplace(name, nullptr);
    if (!is_new) {
      diagnostics_.error("", fmt::format("duplicate key {}", in_quotes(name)));
      return false;
    }
    member_ = &*place;
    return true;
  }

  bool parse_error(size_t, const std::string&, const json::exception& problem) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": omits the number.
    std::string_view text(problem.what());
    if (const size_t end = text.find("] "); end != text.npos) text.remove_prefix(end + 2);
    constexpr size_t kLongest = 240;
    std::string line(text.substr(0, kLongest));
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20) c = '?';
    }
    diagnostics_.error("", line);
    return false;
  }

  JsonDocument take() { return std::move(root_); }

 private:
  // Inserts a value: the root, the end of the open array, or the value of the last key.
  template <class Value>
  json* place(Value&& value) {
    if (open_.empty()) {
      *root_ = std::forward<Value>(value);
      return &*root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::forward<Value>(value));
      return &open_.back()->back();
    }
    *member_ = std::forward<Value>(value);
    return member_;
  }

  template <class Value>
  bool put(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  bool push(json container) {
    if (open_.size() == kMaxJsonDepth) {
      diagnostics_.error("", fmt::format("nested deeper than {} levels", kMaxJsonDepth));
      return false;
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool pop() {
    open_.pop_back();
    return true;
  }

  JsonDocument root_;
  std::vector<json*> open_;  // the open arrays and objects, from the root to the innermost
  json* member_ = nullptr;   // the member of the innermost object whose value is next
  Diagnostics& diagnostics_;
};

// Suggests the intended value for a value of another type; empty if unknown.

// A string in JSON syntax, truncated like all untrusted text.
std::string in_double_quotes(std::string_view text) {
  std::string out = in_quotes(text);
  out.front() = out.back() = '"';
  return out;
}

// Suggests one string with commas for an array.
std::string as_string(const json& value) {
  if (value.is_number() || value.is_boolean()) return '"' + value.dump() + '"';
  if (!value.is_array() || value.empty()) return {};
  std::string list;
  for (const json& element : value) {
    if (!element.is_string()) return {};
    if (!list.empty()) list += ',';
    list += element.get_ref<const std::string&>();
  }
  return in_double_quotes(list);
}

std::string as_integer(const json& value) {
  if (!value.is_string()) return {};
  const auto& text = value.get_ref<const std::string&>();
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? std::to_string(number) : "";
}

std::string as_boolean(const json& value) {
  const std::string text = value.is_string()   ? value.get<std::string>()
                           : value.is_number() ? value.dump()
                                               : "";
  for (const char* word : {"true", "on", "yes", "1"}) {
    if (text == word) return "true";
  }
  for (const char* word : {"false", "off", "no", "0"}) {
    if (text == word) return "false";
  }
  return {};
}

}  // namespace

void Diagnostics::add(bool is_error, std::string_view where, std::string_view text) {
  errors_ += is_error ? 1 : 0;
  if (entries_.size() == kMaxDiagnostics) {
    entries_.push_back({is_error, "and more"});
    return;
  }
  if (entries_.size() > kMaxDiagnostics) {
    entries_.back().is_error |= is_error;
    return;
  }
  entries_.push_back({is_error, where.empty() ? std::string(text) : fmt::format("{}: {}", where, text)});
}

std::optional<JsonDocument> parse_json(std::string_view text, Diagnostics& diagnostics) {
  if (text.size() > kMaxJsonBytes) {
    diagnostics.error("", fmt::format("{} bytes exceed the maximum of {}", text.size(), kMaxJsonBytes));
    return std::nullopt;
  }
  Builder builder(diagnostics);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

ObjectReader::ObjectReader(const json* value, std::string pointer, Diagnostics& diagnostics)
    : object_(value), pointer_(std::move(pointer)), diagnostics_(&diagnostics) {
  if (value != nullptr && !value->is_object()) {
    diagnostics_->error(pointer_.empty() ? "the document" : pointer_,
                        fmt::format("should be an object but is {}", value->type_name()));
    object_ = nullptr;
  }
}

std::string ObjectReader::at(std::string_view key) const {
  std::string out = pointer_ + '/';
  for (const char c : key.substr(0, 80)) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

bool ObjectReader::has(std::string_view key) const {
  return object_ != nullptr && object_->find(key) != object_->end();
}

bool ObjectReader::is_known(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

const json* ObjectReader::member(std::string_view key, Presence presence) {
  know(key);
  if (object_ == nullptr) return nullptr;  // reported before
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  if (presence == kRequired) diagnostics_->error(at(key), "is missing");
  return nullptr;
}

void ObjectReader::wrong_type(const std::string& where, std::string_view wanted, const json& value,
                              const std::string& meant) const {
  diagnostics_->error(where, fmt::format("should be {} but is {}{}", wanted, value.type_name(),
                                         meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
}

std::string ObjectReader::string(std::string_view key, Presence presence, std::string_view fallback) {
  const auto* value = member(key, presence);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) {
    wrong_type(at(key), "a string", *value, as_string(*value));
    return std::string(fallback);
  }
  const auto& text = value->get_ref<const std::string&>();
  // A C function would end the text at a NUL.
  if (text.find('\0') != text.npos) diagnostics_->error(at(key), "contains a NUL character");
  if (presence == kRequired && text.empty()) diagnostics_->error(at(key), "is empty");
  return text;
}

int64_t ObjectReader::integer(std::string_view key, Presence presence, int64_t fallback, int64_t least,
                              int64_t most) {
  const auto* value = member(key, presence);
  if (value == nullptr) return fallback;
  if (!value->is_number_integer()) {
    wrong_type(at(key), "an integer", *value, as_integer(*value));
    return fallback;
  }
  const bool fits = !value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX};
  const int64_t number = fits ? value->get<int64_t>() : INT64_MAX;
  if (!fits || number < least || number > most) {
    diagnostics_->error(at(key),
                        fmt::format("should be between {} and {} but is {}", least, most, value->dump()));
    return fallback;
  }
  return number;
}

uint64_t ObjectReader::natural_at(const std::string& where, const json& value, uint64_t least,
                                  uint64_t most) const {
  uint64_t number = 0;
  bool good = value.is_number_unsigned();
  if (good) {
    number = value.get<uint64_t>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    if (text.starts_with("0x")) {
      const auto read = std::from_chars(text.data() + 2, end, number, 16);
      good = read.ec == std::errc{} && read.ptr == end;
    }
  }
  if (!good) {
    wrong_type(where, "a number, 0 or more, or a string such as \"0x1f\",", value, as_integer(value));
    return least;
  }
  if (number >= least && number <= most) return number;
  diagnostics_->error(where, fmt::format("should be between {} and {} but is {}", least, most, number));
  return least;
}

uint64_t ObjectReader::natural(std::string_view key, uint64_t least, uint64_t most) {
  const auto* value = member(key, kRequired);
  return value == nullptr ? least : natural_at(at(key), *value, least, most);
}

std::vector<uint32_t> ObjectReader::words(std::string_view key, size_t count) {
  std::vector<uint32_t> out(count);
  const auto elements = array(key, kRequired);
  if (elements.size() != count && has(key) && object_->find(key)->is_array()) {
    diagnostics_->error(at(key), fmt::format("should have {} elements but has {}", count, elements.size()));
  }
  for (size_t i = 0; i < std::min(count, elements.size()); ++i) {
    out[i] = static_cast<uint32_t>(natural_at(fmt::format("{}/{}", at(key), i), elements[i], 0, UINT32_MAX));
  }
  return out;
}

bool ObjectReader::boolean(std::string_view key, bool fallback) {
  const auto* value = member(key, kOptional);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  wrong_type(at(key), "true or false", *value, as_boolean(*value));
  return fallback;
}

std::vector<std::string> ObjectReader::strings(std::string_view key) {
  std::vector<std::string> out;
  const auto elements = array(key, kOptional);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].is_string()) {
      out.push_back(elements[i].get_ref<const std::string&>());
    } else {
      diagnostics_->error(fmt::format("{}/{}", at(key), i),
                          fmt::format("should be a string but is {}", elements[i].type_name()));
    }
  }
  return out;
}

ObjectReader ObjectReader::object(std::string_view key, Presence presence) {
  return ObjectReader(member(key, presence), at(key), *diagnostics_);
}

std::span<const json> ObjectReader::array(std::string_view key, Presence presence) {
  const auto* value = member(key, presence);
  if (value == nullptr) return {};
  if (value->is_array()) return value->get_ref<const json::array_t&>();
  wrong_type(
      at(key), "an array", *value,
      value->is_string() ? fmt::format("[{}]", in_double_quotes(value->get_ref<const std::string&>())) : "");
  return {};
}

std::string ObjectReader::unknown(std::string_view key) const {
  if (known_.empty()) return "unknown key; no keys are allowed here";
  const std::string guess = suggestion(key, known_);
  return "unknown key" + (guess.empty() ? fmt::format("; use {}", fmt::join(known_, ", ")) : guess);
}

void ObjectReader::warn_about_unknown_keys() const {
  for_each_other([&](const std::string& key, const json&) { diagnostics_->warning(at(key), unknown(key)); });
}

void ObjectReader::refuse_unknown_keys() const {
  for_each_other([&](const std::string& key, const json&) { diagnostics_->error(at(key), unknown(key)); });
}

void check_format_version(ObjectReader& reader, std::string_view key, uint32_t major) {
  const std::string text = reader.string(key, ObjectReader::kRequired);
  if (text.empty()) return;
  uint32_t found_major = 0;
  uint32_t minor = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, found_major);
  const bool dotted = first.ec == std::errc{} && first.ptr != end && *first.ptr == '.';
  const auto second = dotted ? std::from_chars(first.ptr + 1, end, minor) : first;
  if (!dotted || second.ec != std::errc{} || second.ptr != end) {
    reader.diagnostics().error(reader.at(key),
                               in_quotes(text) + ": invalid version; use a version such as '1.0'");
  } else if (found_major != major) {
    reader.diagnostics().error(reader.at(key), fmt::format("unknown format {}; this runtime reads format {}",
                                                           in_quotes(text), major));
  }
}

}  // namespace rigel
