// Test support: a wave on a fake bus, which executes single memory instructions.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/test_emitter.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::testing {

using vgpu::testing::Buffer;
using vgpu::testing::FakeBus;
using vgpu::testing::kPage;

struct Level {
  SimdLevel simd = SimdLevel::kBaseline;
  uint32_t wave_size = 64;
};

inline std::vector<Level> all_levels() {
  std::vector<Level> levels;
  for (const SimdLevel simd : simd_levels()) {
    for (const uint32_t size : {32u, 64u}) levels.push_back({simd, size});
  }
  return levels;
}

inline std::string level_name(const ::testing::TestParamInfo<Level>& info) {
  constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
  return std::string(kNames[static_cast<size_t>(info.param.simd)]) + "_wave" +
         std::to_string(info.param.wave_size);
}

class TestCore final : public Core {
 public:
  uint64_t reference_clock() override { return ++ticks; }
  uint64_t shader_clock() override { return ++ticks; }
  void send_interrupt(Wave&, uint32_t) override {}
  void invalidate_instructions(Wave&) override {}
  TrapHandler trap_handler() override { return {}; }
  GlobalWaveSync* global_wave_sync() override { return &sync; }
  GlobalWaveSync sync;
  uint64_t ticks = 1000;
};

inline isa::Target chip_of(uint8_t major) {
  return major == 8 ? isa::Target{8, 0, 3} : major == 9 ? isa::Target{9, 0, 0} : isa::Target{10, 3, 0};
}

class Machine {
 public:
  static constexpr uint32_t kVgprs = 40;

  explicit Machine(Level level, isa::Target target = {9, 0, 0}) {
    context.target = target;
    context.layout = {level.wave_size, kVgprs};
    context.level = level.simd;
    wave.layout = context.layout;
    registers_.reset(static_cast<std::byte*>(std::aligned_alloc(64, wave.layout.bytes())));
    std::memset(registers_.get(), 0, wave.layout.bytes());
    lds_.reset(static_cast<std::byte*>(std::aligned_alloc(64, kLdsBytes + kLdsMargin)));
    std::memset(lds_.get(), 0, kLdsBytes + kLdsMargin);
    group.lds = lds_.get();
    group.lds_bytes = kLdsBytes;
    wave.registers = registers_.get();
    wave.memory = &memory;
    wave.group = &group;
    wave.core = &core;
    wave.shared_aperture_hi = 0x10000;
    wave.private_aperture_hi = 0x20000;
    set_exec(wave.mask());
    set_scalar(isa::code::kM0, ~0u);
  }

  static constexpr uint32_t kLdsBytes = 4096;

  uint32_t* vgpr(unsigned index) {
    return reinterpret_cast<uint32_t*>(registers_.get() + wave.layout.vgpr_offset(index));
  }
  uint32_t* lds_dwords() { return reinterpret_cast<uint32_t*>(lds_.get()); }
  void set_scalar(unsigned code, uint32_t value) { wave.scalars()[code] = value; }
  void set_scalar64(unsigned code, uint64_t value) {
    wave.scalars()[code] = static_cast<uint32_t>(value);
    wave.scalars()[code + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t scalar64(unsigned code) { return wave.pair(code); }
  void set_exec(uint64_t exec) { set_scalar64(isa::code::kExecLo, exec & wave.mask()); }
  bool active(unsigned lane) { return (wave.exec() >> lane & 1) != 0; }
  void set_address(unsigned index, unsigned lane, uint64_t va) {
    vgpr(index)[lane] = static_cast<uint32_t>(va);
    vgpr(index + 1)[lane] = static_cast<uint32_t>(va >> 32);
  }

  std::string refusal(const isa::Instruction& instruction) {
    CollectingEmitter out;
    return std::string(lower(instruction, context, out));
  }

  /// Executes one instruction. Returns kEnd if it did not stop the wave.
  Stop run(const isa::Instruction& instruction) {
    CollectingEmitter out;
    const Refusal refused = lower(instruction, context, out);
    EXPECT_EQ(refused, "") << isa::name(instruction.op);
    if (!refused.empty()) return Stop::kIllegal;
    out.emit(stop_wave);
    const WaveMemory::Scope scope(memory);
    wave.op = out.ops.data();
    run_wave(&wave);
    return wave.stop;
  }

  FakeBus bus;
  WaveMemory memory{bus};
  TestCore core;
  WorkGroup group;
  Wave wave;
  LoweringContext context;

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> registers_{nullptr, &std::free};
  std::unique_ptr<std::byte, decltype(&std::free)> lds_{nullptr, &std::free};
};

inline isa::Operand vgpr_operand(unsigned index, unsigned dwords = 1) {
  return {static_cast<uint16_t>(isa::code::kVgpr + index), isa::Type::kB32, static_cast<uint8_t>(dwords)};
}
inline isa::Operand sgpr_operand(unsigned index, unsigned dwords = 1) {
  return {static_cast<uint16_t>(index), isa::Type::kB32, static_cast<uint8_t>(dwords)};
}

inline std::vector<uint64_t> execs() {
  return {~uint64_t{0},
          0,
          1,
          uint64_t{1} << 31,
          0x00000000fffffff0,
          0xffff0000ffff0000,
          0xaaaaaaaaaaaaaaaa,
          0x123456789abcdef0,
          0x7fffffff7fffffff};
}

/// Patterns of lanes' offsets, in elements below `count`.
inline std::vector<std::vector<uint32_t>> patterns(uint32_t count) {
  std::vector<std::vector<uint32_t>> all;
  const auto add = [&](auto of_lane) {
    std::vector<uint32_t> lanes(64);
    for (uint32_t lane = 0; lane < 64; ++lane) lanes[lane] = of_lane(lane) % count;
    all.push_back(lanes);
  };
  add([](uint32_t lane) { return lane; });
  add([](uint32_t lane) { return lane + 5; });
  add([](uint32_t) { return 7u; });
  add([](uint32_t lane) { return 2 * lane - (lane & 3); });
  add([](uint32_t lane) { return lane ^ 5; });
  add([](uint32_t lane) { return lane / 16; });
  add([](uint32_t lane) { return lane % 16; });
  add([](uint32_t lane) { return 63 - lane; });
  add([](uint32_t lane) { return lane * 3; });
  std::mt19937 random(1);
  for (int i = 0; i < 3; ++i) add([&](uint32_t) { return static_cast<uint32_t>(random()); });
  return all;
}

}  // namespace rigel::vgpu::exec::testing
