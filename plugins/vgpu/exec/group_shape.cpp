#include "plugins/vgpu/exec/group_shape.hpp"

#include <algorithm>
#include <bit>

namespace rigel::vgpu::exec {

GroupShape::GroupShape(const Key& shape_key) : key(shape_key) {
  const auto& [x, y, z] = key.size;
  const uint32_t items = x * y * z, of_wave = key.wave_size;
  waves = (items + of_wave - 1) / of_wave;
  ids.resize(size_t{waves} * key.id_rows * of_wave);
  uint32_t id[3] = {};
  for (uint32_t item = 0; item < items; ++item) {
    uint32_t* const rows = ids.data() + size_t{item / of_wave} * key.id_rows * of_wave + item % of_wave;
    if (key.packed_ids) {
      rows[0] = id[0] | id[1] << 10 | id[2] << 20;
    } else {
      for (uint32_t row = 0; row < key.id_rows; ++row) rows[size_t{row} * of_wave] = id[row];
    }
    if (++id[0] == x) {
      id[0] = 0;
      if (++id[1] == y) id[1] = 0, ++id[2];
    }
  }
  const uint64_t all = of_wave == 64 ? ~uint64_t{0} : 0xffffffffu;
  lanes.assign(waves, all);
  if (items % of_wave != 0) lanes.back() = (uint64_t{1} << items % of_wave) - 1;
  waves_are_alike = items % of_wave == 0;
  for (uint32_t r = 0; r < key.id_rows; ++r) {
    unsigned least = 32;
    for (uint32_t w = 0; w < waves; ++w) {
      const uint32_t* const is = row(w, r);
      least = std::min(least, static_cast<unsigned>(std::countr_zero(*is)));
      const auto differs = [&, first = row(0, r)](uint32_t lane) {
        return is[lane] - *is != first[lane] - *first;
      };
      for (uint32_t lane = 1; lane < of_wave && waves_are_alike; ++lane) waves_are_alike = !differs(lane);
    }
    zeros.push_back(least);
  }
}

std::shared_ptr<const GroupShape> GroupShapes::get(const GroupShape::Key& key) {
  const MutexLock lock(mutex_);
  for (const auto& shape : latest_) {
    if (shape != nullptr && shape->key == key) return shape;
  }
  return latest_[next_++ % latest_.size()] = std::make_shared<const GroupShape>(key);
}

}  // namespace rigel::vgpu::exec
