// Compares isa::effects_of() with the model: only registers in `writes` change, registers outside of `reads`
// do not matter, and registers in `replaces` do not keep old values.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/effects.hpp"
#include "plugins/vgpu/reference/aim.hpp"
#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/expected.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Effects;
using isa::Encoding;

// Returns registers that differ between two states and are in `matters`.
std::string changed(const State& a, const State& b,
                    const std::function<bool(const char* file, unsigned index)>& matters, uint64_t lanes) {
  for (unsigned i = 0; i < a.scalar.size(); ++i) {
    if (a.scalar[i] != b.scalar[i] && matters("s", i)) return "scalar " + std::to_string(i);
  }
  if (a.scc != b.scc && matters("scc", 0)) return "SCC";
  for (unsigned i = 0; i < a.vgpr.size(); ++i) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      if ((lanes >> lane & 1) != 0 && a.vgpr[i][lane] != b.vgpr[i][lane] && matters("v", i)) {
        return "v" + std::to_string(i) + " in lane " + std::to_string(lane);
      }
    }
  }
  return {};
}

bool has(const isa::Registers& set, const char* file, unsigned index) {
  switch (*file) {
    case 'v':
      return set.vgprs[index];
    default:
      return file[1] == 'c' ? set.scc : set.scalars[index];
  }
}

// Changes all registers that the instruction does not read.
State with_other_unread_registers(Draw& draw, const State& state, const Effects& effects) {
  State other = state;
  for (unsigned i = 0; i < other.scalar.size(); ++i) {
    if (i != isa::code::kNull && !effects.reads.scalars[i]) other.scalar[i] = draw.value();
  }
  if (!effects.reads.scc) other.scc ^= 1;
  for (unsigned i = 0; i < other.vgpr.size(); ++i) {
    if (effects.reads.vgprs[i]) continue;
    for (uint32_t& lane : other.vgpr[i]) lane = draw.value();
  }
  return other;
}

std::string mismatch(Draw& draw, const isa::Instruction& in, const State& before) {
  const Effects effects = isa::effects_of(in, before.target, before.wave_size);
  State after = before;
  if (execute(in, after) != Outcome::kDone || after.world.open) return "not modelled";
  if (!after.world.faults.empty()) return {};  // The wave stops.
  const std::string written = changed(
      before, after, [&](const char* file, unsigned i) { return !has(effects.writes, file, i); },
      ~uint64_t{0});
  if (!written.empty()) return written + " is written";
  if (!(effects.replaces - effects.writes).empty()) return "what is replaced is not written";

  const State other = with_other_unread_registers(draw, before, effects);
  State other_after = other;
  if (execute(in, other_after) != Outcome::kDone) return "the model executes it no more";
  const uint64_t active = effects.writes_inactive_lanes ? ~uint64_t{0} : before.exec();
  // Replaced registers, and written registers that were equal before, must be equal now.
  std::string differing = changed(
      after, other_after,
      [&](const char* file, unsigned i) {
        return has(effects.replaces, file, i) ||
               (has(effects.writes, file, i) && has(effects.reads, file, i));
      },
      active);
  if (!differing.empty()) return differing + " depends on what is not read";
  // Inactive lanes keep their values.
  if (!effects.writes_inactive_lanes) {
    differing = changed(
        before, after, [](const char* file, unsigned) { return *file == 'v'; }, ~before.exec());
    if (!differing.empty() && in.op != isa::Op::v_readfirstlane_b32)
      return differing + " is written and inactive";
  }
  return {};
}

void expect_no_mismatch(const std::set<Encoding>& encodings, bool memory) {
  const uint64_t draws =
      memory ? (draws_per_row() + 5) / 6 : (draws_per_row() + 1) / 2;  // Copying memory is expensive.
  for (const Chip& chip : kChipsCompared) {
    const isa::Target target = target_of(chip);
    Draw draw = draw_for(chip);
    for_each_row(chip, encodings, [&](uint16_t row, isa::Op op) {
      if (is_of_matrices(op)) return;
      std::string failure;
      isa::Instruction in;
      uint32_t words[5];
      unsigned done = 0;
      for (unsigned attempt = 0; attempt < 120 && done < draws && failure.empty(); ++attempt) {
        if (!draw.instruction(target, row, in, words)) continue;
        State before = draw.state(target);
        if (before.indexes_vgprs()) before.mode &= ~(1u << 27);
        before.pc = 0x1000;
        if (memory && !aim(draw, in, before)) continue;
        // Its effects are all registers.
        if (isa::effects_of(in, target, before.wave_size).reads == isa::Registers::all()) break;
        failure = mismatch(draw, in, before);
        if (failure == "not modelled") failure.clear();
        ++done;
      }
      if (!failure.empty()) {
        ADD_FAILURE() << isa::name(op) << " on " << chip.name << ": " << failure << "\n  "
                      << isa::disassemble(target, in);
      }
    });
  }
}

TEST(Effects, OfScalarInstructionsMatchModel) {
  expect_no_mismatch(kScalarEncodings, false);
}
TEST(Effects, OfVectorInstructionsMatchModel) {
  expect_no_mismatch(
      {Encoding::kVop1, Encoding::kVop2, Encoding::kVopc, Encoding::kVop3, Encoding::kVop3p, Encoding::kVopd},
      false);
}
TEST(Effects, OfMemoryInstructionsMatchModel) {
  expect_no_mismatch({Encoding::kSmem, Encoding::kDs, Encoding::kFlat, Encoding::kGlobal, Encoding::kScratch,
                      Encoding::kMubuf, Encoding::kMtbuf},
                     true);
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
