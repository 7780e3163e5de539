// DPP and register indexing: micro-ops before and after the modified operation.
#include <algorithm>

#include "plugins/vgpu/exec/vector/lower.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

/// Source lane of each lane.
struct DppPlan {
  uint8_t source[64];  ///< The lane itself if it has no source.
  uint64_t available;  ///< Lanes that have a source.
  uint64_t writes;     ///< Lanes that row_mask and bank_mask enable.
  bool zero_if_none;   ///< bound_ctrl: a lane without a source reads 0; otherwise it is not written.
  bool fetch_inactive;
  bool within_rows;  ///< Every row of 16 lanes has the same pattern.
  alignas(64) uint32_t pattern[16];
};

bool fill_sources(DppPlan& plan, const isa::Instruction& instruction, isa::DppControls controls,
                  int wave_size) {
  const unsigned ctrl = instruction.dpp_ctrl;
  const bool shares = controls == isa::DppControls::kRowShares;
  plan.within_rows = true;
  for (int lane = 0; lane < wave_size; ++lane) {
    const int row = lane & ~15, position = lane & 15, n = static_cast<int>(ctrl & 15);
    int source = -1;
    if (instruction.lanes == isa::LaneMode::kDpp8) {
      source = (lane & ~7) | static_cast<int>(instruction.dpp8 >> (lane & 7) * 3 & 7);
    } else if (ctrl < 0x100) {
      source = (lane & ~3) | static_cast<int>(ctrl >> (lane & 3) * 2 & 3);
    } else if (ctrl > 0x100 && ctrl < 0x110) {
      source = position + n < 16 ? lane + n : -1;
    } else if (ctrl > 0x110 && ctrl < 0x120) {
      source = position - n >= 0 ? lane - n : -1;
    } else if (ctrl > 0x120 && ctrl < 0x130) {
      source = row | ((position - n) & 15);
    } else if (ctrl == 0x140) {
      source = row | (15 - position);
    } else if (ctrl == 0x141) {
      source = (lane & ~7) | (7 - (lane & 7));
    } else if (ctrl >= 0x150 && ctrl < 0x160) {  // row_share; row_newbcast of gfx90a and gfx942
      source = row | n;
    } else if (shares && ctrl >= 0x160 && ctrl < 0x170) {
      source = row | (position ^ n);
    } else if (!shares) {
      plan.within_rows = false;
      switch (ctrl) {
        case 0x130:
          source = lane + 1 < wave_size ? lane + 1 : -1;
          break;
        case 0x134:
          source = (lane + 1) % wave_size;
          break;
        case 0x138:
          source = lane - 1;
          break;
        case 0x13c:
          source = (lane + wave_size - 1) % wave_size;
          break;
        case 0x142:
          source = row - 1;
          break;
        case 0x143:
          source = lane >= 32 ? 31 : -1;
          break;
        default:
          return false;
      }
    } else {
      return false;
    }
    plan.source[lane] = static_cast<uint8_t>(source < 0 ? lane : source);
    if (source >= 0) plan.available |= uint64_t{1} << lane;
    if (lane < 16) plan.pattern[lane] = plan.source[lane] & 15u;
  }
  return true;
}

void fetch_dpp(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto* const plan = reinterpret_cast<const DppPlan*>(op->imm);
  const uint32_t lanes = (op->aux & aux::kWave64) != 0 ? 64 : 32;
  const std::byte* const source = registers + op->src[0].offset;
  std::byte* const destination = registers + op->dst;
  uint64_t available = plan->available;
  if (!plan->fetch_inactive && !is_full(op->aux, exec)) {
    uint64_t active = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) active |= (exec >> plan->source[lane] & 1) << lane;
    available &= active;
  }
#if RIGEL_SIMD_LEVEL == 2
  if (plan->within_rows) {
    const __m512i pattern = _mm512_load_si512(plan->pattern);
    for (uint32_t lane = 0; lane < lanes; lane += 16) {
      const auto mask = static_cast<__mmask16>(available >> lane);
      _mm512_store_si512(destination + lane * 4,
                         _mm512_maskz_permutexvar_epi32(mask, pattern, _mm512_load_si512(source + lane * 4)));
    }
  } else
#endif
  {
    const auto* const values = reinterpret_cast<const uint32_t*>(source);
    auto* const results = reinterpret_cast<uint32_t*>(destination);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      results[lane] = (available >> lane & 1) != 0 ? values[plan->source[lane]] : 0;
    }
  }
  exec &= plan->writes & (plan->zero_if_none ? ~uint64_t{0} : available);
  RIGEL_NEXT_IN(op + 1, wave, registers, exec);
}

