// Random instructions and states, for the model and the handlers.
#pragma once

#include <random>

#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

constexpr unsigned kVgprs = 24;  ///< Few, so that operands sometimes overlap.

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>((engine_() >> 32) * end >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  /// Draws the fields of a row and decodes the instruction. Returns false if it is another row or reserved.
  /// VGPRs are mapped to the first few.
  bool instruction(const isa::Target& target, uint16_t row, isa::Instruction& out, uint32_t (&words)[5]);

  /// Replaces one of the instruction's VGPRs by one that is wholly or partly outside of state().
  void use_missing_register(isa::Instruction& instruction);

  /// Draws a wave with difficult register values.
  State state(const isa::Target& target);

  /// Draws 32 bits: extremes, powers of two, special singles, pairs of special halves, noise.
  uint32_t value();

 private:
  uint16_t half();

  std::mt19937_64 engine_;
};

}  // namespace rigel::vgpu::exec::reference
