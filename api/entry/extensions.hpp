// Supported extensions and their function tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace rigel::api {

struct Extension {
  uint16_t number;
  uint16_t major;
  uint16_t minor;
  const void* table;
  size_t table_size;                        ///< bytes
  size_t (*size_of_minor)(uint16_t minor);  ///< size in bytes of the table in an earlier minor version
};

/// A bit for each of the first 1,024 numbers, which include all of the standard and of AMD.
struct ExtensionMask {
  uint8_t bytes[128] = {};
};

/// Returns the mask of supported extensions for which `has` returns true.
ExtensionMask extension_mask(const std::function<bool(const Extension&)>& has);

/// Returns the supported extension with a number, or null.
const Extension* find_extension(uint16_t number);

/// Returns the name of any extension of HSA, AMD or Rigel, supported or not; null for other numbers.
const char* extension_name(uint16_t number);

}  // namespace rigel::api
