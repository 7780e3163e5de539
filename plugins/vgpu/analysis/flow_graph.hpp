// The control flow graph of a kernel: its instructions in basic blocks, and the edges between the blocks.
//
// Only reachable instructions are read, so data between functions is not decoded. Targets are known for
// branches, including long branches (s_getpc, additions, s_setpc). They are unknown for other s_setpc and for
// calls: such a block has no successors and `leaves` is set. Control returns to the instruction after a call
// if code follows it.
//
// Threads: a graph is immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/isa/effects.hpp"

namespace rigel::vgpu::analysis {

struct Node {
  uint64_t pc = 0;  ///< GPU address
  isa::Instruction instruction;
  isa::Effects effects;
};

/// A basic block: nodes [first, end) of the graph.
struct Block {
  uint32_t first = 0, end = 0;
  std::vector<uint32_t> successors;  ///< Indices of blocks; the target of a branch is the last
  bool leaves = false;  ///< Control may go to an unknown address, where any register may be read.
  /// The block to which control returns from that address, with unknown registers.
  std::optional<uint32_t> back;

  /// Returns the successors, and the block after a call.
  std::vector<uint32_t> followers() const {
    std::vector<uint32_t> blocks = successors;
    if (back) blocks.push_back(*back);
    return blocks;
  }
};

struct FlowGraph {
  isa::Target target;
  unsigned wave_size = 64;
  std::vector<Node> nodes;    ///< By ascending pc
  std::vector<Block> blocks;  ///< By ascending pc
  uint32_t entry = 0;         ///< The block in which waves start

  uint32_t block_of(uint32_t node) const;
};

/// Copies up to `to.size()` bytes of code at `va` and returns how many it copied.
using ReadCode = std::function<size_t(uint64_t va, std::span<std::byte> to)>;

/// Reads the code that is reachable from `entry_va`, for waves of `wave_size` (32 or 64) lanes. The error
/// names the instruction that cannot be read or decoded, or the limit `most_instructions`.
tl::expected<FlowGraph, std::string> read_flow_graph(const isa::Target& target, unsigned wave_size,
                                                     uint64_t entry_va, const ReadCode& read,
                                                     size_t most_instructions = 1 << 20);

}  // namespace rigel::vgpu::analysis
