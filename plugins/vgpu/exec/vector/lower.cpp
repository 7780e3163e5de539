// lower_vector(): VOP1, VOP2, VOPC, VOP3 and VOP3P with all modifiers.
#include "plugins/vgpu/exec/vector/lower.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"
#include "plugins/vgpu/isa/effects.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::LaneMode;
using isa::Op;

using Entries = std::array<const Entry*, isa::kOpCount>;

const Entry* find_entry(Op op) {
  static const Entries entries = [] {
    Entries by_op{};
    for (const Table table :
         {integer32_operations(), integer16_64_operations(), float32_operations(), float64_operations(),
          float16_operations(), convert_operations(), carry_operations(), packed_operations(),
          packed32_operations(), dot_operations(), division_operations(), transcendental_operations(),
          byte_operations(), compare_operations()}) {
      for (const Entry& entry : table) by_op[static_cast<size_t>(entry.op)] = &entry;
    }
    return by_op;
  }();
  return entries[static_cast<size_t>(op)];
}

void load_mxcsr(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  set_mxcsr(op->aux);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr uint32_t mxcsr_with(uint32_t round, uint32_t denorm) {
  return mxcsr_of(round | denorm << 4);
}

/// Sets MXCSR for an operation, and restores the mode of single precision in close().
class FloatUnitScope {
 public:
  FloatUnitScope(Lowering& lowering, FloatUnit unit) : lowering_(lowering) {
    const FloatMode& mode = lowering.context.mode;
    default_ = mxcsr_with(mode.round32, mode.denorm32);
    needed_ = default_;
    if (unit == FloatUnit::kDouble) needed_ = mxcsr_with(mode.round64, mode.denorm64);
    if (unit == FloatUnit::kNearest) needed_ = mxcsr_with(0, mode.denorm32);
    if (unit == FloatUnit::kFlushing) needed_ = mxcsr_with(mode.round32, 0);
    if (unit == FloatUnit::kNarrowing && mode.denorm32 == 2) needed_ = mxcsr_with(mode.round32, 3);
    load(needed_);
  }
  FloatUnitScope(const FloatUnitScope&) = delete;
  FloatUnitScope& operator=(const FloatUnitScope&) = delete;
  void close() { load(default_); }

 private:
  void load(uint32_t mxcsr) {
    if (needed_ == default_) return;
    lowering_.out.emit(load_mxcsr).aux = mxcsr;
    lowering_.out.identify({.kind = KnownOperation::Kind::kLoadsMode});
  }

  Lowering& lowering_;
  uint32_t default_, needed_;
};

bool is_dot2_of_halves(Op op) {
  return op == Op::v_dot2_f32_f16 || op == Op::v_dot2c_f32_f16;
}

/// Selects parts of sources. For 16-bit sources, SDWA and op_sel are a flag; other selections need an
/// extraction.
void select_parts(Lowering& lowering, const Entry& entry) {
  const isa::Instruction& instruction = lowering.instruction;
  if (instruction.lanes == LaneMode::kSdwa) {
    for (unsigned i = 0; i < 2 && i < entry.row_sources; ++i) {
      const isa::SdwaSel sel = instruction.src_sel[i];
      const bool extends = (instruction.sext >> i & 1) != 0;
      if ((entry.half_sources >> i & 1) != 0 &&
          (sel == isa::SdwaSel::kWord0 || sel == isa::SdwaSel::kWord1)) {
        if (sel == isa::SdwaSel::kWord1) lowering.aux |= aux::kHigh << i;
      } else if (sel != isa::SdwaSel::kDword || extends) {
        extract_sdwa(lowering, i);
      }
    }
  } else if (instruction.encoding != isa::Encoding::kVop3p) {
    // Results that are a byte of the destination have its number in the upper two bits.
    const unsigned selects = entry.reads_destination ? 15 : 7;
    lowering.aux |= (instruction.op_sel & selects) * aux::kHigh;
  }
}

void add_modifiers(Lowering& lowering, const Entry& entry) {
  const isa::Instruction& instruction = lowering.instruction;
  const FloatMode& mode = lowering.context.mode;
  if (entry.signed_by_neg) lowering.aux |= (instruction.neg & 3u) * aux::kNeg;
  if (entry.float_sources) {
    lowering.aux |= (instruction.abs & 7u) * aux::kAbs | (instruction.neg & 7u) * aux::kNeg;
  }
  if (entry.takes_clamp && instruction.clamp) lowering.aux |= aux::kClamp;
  if (entry.float_result) {
    const bool single = entry.result_rows == 1 && !entry.half_result;
    const bool denormals = ((single ? mode.denorm32 : mode.denorm64) & 2) != 0;
    if (!mode.ieee && !denormals) lowering.aux |= uint32_t{instruction.omod} << aux::kOmodShift;
    if (instruction.clamp) lowering.aux |= aux::kClamp;
  }
}

/// Selects the half of the register for a 16-bit result. Other SDWA results go through a temporary row
/// (returns false).
bool place_half_result(Lowering& lowering, const Entry& entry) {
  const isa::Instruction& instruction = lowering.instruction;
  const bool sdwa = instruction.lanes == LaneMode::kSdwa;
  if (sdwa && instruction.dst_sel != isa::SdwaSel::kDword) {
    const bool preserves = instruction.dst_unused == isa::SdwaUnused::kPreserve;
    if (entry.half_result && preserves && instruction.dst_sel == isa::SdwaSel::kWord0) {
      lowering.aux |= aux::kKeepHigh;
      return true;
    }
    if (entry.half_result && preserves && instruction.dst_sel == isa::SdwaSel::kWord1) {
      lowering.aux |= aux::kHighResult;
      return true;
    }
    return false;
  }
  if (!entry.half_result || entry.fixed_aux != 0) return true;
  if (!sdwa && instruction.encoding != isa::Encoding::kVop3p && (instruction.op_sel & 8) != 0) {
    lowering.aux |= aux::kHighResult;
  } else if (isa::keeps_other_half(instruction, lowering.context.traits())) {
    lowering.aux |= aux::kKeepHigh;
  }
  return true;
}

uint64_t packed_fields(const Entry& entry, const isa::Instruction& instruction) {
  if (entry.form != Form::kPacked && entry.form != Form::kMix) return 0;
  const uint64_t default_fields = 7 * packed::kSelectHigh;
  if (instruction.encoding != isa::Encoding::kVop3p) return default_fields;
  uint64_t fields = entry.whole_sources ? default_fields
                                        : (instruction.op_sel & 7u) * packed::kSelect |
                                              (instruction.op_sel_hi & 7u) * packed::kSelectHigh;
  if (entry.float_sources) {
    fields |= (instruction.neg & 7u) * packed::kNeg |
              ((instruction.neg_hi | instruction.abs) & 7u) * packed::kNegHigh;
  }
  return fields;
}

Handler choose(const Lowering& lowering, const Entry& entry) {
  if (lowering.instruction.clamp && !entry.float_result && entry.clamped != nullptr) return entry.clamped;
  constexpr uint32_t kModifiers = 7 * aux::kAbs | 7 * aux::kNeg | aux::kPost | 7 * aux::kHigh;
  if ((lowering.aux & kModifiers) != 0) return entry.generic;
  if (entry.form == Form::kPacked || entry.form == Form::kMix) {
    constexpr uint32_t kUnusual =
        aux::kFlushInputs16 | aux::kFlushResults16 | 3u << aux::kRound16Shift | aux::kFiniteHalves;
    for (unsigned i = 0; i < entry.sources; ++i) {
      if (lowering.src[i].is_uniform) return entry.generic;
    }
    const bool mix = entry.form == Form::kMix;
    const bool in_order = lowering.imm == 7 * packed::kSelectHigh ||
                          (entry.sources == 2 && lowering.imm == 3 * packed::kSelectHigh);
    if (in_order && !mix && entry.fast[kFlushing] != nullptr) {
      return entry.fast[(lowering.aux & aux::kFlushInputs16) != 0 ? kFlushing : kInOrder];
    }
    const Handler fast = entry.fast[in_order && !mix ? kInOrder : kSelected];
    const bool unusual = (lowering.aux & kUnusual) != 0 || (mix && lowering.imm >= packed::kNegHigh);
    return fast == nullptr || unusual ? entry.generic : fast;
  }
  unsigned kinds = 0;
  for (unsigned i = 0; i < entry.row_sources; ++i) kinds |= (lowering.src[i].is_uniform ? 1u : 0u) << i;
  const Handler fast = entry.fast[kinds];
  return fast != nullptr ? fast : entry.generic;
}

KnownOperation known_operation(const Lowering& lowering, const Entry& entry, bool clamped) {
  KnownOperation operation;
  operation.kind = entry.form == Form::kCompare         ? KnownOperation::Kind::kCompare
                   : entry.form == Form::kCompareToExec ? KnownOperation::Kind::kCompareToExec
                                                        : KnownOperation::Kind::kComputes;
  operation.op = entry.op;
  operation.clamped = clamped;
  operation.sources = entry.sources;
  operation.row_sources = entry.row_sources;
  operation.result_rows = entry.result_rows;
  operation.has_test = entry.has_test;
  operation.reads_destination =
      entry.reads_destination || (lowering.aux & (aux::kHighResult | aux::kKeepHigh)) != 0;
  operation.is_float = entry.float_sources || entry.float_result || entry.unit != FloatUnit::kNone;
  return operation;
}

Refusal lower_lanes(Lowering& lowering, const Entry& entry) {
  const isa::Instruction& instruction = lowering.instruction;
  LoweringContext& context = lowering.context;
  lowering.reads_mix = entry.form == Form::kMix;
  if (!lowering.place_sources(entry.sources < 3 ? entry.sources : 3)) return "source operand is not readable";
  const bool to_exec = entry.form == Form::kCompareToExec;
  if (to_exec && !context.traits().cmpx_writes_mask) {
    lowering.dst = scalar_offset(kSinkSlot);
  } else if (lowering.forced_dst != 0) {
    lowering.dst = lowering.forced_dst;
  } else if (!destination_offset(instruction.dst[0], context, lowering.dst)) {
    return "destination operand is not writable";
  }
  if (entry.has_test && !destination_offset(instruction.dst[1], context, lowering.dst2)) {
    return "second destination operand is not writable";
  }
  if (entry.sources == 4) lowering.dst2 = scalar_offset(isa::code::kVccLo);
  if (instruction.clamp && !entry.float_result && entry.clamped == nullptr && !entry.takes_clamp &&
      entry.form != Form::kCompare && !to_exec) {
    return "clamp is not supported by this operation";
  }

  lowering.imm = packed_fields(entry, instruction);
  lowering.aux |= entry.fixed_aux;
  select_parts(lowering, entry);
  add_modifiers(lowering, entry);
  const uint32_t destination = lowering.dst;
  const bool writes_rows = entry.form != Form::kCompare && !to_exec;
  const bool direct = !writes_rows || place_half_result(lowering, entry);
  if (!direct) lowering.dst = context.layout.temporary_offset(kResultRow);
  if (entry.returns_operand) {
    if (!context.traits().extremes_flush) {
      lowering.aux &= ~(aux::kFlushInputs32 | aux::kFlushInputs16);
    } else {
      // The result is an operand, so flushing the operands is equivalent.
      if ((lowering.aux & aux::kFlushResults32) != 0) lowering.aux |= aux::kFlushInputs32;
      if ((lowering.aux & aux::kFlushResults16) != 0) lowering.aux |= aux::kFlushInputs16;
    }
  }
  if (context.traits().dot2_flushes_halves && is_dot2_of_halves(entry.op))
    lowering.aux |= aux::kFlushInputs16;

  const bool dpp = instruction.lanes == LaneMode::kDpp || instruction.lanes == LaneMode::kDpp8;
  if (dpp) {
    if (const Refusal refusal = begin_dpp(lowering); !refusal.empty()) return refusal;
  }
  const bool indexed = writes_rows && (context.gpr_index & 8) != 0;
  if (indexed) {
    if (!direct) return "SDWA with an indexed destination is not supported";
    lowering.dst = begin_indexed_destination(lowering, destination, entry.result_rows);
  }
  FloatUnitScope unit(lowering, entry.unit);
  const Handler handler = choose(lowering, entry);
  lowering.emit(handler, known_operation(lowering, entry, handler == entry.clamped));
  unit.close();
  if (!direct) insert_sdwa(lowering, lowering.dst, destination);
  if (indexed) end_indexed_destination(lowering, destination, entry.result_rows);
  if (dpp || (!to_exec && writes_exec(instruction))) reload_exec(lowering);
  return {};
}

}  // namespace

