// What is behind Options, for the files of this folder that read JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "loader/module/options.hpp"

namespace rigel {

struct Options::Data {
  nlohmann::json object;
  std::string text;
};

/// `object` must be a JSON object.
Options make_options(nlohmann::json object);

}  // namespace rigel
