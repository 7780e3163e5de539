// Detection of data races between the work-groups of a launch.
//
// Work-groups are unordered unless one acquires what another has released. An access races with an earlier
// one of another work-group if its work-group has executed no instruction that may acquire
// (access.hpp). Races after such an instruction are not found.
//
// Threads: any worker of the launch.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/exec/check/access.hpp"

namespace rigel::vgpu::exec {

class LaunchRaces {
 public:
  /// The last access of a work-group to a dword.
  struct Access {
    uint64_t pc = 0;  ///< 0: none
    uint32_t group = 0;
    uint8_t bytes = 0;
    bool is_atomic = false;  ///< An atomic operation, or a read that bypasses the vector cache
    bool is_write = false;
  };

  /// Notes the accesses of a part of a dword. Returns an earlier access that races with it.
  std::optional<Access> note(uint64_t dword, const Access& access, bool may_be_ordered);

 private:
  struct Cell {
    Access write;
    Access reads[2];  ///< Of two work-groups
  };
  static constexpr uint32_t kShards = 64;
  struct Shard {
    Mutex mutex;
    std::unordered_map<uint64_t, Cell> cells RIGEL_GUARDED_BY(mutex);
  };
  Shard shards_[kShards];
};

}  // namespace rigel::vgpu::exec
