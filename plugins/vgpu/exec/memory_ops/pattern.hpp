// Where the lanes of a wave go in memory, relative to the first of them, and how to get there: patterns that
// come again and again, because they follow from the numbers of work-items alone, are learned once. From then
// on such an access is a comparison with what is known and a few permutations of whole vectors, where lane by
// lane it would be a load and a store for each.
//
// A pattern has one list of moves, whose outputs are vectors of rows (loads) or lines of memory (stores).
// Only handlers for AVX-512 make use of them: pattern_moves.hpp. The dwords of an element are moved one after
// the other, so in memory, which other waves write meanwhile, elements of several do not go by patterns.
//
// Threads: belongs to a worker, as Memory does. Patterns know no addresses and never become stale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rigel::vgpu::exec {

/// What an instruction does with the lanes' addresses, apart from those: part of a pattern's identity.
struct PatternKind {
  bool store = false;
  uint8_t dwords = 1;  ///< Of one element.
  bool pair = false;   ///< Two elements of each lane.
  uint32_t wave_size = 64;
  int32_t second = 0;  ///< Bytes from the first element to the second.

  constexpr uint64_t code() const {
    return uint64_t{static_cast<uint32_t>(second)} << 32 |
           uint64_t{1} << 31 |  // never that of a pattern that does not exist
           (wave_size == 64 ? 32u : 0u) | (pair ? 16u : 0u) | uint64_t{dwords} << 1 | (store ? 1u : 0u);
  }
};

struct Pattern {
  static constexpr unsigned kMaxMoves = 32;
  static constexpr unsigned kVector = 64;  // bytes

  /// out[to] = in[from[index / 16]][index % 16], in the lanes of `mask`. Offsets are in bytes: of memory,
  /// from the first active lane's address; of rows, from the first one, where those of a pair's second
  /// element are the ones behind the first one's, or, in stores, kSecond further.
  static constexpr int32_t kSecond = 1 << 24;
  struct Move {
    int32_t to = 0;
    int32_t from[4] = {};
    uint16_t mask = 0;
    uint16_t high = 0;  ///< Lanes that come from the latter two.
    uint8_t index[16] = {};
  };

  alignas(64) uint32_t relative[64] = {};  ///< Addresses, less the first active lane's; 0 of other lanes.
  uint64_t exec = 0;
  uint64_t kind = 0;
  uint64_t digest = 0;  ///< Of all that makes it what it is.
  bool near = false;    ///< Whether there are moves.
  bool masked = false;  ///< Whether any of them leaves lanes of its output as they are.
  uint8_t sources = 1;  ///< Of a move at most: 1, 2 or 4.
  uint8_t count = 0;
  /// What lanes access lies in [least, least + bytes) from the first active lane's address. Loads may read as
  /// far as `least + kVector`.
  int32_t least = 0;
  uint32_t bytes = 0;
  Move moves[kMaxMoves];
};

class Patterns {
 public:
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15;

  /// The pattern that an instruction had the last time; null if it had none. Another instruction's, perhaps.
  const Pattern* last(const void* site) const { return sites_[index(site)].last; }
  void forget_last(const void* site) { sites_[index(site)].last = nullptr; }

  /// Whether it is worthwhile to look: not at instructions that went somewhere else each time.
  bool hopeful(const void* site) { return sites_[index(site)].misses < kPatience || ++skipped_ % 64 == 0; }

  /// A pattern that has moves, which becomes the site's last(). One that is not known is learned when it
  /// comes for the second time; null until then, and if lanes are too far apart. `relative` has 64 entries,
  /// as Pattern's.
  const Pattern* find(const void* site, const PatternKind& kind, uint64_t exec, const uint32_t* relative);

 private:
  static constexpr uint8_t kPatience = 64, kMiss = 4;
  static constexpr size_t kSets = 64, kSites = 1024;
  struct Site {
    const Pattern* last = nullptr;
    const Pattern* other = nullptr;  // the one before that
    uint8_t misses = 0;
  };
  struct Set {
    Pattern ways[2];
    uint64_t seen = 0;   // what came last and is not known
    bool older = false;  // the way that gives way
  };
  static size_t index(const void* site) { return reinterpret_cast<uintptr_t>(site) / 64 % kSites; }

  std::array<Set, kSets> sets_;
  std::array<Site, kSites> sites_{};
  uint32_t skipped_ = 0;
};

}  // namespace rigel::vgpu::exec
