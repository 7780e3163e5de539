// ds_swizzle, ds_permute and ds_bpermute. A lane that reads from an inactive lane gets 0. On gfx10, lanes
// of a 64-lane wave exchange data within their half only.
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/vector/lower.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

// A row whose lanes are read by index.
template <unsigned W>
struct Table {
#if RIGEL_SIMD_LEVEL == 2
  __m512i parts[W / 16];

  Table(const uint32_t* source, uint64_t exec) {
    for (unsigned i = 0; i < W; i += 16) {
      parts[i / 16] = _mm512_maskz_load_epi32(static_cast<__mmask16>(exec >> i), source + i);
    }
  }
  __m512i at(__m512i index) const {
    const __m512i low = _mm512_permutex2var_epi32(parts[0], index, parts[1]);
    if constexpr (W == 32) {
      return low;
    } else {
      const __m512i high = _mm512_permutex2var_epi32(parts[2], index, parts[3]);
      return _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low, high);
    }
  }
#else
  alignas(64) uint32_t lanes[W] = {};

  Table(const uint32_t* source, uint64_t exec) {
    for_lanes<W>(exec, [&](unsigned lane) { lanes[lane] = source[lane]; });
  }
#endif
};

// src[0]: addresses; src[1]: data; aux: offset; kHalves: within halves only.
template <unsigned W, bool kHalves>
void bpermute(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  constexpr uint32_t kIndex = kHalves ? 31 : W - 1;
  const uint32_t* const addresses = row(registers, op->src[0].offset);
  uint32_t* const result = row(registers, op->dst);
  const Table<W> table(row(registers, op->src[1].offset), exec);
#if RIGEL_SIMD_LEVEL == 2
  for (unsigned i = 0; i < W; i += 16) {
    __m512i index = _mm512_srli_epi32(
        _mm512_add_epi32(_mm512_load_si512(addresses + i), _mm512_set1_epi32(static_cast<int>(op->aux))), 2);
    index = _mm512_and_si512(index, _mm512_set1_epi32(kIndex));
    if (kHalves && i >= 32) index = _mm512_or_si512(index, _mm512_set1_epi32(32));
    _mm512_mask_store_epi32(result + i, static_cast<__mmask16>(exec >> i), table.at(index));
  }
#else
  for_lanes<W>(exec, [&](unsigned lane) {
    const uint32_t index = ((addresses[lane] + op->aux) >> 2 & kIndex) | (kHalves ? lane & 32 : 0);
    result[lane] = table.lanes[index];
  });
#endif
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// If several lanes write to the same lane, the highest wins. Lanes without a writer get 0.
template <unsigned W, bool kHalves>
void permute(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  constexpr uint32_t kIndex = kHalves ? 31 : W - 1;
  const uint32_t* const addresses = row(registers, op->src[0].offset);
  const uint32_t* const data = row(registers, op->src[1].offset);
  uint32_t received[W] = {};
  for_lanes<W>(exec, [&](unsigned lane) {
    received[((addresses[lane] + op->aux) >> 2 & kIndex) | (kHalves ? lane & 32 : 0)] = data[lane];
  });
  uint32_t* const to = row(registers, op->dst);
  for_lanes<W>(exec, [&](unsigned lane) { to[lane] = received[lane]; });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

struct SwizzleSources {
  alignas(64) uint32_t lane[64];
};

// imm: SwizzleSources
template <unsigned W>
void swizzle(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto& sources = details<SwizzleSources>(op);
  uint32_t* const result = row(registers, op->dst);
  const Table<W> table(row(registers, op->src[1].offset), exec);
#if RIGEL_SIMD_LEVEL == 2
  for (unsigned i = 0; i < W; i += 16) {
    _mm512_mask_store_epi32(result + i, static_cast<__mmask16>(exec >> i),
                            table.at(_mm512_load_si512(sources.lane + i)));
  }
#else
  for_lanes<W>(exec, [&](unsigned lane) { result[lane] = table.lanes[sources.lane[lane]]; });
#endif
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

constexpr NamedHandler kHandlers[] = {
    {NamedOperation::kSwizzle32, swizzle<32>},
    {NamedOperation::kSwizzle64, swizzle<64>},
    {NamedOperation::kBpermute32, bpermute<32, false>},
    {NamedOperation::kBpermute64, bpermute<64, false>},
    {NamedOperation::kBpermuteHalves, bpermute<64, true>},
    {NamedOperation::kPermute32, permute<32, false>},
    {NamedOperation::kPermute64, permute<64, false>},
    {NamedOperation::kPermuteHalves, permute<64, true>},
};

// Returns the lane of 32 that `lane` reads from, according to the offset's pattern.
uint32_t swizzle_source(uint32_t lane, uint32_t pattern, bool has_rotation) {
  if ((pattern & 0x8000) == 0) {  // bits of the lane number: and, or, xor
    return ((lane & pattern) | (pattern >> 5 & 0x1f)) ^ (pattern >> 10 & 0x1f);
  }
  if (!has_rotation || pattern < 0xc000) {  // within groups of four lanes
    return (lane & ~3u) | (pattern >> (lane & 3) * 2 & 3);
  }
  const uint32_t mask = pattern & 0x1f;
  if (pattern < 0xe000) {  // rotation of the bits that are not in the mask
    const uint32_t amount = pattern >> 5 & 0x1f;
    const uint32_t rotated = (pattern & 0x400) != 0 ? lane - amount : lane + amount;
    return (lane & mask) | (rotated & ~mask & 0x1f);
  }
  uint32_t reversed = 0;  // FFT order: bits reversed, except those in the mask
  for (unsigned bit = 0; bit < 5; ++bit) reversed |= (lane >> bit & 1) << (4 - bit);
  return reversed >> std::popcount(mask) | (lane & mask);
}

}  // namespace

Refusal lower_lane_exchange(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  const RegisterLayout& layout = context.layout;
  const bool wide = layout.wave_size == 64;
  const bool swizzles = instruction.op == isa::Op::ds_swizzle_b32;
  // The only source of ds_swizzle is in the address operand.
  const isa::Operand& data = swizzles ? instruction.vaddr : instruction.vdata;
  for (const isa::Operand* operand : {&instruction.vaddr, &data, &instruction.vdst}) {
    if (!operand->is_vgpr() || !in_file(*operand, 1, layout)) return kRefuseRegister;
  }
  const bool halves = wide && context.traits().permutes_by_halves;
  NamedOperation operation;
  uint64_t sources_at = 0;
  if (swizzles) {
    SwizzleSources sources{};
    for (uint32_t lane = 0; lane < layout.wave_size; ++lane) {
      sources.lane[lane] =
          (lane & 32) | (swizzle_source(lane & 31, static_cast<uint32_t>(instruction.offset) & 0xffff,
                                        context.traits().swizzle_has_rotation) &
                         31);
    }
    sources_at = reinterpret_cast<uint64_t>(&allocate(out, sources));
    operation = wide ? NamedOperation::kSwizzle64 : NamedOperation::kSwizzle32;
  } else if (instruction.op == isa::Op::ds_bpermute_b32) {
    operation = !wide    ? NamedOperation::kBpermute32
                : halves ? NamedOperation::kBpermuteHalves
                         : NamedOperation::kBpermute64;
  } else {
    operation = !wide    ? NamedOperation::kPermute32
                : halves ? NamedOperation::kPermuteHalves
                         : NamedOperation::kPermute64;
  }
  MicroOp& op = emit_named(out, kHandlers, operation);
  op.src[0].offset = layout.vgpr_offset(instruction.vaddr.vgpr());
  op.src[1].offset = layout.vgpr_offset(data.vgpr());
  op.dst = layout.vgpr_offset(instruction.vdst.vgpr());
  op.aux = static_cast<uint32_t>(instruction.offset);
  op.imm = sources_at;
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
