#include "plugins/vgpu/exec/memory_ops/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace rigel::vgpu::exec {
namespace {

constexpr int32_t kDword = 4;
constexpr int32_t kVector = static_cast<int32_t>(Pattern::kVector);

// A dword of memory and the dword of a row that belongs to it.
struct Pair {
  int32_t memory = 0;
  int32_t vector = 0;  // of the rows: offset in bytes, a multiple of 64
  uint8_t lane = 0;    // in that vector
};

struct Pairs {
  std::array<Pair, 256> of;
  unsigned count = 0;
};

// In the order in which stores happen: of two in the same place the latter is seen.
Pairs pairs_of(const PatternKind& kind, uint64_t exec, const uint32_t* relative) {
  Pairs pairs;
  const auto row_bytes = static_cast<int32_t>(kind.wave_size * 4);
  for (unsigned e = 0; e < (kind.pair ? 2u : 1u); ++e) {
    for (uint64_t left = exec; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      for (unsigned d = 0; d < kind.dwords; ++d) {
        Pair& pair = pairs.of[pairs.count++];
        const auto step = static_cast<int32_t>(d);
        pair.memory = static_cast<int32_t>(relative[lane]) + (e != 0 ? kind.second : 0) + step * kDword;
        pair.vector = (e == 0       ? 0
                       : kind.store ? Pattern::kSecond
                                    : kind.dwords * row_bytes) +
                      step * row_bytes + static_cast<int32_t>(lane / 16) * kVector;
        pair.lane = static_cast<uint8_t>(lane % 16);
      }
    }
  }
  return pairs;
}

// Adds a source to a move; its number, or 4 if there is no room for it.
unsigned source_of(Pattern::Move& move, unsigned& used, int32_t from) {
  for (unsigned i = 0; i < used; ++i) {
    if (move.from[i] == from) return i;
  }
  if (used == 4) return 4;
  move.from[used] = from;
  return used++;
}

void set_lane(Pattern::Move& move, unsigned lane, unsigned source, unsigned element) {
  move.index[lane] = static_cast<uint8_t>((source & 1) * 16 + element);
  move.mask = static_cast<uint16_t>(move.mask | 1u << lane);
  if (source >= 2) move.high = static_cast<uint16_t>(move.high | 1u << lane);
}

class Plan {
 public:
  explicit Plan(Pattern& pattern) : pattern_(pattern) {}

  // A vector of a row for each move: its lanes' places in memory are covered by windows as wide as a vector.
  bool load(Pairs& pairs, int32_t end) {
    std::stable_sort(pairs.of.begin(), pairs.of.begin() + pairs.count,
                     [](const Pair& a, const Pair& b) { return a.vector < b.vector; });
    for (unsigned i = 0; i < pairs.count;) {
      unsigned after = i;
      while (after < pairs.count && pairs.of[after].vector == pairs.of[i].vector) ++after;
      std::sort(pairs.of.begin() + i, pairs.of.begin() + after,
                [](const Pair& a, const Pair& b) { return a.memory < b.memory; });
      Pattern::Move* const move = next(pairs.of[i].vector);
      if (move == nullptr) return false;
      unsigned used = 0;
      for (; i < after; ++i) {
        const Pair& pair = pairs.of[i];
        if (used == 0 || pair.memory - move->from[used - 1] >= kVector) {
          if (used == 4) return false;
          // Not beyond the end of everything, as far as that is possible.
          move->from[used++] = std::max(std::min(pair.memory, end - kVector), pattern_.least);
        }
        set_lane(*move, pair.lane, used - 1,
                 static_cast<unsigned>(pair.memory - move->from[used - 1]) / kDword);
      }
      finish(*move, used);
    }
    return true;
  }

  // A line of memory for each move, or several if it has many sources.
  bool store(Pairs& pairs) {
    std::stable_sort(pairs.of.begin(), pairs.of.begin() + pairs.count,
                     [](const Pair& a, const Pair& b) { return a.memory < b.memory; });
    unsigned count = 0;  // without what is stored over
    for (unsigned i = 0; i < pairs.count; ++i) {
      if (i + 1 == pairs.count || pairs.of[i + 1].memory != pairs.of[i].memory)
        pairs.of[count++] = pairs.of[i];
    }
    for (unsigned i = 0; i < count;) {
      const int32_t line = pairs.of[i].memory;
      unsigned after = i;
      while (after < count && pairs.of[after].memory - line < kVector) ++after;
      std::array<bool, 16> done{};
      for (unsigned left = after - i; left != 0;) {
        Pattern::Move* const move = next(line);
        if (move == nullptr) return false;
        unsigned used = 0;
        for (unsigned k = i; k < after; ++k) {
          const Pair& pair = pairs.of[k];
          const auto lane = static_cast<unsigned>(pair.memory - line) / kDword;
          if (done[lane]) continue;
          const unsigned source = source_of(*move, used, pair.vector);
          if (source == 4) continue;
          set_lane(*move, lane, source, pair.lane);
          done[lane] = true;
          --left;
        }
        finish(*move, used);
      }
      i = after;
    }
    return true;
  }

