// DS instructions as native code against the handlers: the same registers and the same LDS, wherever lanes
// go. (vgpu_reference_memory_test compares both with the model, at random.)
#include <gtest/gtest.h>

#include <functional>

#include "plugins/vgpu/exec/level_test_support.hpp"
#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using testing::gfx;
using testing::TestWave;

constexpr uint32_t kBytes = 4096;  // of LDS

struct Code64 {
  const char* name;
  uint64_t gfx8, gfx10;  // on gfx9 as on gfx8
  bool always = true;    // native code, on all chips
};

// v0 is the address; v2 … v5 are data.
const Code64 kCodes[] = {
    {"ds_read_b32 v4, v0 offset:12", 0x04000000'd86c000c, 0x04000000'd8d8000c},
    {"ds_read_b32 v0, v0 offset:1", 0x00000000'd86c0001, 0x00000000'd8d80001, false},
    {"ds_read_b64 v[4:5], v0 offset:8", 0x04000000'd8ec0008, 0x04000000'd9d80008},
    {"ds_read2_b32 v[0:1], v0 offset0:3 offset1:19", 0x00000000'd86e1303, 0x00000000'd8dc1303},
    {"ds_read2st64_b32 v[4:5], v0 offset1:1", 0x04000000'd8700100, 0x04000000'd8e00100},
    {"ds_read2_b64 v[4:7], v0 offset0:1 offset1:5", 0x04000000'd8ee0501, 0x04000000'd9dc0501},
    {"ds_write_b32 v0, v2 offset:12", 0x00000200'd81a000c, 0x00000200'd834000c},
    {"ds_write_b64 v0, v[2:3] offset:16", 0x00000200'd89a0010, 0x00000200'd9340010},
    {"ds_write2_b32 v0, v2, v3 offset0:1 offset1:2", 0x00030200'd81c0201, 0x00030200'd8380201},
    {"ds_write2_b64 v0, v[2:3], v[4:5] offset1:3", 0x00040200'd89c0300, 0x00040200'd9380300},
    {"ds_write2_b32 v0, v2, v3 offset1:2", 0x00030200'd81c0200, 0x00030200'd8380200},
    {"ds_write2_b32 v0, v2, v3 offset0:3 offset1:7", 0x00030200'd81c0703, 0x00030200'd8380703},
    {"ds_write2_b64 v0, v[2:3], v[4:5] offset1:1", 0x00040200'd89c0100, 0x00040200'd9380100},
    {"ds_write2_b64 v0, v[2:3], v[4:5] offset0:1 offset1:3", 0x00040200'd89c0301, 0x00040200'd9380301},
    {"ds_write2_b64 v0, v[2:3], v[4:5] offset1:4", 0x00040200'd89c0400, 0x00040200'd9380400},
    {"ds_read2_b32 v[0:1], v0 offset0:1 offset1:2", 0x00000000'd86e0201, 0x00000000'd8dc0201},
    {"ds_read2_b32 v[4:5], v0 offset1:4", 0x04000000'd86e0400, 0x04000000'd8dc0400},
    {"ds_read2_b32 v[4:5], v0 offset1:8", 0x04000000'd86e0800, 0x04000000'd8dc0800},
    {"ds_read2_b64 v[0:3], v0 offset1:1", 0x00000000'd8ee0100, 0x00000000'd9dc0100},
    {"ds_read2_b64 v[4:7], v0 offset0:1 offset1:3", 0x04000000'd8ee0301, 0x04000000'd9dc0301},
    {"ds_read2_b64 v[4:7], v0 offset1:8", 0x04000000'd8ee0800, 0x04000000'd9dc0800},
    {"ds_read2_b64 v[4:7], v0 offset0:40 offset1:8", 0x04000000'd8ee0828, 0x04000000'd9dc0828},
    {"ds_write2_b32 v0, v2, v3 offset1:4", 0x00030200'd81c0400, 0x00030200'd8380400},
    {"ds_write2_b32 v0, v2, v3 offset1:8", 0x00030200'd81c0800, 0x00030200'd8380800},
    {"ds_write2_b32 v0, v2, v3 offset1:32", 0x00030200'd81c2000, 0x00030200'd8382000},
    {"ds_write2_b64 v0, v[2:3], v[4:5] offset1:16", 0x00040200'd89c1000, 0x00040200'd9381000},
    {"ds_add_u32 v0, v2 offset:4", 0x00000200'd8000004, 0x00000200'd8000004},
    {"ds_add_rtn_u32 v0, v0, v2", 0x00000200'd8400000, 0x00000200'd8800000},
};