uint32_t base_aux(const LoweringContext& context) {
  const FloatMode& mode = context.mode;
  return (context.layout.wave_size == 64 ? aux::kWave64 : 0) | (mode.dx10_clamp ? aux::kDx10Clamp : 0) |
         (mode.ieee ? aux::kIeee : 0) | uint32_t{mode.round64} << aux::kRound16Shift |
         (mode.finite_halves && context.traits().has_finite_halves ? aux::kFiniteHalves : 0) |
         (context.traits().sine_limited ? aux::kFewTurns : 0) |
         (context.traits().has_ieee_mode ? 0 : aux::kQuietsNumbers) |
         ((mode.denorm64 & 1) != 0 ? 0 : aux::kFlushInputs16) |
         ((mode.denorm64 & 2) != 0 ? 0 : aux::kFlushResults16) |
         ((mode.denorm32 & 1) != 0 ? 0 : aux::kFlushInputs32) |
         ((mode.denorm32 & 2) != 0 ? 0 : aux::kFlushResults32);
}

bool Lowering::place_sources(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    isa::Operand operand = instruction.src[i];
    // Constants have the precision in which the operation reads them.
    if (reads_mix) operand.type = (instruction.op_sel_hi >> i & 1) != 0 ? isa::Type::kF16 : isa::Type::kF32;
    const PlaceOf place = source_place(operand, instruction, context, out, i * 2);
    if (!place.ok) return false;
    src[i] = {place.place.source, place.place.is_constant, !operand.is_row()};
    if (saved_copy != 0 && operand.is_row() && src[i].source.offset == saved_row)
      src[i].source.offset = saved_copy;
    if (operand.is_vgpr() && (context.gpr_index >> i & 1) != 0) fetch_indexed(*this, i);
  }
  return true;
}

