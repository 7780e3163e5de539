// What a wave's memory instructions access: memory byte by byte, LDS, GDS, scratch, clocks. Part of State
// (model.hpp) and copied with it. Test code.
//
// The manuals do not define the order in which lanes store, so any lane may be the last. The world therefore
// records all values that an instruction wrote to a byte.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "plugins/vgpu/reference/tiling.hpp"

namespace rigel::vgpu::exec::reference {

enum class Space : uint8_t { kGlobal, kLds, kGds };

struct World {
  /// Memory at a GPU address; address and size are multiples of 4096.
  struct Region {
    uint64_t va = 0;
    std::vector<uint8_t> bytes;
    bool writable = true;
  };
  std::vector<Region> regions;
  std::vector<uint8_t> lds;  ///< Allocated size.
  std::vector<uint8_t> gds;
  std::array<uint32_t, 64> gws{};  ///< Counters of global wave sync.

  uint32_t shared_aperture_hi = 0x10000;
  uint32_t private_aperture_hi = 0x20000;
  uint64_t scratch_base = 0;      ///< gfx8: base of the offset in FLAT_SCRATCH.
  uint32_t flat_scratch[2] = {};  ///< gfx10, which has it as hardware registers.
  uint32_t scratch_lane_bytes = 0;
  uint64_t private_va = 0;  ///< The wave's part of its queue's scratch; 0: none.
  uint64_t shader_clock = 0, reference_clock = 0;
  uint32_t id_in_group = 0;
  Tiling tiling;

  /// Inaccessible bytes of the instruction, which is then not executed, or partially.
  std::set<uint64_t> faults;
  bool waits = false;  ///< The wave must retry the instruction.
  bool open = false;   ///< The manuals do not define the result.

  /// Returns `count` bytes, lowest first; inaccessible bytes are 0.
  uint64_t read(Space space, uint64_t address, unsigned count);
  /// Does not write inaccessible bytes.
  void write(Space space, uint64_t address, unsigned count, uint64_t value);
  /// Writes for an atomic operation, whose order is defined.
  void update(Space space, uint64_t address, unsigned count, uint64_t value);

  /// Returns the values that the instruction wrote to a byte, in the order of lanes; null if none.
  const std::vector<uint8_t>* given(Space space, uint64_t address) const;

 private:
  uint8_t* find(Space space, uint64_t address, bool write);

  std::map<std::pair<Space, uint64_t>, std::vector<uint8_t>> given_;
};

}  // namespace rigel::vgpu::exec::reference