void restore_exec(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

constexpr NamedHandler kDppHandlers[] = {
    {NamedOperation::kFetchDpp, fetch_dpp},
    {NamedOperation::kRestoreExec, restore_exec},
};

/// Returns the row that is M0[7:0] rows after the one at `offset`, or the first row if that is past the
/// last. imm: offset of the first row and, in the upper dword, the number of rows.
uint64_t indexed_row(const MicroOp* op, Wave* wave, uint64_t offset, bool& exists) {
  const uint64_t first = op->imm & 0xffffffff, rows = op->imm >> 32;
  const uint64_t index = (offset - first) / row_bytes(op) + (wave->scalars()[isa::code::kM0] & 0xff);
  exists = index + op->dst2 <= rows;
  return exists ? first + index * row_bytes(op) : first;
}

// dst2: number of rows.
void copy_from_indexed(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  bool exists;
  const uint64_t source = indexed_row(op, wave, op->src[0].offset, exists);
  std::memcpy(registers + op->dst, registers + source, op->dst2 * row_bytes(op));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void copy_to_indexed(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  bool exists;
  const uint64_t destination = indexed_row(op, wave, op->dst, exists);
  if (exists) std::memcpy(registers + destination, registers + op->src[0].offset, op->dst2 * row_bytes(op));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

MicroOp& emit_copy(Lowering& lowering, Handler handler, uint32_t source, uint32_t destination,
                   uint32_t rows) {
  const RegisterLayout& layout = lowering.context.layout;
  MicroOp& op = lowering.out.emit(handler);
  op.aux = lowering.aux;
  op.src[0].offset = source;
  op.dst = destination;
  op.dst2 = rows;
  op.imm = layout.vgpr_offset(0) | uint64_t{layout.vgprs} << 32;
  return op;
}

}  // namespace

// The only wide source and the only wide result use the handler's scratch rows, which the handler then does
// not need.
void fetch_indexed(Lowering& lowering, unsigned source) {
  const uint32_t rows = std::max<uint32_t>(lowering.instruction.src[source].dwords, 1);
  const uint32_t row = rows > 2 ? kScratchRow : kSourceRow + source * 2;
  const uint32_t copy = lowering.context.layout.temporary_offset(row);
  emit_copy(lowering, copy_from_indexed, lowering.src[source].source.offset, copy, rows);
  lowering.src[source].source.offset = copy;
}

// The whole row is copied in and out, so that bits that the operation does not write are preserved.
uint32_t begin_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows) {
  const uint32_t copy = lowering.context.layout.temporary_offset(rows > 2 ? kScratchRow + 4 : kResultRow);
  emit_copy(lowering, copy_from_indexed, dst, copy, rows);
  return copy;
}

void end_indexed_destination(Lowering& lowering, uint32_t dst, uint32_t rows) {
  emit_copy(lowering, copy_to_indexed, lowering.dst, dst, rows);
}

Refusal begin_dpp(Lowering& lowering) {
  const isa::Instruction& instruction = lowering.instruction;
  if (lowering.src[0].is_uniform) return "DPP on an operand that is not a vector register";
  auto* const plan = static_cast<DppPlan*>(lowering.out.allocate(sizeof(DppPlan), alignof(DppPlan)));
  *plan = {};
  const bool dpp8 = instruction.lanes == isa::LaneMode::kDpp8;
  if (!fill_sources(*plan, instruction, lowering.context.traits().dpp,
                    static_cast<int>(lowering.context.layout.wave_size))) {
    return "DPP control does not exist on this GPU";
  }
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool row = dpp8 || (instruction.row_mask >> lane / 16 & 1) != 0;
    const bool bank = dpp8 || (instruction.bank_mask >> lane / 4 % 4 & 1) != 0;
    if (row && bank) plan->writes |= uint64_t{1} << lane;
  }
  plan->zero_if_none = dpp8 || instruction.bound_ctrl;
  plan->fetch_inactive = instruction.fetch_inactive;

  const RegisterLayout& layout = lowering.context.layout;
  const uint32_t source = lowering.src[0].source.offset, copy = layout.temporary_offset(kScratchRow);
  for (uint32_t row = instruction.src[0].dwords; row-- != 0;) {
    MicroOp& op = emit_named(lowering.out, kDppHandlers, NamedOperation::kFetchDpp);
    op.src[0].offset = source + row * layout.row_bytes();
    op.dst = copy + row * layout.row_bytes();
    op.aux = lowering.aux;
    op.imm = reinterpret_cast<uint64_t>(plan);
    if (row != 0) reload_exec(lowering);  // A fetch deactivates lanes.
  }
  lowering.src[0].source.offset = copy;
  return {};
}

bool writes_exec(const isa::Instruction& instruction) {
  const auto is_exec = [](const isa::Operand& operand) {
    return operand.exists() && operand.code <= isa::code::kExecHi &&
           operand.code + (operand.dwords == 2 ? 1 : 0) >= isa::code::kExecLo;
  };
  return is_exec(instruction.dst[0]) || is_exec(instruction.dst[1]);
}

void reload_exec(Lowering& lowering) {
  emit_named(lowering.out, kDppHandlers, NamedOperation::kRestoreExec);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
