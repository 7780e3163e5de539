// Memory operations of native code against the handlers': the same registers, memory and faults, wherever
// lanes go. Each instruction is executed several times, since native code goes where it found memory the last
// time.
#include "plugins/vgpu/exec/native/memory_access.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "plugins/vgpu/exec/level_test_support.hpp"
#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using testing::gfx;
using testing::TestWave;

constexpr uint64_t kBytes = 8192;  // of memory, between pages that are not there

struct Code32 {
  const char* name;
  std::vector<uint32_t> gfx9, gfx10;
  bool scalar_base = false;
  bool only_avx2 = false;
};

// v[0:1] is the address, v0 the offset from s[8:9]; v2 … v4 are data.
const Code32 kCodes[] = {
    {"global_load_dword v4, v[0:1], off", {0xdc508000, 0x047f0000}, {0xdc308000, 0x047d0000}},
    {"global_load_dword v4, v[0:1], off offset:4", {0xdc508004, 0x047f0000}, {0xdc308004, 0x047d0000}},
    {"global_load_dword v0, v[0:1], off", {0xdc508000, 0x007f0000}, {0xdc308000, 0x007d0000}},
    {"global_load_dword v1, v[0:1], off offset:-4", {0xdc509ffc, 0x017f0000}, {0xdc308ffc, 0x017d0000}},
    {"global_load_dwordx2 v[5:6], v[0:1], off", {0xdc548000, 0x057f0000}, {0xdc348000, 0x057d0000}},
    {"global_load_dwordx2 v[0:1], v[0:1], off", {0xdc548000, 0x007f0000}, {0xdc348000, 0x007d0000}},
    {"global_store_dword v[0:1], v4, off", {0xdc708000, 0x007f0400}, {0xdc708000, 0x007d0400}},
    {"global_store_dwordx2 v[0:1], v[3:4], off offset:8", {0xdc748008, 0x007f0300}, {0xdc748008, 0x007d0300}},
    {"flat_load_dword v7, v[0:1]", {0xdc500000, 0x07000000}, {0xdc300000, 0x077d0000}},
    {"global_load_dwordx3 v[2:4], v[0:1], off offset:-4", {0xdc589ffc, 0x027f0000}, {0xdc3c8ffc, 0x027d0000}},
    {"global_load_dwordx4 v[4:7], v[0:1], off", {0xdc5c8000, 0x047f0000}, {0xdc388000, 0x047d0000}},
    {"global_load_dword v4, v0, s[8:9]", {0xdc508000, 0x04080000}, {0xdc308000, 0x04080000}, true},
    {"global_load_dwordx2 v[0:1], v0, s[8:9]", {0xdc548000, 0x00080000}, {0xdc348000, 0x00080000}, true},
    {"global_store_dword v0, v4, s[8:9]", {0xdc708000, 0x00080400}, {0xdc708000, 0x00080400}, true},
    {"flat_store_dwordx2 v[0:1], v[2:3]", {0xdc740000, 0x00000200}, {0xdc740000, 0x007d0200}},
    {"global_store_dwordx3 v[0:1], v[2:4], off",
     {0xdc788000, 0x007f0200},
     {0xdc7c8000, 0x007d0200},
     false,
     true},
    {"global_store_dwordx4 v[0:1], v[4:7], off offset:-8",
     {0xdc7c9ff8, 0x007f0400},
     {0xdc788ff8, 0x007d0400},
     false,
     true},
};

struct Lanes32 {
  const char* name;
  std::function<uint64_t(uint64_t lane, uint64_t round)> offset;  // of the memory
  uint64_t exec = ~uint64_t{0};
};

