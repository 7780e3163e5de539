// Operations across lanes, or on registers that the instruction does not name: readlane, writelane,
// permlane, mbcnt, movrel, swap. Also operations without effect, and unsupported ones.
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/lower.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

uint32_t& dword(std::byte* registers, uint64_t offset) {
  return *reinterpret_cast<uint32_t*>(registers + offset);
}

void do_nothing(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void copy_scalar(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  dword(registers, op->dst) = uniform_value<uint32_t>(op, registers, 0);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Reads lane 0 if no lane is active.
void read_first_lane(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto lane = static_cast<uint32_t>(exec == 0 ? 0 : std::countr_zero(exec));
  dword(registers, op->dst) = dword(registers, op->src[0].offset + lane * 4);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

uint32_t lane_mask_of(const MicroOp* op) {
  return (op->aux & aux::kWave64) != 0 ? 63 : 31;
}

void read_lane(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t lane = uniform_value<uint32_t>(op, registers, 1) & lane_mask_of(op);
  dword(registers, op->dst) = dword(registers, op->src[0].offset + lane * 4);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void write_lane(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t lane = uniform_value<uint32_t>(op, registers, 1) & lane_mask_of(op);
  dword(registers, op->dst + lane * 4) = uniform_value<uint32_t>(op, registers, 0);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// imm: bit 0: inactive lanes are read; bit 1: otherwise they read as 0; bit 2: lanes of the other row of
// 16.
void permute_rows(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint64_t selectors =
      uniform_value<uint32_t>(op, registers, 1) | uint64_t{uniform_value<uint32_t>(op, registers, 2)} << 32;
  const uint32_t lanes = lane_mask_of(op) + 1;
  const uint32_t row_offset = (op->imm & 4) != 0 ? 16 : 0;
  uint32_t values[64];
  std::memcpy(values, registers + op->src[0].offset, lanes * 4);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if ((exec >> lane & 1) == 0) continue;
    const uint32_t source =
        ((lane & ~15u) ^ row_offset) | static_cast<uint32_t>(selectors >> (lane & 15) * 4 & 15);
    const bool readable = (op->imm & 1) != 0 || (exec >> source & 1) != 0;
    if (readable || (op->imm & 2) != 0) dword(registers, op->dst + lane * 4) = readable ? values[source] : 0;
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// As permute_rows(), with the low bits of a lane of S1 as its selector. Inactive lanes are read.
void permute_rows_by_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t lanes = lane_mask_of(op) + 1;
  const uint32_t row_offset = (op->imm & 4) != 0 ? 16 : 0;
  const bool has_uniform_selector = (op->aux & aux::kUniform << 1) != 0;
  const uint32_t uniform = has_uniform_selector ? uniform_value<uint32_t>(op, registers, 1) : 0;
  uint32_t values[64], selectors[64];
  std::memcpy(values, registers + op->src[0].offset, lanes * 4);
  if (!has_uniform_selector) std::memcpy(selectors, registers + op->src[1].offset, lanes * 4);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if ((exec >> lane & 1) == 0) continue;
    const uint32_t selector = (has_uniform_selector ? uniform : selectors[lane]) & 15;
    dword(registers, op->dst + lane * 4) = values[((lane & ~15u) ^ row_offset) | selector];
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Exchanges the halves of a wave of 64. In waves of 32 the instruction does nothing.
void exchange_halves(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if ((op->aux & aux::kWave64) != 0) {
    uint32_t values[64];
    const bool uniform = (op->aux & aux::kUniform) != 0;
    if (!uniform) std::memcpy(values, registers + op->src[0].offset, sizeof values);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      if ((exec >> lane & 1) == 0) continue;
      dword(registers, op->dst + lane * 4) =
          uniform ? uniform_value<uint32_t>(op, registers, 0) : values[lane ^ 32];
    }
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Counts the source's bits below the lane, in its low or high half; imm is 0 or 32.
void count_below(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // sources must be destroyed before the tail call
    const Lanes<U32, Kind::kAny> a(op, registers, 0, 0), b(op, registers, 1, 0);
    each_chunk_of_wave<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          U32 below;
          for (int i = 0; i < kLanes; ++i) {
            const int64_t count = static_cast<int64_t>(lane) + i - static_cast<int64_t>(op->imm);
            below[i] = count <= 0 ? 0 : count >= 32 ? ~0u : (1u << count) - 1;
          }
          put(registers + op->dst + lane * 4, population(a.at(lane) & below) + b.at(lane), bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void swap_rows(std::byte* a, std::byte* b, uint32_t aux, uint64_t exec) {
  each_chunk<kLanes>(
      aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
        const U32 from_a = load<U32>(a + lane * 4), from_b = load<U32>(b + lane * 4);
        put(a + lane * 4, from_b, bits);
        put(b + lane * 4, from_a, bits);
      });
}

void swap(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  swap_rows(registers + op->dst, registers + op->src[0].offset, op->aux, exec);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Moves rows relative to M0. imm: offset of the first row and, in the upper dword, the number of rows. Past
// the last row, the first row is read and no row is written.
enum class Relative : uint8_t { kSource, kDestination, kBoth, kBothOwn, kSwap };

template <Relative R>
void move_relative(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const uint32_t m0 = dword(registers, scalar_offset(isa::code::kM0));
  const uint64_t first = op->imm & 0xffffffff, rows = op->imm >> 32;
  const uint32_t bytes = row_bytes(op);
  const bool separate_indices = R == Relative::kBothOwn || R == Relative::kSwap;
  const uint64_t source_index = separate_indices ? m0 & 0x3ff : m0,
                 destination_index = separate_indices ? m0 >> 16 & 0x3ff : m0;
  uint64_t source = op->src[0].offset, destination = op->dst;
  bool writes = true;
  if (R != Relative::kDestination) {
    const bool exists = (source - first) / bytes + source_index < rows;
    source = first + (exists ? source - first + source_index * bytes : 0);
    if (R == Relative::kSwap) writes = exists;
  }
  if (R != Relative::kSource) {
    writes = writes && (destination - first) / bytes + destination_index < rows;
    destination = writes ? destination + destination_index * bytes : destination;
  }
  if (writes && R == Relative::kSwap) {
    swap_rows(registers + destination, registers + source, op->aux, exec);
  } else if (writes) {
    const bool uniform = (op->aux & aux::kUniform) != 0;
    const U32 value = uniform ? splat_dword<U32>(uniform_place(op, registers, 0)) : U32{};
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          put(registers + destination + lane * 4, uniform ? value : load<U32>(registers + source + lane * 4),
              bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr NamedHandler kHandlers[] = {
    {NamedOperation::kReadFirstLane, read_first_lane}, {NamedOperation::kReadLane, read_lane},
    {NamedOperation::kWriteLane, write_lane},          {NamedOperation::kCountBelow, count_below},
    {NamedOperation::kPermuteRows, permute_rows},
};

NamedHandler named(NamedOperation operation) {
  return find_named(kHandlers, operation);
}
constexpr NamedHandler unnamed(Handler handler) {
  return {NamedOperation::kNone, handler};
}

/// Emits `handler` with the first `count` sources and dst[0].
Refusal emit_simple(Lowering& lowering, NamedHandler handler, unsigned count) {
  if (!lowering.place_sources(count)) return "source operand is not readable";
  if (!destination_offset(lowering.instruction.dst[0], lowering.context, lowering.dst)) {
    return "destination operand is not writable";
  }
  const isa::LaneMode lanes = lowering.instruction.lanes;
  const bool dpp = lanes == isa::LaneMode::kDpp || lanes == isa::LaneMode::kDpp8;
  if (dpp) {
    if (const Refusal refusal = begin_dpp(lowering); !refusal.empty()) return refusal;
  }
  const bool indexed = lowering.instruction.dst[0].is_vgpr() && (lowering.context.gpr_index & 8) != 0;
  const uint32_t destination = lowering.dst;
  if (indexed) lowering.dst = begin_indexed_destination(lowering, destination, 1);
  lowering.emit(handler.handler, known_operation(handler.operation));
  if (indexed) end_indexed_destination(lowering, destination, 1);
  if (dpp || writes_exec(lowering.instruction)) reload_exec(lowering);
  return {};
}

constexpr Refusal kRefuseIndexed = "relative register operand while GPR indexing is on";

Refusal emit_relative(Lowering& lowering, Handler handler) {
  if (lowering.context.gpr_index != 0) return kRefuseIndexed;
  const RegisterLayout& layout = lowering.context.layout;
  lowering.imm = layout.vgpr_offset(0) | uint64_t{layout.vgprs} << 32;
  return emit_simple(lowering, unnamed(handler), 1);
}

/// Emits a read of a VGPR's lane. A scalar source is copied, because all lanes have the same value.
Refusal emit_read(Lowering& lowering, NamedOperation operation, unsigned count) {
  const bool vector = lowering.instruction.src[0].is_vgpr();
  return emit_simple(lowering, vector ? named(operation) : unnamed(copy_scalar), count);
}

Refusal emit_permute(Lowering& lowering, unsigned other_row) {
  lowering.imm = (lowering.instruction.op_sel & 3u) | other_row;
  return emit_simple(lowering, named(NamedOperation::kPermuteRows), 3);
}

}  // namespace

std::optional<Refusal> lower_across_lanes(Lowering& lowering) {
  switch (lowering.instruction.op) {
    case Op::v_nop:
    case Op::v_clrexcp:
    case Op::v_pipeflush:
      lowering.out.emit(do_nothing);
      return Refusal{};
    case Op::v_readfirstlane_b32:
      return emit_read(lowering, NamedOperation::kReadFirstLane, 1);
    case Op::v_readlane_b32:
      return emit_read(lowering, NamedOperation::kReadLane, 2);
    case Op::v_writelane_b32:
      return emit_simple(lowering, named(NamedOperation::kWriteLane), 2);
    case Op::v_permlane16_b32:
      return emit_permute(lowering, 0);
    case Op::v_permlanex16_b32:
      return emit_permute(lowering, 4);
    case Op::v_permlane16_var_b32:
    case Op::v_permlanex16_var_b32:
      if (!lowering.instruction.src[0].is_vgpr()) return "source operand is not a VGPR";
      lowering.imm = lowering.instruction.op == Op::v_permlanex16_var_b32 ? 4 : 0;
      return emit_simple(lowering, unnamed(permute_rows_by_lanes), 2);
    case Op::v_permlane64_b32:
      return emit_simple(lowering, unnamed(exchange_halves), 1);
    case Op::v_mbcnt_lo_u32_b32:
      return emit_simple(lowering, named(NamedOperation::kCountBelow), 2);
    case Op::v_mbcnt_hi_u32_b32:
      lowering.imm = 32;
      return emit_simple(lowering, named(NamedOperation::kCountBelow), 2);
    case Op::v_swap_b32:
      if (lowering.context.gpr_index != 0) return kRefuseIndexed;
      return emit_simple(lowering, unnamed(swap), 1);
    case Op::v_movrels_b32:
      return emit_relative(lowering, move_relative<Relative::kSource>);
    case Op::v_movreld_b32:
      return emit_relative(lowering, move_relative<Relative::kDestination>);
    case Op::v_movrelsd_b32:
      return emit_relative(lowering, move_relative<Relative::kBoth>);
    case Op::v_movrelsd_2_b32:
      return emit_relative(lowering, move_relative<Relative::kBothOwn>);
    case Op::v_swaprel_b32:
      return emit_relative(lowering, move_relative<Relative::kSwap>);
    case Op::v_interp_p1_f32:
    case Op::v_interp_p2_f32:
    case Op::v_interp_mov_f32:
    case Op::v_interp_p1ll_f16:
    case Op::v_interp_p1lv_f16:
    case Op::v_interp_p2_f16:
    case Op::v_interp_p2_legacy_f16:
    case Op::v_interp_p10_f32:
    case Op::v_interp_p10_f16_f32:
    case Op::v_interp_p10_rtz_f16_f32:
    case Op::v_interp_p2_f16_f32:
    case Op::v_interp_p2_rtz_f16_f32:
      return "interpolation is not supported: it needs attributes of a pixel shader";
    case Op::v_screen_partition_4se_b32:
      return "screen partitions are not supported";
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
