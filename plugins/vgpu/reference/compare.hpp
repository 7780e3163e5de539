// What the tests that compare the machine with the model share: on which chips, what differs, and how to say
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/reference/draw.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

uint64_t number_from_environment(const char* name, uint64_t otherwise);

struct Chip {
  const char* name;
  bool wave32;
};
/// One of each kind that differs in something.
constexpr Chip kChipsCompared[] = {{"gfx803", false},  {"gfx810", false}, {"gfx900", false},
                                   {"gfx906", false},  {"gfx908", false}, {"gfx90a", false},
                                   {"gfx1010", false}, {"gfx1010", true}, {"gfx1011", false},
                                   {"gfx1030", false}, {"gfx1030", true}};
isa::Target target_of(const Chip& chip);

/// Calls `line` for each line of the tables that belongs to the chip and to one of the encodings.
/// RIGEL_OP picks one operation.
void for_each_line(const Chip& chip, const std::set<isa::Encoding>& encodings,
                   const std::function<void(uint16_t row, isa::Op op)>& line);

inline const std::set<isa::Encoding> kScalarEncodings = {isa::Encoding::kSop1, isa::Encoding::kSop2,
                                                         isa::Encoding::kSopk, isa::Encoding::kSopc,
                                                         isa::Encoding::kSopp};

/// How often each line is drawn: RIGEL_DRAWS, or 6.
uint64_t draws_of_a_line();

/// What is drawn for the chip: always the same, or another with each RIGEL_SEED.
Draw draw_for(const Chip& chip);

/// Leaves out of the state what handlers cannot do exactly on this kind of host (kHasDenormalModes).
void keep_to_host(State& state);

std::string hex(uint64_t x);

/// "v_add_f32 on gfx900, handlers of avx2: v_add_f32 v1, … [0x… 0x…], MODE …, EXEC …"
std::string describe(const isa::Instruction& in, const Chip& chip, SimdLevel level, const State& before,
                     const uint32_t (&words)[5]);

/// Empty if the registers of the machine's state are ones that the model allows.
std::string difference(const isa::Instruction& in, const State& before, const State& expected,
                       const State& actual);

/// Empty if its memory is.
std::string difference(const World& before, const World& expected, const World& actual);

}  // namespace rigel::vgpu::exec::reference
