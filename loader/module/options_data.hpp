// What is behind Options, for the files of this folder that read JSON.
#pragma once

#include <string>

#include "loader/module/json_document.hpp"
#include "loader/module/options.hpp"

namespace rigel {

struct Options::Data {
  JsonDocument object;
  std::string text;
};

/// `object` must be a JSON object.
Options make_options(JsonDocument object);

}  // namespace rigel
