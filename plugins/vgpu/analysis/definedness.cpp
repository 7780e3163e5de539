#include "plugins/vgpu/analysis/definedness.hpp"

#include "plugins/vgpu/isa/matrix_shape.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::Op;

// Registers that are defined at one point of the code.
struct Defined {
  std::bitset<128> scalars;
  bool scc = false;
  std::bitset<256> active, inactive;

  static Defined all() { return {~std::bitset<128>(), true, ~std::bitset<256>(), ~std::bitset<256>()}; }
  Defined& operator&=(const Defined& other) {
    scalars &= other.scalars;
    scc = scc && other.scc;
    active &= other.active;
    inactive &= other.inactive;
    return *this;
  }
  friend bool operator==(const Defined&, const Defined&) = default;
};

bool is_half(isa::Type type) {
  using enum isa::Type;
  return type == kF16 || type == kB16 || type == kI16 || type == kU16;
}

// DPP that writes every active lane does not read the old value.
bool replaces_all_lanes(const isa::Instruction& in) {
  if (!in.dst[0].is_vgpr() || in.dst[0].dwords != 1 || is_half(in.dst[0].type)) return false;
  if (in.lanes == isa::LaneMode::kDpp8) return true;
  return in.lanes == isa::LaneMode::kDpp && in.bound_ctrl && in.row_mask == 15 && in.bank_mask == 15;
}

// Whether nothing reads the upper half of a 64-bit sum, and the carries. LLVM often leaves the upper half of
// such an addend undefined.
bool has_dead_upper_half(const isa::Instruction& in, const isa::Registers& live_after) {
  if (in.op != Op::v_mad_u64_u32 && in.op != Op::v_mad_i64_i32) return false;
  if (!in.dst[0].is_vgpr() || live_after.vgprs[(in.dst[0].vgpr() + 1) & 255]) return false;
  const isa::Operand& carry = in.dst[1];
  if (!carry.exists() || !carry.is_scalar_register()) return true;
  return !live_after.scalars[carry.code] && (carry.code == 127 || !live_after.scalars[carry.code + 1]);
}

isa::Registers reads_of(const Node& node, const isa::Registers& live_after) {
  isa::Registers reads = node.effects.reads;
  const isa::Instruction& in = node.instruction;
  if (in.op == Op::v_writelane_b32) {
    reads.vgprs.reset();  // The other lanes are kept, not read.
  } else if (in.encoding == isa::Encoding::kMimg) {
    reads.vgprs &= node.effects.writes.vgprs;  // The check `init` does not follow coordinates.
  } else if (has_dead_upper_half(in, live_after) && in.src[2].is_vgpr()) {
    const auto upper = static_cast<uint16_t>((in.src[2].vgpr() + 1) & 255);
    const auto is_upper = [&](const isa::Operand& source) {
      return source.is_vgpr() && source.vgpr() == upper;
    };
    if (!is_upper(in.src[0]) && !is_upper(in.src[1])) reads.vgprs.reset(upper);
  } else if (replaces_all_lanes(in)) {
    const uint16_t result = in.dst[0].vgpr();
    const auto reads_result = [&](const isa::Operand& source) {
      return source.is_vgpr() && source.vgpr() <= result && result < source.vgpr() + source.dwords;
    };
    if (!reads_result(in.src[0]) && !reads_result(in.src[1]) && !reads_result(in.src[2]))
      reads.vgprs.reset(result);
  }
  return reads;
}

// The registers of `of` that may be undefined.
isa::Registers undefined_of(const isa::Registers& of, const Defined& defined, LanesRead lanes) {
  isa::Registers undefined;
  undefined.scalars = of.scalars & ~defined.scalars;
  undefined.scc = of.scc && !defined.scc;
  const bool reads_inactive = lanes != LanesRead::kActive;
  undefined.vgprs = of.vgprs & ~(reads_inactive ? defined.active & defined.inactive : defined.active);
  return undefined;
}

// Updates `defined` from before to after the node, which goes on only if what it reads is defined.
void pass(const Node& node, const isa::Registers& live_after, Defined& defined) {
  const isa::Registers reads = reads_of(node, live_after);
  const LanesRead lanes = lanes_read_by(node.instruction);
  if (lanes == LanesRead::kActive || lanes == LanesRead::kAll) defined.active |= reads.vgprs;
  if (lanes == LanesRead::kAll) defined.inactive |= reads.vgprs;
  defined.scalars |= reads.scalars | node.effects.writes.scalars;
  defined.scc = defined.scc || reads.scc || node.effects.writes.scc;
  if (node.instruction.op != Op::v_writelane_b32) defined.active |= node.effects.writes.vgprs;
  if (!writes_exec(node)) return;
  const std::bitset<256> everywhere = defined.active & defined.inactive;
  defined.inactive = everywhere;
  if (widens_exec(node)) defined.active = everywhere;
}

}  // namespace

