// The representation of ModuleOptions. Only files of this directory that read JSON include this header.
#pragma once

#include <string>

#include "loader/module/module_options.hpp"
#include "loader/text/json_document.hpp"
#include "loader/text/json_reader.hpp"

namespace rigel {

struct ModuleOptions::Data {
  JsonDocument object;
  std::string text;  ///< of `object`
};

/// `object` must be a JSON object.
ModuleOptions make_options(JsonDocument object);

/// Returns the options in member `key` of the reader's object. Returns empty options if there is no such
/// member. If its value is not an object, also reports that to the reader's diagnostics.
ModuleOptions read_options(ObjectReader& reader, std::string_view key);

}  // namespace rigel