MicroOp& Lowering::emit(Handler handler, const KnownOperation& operation) {
  MicroOp& op = out.emit(handler);
  out.identify(operation);
  op.aux = aux;
  for (unsigned i = 0; i < 3; ++i) {
    op.src[i] = src[i].source;
    if (src[i].is_uniform) op.aux |= aux::kUniform << i;
    if (src[i].is_constant) op.aux |= aux::kConstant << i;
  }
  op.dst = dst;
  op.dst2 = dst2;
  op.imm = imm;
  return op;
}

NamedHandler find_named(std::span<const NamedHandler> table, NamedOperation operation) {
  return *std::ranges::find(table, operation, &NamedHandler::operation);
}

KnownOperation known_operation(NamedOperation name) {
  KnownOperation operation;
  if (name == NamedOperation::kNone) return operation;
  const bool is_part = name <= NamedOperation::kInsert;
  operation.kind = is_part ? KnownOperation::Kind::kComputes : KnownOperation::Kind::kWave;
  operation.named = name;
  operation.sources = operation.row_sources = is_part ? 1 : 0;
  operation.reads_destination = name == NamedOperation::kInsert;
  return operation;
}

MicroOp& emit_named(Emitter& out, std::span<const NamedHandler> table, NamedOperation operation) {
  MicroOp& op = out.emit(find_named(table, operation).handler);
  out.identify(known_operation(operation));
  return op;
}

