// Any bytes as code: a wave runs them until it ends, stops for a reason, or its turn is over. Never may it
// crash, hang, or stop without saying why.
//
//   byte 0      the target and the width of the wave
//   byte 1      what of EXEC is active
//   from 2 on   the code
//
// Pairs of scalars from s0 on and lanes of v0 … v7 begin with addresses of a buffer, descriptors of it, LDS
// and scratch, so that what the code accesses is often there.
#include <cstdint>
#include <cstdlib>
#include <cstring>

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
  // A descriptor of the buffer as bytes, in both layouts of its format.
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
  wave.wave.scratch_va = buffer.va + 4096;
  wave.wave.scratch_lane_bytes = 64;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 6 || size > 4096) return 0;
  const Choice& choice = kChoices[data[0] % (sizeof kChoices / sizeof kChoices[0])];
  TestWave wave(gfx(choice.major, choice.minor, choice.stepping), choice.wave_size, kVgprs);
  const auto buffer = wave.bus.allocate(16384);
  fill_registers(wave, buffer, choice.wave_size);
  if (data[1] != 0) wave.set_exec((data[1] * 0x0101010101010101u) & wave.wave.mask());
  std::memcpy(wave.code_buffer.host, data + 2, size - 2);

  wave.run_at(wave.code_buffer.va, kTurn);
  for (int turn = 1; turn < kTurns && wave.wave.stop == Stop::kBudget; ++turn) wave.go_on(kTurn);
  // It did something and says why it does no more.
  if (wave.wave.stop == Stop::kRunning) std::abort();
  if (wave.wave.stop == Stop::kIllegal && wave.wave.illegal_reason == nullptr) std::abort();
  return 0;
}
