#include "plugins/vgpu/analysis/liveness.hpp"

namespace rigel::vgpu::analysis {
namespace {

bool names_exec(const isa::Operand& operand) {
  return operand.code == isa::code::kExecLo;
}

/// Registers that are live at one point of the code.
struct Live {
  isa::Registers registers;
  std::bitset<256> inactive;

  Live& operator|=(const Live& other) {
    registers |= other.registers;
    inactive |= other.inactive;
    return *this;
  }
  friend bool operator==(const Live&, const Live&) = default;
};

Live live_before(const Node& node, Live after) {
  const isa::Effects& effects = node.effects;
  if (writes_exec(node)) {
    // A lane that becomes inactive keeps its live registers. One that becomes active adds its own.
    const std::bitset<256> active = after.registers.vgprs;
    after.registers.vgprs |= after.inactive;
    if (widens_exec(node)) after.inactive |= active;
  }
  after.registers -= effects.replaces;
  after.registers |= effects.reads;
  // Such instructions also read inactive lanes.
  if (effects.lanes == isa::LaneUse::kAcross) after.inactive |= effects.reads.vgprs;
  return after;
}

Live live_after(const Block& block, const std::vector<Live>& at_block, const isa::Registers& elsewhere) {
  Live live;
  if (block.leaves) live = {elsewhere, elsewhere.vgprs};
  for (const uint32_t successor : block.successors) live |= at_block[successor];
  return live;
}

}  // namespace

bool writes_exec(const Node& node) {
  const auto& written = node.effects.writes.scalars;
  return written[isa::code::kExecLo] || written[isa::code::kExecHi];
}

bool widens_exec(const Node& node) {
  if (!writes_exec(node)) return false;
  using isa::Bit;
  const isa::Instruction& in = node.instruction;
  const isa::ImplicitEffects effects = isa::implicit_effects(in.op);
  // If the saved copy goes to EXEC itself, EXEC keeps its value.
  if (effects.has(isa::implicit::kWritesExec))
    return names_exec(in.dst[0]) || !is_always(false, effects.logic, Bit::kAny, Bit::kZero);
  const bool clears_like_first = is_always(false, effects.logic, Bit::kZero, Bit::kAny);
  const bool clears_like_second = is_always(false, effects.logic, Bit::kAny, Bit::kZero);
  if ((clears_like_first && in.src[0].code == in.dst[0].code) ||
      (clears_like_second && in.src[1].code == in.dst[0].code))
    return false;
  // Comparisons set bits of active lanes only.
  return in.encoding != isa::Encoding::kVopc &&
         !(in.encoding == isa::Encoding::kVop3 && in.dst[0].type == isa::Type::kMask);
}

Liveness liveness_of(const FlowGraph& graph, const isa::Registers& elsewhere) {
  std::vector<Live> at_block(graph.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = graph.blocks.size(); b-- > 0;) {
      const Block& block = graph.blocks[b];
      Live live = live_after(block, at_block, elsewhere);
      for (uint32_t n = block.end; n-- > block.first;) live = live_before(graph.nodes[n], std::move(live));
      if (live == at_block[b]) continue;
      at_block[b] = std::move(live);
      changed = true;
    }
  }
  Liveness liveness;
  liveness.before.resize(graph.nodes.size());
  liveness.inactive_before.resize(graph.nodes.size());
  liveness.inactive_behind.resize(graph.nodes.size());
  for (const Block& block : graph.blocks) {
    Live live = live_after(block, at_block, elsewhere);
    for (uint32_t n = block.end; n-- > block.first;) {
      const Live after_node = live;
      live = live_before(graph.nodes[n], std::move(live));
      liveness.inactive_behind[n] = after_node.inactive;
      liveness.before[n] = live.registers;
      liveness.inactive_before[n] = live.inactive;
    }
  }
  return liveness;
}

}  // namespace rigel::vgpu::analysis