LanesRead lanes_read_by(const isa::Instruction& in) {
  switch (in.op) {
    case Op::v_readlane_b32:
      return LanesRead::kOne;
    case Op::v_readfirstlane_b32:
      return LanesRead::kFirst;
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32:
    case Op::v_permlane16_var_b32:
    case Op::v_permlanex16_var_b32:
      return (in.op_sel & 1) != 0 ? LanesRead::kAll : LanesRead::kActive;
    case Op::v_permlane64_b32:
      return LanesRead::kAll;
    case Op::ds_permute_b32:
    case Op::ds_bpermute_b32:
    case Op::ds_swizzle_b32:
    case Op::v_writelane_b32:
      return LanesRead::kActive;
    default:
      break;
  }
  if (in.lanes == isa::LaneMode::kDpp || in.lanes == isa::LaneMode::kDpp8)
    return in.fetch_inactive ? LanesRead::kAll : LanesRead::kActive;
  const bool is_matrix = isa::matrix_shape(in.op) != nullptr || isa::wave_matrix_shape(in.op) != nullptr;
  return is_matrix ? LanesRead::kAll : LanesRead::kActive;
}

Definedness definedness_of(const FlowGraph& graph, const Liveness& live, const StartRegisters& start) {
  const auto& nodes = graph.nodes;
  std::vector<Defined> at(graph.blocks.size(), Defined::all());
  Defined& first = at[graph.entry];
  for (uint32_t s = start.scalars; s < kFirstDefinedScalar; ++s) first.scalars.reset(s);
  for (uint32_t r = start.rows; r < 256; ++r) first.active.reset(r);
  first.scc = false;
  const auto live_after = [&](const Block& block, uint32_t n) {
    if (n + 1 < block.end) return live.before[n + 1];
    isa::Registers registers = block.leaves ? isa::Registers::all() : isa::Registers();
    for (const uint32_t next : block.successors) registers |= live.before[graph.blocks[next].first];
    return registers;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      const Block& block = graph.blocks[b];
      Defined defined = at[b];
      for (uint32_t n = block.first; n < block.end; ++n) pass(nodes[n], live_after(block, n), defined);
      for (const uint32_t next : block.successors) {
        const Defined before = at[next];
        at[next] &= defined;
        changed |= !(at[next] == before);
      }
    }
  }
  Definedness found;
  found.tested.resize(nodes.size());
  found.noted.resize(nodes.size());
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    const Block& block = graph.blocks[b];
    Defined defined = at[b];
    for (uint32_t n = block.first; n < block.end; ++n) {
      const isa::Registers after = live_after(block, n);
      const isa::Registers reads = reads_of(nodes[n], after);
      found.tested[n] = undefined_of(reads, defined, lanes_read_by(nodes[n].instruction));
      const isa::Effects& effects = nodes[n].effects;
      const bool writes_lane = nodes[n].instruction.op == Op::v_writelane_b32;
      found.noted[n].scalars = effects.writes.scalars & ~defined.scalars;
      found.noted[n].scc = effects.writes.scc && !defined.scc;
      found.noted[n].vgprs =
          effects.writes.vgprs & ~(writes_lane ? defined.active & defined.inactive : defined.active);
      const bool goes_elsewhere = effects.flow != isa::Flow::kNext;
      const auto unknown = effects.writes.vgprs & ~(effects.replaces.vgprs | effects.reads.vgprs);
      const auto unknown_scalars =
          effects.writes.scalars & ~(effects.replaces.scalars | effects.reads.scalars);
      found.writes_unknown |= !goes_elsewhere && (unknown.any() || unknown_scalars.any());
      found.tracked |= found.tested[n];
      found.tracked |= undefined_of(live.before[n], defined, LanesRead::kActive);
      found.tracked.vgprs |= live.inactive_before[n] & ~defined.inactive;
      pass(nodes[n], after, defined);
    }
  }
  for (isa::Registers& noted : found.noted) {
    noted.scalars &= found.tracked.scalars;
    noted.vgprs &= found.tracked.vgprs;
    noted.scc = noted.scc && found.tracked.scc;
  }
  return found;
}

}  // namespace rigel::vgpu::analysis
