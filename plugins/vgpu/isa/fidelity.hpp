// What of the instruction sets an executor has, found by asking it: a row an operation, for the fidelity
// report and for the tests that hold the executor to it. The rows come from the instruction tables, so
// nothing can be left out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

enum class Fidelity : uint8_t {
  kExact,        ///< Executed in every encoding that a chip has it in.
  kApproximate,  ///< Executed, but `note` says what differs.
  kAbsent,       ///< Not executed; `note` says why.
};

/// What an operation is for. Compute needs the first three.
enum class Domain : uint8_t { kScalar, kVector, kMemory, kMatrix, kImage, kGraphics };

struct OperationFidelity {
  Op op;
  Domain domain;
  uint8_t generations;  ///< Bit 0: gfx8, 1: gfx9, 2: gfx10.
  Fidelity fidelity;
  std::string note;
};

/// Asks whether an instruction can be executed: the reason why not, or nothing.
using Refusal = std::function<std::string_view(const Target&, const Instruction&)>;

/// One row an operation that one of the targets has, in the order of Op. Each instruction of the tables is
/// asked about for the first target of each generation that has it, with plain operands: an operation that is
/// refused in some of its encodings is approximate.
std::vector<OperationFidelity> operation_fidelity(std::span<const Target> targets, const Refusal& refusal);

Domain domain_of(Op op);

/// What an operation that is executed does only nearly, or leaves out; empty if it is exact.
std::string_view approximation(Op op);

/// An instruction of a line of the tables, with registers for operands and without modifiers, as `target`
/// decodes it. False if the target doesn't have it.
bool plain_instruction(const Target& target, uint16_t row, Instruction& instruction);

}  // namespace rigel::vgpu::isa
