// What work-groups of one size have in common: how many waves they have, which lanes of each are there, and
// the ids that work-items start with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"

namespace rigel::vgpu::exec {

struct GroupShape {
  struct Key {
    uint32_t size[3] = {1, 1, 1};  ///< in work-items
    uint32_t wave_size = 64;
    uint32_t id_rows = 1;     ///< VGPRs that hold ids
    bool packed_ids = false;  ///< all three in one VGPR

    bool operator==(const Key&) const = default;
  };

  explicit GroupShape(const Key& key);

  Key key;
  uint32_t waves = 0;
  std::vector<uint64_t> lanes;  ///< EXEC of each wave
  std::vector<uint32_t> ids;    ///< rows of v0 (v1, v2) of each wave
  /// All waves have all lanes, and their rows differ by a number that is the same for all lanes of a wave.
  bool waves_are_alike = true;
  /// For each row, how many low bits of its first lane are 0 in every wave.
  std::vector<unsigned> zeros;

  /// The first lane of a row of a wave, and those behind it.
  const uint32_t* row(uint32_t wave, uint32_t row) const {
    return ids.data() + (size_t{wave} * key.id_rows + row) * key.wave_size;
  }
};

/// The latest few. Any thread.
class GroupShapes {
 public:
  std::shared_ptr<const GroupShape> get(const GroupShape::Key& key);

 private:
  Mutex mutex_;
  std::array<std::shared_ptr<const GroupShape>, 8> latest_ RIGEL_GUARDED_BY(mutex_);
  size_t next_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel::vgpu::exec