const Lanes32 kLanes[] = {
    {"in a row", [](uint64_t lane, uint64_t round) { return 256 + lane * 4 + round * 64; }},
    {"in a row of pairs", [](uint64_t lane, uint64_t round) { return 256 + lane * 8 + round * 64; }},
    {"in a row of four dwords", [](uint64_t lane, uint64_t round) { return 256 + lane * 16 + round * 64; }},
    {"in one place", [](uint64_t, uint64_t round) { return 256 + round * 4; }},
    {"downwards", [](uint64_t lane, uint64_t) { return 1024 - lane * 4; }},
    {"in a row but for the last",
     [](uint64_t lane, uint64_t) { return 256 + (lane % 32 == 31 ? 4 : lane * 4); }},
    {"in one place but for the last", [](uint64_t lane, uint64_t) { return lane % 32 == 31 ? 260u : 256u; }},
    {"up to the end", [](uint64_t lane, uint64_t) { return kBytes - 256 + lane % 32 * 8; }},
    {"over the end", [](uint64_t lane, uint64_t round) { return kBytes - 128 + round * 32 + lane * 4; }},
    {"before the beginning", [](uint64_t lane, uint64_t round) { return lane * 4 - round * 4; }},
    {"nowhere, then somewhere", [](uint64_t lane, uint64_t round) { return (1 - round) * 65536 + lane * 4; }},
    {"in two halves of the address space",
     [](uint64_t lane, uint64_t round) { return lane * 4 + (lane == 20 && round == 2 ? 1ull << 32 : 0); }},
    {"in a row, some", [](uint64_t lane, uint64_t) { return 256 + lane * 4; }, 0x0ff0f0f1},
    {"in a row, some but the last", [](uint64_t lane, uint64_t) { return 256 + lane * 4; },
     0x7ffffffefffffffe},
    {"in a row, one", [](uint64_t lane, uint64_t) { return 256 + lane * 4; }, 0x20},
    {"in a row, two", [](uint64_t lane, uint64_t) { return 256 + lane * 4; }, 0x8000000000000020},
    {"in a row up to the end, some", [](uint64_t lane, uint64_t) { return kBytes - 64 + lane % 32 * 4; },
     0x000000000000fff0},
    {"in a row but for an inactive lane",
     [](uint64_t lane, uint64_t) { return 256 + (lane == 7 ? 0 : lane * 4); }, 0xffffffffffffff7f},
    {"in a row but for an active lane, some",
     [](uint64_t lane, uint64_t) { return 256 + (lane == 7 ? 0 : lane * 4); }, 0xfffffffffffffff7},
    {"in a row of pairs, some", [](uint64_t lane, uint64_t) { return 256 + lane * 8; }, 0x00ff00ffff0ff0f1},
    {"in one place, some", [](uint64_t lane, uint64_t) { return 256 + (lane == 2 ? 80 : 0); },
     0xfffffffffff0fff1},
    {"in one place but for one, some", [](uint64_t lane, uint64_t) { return 256 + (lane == 9 ? 80 : 0); },
     0xfffffffffff0fff1},
    {"in one place over the end, some", [](uint64_t, uint64_t round) { return kBytes - 16 + round * 4; },
     0xf1},
    {"in rows of 16",
     [](uint64_t lane, uint64_t round) { return lane / 16 * 512 + lane % 16 * 4 + round * 4; }},
    {"in rows of 16, some", [](uint64_t lane, uint64_t) { return lane / 16 * 512 + lane % 16 * 4; },
     0xfffeffff7ffffffb},
    {"in rows of 16, of which the last ends with the memory",
     [](uint64_t lane, uint64_t) { return kBytes - 64 - (3 - lane / 16 % 4) * 512 + lane % 16 * 4; }},
    {"in rows of 8 pairs",
     [](uint64_t lane, uint64_t round) { return lane / 8 * 512 + lane % 8 * 8 + round * 8; }},
    {"in rows of 8 pairs, of which the last ends with the memory",
     [](uint64_t lane, uint64_t) { return kBytes - 64 - (3 - lane / 8 % 4) * 512 + lane % 8 * 8; }},
    {"in rows of 8 pairs, every other one swapped",
     [](uint64_t lane, uint64_t) { return lane / 8 * 512 + ((lane % 8 * 8) ^ (lane / 8 % 2 * 8)); }},
    {"in rows of 8 pairs, some", [](uint64_t lane, uint64_t) { return lane / 8 * 512 + lane % 8 * 8; },
     0xfffeff00ffffff7b},
    {"every other dword", [](uint64_t lane, uint64_t round) { return lane * 8 + lane % 2 * 4 + round * 16; }},
    {"far apart", [](uint64_t lane, uint64_t round) { return lane * 100 + round * 4; }},
    {"far apart, some", [](uint64_t lane, uint64_t) { return lane == 9 ? 1ull << 31 : lane * 100; },
     0xfffffffffffff9fe},
    {"far apart up to the end", [](uint64_t lane, uint64_t) { return kBytes - 4 - lane * 68; }},
    {"far apart, one over the end",
     [](uint64_t lane, uint64_t round) { return lane == 17 ? kBytes - 8 + round * 4 : lane * 68; }},
    {"far apart, one before the beginning",
     [](uint64_t lane, uint64_t round) { return lane == 3 ? round == 2 ? -8ull : 0 : lane * 68; }},
    {"in a row, none", [](uint64_t lane, uint64_t) { return 256 + lane * 4; }, 0},
};

