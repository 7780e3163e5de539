#include "plugins/vgpu/exec/group_shape.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace rigel::vgpu::exec {

GroupShape::GroupShape(const Key& shape_key) : key(shape_key) {
  const auto& [x, y, z] = key.size;
  const uint32_t items = x * y * z, wave_size = key.wave_size;
  waves = (items + wave_size - 1) / wave_size;
  ids.resize(size_t{waves} * key.id_rows * wave_size);
  uint32_t id[3] = {};
  for (uint32_t item = 0; item < items; ++item) {
    uint32_t* const rows = ids.data() + size_t{item / wave_size} * key.id_rows * wave_size + item % wave_size;
    if (key.packed_ids) {
      rows[0] = id[0] | id[1] << 10 | id[2] << 20;
    } else {
      for (uint32_t row = 0; row < key.id_rows; ++row) rows[size_t{row} * wave_size] = id[row];
    }
    if (++id[0] == x) {
      id[0] = 0;
      if (++id[1] == y) id[1] = 0, ++id[2];
    }
  }
  const uint64_t all_lanes = wave_size == 64 ? ~uint64_t{0} : 0xffffffffu;
  lanes.assign(waves, all_lanes);
  if (items % wave_size != 0) lanes.back() = (uint64_t{1} << items % wave_size) - 1;
  waves_are_alike = items % wave_size == 0;
  for (uint32_t r = 0; r < key.id_rows; ++r) {
    unsigned common_zeros = 32;
    for (uint32_t w = 0; w < waves; ++w) {
      const uint32_t* const lane_ids = row(w, r);
      common_zeros = std::min(common_zeros, static_cast<unsigned>(std::countr_zero(*lane_ids)));
      const auto differs = [&, first = row(0, r)](uint32_t lane) {
        return lane_ids[lane] - *lane_ids != first[lane] - *first;
      };
      for (uint32_t lane = 1; lane < wave_size && waves_are_alike; ++lane) waves_are_alike = !differs(lane);
    }
    zeros.push_back(common_zeros);
  }
}

// The first wave starts with the first work-item, so equal rows of it are equal offsets in all waves.
bool GroupShape::covers(const GroupShape& other) const {
  if (key == other.key) return true;
  if (!waves_are_alike || !other.waves_are_alike || key.wave_size != other.key.wave_size ||
      key.id_rows != other.key.id_rows || key.packed_ids != other.key.packed_ids)
    return false;
  const size_t ids_of_wave = size_t{key.id_rows} * key.wave_size;
  return std::ranges::equal(zeros, other.zeros, std::less_equal()) &&
         std::equal(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(ids_of_wave), other.ids.begin());
}

std::shared_ptr<const GroupShape> GroupShapes::get(const GroupShape::Key& key) {
  const MutexLock lock(mutex_);
  for (const auto& shape : latest_) {
    if (shape != nullptr && shape->key == key) return shape;
  }
  return latest_[next_++ % latest_.size()] = std::make_shared<const GroupShape>(key);
}

}  // namespace rigel::vgpu::exec