struct Lanes64 {
  const char* name;
  std::function<uint32_t(uint32_t lane)> address;
  uint64_t exec = ~uint64_t{0};
  uint32_t m0 = ~0u;
};

const Lanes64 kLanes[] = {
    {"in a row", [](uint32_t lane) { return 64 + lane * 4; }},
    {"in a row of pairs", [](uint32_t lane) { return 64 + lane * 8; }},
    {"in one place", [](uint32_t) { return 128u; }},
    {"in rows of 16, far apart", [](uint32_t lane) { return lane / 16 * 640 + lane % 16 * 4; }},
    {"one place for each 16", [](uint32_t lane) { return lane / 16 * 64; }},
    {"as in a sorting network", [](uint32_t lane) { return (2 * lane - lane % 4) * 4; }},
    {"as in a sorting network, by twos", [](uint32_t lane) { return 64 + (2 * lane - lane % 2) * 4; }},
    {"as in a sorting network, by ones, not for long",
     [](uint32_t lane) { return 64 + lane * 8 + (lane >= 24 ? 4 : 0); }},
    {"as in a transform, by ones", [](uint32_t lane) { return 64 + lane * 16; }},
    {"as in a transform, by twos", [](uint32_t lane) { return 64 + (2 * lane - lane % 2) * 8; }},
    {"as in a transform, by fours", [](uint32_t lane) { return 64 + (2 * lane - lane % 4) * 8; }},
    {"as in a transform, by fours, up to the end",
     [](uint32_t lane) { return kBytes - 512 + (2 * (lane % 32) - lane % 4) * 8; }},
    {"as in a transform, by ones, but for one lane",
     [](uint32_t lane) { return 64 + lane * 16 + (lane == 21 ? 8 : 0); }},
    {"as in a sorting network, by fours", [](uint32_t lane) { return 64 + (2 * lane - lane % 4) * 4; }},
    {"as in a sorting network, by eights", [](uint32_t lane) { return 64 + (2 * lane - lane % 8) * 4; }},
    {"as in a sorting network, by eights, but for one lane",
     [](uint32_t lane) { return 64 + (2 * lane - lane % 8 + (lane == 17 ? 8 : 0)) * 4; }},
    {"as in a sorting network, by sixteens", [](uint32_t lane) { return (2 * lane - lane % 16) * 4; }},
    {"as in a sorting network, by 32", [](uint32_t lane) { return (2 * lane - lane % 32) * 4; }},
    {"as in a sorting network, by eights, up to the end",
     [](uint32_t lane) { return kBytes - 512 + (2 * lane - lane % 8) * 4; }},
    {"as in a sorting network, by eights, not on dwords",
     [](uint32_t lane) { return 66 + (2 * lane - lane % 8) * 4; }},
    {"as in a transform, by sixteens", [](uint32_t lane) { return 64 + (2 * lane - lane % 16) * 8; }},
    {"as in a transform, by sixteens, not on pairs",
     [](uint32_t lane) { return 68 + (2 * lane - lane % 16) * 8; }},
    {"in a row of pairs, up to the end", [](uint32_t lane) { return kBytes - 512 + lane * 8; }},
    {"in a row of pairs over the end", [](uint32_t lane) { return kBytes - 504 + lane * 8; }},
    {"in a row of pairs, but for one lane", [](uint32_t lane) { return lane == 30 ? 0 : lane * 8; }},
    {"as in a transform", [](uint32_t lane) { return (2 * lane - lane % 8) * 8; }},
    {"downwards", [](uint32_t lane) { return 1024 - lane * 4; }},
    {"up and down", [](uint32_t lane) { return 512 + (lane ^ 5) * 4; }},
    {"far apart", [](uint32_t lane) { return lane * 36; }},
    {"two in each place", [](uint32_t lane) { return lane / 2 * 4; }},
    {"two in each pair of dwords", [](uint32_t lane) { return lane / 2 * 8; }},
    {"over each other", [](uint32_t lane) { return lane * 4 + 8; }},
    {"not aligned", [](uint32_t lane) { return lane * 4 + 2; }},
    {"not aligned, some", [](uint32_t lane) { return lane * 4 + lane / 60 * 2; }},
    {"up to the end", [](uint32_t lane) { return kBytes - 320 + lane % 16 * 4; }},
    {"over the end", [](uint32_t lane) { return kBytes - 96 + lane * 4; }},
    {"over the end, one", [](uint32_t lane) { return lane == 31 ? kBytes - 2 : lane * 4; }},
    {"beyond", [](uint32_t lane) { return 0xfffffff0u + lane * 4; }},
    {"as far as M0 allows", [](uint32_t lane) { return lane * 4; }, ~uint64_t{0}, 256 + 340},
    {"not as far as M0 allows", [](uint32_t lane) { return lane * 4; }, ~uint64_t{0}, 64},
    {"nowhere, by M0", [](uint32_t lane) { return lane * 4; }, ~uint64_t{0}, 0},
    {"in a row, some", [](uint32_t lane) { return lane < 4 ? 0x10000 : lane * 4; }, 0x0ff00000f0f0f0f0},
    {"in a row of pairs, some", [](uint32_t lane) { return lane < 4 ? 0x10000 : lane * 8; },
     0x0ff00000f0f0f0f0},
    {"in a row from the beginning, some", [](uint32_t lane) { return (lane - 9) * 4; }, 0xfffffffffffffe00},
    {"as in a sorting network, some", [](uint32_t lane) { return (2 * lane - lane % 4) * 4; },
     0x7fffffff7ffefffe},
    {"in one place, one", [](uint32_t lane) { return lane == 20 ? 16u : ~0u; }, 0x100000},
    {"in one place over the end, one", [](uint32_t lane) { return lane == 20 ? kBytes : 0; }, 0x100000},
    {"none", [](uint32_t lane) { return lane * 4; }, 0},
};