namespace {

Refusal lower_one(Lowering& lowering) {
  if (const std::optional<Refusal> refusal = lower_wave_matrix(lowering)) return *refusal;
  if (const std::optional<Refusal> refusal = lower_matrix(lowering)) return *refusal;
  if (const std::optional<Refusal> refusal = lower_across_lanes(lowering)) return *refusal;
  const Entry* const entry = find_entry(lowering.instruction.op);
  if (entry == nullptr) return "vector instruction is not supported";
  return lower_lanes(lowering, *entry);
}

// VOPD.
Refusal lower_pair(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const isa::Instruction x = isa::first_of_pair(instruction), y = isa::second_of_pair(instruction);
  const isa::PairOrder order = isa::order_of_pair(instruction);
  const bool swaps = order == isa::PairOrder::kSecondFirst;
  const isa::Instruction &first = swaps ? y : x, &second = swaps ? x : y;
  Lowering before(first, context, out);
  Lowering after(second, context, out);
  if (order == isa::PairOrder::kFirstSecondWithCopy) {
    isa::Instruction copy = first;
    copy.op = Op::v_mov_b32;
    copy.src[0] = first.dst[0];
    copy.src[1] = copy.src[2] = {};
    Lowering saving(copy, context, out);
    const Entry& move = *find_entry(Op::v_mov_b32);
    if (!saving.place_sources(1)) return "source operand is not readable";
    after.saved_row = saving.src[0].source.offset;
    after.saved_copy = saving.dst = context.layout.temporary_offset(kResultRow);
    saving.emit(choose(saving, move), known_operation(saving, move, false));
  }
  if (const Refusal refusal = lower_one(before); !refusal.empty()) return refusal;
  return lower_one(after);
}

}  // namespace

Refusal lower_vector(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  if (instruction.second_op != Op::none) return lower_pair(instruction, context, out);
  if (vector_operation_of(instruction.op) != Op::none)
    return lower_scalar_float(instruction, context, out, lower_one);
  Lowering lowering(instruction, context, out);
  return lower_one(lowering);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