struct Outcome {
  std::vector<Stop> stops;
  std::vector<uint64_t> faults;  // address, access and reason, and where
  std::vector<uint32_t> registers;
  std::vector<std::byte> memory;
};

Outcome run(SimdLevel level, uint32_t wave_size, bool gfx10, const Code32& code, const Lanes32& lanes,
            bool native) {
  TestWave t(gfx10 ? gfx(10, 3, 0) : gfx(9, 0, 0), wave_size, 32, level);
  t.allow_native(native);
  // With a boundary of 4 GiB in the middle.
  const uint64_t va = (uint64_t{7} << 32) - 4096;
  const vgpu::testing::Buffer buffer = t.bus.map_at(va, kBytes);
  for (uint32_t i = 0; i < kBytes / 4; ++i) buffer.at<uint32_t>()[i] = i * 0x01010101u;
  auto words = gfx10 ? code.gfx10 : code.gfx9;
  words.push_back(0xbf810000);
  t.put(words);
  Outcome outcome;
  for (uint64_t round = 0; round < 4; ++round) {
    t.set_s64(8, va);
    t.set_exec(lanes.exec & t.wave.mask());
    for (uint32_t lane = 0; lane < wave_size; ++lane) {
      const uint64_t address = lanes.offset(lane, round) + (code.scalar_base ? 0 : va);
      t.v(0, lane) = static_cast<uint32_t>(address);
      t.v(1, lane) = static_cast<uint32_t>(address >> 32);
      for (uint32_t v = 2; v < 8; ++v) t.v(v, lane) = v * 1000 + lane + static_cast<uint32_t>(round) * 100;
    }
    outcome.stops.push_back(t.run_at(t.code_buffer.va));
    if (t.wave.stop == Stop::kFault) {
      outcome.faults.insert(outcome.faults.end(), {t.wave.fault_va, t.wave.fault_access, t.wave.fault_reason,
                                                   pc_of(t.wave.op) - t.code_buffer.va});
    }
    for (uint32_t v = 0; v < 8; ++v) {
      for (uint32_t lane = 0; lane < wave_size; ++lane) outcome.registers.push_back(t.v(v, lane));
    }
  }
  outcome.memory.assign(buffer.host, buffer.host + kBytes);
  EXPECT_EQ(t.code->native_instructions(), native ? 1u : 0u);
  return outcome;
}

class NativeMemory : public testing::NativeLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, NativeMemory, ::testing::ValuesIn(testing::kNativeLevels),
                         testing::LevelName{});

