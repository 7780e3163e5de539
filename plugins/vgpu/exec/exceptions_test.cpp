// Arithmetic exceptions: contents of TRAPSTS, entry of the trap handler, and no overhead if they are not
// used. Tests in reference/ compare the exceptions of each operation.
#include "plugins/vgpu/exec/exceptions.hpp"

#include <gtest/gtest.h>

#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::gfx;
using testing::TestWave;

constexpr uint32_t kTrapEnable = 1u << 6;  // in STATUS
constexpr uint32_t kOne = 0x3f800000, kInfinity = 0x7f800000;
constexpr uint64_t kHandlerAt = 4096;

struct Chip {
  const char* name;
  isa::Target target;
  uint32_t rcp_v1_v0, rcp_v2_v0;
  uint64_t rcp_v1_abs_v0, rcp_v1_v0_clamp;
  uint32_t get_trap_status;                      // to s0
  uint32_t set_mode_enables, clear_trap_status;  // each with a literal
  uint32_t get_ttmp0, get_ttmp1;                 // to s8 and s9
  uint32_t get_trap_status_again;                // to s10
  uint32_t clear_upper, return_from_trap;        // clear_upper masks TTMP1 with the literal 0xffff
};

const Chip kChips[] = {
    {"gfx803", gfx(8, 0, 3), 0x7e024500, 0x7e044500, 0x00000100'd1620101, 0x00000100'd1628001, 0xb880f803,
     0xba003301, 0xba004003, 0xbe880070, 0xbe890071, 0xb88af803, 0x8671ff71, 0xbe801f70},
    {"gfx900", gfx(9, 0, 0), 0x7e024500, 0x7e044500, 0x00000100'd1620101, 0x00000100'd1628001, 0xb880f803,
     0xba003301, 0xba004003, 0xbe88006c, 0xbe89006d, 0xb88af803, 0x866dff6d, 0xbe801f6c},
    {"gfx1030", gfx(10, 3, 0), 0x7e025500, 0x7e045500, 0x00000100'd5aa0101, 0x00000100'd5aa8001, 0xb900f803,
     0xba803301, 0xba804003, 0xbe88036c, 0xbe89036d, 0xb90af803, 0x876dff6d, 0xbe80226c},
};

class Exceptions : public ::testing::TestWithParam<Chip> {
 protected:
  Exceptions() : t(GetParam().target, GetParam().target.major == 10 ? 32 : 64) {
    for (uint32_t lane = 0; lane < t.wave.layout.wave_size; ++lane) t.v(0, lane) = kOne;
    t.wave.status = kTrapEnable;
  }

  const Chip& chip() const { return GetParam(); }
  void install_handler() {
    t.trap.code_va = t.code_buffer.va + kHandlerAt;
    t.put({chip().get_ttmp0, chip().get_ttmp1, chip().get_trap_status_again, 0x800b810b /* s11 += 1 */,
           chip().clear_upper, 0xffff, chip().return_from_trap},
          kHandlerAt);
  }
  static uint32_t low(uint64_t words) { return static_cast<uint32_t>(words); }
  static uint32_t high(uint64_t words) { return static_cast<uint32_t>(words >> 32); }

  TestWave t;
};

TEST_P(Exceptions, AreGatheredFromActiveLanes) {
  t.v(0, 17) = 0;
  EXPECT_EQ(t.run({chip().rcp_v1_v0, chip().get_trap_status}), Stop::kEnd);
  EXPECT_EQ(t.s(0), exception::kDivisionByZero);
  EXPECT_EQ(t.v(1, 17), kInfinity);

  t.wave.trap_status = 0;
  t.set_exec(t.wave.mask() & ~(uint64_t{1} << 17));
  EXPECT_EQ(t.run({chip().rcp_v1_v0, chip().get_trap_status}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 0u) << "of a lane that is switched off";
}

TEST_P(Exceptions, StayInTrapStatusUntilCleared) {
  t.v(0, 3) = 0;
  EXPECT_EQ(t.run({chip().rcp_v1_v0, 0x7e000280 /* v_mov_b32 v0, 0 */, chip().get_trap_status,
                   chip().clear_trap_status, 0, chip().get_trap_status_again}),
            Stop::kEnd);
  EXPECT_EQ(t.s(0), exception::kDivisionByZero);
  EXPECT_EQ(t.s(10), 0u);
}

TEST_P(Exceptions, EnterHandlerAfterInstruction) {
  install_handler();
  t.v(0, 17) = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kDivisionByZero, chip().rcp_v1_v0, chip().rcp_v2_v0}),
            Stop::kEnd);
  EXPECT_EQ(t.s(11), 2u) << "once for each instruction";
  EXPECT_EQ(t.v(1, 17), kInfinity);
  EXPECT_EQ(t.v(2, 17), kInfinity);
  EXPECT_EQ(t.s(10) & exception::kAll, exception::kDivisionByZero);
  const uint64_t pc = t.s(8) | uint64_t{t.s(9) & 0xffff} << 32;
  EXPECT_EQ(pc, t.code_buffer.va + 16) << "the next instruction";
  EXPECT_EQ(t.s(9) >> 16, 1u << 9) << "no trap's number; one dword back";
  EXPECT_EQ(t.s(10) >> 16, chip().target.major == 10 ? 0u : 1u) << "the quarter of the wave";
}

