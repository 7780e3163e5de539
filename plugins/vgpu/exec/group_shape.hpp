// The shape of a work-group: the number of waves, the lanes of each, and the initial ids of the work-items.
// It depends only on the size of the work-group and the format of the ids.
#pragma once

#include <array>
#include <compare>
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
    bool packed_ids = false;  ///< all three ids in one VGPR

    auto operator<=>(const Key&) const = default;
  };

  explicit GroupShape(const Key& key);

  Key key;
  uint32_t waves = 0;
  std::vector<uint64_t> lanes;  ///< initial EXEC of each wave
  std::vector<uint32_t> ids;    ///< initial v0 (v1, v2) of each wave
  /// All waves have all lanes, and each row equals that of wave 0 plus a constant per wave.
  bool waves_are_alike = true;
  /// By row: number of low bits of the first lane that are 0 in every wave.
  std::vector<unsigned> zeros;

  /// Whether full waves of `other` start with ids of which everything holds that holds of this shape's.
  bool covers(const GroupShape& other) const;

  /// Returns row `row` of the initial ids of a wave, by lane.
  const uint32_t* row(uint32_t wave, uint32_t row) const {
    return ids.data() + (size_t{wave} * key.id_rows + row) * key.wave_size;
  }
};

/// A cache of the last eight shapes. Threads: any.
class GroupShapes {
 public:
  std::shared_ptr<const GroupShape> get(const GroupShape::Key& key);

 private:
  Mutex mutex_;
  std::array<std::shared_ptr<const GroupShape>, 8> latest_ RIGEL_GUARDED_BY(mutex_);
  size_t next_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel::vgpu::exec
