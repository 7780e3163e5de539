// Benchmark of memory handlers: nanoseconds per instruction of a 64-lane wave, for 16 equal instructions in
// sequence.
#include <benchmark/benchmark.h>

#include "plugins/vgpu/exec/memory_ops/memory_test_support.hpp"

namespace rigel::vgpu::exec::testing {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Op;

constexpr int kRepeat = 16;

void run(benchmark::State& state, Machine& m, const Instruction& instruction) {
  CollectingEmitter out;
  for (int i = 0; i < kRepeat; ++i) {
    if (!lower(instruction, m.context, out).empty()) state.SkipWithError("refused");
  }
  out.emit(stop_wave);
  const WaveMemory::Scope scope(m.memory);
  for (auto _ : state) {
    m.wave.op = out.ops.data();
    run_wave(&m.wave);
    benchmark::ClobberMemory();
  }
  if (m.wave.stop != Stop::kEnd) state.SkipWithError("stopped");
  state.counters["ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * kRepeat,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

enum Pattern { kConsecutive, kUniform, kPermuted, kStrided, kRandom, kTileRow, kBitonic, kExchange, kHalf };

uint32_t element_of(int64_t pattern, uint32_t lane) {
  switch (pattern) {
    case kUniform:
      return 3;
    case kPermuted:
      return lane * 29 % 64;
    case kStrided:
      return lane * 16;
    case kRandom:
      return lane * 2654435761u >> 22;
    case kTileRow:
      return lane / 16;
    case kBitonic:
      return 2 * lane - (lane & 3);
    case kExchange:
      return lane ^ 8;
    default:
      return lane;
  }
}

void global(benchmark::State& state, Op op, unsigned dwords) {
  Machine m({best_simd_level(), 64});
  const Buffer a = m.bus.allocate(1 << 20);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    m.set_address(2, lane, a.va + element_of(state.range(0), lane) * dwords * 4);
  }
  if (state.range(0) == kHalf) m.set_exec(0xffffffff);
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kGlobal;
  i.vaddr = vgpr_operand(2, 2);
  i.vdata = i.vdst = vgpr_operand(8, dwords);
  run(state, m, i);
}

void ds(benchmark::State& state, Op op, unsigned dwords) {
  Machine m({best_simd_level(), 64});
  for (uint32_t lane = 0; lane < 64; ++lane)
    m.vgpr(2)[lane] = element_of(state.range(0), lane) * dwords * 4 % 4096;
  if (state.range(0) == kHalf) m.set_exec(0xffffffff);
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kDs;
  i.vaddr = vgpr_operand(2);
  i.vdata = i.vdst = vgpr_operand(8, dwords);
  i.vdata2 = vgpr_operand(12, dwords);
  if (isa::name(op).find("2_") != std::string_view::npos) i.offset1 = 1;
  run(state, m, i);
}

void buffer(benchmark::State& state, Op op, unsigned dwords) {
  Machine m({best_simd_level(), 64});
  const Buffer a = m.bus.allocate(1 << 20);
  m.set_scalar64(8, a.va);
  m.set_scalar(10, 1 << 20);
  for (uint32_t lane = 0; lane < 64; ++lane) m.vgpr(2)[lane] = element_of(state.range(0), lane) * dwords * 4;
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kMubuf;
  i.saddr = sgpr_operand(8, 4);
  i.soffset = {isa::code::kZero, isa::Type::kB32, 1};
  i.offen = true;
  i.vaddr = vgpr_operand(2);
  i.vdata = i.vdst = vgpr_operand(8, dwords);
  run(state, m, i);
}

void scratch(benchmark::State& state) {
  Machine m({best_simd_level(), 64});
  const Buffer a = m.bus.allocate(1 << 20);
  m.set_scalar64(8, a.va | uint64_t{1} << 63);
  m.set_scalar(10, 1 << 20);
  m.set_scalar(11, 3u << 21 | 1u << 23);
  Instruction i;
  i.op = Op::buffer_load_dword;
  i.encoding = Encoding::kMubuf;
  i.saddr = sgpr_operand(8, 4);
  i.soffset = {isa::code::kZero, isa::Type::kB32, 1};
  i.offset = 8;
  i.vdst = vgpr_operand(8);
  run(state, m, i);
}

void scalar_load(benchmark::State& state, Op op) {
  Machine m({best_simd_level(), 64});
  const Buffer a = m.bus.allocate(1 << 20);
  m.set_scalar64(8, a.va);
  Instruction i;
  i.op = op;
  i.encoding = Encoding::kSmem;
  i.saddr = sgpr_operand(8, 2);
  i.vdst = sgpr_operand(16);
  run(state, m, i);
}

void load_patterns(benchmark::internal::Benchmark* b) {
  b->ArgName("pattern");
  for (int p = kConsecutive; p <= kHalf; ++p) b->Arg(p);
}

BENCHMARK_CAPTURE(global, load_dword, Op::global_load_dword, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(global, load_dwordx2, Op::global_load_dwordx2, 2)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(global, load_dwordx4, Op::global_load_dwordx4, 4)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(global, load_ubyte, Op::global_load_ubyte, 1)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(global, load_ushort, Op::global_load_ushort, 1)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(global, store_dword, Op::global_store_dword, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(global, store_dwordx4, Op::global_store_dwordx4, 4)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(global, store_byte, Op::global_store_byte, 1)->Arg(kConsecutive);
BENCHMARK_CAPTURE(global, atomic_add, Op::global_atomic_add, 1)->Arg(kConsecutive)->Arg(kUniform);
BENCHMARK_CAPTURE(ds, read_b32, Op::ds_read_b32, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(ds, read_b64, Op::ds_read_b64, 2)->Arg(kConsecutive)->Arg(kPermuted)->Arg(kTileRow);
BENCHMARK_CAPTURE(ds, read_b128, Op::ds_read_b128, 4)->Arg(kConsecutive)->Arg(kPermuted)->Arg(kTileRow);
BENCHMARK_CAPTURE(ds, read2_b32, Op::ds_read2_b32, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(ds, write_b32, Op::ds_write_b32, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(ds, write_b64, Op::ds_write_b64, 2)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(ds, write2_b32, Op::ds_write2_b32, 1)->Arg(kConsecutive)->Arg(kBitonic);
BENCHMARK_CAPTURE(ds, add_u32, Op::ds_add_u32, 1)->Arg(kConsecutive)->Arg(kUniform)->Arg(kRandom);
BENCHMARK_CAPTURE(ds, read_u16, Op::ds_read_u16, 1)->Arg(kConsecutive);
BENCHMARK_CAPTURE(ds, bpermute, Op::ds_bpermute_b32, 1)->Arg(kPermuted);
BENCHMARK_CAPTURE(ds, permute, Op::ds_permute_b32, 1)->Arg(kPermuted);
BENCHMARK_CAPTURE(buffer, load_dword, Op::buffer_load_dword, 1)->Apply(load_patterns);
BENCHMARK_CAPTURE(buffer, load_dwordx4, Op::buffer_load_dwordx4, 4)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK_CAPTURE(buffer, store_dword, Op::buffer_store_dword, 1)->Arg(kConsecutive)->Arg(kPermuted);
BENCHMARK(scratch);
BENCHMARK_CAPTURE(scalar_load, dword, Op::s_load_dword);
BENCHMARK_CAPTURE(scalar_load, dwordx16, Op::s_load_dwordx16);

}  // namespace
}  // namespace rigel::vgpu::exec::testing
