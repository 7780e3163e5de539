#include "plugins/vgpu/analysis/wait_check.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include <fmt/core.h>

#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"
#include "plugins/vgpu/isa/traits.hpp"
#include "plugins/vgpu/isa/waits.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::OpClass;

using Counters = uint8_t;
constexpr Counters kVm = 1, kLgkm = 2, kKm = 4;  // kKm: scalar memory of chips with split counters
constexpr uint8_t kOldest = 64;                  // more than any wait allows

constexpr uint32_t kScalars = 128, kVgprs = 256, kRegisters = kScalars + kVgprs;

/// The load that writes a register.
struct Pending {
  Counters counter = 0;    ///< One of the above; 0: not pending
  uint8_t age = 0;         ///< Later operations that have incremented the counter
  bool is_scalar = false;  ///< A scalar load, which completes in any order
  uint32_t load = 0;       ///< Its node

  friend bool operator==(const Pending&, const Pending&) = default;
};

/// State before an instruction.
struct PendingState {
  std::array<Pending, kRegisters> registers{};
  bool has_scalar_loads = false;  ///< A scalar load of kLgkm may be outstanding.

  friend bool operator==(const PendingState&, const PendingState&) = default;

  /// Adds the state of another path.
  void join(const PendingState& other) {
    has_scalar_loads |= other.has_scalar_loads;
    for (uint32_t i = 0; i < kRegisters; ++i) {
      Pending& mine = registers[i];
      const Pending& theirs = other.registers[i];
      if (theirs.counter == 0) continue;
      // The youngest load; of two equally young ones that with the lower node, so that joins end.
      const bool is_younger = theirs.age < mine.age || (theirs.age == mine.age && theirs.load < mine.load);
      if (mine.counter == 0 || is_younger) mine = theirs;
    }
  }
};

/// What an instruction does to the counters.
struct WaitRole {
  Counters increments = 0;
  Counters result = 0;     ///< The counter that a load's results wait for; 0: not a load
  bool is_scalar = false;  ///< A scalar load
  bool waits = false;
  unsigned vm = kOldest, lgkm = kOldest, km = kOldest;  ///< Operations that the wait allows to be outstanding
};

WaitRole wait_role_of(const FlowGraph& graph, const isa::Instruction& in) {
  WaitRole role;
  if (const isa::Waits waits = isa::waits_of(in, graph.target); !waits.is_empty()) {
    role.waits = true;
    role.vm = waits.limit(isa::WaitCounter::kVector).value_or(kOldest);
    role.lgkm = waits.limit(isa::WaitCounter::kShared).value_or(kOldest);
    role.km = waits.limit(isa::WaitCounter::kScalar).value_or(kOldest);
    return role;
  }
  const OpClass op_class = isa::op_class(in.op);
  const bool has_split_counters = isa::traits_of(graph.target).has_split_counters;
  const isa::MemoryShape* const shape = isa::memory_shape(in.op);
  const bool stores = shape != nullptr && (shape->verb == isa::Verb::kStore ||
                                           (shape->verb == isa::Verb::kAtomic && !shape->returns && !in.glc));
  switch (op_class) {
    case OpClass::kScalarMemory:
      role.increments = has_split_counters ? kKm : kLgkm;
      role.is_scalar = true;
      break;
    case OpClass::kDataShare:
    case OpClass::kGlobalSync:
      role.increments = kLgkm;
      break;
    case OpClass::kImage:
      if (has_split_counters) return role;  // Counters of samplers are not followed.
      [[fallthrough]];
    case OpClass::kVectorMemory:
      // On gfx10 and later, stores have a separate counter.
      role.increments = stores && graph.target.family() >= isa::Family::kGfx10 ? 0 : kVm;
      // A FLAT load returns data by the counter of the memory that it accesses. Compilers that know that this
      // is global memory wait for vmcnt alone.
      if (in.encoding == isa::Encoding::kFlat) role.increments |= kLgkm;
      break;
    default:
      return role;
  }
  if (!stores) role.result = (role.increments & kVm) != 0 ? kVm : role.increments;
  return role;
}

/// Calls visit(index) for each register of a set, by its index in PendingState::registers.
template <class Visit>
void for_each(const isa::Registers& registers, Visit visit) {
  for (uint32_t i = 0; i < kScalars; ++i) {
    if (registers.scalars[i]) visit(i);
  }
  if (registers.vgprs.none()) return;
  for (uint32_t i = 0; i < kVgprs; ++i) {
    if (registers.vgprs[i]) visit(kScalars + i);
  }
}

std::string register_name(uint32_t index) {
  if (index >= kScalars) return fmt::format("v{}", index - kScalars);
  switch (index) {
    case isa::code::kVccLo:
    case isa::code::kVccLo + 1:
      return "vcc";
    case isa::code::kM0:
      return "m0";
    case isa::code::kExecLo:
    case isa::code::kExecHi:
      return "exec";
    default:
      return fmt::format("s{}", index);
  }
}

std::string wait_for(const Pending& pending, bool has_scalar_loads, bool has_split_counters) {
  if (has_split_counters) {
    const char* const name = pending.counter == kVm ? "loadcnt" : pending.counter == kKm ? "kmcnt" : "dscnt";
    return fmt::format("{}({})", name, pending.is_scalar ? 0 : pending.age);
  }
  if (pending.counter == kVm) return fmt::format("vmcnt({})", pending.age);
  return fmt::format("lgkmcnt({})", pending.is_scalar || has_scalar_loads ? 0 : pending.age);
}

