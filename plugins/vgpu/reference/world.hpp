// What a wave's memory instructions see beyond its registers: memory byte by byte, LDS, GDS, scratch, clocks.
// A part of the model's State (model.hpp), copied with it. Test code.
//
// Where the manuals say nothing of the order in which lanes store, any of them may win: the world keeps all
// that was written to a byte during an instruction.
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
  /// Memory at a GPU address, a multiple of 4096, in pieces of 4096 bytes.
  struct Region {
    uint64_t va = 0;
    std::vector<uint8_t> bytes;
    bool writable = true;
  };
  std::vector<Region> regions;
  std::vector<uint8_t> lds;  ///< As allocated.
  std::vector<uint8_t> gds;
  std::array<uint32_t, 64> gws{};  ///< What the resources of global wave sync have left.

  uint32_t shared_aperture_hi = 0x10000;
  uint32_t private_aperture_hi = 0x20000;
  uint64_t scratch_base = 0;      ///< gfx8: where FLAT_SCRATCH counts from.
  uint32_t flat_scratch[2] = {};  ///< gfx10, where it is no scalar register.
  uint32_t scratch_lane_bytes = 0;
  uint64_t private_va = 0;  ///< The wave's part of its queue's scratch; 0: it has none.
  uint64_t shader_clock = 0, reference_clock = 0;
  uint32_t id_in_group = 0;
  Tiling tiling;

  /// Bytes of memory that an instruction asked for in vain. It is not done then, or not as a whole.
  std::set<uint64_t> faults;
  bool waits = false;  ///< The wave asks again later.
  bool open = false;   ///< The outcome depends on what the manuals leave open.

  /// `count` bytes, the lowest first; of those that cannot be read, 0.
  uint64_t read(Space space, uint64_t address, unsigned count);
  /// Of those that cannot be written, none are.
  void write(Space space, uint64_t address, unsigned count, uint64_t value);
  /// The same by an atomic operation, of which there is no doubt about the order.
  void update(Space space, uint64_t address, unsigned count, uint64_t value);

  /// The values that a byte was given by the instruction, in the order of the lanes; null if it was not.
  const std::vector<uint8_t>* given(Space space, uint64_t address) const;

 private:
  uint8_t* find(Space space, uint64_t address, bool write);

  std::map<std::pair<Space, uint64_t>, std::vector<uint8_t>> given_;
};

}  // namespace rigel::vgpu::exec::reference
