// What isa::effects_of() says of every operation, held against what the model does: nothing changes that it does not
// write, nothing that it does not read matters, and of what it replaces nothing is left.
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

// Registers that differ between two states, where `matters` says so.
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

// Others in all registers that the instruction is said not to read.
State with_others_unread(Draw& draw, const State& state, const Effects& effects) {
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

std::string contradiction(Draw& draw, const isa::Instruction& in, const State& before) {
  const Effects effects = isa::effects_of(in, before.target, before.wave_size);
  State after = before;
  if (execute(in, after) != Outcome::kDone || after.world.open) return "not modelled";
  if (!after.world.faults.empty()) return {};  // the wave goes no further
  const std::string written = changed(
      before, after, [&](const char* file, unsigned i) { return !has(effects.writes, file, i); },
      ~uint64_t{0});
  if (!written.empty()) return written + " is written";
  if (!(effects.replaces - effects.writes).empty()) return "what is replaced is not written";

  const State other = with_others_unread(draw, before, effects);
  State other_after = other;
  if (execute(in, other_after) != Outcome::kDone) return "the model executes it no more";
  const uint64_t active = effects.writes_inactive_lanes ? ~uint64_t{0} : before.exec();
  // What was replaced, or was written and had been the same, is the same now.
  std::string unlike = changed(
      after, other_after,
      [&](const char* file, unsigned i) {
        return has(effects.replaces, file, i) ||
               (has(effects.writes, file, i) && has(effects.reads, file, i));
      },
      active);
  if (!unlike.empty()) return unlike + " depends on what is not read";
  // Lanes that are not active keep what they have.
  if (!effects.writes_inactive_lanes) {
    unlike = changed(
        before, after, [](const char* file, unsigned) { return *file == 'v'; }, ~before.exec());
    if (!unlike.empty() && in.op != isa::Op::v_readfirstlane_b32) return unlike + " is written and inactive";
  }
  return {};
}

void expect_no_contradiction(const std::set<Encoding>& encodings, bool memory) {
  const uint64_t draws =
      memory ? (draws_of_a_line() + 5) / 6 : (draws_of_a_line() + 1) / 2;  // memory is much to copy
  for (const Chip& chip : kChipsCompared) {
    const isa::Target target = target_of(chip);
    Draw draw = draw_for(chip);
    for_each_line(chip, encodings, [&](uint16_t row, isa::Op op) {
      if (is_of_matrices(op)) return;
      std::string found;
      isa::Instruction in;
      uint32_t words[5];
      unsigned done = 0;
      for (unsigned attempt = 0; attempt < 120 && done < draws && found.empty(); ++attempt) {
        if (!draw.instruction(target, row, in, words)) continue;
        State before = draw.state(target);
        if (before.indexes_vgprs()) before.mode &= ~(1u << 27);
        before.pc = 0x1000;
        if (memory && !aim(draw, in, before)) continue;
        // Said to read and write everything.
        if (isa::effects_of(in, target, before.wave_size).reads == isa::Registers::all()) break;
        found = contradiction(draw, in, before);
        if (found == "not modelled") found.clear();
        ++done;
      }
      if (!found.empty()) {
        ADD_FAILURE() << isa::name(op) << " on " << chip.name << ": " << found << "\n  "
                      << isa::disassemble(target, in);
      }
    });
  }
}

TEST(Effects, OfScalarInstructionsAreWhatTheModelDoes) {
  expect_no_contradiction(kScalarEncodings, false);
}
TEST(Effects, OfVectorInstructionsAreWhatTheModelDoes) {
  expect_no_contradiction(
      {Encoding::kVop1, Encoding::kVop2, Encoding::kVopc, Encoding::kVop3, Encoding::kVop3p}, false);
}
TEST(Effects, OfMemoryInstructionsAreWhatTheModelDoes) {
  expect_no_contradiction({Encoding::kSmem, Encoding::kDs, Encoding::kFlat, Encoding::kGlobal,
                           Encoding::kScratch, Encoding::kMubuf, Encoding::kMtbuf},
                          true);
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
