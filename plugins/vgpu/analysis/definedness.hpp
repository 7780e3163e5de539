// Which registers a kernel may read before it has written them.
//
// A register is *defined* where every path from the start has written it; a VGPR separately in active and in
// inactive lanes. Lanes that did not start count as defined. Where the analysis cannot tell, the state of the
// register has to be *tracked* as the kernel runs: tests before reads, notes of writes.
//
// Threads: a Definedness is immutable.
#pragma once

#include <bitset>
#include <vector>

#include "plugins/vgpu/analysis/liveness.hpp"

namespace rigel::vgpu::analysis {

/// Registers that waves start with; special registers are defined in any case.
struct StartRegisters {
  uint32_t scalars = 0;
  uint32_t rows = 0;

  friend bool operator==(const StartRegisters&, const StartRegisters&) = default;
};

/// SGPRs from here on are special registers, which count as defined.
constexpr uint32_t kFirstDefinedScalar = 102;

/// In which lanes an instruction reads a VGPR.
enum class LanesRead : uint8_t {
  kActive,
  kFirst,  ///< The first active lane, or lane 0
  kOne,    ///< The lane that v_readlane selects
  kAll,
};
LanesRead lanes_read_by(const isa::Instruction& instruction);

struct Definedness {
  /// By node: registers that it reads and that may be undefined there.
  std::vector<isa::Registers> tested;
  /// By node: registers that it writes and whose definedness has to be noted.
  std::vector<isa::Registers> noted;
  /// Registers that are tested, or that are live and may be undefined at some node.
  isa::Registers tracked;
  /// An instruction may write a register that run-time values select.
  bool writes_unknown = false;
};

/// `live`: of `graph`. Control may enter at any block from other code, if all live registers are defined
/// then.
Definedness definedness_of(const FlowGraph& graph, const Liveness& live, const StartRegisters& start);

}  // namespace rigel::vgpu::analysis
