// Numbers of hardware registers, and the field that SIMM16 selects in s_getreg and s_setreg. Source: AMD's
// ISA manuals, "Hardware Register Values" and S_SETREG_B32.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::isa {

namespace hwreg {
enum : uint32_t {
  kMode = 1,
  kStatus = 2,
  kTrapStatus = 3,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbStatus = 7,
  kShMemBases = 15,
  kTbaLo = 16,
  kTbaHi = 17,
  kTmaLo = 18,
  kTmaHi = 19,
  kXccId = 20,  ///< Traits::has_xcc_id
  kFlatScratchLo = 20,
  kFlatScratchHi = 21,
  kXnackMask = 22,
  kHwId1 = 23,
  kHwId2 = 24,
  kShaderCycles = 29,
  // Traits::has_split_status
  kStatePrivate = 4,
  kPerformanceData1 = 15,
  kPerformanceData2 = 16,
  kPrivateExceptions = 17,
  kUserExceptions = 18,
  kTrapControl = 19,
  kScratchBaseLo = 20,
  kScratchBaseHi = 21,
  kShaderCyclesHi = 30,
};
}  // namespace hwreg

struct RegisterField {
  uint32_t id = 0;  ///< One of hwreg, or an unknown number.
  uint32_t shift = 0;
  uint32_t mask = 0;  ///< Width as a mask, from bit 0 on.
};

constexpr RegisterField register_field(const Instruction& instruction) {
  const uint32_t width = (instruction.simm16 >> 11 & 0x1fu) + 1;
  return {instruction.simm16 & 0x3fu, instruction.simm16 >> 6 & 0x1fu, width == 32 ? ~0u : (1u << width) - 1};
}

}  // namespace rigel::vgpu::isa
