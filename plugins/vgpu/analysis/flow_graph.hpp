// The code of a kernel as a graph: its instructions from the entry on, in blocks, with the edges between them.
//
// Only what can be reached is read, so that data between functions is not taken for code. Where control goes is known for
// branches, also long ones; behind other s_setpc, calls and the like it is not: such a block has no successors and leaves. From a
// call control may come back to behind it, if there is code.
//
// Threads: a graph is constant once it is made; any.
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

/// An instruction and where it is.
struct Node {
  uint64_t pc = 0;  ///< In the memory of the GPU.
  isa::Instruction instruction;
  isa::Effects effects;
};

/// Instructions that are executed one after the other: nodes [first, end) of the graph.
struct Block {
  uint32_t first = 0, end = 0;
  std::vector<uint32_t> successors;  ///< Blocks. The one that a branch goes to is the last.
  bool leaves = false;  ///< Control may go to where nobody knows: any register may be read there.
  /// The block that control comes back to, from there, with any registers.
  std::optional<uint32_t> back;

  /// Wherever a wave may go on, sooner or later.
  std::vector<uint32_t> followers() const {
    std::vector<uint32_t> blocks = successors;
    if (back) blocks.push_back(*back);
    return blocks;
  }
};

struct FlowGraph {
  isa::Target target;
  unsigned wave_size = 64;
  std::vector<Node> nodes;    ///< By ascending pc.
  std::vector<Block> blocks;  ///< By ascending pc.
  uint32_t entry = 0;         ///< The block that waves begin in.

  /// The block that the node belongs to.
  uint32_t block_of(uint32_t node) const;
};

/// Copies up to `to.size()` bytes of code at `va` and says how many there were.
using ReadCode = std::function<size_t(uint64_t va, std::span<std::byte> to)>;

/// The code from `entry_va` on, in waves of `wave_size` (32 or 64) lanes. An error says which instruction could not be
/// read or decoded, or that there are more than `most_instructions`.
tl::expected<FlowGraph, std::string> read_flow_graph(const isa::Target& target, unsigned wave_size,
                                                     uint64_t entry_va, const ReadCode& read,
                                                     size_t most_instructions = 1 << 20);

}  // namespace rigel::vgpu::analysis