TEST_P(NativeMemory, DoesWhatHandlersDo) {
  for (const bool gfx10 : {false, true}) {
    for (const uint32_t wave_size : {64u, 32u}) {
      if (wave_size == 32 && !gfx10) continue;
      for (const Code32& code : kCodes) {
        if (code.only_avx2 && GetParam() != SimdLevel::kAvx2) continue;
        for (const Lanes32& lanes : kLanes) {
          const Outcome handlers = run(GetParam(), wave_size, gfx10, code, lanes, false);
          const Outcome native = run(GetParam(), wave_size, gfx10, code, lanes, true);
          const std::string what = std::string(code.name) + ", lanes " + lanes.name + ", wave of " +
                                   std::to_string(wave_size) + (gfx10 ? " of gfx10" : " of gfx9");
          EXPECT_EQ(handlers.stops, native.stops) << what;
          EXPECT_EQ(handlers.faults, native.faults) << what;
          EXPECT_EQ(handlers.registers, native.registers) << what;
          EXPECT_TRUE(handlers.memory == native.memory) << what;
        }
      }
    }
  }
}

// Addresses with the apertures' high halves are LDS and scratch, even where there was memory the last time.
TEST_P(NativeMemory, LeavesAperturesToHandlers) {
  TestWave t(gfx(9, 0, 0), 64, 32, GetParam());
  const vgpu::testing::Buffer buffer = t.bus.map_at(uint64_t{0x10000} << 32, kBytes);
  buffer.at<uint32_t>()[3] = 77;
  reinterpret_cast<uint32_t*>(t.group.lds)[3] = 99;
  t.put({0xdc500000, 0x07000000, 0xbf810000});  // flat_load_dword v7, v[0:1]
  const auto load = [&] {
    for (uint32_t lane = 0; lane < 64; ++lane) {
      t.v(0, lane) = lane * 4;
      t.v(1, lane) = 0x10000;
    }
    EXPECT_EQ(t.run_at(t.code_buffer.va), Stop::kEnd);
    return t.v(7, 3);
  };
  t.wave.shared_aperture_hi = 0x20001;
  EXPECT_EQ(load(), 77u);
  EXPECT_EQ(load(), 77u);
  t.wave.shared_aperture_hi = 0x10000;
  EXPECT_EQ(load(), 99u);
}

TEST_P(NativeMemory, LoadsScalars) {
  for (const bool gfx10 : {false, true}) {
    TestWave t(gfx10 ? gfx(10, 3, 0) : gfx(9, 0, 0), 64, 32, GetParam());
    const vgpu::testing::Buffer buffer = t.bus.allocate(kBytes);
    for (uint32_t i = 0; i < kBytes / 4; ++i) buffer.at<uint32_t>()[i] = i;
    // s_load_dwordx4 s[0:3], s[8:9], 0x0; s_load_dword s4, s[8:9], 0x14; s_load_dwordx2 s[10:11], s[8:9], s4
    t.put(gfx10 ? std::vector<uint32_t>{0xf4080004, 0xfa000000, 0xf4000104, 0xfa000014, 0xf4040284,
                                        0x08000000, 0xbf810000}
                : std::vector<uint32_t>{0xc00a0004, 0, 0xc0020104, 0x14, 0xc0040284, 4, 0xbf810000});
    for (uint32_t round = 0; round < 3; ++round) {
      t.set_s64(8, buffer.va + round * 64 + round);  // the lowest bits do not count
      EXPECT_EQ(t.run_at(t.code_buffer.va), Stop::kEnd);
      for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(t.s(i), round * 16 + i);
      EXPECT_EQ(t.s(4), round * 16 + 5);
      EXPECT_EQ(t.s(10), round * 16 + (round * 16 + 5) / 4);
      EXPECT_EQ(t.s(11), t.s(10) + 1);
    }
    EXPECT_EQ(t.code->native_instructions(), 3u);
    t.set_s64(8, buffer.va + kBytes - 8);
    EXPECT_EQ(t.run_at(t.code_buffer.va), Stop::kFault);
    EXPECT_EQ(t.wave.fault_va, buffer.va + kBytes);
    EXPECT_EQ(pc_of(t.wave.op), t.code_buffer.va);
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::native
