#include "plugins/vgpu/analysis/flow_graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/core.h>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::Op;

/// Where control goes behind an instruction.
struct Next {
  bool falls_through = true;
  bool branches = false;
  bool leaves = false;
};

Next next_of(const Node& node) {
  if (!node.effects.goes_elsewhere) return {};
  switch (node.instruction.op) {
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done:
    case Op::s_code_end:
      return {false, false, false};
    case Op::s_branch:
      return {false, true, false};
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz:
    case Op::s_cbranch_cdbgsys:
    case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbgsys_or_user:
    case Op::s_cbranch_cdbgsys_and_user:
      return {true, true, false};
    case Op::s_trap:
    case Op::s_setkill:
      return {true, false, true};  // a handler may look at everything
    default:
      return {false, false, true};
  }
}

uint64_t branch_target(const Node& node) {
  const auto dwords = static_cast<int16_t>(node.instruction.simm16);
  return node.pc + node.instruction.bytes + static_cast<uint64_t>(int64_t{dwords} * 4);
}

}  // namespace

uint32_t FlowGraph::block_of(uint32_t node) const {
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), node,
                                      [](uint32_t index, const Block& block) { return index < block.first; });
  return static_cast<uint32_t>(after - blocks.begin()) - 1;
}

tl::expected<FlowGraph, std::string> read_flow_graph(const isa::Target& target, unsigned wave_size,
                                                     uint64_t entry_va, const ReadCode& read,
                                                     size_t most_instructions) {
  FlowGraph graph;
  graph.target = target;
  graph.wave_size = wave_size;
  std::map<uint64_t, Node> found;
  std::set<uint64_t> leaders{entry_va};
  std::vector<uint64_t> to_read{entry_va};
  while (!to_read.empty()) {
    uint64_t pc = to_read.back();
    to_read.pop_back();
    while (!found.contains(pc)) {
      if (found.size() == most_instructions) {
        return tl::unexpected(fmt::format("more than {} instructions", most_instructions));
      }
      uint32_t words[isa::kMaxInstructionDwords] = {};
      const size_t bytes = read(pc, std::as_writable_bytes(std::span(words)));
      Node node;
      node.pc = pc;
      const isa::DecodeStatus status = isa::decode(target, words, bytes / 4, node.instruction);
      if (status != isa::DecodeStatus::kOk) {
        return tl::unexpected(fmt::format("at 0x{:x}: {}", pc, isa::reason(status)));
      }
      node.effects = isa::effects_of(node.instruction, target, wave_size);
      const Next next = next_of(node);
      if (next.branches) {
        leaders.insert(branch_target(node));
        to_read.push_back(branch_target(node));
      }
      const uint64_t after = pc + node.instruction.bytes;
      if (next.branches || next.leaves || !next.falls_through) leaders.insert(after);
      found.emplace(pc, std::move(node));
      if (!next.falls_through) break;
      pc = after;
    }
  }

  std::map<uint64_t, uint32_t> block_at;
  graph.nodes.reserve(found.size());
  for (auto& [pc, node] : found) {
    const auto index = static_cast<uint32_t>(graph.nodes.size());
    const bool follows = index != 0 && graph.nodes.back().pc + graph.nodes.back().instruction.bytes == pc;
    if (!follows || leaders.contains(pc)) {
      block_at[pc] = static_cast<uint32_t>(graph.blocks.size());
      graph.blocks.push_back({index, index, {}, false});
    }
    graph.nodes.push_back(std::move(node));
    graph.blocks.back().end = index + 1;
  }
  for (Block& block : graph.blocks) {
    const Node& last = graph.nodes[block.end - 1];
    const Next next = next_of(last);
    block.leaves = next.leaves;
    if (next.falls_through) block.successors.push_back(block_at.at(last.pc + last.instruction.bytes));
    if (next.branches) block.successors.push_back(block_at.at(branch_target(last)));
  }
  graph.entry = block_at.at(entry_va);
  return graph;
}

}  // namespace rigel::vgpu::analysis
