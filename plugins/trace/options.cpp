#include "plugins/trace/options.hpp"

#include <vector>

#include "loader/text/json_reader.hpp"
#include "loader/text/words.hpp"

namespace trace {
namespace {

using rigel::ObjectReader;

constexpr auto kOptional = ObjectReader::kOptional;

std::string path(ObjectReader& reader, std::string_view name, const std::string& default_value) {
  std::string value = reader.string(name, kOptional, default_value);
  if (value.empty()) reader.diagnostics().error(reader.at(name), "is empty");
  return value;
}

Patterns patterns(ObjectReader& reader, std::string_view name) {
  std::vector<std::string> list = reader.strings(name);
  for (const std::string& pattern : list) {
    if (pattern.empty() || pattern == "!")
      reader.diagnostics().error(reader.at(name), rigel::in_quotes(pattern) + " is not a pattern");
  }
  return Patterns(std::move(list));
}

uint32_t number(ObjectReader& reader, std::string_view name, uint32_t default_value, uint32_t minimum,
                uint32_t maximum) {
  return static_cast<uint32_t>(reader.integer(name, kOptional, default_value, minimum, maximum));
}

}  // namespace

Options Options::parse(std::string_view json, rigel::Diagnostics& diagnostics) {
  Options out;
  const auto document = rigel::parse_json(json, diagnostics);
  if (!document) return out;
  ObjectReader reader(&**document, "", diagnostics);
  out.file = path(reader, "file", out.file);
  out.summary = path(reader, "summary", out.summary);
  out.functions = patterns(reader, "functions");
  out.agents = patterns(reader, "agents");
  out.kernels = patterns(reader, "kernels");
  out.packets = reader.boolean("packets", out.packets);
  out.copies = reader.boolean("copies", out.copies);
  out.memory = reader.boolean("memory", out.memory);
  out.markers = reader.boolean("markers", out.markers);
  out.buffer_kb = number(reader, "buffer_kb", out.buffer_kb, 16, 1 << 20);
  out.flush_ms = number(reader, "flush_ms", out.flush_ms, 1, 60'000);
  reader.refuse_unknown_keys();
  return out;
}

std::string expand_path(std::string_view pattern, uint64_t process) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] == '%' && next == 'p') {
      out += std::to_string(process);
      ++i;
    } else {
      out += pattern[i];
      if (pattern[i] == '%' && next == '%') ++i;
    }
  }
  return out;
}

}  // namespace trace
