#include "plugins/vgpu/analysis/flow_graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "plugins/vgpu/isa/decoder.hpp"

namespace rigel::vgpu::analysis {
namespace {

using isa::Op;

using Nodes = std::map<uint64_t, Node>;

/// Where control goes after an instruction.
struct Next {
  bool falls_through = true;
  bool branches = false;
  bool leaves = false;
  bool comes_back = false;
};

Next next_of(const Node& node) {
  switch (node.effects.flow) {
    case isa::Flow::kNext:
      return {};
    case isa::Flow::kEnd:
      return {false, false, false};
    case isa::Flow::kBranch:
      return {false, true, false};
    case isa::Flow::kConditional:
      return {true, true, false};
    case isa::Flow::kInterruptible:
      return {true, false, true};
    case isa::Flow::kCall:
      return {false, false, true, true};
    case isa::Flow::kJump:
    case isa::Flow::kFork:
      break;
  }
  return {false, false, true};
}

uint64_t address_after(const Node& node) {
  return node.pc + node.instruction.bytes;
}

uint64_t branch_target(const Node& node) {
  const auto dwords = static_cast<int16_t>(node.instruction.simm16);
  return node.pc + node.instruction.bytes + static_cast<uint64_t>(int64_t{dwords} * 4);
}

/// A branch whose distance exceeds SIMM16: s_getpc, additions of constants to its result, and s_setpc.
struct LongBranch {
  uint64_t getpc;   ///< Address of its s_getpc
  uint64_t target;  ///< Valid if no branch enters the sequence after s_getpc
};

// Evaluates additions of constants and of the program counter in scalar registers.
class ConstantSums {
 public:
  bool add(const Node& node) {
    const isa::Instruction& in = node.instruction;
    if (in.op == Op::s_getpc_b64) {
      if (!in.dst[0].is_null()) put(in.dst[0].code, node.pc + in.bytes);
      return true;
    }
    const bool with_carry = in.op == Op::s_addc_u32, is_signed = in.op == Op::s_add_i32;
    if (!with_carry && !is_signed && in.op != Op::s_add_u32) return false;
    const auto a = value(in, 0), b = value(in, 1);
    if (!a || !b || (with_carry && !carry_)) return false;
    const uint64_t sum = uint64_t{*a} + *b + (with_carry ? *carry_ : 0u);
    if (!in.dst[0].is_null()) values_[in.dst[0].code] = static_cast<uint32_t>(sum);
    carry_ = is_signed ? std::nullopt : std::optional(static_cast<uint32_t>(sum >> 32));
    return true;
  }

  std::optional<uint64_t> address(const isa::Operand& pair) const {
    const auto low = values_.find(pair.code), high = values_.find(static_cast<uint16_t>(pair.code + 1));
    if (low == values_.end() || high == values_.end()) return std::nullopt;
    return (uint64_t{high->second} << 32 | low->second) & ~uint64_t{3};
  }

 private:
  void put(uint16_t code, uint64_t pair) {
    values_[code] = static_cast<uint32_t>(pair);
    values_[static_cast<uint16_t>(code + 1)] = static_cast<uint32_t>(pair >> 32);
  }

