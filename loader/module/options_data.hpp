// What is behind Options, for the files of this folder that read JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "loader/module/options.hpp"

namespace rigel {

struct Options::Data {
  nlohmann::json object;
  std::string text;
  std::string owner;  // whose options, for warnings: "backend gfx9"
};

/// `object` must be a JSON object.
Options make_options(nlohmann::json object, std::string owner);

}  // namespace rigel
