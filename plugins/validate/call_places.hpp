// Call stacks of the program. Each different stack is stored once and lives until the tool is unloaded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "api/support/mutex.hpp"

namespace validate {

struct Stack {
  static constexpr uint32_t kMaxFrames = 40;  ///< including frames of the tool and the runtime
  uint32_t count = 0;
  std::array<void*, kMaxFrames> frames{};
};

/// Null: unknown.
using Place = const Stack*;

class Places {
 public:
  /// `frames`: number of program frames per stack. 0 disables recording.
  explicit Places(uint32_t frames);

  /// Records the calling thread's stack. Any thread.
  Place here();

  /// Formats one line for each frame outside the tool and the runtime: "module+offset (symbol+offset)".
  std::string describe(Place place, std::string_view indent) const;

 private:
  struct Shard {
    rigel::Mutex mutex;
    std::unordered_multimap<uint64_t, Stack> stacks
        RIGEL_GUARDED_BY(mutex);  // by hash; entries never move and are never removed
  };
  const uint32_t frames_;
  std::array<Shard, 16> shards_;
};

}  // namespace validate
