// Registers that an instruction reads and writes, for analyses.
//
// MODE, TRAPSTS, other hardware registers and memory are not included; changes_mode marks changes of MODE.
//
// Sources: AMD's ISA manuals (GCN 3, Vega, RDNA, RDNA 2), chapters "Scalar ALU", "Vector ALU", "Data share"
// and the microcode formats. reference/effects_test.cpp compares every operation with the reference model.
//
// *Threads:* any; functions without state.
#pragma once

#include <bitset>
#include <cstdint>

#include "plugins/vgpu/isa/implicit_effects.hpp"
#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

/// A set of registers.
struct Registers {
  std::bitset<128> scalars;  ///< By source code, including VCC, EXEC and M0; never NULL.
  std::bitset<256> vgprs, agprs;
  bool scc = false;

  static Registers all();

  Registers& operator|=(const Registers& other);
  /// Removes the registers of `other`.
  Registers& operator-=(const Registers& other);
  friend Registers operator|(Registers a, const Registers& b) { return a |= b; }
  friend Registers operator-(Registers a, const Registers& b) { return a -= b; }
  friend bool operator==(const Registers&, const Registers&) = default;

  bool empty() const { return scalars.none() && vgprs.none() && agprs.none() && !scc; }
};

/// How an instruction combines lanes.
enum class LaneUse : uint8_t {
  kNone,    ///< No lanes: scalar instructions.
  kApart,   ///< A lane's results depend on its own lane and on scalars.
  kAcross,  ///< A lane's results may depend on other lanes, or scalars on lanes: DPP, v_readlane, ds_permute.
};

struct Effects {
  Registers reads;     ///< Registers that results may depend on.
  Registers writes;    ///< Registers that may change; VGPRs in active lanes only.
  Registers replaces;  ///< Written registers whose old values are completely replaced; VGPRs in active lanes.
  LaneUse lanes = LaneUse::kNone;
  bool writes_inactive_lanes = false;  ///< v_writelane: writes the selected lane whatever EXEC is.
  bool changes_mode = false;           ///< MODE may change, which affects later instructions.
  Flow flow = Flow::kNext;             ///< Where control continues.
};

/// Returns the effects of an instruction decoded for `target`, in a wave of `wave_size` lanes (32 or 64).
/// v_movrel may access all VGPRs. s_movrel, forks, traps and instructions with lacks_registers may access all
/// registers.
/// While GPR_IDX_EN is set (gfx8, gfx9), vector instructions access other registers than they name; callers
/// track that by changes_mode.
Effects effects_of(const Instruction& instruction, const Target& target, unsigned wave_size);

/// Whether a 16-bit result keeps the other half of its register.
bool keeps_other_half(const Instruction& instruction, const Traits& traits);

}  // namespace rigel::vgpu::isa
