// Whole kernels at random, in machine code: the same for the same seed.
//
// A kernel is one that a compiler could have made, or somebody who knows the machine well: it loads its
// arguments, finds out which work-item it is, perhaps leaves if there is nothing to do, and then does what
// comes to mind: arithmetic of the whole tables, loads at affine, masked and uniform addresses by all
// instructions that there are, stores to what is the work-item's own, elements of vectors moved about in
// between, branches, loops that all lanes or some go round, EXEC changed in all ways, LDS between barriers,
// scratch, calls, lanes exchanged, sums of all work-items. In the end it stores what its registers hold.
//
// What it does is independent of the order in which waves and lanes are executed. Each work-item stores to
// places of its own alone ("fields"); what is read is read-only, or one's own, or in LDS behind a barrier;
// what all change are sums whose order does not matter and that nobody reads.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

namespace rigel::vgpu::exec::whole {

/// A kernel for the chip, with waves of 32 or 64 lanes where it has both.
Kernel generate(const isa::Target& chip, uint64_t seed);

/// Kernels that have every instruction of arithmetic and memory once (each row of the tables, images apart), in an order and with
/// operands that the seed says. They keep what each of them leaves in its destinations, in SCC and in memory. What is drawn above
/// has the rare ones rarely, or never.
std::vector<Kernel> generate_every_instruction(const isa::Target& chip, uint64_t seed);
/// The rows that these are.
std::vector<uint16_t> rows_of_every_instruction(const isa::Target& chip);

}  // namespace rigel::vgpu::exec::whole
