#include "loader/module/module_options.hpp"

#include <utility>

#include <fmt/core.h>

#include "loader/module/module_options_data.hpp"
#include "loader/text/words.hpp"

namespace rigel {
namespace {

const nlohmann::json* member(const std::shared_ptr<const ModuleOptions::Data>& data, std::string_view key) {
  if (!data) return nullptr;
  const auto found = data->object->find(key);
  return found == data->object->end() ? nullptr : &*found;
}

void tell_type(std::string* wrong, std::string_view key, std::string_view wanted,
               const nlohmann::json& value) {
  if (wrong != nullptr)
    *wrong =
        fmt::format("option {}: should be {} but is {}; ignored", in_quotes(key), wanted, value.type_name());
}

}  // namespace

ModuleOptions make_options(JsonDocument object) {
  auto text = object->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return ModuleOptions(
      std::make_shared<const ModuleOptions::Data>(ModuleOptions::Data{std::move(object), std::move(text)}));
}

ModuleOptions read_options(ObjectReader& reader, std::string_view key) {
  const auto* object = reader.object(key, ObjectReader::kOptional).value();
  return object == nullptr ? ModuleOptions() : make_options(JsonDocument(*object));
}

int64_t ModuleOptions::integer(std::string_view key, int64_t fallback, std::string* wrong) const {
  const auto* value = member(data_, key);
  if (value == nullptr) return fallback;
  const bool fits = !value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX};
  if (value->is_number_integer() && fits) return value->get<int64_t>();
  tell_type(wrong, key, "an integer of 64 bits", *value);
  return fallback;
}

bool ModuleOptions::boolean(std::string_view key, bool fallback, std::string* wrong) const {
  const auto* value = member(data_, key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  tell_type(wrong, key, "true or false", *value);
  return fallback;
}

std::string_view ModuleOptions::string(std::string_view key, std::string_view fallback,
                                       std::string* wrong) const {
  const auto* value = member(data_, key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get_ref<const std::string&>();
  tell_type(wrong, key, "a string", *value);
  return fallback;
}

std::vector<std::string_view> ModuleOptions::strings(std::string_view key, std::string* wrong) const {
  const auto* value = member(data_, key);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get_ref<const std::string&>()};
  std::vector<std::string_view> out;
  if (value->is_array()) {
    for (const auto& element : *value) {
      if (!element.is_string()) break;
      out.push_back(element.get_ref<const std::string&>());
    }
    if (out.size() == value->size()) return out;
  }
  tell_type(wrong, key, "an array of strings", *value);
  return {};
}

std::vector<std::string_view> ModuleOptions::keys() const {
  std::vector<std::string_view> out;
  if (!data_) return out;
  for (auto it = data_->object->begin(); it != data_->object->end(); ++it) out.push_back(it.key());
  return out;
}

void ModuleOptions::warn_about_keys_beyond(const ModuleOptions& known, std::string pointer,
                                           Diagnostics& diagnostics) const {
  if (!data_) return;
  ObjectReader reader(&*data_->object, std::move(pointer), diagnostics);
  for (const auto key : known.keys()) reader.know(key);
  reader.warn_about_unknown_keys();
}

std::string_view ModuleOptions::json() const {
  return data_ ? std::string_view(data_->text) : "{}";
}

ModuleOptions ModuleOptions::overlaid_by(const ModuleOptions& over) const {
  if (!over.data_) return *this;
  if (!data_) return over;
  JsonDocument merged(*data_->object);
  merged->update(*over.data_->object, /*merge_objects=*/true);
  return make_options(std::move(merged));
}

}  // namespace rigel
