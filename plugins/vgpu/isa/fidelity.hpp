// Which operations of the instruction sets an executor supports: one row for each operation, for the fidelity
// report and for tests. The executor is queried about every row of the instruction tables, so no instruction
// is missing.
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
  kExact,        ///< Executed in every encoding of every chip.
  kApproximate,  ///< Executed; `note` describes the difference.
  kAbsent,       ///< Not executed; `note` has the reason.
};

/// Purpose of an operation. Compute kernels need the first three.
enum class Domain : uint8_t { kScalar, kVector, kMemory, kMatrix, kImage, kGraphics };

struct OperationFidelity {
  Op op;
  Domain domain;
  uint8_t generations;  ///< Bit 0: gfx8, 1: gfx9, 2: gfx10.
  Fidelity fidelity;
  std::string note;
};

/// Returns the reason why an instruction cannot be executed; empty if it can be.
using Refusal = std::function<std::string_view(const Target&, const Instruction&)>;

/// Returns a row for each operation that one of the targets has, in the order of Op. Each instruction is
/// queried for the first target of each generation that has it, with plain operands. An operation that is
/// rejected in some encodings is approximate.
std::vector<OperationFidelity> operation_fidelity(std::span<const Target> targets, const Refusal& refusal);

Domain domain_of(Op op);

/// Returns how the execution of an operation deviates; empty if it is exact.
std::string_view approximation(Op op);
/// The same for an instruction, whose operands may exclude what is not exact.
std::string_view approximation(const Instruction& instruction);

/// Makes an instruction of a row of the tables as `target` decodes it, with register operands and without
/// modifiers. Returns false if the target does not have it.
bool plain_instruction(const Target& target, uint16_t row, Instruction& instruction);

}  // namespace rigel::vgpu::isa
