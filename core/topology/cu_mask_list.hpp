// HSA_CU_MASK: which compute units of which GPUs a process may use. ROCr's grammar, where spaces mean nothing
// and letters may be of either case:
//
//   list   set [; set]...                    0,2-4:0-15,32-47; 5:0x337F
//   set    gpus : units
//   gpus   range [, range]...                positions among the GPUs that the process sees
//   units  range [, range]... | 0x<digits>   bit i is unit i
//   range  number | number - number
//
// Reading ends at the first set that is wrong: those before it count. In a set nothing may occur twice, a GPU
// not in a second set either, and some unit must be left. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rigel {

struct CuMaskList {
  /// No device has more. Numbers from here on are read, and left out.
  static constexpr uint32_t kUnitsMost = 4096, kGpusMost = 1024;

  struct Entry {
    uint32_t gpu = 0;
    std::vector<uint32_t> units;  ///< bit i of word i / 32 is unit i; not all zero
  };
  std::vector<Entry> entries;  ///< each GPU once
  bool left_out = false;       ///< there were such numbers
  std::string wrong;           ///< the set where reading ended, and why; empty: there is none

  /// The units of a GPU, null if all.
  const std::vector<uint32_t>* find(uint32_t gpu) const;
};

CuMaskList parse_cu_mask_list(std::string_view text);

}  // namespace rigel
