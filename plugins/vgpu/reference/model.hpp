// A wave and what an instruction does to it, one lane after the other, in the words of the ISA manuals: the
// reference that the handlers of exec/ are compared with. Nothing here is shared with them but the form of a
// decoded instruction. Test code: slow, single-threaded. What memory instructions see is the state's World.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/reference/soft_float.hpp"
#include "plugins/vgpu/reference/world.hpp"

namespace rigel::vgpu::exec::reference {

/// What else than the model's result is right in one lane of the first destination, where the manuals leave
/// it open: other values, any NaN.
struct LaneNote {
  std::vector<uint64_t> also;  ///< Whole registers, one or two.
  bool any = false;            ///< Whatever.
  bool halves = false;         ///< The register is two halves; any NaN will do where one is.
  bool any_nan = false;        ///< Of `format`, at bit `shift` of the register.
  Format format = kSingle;
  unsigned shift = 0;

  /// Whether `actual` will do where the model says `expected`.
  bool allows(uint64_t expected, uint64_t actual) const;
};

struct State {
  isa::Target target;
  uint32_t wave_size = 64;
  uint32_t mode = 0;  ///< MODE, as the hardware lays it out.
  uint64_t pc = 0;    ///< Of the instruction.
  uint32_t scc = 0;
  bool gathers_exceptions = false;     ///< Arithmetic ones, in
  uint32_t trap_status = 0;            ///< TRAPSTS.
  std::array<uint32_t, 128> scalar{};  ///< By source code; EXEC and VCC among them.
  uint32_t sgprs = 106;                ///< As many the wave has been given.
  std::vector<std::array<uint32_t, 64>> vgpr;
  std::array<LaneNote, 64> notes;  ///< Of the instruction that was executed last.
  World world;                     ///< Empty where only arithmetic is executed.

  uint64_t exec() const;
  uint64_t pair(unsigned code) const { return scalar[code] | uint64_t{scalar[code + 1]} << 32; }
  void set_pair(unsigned code, uint64_t value);
  /// A lane mask in the registers from `code` on: one or two, by the wave's size.
  uint64_t mask_at(unsigned code) const;
  void set_mask(unsigned code, uint64_t value);

  Rules single() const;  ///< What MODE says of single precision,
  Rules other() const;   ///< of double and half precision,
  Rules half() const;    ///< of half precision with FP16_OVFL.
  Rules rules(Format f) const { return f == kSingle ? single() : f == kHalf ? half() : other(); }
  /// GPR_IDX_EN
  bool indexes_vgprs() const { return target.family() != isa::Family::kGfx10 && (mode >> 27 & 1) != 0; }
  bool ieee() const { return (mode >> 9 & 1) != 0; }
  /// Whether an operand names ordinary SGPRs, some of which the wave has not been given.
  bool lacks_sgprs(const isa::Operand& operand) const;
  bool dx10_clamp() const { return (mode >> 8 & 1) != 0; }
};

enum class Outcome : uint8_t {
  kDone,
  kNotModelled,  ///< Not of the model's concern; nothing has changed.
};

/// The instruction with the VGPRs that indexing makes of those that it names.
isa::Instruction with_indices(isa::Instruction instruction, const State& state);

/// Names v0 and s0 in place of registers beyond the state's that the instruction reads. False: it writes such a
/// VGPR, and does nothing (section 3.6.1 of the manuals).
bool resolve_registers(isa::Instruction& instruction, const State& state);

/// Executes one instruction.
Outcome execute(const isa::Instruction& instruction, State& state);

/// Parts of execute(), by encoding.
Outcome execute_scalar(const isa::Instruction& instruction, State& state);
Outcome execute_vector(const isa::Instruction& instruction, State& state);
Outcome execute_data_share(const isa::Instruction& instruction, State& state);
Outcome execute_scalar_memory(const isa::Instruction& instruction, State& state);
Outcome execute_flat(const isa::Instruction& instruction, State& state);
Outcome execute_buffer(const isa::Instruction& instruction, State& state);
Outcome execute_image(const isa::Instruction& instruction, State& state);

/// The bits of a constant operand as an operand of its type sees them; false for what is no constant.
bool constant_value(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits);
/// What a scalar operand holds: register, constant, or one of the special sources.
uint64_t scalar_value(const isa::Operand& operand, const isa::Instruction& instruction, const State& state);
/// Writes one or two scalar registers (or SCC's neighbours: EXEC, VCC, M0); NULL takes everything.
void write_scalar(const isa::Operand& operand, uint64_t value, State& state);

}  // namespace rigel::vgpu::exec::reference
