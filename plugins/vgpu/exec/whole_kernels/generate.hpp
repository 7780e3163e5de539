// Generates random kernels in machine code, deterministically from a seed.
//
// A kernel resembles those of compilers and of assembly programmers. It loads its arguments, computes the
// work-item's id, and may exit early. Then follow random statements: arithmetic of the whole instruction
// tables; loads at affine, masked and uniform addresses with all instructions; stores to the work-item's
// fields; moves of vector elements; branches, and loops of all or some lanes; changes of EXEC; LDS between
// barriers; scratch; calls; lane exchanges; atomic sums of all work-items. At the end it stores its
// registers.
//
// Results do not depend on the order in which waves and lanes run. Each work-item stores to its own places
// only ("fields"). It reads read-only memory, its own memory, or LDS after a barrier. Shared memory only
// has atomic sums whose order does not matter and that no work-item reads.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

/// Generates a kernel for the chip. If the chip has both wave sizes, one is chosen.
Kernel generate(const isa::Target& chip, uint64_t seed);

/// Generates kernels that contain every arithmetic and memory instruction (each table row, except images)
/// once. The seed determines order and operands. The kernels store the results in destinations, SCC and
/// memory. generate() draws rare instructions rarely or never.
std::vector<Kernel> generate_every_instruction(const isa::Target& chip, uint64_t seed);
std::vector<uint16_t> rows_of_every_instruction(const isa::Target& chip);

}  // namespace rigel::vgpu::exec::whole
