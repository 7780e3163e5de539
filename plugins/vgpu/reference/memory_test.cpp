// Every memory instruction of the tables, with fields, operands, addresses and EXEC drawn at random: decoded,
// lowered and run by the handlers of every level of vector instructions, as native code where there is some,
// and by the model. Registers and memory must be the same afterwards; where lanes store to the same place,
// any of them may have been last. Where the model says that an access cannot be done, the machine must say
// so, and name one of its bytes.
//
// RIGEL_DRAWS is how often each line of the tables is drawn for each target (default 6); RIGEL_SEED varies
// it; RIGEL_OP picks one operation.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plugins/vgpu/reference/aim.hpp"
#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/expected.hpp"
#include "plugins/vgpu/reference/handler_run.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Encoding;
using isa::Op;

struct Tally {
  unsigned compared = 0, faulted = 0, not_modelled = 0, wrong = 0;
  std::string refusal, first_failure;
};
using Tallies = std::map<Op, Tally>;

/// Empty if the machine did what the model says.
std::string judge(const isa::Instruction& in, const State& before, const State& expected, const State& actual,
                  const MachineResult& result) {
  if (result.strayed) return "  something was written behind the LDS";
  const std::set<uint64_t>& faults = expected.world.faults;
  if (result.faulted) {
    if (faults.contains(result.fault_va)) return {};
    return "  a fault at " + hex(result.fault_va) +
           (faults.empty() ? ", none expected" : ", expected one at " + hex(*faults.begin()));
  }
  if (!faults.empty()) return "  no fault; expected one at " + hex(*faults.begin());
  if (result.waits != expected.world.waits) return result.waits ? "  the wave waits" : "  the wave goes on";
  if (!result.consistent) return "  EXEC was handed on wrong";
  std::string wrong = difference(in, before, expected, actual);
  if (wrong.empty()) wrong = difference(before.world, expected.world, actual.world);
  return wrong;
}

// Chips before gfx10 have no register of that code, and refuse it.
bool names_null(const isa::Instruction& in) {
  return in.vdst.is_null() || in.vdata.is_null() || in.soffset.is_null();
}

void run(const Chip& chip, const std::set<Encoding>& encodings, Tallies& tallies) {
  const isa::Target target = target_of(chip);
  Draw draw = draw_for(chip);
  for_each_line(chip, encodings, [&](uint16_t row, Op op) {
    Tally& tally = tallies[op];
    const uint64_t draws = draws_of_a_line();
    uint64_t done = 0;
    for (unsigned attempt = 0; attempt < draws * 40 && done < draws; ++attempt) {
      isa::Instruction in;
      uint32_t words[5];
      if (!draw.instruction(target, row, in, words)) continue;
      if (names_null(in) && !isa::traits_of(target).has_null) continue;
      State before = draw.state(target);
      if (!aim(draw, in, before)) continue;
      if (draw.one_in(8)) draw.go_beyond(in);
      keep_to_host(before);
      State expected = before;
      if (execute(in, expected) != Outcome::kDone) {
        ++tally.not_modelled;
        break;
      }
      if (expected.world.open) continue;
      ++done;
      for (const SimdLevel level : simd_levels()) {
        State actual = before;
        const MachineResult result = run_on_machine({&in, 1}, level, actual);
        if (!result.refusal.empty()) {
          tally.refusal = result.refusal;
          continue;
        }
        ++tally.compared;
        if (!expected.world.faults.empty()) ++tally.faulted;
        const std::string wrong = judge(in, before, expected, actual, result);
        if (wrong.empty() || tally.wrong++ != 0) continue;
        tally.first_failure = describe(in, chip, level, before, words) + "\n" + wrong;
      }
    }
  });
}

void expect_no_difference(const std::set<Encoding>& encodings) {
  Tallies tallies;
  for (const Chip& chip : kChipsCompared) run(chip, encodings, tallies);
  for (const auto& [op, tally] : tallies) {
    if (tally.wrong != 0) {
      ADD_FAILURE() << tally.wrong << " of " << tally.compared << " runs differ. The first:\n"
                    << tally.first_failure;
      continue;
    }
    const bool known = is_in_list(kMemoryNotCompared, op);
    if (tally.compared == 0 && !known) {
      ADD_FAILURE() << isa::name(op) << " was not compared: "
                    << (tally.not_modelled != 0 ? "the model doesn't know it"
                        : tally.refusal.empty() ? "never drawn"
                                                : tally.refusal);
    } else if (tally.compared == tally.faulted && tally.compared != 0) {
      ADD_FAILURE() << isa::name(op) << " was compared only where it faults";
    } else if (tally.compared != 0 && known) {
      ADD_FAILURE() << isa::name(op) << " is compared now: take it off the list";
    }
    if (!tally.refusal.empty() && !known) ADD_FAILURE() << isa::name(op) << " is refused: " << tally.refusal;
  }
}

TEST(MemoryReference, DataShareInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kDs});
}

TEST(MemoryReference, ScalarMemoryInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kSmem});
}
TEST(MemoryReference, ImageInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kMimg});
}
TEST(MemoryReference, FlatInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kFlat});
}
TEST(MemoryReference, GlobalInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kGlobal});
}
TEST(MemoryReference, ScratchInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kScratch});
}
TEST(MemoryReference, BufferInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kMubuf});
}
TEST(MemoryReference, TypedBufferInstructionsDoWhatTheManualsSay) {
  expect_no_difference({Encoding::kMtbuf});
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
