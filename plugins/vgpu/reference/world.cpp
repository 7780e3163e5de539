#include "plugins/vgpu/reference/world.hpp"

namespace rigel::vgpu::exec::reference {

uint8_t* World::find(Space space, uint64_t address, bool write) {
  if (space != Space::kGlobal) {
    std::vector<uint8_t>& bytes = space == Space::kLds ? lds : gds;
    return address < bytes.size() ? &bytes[address] : nullptr;
  }
  for (Region& region : regions) {
    if (address - region.va < region.bytes.size() && (region.writable || !write)) {
      return &region.bytes[address - region.va];
    }
  }
  faults.insert(address);
  return nullptr;
}

uint64_t World::read(Space space, uint64_t address, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (const uint8_t* const byte = find(space, address + i, false)) value |= uint64_t{*byte} << 8 * i;
  }
  return value;
}

void World::write(Space space, uint64_t address, unsigned count, uint64_t value) {
  for (unsigned i = 0; i < count; ++i) {
    uint8_t* const byte = find(space, address + i, true);
    if (byte == nullptr) continue;
    *byte = static_cast<uint8_t>(value >> 8 * i);
    given_[{space, address + i}].push_back(*byte);
  }
}

void World::update(Space space, uint64_t address, unsigned count, uint64_t value) {
  for (unsigned i = 0; i < count; ++i) {
    uint8_t* const byte = find(space, address + i, true);
    if (byte == nullptr) continue;
    *byte = static_cast<uint8_t>(value >> 8 * i);
    given_[{space, address + i}] = {*byte};
  }
}

const std::vector<uint8_t>* World::given(Space space, uint64_t address) const {
  const auto found = given_.find({space, address});
  return found == given_.end() ? nullptr : &found->second;
}

}  // namespace rigel::vgpu::exec::reference
