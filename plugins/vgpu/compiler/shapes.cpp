#include "plugins/vgpu/compiler/shapes.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "plugins/vgpu/compiler/lane_rules.hpp"
#include "plugins/vgpu/exec/operands.hpp"

namespace rigel::vgpu::exec::compiler {

using isa::Op;

namespace {

// Returns which scalars have a bit for each lane after the instruction.
std::bitset<128> full_after(const analysis::Node& node, std::bitset<128> full, unsigned lanes) {
  const isa::Instruction& in = node.instruction;
  const auto is_full = [&](const isa::Operand& operand) {
    if (operand.is_scalar_register()) return bool{full[operand.code]};
    return operand.code == 193;  // -1
  };
  const bool wide = lanes == 64;
  const isa::ImplicitEffects effects = isa::implicit_effects(in.op);
  const bool writes_exec = effects.has(isa::implicit::kWritesExec);
  std::optional<bool> result, exec;
  if (effects.logic != isa::Logic::kNone && (in.dst[0].dwords == 2) == wide) {
    const auto bit = [](bool is_one) { return is_one ? isa::Bit::kOne : isa::Bit::kAny; };
    const bool full_exec = full[isa::code::kExecLo];
    result = is_always(true, effects.logic, bit(is_full(in.src[0])),
                       bit(writes_exec ? full_exec : is_full(in.src[1])));
    if (writes_exec) {
      exec = result;
      if (!effects.has(isa::implicit::kReturnsNewExec)) result = full_exec;
    }
  }
  full &= ~node.effects.writes.scalars;
  if (wide) full &= ~(node.effects.writes.scalars >> 1);  // upper halves
  if (exec) full[isa::code::kExecLo] = *exec;
  if (result && in.dst[0].is_scalar_register()) full[in.dst[0].code] = *result;
  return full;
}

// Returns the minimum number of low zero bits of scalars after the instruction. A work-group's first
// work-item id is a multiple of the group's size, usually a power of two.
std::array<uint8_t, 128> zeros_after(const analysis::Node& node, std::array<uint8_t, 128> zeros) {
  const isa::Instruction& in = node.instruction;
  const auto constant = [&](unsigned i) -> std::optional<uint32_t> {
    uint64_t bits = 0;
    if (!constant_of(in.src[i], in, bits)) return std::nullopt;
    return static_cast<uint32_t>(bits);
  };
  const auto zeros_of = [&](unsigned i) -> unsigned {
    if (in.src[i].is_scalar_register()) return zeros[in.src[i].code];
    const auto value = constant(i);
    return value ? static_cast<unsigned>(std::countr_zero(*value)) : 0;
  };
  unsigned result = 0;
  switch (in.op) {
    case Op::s_mov_b32:
    case Op::s_mov_b64:
      result = zeros_of(0);
      break;
    case Op::s_lshl_b32:
    case Op::s_lshl_b64:
      result = zeros_of(0) + (constant(1).value_or(0) & (in.op == Op::s_lshl_b64 ? 63 : 31));
      break;
    case Op::s_and_b32:
      result = std::max(zeros_of(0), zeros_of(1));
      break;
    case Op::s_or_b32:
    case Op::s_xor_b32:
    case Op::s_add_u32:
    case Op::s_add_i32:
    case Op::s_sub_u32:
    case Op::s_sub_i32:
      result = std::min(zeros_of(0), zeros_of(1));
      break;
    case Op::s_mul_i32:
      result = zeros_of(0) + zeros_of(1);
      break;
    default:
      break;
  }
  for (unsigned code = 0; code < zeros.size(); ++code) {
    if (node.effects.writes.scalars[code]) zeros[code] = 0;
  }
  if (in.dst[0].is_scalar_register()) zeros[in.dst[0].code] = static_cast<uint8_t>(std::min(result, 32u));
  return zeros;
}

// For shapes alone: every number is 0.
struct NoNumbers {
  using Number = uint64_t;
  static Number is_below(Number, Number) { return 0; }
  static Number shifted_signed(Number, uint32_t) { return 0; }
  static bool is_same(Number, Number) { return false; }
  static Number widened(Number) { return 0; }
  static Number widened_signed(Number) { return 0; }
  static Number narrowed(Number) { return 0; }
  Number base(unsigned, unsigned) { return 0; }
  Number pitch(unsigned, unsigned) { return 0; }
  Number constant(uint32_t) { return 0; }
  Number by_operation() { return 0; }
  Number carry(uint16_t) { return 0; }
  void set_carry(uint16_t, Number) {}
  void set_carry_of_sum(uint16_t, Number, Number) {}
  Number sum_above(uint16_t, Number, Number) { return 0; }
  bool is_ordered(unsigned, unsigned) { return false; }
  void guard(Number) {}
};

}  // namespace

bool is_dead(const Plan& plan, uint32_t node, const isa::Operand& scalars) {
  if (scalars.is_null()) return true;
  const isa::Registers wanted = plan.live_after(node);
  for (uint32_t part = 0; part < scalars.dwords; ++part) {
    if (wanted.scalars[scalars.code + part]) return false;
  }
  return scalars.is_scalar_register();
}

Op without_dead_carry(const Plan& plan, uint32_t node, const isa::Instruction& in) {
  const bool dead = in.dst[1].exists() && is_dead(plan, node, in.dst[1]);
  switch (in.op) {
    case Op::v_add_co_u32:
      return dead ? Op::v_add_u32 : in.op;
    case Op::v_sub_co_u32:
      return dead ? Op::v_sub_u32 : in.op;
    case Op::v_subrev_co_u32:
      return dead ? Op::v_subrev_u32 : in.op;
    default:
      return in.op;
  }
}

bool is_low_half_alone(const Plan& plan, uint32_t node) {
  const isa::Instruction& in = plan.graph.nodes[node].instruction;
  const isa::Registers wanted = plan.live_after(node);
  const uint32_t high = in.dst[0].vgpr() + 1u;
  return !wanted.vgprs[high] && !plan.live.inactive_behind[node][high] && is_dead(plan, node, in.dst[1]);
}

unsigned half_count(const isa::Instruction& instruction) {
  return instruction.second_op != Op::none ? 2 : 1;
}

isa::Instruction half_of(const isa::Instruction& instruction, unsigned half) {
  if (instruction.second_op == Op::none) return instruction;
  return half == 0 ? isa::first_of_pair(instruction) : isa::second_of_pair(instruction);
}

const Step* rule_step(const Plan& plan, uint32_t node, unsigned half) {
  const Site& site = plan.sites[node];
  const isa::Instruction& in = plan.graph.nodes[node].instruction;
  const unsigned halves = half_count(in);
  if (site.kind != Site::Kind::kInline || site.step_count != halves) return nullptr;
  if (in.lanes != isa::LaneMode::kNone || in.clamp || in.omod != 0 || in.abs != 0 || in.neg != 0 ||
      !half_of(in, half).dst[0].is_vgpr())
    return nullptr;
  const bool swaps = halves == 2 && isa::order_of_pair(in) == isa::PairOrder::kSecondFirst;
  const Step& step = plan.steps[site.first_step + (swaps ? 1 - half : half)];
  const bool computes = step.kind == KnownOperation::Kind::kComputes;
  const bool counts = step.named == NamedOperation::kCountBelow;
  return computes || counts ? &step : nullptr;
}

bool apply(const Plan& plan, uint32_t node, Shapes& shapes) {
  const Site& site = plan.sites[node];
  const analysis::Node& graph_node = plan.graph.nodes[node];
  const isa::Instruction& in = graph_node.instruction;
  NoNumbers no_numbers;
  std::array<Results<NoNumbers::Number>, 2> results;
  for (unsigned half = 0; half < half_count(in); ++half)
    results[half] = Rules<NoNumbers>(plan, node, half, shapes, no_numbers).results();
  const bool all_active = shapes.all_active();
  const bool widens = analysis::widens_exec(graph_node) || site.is_wave_switch();
  for (uint32_t v = 0; v < 256; ++v) {
    if (graph_node.effects.writes.vgprs[v]) shapes.rows[v] = nullptr;
    if (graph_node.effects.writes.vgprs[v] || widens) shapes.active[v] = nullptr;
  }
  shapes.uniform_masks &= ~graph_node.effects.writes.scalars;
  if (plan.layout.wave_size == 64)
    shapes.uniform_masks &= ~(graph_node.effects.writes.scalars >> 1);  // upper halves
  // Lanes that become active have 0 in every carry mask.
  const bool writes_exec =
      graph_node.effects.writes.scalars[isa::code::kExecLo] ||
      (plan.layout.wave_size == 64 && graph_node.effects.writes.scalars[isa::code::kExecLo + 1]);
  if (writes_exec || site.is_wave_switch()) shapes.uniform_masks.reset();
  shapes.full = full_after(graph_node, shapes.full, plan.layout.wave_size);
  shapes.scalar_zeros = zeros_after(graph_node, shapes.scalar_zeros);
  // Inactive lanes keep their values if these are live. A pitch cannot be recovered from the active lanes
  // alone when a wave enters.
  const auto keeps = [&](uint32_t row) { return !all_active && plan.live.inactive_behind[node][row]; };
  const auto set = [&](uint32_t row, const ShapePointer& result) {
    (keeps(row) ? shapes.active : shapes.rows)[row] = result;
  };
  bool is_by_rule = false;
  for (unsigned half = 0; half < half_count(in); ++half) {
    const auto& [low, high, has_carry, is_low_alone] = results[half];
    const uint32_t dst = half_of(in, half).dst[0].vgpr();
    if (low.shape == nullptr || (low.shape->has_pitch() && keeps(dst))) continue;
    is_by_rule = true;
    set(dst, low.shape);
    if (high.shape != nullptr) set(dst + 1, high.shape);
    if (has_carry && in.dst[1].is_scalar_register()) shapes.uniform_masks.set(in.dst[1].code);
  }
  return is_by_rule;
}

std::vector<Shapes> find_shapes(const Plan& plan) {
  const auto& blocks = plan.graph.blocks;
  std::vector<Shapes> at(blocks.size());
  std::vector<bool> reached(blocks.size());
  const uint32_t entry = plan.graph.entry;
  reached[entry] = true;
  for (const analysis::Block& block : blocks) {
    if (block.back) reached[*block.back] = true;
  }
  for (size_t v = 0; v < plan.ids.size(); ++v) at[entry].rows[v] = plan.ids[v];
  if (!plan.ids.empty()) at[entry].full.set(isa::code::kExecLo);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (!reached[b]) continue;
      Shapes shapes = at[b];
      for (uint32_t n = blocks[b].first; n < blocks[b].end; ++n) apply(plan, n, shapes);
      shapes.uniform_masks.reset();
      for (const uint32_t next : blocks[b].successors) {
        if (!reached[next]) {
          reached[next] = true;
          at[next] = shapes;
          changed = true;
          continue;
        }
        if (const auto both = at[next].full & shapes.full; both != at[next].full) {
          at[next].full = both;
          changed = true;
        }
        for (unsigned code = 0; code < shapes.scalar_zeros.size(); ++code) {
          uint8_t& zeros = at[next].scalar_zeros[code];
          if (shapes.scalar_zeros[code] >= zeros) continue;
          zeros = shapes.scalar_zeros[code];
          changed = true;
        }
        const auto replace = [&](ShapePointer& old, ShapePointer meet) {
          if (meet == old || (meet != nullptr && old != nullptr && *meet == *old)) return;
          old = std::move(meet);
          changed = true;
        };
        for (unsigned v = 0; v < 256; ++v) {
          ShapePointer known = meet(at[next].of_active(v), shapes.of_active(v));
          replace(at[next].rows[v], meet(at[next].rows[v], shapes.rows[v]));
          replace(at[next].active[v], at[next].rows[v] == nullptr ? std::move(known) : nullptr);
        }
      }
    }
  }
  return at;
}

}  // namespace rigel::vgpu::exec::compiler
