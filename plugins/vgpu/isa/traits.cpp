#include "plugins/vgpu/isa/traits.hpp"

#include <array>
#include <cstddef>

namespace rigel::vgpu::isa {
namespace {

/// Registers 1 to 7, MODE to IB_STS.
constexpr uint32_t kUsual = 0xfe;
constexpr uint32_t reg(unsigned id) {
  return 1u << id;
}
constexpr uint32_t kHwId = reg(4), kShMemBases = reg(15), kTrapBases = 0xfu << 16, kXccId = reg(20),
                   kFlatScratch = 3u << 20, kXnackMask = reg(22), kHwId12 = 3u << 23, kShaderCycles = reg(29);
/// gfx12: MODE, STATUS, STATE_PRIV, GPR_ALLOC, LDS_ALLOC, IB_STS, performance snapshots, exception flags,
/// TRAP_CTRL, SCRATCH_BASE, SHADER_CYCLES of 64 bits, DVGPR_ALLOC_LO.
constexpr uint32_t kSplitStatus = 0xe03f9cf6;

constexpr Traits kVolcanicIslands{
    .has_null = false,
    .has_aperture_operands = false,
    .cmpx_writes_mask = true,
    .half_result = HalfResult::kClears,
    .has_ieee_mode = true,
    .has_finite_halves = false,
    .extremes_flush = false,
    .sine_limited = true,
    .dot2_flushes_halves = false,
    .dpp = DppControls::kWaveShifts,
    .m0_limits_lds = true,
    .swizzle_has_rotation = false,
    .permutes_by_halves = false,
    .ordered_count_has_dwords = false,
    .buffer = BufferRules::kBySwizzle,
    .has_compact_formats = false,
    .image = ImageGeneration::kGfx8,
    .image_has_dimension = false,
    .packs_d16 = true,
    .d16_loads_clear_half = false,
    .flat_scratch_is_hidden = false,
    .has_cache_scopes = false,
    .flat_scratch_counts_from_base = true,
    .has_launched_flat_scratch = false,
    .scratch_adds_registers = false,
    .flat_drops_offset = false,
    .packs_work_item_ids = false,
    .has_ids_in_ttmps = false,
    .vgpr_granule = 4,
    .matrix_sums = MatrixSums::kExact,
    .splits_matrices = false,
    .matrix_negates_doubles = false,
    .has_agprs = false,
    .has_unified_vgprs = false,
    .allocates_sgprs = true,
    .has_wave_placement_ids = false,
    .has_xcc_id = false,
    .has_split_status = false,
    .has_get_doorbell = false,
    .has_returned_messages = false,
    .has_split_counters = false,
    .mode_bits = ~0u,
    .hardware_registers = kUsual,
    .trap = {.first = 112, .status = 4, .data = 10, .id_shift = 16},
};

constexpr Traits kTopaz = [] {
  Traits traits = kVolcanicIslands;
  traits.packs_d16 = false;  // gfx8.0 uses a register for each half; Stoney (gfx810) packs them.
  return traits;
}();

constexpr Traits kVega = [] {
  Traits traits = kVolcanicIslands;
  traits.has_aperture_operands = true;
  traits.half_result = HalfResult::kKeepsWhereOpSel;
  traits.has_finite_halves = true;
  traits.extremes_flush = true;
  traits.dot2_flushes_halves = true;
  traits.m0_limits_lds = false;
  traits.swizzle_has_rotation = true;
  traits.buffer = BufferRules::kByIndex;
  traits.image = ImageGeneration::kGfx9;
  traits.flat_scratch_counts_from_base = false;
  traits.has_get_doorbell = true;
  traits.hardware_registers = kUsual | kShMemBases | kTrapBases;
  traits.trap = {.first = 108, .status = 12, .data = 14, .id_shift = 16};
  return traits;
}();

constexpr Traits kVega20 = [] {
  Traits traits = kVega;
  traits.d16_loads_clear_half = true;
  return traits;
}();

constexpr Traits kArcturus = [] {
  Traits traits = kVega20;
  traits.has_agprs = true;
  return traits;
}();

constexpr Traits kAldebaran = [] {
  Traits traits = kArcturus;
  traits.packs_work_item_ids = true;
  traits.vgpr_granule = 8;
  traits.has_unified_vgprs = true;
  traits.matrix_sums = MatrixSums::kFlushed;
  return traits;
}();

constexpr Traits kAquaVanjaram = [] {
  Traits traits = kAldebaran;
  traits.flat_scratch_is_hidden = true;
  traits.has_launched_flat_scratch = true;
  traits.has_cache_scopes = true;
  traits.scratch_adds_registers = true;
  traits.matrix_sums = MatrixSums::kTruncated;
  traits.matrix_negates_doubles = true;
  traits.has_xcc_id = true;
  traits.hardware_registers |= kXccId;
  return traits;
}();

constexpr Traits kRdna = [] {
  Traits traits = kVega;
  traits.has_null = true;
  traits.cmpx_writes_mask = false;
  traits.half_result = HalfResult::kKeeps;
  traits.sine_limited = false;
  traits.dot2_flushes_halves = false;
  traits.dpp = DppControls::kRowShares;
  traits.permutes_by_halves = true;
  traits.ordered_count_has_dwords = true;
  traits.buffer = BufferRules::kSelected;
  traits.image = ImageGeneration::kGfx10_1;
  traits.image_has_dimension = true;
  traits.flat_scratch_is_hidden = true;
  traits.flat_drops_offset = true;
  traits.allocates_sgprs = false;
  traits.has_wave_placement_ids = true;
  traits.mode_bits = 0x07ffffff;  // Higher bits control indexing, VSKIP and forks, which RDNA lacks.
  traits.hardware_registers |= kFlatScratch | kXnackMask | kHwId12;
  return traits;
}();

constexpr Traits kRdna2 = [] {
  Traits traits = kRdna;
  traits.flat_drops_offset = false;
  traits.image = ImageGeneration::kGfx10_3;
  traits.hardware_registers &= ~(kHwId | kXnackMask);
  traits.hardware_registers |= kShaderCycles;
  return traits;
}();

constexpr Traits kRdna3 = [] {
  Traits traits = kRdna2;
  traits.image = ImageGeneration::kGfx11;
  traits.has_compact_formats = true;
  traits.has_launched_flat_scratch = true;
  traits.scratch_adds_registers = true;
  traits.packs_work_item_ids = true;
  traits.has_get_doorbell = false;
  traits.has_returned_messages = true;
  traits.hardware_registers &= ~kTrapBases;
  return traits;
}();

constexpr Traits kRdna4 = [] {
  Traits traits = kRdna3;
  traits.image = ImageGeneration::kGfx12;
  traits.has_split_counters = true;
  traits.has_ieee_mode = false;
  traits.has_ids_in_ttmps = true;
  traits.splits_matrices = true;
  traits.has_split_status = true;
  traits.trap.id_shift = 28;
  traits.mode_bits = 0x018000ff;  // FP_ROUND, FP_DENORM, FP16_OVFL, SCALAR_PREFETCH_EN
  traits.hardware_registers = kSplitStatus | kHwId12;
  return traits;
}();

struct Row {
  Target chip;
  const Traits& traits;
};

constexpr Row kRows[] = {
    {{8, 0, 1}, kTopaz},           {{8, 0, 2}, kTopaz},        {{8, 0, 3}, kTopaz},  {{8, 0, 5}, kTopaz},
    {{8, 1, 0}, kVolcanicIslands}, {{9, 0, 0}, kVega},         {{9, 0, 2}, kVega},   {{9, 0, 4}, kVega},
    {{9, 0, 6}, kVega20},          {{9, 0, 8}, kArcturus},     {{9, 0, 9}, kVega},   {{9, 0, 10}, kAldebaran},
    {{9, 0, 12}, kVega},           {{9, 4, 2}, kAquaVanjaram}, {{10, 1, 0}, kRdna},  {{10, 1, 1}, kRdna},
    {{10, 1, 2}, kRdna},           {{10, 1, 3}, kRdna},        {{10, 3, 0}, kRdna2}, {{10, 3, 1}, kRdna2},
    {{10, 3, 2}, kRdna2},          {{10, 3, 3}, kRdna2},       {{10, 3, 4}, kRdna2}, {{10, 3, 5}, kRdna2},
    {{10, 3, 6}, kRdna2},          {{11, 0, 0}, kRdna3},       {{11, 0, 1}, kRdna3}, {{11, 0, 2}, kRdna3},
    {{11, 0, 3}, kRdna3},          {{11, 5, 0}, kRdna3},       {{11, 5, 1}, kRdna3}, {{12, 0, 0}, kRdna4},
    {{12, 0, 1}, kRdna4},
};

}  // namespace

const Traits* find_traits(const Target& target) {
  // Indexed by the chip's number, since lowering calls this for every instruction. 0: an unknown chip.
  static constexpr auto kByNumber = [] {
    std::array<const Traits*, std::size(detail::kChips) + 1> table{};
    for (const Row& row : kRows) table[detail::chip_number(row.chip)] = &row.traits;
    return table;
  }();
  return kByNumber[detail::chip_number(target)];
}

}  // namespace rigel::vgpu::isa
