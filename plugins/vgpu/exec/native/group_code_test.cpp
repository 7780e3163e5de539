// Code of whole work-groups against waves one after the other: random kernels leave the same memory, and
// where something is out of the ordinary it is the waves that do it.
//
// RIGEL_DRAWS is how many kernels there are (default 400); RIGEL_SEED varies them.
#include "plugins/vgpu/exec/native/group_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>

#include "plugins/vgpu/exec/level_test_support.hpp"
#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using testing::gfx;
using testing::TestWave;
using Words = std::vector<uint32_t>;

constexpr uint32_t kItems = 256;
constexpr uint64_t kBytes = 8192, kBoundary = uint64_t{5} << 32;
constexpr uint32_t kEnd = 0xbf810000;

uint32_t setting(const char* name, uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 0));
}

// A work-group of a kernel for gfx900: s[0:1], s[2:3] and s[4:5] are the addresses of three buffers, v0 the
// work-item.
class WorkGroups {
 public:
  WorkGroups(SimdLevel level, const Words& kernel) : t(gfx(9, 0, 0), 64, 32, level) {
    // With a boundary of 4 GiB in the middle of the first.
    for (uint64_t i = 0; i < 3; ++i) {
      buffers[i] = t.bus.map_at(i == 0 ? kBoundary - kBytes / 2 : (uint64_t{8} << 32) + i * 65536, kBytes);
      for (uint32_t k = 0; k < kBytes / 4; ++k) {
        buffers[i].at<uint32_t>()[k] = (k % 3 == 0 ? 0x3f800000 : 0) + k * 7 + static_cast<uint32_t>(i);
      }
      addresses[i] = buffers[i].va;
    }
    t.put(kernel);
  }

  void set_scalars() {
    for (uint32_t i = 0; i < 3; ++i) t.set_s64(i * 2, addresses[i]);
    for (uint32_t i = 6; i < 16; ++i) t.s(i) = scalars[i];
    t.set_s64(106, 0);
  }

  /// Stops at the first wave that doesn't end well.
  Stop by_waves() {
    instructions = 0;
    for (uint32_t wave = 0; wave < kItems / 64; ++wave) {
      set_scalars();
      t.set_exec(~uint64_t{0});
      for (uint32_t v = 0; v < 12; ++v) {
        for (uint32_t lane = 0; lane < 64; ++lane) t.v(v, lane) = v == 0 ? wave * 64 + lane : 0;
      }
      if (const Stop stop = t.run_at(t.code_buffer.va); stop != Stop::kEnd) return stop;
      instructions += static_cast<uint64_t>(t.executed);
    }
    return Stop::kEnd;
  }

  const GroupCode* code() const { return t.code->group_code(variant_of(t.wave)); }

  bool as_whole() {
    set_scalars();
    const Memory::Scope scope(*t.wave.memory);
    const uint32_t mxcsr = get_mxcsr();
    set_mxcsr(mxcsr_of(t.wave.mode));
    const bool done = code()->run(kItems, &t.wave, t.wave.registers) != 0;
    set_mxcsr(mxcsr);
    return done;
  }

  std::vector<uint32_t> memory() const {
    std::vector<uint32_t> all;
    for (const auto& buffer : buffers) {
      all.insert(all.end(), buffer.at<uint32_t>(), buffer.at<uint32_t>() + kBytes / 4);
    }
    return all;
  }
  void set_memory(const std::vector<uint32_t>& all) {
    for (size_t i = 0; i < 3; ++i) std::memcpy(buffers[i].host, all.data() + i * kBytes / 4, kBytes);
  }

  mutable TestWave t;
  vgpu::testing::Buffer buffers[3];
  uint64_t addresses[3] = {};
  uint32_t scalars[16] = {};
  uint64_t instructions = 0;
};

// Whether the code for work-groups did it. Either way memory is as waves leave it, or as it was.
bool expect_same(WorkGroups& groups, const std::string& what) {
  const auto before = groups.memory();
  const Stop stop = groups.by_waves();
  if (groups.code() == nullptr) return false;
  const auto by_waves = groups.memory();
  const uint64_t instructions = groups.instructions;
  groups.set_memory(before);
  if (!groups.as_whole()) {
    EXPECT_TRUE(groups.memory() == before) << what;
    return false;
  }
  EXPECT_EQ(stop, Stop::kEnd) << what;
  EXPECT_TRUE(groups.memory() == by_waves) << what;
  EXPECT_EQ(groups.code()->instructions * (kItems / 64), instructions) << what;
  return true;
}

