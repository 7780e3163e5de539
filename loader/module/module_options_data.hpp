// Implementation of ModuleOptions, for the files of this directory that read JSON.
#pragma once

#include <string>

#include "loader/module/module_options.hpp"
#include "loader/text/json_document.hpp"
#include "loader/text/json_reader.hpp"

namespace rigel {

struct ModuleOptions::Data {
  JsonDocument object;
  std::string text;
};

/// `object` must be a JSON object.
ModuleOptions make_options(JsonDocument object);

/// Reads the object member `key`; empty if it is missing, or of another type, which is reported.
ModuleOptions read_options(ObjectReader& reader, std::string_view key);

}  // namespace rigel
