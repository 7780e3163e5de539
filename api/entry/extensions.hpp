// The extensions that the runtime supports, and the function tables that callers get for them.
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
  size_t (*size_of_minor)(uint16_t minor);  ///< bytes of the table as it was in an earlier minor version
};

/// A bit for each of the first 1,024 numbers, all of the standard's and AMD's among them.
struct ExtensionMask {
  uint8_t bytes[128] = {};
};

/// Those that are supported, of which `has` says that they count.
ExtensionMask extension_mask(const std::function<bool(const Extension&)>& has);

/// The extension of a number, if it is supported.
const Extension* find_extension(uint16_t number);

/// The name of any extension that HSA, AMD or Rigel has defined, supported or not; null for other numbers.
const char* extension_name(uint16_t number);

}  // namespace rigel::api
