// Fuzzer of the executor: runs arbitrary bytes as code until the wave stops or has used its time slices. The
// wave must not crash, hang, or stop without a reason. If the CPU has several SIMD levels, a second wave runs
// on another level. Both must stop at the same instruction with the same registers and memory.
//
//   byte 0      target and wave size
//   byte 1      pattern of EXEC
//   from 2 on   code
//
// Initial scalars from s0 on and lanes of v0 to v7 contain addresses of a buffer, descriptors of it, LDS and
// scratch, so that accesses often succeed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "plugins/vgpu/exec/test_wave.hpp"

using namespace rigel::vgpu::exec;
using rigel::vgpu::exec::testing::gfx;
using rigel::vgpu::exec::testing::TestWave;

namespace {

constexpr uint32_t kVgprs = 256;
constexpr int64_t kTurn = 2000;  // instructions
constexpr int kTurns = 4;

struct Choice {
  uint8_t major, minor, stepping;
  uint32_t wave_size;
};
constexpr Choice kChoices[] = {{8, 0, 3, 64},  {9, 0, 0, 64},  {9, 0, 6, 64}, {10, 1, 0, 32},
                               {10, 1, 0, 64}, {10, 3, 0, 32}, {10, 3, 0, 64}};

void fill_registers(TestWave& wave, const rigel::vgpu::testing::Buffer& buffer, uint32_t wave_size) {
  for (uint32_t i = 0; i < 32; i += 2) wave.set_s64(i, buffer.va + i * 64);
  // A descriptor of the buffer as bytes, valid in both layouts of the format field.
  wave.set_s64(8, buffer.va);
  wave.set_s64(10, 4096 | uint64_t{0x31027fac} << 32);
  for (uint32_t lane = 0; lane < wave_size; ++lane) {
    const uint64_t va = buffer.va + lane * 8;
    for (uint32_t v = 0; v < 8; v += 2) {
      wave.v(v, lane) = v == 4 ? lane * 4 : static_cast<uint32_t>(va);
      wave.v(v + 1, lane) = static_cast<uint32_t>(va >> 32);
    }
    wave.v(8, lane) = 0x3f800000 + lane;
    wave.v(9, lane) = lane * 0x9e3779b9;
  }
  wave.set_s64(kFlatScratchSgpr, buffer.va + 4096);
  wave.set_s64(kFlatScratchSlot, buffer.va + 4096);
  wave.wave.scratch_lane_bytes = 64;
}

struct Run {
  Run(const Choice& choice, uint8_t active, const uint8_t* code, size_t size, SimdLevel level)
      : wave(gfx(choice.major, choice.minor, choice.stepping), choice.wave_size, kVgprs, level),
        buffer(wave.bus.allocate(kBufferBytes)) {
    fill_registers(wave, buffer, choice.wave_size);
    if (active != 0) wave.set_exec((active * 0x0101010101010101u) & wave.wave.mask());
    std::memcpy(wave.code_buffer.host, code, size);
  }

  void turn(bool first) { first ? wave.run_at(wave.code_buffer.va, kTurn) : wave.resume(kTurn); }

  static constexpr uint64_t kBufferBytes = 16384;
  TestWave wave;
  const rigel::vgpu::testing::Buffer buffer;
};

[[noreturn]] void differ(const char* what) {
  std::fprintf(stderr, "the handlers of two levels differ: %s\n", what);
  std::abort();
}

void expect_same(Run& a, Run& b) {
  const Wave &x = a.wave.wave, &y = b.wave.wave;
  if (x.stop != y.stop) differ("why they stopped");
  if (pc_of(x.op) != pc_of(y.op)) differ("where they stopped");
  if (a.wave.executed != b.wave.executed) differ("how many instructions they executed");
  if (x.scc != y.scc || x.mode != y.mode || x.status != y.status || x.trap_status != y.trap_status)
    differ("SCC, MODE, STATUS or TRAPSTS");
  if (x.stop == Stop::kFault && x.fault_va != y.fault_va) differ("the address of the fault");
  if (!std::ranges::equal(a.wave.scalars(), b.wave.scalars())) differ("scalar registers");
  if (!std::ranges::equal(a.wave.rows(), b.wave.rows())) differ("vector registers");
  if (!std::ranges::equal(a.wave.lds(), b.wave.lds())) differ("LDS");
  if (std::memcmp(a.buffer.host, b.buffer.host, Run::kBufferBytes) != 0) differ("memory");
  if (a.wave.messages != b.wave.messages) differ("messages");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 6 || size > 4096) return 0;
  const Choice& choice = kChoices[data[0] % (sizeof kChoices / sizeof kChoices[0])];
  Run run(choice, data[1], data + 2, size - 2, best_simd_level());
  std::unique_ptr<Run> first;
  if (simd_levels().size() > 1)
    first = std::make_unique<Run>(choice, data[1], data + 2, size - 2, simd_levels().front());

  const Wave& wave = run.wave.wave;
  for (int turn = 0; turn < kTurns && (turn == 0 || wave.stop == Stop::kBudget); ++turn) {
    run.turn(turn == 0);
    if (first == nullptr) continue;
    first->turn(turn == 0);
    expect_same(run, *first);
  }
  // The wave has a reason for stopping.
  if (wave.stop == Stop::kRunning) std::abort();
  if (wave.stop == Stop::kIllegal && wave.illegal_reason == nullptr) std::abort();
  return 0;
}
