// Places in the program: stacks of calls, each kept once for as long as the tool is loaded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "api/support/mutex.hpp"

namespace validate {

struct Stack {
  static constexpr uint32_t kMost = 40;  ///< the tool's and the runtime's own frames among them
  uint32_t count = 0;
  std::array<void*, kMost> frames{};
};

/// Null: not known.
using Place = const Stack*;

class Places {
 public:
  /// With how many frames of the program; 0: none are taken.
  explicit Places(uint32_t frames);

  /// Where the calling thread is. Any thread.
  Place here();

  /// A line for each frame that is neither the tool's nor the runtime's: "module+offset (symbol+offset)".
  std::string describe(Place place, std::string_view indent) const;

 private:
  struct Shard {
    rigel::Mutex mutex;
    std::unordered_multimap<uint64_t, Stack> stacks
        RIGEL_GUARDED_BY(mutex);  // by hash; never moved, never removed
  };
  const uint32_t frames_;
  std::array<Shard, 16> shards_;
};

}  // namespace validate
