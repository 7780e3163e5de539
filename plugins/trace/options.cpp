#include "plugins/trace/options.hpp"

#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

namespace trace {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void text(const char* name, std::string& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_string() || found->get_ref<const std::string&>().empty()) {
      complain(name, "should be a string that is not empty", *found);
    } else {
      value = found->get<std::string>();
    }
  }
  void boolean(const char* name, bool& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (found->is_boolean()) {
      value = found->get<bool>();
    } else {
      complain(name, "should be true or false", *found);
    }
  }
  void number(const char* name, uint32_t& value, uint32_t least, uint32_t greatest) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (found->is_number_unsigned() && found->get<uint64_t>() >= least &&
        found->get<uint64_t>() <= greatest) {
      value = found->get<uint32_t>();
    } else {
      complain(name, "should be an integer from " + std::to_string(least) + " to " + std::to_string(greatest),
               *found);
    }
  }
  void patterns(const char* name, Patterns& value) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    std::vector<std::string> list;
    bool good = found->is_array();
    for (size_t i = 0; good && i < found->size(); ++i) {
      const Json& item = (*found)[i];
      good = item.is_string() && !item.get_ref<const std::string&>().empty() && item != "!";
      if (good) list.push_back(item.get<std::string>());
    }
    if (!good) {
      complain(name, "should be a list of patterns", *found);
    } else {
      value = Patterns(std::move(list));
    }
  }
  /// What nobody has asked for, and what was wrong.
  void finish() {
    for (const auto& [name, value] : object_.items()) {
      bool known = false;
      std::string all;
      for (const std::string& asked : asked_) {
        known |= asked == name;
        all += (all.empty() ? "" : ", ") + asked;
      }
      if (!known) add("option '" + name + "' is unknown; there are " + all);
    }
    if (!errors_.empty()) throw std::invalid_argument(errors_);
  }

 private:
  const Json* find(const char* name) {
    asked_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  void complain(const char* name, const std::string& should, const Json& is) {
    add("option '" + std::string(name) + "' " + should + " but is " + is.dump());
  }
  void add(const std::string& error) { errors_ += (errors_.empty() ? "" : "; ") + error; }

  const Json& object_;
  std::vector<std::string> asked_;
  std::string errors_;
};

}  // namespace

Options Options::parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw std::invalid_argument("the options should be a JSON object");
  Options out;
  Reader reader(json);
  reader.text("file", out.file);
  reader.text("summary", out.summary);
  reader.patterns("functions", out.functions);
  reader.patterns("agents", out.agents);
  reader.patterns("kernels", out.kernels);
  reader.boolean("packets", out.packets);
  reader.boolean("copies", out.copies);
  reader.boolean("memory", out.memory);
  reader.boolean("markers", out.markers);
  reader.number("buffer_kb", out.buffer_kb, 16, 1 << 20);
  reader.number("flush_ms", out.flush_ms, 1, 60'000);
  reader.finish();
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