TEST_P(Exceptions, ReportLengthOfInstruction) {
  install_handler();
  t.v(0, 0) = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kDivisionByZero, low(chip().rcp_v1_abs_v0),
                   high(chip().rcp_v1_abs_v0)}),
            Stop::kEnd);
  EXPECT_EQ(t.s(8), static_cast<uint32_t>(t.code_buffer.va + 16));
  EXPECT_EQ(t.s(9) >> 25, 2u);
}

TEST_P(Exceptions, DoNotEnterHandlerIfDisabled) {
  install_handler();
  t.v(0, 0) = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kInvalid | exception::kInexact, chip().rcp_v1_v0,
                   chip().get_trap_status}),
            Stop::kEnd);
  EXPECT_EQ(t.s(11), 0u);
  EXPECT_EQ(t.s(0), exception::kDivisionByZero);
}

TEST_P(Exceptions, AreIgnoredWithoutHandler) {
  t.v(0, 0) = 0;
  t.wave.status = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kDivisionByZero, chip().rcp_v1_v0, chip().rcp_v2_v0}),
            Stop::kEnd);
  EXPECT_EQ(t.v(2, 0), kInfinity);
}

TEST_P(Exceptions, AreNotRaisedWithClamp) {
  install_handler();
  t.v(0, 0) = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kDivisionByZero, low(chip().rcp_v1_v0_clamp),
                   high(chip().rcp_v1_v0_clamp), chip().get_trap_status}),
            Stop::kEnd);
  EXPECT_EQ(t.s(0), 0u);
  EXPECT_EQ(t.s(11), 0u);
}

TEST_P(Exceptions, DoNotInterruptHandler) {
  t.trap.code_va = t.code_buffer.va + kHandlerAt;
  t.put({chip().rcp_v2_v0, 0x800b810b, chip().clear_upper, 0xffff, chip().return_from_trap}, kHandlerAt);
  t.v(0, 0) = 0;
  EXPECT_EQ(t.run({chip().set_mode_enables, exception::kDivisionByZero, chip().rcp_v1_v0}), Stop::kEnd);
  EXPECT_EQ(t.s(11), 1u);
}

TEST_P(Exceptions, AreGatheredIfDistantCodeReadsTrapStatus) {
  t.v(0, 0) = 0;
  // A branch over more instructions than one block holds.
  std::vector<uint32_t> far{chip().rcp_v1_v0, 0xbf820fff};
  far.resize(2 + 4095, 0xbf810000);
  far.push_back(chip().get_trap_status);
  EXPECT_EQ(t.run(far), Stop::kEnd);
  EXPECT_EQ(t.s(0), exception::kDivisionByZero);
}

TEST_P(Exceptions, AddNoOperationsIfUnused) {
  t.v(0, 0) = 0;
  EXPECT_EQ(t.run({chip().rcp_v1_v0, chip().rcp_v2_v0}), Stop::kEnd);
  const auto ops = block_of(t.code->find(t.code_buffer.va, variant_of(t.wave))).op_count;
  EXPECT_EQ(t.wave.trap_status, 0u);
  EXPECT_EQ(t.run({chip().rcp_v1_v0, chip().rcp_v2_v0, chip().get_trap_status}), Stop::kEnd);
  const auto more = block_of(t.code->find(t.code_buffer.va, variant_of(t.wave))).op_count;
  EXPECT_EQ(more, ops + 1 + 2 * 2);
}

INSTANTIATE_TEST_SUITE_P(Chips, Exceptions, ::testing::ValuesIn(kChips),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace rigel::vgpu::exec