class WaitAnalysis {
 public:
  explicit WaitAnalysis(const FlowGraph& graph) : graph_(graph), before_(graph.blocks.size()) {
    roles_.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) roles_.push_back(wait_role_of(graph, node.instruction));
  }

  std::vector<MissingWait> run() {
    std::vector<bool> is_reached(graph_.blocks.size()), is_queued(graph_.blocks.size());
    std::deque<uint32_t> queue{graph_.entry};
    is_reached[graph_.entry] = is_queued[graph_.entry] = true;
    while (!queue.empty()) {
      const uint32_t index = queue.front();
      queue.pop_front();
      is_queued[index] = false;
      const Block& block = graph_.blocks[index];
      PendingState state = before_[index];
      for (uint32_t n = block.first; n < block.end; ++n) execute(n, state, nullptr);
      const auto flow_to = [&](uint32_t next, const PendingState& from) {
        PendingState joined = before_[next];
        joined.join(from);
        if (is_reached[next] && joined == before_[next]) return;
        before_[next] = joined;
        is_reached[next] = true;
        if (!is_queued[next]) queue.push_back(next);
        is_queued[next] = true;
      };
      for (const uint32_t next : block.successors) flow_to(next, state);
      if (block.back) flow_to(*block.back, PendingState{});
    }
    std::vector<MissingWait> missing;
    for (uint32_t index = 0; index < graph_.blocks.size(); ++index) {
      if (!is_reached[index]) continue;
      PendingState state = before_[index];
      const Block& block = graph_.blocks[index];
      for (uint32_t n = block.first; n < block.end; ++n) execute(n, state, &missing);
    }
    return missing;
  }

 private:
  // Reports the use of pending registers, once for each load. They are not pending afterwards.
  void use(uint32_t node, const isa::Registers& registers, bool is_read, PendingState& state,
           std::vector<MissingWait>* missing) const {
    for_each(registers, [&](uint32_t index) {
      const Pending pending = state.registers[index];
      if (pending.counter == 0) return;
      if (missing != nullptr &&
          (missing->empty() || missing->back().node != node || missing->back().load != pending.load)) {
        missing->push_back(
            {node, pending.load, register_name(index), is_read,
             wait_for(pending, state.has_scalar_loads, isa::traits_of(graph_.target).has_split_counters)});
      }
      for (Pending& other : state.registers) {
        if (other.load == pending.load) other.counter = 0;
      }
    });
  }

  static void wait(const WaitRole& role, PendingState& state) {
    for (Pending& pending : state.registers) {
      const bool in_order = !pending.is_scalar && !state.has_scalar_loads;
      const bool is_complete = pending.counter == kVm ? pending.age >= role.vm
                               : pending.counter == kKm
                                   ? role.km == 0
                                   : role.lgkm == 0 || (in_order && pending.age >= role.lgkm);
      if (is_complete) pending.counter = 0;
    }
    if (role.lgkm == 0) state.has_scalar_loads = false;
  }

  void execute(uint32_t n, PendingState& state, std::vector<MissingWait>* missing) const {
    const WaitRole& role = roles_[n];
    if (role.waits) return wait(role, state);
    const isa::Effects& effects = graph_.nodes[n].effects;
    isa::Registers reads = effects.reads, writes = effects.writes;
    if (role.result != 0 && !role.is_scalar) {
      // Loads of one counter complete in order, so a later one may write the same register or the other half.
      for_each(effects.writes, [&](uint32_t index) {
        const Pending& pending = state.registers[index];
        if (index < kScalars || pending.counter != role.result) return;
        writes.vgprs[index - kScalars] = false;
        if (!addresses(n, index)) reads.vgprs[index - kScalars] = false;
      });
    }
    use(n, reads, true, state, missing);
    use(n, writes, false, state, missing);
    if (role.increments == 0) return;
    for (Pending& pending : state.registers) {
      if ((role.increments & pending.counter) != 0 && pending.age < kOldest) ++pending.age;
    }
    state.has_scalar_loads |= role.is_scalar && (role.increments & kLgkm) != 0;
    if (role.result == 0) return;
    for_each(effects.writes, [&](uint32_t index) {
      state.registers[index] = {role.result, 0, role.is_scalar, n};
    });
  }

  // Whether the instruction uses the register other than as the destination of its load.
  bool addresses(uint32_t n, uint32_t index) const {
    const isa::Instruction& in = graph_.nodes[n].instruction;
    const auto contains = [&](const isa::Operand& operand) {
      return operand.exists() && operand.is_vgpr() && index - kScalars >= operand.vgpr() &&
             index - kScalars < operand.vgpr() + std::max<uint32_t>(operand.dwords, 1);
    };
    return contains(in.vaddr) || contains(in.vdata) || contains(in.vdata2);
  }

  const FlowGraph& graph_;
  std::vector<WaitRole> roles_;
  std::vector<PendingState> before_;  // by block
};

}  // namespace

std::vector<MissingWait> missing_waits(const FlowGraph& graph) {
  if (graph.blocks.empty()) return {};
  return WaitAnalysis(graph).run();
}

}  // namespace rigel::vgpu::analysis
