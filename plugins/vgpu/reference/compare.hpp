// Common parts of the tests that compare handlers with the model: chips, differences and descriptions.
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

uint64_t number_from_environment(const char* name, uint64_t default_value);

struct Chip {
  const char* name;
  bool wave32;
};
/// One chip of each kind.
constexpr Chip kChipsCompared[] = {
    {"gfx803", false},  {"gfx810", false}, {"gfx900", false},  {"gfx906", false}, {"gfx908", false},
    {"gfx90a", false},  {"gfx942", false}, {"gfx1010", false}, {"gfx1010", true}, {"gfx1011", false},
    {"gfx1030", false}, {"gfx1030", true}, {"gfx1100", false}, {"gfx1100", true}, {"gfx1150", true},
    {"gfx1201", false}, {"gfx1201", true}};
isa::Target target_of(const Chip& chip);

/// Calls `line` for each row of the tables for this chip and these encodings. RIGEL_OP selects one operation.
void for_each_row(const Chip& chip, const std::set<isa::Encoding>& encodings,
                  const std::function<void(uint16_t row, isa::Op op)>& visit);

inline const std::set<isa::Encoding> kScalarEncodings = {isa::Encoding::kSop1, isa::Encoding::kSop2,
                                                         isa::Encoding::kSopk, isa::Encoding::kSopc,
                                                         isa::Encoding::kSopp};

/// Whether RIGEL_OP limits for_each_row() to one operation.
bool is_of_one_operation();

/// Draws per row: RIGEL_DRAWS, or 6.
uint64_t draws_per_row();

/// Returns the chip's generator; RIGEL_SEED changes the seed.
Draw draw_for(const Chip& chip);

/// Removes from the state what handlers cannot emulate on this host (kHasDenormalModes).
void restrict_to_host(State& state);

std::string hex(uint64_t x);

/// "v_add_f32 on gfx900, handlers of avx2: v_add_f32 v1, … [0x… 0x…], MODE …, EXEC …"
std::string describe(const isa::Instruction& in, const Chip& chip, SimdLevel level, const State& before,
                     const uint32_t (&words)[5]);

/// Returns the first difference between the registers; empty if the model allows them.
std::string difference(const isa::Instruction& in, const State& before, const State& expected,
                       const State& actual);

/// Returns the first difference between the memories; empty if the model allows them.
std::string difference(const World& before, const World& expected, const World& actual);

}  // namespace rigel::vgpu::exec::reference
