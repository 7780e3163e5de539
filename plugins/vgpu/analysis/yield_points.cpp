#include "plugins/vgpu/analysis/yield_points.hpp"

#include <algorithm>

#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"
#include "plugins/vgpu/isa/waits.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::Op;

/// A set of kinds of memory.
using Spaces = uint8_t;
constexpr Spaces kLds = 1, kGlobal = 2;

/// The accesses and waits of one node.
struct Role {
  Spaces loads = 0;
  Spaces stores = 0;
  Spaces waits = 0;      ///< Memory for some of whose loads it waits
  Spaces waits_all = 0;  ///< Memory for all of whose loads it waits
  bool is_barrier = false;
};

Spaces spaces_of(const isa::Instruction& in, isa::Space space) {
  switch (space) {
    case isa::Space::kLds:
      return in.gds ? 0 : kLds;
    case isa::Space::kFlat:
      return kLds | kGlobal;
    case isa::Space::kGlobal:
    case isa::Space::kBuffer:
      return kGlobal;
    case isa::Space::kScratch:
      return 0;
  }
  return 0;
}

Role wait_of(const FlowGraph& graph, const isa::Instruction& in) {
  Role role;
  const isa::Waits waits = isa::waits_of(in, graph.target);
  const auto add = [&](isa::WaitCounter counter, Spaces spaces) {
    const std::optional<unsigned> limit = waits.limit(counter);
    if (!limit) return;
    role.waits |= spaces;
    if (*limit == 0) role.waits_all |= spaces;
  };
  add(isa::WaitCounter::kVector, kGlobal);
  add(isa::WaitCounter::kShared, kLds);
  return role;
}

Role role_of(const FlowGraph& graph, const isa::Instruction& in) {
  if (isa::waits_at_barrier(in.op)) {
    Role role;
    role.is_barrier = true;
    return role;
  }
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  if (shape == nullptr) return wait_of(graph, in);
  Role role;
  if (in.encoding == isa::Encoding::kSmem) return role;
  const Spaces spaces = spaces_of(in, shape->space);
  const bool returns = shape->verb == isa::Verb::kAtomic && (shape->returns || in.glc);
  if (shape->verb == isa::Verb::kLoad || returns) role.loads = spaces;
  if (shape->verb == isa::Verb::kStore) role.stores = spaces;
  return role;
}

// Memory of which loads may be outstanding after the node, from that before it.
Spaces loading_after(const Role& role, Spaces loading) {
  if (role.is_barrier) return 0;
  return static_cast<Spaces>((loading & ~role.waits_all) | role.loads);
}

}  // namespace

std::vector<bool> yield_points(const FlowGraph& graph, Yields yields) {
  std::vector<bool> points(graph.nodes.size());
  if (yields == Yields::kNone) return points;
  std::vector<Role> roles;
  roles.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) roles.push_back(role_of(graph, node.instruction));
  if (yields == Yields::kAtWaits) {
    for (size_t n = 0; n < roles.size(); ++n) points[n] = roles[n].waits != 0;
    return points;
  }

  // See the header for s_sleep.
  const auto sleeps = [](const Node& node) { return node.instruction.op == Op::s_sleep; };
  if (std::ranges::any_of(graph.nodes, sleeps)) return points;

  // A function without a barrier may have one in its caller; LDS always counts.
  const bool has_barrier = std::ranges::any_of(roles, &Role::is_barrier);
  const Spaces shared = has_barrier ? kLds | kGlobal : kLds;

  const auto& blocks = graph.blocks;
  std::vector<Spaces> loading(blocks.size());  // at the start of the block
  for (bool changed = true; changed;) {
    changed = false;
    for (const Block& block : blocks) {
      Spaces now = loading[static_cast<size_t>(&block - blocks.data())];
      for (uint32_t n = block.first; n < block.end; ++n) now = loading_after(roles[n], now);
      for (const uint32_t next : block.followers()) {
        changed |= (now & ~loading[next]) != 0;
        loading[next] |= now;
      }
    }
  }
  std::vector<Spaces> completed(graph.nodes.size());  // by wait: memory with loads that it completes
  for (size_t b = 0; b < blocks.size(); ++b) {
    Spaces now = loading[b];
    for (uint32_t n = blocks[b].first; n < blocks[b].end; ++n) {
      completed[n] = now & roles[n].waits & shared;
      now = loading_after(roles[n], now);
    }
  }

  // Backward: memory to which a store may follow before a barrier, and before another wait for its loads.
  std::vector<Spaces> storing(blocks.size());  // at the start of the block
  const auto walk = [&](size_t b, bool marks) {
    Spaces now = 0;
    for (const uint32_t next : blocks[b].followers()) now |= storing[next];
    for (uint32_t n = blocks[b].end; n-- > blocks[b].first;) {
      if (marks) points[n] = (completed[n] & now) != 0;
      now = static_cast<Spaces>((now & ~completed[n]) | roles[n].stores);
      if (roles[n].is_barrier) now = 0;
    }
    return now;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      const Spaces now = walk(b, false);
      changed |= now != storing[b];
      storing[b] = now;
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) walk(b, true);
  return points;
}

}  // namespace rigel::vgpu::analysis