 private:
  Pattern::Move* next(int32_t to) {
    if (pattern_.count == Pattern::kMaxMoves) return nullptr;
    Pattern::Move& move = pattern_.moves[pattern_.count++];
    move = {};
    move.to = to;
    return &move;
  }
  // Sources that are not used may be read: they are where the first one is.
  void finish(Pattern::Move& move, unsigned used) {
    for (unsigned i = used; i < 4; ++i) move.from[i] = move.from[0];
    pattern_.sources = std::max(pattern_.sources, static_cast<uint8_t>(used == 3 ? 4 : used));
    pattern_.masked = pattern_.masked || move.mask != 0xffff;
  }

  Pattern& pattern_;
};

void make(Pattern& pattern, const PatternKind& kind, uint64_t exec, const uint32_t* relative) {
  pattern.exec = exec;
  pattern.kind = kind.code();
  pattern.near = pattern.masked = false;
  pattern.sources = 1;
  pattern.count = 0;
  std::copy_n(relative, 64, pattern.relative);

  constexpr int32_t kFar = 1 << 14;  // more than moves can cover
  uint32_t bits = static_cast<uint32_t>(kind.second);
  for (uint64_t left = exec; left != 0; left &= left - 1) {
    const auto offset = static_cast<int32_t>(relative[std::countr_zero(left)]);
    if (offset < -kFar || offset > kFar) return;
    bits |= static_cast<uint32_t>(offset);
  }
  if (bits % kDword != 0) return;
  Pairs pairs = pairs_of(kind, exec, relative);
  const auto [first, last] =
      std::minmax_element(pairs.of.begin(), pairs.of.begin() + pairs.count,
                          [](const Pair& a, const Pair& b) { return a.memory < b.memory; });
  const int32_t end = last->memory + kDword;
  pattern.least = first->memory;
  pattern.bytes = static_cast<uint32_t>(end - pattern.least);
  Plan plan(pattern);
  pattern.near = kind.store ? plan.store(pairs) : plan.load(pairs, end);
}

uint64_t digest(uint64_t kind, uint64_t exec, const uint32_t* relative) {
  // Four sums that don't wait for each other.
  uint64_t sums[4] = {kind, exec, ~kind, ~exec};
  for (unsigned i = 0; i < 64; i += 4) {
    for (unsigned k = 0; k < 4; ++k) sums[k] = (sums[k] ^ relative[i + k]) * Patterns::kMix + (sums[k] >> 32);
  }
  uint64_t all = 0;
  for (const uint64_t sum : sums) all = (all ^ sum ^ sum >> 29) * Patterns::kMix;
  return all | 1;
}

bool is(const Pattern& pattern, uint64_t kind, uint64_t exec, const uint32_t* relative) {
  return pattern.kind == kind && pattern.exec == exec &&
         std::memcmp(relative, pattern.relative, sizeof pattern.relative) == 0;
}

}  // namespace

const Pattern* Patterns::find(const void* where, const PatternKind& kind, uint64_t exec,
                              const uint32_t* relative) {
  const uint64_t code = kind.code();
  Site& site = sites_[index(where)];
  if (site.other != nullptr && site.other->near && is(*site.other, code, exec, relative)) {  // waves in turns
    std::swap(site.last, site.other);
    return site.last;
  }
  const uint64_t now = digest(code, exec, relative);
  Set& set = sets_[now >> 32 & (kSets - 1)];
  const Pattern* found = nullptr;
  for (unsigned way = 0; way < 2; ++way) {
    const Pattern& pattern = set.ways[way];
    if (pattern.digest != now || !is(pattern, code, exec, relative)) continue;
    set.older = way == 0;
    found = &pattern;
  }
  if (found != nullptr && found->near) {
    if (site.misses != 0) --site.misses;
    site.other = site.last;
    return site.last = found;
  }
  if (site.misses < kPatience) site.misses = static_cast<uint8_t>(site.misses + kMiss);
  site.last = nullptr;
  site.other = nullptr;
  if (found != nullptr) return nullptr;
  if (set.seen != now) {
    set.seen = now;
    return nullptr;
  }
  Pattern& pattern = set.ways[set.older ? 1 : 0];
  make(pattern, kind, exec, relative);
  pattern.digest = now;
  set.older = !set.older;
  return pattern.near ? site.last = &pattern : nullptr;
}

}  // namespace rigel::vgpu::exec
