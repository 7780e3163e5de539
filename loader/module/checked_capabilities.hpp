// Capabilities of a device from its backend, validated once for the core.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <string_view>
#include <vector>

#include "loader/module/loaded_backend.hpp"
#include "loader/text/words.hpp"

namespace rigel {

struct Capabilities {
  /// As `select` set it, except the three arrays, which are in the vectors below: their elements may have
  /// another size in the module. Strings refer to the module.
  hsabe_caps_t caps{};
  std::vector<std::string_view> isa_names;  // best first
  std::vector<hsabe_heap_t> heaps;          // the index is the `heap` of memory->allocate
  std::vector<hsabe_cache_t> caches;

  bool has(uint32_t feature) const { return (caps.features & feature) != 0; }
};

/// Validates *caps from `select` of `backend`, and checks that the backend has the required groups. The error
/// names the first invalid field.
Explained<Capabilities> check_capabilities(const LoadedBackend& backend, const hsabe_caps_t& caps);

}  // namespace rigel