struct Outcome {
  std::vector<uint32_t> registers;
  std::vector<std::byte> lds;
};

Outcome run(SimdLevel level, const isa::Target& chip, uint32_t wave_size, const Code64& code,
            const Lanes64& lanes, bool native) {
  TestWave t(chip, wave_size, 32, level);
  t.allow_native(native);
  t.group.lds_bytes = kBytes;
  for (uint32_t i = 0; i < kBytes / 4; ++i) reinterpret_cast<uint32_t*>(t.group.lds)[i] = i * 0x01010101u;
  const uint64_t bits = chip.major == 10 ? code.gfx10 : code.gfx8;
  t.set_exec(lanes.exec & t.wave.mask());
  t.s(124) = lanes.m0;
  for (uint32_t lane = 0; lane < wave_size; ++lane) {
    t.v(0, lane) = lanes.address(lane);
    for (uint32_t v = 1; v < 8; ++v) t.v(v, lane) = v * 1000 + lane;
  }
  EXPECT_EQ(t.run({static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)}), Stop::kEnd);
  Outcome outcome;
  for (uint32_t v = 0; v < 8; ++v) {
    for (uint32_t lane = 0; lane < wave_size; ++lane) outcome.registers.push_back(t.v(v, lane));
  }
  outcome.lds.assign(t.lds().begin(), t.lds().end());
  if (code.always || !native) {
    EXPECT_EQ(t.code->native_instructions(), native ? 1u : 0u);
  }
  return outcome;
}

class NativeLds : public testing::NativeLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, NativeLds, ::testing::ValuesIn(testing::kNativeLevels),
                         testing::LevelName{});

TEST_P(NativeLds, DoesWhatHandlersDo) {
  struct Chip {
    isa::Target target;
    uint32_t wave_size;
  };
  for (const Chip& chip :
       {Chip{gfx(8, 0, 3), 64}, Chip{gfx(9, 0, 0), 64}, Chip{gfx(10, 3, 0), 64}, Chip{gfx(10, 3, 0), 32}}) {
    for (const Code64& code : kCodes) {
      for (const Lanes64& lanes : kLanes) {
        const Outcome handlers = run(GetParam(), chip.target, chip.wave_size, code, lanes, false);
        const Outcome native = run(GetParam(), chip.target, chip.wave_size, code, lanes, true);
        const std::string what = std::string(code.name) + ", lanes " + lanes.name + ", wave of " +
                                 std::to_string(chip.wave_size) + " of gfx" +
                                 std::to_string(chip.target.major);
        EXPECT_EQ(handlers.registers, native.registers) << what;
        EXPECT_TRUE(handlers.lds == native.lds) << what;
      }
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::native