  std::optional<uint32_t> value(const isa::Instruction& in, size_t index) const {
    constexpr uint16_t kMostInline = isa::code::kZero + 64;
    if (in.src[index].is_null()) return 0;
    const uint16_t code = in.src[index].code;
    if (code == isa::code::kLiteral) return in.literal;
    if (code >= isa::code::kZero && code <= kMostInline) return code - isa::code::kZero;
    const auto found = values_.find(code);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<uint16_t, uint32_t> values_;
  std::optional<uint32_t> carry_;
};

// Returns the long branch that ends with the s_setpc `jump`, if `found` has its other instructions.
std::optional<LongBranch> long_branch_of(const Nodes& found, const Node& jump) {
  constexpr int kMostSums = 3;
  auto at = found.lower_bound(jump.pc);
  uint64_t next_pc = jump.pc;
  for (int i = 0; i <= kMostSums && at != found.begin(); ++i) {
    --at;
    if (at->first + at->second.instruction.bytes != next_pc) return std::nullopt;
    next_pc = at->first;
    if (at->second.instruction.op != Op::s_getpc_b64) continue;
    ConstantSums sums;
    for (auto next = at; next != found.end() && next->first < jump.pc; ++next) {
      if (!sums.add(next->second)) return std::nullopt;
    }
    const auto target = sums.address(jump.instruction.src[0]);
    return target ? std::optional(LongBranch{at->first, *target}) : std::nullopt;
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const isa::Target& target, unsigned wave_size, const ReadCode& read, size_t most_instructions)
      : target_(target), wave_size_(wave_size), read_(read), most_(most_instructions) {}

  // Adds the instructions that are reachable from `entry_va`. Adds nothing if it returns an error.
  tl::expected<void, std::string> add(uint64_t entry_va) {
    Nodes added;
    std::vector<uint64_t> to_read{entry_va};
    while (!to_read.empty()) {
      uint64_t pc = to_read.back();
      to_read.pop_back();
      while (!found_.contains(pc) && !added.contains(pc)) {
        if (found_.size() + added.size() == most_) {
          return tl::unexpected(fmt::format("more than {} instructions", most_));
        }
        auto node = read_at(pc);
        if (!node) return tl::unexpected(std::move(node.error()));
        const Next next = next_of(*node);
        if (next.branches) to_read.push_back(branch_target(*node));
        if (node->instruction.op == Op::s_setpc_b64) {
          if (const auto branch = long_branch_of(added, *node)) {
            long_branches_.emplace(pc, *branch);
            to_read.push_back(branch->target);
          }
        }
        pc = address_after(*node);
        added.emplace(node->pc, std::move(*node));
        if (!next.falls_through) break;
      }
    }
    found_.merge(added);
    entries_.insert(entry_va);
    return {};
  }

  // Returns the address after a call for which this function has not been called, if there is such a call.
  std::optional<uint64_t> next_return_address() {
    for (const auto& [pc, node] : found_) {
      if (next_of(node).comes_back && tried_.insert(pc).second) return address_after(node);
    }
    return {};
  }

  FlowGraph graph(uint64_t entry_va) {
    std::set<uint64_t> leaders = entries_;
    for (const auto& [pc, branch] : long_branches_) leaders.insert(branch.target);
    for (const auto& [pc, node] : found_) {
      const Next next = next_of(node);
      if (next.branches) leaders.insert(branch_target(node));
      // If a branch enters the middle of an instruction, the next node is not the one that is executed next.
      const auto following = found_.upper_bound(pc);
      const bool is_followed = following != found_.end() && following->first == address_after(node);
      if (next.branches || next.leaves || !next.falls_through || !is_followed)
        leaders.insert(address_after(node));
    }
    FlowGraph graph;
    graph.target = target_;
    graph.wave_size = wave_size_;
    std::map<uint64_t, uint32_t> block_at;
    graph.nodes.reserve(found_.size());
    for (auto& [pc, node] : found_) {
      const auto index = static_cast<uint32_t>(graph.nodes.size());
      const bool follows = index != 0 && address_after(graph.nodes.back()) == pc;
      if (!follows || leaders.contains(pc)) {
        block_at[pc] = static_cast<uint32_t>(graph.blocks.size());
        graph.blocks.push_back({index, index, {}, false, {}});
      }
      graph.nodes.push_back(std::move(node));
      graph.blocks.back().end = index + 1;
    }
    for (Block& block : graph.blocks) {
      const Node& last = graph.nodes[block.end - 1];
      const Next next = next_of(last);
      const auto branch = long_branches_.find(last.pc);
      if (branch != long_branches_.end() && graph.nodes[block.first].pc <= branch->second.getpc) {
        block.successors.push_back(block_at.at(branch->second.target));
        continue;
      }
      block.leaves = next.leaves;
      if (next.falls_through) block.successors.push_back(block_at.at(address_after(last)));
      if (next.branches) block.successors.push_back(block_at.at(branch_target(last)));
      if (next.comes_back && entries_.contains(address_after(last)))
        block.back = block_at.at(address_after(last));
    }
    graph.entry = block_at.at(entry_va);
    return graph;
  }

 private:
  tl::expected<Node, std::string> read_at(uint64_t pc) const {
    uint32_t words[isa::kMaxInstructionDwords] = {};
    const size_t bytes = read_(pc, std::as_writable_bytes(std::span(words)));
    Node node;
    node.pc = pc;
    const isa::DecodeStatus status = isa::decode(target_, words, bytes / 4, node.instruction);
    if (status != isa::DecodeStatus::kOk) {
      return tl::unexpected(fmt::format("at 0x{:x}: {}", pc, isa::reason(status)));
    }
    node.effects = isa::effects_of(node.instruction, target_, wave_size_);
    return node;
  }

  const isa::Target target_;
  const unsigned wave_size_;
  const ReadCode& read_;
  const size_t most_;
  Nodes found_;
  std::map<uint64_t, LongBranch> long_branches_;  // by address of the s_setpc
  std::set<uint64_t> entries_, tried_;
};

}  // namespace

uint32_t FlowGraph::block_of(uint32_t node) const {
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), node,
                                      [](uint32_t index, const Block& block) { return index < block.first; });
  return static_cast<uint32_t>(after - blocks.begin()) - 1;
}

tl::expected<FlowGraph, std::string> read_flow_graph(const isa::Target& target, unsigned wave_size,
                                                     uint64_t entry_va, const ReadCode& read,
                                                     size_t most_instructions) {
  Reader reader(target, wave_size, read, most_instructions);
  if (const auto added = reader.add(entry_va); !added) return tl::unexpected(added.error());
  // Errors are ignored: a call that does not return may be followed by data.
  while (const auto return_va = reader.next_return_address()) (void)reader.add(*return_va);
  return reader.graph(entry_va);
}

}  // namespace rigel::vgpu::analysis
