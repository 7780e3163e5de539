#include "plugins/vgpu/analysis/text.hpp"

#include <fmt/core.h>

#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::analysis {

std::string vgprs_in(const std::bitset<256>& set) {
  std::string text;
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i]) continue;
    size_t last = i;
    while (last + 1 < set.size() && set[last + 1]) ++last;
    text += fmt::format("{}v{}", text.empty() ? "" : " ", i);
    if (last != i) text += fmt::format("-v{}", last);
    i = last;
  }
  return text;
}

std::string text_of(const FlowGraph& graph, const Liveness& liveness) {
  std::string text;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    const Block& block = graph.blocks[b];
    std::string successors;
    for (const uint32_t successor : block.successors) successors += fmt::format(" {}", successor);
    if (block.leaves) successors += " anywhere";
    if (block.back) successors += fmt::format(", back to {}", *block.back);
    text += fmt::format("block {}{}  ->{}\n", b, b == graph.entry ? ", the entry" : "",
                        successors.empty() ? " end" : successors);
    const std::string live =
        vgprs_in(liveness.before[block.first].vgprs | liveness.inactive_before[block.first]);
    if (!live.empty()) text += fmt::format("  live: {}\n", live);
    for (uint32_t n = block.first; n < block.end; ++n) {
      const Node& node = graph.nodes[n];
      const std::string kept = vgprs_in(node.effects.writes.vgprs & liveness.inactive_behind[n]);
      std::string line =
          fmt::format("  {:8x}: {}", node.pc, isa::disassemble(graph.target, node.instruction));
      if (!kept.empty()) line = fmt::format("{:<72} ; {} in inactive lanes", line, kept);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace rigel::vgpu::analysis
