// Benchmark of vector instructions on a 64-lane wave, dispatch included: sequences of 1000.
#include <benchmark/benchmark.h>

#include <set>

#include "plugins/vgpu/exec/vector/vector_test_support.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;
using isa::Type;

constexpr int kRun = 1000;

void run(benchmark::State& state, Machine& m, const Instruction& in, int count) {
  CollectingEmitter out;
  for (int i = 0; i < count; ++i) {
    Instruction copy = in;  // destinations alternate, as in compiled code
    if (copy.dst[0].is_vgpr()) copy.dst[0].code = static_cast<uint16_t>(copy.dst[0].code + i % 8);
    if (const Refusal refusal = lower(copy, m.context, out); !refusal.empty()) {
      state.SkipWithError(std::string(refusal).c_str());
      return;
    }
  }
  out.emit(stop_wave);
  for (auto _ : state) {
    m.wave.op = out.ops.data();
    run_wave(&m.wave);
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void run(benchmark::State& state, const Instruction& in, uint64_t exec) {
  Machine m(best_simd_level());
  m.set_exec(exec);
  run(state, m, in, kRun);
}

// Matrices of ones.
void run_matrix(benchmark::State& state, const isa::Target& chip, Op op) {
  const isa::MatrixShape& shape = *isa::matrix_shape(op);
  constexpr uint32_t kB = 8, kC = 16, kD = 48, kVgprs = 88, kMost = 8;
  Machine m(best_simd_level(), 64, chip, kVgprs);
  const uint32_t one = shape.type == isa::MatrixType::kF16    ? 0x3c003c00
                       : shape.type == isa::MatrixType::kBf16 ? 0x3f803f80
                       : shape.type == isa::MatrixType::kI8   ? 0x01010101
                       : isa::bits_of(shape.type) == 8        ? 0x40404040
                       : shape.type == isa::MatrixType::kF64  ? 0x3ff00000
                                                              : 0x3f800000;
  for (uint32_t vgpr = 0; vgpr < kC; ++vgpr) {
    for (uint32_t lane = 0; lane < 64; ++lane) m.vgpr(vgpr, lane) = one;
  }
  const auto results = static_cast<uint8_t>(shape.results() * (isa::bits_of(shape.type) == 64 ? 2 : 1));
  run(state, m,
      instruction(op, Encoding::kVop3p, {v(shape.is_sparse ? kC : kD, Type::kB32, results)},
                  {v(0, Type::kB32, kMost), v(kB, Type::kB32, kMost), v(kC, Type::kB32, results)}),
      1);
}

Instruction vop3(Op op, std::initializer_list<isa::Operand> src, Type type = Type::kF32, uint8_t dwords = 1) {
  return instruction(op, Encoding::kVop3, {v(16, type, dwords)}, src);
}

void register_all() {
  const auto f32 = [](uint32_t i) { return v(i, Type::kF32); };
  const auto f64 = [](uint32_t i) { return v(i, Type::kF64, 2); };
  const uint64_t half = 0x5555aaaa5555aaaa;
  const auto add = [](const char* name, Instruction in, uint64_t exec = ~uint64_t{0}) {
    benchmark::RegisterBenchmark(name, [in, exec](benchmark::State& state) { run(state, in, exec); });
  };
  add("v_add_u32", vop3(Op::v_add_u32, {v(0), v(1)}, Type::kU32));
  add("v_add_u32 s", vop3(Op::v_add_u32, {s(4), v(1)}, Type::kU32));
  add("v_add_u32 half of EXEC", vop3(Op::v_add_u32, {v(0), v(1)}, Type::kU32), half);
  add("v_mov_b32", vop3(Op::v_mov_b32, {v(0)}, Type::kU32));
  add("v_fma_f32", vop3(Op::v_fma_f32, {f32(0), f32(1), f32(2)}));
  add("v_fma_f32 half of EXEC", vop3(Op::v_fma_f32, {f32(0), f32(1), f32(2)}), half);
  Instruction negated = vop3(Op::v_fma_f32, {f32(0), f32(1), f32(2)});
  negated.neg = 1;
  add("v_fma_f32 -a", negated);
  add("v_mad_f32", vop3(Op::v_mad_f32, {f32(0), f32(1), f32(2)}));
  add("v_max_f32", vop3(Op::v_max_f32, {f32(0), f32(1)}));
  add("v_fma_f64", vop3(Op::v_fma_f64, {f64(0), f64(2), f64(4)}, Type::kF64, 2));
  add("v_lshlrev_b64", vop3(Op::v_lshlrev_b64, {v(0), f64(2)}, Type::kU64, 2));
  add("v_cmp_lt_u32", instruction(Op::v_cmp_lt_u32, Encoding::kVop3, {s(106, Type::kMask, 2)}, {v(0), v(1)}));
  add("v_cmp_lt_u64", instruction(Op::v_cmp_lt_u64, Encoding::kVop3, {s(106, Type::kMask, 2)},
                                  {v(0, Type::kU64, 2), v(2, Type::kU64, 2)}));
  add("v_cndmask_b32", vop3(Op::v_cndmask_b32, {v(0), v(1), s(106, Type::kMask, 2)}, Type::kU32));
  add("v_addc_u32", instruction(Op::v_addc_u32, Encoding::kVop3, {v(16), s(106, Type::kMask, 2)},
                                {v(0), v(1), s(106, Type::kMask, 2)}));
  add("v_mad_u64_u32",
      instruction(Op::v_mad_u64_u32, Encoding::kVop3, {v(16, Type::kU64, 2), s(106, Type::kMask, 2)},
                  {v(0), v(1), v(2, Type::kU64, 2)}));
  Instruction packed = instruction(Op::v_pk_fma_f16, Encoding::kVop3p, {v(16, Type::kV2F16)},
                                   {v(0, Type::kV2F16), v(1, Type::kV2F16), v(2, Type::kV2F16)});
  packed.op_sel_hi = 7;
  add("v_pk_fma_f16", packed);
  packed.op_sel_hi = 6;
  add("v_pk_fma_f16 op_sel", packed);
  Instruction mix =
      instruction(Op::v_fma_mix_f32, Encoding::kVop3p, {v(16, Type::kF32)}, {v(0), v(1), v(2, Type::kF32)});
  mix.op_sel_hi = 3;
  add("v_fma_mix_f32", mix);
  add("v_dot2_f32_f16", [&] {
    Instruction dot = packed;
    dot.op = Op::v_dot2_f32_f16;
    dot.op_sel_hi = 7;
    dot.dst[0].type = dot.src[2].type = Type::kF32;
    return dot;
  }());
  add("v_rcp_f32", vop3(Op::v_rcp_f32, {f32(0)}));
  add("v_rsq_f32", vop3(Op::v_rsq_f32, {f32(0)}));
  add("v_exp_f32", vop3(Op::v_exp_f32, {f32(0)}));
  add("v_sin_f32", vop3(Op::v_sin_f32, {f32(0)}));
  add("v_cvt_f16_f32", vop3(Op::v_cvt_f16_f32, {f32(0)}, Type::kF16));
  Instruction dpp = instruction(Op::v_mov_b32, Encoding::kVop1, {v(16)}, {v(0)});
  dpp.lanes = isa::LaneMode::kDpp;
  dpp.dpp_ctrl = 0x111;
  add("v_mov_b32 row_shr:1", dpp);
  Instruction sdwa = instruction(Op::v_add_u32, Encoding::kVop2, {v(16)}, {v(0), v(1)});
  sdwa.lanes = isa::LaneMode::kSdwa;
  sdwa.src_sel[0] = isa::SdwaSel::kByte1;
  add("v_add_u32 src0_sel:BYTE_1", sdwa);
  add("v_readfirstlane_b32", instruction(Op::v_readfirstlane_b32, Encoding::kVop1, {s(4)}, {v(0)}));
  for (const char* const name : {"gfx908", "gfx90a", "gfx942"}) {
    const isa::Target chip = *isa::target_of(name);
    std::set<Op> ops;
    for (const isa::tables::Row& row : isa::tables::rows()) {
      if (row.chips.intersects(isa::chip_set(chip)) && isa::matrix_shape(row.op) != nullptr)
        ops.insert(row.op);
    }
    for (const Op op : ops) {
      benchmark::RegisterBenchmark((std::string(name) + " " + std::string(isa::name(op))).c_str(),
                                   [chip, op](benchmark::State& state) { run_matrix(state, chip, op); });
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec

int main(int argc, char** argv) {
  rigel::vgpu::exec::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
