// Compares memory instructions with the model: every row of the tables, with random fields, operands,
// addresses and EXEC, on handlers of every SIMD level and as native code. Registers and memory must be equal.
// If lanes store to the same place, each of them may be the last. If the model reports a fault, the handlers
// must report it with one of its bytes.
//
// RIGEL_DRAWS: draws per row and target (default 6). RIGEL_SEED: seed. RIGEL_OP: a single operation.
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

/// Returns a difference, or an empty string.
std::string difference_of_run(const isa::Instruction& in, const State& before, const State& expected,
                              const State& actual, const HandlerResult& result) {
  if (result.wrote_past_lds) return "  something was written behind the LDS";
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

// Chips before gfx10 do not have the register and reject it.
bool uses_null(const isa::Instruction& in) {
  return in.vdst.is_null() || in.vdata.is_null() || in.soffset.is_null();
}

void run(const Chip& chip, const std::set<Encoding>& encodings, Tallies& tallies) {
  const isa::Target target = target_of(chip);
  Draw draw = draw_for(chip);
  for_each_row(chip, encodings, [&](uint16_t row, Op op) {
    Tally& tally = tallies[op];
    const uint64_t draws = draws_per_row();
    uint64_t done = 0;
    for (unsigned attempt = 0; attempt < draws * 40 && done < draws; ++attempt) {
      isa::Instruction in;
      uint32_t words[5];
      if (!draw.instruction(target, row, in, words)) continue;
      if (uses_null(in) && !isa::traits_of(target).has_null) continue;
      State before = draw.state(target);
      if (!aim(draw, in, before)) continue;
      if (draw.one_in(8)) draw.use_missing_register(in);
      restrict_to_host(before);
      State expected = before;
      if (execute(in, expected) != Outcome::kDone) {
        ++tally.not_modelled;
        break;
      }
      if (expected.world.open) continue;
      ++done;
      for (const SimdLevel level : simd_levels()) {
        State actual = before;
        const HandlerResult result = run_handlers({&in, 1}, level, actual);
        if (!result.refusal.empty()) {
          tally.refusal = result.refusal;
          continue;
        }
        ++tally.compared;
        if (!expected.world.faults.empty()) ++tally.faulted;
        const std::string wrong = difference_of_run(in, before, expected, actual, result);
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
    const bool is_excluded = is_in_list(kMemoryNotCompared, op);
    if (tally.compared == 0 && !is_excluded) {
      ADD_FAILURE() << isa::name(op) << " was not compared: "
                    << (tally.not_modelled != 0 ? "the model doesn't know it"
                        : tally.refusal.empty() ? "never drawn"
                                                : tally.refusal);
    } else if (tally.compared == tally.faulted && tally.compared != 0) {
      ADD_FAILURE() << isa::name(op) << " was compared only where it faults";
    } else if (tally.compared != 0 && is_excluded) {
      ADD_FAILURE() << isa::name(op) << " is compared now: take it off the list";
    }
    if (!tally.refusal.empty() && !is_excluded)
      ADD_FAILURE() << isa::name(op) << " is refused: " << tally.refusal;
  }
}

TEST(MemoryReference, DataShareInstructionsMatchModel) {
  expect_no_difference({Encoding::kDs});
}

TEST(MemoryReference, ScalarMemoryInstructionsMatchModel) {
  expect_no_difference({Encoding::kSmem});
}
TEST(MemoryReference, ImageInstructionsMatchModel) {
  expect_no_difference({Encoding::kMimg});
}
TEST(MemoryReference, FlatInstructionsMatchModel) {
  expect_no_difference({Encoding::kFlat});
}
TEST(MemoryReference, GlobalInstructionsMatchModel) {
  expect_no_difference({Encoding::kGlobal});
}
TEST(MemoryReference, ScratchInstructionsMatchModel) {
  expect_no_difference({Encoding::kScratch});
}
TEST(MemoryReference, BufferInstructionsMatchModel) {
  expect_no_difference({Encoding::kMubuf});
}
TEST(MemoryReference, TypedBufferInstructionsMatchModel) {
  expect_no_difference({Encoding::kMtbuf});
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
