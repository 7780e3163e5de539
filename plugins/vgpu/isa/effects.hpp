// What an instruction reads and what it writes: all that an analysis of code has to know of one, whatever it computes.
//
// Registers are those that a wave has names for. MODE, TRAPSTS and the other hardware registers are none; an instruction
// that may change MODE says so. Memory is no register either.
//
// Sources: the ISA manuals of AMD (GCN 3, Vega, RDNA, RDNA 2), chapters "Scalar ALU", "Vector ALU", "Data share" and those
// of the microcode formats. reference/effects_test.cpp holds every operation against the reference model.
//
// Threads: functions without state; any.
#pragma once

#include <bitset>
#include <cstdint>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {

/// A set of registers.
struct Registers {
  std::bitset<128> scalars;  ///< By source code: VCC, EXEC and M0 are there. Never NULL.
  std::bitset<256> vgprs, agprs;
  bool scc = false;

  static Registers all();

  Registers& operator|=(const Registers& other);
  /// Without those of `other`.
  Registers& operator-=(const Registers& other);
  friend Registers operator|(Registers a, const Registers& b) { return a |= b; }
  friend Registers operator-(Registers a, const Registers& b) { return a -= b; }
  friend bool operator==(const Registers&, const Registers&) = default;

  bool empty() const { return scalars.none() && vgprs.none() && agprs.none() && !scc; }
};

/// How an instruction is related to the lanes of its wave.
enum class LaneUse : uint8_t {
  kNone,    ///< It knows no lanes: scalar instructions.
  kApart,   ///< A lane's results depend on the same lane of vector registers, and on scalars.
  kAcross,  ///< A lane's results may depend on other lanes, or scalars on lanes: DPP, v_readlane, ds_permute.
};

struct Effects {
  Registers reads;   ///< What the outcome may depend on.
  Registers writes;  ///< What may be different afterwards; of vector registers in active lanes only, …
  Registers
      replaces;  ///< … and those of them of which nothing is left: in active lanes, of vector registers.
  LaneUse lanes = LaneUse::kNone;
  bool writes_inactive_lanes = false;  ///< v_writelane: the lane that it names, whatever EXEC is.
  bool changes_mode = false;           ///< MODE may be different afterwards, and with it what follows.
  bool goes_elsewhere = false;  ///< What is executed next may not be what follows: branches, calls, ends.
};

/// Of an instruction that was decoded for `target`, in a wave of `wave_size` lanes (32 or 64). Instructions that choose
/// registers by an index at run time may read or write all VGPRs (v_movrel) or everything (s_movrel), as do those that have not all that
/// they ask for. While MODE has GPR_IDX_EN (gfx8, gfx9), what vector instructions name is not what they use: that is the caller's to know, from
/// changes_mode.
Effects effects_of(const Instruction& instruction, const Target& target, unsigned wave_size);

/// Whether a 16-bit result leaves the other half of its register alone.
bool keeps_other_half(const Instruction& instruction, const Traits& traits);

}  // namespace rigel::vgpu::isa
