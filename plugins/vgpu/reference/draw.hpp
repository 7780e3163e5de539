// Random instructions and random states: what the reference and the handlers are both given.
#pragma once

#include <random>

#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

constexpr unsigned kVgprs = 24;  ///< Few, so that operands overlap now and then.

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>((engine_() >> 32) * end >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  /// Fills in the fields of a table's row at random and decodes it. False if what came out is not this row,
  /// or reserved. VGPRs are then moved among the first few.
  bool instruction(const isa::Target& target, uint16_t row, isa::Instruction& out, uint32_t (&words)[5]);

  /// Makes one of the VGPRs that the instruction names one that a wave of state() does not have, or whose
  /// last part it does not have.
  void go_beyond(isa::Instruction& instruction);

  /// A wave whose registers hold what instructions find difficult.
  State state(const isa::Target& target);

  /// Arithmetic exceptions are gathered; MODE enables some.
  void exceptions(State& state);

  /// 32 bits: extremes, powers of two, single-precision specials, pairs of half-precision specials, noise.
  uint32_t value();

 private:
  uint16_t half();

  std::mt19937_64 engine_;
};

}  // namespace rigel::vgpu::exec::reference
