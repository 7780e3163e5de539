// What a backend says a device can do, checked once so that the core may believe every field of it.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string_view>
#include <vector>

#include "loader/module/loaded_backend.hpp"
#include "loader/text/words.hpp"

namespace rigel {

struct Capabilities {
  /// As `select` filled it, but that the three arrays are in the vectors below: their elements may be of
  /// another size in the module than here. Strings are the module's and stay.
  hsabe_caps_t caps{};
  std::vector<std::string_view> isa_names;  // best first
  std::vector<hsabe_heap_t> heaps;          // the index is what memory->allocate calls `heap`
  std::vector<hsabe_cache_t> caches;

  bool has(uint32_t feature) const { return (caps.features & feature) != 0; }
};

/// Checks what `select` of `backend` has written to *caps, and that the backend has the groups which it makes
/// necessary. The text names the first field that is wrong.
Explained<Capabilities> check_capabilities(const LoadedBackend& backend, const hsabe_caps_t& caps);

}  // namespace rigel
