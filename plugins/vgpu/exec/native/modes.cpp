#include "plugins/vgpu/exec/native/modes.hpp"

#include <fmt/format.h>

#include <optional>

#include "plugins/vgpu/isa/hardware_register.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

using isa::Op;

// Returns MODE after an instruction that changes it; nothing if code cannot be specialised on it.
std::optional<uint32_t> mode_after(const isa::Instruction& in, uint32_t mode, const isa::Traits& traits) {
  const auto with_bits = [&](uint32_t bits, uint32_t mask) -> std::optional<uint32_t> {
    if ((mask & ~kModeOfCode) != 0) return {};
    return (mode & ~mask) | (bits & mask);
  };
  constexpr uint32_t kIndexing = kGprIndexEnable | 0xfu << kIndexedShift;
  const uint32_t indexed = (in.simm16 & 0xfu) << kIndexedShift;
  switch (in.op) {
    case Op::s_set_gpr_idx_on:
      if (!in.src[0].is_scalar_register()) return {};
      return (mode & ~kIndexing) | kGprIndexEnable | indexed;
    case Op::s_set_gpr_idx_mode:
      return (mode & kGprIndexEnable) == 0 ? mode : (mode & ~kIndexing) | kGprIndexEnable | indexed;
    case Op::s_set_gpr_idx_off:
      return mode & ~kIndexing;
    case Op::s_setreg_imm32_b32: {
      const auto [id, shift, mask] = isa::register_field(in);
      return with_bits(in.literal << shift, mask << shift & traits.mode_bits);
    }
    case Op::s_round_mode:
      return with_bits(in.simm16, 0xf);
    case Op::s_denorm_mode:
      return with_bits(uint32_t{in.simm16} << 4, 0xf0);
    default:
      return {};
  }
}

}  // namespace

bool indexes_registers(Op op) {
  return op == Op::s_set_gpr_idx_on || op == Op::s_set_gpr_idx_off || op == Op::s_set_gpr_idx_mode;
}

tl::expected<std::vector<uint32_t>, std::string> modes_of(const analysis::FlowGraph& graph, uint32_t mode) {
  const isa::Traits& traits = isa::traits_of(graph.target);
  const auto refuse = [&](const analysis::Node& node, const char* why) {
    return tl::unexpected(fmt::format("{} at {:#x}: {}", isa::name(node.instruction.op), node.pc, why));
  };
  std::vector<uint32_t> modes(graph.nodes.size());
  std::vector<std::optional<uint32_t>> at(graph.blocks.size());
  std::vector<uint32_t> to_read{graph.entry};
  at[graph.entry] = mode;
  while (!to_read.empty()) {
    const analysis::Block& block = graph.blocks[to_read.back()];
    mode = *at[to_read.back()];
    to_read.pop_back();
    for (uint32_t i = block.first; i < block.end; ++i) {
      const analysis::Node& node = graph.nodes[i];
      modes[i] = mode;
      const Op op = node.instruction.op;
      const bool writes_m0 = node.effects.writes.scalars[isa::code::kM0];
      if (writes_m0 && (mode & kGprIndexEnable) != 0 && !indexes_registers(op) && op != Op::s_set_gpr_idx_idx)
        return refuse(node, "it changes M0 while GPR indexing is on");
      if (!node.effects.changes_mode) continue;
      const auto after = mode_after(node.instruction, mode, traits);
      if (!after) return refuse(node, "it changes MODE to an unknown value");
      mode = *after;
    }
    if (block.back && (mode & kGprIndexEnable) != 0)
      return refuse(graph.nodes[block.end - 1], "a function is called with GPR indexing on");
    // Waves that return with another MODE continue in the interpreter.
    for (const uint32_t next : block.followers()) {
      if (!at[next]) to_read.push_back(next);
      if (at[next].value_or(mode) != mode)
        return refuse(graph.nodes[graph.blocks[next].first], "MODE differs between predecessors");
      at[next] = mode;
    }
  }
  return modes;
}

}  // namespace rigel::vgpu::exec::compiler
