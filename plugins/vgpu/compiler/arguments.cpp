#include "plugins/vgpu/compiler/arguments.hpp"

#include <algorithm>
#include <bitset>

namespace rigel::vgpu::exec::compiler {
namespace {

using Scalars = std::bitset<128>;

bool changes_scalar_memory(const isa::Instruction& in) {
  if (in.op == isa::Op::s_dcache_inv || in.op == isa::Op::s_dcache_inv_vol) return true;
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  return in.encoding == isa::Encoding::kSmem && shape != nullptr && shape->verb != isa::Verb::kLoad;
}

// Returns, for the start of each block, the scalars that still have their initial values on all paths.
std::vector<Scalars> find_unchanged(const Plan& plan) {
  const auto& blocks = plan.graph.blocks;
  std::vector<Scalars> at(blocks.size(), ~Scalars());
  for (uint32_t code = kMostStartScalars; code < 128; ++code) at[plan.graph.entry].reset(code);
  for (const analysis::Block& block : blocks) {
    if (block.back) at[*block.back].reset();
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      Scalars unchanged = at[b];
      for (uint32_t n = blocks[b].first; n < blocks[b].end; ++n)
        unchanged &= ~plan.graph.nodes[n].effects.writes.scalars;
      for (const uint32_t next : blocks[b].successors) {
        changed |= (at[next] & ~unchanged).any();
        at[next] &= unchanged;
      }
    }
  }
  return at;
}

bool is_in_loop(const analysis::FlowGraph& graph, uint32_t block) {
  std::vector<bool> reached(graph.blocks.size());
  std::vector<uint32_t> pending{block};
  while (!pending.empty()) {
    const uint32_t from = pending.back();
    pending.pop_back();
    for (const uint32_t next : graph.blocks[from].followers()) {
      if (next == block) return true;
      if (!reached[next]) pending.push_back(next);
      reached[next] = true;
    }
  }
  return false;
}

}  // namespace

bool adds_scalar(const isa::Instruction& load) {
  return load.soffset.exists() && load.soffset.is_scalar_register();
}

Arguments find_arguments(const Plan& plan) {
  Arguments arguments;
  const auto& nodes = plan.graph.nodes;
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const analysis::Node& node) { return changes_scalar_memory(node.instruction); }))
    return arguments;
  const std::vector<Scalars> unchanged_at = find_unchanged(plan);
  for (uint32_t b = 0; b < plan.graph.blocks.size(); ++b) {
    const analysis::Block& block = plan.graph.blocks[b];
    if (is_in_loop(plan.graph, b)) continue;
    Scalars unchanged = unchanged_at[b];
    for (uint32_t n = block.first; n < block.end; ++n) {
      const isa::Instruction& in = nodes[n].instruction;
      const MicroOp& op = *plan.sites[n].operations;
      const uint32_t pointer = op.src[0].offset / 4;
      const bool is_same = plan.sites[n].kind == Site::Kind::kScalarLoad && !adds_scalar(in) &&
                           unchanged[pointer] && unchanged[pointer + 1];
      unchanged &= ~nodes[n].effects.writes.scalars;
      if (!is_same) continue;
      const int32_t begin = static_cast<int32_t>(op.aux), end = begin + in.vdst.dwords * 4;
      auto region = std::ranges::find(arguments.regions, pointer, &Arguments::Region::pointer);
      arguments.loads[n] = static_cast<uint32_t>(region - arguments.regions.begin());
      if (region == arguments.regions.end())
        region = arguments.regions.insert(region, {pointer, n, begin, end});
      region->begin = std::min(region->begin, begin);
      region->end = std::max(region->end, end);
      region->is_certain |= b == plan.graph.entry;
    }
  }
  // The other regions may not be accessed, and their memory may not exist.
  Arguments certain;
  std::map<uint32_t, uint32_t> numbers;
  for (uint32_t i = 0; i < arguments.regions.size(); ++i) {
    if (!arguments.regions[i].is_certain) continue;
    numbers[i] = static_cast<uint32_t>(certain.regions.size());
    certain.regions.push_back(arguments.regions[i]);
  }
  for (const auto& [node, region] : arguments.loads) {
    if (const auto number = numbers.find(region); number != numbers.end())
      certain.loads[node] = number->second;
  }
  return certain;
}

}  // namespace rigel::vgpu::exec::compiler
