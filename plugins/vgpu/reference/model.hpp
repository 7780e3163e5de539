// The reference model: executes an instruction on a wave, lane by lane, as the ISA manuals describe it. The
// handlers of exec/ are compared with it. It shares only the decoded instruction with them. Memory is in
// State::world. Test code: slow, single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/reference/soft_float.hpp"
#include "plugins/vgpu/reference/world.hpp"

namespace rigel::vgpu::exec::reference {

/// Other results that are allowed in a lane of the first destination if the manuals leave them open.
struct LaneNote {
  std::vector<uint64_t> also;  ///< Whole registers or register pairs.
  bool any = false;            ///< Any value.
  bool halves = false;         ///< The register has two halves; any NaN is allowed for a NaN half.
  bool any_nan = false;        ///< Any NaN of `format` at bit `shift` of the register.
  Format format = kSingle;
  unsigned shift = 0;

  /// Whether `actual` is allowed if the model's result is `expected`.
  bool allows(uint64_t expected, uint64_t actual) const;
};

struct State {
  isa::Target target;
  uint32_t wave_size = 64;
  uint32_t mode = 0;  ///< MODE in the hardware's layout.
  uint64_t pc = 0;    ///< Address of the instruction.
  uint32_t scc = 0;
  std::array<uint32_t, 128> scalar{};  ///< By source code, including EXEC and VCC.
  uint32_t sgprs = 106;                ///< Number of SGPRs of the wave.
  std::vector<std::array<uint32_t, 64>> vgpr;
  std::vector<std::array<uint32_t, 64>> agpr;  ///< Not modelled; for tests of matrix instructions.
  std::array<LaneNote, 64> notes;              ///< For the last instruction.
  World world;                                 ///< Empty for arithmetic.

  uint64_t exec() const;
  uint64_t pair(unsigned code) const { return scalar[code] | uint64_t{scalar[code + 1]} << 32; }
  void set_pair(unsigned code, uint64_t value);
  /// Returns the lane mask in the one or two registers from `code` on.
  uint64_t mask_at(unsigned code) const;
  void set_mask(unsigned code, uint64_t value);

  Rules single() const;  ///< Float rules of MODE for single precision.
  Rules other() const;   ///< For double and half precision.
  Rules half() const;    ///< For half precision with FP16_OVFL.
  Rules rules(Format f) const { return f == kSingle ? single() : f == kHalf ? half() : other(); }
  /// GPR_IDX_EN
  bool is_gfx942() const { return target.major == 9 && target.minor == 4; }
  bool indexes_vgprs() const { return target.family() < isa::Family::kGfx10 && (mode >> 27 & 1) != 0; }
  /// Whether MODE has IEEE and DX10_CLAMP. RDNA 4 behaves as if the first were 0 and the second were 1.
  bool has_float_modes() const { return target.family() < isa::Family::kGfx12; }
  bool ieee() const { return has_float_modes() && (mode >> 9 & 1) != 0; }
  /// Whether the operand includes SGPRs that the wave does not have.
  bool lacks_sgprs(const isa::Operand& operand) const;
  bool dx10_clamp() const { return !has_float_modes() || (mode >> 8 & 1) != 0; }
};

enum class Outcome : uint8_t {
  kDone,
  kNotModelled,  ///< Nothing has changed.
};

/// Returns the instruction with indexed VGPRs replaced according to M0.
isa::Instruction with_indices(isa::Instruction instruction, const State& state);

/// Replaces source registers that the wave does not have by v0 and s0. Returns false if a VGPR destination
/// does not exist, so that the instruction does nothing (section 3.6.1 of the manuals).
bool resolve_registers(isa::Instruction& instruction, const State& state);

/// Executes one instruction.
Outcome execute(const isa::Instruction& instruction, State& state);

/// Parts of execute(), by encoding:
Outcome execute_scalar(const isa::Instruction& instruction, State& state);
Outcome execute_vector(const isa::Instruction& instruction, State& state);
Outcome execute_data_share(const isa::Instruction& instruction, State& state);
Outcome execute_scalar_memory(const isa::Instruction& instruction, State& state);
Outcome execute_flat(const isa::Instruction& instruction, State& state);
Outcome execute_buffer(const isa::Instruction& instruction, State& state);
Outcome execute_image(const isa::Instruction& instruction, State& state);

/// Returns a constant operand's bits in the operand's type; false if it is not a constant.
bool constant_value(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits);
/// Returns a scalar operand: register, constant or special source.
uint64_t scalar_value(const isa::Operand& operand, const isa::Instruction& instruction, const State& state);
/// Writes one or two scalar registers, including EXEC, VCC and M0; NULL discards the value.
void write_scalar(const isa::Operand& operand, uint64_t value, State& state);

}  // namespace rigel::vgpu::exec::reference
