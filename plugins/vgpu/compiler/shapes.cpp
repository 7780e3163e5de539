#include "plugins/vgpu/compiler/shapes.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace rigel::vgpu::exec::compiler {

using isa::Op;

bool Shape::is_uniform(unsigned lanes) const {
  return std::all_of(offsets.begin(), offsets.begin() + lanes, [&](uint32_t o) { return o == offsets[0]; }) &&
         std::all_of(pitches.begin(), pitches.begin() + lanes, [&](uint8_t p) { return p == pitches[0]; });
}

bool Shape::has_pitch() const {
  return std::any_of(pitches.begin(), pitches.end(), [](uint8_t p) { return p != 0; });
}

std::optional<std::array<unsigned, 2>> Shape::pitch_apart(unsigned lanes) const {
  for (unsigned i = 1; i < lanes; ++i) {
    if (pitches[i] == pitches[0] + 1) return {{0, i}};
    if (pitches[i] == pitches[i - 1] + 1) return {{i - 1, i}};
  }
  return std::nullopt;
}

std::optional<std::array<unsigned, 2>> Shape::ends(unsigned lanes) const {
  const auto offset = [&](unsigned lane) { return static_cast<int32_t>(offsets[lane]); };
  unsigned least = 0, greatest = 0;
  for (unsigned i = 1; i < lanes; ++i) {
    if (std::tuple(offset(i), pitches[i]) < std::tuple(offset(least), pitches[least])) least = i;
    if (std::tuple(offset(i), pitches[i]) > std::tuple(offset(greatest), pitches[greatest])) greatest = i;
  }
  for (unsigned i = 0; i < lanes; ++i) {
    if (pitches[i] < pitches[least] || pitches[i] > pitches[greatest]) return std::nullopt;
  }
  return {{least, greatest}};
}

int32_t Shape::least(unsigned lanes) const {
  int32_t found = static_cast<int32_t>(offsets[0]);
  for (unsigned i = 1; i < lanes; ++i) found = std::min(found, static_cast<int32_t>(offsets[i]));
  return found;
}

int32_t Shape::greatest(unsigned lanes) const {
  int32_t found = static_cast<int32_t>(offsets[0]);
  for (unsigned i = 1; i < lanes; ++i) found = std::max(found, static_cast<int32_t>(offsets[i]));
  return found;
}

bool Shape::is_near(unsigned lanes) const {
  constexpr int32_t kMostOffset = 1 << 24;
  return ends(lanes) && least(lanes) >= -kMostOffset && greatest(lanes) <= kMostOffset;
}

