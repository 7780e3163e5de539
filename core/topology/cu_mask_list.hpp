// HSA_CU_MASK: the compute units of GPUs that a process may use, in ROCr's grammar. Spaces are ignored, and
// letters may have either case:
//
//   list   set [; set]...                    0,2-4:0-15,32-47; 5:0x337F
//   set    gpus : units
//   gpus   range [, range]...                positions among the GPUs that the process can access
//   units  range [, range]... | 0x<digits>   bit i is unit i
//   range  number | number - number
//
// Parsing stops at the first invalid set; earlier sets apply. A set must not contain a number twice, a GPU
// must not be in two sets, and a set needs at least one unit. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rigel {

struct CuMaskList {
  /// Larger than any device. Numbers from here on are accepted and ignored.
  static constexpr uint32_t kUnitsMost = 4096, kGpusMost = 1024;

  struct Entry {
    uint32_t gpu = 0;
    std::vector<uint32_t> units;  ///< bit i of word i / 32 is unit i; not all zero
  };
  std::vector<Entry> entries;  ///< each GPU once
  bool left_out = false;       ///< whether numbers were ignored
  std::string wrong;           ///< the set where parsing stopped, and the reason; empty: none

  /// Returns the units of a GPU, null if all.
  const std::vector<uint32_t>* find(uint32_t gpu) const;
};

CuMaskList parse_cu_mask_list(std::string_view text);

}  // namespace rigel