// v1 = 4 * v0; v2 = a[v0]; v3 = b[v0]
const Words kLoads = {0x24020082, 0xdc508000, 0x02000001, 0xdc508000, 0x03020001};
Words stores(uint32_t first, uint32_t count) {
  Words words;
  for (uint32_t i = 0; i < count; ++i) {
    words.insert(words.end(), {0xdc708000 + i * 1024, 0x00040001 | (first + i) << 8});
  }
  words.push_back(kEnd);
  return words;
}
Words operator+(Words one, const Words& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

class Kernels {
 public:
  explicit Kernels(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  uint32_t source() {
    switch (below(6)) {
      case 0:
        return 128 + below(65);  // constants
      case 1:
        return 240 + below(8);
      case 2:
        return 6 + below(10);  // scalars
      default:
        return 256 + below(12);
    }
  }
  uint32_t target() { return 4 + below(8); }
  uint32_t scalar() { return 6 + below(10); }

  void add_instruction(Words& words) {
    static constexpr uint16_t kVop3[] = {0x28f, 0x1e8, 0x1fd, 0x1ff, 0x1fe, 0x285, 0x1cb, 0x1c8,
                                         0x1ce, 0x1c3, 0x201, 0x200, 0x202, 0x1d2, 0x1d6, 0x291};
    static constexpr uint8_t kVop2[] = {0x00, 0x01, 0x02, 0x03, 0x05, 0x0b, 0x0c, 0x0d, 0x0f,
                                        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x19, 0x19,
                                        0x1a, 0x1b, 0x1c, 0x1c, 0x34, 0x34, 0x35, 0x36};
    switch (below(8)) {
      case 0:
        words.push_back(0x7e000000 | target() << 17 | (1 + below(8)) << 9 | source());
        break;
      case 1:
        words.push_back(0x7c000000 | (0xc0 + below(16)) << 17 | (below(12)) << 9 | source());
        break;
      case 2:
        words.push_back(0x80000000 | below(24) << 23 | scalar() << 16 | scalar() << 8 | (128 + below(60)));
        break;
      case 3: {
        const uint32_t op = kVop3[below(16)];
        words.push_back(0xd0000000 | op << 16 | (op == 0x1e8 ? 106u << 8 : 0) | (4 + below(7)));
        words.push_back((below(2) == 0 ? 128 + below(20) : source()) | source() << 9 |
                        (256 + below(11)) << 18);
        break;
      }
      default: {
        const uint32_t op = kVop2[below(std::size(kVop2))];
        words.push_back(op << 25 | target() << 17 | below(12) << 9 | source());
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

class WorkGroupCode : public testing::NativeLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, WorkGroupCode, ::testing::ValuesIn(testing::kNativeLevels),
                         testing::LevelName{});

TEST_P(WorkGroupCode, DoesWhatWavesDo) {
  const uint32_t draws = setting("RIGEL_DRAWS", 400), seed = setting("RIGEL_SEED", 1);
  uint32_t done = 0;
  for (uint32_t draw = 0; draw < draws; ++draw) {
    Kernels kernels(uint64_t{seed} << 32 | draw);
    Words words = kLoads;
    const uint32_t length = 1 + kernels.below(draw % 4 == 0 ? 40 : 8);
    for (uint32_t i = 0; i < length; ++i) kernels.add_instruction(words);
    WorkGroups groups(GetParam(), words + stores(4, 4));
    for (uint32_t& scalar : groups.scalars) {
      scalar = kernels.below(3) == 0 ? kernels.below(~0u) : kernels.below(1000);
    }
    if (expect_same(groups, "kernel " + std::to_string(draw))) ++done;
    if (HasFailure()) return;
  }
  EXPECT_GT(done * 4, draws) << "only " << done << " of " << draws << " went as a whole";
}

// v12 … v15: the work-item's number times 4, 8, 12 and 16.
const Words kOffsets = {0x24180082, 0x241a0083, 0xd285000e, 0x0002008c, 0x241e0084};
Words load(uint32_t dwords, uint32_t stride, uint32_t to, uint32_t buffer, uint32_t offset = 0) {
  return {0xdc508000 + (dwords - 1) * 0x40000 + offset, to << 24 | buffer << 17 | (11 + stride / 4)};
}
Words store(uint32_t dwords, uint32_t stride, uint32_t from, uint32_t offset = 0) {
  return {0xdc708000 + (dwords - 1) * 0x40000 + offset, 4u << 16 | from << 8 | (11 + stride / 4)};
}

// Elements of all widths, moved about between loads and stores. Waves may do it by handlers, by native code,
// or as a whole.
TEST_P(WorkGroupCode, MovesElementsOfAllWidths) {
  const uint32_t draws = setting("RIGEL_DRAWS", 400), seed = setting("RIGEL_SEED", 1);
  uint32_t done = 0;
  for (uint32_t draw = 0; draw < draws; ++draw) {
    Kernels kernels(uint64_t{seed} << 40 | draw);
    // Most are as wide as they are far from each other; only some are wider than 2.
    const auto width = [&] { return kernels.below(3) == 0 ? 1 + kernels.below(4) : 1 + kernels.below(2); };
    const auto stride = [&](uint32_t dwords) {
      return 4 * (kernels.below(8) == 0 ? 1 + kernels.below(4) : dwords);
    };
    Words words = kOffsets;
    for (uint32_t loads = 1 + kernels.below(3); loads > 0; --loads) {
      const uint32_t dwords = width();
      words = words + load(dwords, stride(dwords), 4 + kernels.below(9 - dwords), kernels.below(2),
                           4 * kernels.below(16));
    }
    for (uint32_t moves = kernels.below(6); moves > 0; --moves) {
      words.push_back(0x7e000200 | kernels.target() << 17 | (256 + kernels.target()));  // v_mov_b32
    }
    if (kernels.below(2) == 0) kernels.add_instruction(words);
    for (uint32_t stores = 1 + kernels.below(3); stores > 0; --stores) {
      const uint32_t dwords = width();
      words = words + store(dwords, stride(dwords), 4 + kernels.below(9 - dwords), 4 * kernels.below(16));
    }
    words.push_back(kEnd);
    WorkGroups groups(GetParam(), words), handlers(GetParam(), words);
    handlers.t.allow_native(false);
    const std::string what = "kernel " + std::to_string(draw);
    if (expect_same(groups, what)) {
      ++done;
    } else {
      groups.by_waves();
    }
    handlers.by_waves();
    EXPECT_TRUE(groups.memory() == handlers.memory()) << what;
    if (HasFailure()) return;
  }
  EXPECT_GT(done * 5, draws) << "only " << done << " of " << draws << " went as a whole";
}

// o[4 * i] to o[4 * i + 3] out of a[i] and the halves of b[i], which once went 8 bytes apart.
TEST_P(WorkGroupCode, StoresFourDwordsOfEachLaneTogether) {
  const Words kernel = kOffsets + load(1, 4, 2, 0) + load(2, 8, 4, 1) +
                       Words{0x7e060305, 0x7e0a0306} +  // v_mov_b32 v3, v5; v_mov_b32 v5, v6
                       store(4, 16, 2) + Words{kEnd};
  WorkGroups groups(GetParam(), kernel);
  const uint32_t *const a = groups.buffers[0].at<uint32_t>(), *const b = groups.buffers[1].at<uint32_t>(),
                        *const o = groups.buffers[2].at<uint32_t>();
  expect_same(groups, "four dwords");
  for (uint32_t i = 0; i < kItems; ++i) {
    const std::array<uint32_t, 4> expected{a[i], b[2 * i + 1], b[2 * i], 0};
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), o + 4 * i)) << i;
  }
}

TEST_P(WorkGroupCode, AddressesMayCarry) {
  // v2 = s0 + v1, v3 = s1 + carry; v4 = [v[2:3]]
  const Words kernel =
      Words{0x24020082, 0x7e060201, 0x32040200, 0x38060680, 0xdc508000, 0x047f0002} + stores(4, 1);
  for (const uint64_t address : {kBoundary - 512, kBoundary, kBoundary - 1024, kBoundary - 1028}) {
    WorkGroups groups(GetParam(), kernel);
    groups.addresses[0] = address;
    const bool crosses = address == kBoundary - 512;
    EXPECT_EQ(expect_same(groups, "carry"), !crosses) << std::hex << address;
    ASSERT_NE(groups.code(), nullptr);
  }
}

TEST_P(WorkGroupCode, LanesLoadBeforeAnyOfThemStores) {
  // c[i] = a[i], where c is a, some lanes further or back. What other waves have stored is not looked at.
  for (const int shift : {4, 64, 128, -4, -64, 0}) {
    WorkGroups groups(GetParam(), kLoads + stores(2, 1));
    groups.addresses[0] = groups.buffers[0].va + 1024;
    groups.addresses[2] = groups.addresses[0] + static_cast<uint64_t>(int64_t{shift});
    EXPECT_TRUE(expect_same(groups, "shift by " + std::to_string(shift)));
  }
}

TEST_P(WorkGroupCode, WhoGoesOnIsAllOrLeftToWaves) {
  // v_cmp_gt_u32 vcc, s6, v0; s_and_saveexec_b64 s[8:9], vcc; s_cbranch_execz end
  const Words guard = {0x7d980006, 0xbe88206a, 0xbf880007};
  // v_cmp_gt_i32 likewise
  const Words signed_guard = {0x7d880006, 0xbe88206a, 0xbf880007};
  // s_mov_b64 s[8:9], exec; v_cmpx_gt_u32 vcc, s6, v0; s_cbranch_execz end
  const Words to_exec = {0xbe88017e, 0x7db80006, 0xbf880007};
  for (const Words& test : {guard, signed_guard, to_exec}) {
    for (const uint32_t limit : {0u, 1u, 255u, 256u, 257u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      WorkGroups groups(GetParam(), test + kLoads + stores(2, 1));
      groups.scalars[6] = limit;
      const bool all =
          test != signed_guard ? limit >= kItems : static_cast<int32_t>(limit) >= int32_t{kItems};
      EXPECT_EQ(expect_same(groups, "limit"), all) << limit;
      EXPECT_NE(groups.code(), nullptr);
    }
  }
}

TEST_P(WorkGroupCode, WhoWentAsideComesBack) {
  // v_cmp_gt_u32 vcc, s6, v0; s_and_saveexec_b64 s[8:9], vcc; …; s_or_b64 exec, exec, s[8:9]
  const Words kernel = Words{0x7d980006, 0xbe88206a} + kLoads + Words{0x87fe087e} + stores(2, 1);
  WorkGroups groups(GetParam(), kernel);
  groups.scalars[6] = 1000;
  EXPECT_TRUE(expect_same(groups, "all"));
  groups.scalars[6] = 100;
  EXPECT_FALSE(expect_same(groups, "some"));
}

TEST_P(WorkGroupCode, PairsOfDwords) {
  // v1 = 8 * v0; v[2:3] = a[v0]; v[4:5] = b[v0]; v4 = v2 + v4; c[v0] = v[4:5]
  const Words kernel = {0x24020083, 0xdc548000, 0x02000001, 0xdc548000, 0x04020001,
                        0x68080902, 0xdc748000, 0x00040401, kEnd};
  WorkGroups groups(GetParam(), kernel);
  EXPECT_TRUE(expect_same(groups, "pairs"));
}

TEST_P(WorkGroupCode, WhatCannotBeAccessedIsLeftToWaves) {
  WorkGroups groups(GetParam(), kLoads + stores(2, 1));
  EXPECT_TRUE(expect_same(groups, "all there"));
  for (uint64_t& address : groups.addresses) {
    const uint64_t right = address;
    for (const uint64_t wrong : {right + kBytes - 1020, right - 4, right + (uint64_t{1} << 40)}) {
      address = wrong;
      const auto before = groups.memory();
      EXPECT_FALSE(groups.as_whole()) << std::hex << wrong;
      EXPECT_TRUE(groups.memory() == before);
    }
    address = right;
  }
}

TEST_P(WorkGroupCode, KnowsWhatItCannotDo) {
  const std::pair<const char*, Words> kOthers[] = {
      {"a load behind a store", Words{0xdc708000, 0x00040201}},
      {"a barrier", {0xbf8a0000}},
      {"lanes of a wave: v_mbcnt_lo_u32_b32 v2, -1, 0", {0xd28c0002, 0x000100c1}},
      {"a branch back", {0xbf82fff8}},
      {"v_readfirstlane_b32 s6, v2", {0x7e0c0502}},
      {"EXEC as a number: s_mov_b32 s6, exec_lo", {0xbe86007e}},
      {"EXEC as a number: s_mov_b64 s[6:7], exec; s_add_u32 s8, s6, s8", {0xbe86017e, 0x80080806}},
      {"a carry as a number: v_add_co_u32 v1, vcc, 0, v1; s_mov_b64 s[6:7], vcc", {0x32020280, 0xbe86016a}},
      {"an instruction that does not exist", {0xbfff0000}},
  };
  for (const auto& [what, words] : kOthers) {
    WorkGroups groups(GetParam(), kLoads + words + kLoads + stores(2, 1));
    groups.by_waves();
    EXPECT_EQ(groups.code(), nullptr) << what;
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec::native
