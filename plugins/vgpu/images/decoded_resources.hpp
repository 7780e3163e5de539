// The resources that were decoded last: waves mostly come with the words of those before them, and a tiled layout takes longer
// to find out than what it is needed for.
//
// One thread. Some kilobytes: it belongs to a worker's Memory, as a module that a program loads has no room for that in
// what each thread has of its own (glibc's static TLS).
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
    std::string_view refusal;
    Resource resource;
  };

  /// Valid until the next call.
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
    entry.refusal =
        decode_resource(entry.words, generation, tiling != nullptr ? &entry.tiling : nullptr, entry.resource);
    return entry;
  }

 private:
  Entry entries_[4];
};

}  // namespace rigel::vgpu::images
