#include "plugins/vgpu/analysis/liveness.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::Op;

bool names_exec(const isa::Operand& operand) {
  return operand.code == isa::code::kExecLo;
}

bool writes_exec(const Node& node) {
  const auto& written = node.effects.writes.scalars;
  return written[isa::code::kExecLo] || written[isa::code::kExecHi];
}

/// What is wanted at one place.
struct Wanted {
  isa::Registers registers;
  std::bitset<256> inactive;

  Wanted& operator|=(const Wanted& other) {
    registers |= other.registers;
    inactive |= other.inactive;
    return *this;
  }
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// What is wanted before the node, from what is wanted behind it.
Wanted before(const Node& node, Wanted after) {
  const isa::Effects& effects = node.effects;
  if (writes_exec(node)) {
    // A lane that falls asleep keeps what is wanted of it then, one that wakes up brings what is wanted of it now.
    const std::bitset<256> active = after.registers.vgprs;
    after.registers.vgprs |= after.inactive;
    if (widens_exec(node)) after.inactive |= active;
  }
  after.registers -= effects.replaces;
  after.registers |= effects.reads;
  // Some instructions look at lanes whatever EXEC is.
  if (effects.lanes == isa::LaneUse::kAcross) after.inactive |= effects.reads.vgprs;
  return after;
}

Wanted behind(const Block& block, const std::vector<Wanted>& at_block, const isa::Registers& elsewhere) {
  Wanted wanted;
  if (block.leaves) wanted = {elsewhere, elsewhere.vgprs};
  for (const uint32_t successor : block.successors) wanted |= at_block[successor];
  return wanted;
}

}  // namespace

bool widens_exec(const Node& node) {
  if (!writes_exec(node)) return false;
  const isa::Instruction& in = node.instruction;
  switch (in.op) {
    case Op::s_and_saveexec_b32:
    case Op::s_and_saveexec_b64:
    case Op::s_andn1_saveexec_b32:
    case Op::s_andn1_saveexec_b64:
      // The saved copy may be EXEC itself, which is then what it was.
      return names_exec(in.dst[0]);
    case Op::s_and_b32:
    case Op::s_and_b64:
      return in.src[0].code != in.dst[0].code && in.src[1].code != in.dst[0].code;
    case Op::s_andn2_b32:
    case Op::s_andn2_b64:
      return in.src[0].code != in.dst[0].code;
    default:  // What compares gives active lanes alone a bit.
      return in.encoding != isa::Encoding::kVopc &&
             !(in.encoding == isa::Encoding::kVop3 && in.dst[0].type == isa::Type::kMask);
  }
}

Liveness liveness_of(const FlowGraph& graph, const isa::Registers& elsewhere) {
  std::vector<Wanted> at_block(graph.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = graph.blocks.size(); b-- > 0;) {
      const Block& block = graph.blocks[b];
      Wanted wanted = behind(block, at_block, elsewhere);
      for (uint32_t n = block.end; n-- > block.first;) wanted = before(graph.nodes[n], std::move(wanted));
      if (wanted == at_block[b]) continue;
      at_block[b] = std::move(wanted);
      changed = true;
    }
  }
  Liveness liveness;
  liveness.before.resize(graph.nodes.size());
  liveness.inactive_before.resize(graph.nodes.size());
  liveness.inactive_behind.resize(graph.nodes.size());
  for (const Block& block : graph.blocks) {
    Wanted wanted = behind(block, at_block, elsewhere);
    for (uint32_t n = block.end; n-- > block.first;) {
      const Wanted behind_node = wanted;
      wanted = before(graph.nodes[n], std::move(wanted));
      liveness.inactive_behind[n] = behind_node.inactive;
      liveness.before[n] = wanted.registers;
      liveness.inactive_before[n] = wanted.inactive;
    }
  }
  return liveness;
}

}  // namespace rigel::vgpu::analysis