namespace {

unsigned zeros_of(uint32_t value) {
  return static_cast<unsigned>(std::countr_zero(value));
}

ShapePointer constant_shape(uint32_t value) {
  auto made = std::make_shared<Shape>();
  made->base = value;
  made->zeros = zeros_of(value);
  return made;
}
const ShapePointer& scalar_shape() {
  static const ShapePointer made = std::make_shared<Shape>();
  return made;
}

// Offsets of lane 0 go to the number in common where this is known, so that equal values have equal shapes.
ShapePointer normal(Shape shape) {
  if (shape.base) {
    *shape.base += shape.offsets[0];
    const uint32_t first = shape.offsets[0];
    for (uint32_t& offset : shape.offsets) offset -= first;
    shape.zeros = zeros_of(*shape.base);
  }
  return std::make_shared<const Shape>(shape);
}

template <class F>
ShapePointer combined(const Shape& a, const Shape& b, F f) {
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = f(a.offsets[i], b.offsets[i]);
  if (a.base && b.base) made.base = f(*a.base, *b.base);
  made.zeros = std::min(a.zeros, b.zeros);
  made.pitches = a.has_pitch() ? a.pitches : b.pitches;
  return normal(made);
}
// These are null where something is null, or the result has two pitches or less than none.
ShapePointer sum(const ShapePointer& a, const ShapePointer& b) {
  if (a == nullptr || b == nullptr || (a->has_pitch() && b->has_pitch())) return nullptr;
  return combined(*a, *b, [](uint32_t x, uint32_t y) { return x + y; });
}
ShapePointer difference(const ShapePointer& a, const ShapePointer& b) {
  if (a == nullptr || b == nullptr || b->has_pitch()) return nullptr;
  return combined(*a, *b, [](uint32_t x, uint32_t y) { return x - y; });
}
ShapePointer shifted(const ShapePointer& a, uint32_t by) {
  if (a == nullptr) return nullptr;
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = a->offsets[i] << by;
  if (a->base) made.base = *a->base << by;
  made.zeros = std::min(a->zeros + by, 32u);
  made.pitches = a->pitches;
  return normal(made);
}

// The number of a row, times its width: the width becomes the pitch.
ShapePointer rows(const Shape& numbers, unsigned lanes) {
  if (numbers.has_pitch()) return nullptr;
  Shape made;
  for (unsigned i = 0; i < lanes; ++i) {
    if (numbers.offsets[i] > Shape::kMostPitches) return nullptr;
    made.pitches[i] = static_cast<uint8_t>(numbers.offsets[i]);
  }
  return made.pitch_apart(lanes) ? std::make_shared<const Shape>(made) : nullptr;
}

// Null: lanes differ in both, or by what is not known.
ShapePointer times(const Shape& a, const Shape& b, unsigned lanes) {
  if (a.is_uniform(lanes) && b.is_uniform(lanes)) {
    if (!a.base || !b.base) return scalar_shape();
    return constant_shape((*a.base + a.offsets[0]) * (*b.base + b.offsets[0]));
  }
  const Shape& factor = a.is_uniform(lanes) ? a : b;
  const Shape& lane = &factor == &a ? b : a;
  if (!factor.is_uniform(lanes)) return nullptr;
  if (!factor.base) return rows(lane, lanes);
  const uint32_t by = *factor.base + factor.offsets[0];
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = lane.offsets[i] * by;
  if (lane.base) made.base = *lane.base * by;
  made.zeros = lane.zeros;
  made.pitches = lane.pitches;
  return normal(made);
}

// With offsets from 0 on, and the number in common without bits where they have some; null if that is not known.
ShapePointer disjoint(const Shape& shape, unsigned bits) {
  if (shape.has_pitch()) return nullptr;
  Shape made = shape;
  if (shape.base) {
    // All is known: any of its bits may be the offsets'.
    const uint32_t low = bits >= 32 ? ~0u : (1u << bits) - 1;
    for (unsigned i = 0; i < 64; ++i) {
      const uint32_t value = *shape.base + shape.offsets[i];
      if ((value & ~low) != ((*shape.base + shape.offsets[0]) & ~low)) return nullptr;
      made.offsets[i] = value & low;
    }
    made.base = (*shape.base + shape.offsets[0]) & ~low;
    made.zeros = std::max(bits, zeros_of(*made.base));
    return std::make_shared<const Shape>(made);
  }
  return shape.zeros >= bits ? std::make_shared<const Shape>(made) : nullptr;
}
// As many low bits as offsets have; 32 if some are negative, and more if nobody knows.
unsigned bits_of(const Shape& shape, unsigned lanes) {
  if (shape.has_pitch()) return 64;
  unsigned bits = 0;
  for (unsigned i = 0; i < lanes; ++i)
    bits = std::max(bits, static_cast<unsigned>(std::bit_width(shape.offsets[i])));
  return bits;
}
template <class F>
ShapePointer bitwise(const Shape& a, const Shape& b, unsigned lanes, F f) {
  // Those of a shape whose number in common is not known say how many bits are the offsets'.
  unsigned bits = 0;
  if (!a.base) bits = std::max(bits, bits_of(a, lanes));
  if (!b.base) bits = std::max(bits, bits_of(b, lanes));
  const ShapePointer x = disjoint(a, bits), y = disjoint(b, bits);
  if (x == nullptr || y == nullptr) return nullptr;
  Shape made;
  for (unsigned i = 0; i < 64; ++i) made.offsets[i] = f(x->offsets[i], y->offsets[i]);
  made.zeros = std::min(x->zeros, y->zeros);
  return std::make_shared<const Shape>(made);
}

// The lanes' numbers, where all is known.
uint32_t value(const Shape& shape, unsigned lane) {
  return *shape.base + shape.offsets[lane];
}

std::optional<uint32_t> folded(Op op, uint32_t a, uint32_t b, uint32_t c) {
  switch (op) {
    case Op::v_and_b32:
      return a & b;
    case Op::v_or_b32:
      return a | b;
    case Op::v_xor_b32:
      return a ^ b;
    case Op::v_lshrrev_b32:
      return b >> (a & 31);
    case Op::v_lshlrev_b32:
      return b << (a & 31);
    case Op::v_mul_lo_u32:
      return a * b;
    case Op::v_mul_u32_u24:
      return (a & 0xffffff) * (b & 0xffffff);
    case Op::v_mad_u32_u24:
      return (a & 0xffffff) * (b & 0xffffff) + c;
    case Op::v_lshl_or_b32:
      return (a << (b & 31)) | c;
    case Op::v_and_or_b32:
      return (a & b) | c;
    case Op::v_bfe_u32:
      return (a >> (b & 31)) & ((1u << (c & 31)) - 1);
    default:
      return std::nullopt;
  }
}

// Which scalars have a bit for each lane behind the instruction.
std::bitset<128> full_behind(const analysis::Node& node, std::bitset<128> full, unsigned lanes) {
  const isa::Instruction& in = node.instruction;
  const auto is_full = [&](const isa::Operand& operand) {
    if (operand.is_scalar_register()) return bool{full[operand.code]};
    return operand.code == 193;  // -1
  };
  const bool wide = lanes == 64;
  std::optional<bool> result, exec;
  switch (in.op) {
    case Op::s_mov_b64:
    case Op::s_mov_b32:
      result = (in.op == Op::s_mov_b64) == wide && is_full(in.src[0]);
      break;
    case Op::s_or_b64:
    case Op::s_or_b32:
      result = (in.op == Op::s_or_b64) == wide && (is_full(in.src[0]) || is_full(in.src[1]));
      break;
    case Op::s_and_b64:
    case Op::s_and_b32:
      result = (in.op == Op::s_and_b64) == wide && is_full(in.src[0]) && is_full(in.src[1]);
      break;
    case Op::s_and_saveexec_b64:
    case Op::s_and_saveexec_b32:
    case Op::s_andn2_saveexec_b64:
    case Op::s_andn2_saveexec_b32:
    case Op::s_xor_saveexec_b64:
    case Op::s_xor_saveexec_b32:
    case Op::s_or_saveexec_b64:
    case Op::s_or_saveexec_b32:
      if ((in.dst[0].dwords == 2) == wide) {
        result = full[isa::code::kExecLo];
        const bool keeps = in.op == Op::s_or_saveexec_b64 || in.op == Op::s_or_saveexec_b32;
        exec = keeps && (full[isa::code::kExecLo] || is_full(in.src[0]));
      }
      break;
    default:
      break;
  }
  for (unsigned code = 0; code < 127; ++code) {
    if (node.effects.writes.scalars[code] || (wide && node.effects.writes.scalars[code + 1]))
      full.reset(code);
  }
  if (exec) full[isa::code::kExecLo] = *exec;
  if (result && in.dst[0].is_scalar_register()) full[in.dst[0].code] = *result;
  return full;
}

// Whether nobody wants what the instruction makes of these scalars.
bool is_dead(const Plan& plan, uint32_t node, const isa::Operand& scalars) {
  const isa::Registers wanted = plan.wanted_behind(node);
  for (uint32_t part = 0; part < scalars.dwords; ++part) {
    if (wanted.scalars[scalars.code + part]) return false;
  }
  return scalars.is_scalar_register();
}

// What the instruction is to those who want nothing of its carry: chips without sums that have none (gfx8) use the others.
Op without_dead_carry(const Plan& plan, uint32_t node) {
  const isa::Instruction& in = plan.graph.nodes[node].instruction;
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

// Whether nobody wants the upper half of what the instruction adds up, nor the carry.
bool is_low_half_alone(const Plan& plan, uint32_t node) {
  const isa::Instruction& in = plan.graph.nodes[node].instruction;
  const isa::Registers wanted = plan.wanted_behind(node);
  const uint32_t high = in.dst[0].vgpr() + 1u;
  return !wanted.vgprs[high] && !plan.live.inactive_behind[node][high] && is_dead(plan, node, in.dst[1]);
}

}  // namespace

Applied apply(const Plan& plan, uint32_t node, Shapes& shapes) {
  const Site& site = plan.sites[node];
  const analysis::Node& what = plan.graph.nodes[node];
  const isa::Instruction& in = what.instruction;
  const unsigned lanes = plan.layout.wave_size;
  Applied step;
  const Step* lane_step = nullptr;
  if (site.what == Site::What::kInline && site.step_count == 1) {
    const Step& only = plan.steps[site.first_step];
    const bool computes =
        only.kind == Step::Kind::kLanes && only.lanes.kind == LaneOperation::Kind::kComputes;
    const bool counts = only.kind == Step::Kind::kWave && only.lanes.named == NamedOperation::kCountBelow;
    if (computes || counts) lane_step = &only;
  }
  const bool widens = analysis::widens_exec(what) || site.comes_back();
  const auto forget = [&] {
    for (uint32_t v = 0; v < 256; ++v) {
      if (what.effects.writes.vgprs[v]) shapes.rows[v] = nullptr;
      if (what.effects.writes.vgprs[v] || widens) shapes.active[v] = nullptr;
    }
    shapes.uniform_masks &= ~what.effects.writes.scalars;
    if (what.effects.writes.scalars[126] || site.comes_back()) shapes.uniform_masks.reset();
    shapes.full = full_behind(what, shapes.full, lanes);
  };
  if (lane_step == nullptr || in.lanes != isa::LaneMode::kNone || in.clamp || in.omod != 0 || in.abs != 0 ||
      in.neg != 0 || !in.dst[0].is_vgpr()) {
    forget();
    return step;
  }
  const MicroOp& micro = *lane_step->micro;
  const auto source = [&](unsigned i, unsigned part) -> ShapePointer {
    const isa::Operand& operand = in.src[i];
    if (operand.is_vgpr()) return shapes.known(operand.vgpr() + part);
    // Constants and registers stand in the operation (bits 0 … 2 of aux: the same in all lanes; 3 … 5: constant).
    if ((micro.aux >> (3 + i) & 1) != 0)
      return constant_shape(static_cast<uint32_t>(micro.src[i].constant >> (part * 32)));
    return scalar_shape();
  };
  const bool counts = lane_step->kind == Step::Kind::kWave;
  const unsigned count = counts ? 2 : lane_step->lanes.row_sources;
  std::array<ShapePointer, 3> s;
  bool known = count <= 3;
  for (unsigned i = 0; i < count && i < 3; ++i) {
    s[i] = source(i, 0);
    if (s[i] == nullptr) known = false;
  }
  const auto amount = [&](unsigned i) -> std::optional<uint32_t> {
    if (s[i] == nullptr || !s[i]->base || !s[i]->is_uniform(lanes)) return std::nullopt;
    return (*s[i]->base + s[i]->offsets[0]) & 31;
  };
  const auto all_constant = [&] {
    for (unsigned i = 0; i < count; ++i) {
      if (!s[i]->base) return false;
    }
    return true;
  };
  const uint32_t dst = in.dst[0].vgpr();
  const auto one_row = [&](Rule rule, ShapePointer result) {
    if (result == nullptr) return;
    step.rule = rule;
    step.result = std::move(result);
  };
  if (counts) {
    const ShapePointer mask = source(0, 0), more = source(1, 0);
    if (mask != nullptr && mask->base == ~0u && mask->is_uniform(lanes) && more != nullptr) {
      Shape below;
      for (unsigned lane = 0; lane < 64; ++lane) {
        below.offsets[lane] = std::clamp(static_cast<int>(lane) - static_cast<int>(micro.imm), 0, 32);
      }
      below.base = 0;
      one_row(Rule::kCountBelow, sum(std::make_shared<const Shape>(below), more));
    }
  } else if (in.op == Op::v_lshlrev_b64) {
    // The amount, the low and the high half.
    ShapePointer by = source(0, 0), low = source(1, 0), high = source(1, 1);
    if (by != nullptr && by->base && by->is_uniform(lanes) && low != nullptr && high != nullptr &&
        high->is_uniform(lanes) && low->is_near(lanes)) {
      const uint32_t shift = (*by->base + by->offsets[0]) & 63;
      if (shift > 0 && shift < 32) {
        step.rule = Rule::kWideShift;
        step.result = shifted(low, shift);
        step.high = scalar_shape();
      }
    }
  } else if (in.op == Op::v_ashrrev_i64) {
    // An index in the upper half, which becomes the distance of elements: v_ashrrev_i64 v[..], 30, v[..].
    const ShapePointer by = source(0, 0), low = source(1, 0), high = source(1, 1);
    if (by != nullptr && by->base && by->is_uniform(lanes) && low != nullptr && low->is_uniform(lanes) &&
        in.src[1].is_vgpr() && low->base && *low->base + low->offsets[0] == 0 && high != nullptr &&
        high->is_near(lanes)) {
      const uint32_t shift = (*by->base + by->offsets[0]) & 63;
      if (shift > 0 && shift < 32) {
        step.rule = Rule::kWideSignShift;
        step.result = shifted(high, 32 - shift);
        step.high = scalar_shape();
      }
    }
  } else if (in.op == Op::v_mad_u64_u32) {
    const ShapePointer a = source(0, 0), b = source(1, 0), low = source(2, 0), high = source(2, 1);
    const bool all_known = a != nullptr && b != nullptr && low != nullptr;
    const ShapePointer product = all_known ? times(*a, *b, lanes) : nullptr;
    if (product != nullptr && is_low_half_alone(plan, node)) {
      one_row(Rule::kProductSum, sum(product, low));
    } else if (all_known && high != nullptr && a->is_uniform(lanes) && b->is_uniform(lanes) &&
               high->is_uniform(lanes) && low->is_near(lanes) && !low->has_pitch() &&
               in.dst[1].is_scalar_register()) {
      auto made = std::make_shared<Shape>();
      made->offsets = low->offsets;
      step.rule = Rule::kWideProduct;
      step.result = std::move(made);
      step.high = scalar_shape();
    } else if (product != nullptr) {
      one_row(Rule::kLowProductSum, sum(product, low));
    }
  } else if (known && lane_step->lanes.result_rows == 1) {
    switch (without_dead_carry(plan, node)) {
      case Op::v_mov_b32:
        one_row(Rule::kSum, s[0]);
        break;
      case Op::v_add_u32:
        one_row(Rule::kSum, sum(s[0], s[1]));
        break;
      case Op::v_add3_u32:
        one_row(Rule::kSum, sum(sum(s[0], s[1]), s[2]));
        break;
      case Op::v_sub_u32:
        one_row(Rule::kDifference, difference(s[0], s[1]));
        break;
      case Op::v_subrev_u32:
        one_row(Rule::kReverseDifference, difference(s[1], s[0]));
        break;
      case Op::v_lshl_add_u32:
        if (const auto by = amount(1)) one_row(Rule::kShiftSum, sum(shifted(s[0], *by), s[2]));
        break;
      case Op::v_add_lshl_u32:
        if (const auto by = amount(2)) one_row(Rule::kSumShift, shifted(sum(s[0], s[1]), *by));
        break;
      case Op::v_lshlrev_b32:
        if (const auto by = amount(0)) one_row(Rule::kShift, shifted(s[1], *by));
        break;
      case Op::v_mul_lo_u32:
        if (ShapePointer product = times(*s[0], *s[1], lanes)) one_row(Rule::kProductSum, std::move(product));
        break;
      case Op::v_mad_u32_u24:
        if (s[0]->is_uniform(lanes) && s[1]->is_uniform(lanes) && !all_constant())
          one_row(Rule::kProductSum, sum(scalar_shape(), s[2]));
        break;
      case Op::v_ashrrev_i32:
        if (const auto by = amount(0); by && *by == 31 && s[1]->is_near(lanes))
          one_row(Rule::kSignShift, scalar_shape());
        break;
      case Op::v_add_co_u32:
        if (in.dst[1].is_scalar_register() && s[0]->is_near(lanes) && s[1]->is_near(lanes)) {
          ShapePointer result = sum(s[0], s[1]);
          if (result != nullptr && result->is_near(lanes)) one_row(Rule::kCarryOut, std::move(result));
        }
        break;
      case Op::v_addc_u32:
        // The carry that comes out is of use to nobody, and the one that goes in is known.
        if (in.dst[1].is_scalar_register() && in.src[2].is_scalar_register() &&
            shapes.uniform_masks[in.src[2].code]) {
          const bool uniform = s[0]->is_uniform(lanes) && s[1]->is_uniform(lanes);
          if (uniform) {
            one_row(Rule::kCarryIn, scalar_shape());
          } else if (is_dead(plan, node, in.dst[1]) && !s[0]->has_pitch() && !s[1]->has_pitch()) {
            auto made = std::make_shared<Shape>();
            made->offsets = sum(s[0], s[1])->offsets;
            one_row(Rule::kCarryIn, std::move(made));
          }
        }
        break;
      default:
        break;
    }
    if (step.rule == Rule::kNone && all_constant()) {
      Shape made;
      bool done = true;
      for (unsigned lane = 0; lane < 64 && done; ++lane) {
        const auto result = folded(in.op, value(*s[0], lane), count > 1 ? value(*s[1], lane) : 0,
                                   count > 2 ? value(*s[2], lane) : 0);
        done = result.has_value();
        if (done) made.offsets[lane] = *result;
      }
      if (done) {
        made.base = 0;
        one_row(Rule::kFolded, normal(made));
      }
    }
    if (step.rule == Rule::kNone) {
      const auto either = [](uint32_t x, uint32_t y) { return x | y; };
      switch (in.op) {
        case Op::v_and_b32:
          if (auto result = bitwise(*s[0], *s[1], lanes, [](uint32_t x, uint32_t y) { return x & y; })) {
            one_row(Rule::kBitwise, std::move(result));
          }
          break;
        case Op::v_or_b32:
          if (auto result = bitwise(*s[0], *s[1], lanes, either)) one_row(Rule::kBitwise, std::move(result));
          break;
        case Op::v_xor_b32:
          if (auto result = bitwise(*s[0], *s[1], lanes, [](uint32_t x, uint32_t y) { return x ^ y; })) {
            one_row(Rule::kBitwise, std::move(result));
          }
          break;
        case Op::v_lshl_or_b32:
          if (const auto by = amount(1)) {
            if (auto result = bitwise(*shifted(s[0], *by), *s[2], lanes, either))
              one_row(Rule::kShiftOr, std::move(result));
          }
          break;
        case Op::v_lshrrev_b32:
          if (const auto by = amount(0); by && s[1]->zeros >= bits_of(*s[1], lanes)) {
            Shape made;
            for (unsigned i = 0; i < 64; ++i) made.offsets[i] = s[1]->offsets[i] >> *by;
            made.zeros = s[1]->zeros > *by ? s[1]->zeros - *by : 0;
            one_row(Rule::kShiftRight, std::make_shared<const Shape>(made));
          }
          break;
        default:
          break;
      }
    }
    if (step.rule == Rule::kNone && !lane_step->lanes.has_test && lane_step->lanes.sources == count) {
      bool uniform = true;
      for (unsigned i = 0; i < count; ++i) uniform &= s[i]->is_uniform(lanes) && in.src[i].dwords <= 1;
      if (uniform && (micro.aux >> 28 & 3) == 0) one_row(Rule::kUniform, scalar_shape());
    }
  }
  // Lanes that are not active have to keep what they have, if anybody wants it.
  const bool all_active = shapes.all_active();
  forget();
  // Of some lanes alone a pitch cannot be told where a wave comes from elsewhere.
  if (step.rule != Rule::kNone && step.result->has_pitch() && !all_active &&
      plan.live.inactive_behind[node][dst]) {
    step = {};
  }
  if (step.rule == Rule::kNone) return step;
  const auto set = [&](uint32_t row, const ShapePointer& result) {
    const bool keeps = !all_active && plan.live.inactive_behind[node][row];
    (keeps ? shapes.active : shapes.rows)[row] = result;
  };
  set(dst, step.result);
  if (step.high != nullptr) set(dst + 1, step.high);
  if (step.rule == Rule::kCarryOut) shapes.uniform_masks.set(in.dst[1].code);
  return step;
}

std::vector<Shapes> find_shapes(const Plan& plan) {
  const auto& blocks = plan.graph.blocks;
  std::vector<Shapes> at(blocks.size());
  std::vector<bool> reached(blocks.size());
  const auto meet = [](const ShapePointer& a, const ShapePointer& b) -> ShapePointer {
    if (a == nullptr || b == nullptr) return nullptr;
    if (a == b || *a == *b) return a;
    // The same steps from lane to lane, from another number on.
    Shape made;
    for (unsigned i = 0; i < 64; ++i) {
      made.offsets[i] = a->offsets[i] - a->offsets[0];
      made.pitches[i] = a->pitches[i];
      if (b->pitches[i] != a->pitches[i]) return nullptr;
      if (b->offsets[i] - b->offsets[0] != made.offsets[i]) return nullptr;
    }
    // Where the first offset is not 0, so much has been added to the number in common.
    made.zeros = std::min({a->zeros, b->zeros, zeros_of(a->offsets[0]), zeros_of(b->offsets[0])});
    return std::make_shared<const Shape>(made);
  };
  const uint32_t entry = plan.graph.entry;
  reached[entry] = true;
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
        const auto replace = [&](ShapePointer& old, ShapePointer met) {
          if (met == old || (met != nullptr && old != nullptr && *met == *old)) return;
          old = std::move(met);
          changed = true;
        };
        for (unsigned v = 0; v < 256; ++v) {
          ShapePointer known = meet(at[next].known(v), shapes.known(v));
          replace(at[next].rows[v], meet(at[next].rows[v], shapes.rows[v]));
          replace(at[next].active[v], at[next].rows[v] == nullptr ? std::move(known) : nullptr);
        }
      }
    }
  }
  return at;
}

}  // namespace rigel::vgpu::exec::compiler
