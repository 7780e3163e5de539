// Native code against the handlers: random sequences of instructions, in random states, leave the same
// registers behind. (Single instructions are compared with the model, in reference_test.cpp.)
//
// RIGEL_DRAWS is how many sequences there are for each chip (default 100); RIGEL_SEED varies them.
#include "plugins/vgpu/exec/native/native.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "plugins/vgpu/exec/native/plan.hpp"
#include "plugins/vgpu/exec/test_wave.hpp"
#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/tables.hpp"
#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/draw.hpp"
#include "plugins/vgpu/reference/machine.hpp"

namespace rigel::vgpu::exec::native {
namespace {

using isa::Encoding;
using isa::Op;
using reference::Chip;
using reference::Draw;
using reference::State;
using testing::gfx;
using testing::TestWave;

constexpr Chip kChips[] = {{"gfx803", false}, {"gfx900", false},  {"gfx906", false},
                           {"gfx1010", true}, {"gfx1030", false}, {"gfx1030", true}};

bool is_arithmetic(const isa::Instruction& in) {
  switch (in.encoding) {
    case Encoding::kSop1:
    case Encoding::kSop2:
    case Encoding::kSopc:
    case Encoding::kSopk:
    case Encoding::kVop1:
    case Encoding::kVop2:
    case Encoding::kVopc:
    case Encoding::kVop3:
      return true;
    default:
      return false;
  }
}

// What a sequence of one block cannot have: branches, other modes, waiting.
bool leaves_block(Op op) {
  const std::string_view name = isa::name(op);
  for (const char* part : {"setpc", "swappc", "getpc", "call", "rfe", "setreg", "getreg", "subvector",
                           "gpr_idx", "join", "fork", "waitcnt", "movrel", "trap", "vskip"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// What the registers begin with. What follows from them is soon of all kinds.
enum class Numbers : uint8_t {
  kDifficult,
  kOrdinary,  ///< Singles not far from 1.
  kNans,      ///< Different ones, quiet and signaling, of all three formats.
};

// What is drawn must not depend on the machine: another one's failure could not be found on it.
constexpr SimdLevel kDrawnFor = SimdLevel::kAvx512;

// For which machines native code is made.
struct Host {
  const char* name;
  SimdLevel level;
  bool plain;  ///< It has nothing beyond what the level needs.
};
constexpr Host kHosts[] = {{"avx2", SimdLevel::kAvx2, true},
                           {"avx512", SimdLevel::kAvx512, false},
                           {"avx512_plain", SimdLevel::kAvx512, true}};

class Sequences {
 public:
  Sequences(const Chip& chip, uint64_t seed)
      : target_(target_of(chip)), draw_(seed), any_state_(state(Numbers::kDifficult)) {
    const auto rows = isa::tables::rows();
    for (uint16_t row = 0; size_t{row} < rows.size(); ++row) {
      if ((rows[row].chips & isa::chip_bit(target_)) == 0) continue;
      isa::Instruction in;
      bool runs = false, compiled = false;
      for (int attempt = 0; attempt < 6 && !compiled; ++attempt) {
        if (!draw(row, in)) continue;
        runs = true;
        const Site site{in, 0, 1, false, false};
        const RegisterLayout layout{any_state_.wave_size, reference::kVgprs};
        compiled = !plan({target_, layout, {}, {&site, 1}, {}, kDrawnFor, {}}).empty();
      }
      if (runs) (compiled ? compiled_ : others_).push_back(row);
    }
  }

  /// Mostly of what is compiled.
  std::vector<isa::Instruction> next(size_t count) {
    std::vector<isa::Instruction> sequence;
    while (sequence.size() < count) {
      const auto& rows = draw_.one_in(12) ? others_ : compiled_;
      isa::Instruction in;
      if (!draw(rows[draw_.below(static_cast<uint32_t>(rows.size()))], in)) continue;
      gather(in);
      sequence.push_back(in);
    }
    return sequence;
  }

  /// Vector instructions that are compiled, and nearly all together: none changes EXEC, and VCC is the only
  /// mask that any makes.
  std::vector<isa::Instruction> next_vectors(size_t count) {
    std::vector<isa::Instruction> sequence;
    while (sequence.size() < count) {
      isa::Instruction in;
      if (!draw(compiled_[draw_.below(static_cast<uint32_t>(compiled_.size()))], in)) continue;
      if (in.encoding >= Encoding::kVop1 && goes_with_others(in)) sequence.push_back(in);
    }
    return sequence;
  }
  /// How many vector instructions are done for some lanes before others.
  size_t longest_run(const std::vector<isa::Instruction>& sequence) const {
    std::vector<Site> sites;
    for (const isa::Instruction& in : sequence) {
      sites.push_back({in, static_cast<uint32_t>(sites.size()), 1, false, false});
    }
    const RegisterLayout layout{any_state_.wave_size, reference::kVgprs};
    size_t longest = 0;
    for (const Segment& segment : plan({target_, layout, {}, sites, {}, kDrawnFor, {}})) {
      longest = std::max(longest, segment.lanes.size());
    }
    return longest;
  }

  State state(Numbers numbers) {
    State state = draw_.state(target_);
    state.mode &= kFloatModeBits;  // VGPRs stand where they are
    for (auto& row : state.vgpr) {
      for (uint32_t& lane : row) {
        if (numbers == Numbers::kOrdinary) lane = 0x3f000000 + (lane & 0x1ffffff);
        if (numbers == Numbers::kNans && !draw_.one_in(8)) lane = nan();
      }
    }
    if (numbers == Numbers::kNans) {
      for (unsigned i = 0; i < 104; ++i) {
        if (draw_.one_in(2)) state.scalar[i] = nan();
      }
    }
    return state;
  }

  static reference::MachineResult run(const std::vector<isa::Instruction>& sequence, const Host& host,
                                      bool native, State& state) {
    return reference::run_on_machine(sequence, host.level, native, state,
                                     host.plain ? HostFeatures{} : host_features());
  }

  const std::vector<uint16_t>& compiled() const { return compiled_; }
  Draw& draws() { return draw_; }

 private:
  static bool goes_with_others(const isa::Instruction& in) {
    constexpr uint16_t kVcc = isa::code::kVccLo;
    if (isa::name(in.op).find("cmpx") != std::string_view::npos) return false;
    if (in.src[0].is_scalar_register() && in.src[0].code / 2 == kVcc / 2) return false;
    if (in.encoding != Encoding::kVop3) return true;
    for (const isa::Operand& operand : in.dst) {
      if (operand.is_scalar_register()) return false;
    }
    return std::none_of(std::begin(in.src), std::end(in.src), [](const isa::Operand& operand) {
      return operand.is_scalar_register() && operand.code / 2 == kVcc / 2;
    });
  }

  bool draw(uint16_t row, isa::Instruction& in) {
    uint32_t words[5];
    if (!draw_.instruction(target_, row, in, words) || !is_arithmetic(in) || leaves_block(in.op))
      return false;
    State state = any_state_;
    return reference::run_on_machine({&in, 1}, SimdLevel::kBaseline, false, state).refusal.empty();
  }

  // Also two halves that are NaNs, or the upper dword of a double that is one.
  uint32_t nan() {
    const auto bits = static_cast<uint32_t>(draw_.bits());
    return bits | (draw_.one_in(3) ? 0x7c017c01 : draw_.one_in(2) ? 0x7ff00001 : 0x7f800001);
  }

  // Scalars that meet: so that masks and their users come together.
  void gather(isa::Instruction& in) {
    const auto move = [&](isa::Operand& operand) {
      if (!operand.is_scalar_register() || operand.code >= 106 || draw_.one_in(8)) return;
      operand.code = static_cast<uint16_t>(draw_.one_in(3) ? 106 : operand.code % 8 & 6);
    };
    for (isa::Operand& operand : in.src) move(operand);
    for (isa::Operand& operand : in.dst) move(operand);
  }

  isa::Target target_;
  Draw draw_;
  State any_state_;
  std::vector<uint16_t> compiled_, others_;
};

std::string first_difference(const State& handlers, const State& native) {
  std::ostringstream text;
  text << std::hex;
  if (handlers.scc != native.scc) text << "SCC " << native.scc << ", not " << handlers.scc << '\n';
  for (unsigned code = 0; code < 128; ++code) {
    if (handlers.scalar[code] == native.scalar[code]) continue;
    text << "scalar " << std::dec << code << std::hex << " is " << native.scalar[code] << ", not "
         << handlers.scalar[code] << '\n';
  }
  for (unsigned n = 0; n < handlers.vgpr.size(); ++n) {
    for (unsigned lane = 0; lane < handlers.wave_size; ++lane) {
      if (handlers.vgpr[n][lane] == native.vgpr[n][lane]) continue;
      text << "v" << std::dec << n << " of lane " << lane << std::hex << " is " << native.vgpr[n][lane]
           << ", not " << handlers.vgpr[n][lane] << '\n';
      break;
    }
  }
  return text.str();
}

std::string listing(const isa::Target& target, const std::vector<isa::Instruction>& sequence) {
  std::string text;
  for (const isa::Instruction& in : sequence) text += "    " + isa::disassemble(target, in) + "\n";
  return text;
}

// Leaves out what makes no difference to the failure.
std::vector<isa::Instruction> shortened(std::vector<isa::Instruction> sequence, const Host& host,
                                        const State& before) {
  const auto fails = [&](const std::vector<isa::Instruction>& some) {
    State handlers = before, native = before;
    Sequences::run(some, host, false, handlers);
    Sequences::run(some, host, true, native);
    return !first_difference(handlers, native).empty();
  };
  for (size_t i = sequence.size(); i-- > 0;) {
    std::vector<isa::Instruction> some = sequence;
    some.erase(some.begin() + static_cast<ptrdiff_t>(i));
    if (fails(some)) sequence = std::move(some);
  }
  return sequence;
}

// What is different, and of which instructions; empty: nothing is.
std::string difference(const isa::Target& target, const std::vector<isa::Instruction>& sequence,
                       const Host& host, const State& before, State& handlers, State& native) {
  if (first_difference(handlers, native).empty()) return "";
  const auto few = shortened(sequence, host, before);
  handlers = native = before;
  Sequences::run(few, host, false, handlers);
  Sequences::run(few, host, true, native);
  std::ostringstream text;
  text << "MODE " << std::hex << before.mode << ", EXEC " << before.exec() << ":\n"
       << listing(target, few) << first_difference(handlers, native);
  return text.str();
}

void expect_equal_runs(const Host& host, Numbers numbers) {
  const uint64_t draws = reference::number_from_environment("RIGEL_DRAWS", 100);
  uint64_t instructions = 0, compiled = 0;
  for (const Chip& chip : kChips) {
    const isa::Target target = target_of(chip);
    Sequences sequences(chip, reference::number_from_environment("RIGEL_SEED", 1) * 64 + target.major * 4u +
                                  target.minor + (chip.wave32 ? 2 : 0));
    for (uint64_t i = 0; i < draws; ++i) {
      const auto sequence = sequences.next(1 + sequences.draws().below(40));
      const State before = sequences.state(numbers);
      State handlers = before, native = before;
      ASSERT_EQ(Sequences::run(sequence, host, false, handlers).refusal, "");
      const auto result = Sequences::run(sequence, host, true, native);
      instructions += sequence.size();
      compiled += result.native;
      EXPECT_TRUE(result.consistent) << "EXEC was handed on wrong";
      ASSERT_EQ(difference(target, sequence, host, before, handlers, native), "")
          << chip.name << (chip.wave32 ? " wave32" : "") << ", sequence " << i;
    }
  }
  EXPECT_GT(compiled * 2, instructions)
      << "of " << instructions << " instructions only " << compiled << " are native code";
}

class NativeCode : public ::testing::TestWithParam<Host> {
 protected:
  void SetUp() override {
    if (const std::string_view why = why_none(GetParam().level); !why.empty()) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Hosts, NativeCode, ::testing::ValuesIn(kHosts),
                         [](const auto& host) { return std::string(host.param.name); });

TEST_P(NativeCode, DoesWhatHandlersDoWithDifficultNumbers) {
  expect_equal_runs(GetParam(), Numbers::kDifficult);
}

TEST_P(NativeCode, DoesWhatHandlersDoWithOrdinaryNumbers) {
  expect_equal_runs(GetParam(), Numbers::kOrdinary);
}

TEST_P(NativeCode, DoesWhatHandlersDoWithManyNans) {
  expect_equal_runs(GetParam(), Numbers::kNans);
}

// What is too long to be there for each vector of lanes apart has loops.
TEST_P(NativeCode, DoesWhatHandlersDoInLongRunsOfVectors) {
  const Host& host = GetParam();
  const uint64_t draws = reference::number_from_environment("RIGEL_DRAWS", 100) / 2;
  for (const Chip& chip : kChips) {
    const isa::Target target = target_of(chip);
    Sequences sequences(chip, reference::number_from_environment("RIGEL_SEED", 1) * 64 + target.major * 4u +
                                  target.minor + (chip.wave32 ? 2 : 0));
    size_t longest = 0;
    for (uint64_t i = 0; i < draws; ++i) {
      const auto sequence = sequences.next_vectors(80);
      longest = std::max(longest, sequences.longest_run(sequence));
      const State before = sequences.state(i % 2 == 0 ? Numbers::kOrdinary : Numbers::kDifficult);
      State handlers = before, native = before;
      ASSERT_EQ(Sequences::run(sequence, host, false, handlers).refusal, "");
      Sequences::run(sequence, host, true, native);
      ASSERT_EQ(difference(target, sequence, host, before, handlers, native), "")
          << chip.name << (chip.wave32 ? " wave32" : "") << ", sequence " << i;
    }
    EXPECT_TRUE(longest > 32 || draws < 20) << longest << " on " << chip.name;
  }
}

// Denormals above 0 stay when the result is clamped, wherever the operation leaves them.
TEST_P(NativeCode, ClampsDenormals) {
  const Host& host = GetParam();
  constexpr uint32_t kValues[] = {0x00496d17, 0x80496d17, 1,          0x80000001, 0,          0x80000000,
                                  0x00800000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x40000000, 0xbf800000,
                                  0x7f800000, 0xff800000, 0x7fc00001, 0xffc00001, 0x7f800001, 0xff800001};
  for (const Chip& chip : kChips) {
    const isa::Target target = target_of(chip);
    const bool gfx10 = target.major == 10;
    Draw draw(1);
    for (uint32_t mode = 0; mode < 16; ++mode) {
      State before = draw.state(target);
      before.mode = mode % 4 << 4 | mode % 4 << 6 | mode / 4 << 8;  // denormals; DX10_CLAMP, IEEE
      for (unsigned lane = 0; lane < 64; ++lane) {
        before.vgpr[6][lane] = kValues[lane % std::size(kValues)];
        before.vgpr[7][lane] = kValues[lane * 7 / 3 % std::size(kValues)];
      }
      // v_min_f32, v_max_f32, v_add_f32, v_mul_f32, v_sub_f32: v10, of a constant or v7 and of v6, clamped
      for (const uint32_t op :
           gfx10 ? std::array{0x0f, 0x10, 0x03, 0x08, 0x04} : std::array{0x0a, 0x0b, 1, 5, 2}) {
        for (const uint32_t source : {204u, 128u, 240u, 263u}) {
          const uint32_t words[2] = {(gfx10 ? 0xd4000000u : 0xd0000000u) | (0x100 + op) << 16 | 1u << 15 | 10,
                                     source | 262u << 9};
          isa::Instruction in;
          ASSERT_EQ(isa::decode(target, words, 2, in), isa::DecodeStatus::kOk);
          State handlers = before, native = before, expected = before;
          Sequences::run({in}, host, false, handlers);
          EXPECT_EQ(Sequences::run({in}, host, true, native).native, 1u);
          ASSERT_EQ(difference(target, {in}, host, before, handlers, native), "") << chip.name;
          reference::execute(in, expected);
          ASSERT_EQ(reference::difference(in, before, expected, native), "")
              << isa::disassemble(target, in) << " on " << chip.name << ", MODE " << std::hex << before.mode;
        }
      }
    }
  }
}

// Sums of two dwords are one of 64 bits where they belong together, and only there.
TEST_P(NativeCode, DoesWhatHandlersDoInSumsOfPairs) {
  const Host& host = GetParam();
  const uint64_t draws = reference::number_from_environment("RIGEL_DRAWS", 100) * 4;
  for (const Chip& chip : kChips) {
    const isa::Target target = target_of(chip);
    Sequences sequences(chip, reference::number_from_environment("RIGEL_SEED", 1));
    Draw& draw = sequences.draws();
    const auto source = [&] { return draw.one_in(3) ? 126 + draw.below(80) : draw.below(8); };
    const auto upper = [&](uint32_t low) {
      if (draw.one_in(6)) return source();
      return low < 126 ? low + 1 : 128 + draw.below(80);
    };
    for (uint64_t i = 0; i < draws; ++i) {
      std::vector<isa::Instruction> sequence;
      const auto add = [&](uint32_t op, uint32_t to, uint32_t one, uint32_t other) {
        const uint32_t word = 0x80000000 | op << 23 | to << 16 | other << 8 | one;
        isa::Instruction in;
        ASSERT_EQ(isa::decode(target, &word, 1, in), isa::DecodeStatus::kOk);
        sequence.push_back(in);
      };
      for (uint32_t pairs = 1 + draw.below(3); pairs > 0; --pairs) {
        const uint32_t op = draw.below(2), to = draw.below(8), one = source(), other = source();
        add(op, to, one, other);
        add(draw.one_in(8) ? 5 - op : 4 + op, draw.one_in(8) ? draw.below(8) : to + 1, upper(one),
            upper(other));
        if (draw.one_in(2)) add(10, 8 + pairs, source(), source());  // s_cselect_b32
      }
      const State before = sequences.state(Numbers::kDifficult);
      State handlers = before, native = before;
      ASSERT_EQ(Sequences::run(sequence, host, false, handlers).refusal, "");
      Sequences::run(sequence, host, true, native);
      ASSERT_EQ(difference(target, sequence, host, before, handlers, native), "")
          << chip.name << ", sequence " << i;
    }
  }
}

TEST(Native, KnowsTheArithmeticOfMostKernels) {
  for (const Chip& chip : kChips) {
    Sequences sequences(chip, 1);
    std::set<Op> known;
    for (const uint16_t row : sequences.compiled()) known.insert(isa::tables::rows()[row].op);
    EXPECT_GT(known.size(), 150u) << chip.name;
    for (const Op op : {Op::v_mov_b32, Op::v_fma_f32, Op::v_add_co_u32, Op::v_addc_u32, Op::v_cndmask_b32,
                        Op::v_cmp_lt_u32, Op::v_lshlrev_b64, Op::s_and_saveexec_b64, Op::s_add_u32}) {
      EXPECT_TRUE(known.contains(op)) << isa::name(op) << " on " << chip.name;
    }
  }
}

// The translator really puts it in the place of handlers.
TEST(Native, IsWhatWavesExecute) {
  if (!available()) GTEST_SKIP() << "no native code here";
  TestWave t(gfx(9, 0, 0));
  // v_add_u32 v1, 1, v0; v_lshlrev_b32 v1, 2, v1; s_add_u32 s0, s0, 1
  EXPECT_EQ(t.run({0x68020081, 0x24020282, 0x80008100}), Stop::kEnd);
  EXPECT_EQ(t.v(1, 63), 4u);
  EXPECT_EQ(t.s(0), 1u);
  EXPECT_EQ(t.code->native_instructions(), 3u);
  EXPECT_EQ(t.executed, 4);
}

TEST(Native, LoopsCountTheirInstructions) {
  if (!available()) GTEST_SKIP() << "no native code here";
  TestWave t(gfx(9, 0, 0));
  // s_movk_i32 s0, 0x64; v_add_u32 v0, 1, v0; s_addk_i32 s0, -1; s_cmp_lg_u32 s0, 0; s_cbranch_scc1 -4
  const std::vector<uint32_t> code{0xb0000064, 0x68000081, 0xb700ffff, 0xbf078000, 0xbf85fffc};
  EXPECT_EQ(t.run(code), Stop::kEnd);
  EXPECT_EQ(t.v(0, 17), 100u);
  EXPECT_EQ(t.executed, 1 + 400 + 1);
  EXPECT_EQ(t.code->native_instructions(), 5u);
}

TEST(Native, LoopsEndWithTheWavesTurn) {
  if (!available()) GTEST_SKIP() << "no native code here";
  TestWave t(gfx(9, 0, 0));
  t.put({0x68000081, 0xbf82fffe});  // v_add_u32 v0, 1, v0; s_branch -2
  EXPECT_EQ(t.run_at(t.code_buffer.va, 1000), Stop::kBudget);
  EXPECT_EQ(t.v(0, 5), 501u);
  EXPECT_EQ(t.executed, 1002);
  EXPECT_EQ(t.go_on(10), Stop::kBudget) << "and go on";
  EXPECT_EQ(t.v(0, 5), 507u);
}

}  // namespace
}  // namespace rigel::vgpu::exec::native
