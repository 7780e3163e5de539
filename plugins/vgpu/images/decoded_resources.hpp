// Cache of decoded image resources. Most waves use the resource words of the preceding waves, and decoding
// a tiled layout takes longer than an image instruction.
//
// Threads: one. Each worker's Memory has a cache: a thread-local one would exceed glibc's static TLS in a
// library that is loaded with dlopen().
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "plugins/vgpu/images/resource.hpp"

namespace rigel::vgpu::images {

class DecodedResources {
 public:
  struct Entry {
    uint32_t words[8] = {};
    Generation generation{};
    bool is_filled = false, has_tiling = false;
    TilingConfig tiling;
    std::string_view rejection;
    Resource resource;
  };

  /// The result is valid until the next call.
  const Entry& find(const uint32_t (&words)[8], Generation generation, const TilingConfig* tiling) {
    Entry& entry = entries_[(words[0] ^ words[0] >> 4) % std::size(entries_)];
    if (entry.is_filled && std::memcmp(entry.words, words, sizeof words) == 0 &&
        entry.generation == generation && entry.has_tiling == (tiling != nullptr) &&
        (tiling == nullptr || entry.tiling == *tiling)) {
      return entry;
    }
    std::memcpy(entry.words, words, sizeof words);
    entry.generation = generation;
    entry.is_filled = true;
    entry.has_tiling = tiling != nullptr;
    if (tiling != nullptr) entry.tiling = *tiling;
    entry.rejection =
        decode_resource(entry.words, generation, tiling != nullptr ? &entry.tiling : nullptr, entry.resource);
    return entry;
  }

 private:
  Entry entries_[4];
};

}  // namespace rigel::vgpu::images
