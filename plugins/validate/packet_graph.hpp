// Graph of the packets in flight. Dependencies: completion signals, barrier packets and the barrier bit.
// A search visits each packet, signal and section of a queue once, so its time is linear in its result.
//
// *Threads:* one at a time.
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/validate/kernels.hpp"

namespace validate {

/// The condition that a packet waits for: (value of the signal & mask) condition value.
struct Dependency {
  uint64_t signal = 0;
  hsa_signal_condition32_t condition = HSA_SIGNAL_CONDITION_EQ;
  int64_t value = 0;
  int64_t mask = -1;

  bool holds(int64_t now) const;
  /// Returns the number of completions (each subtracts 1 from the signal) until the condition holds.
  /// 0: it holds already, or completions cannot fulfil it.
  uint64_t completions(int64_t now) const;
};
/// Returns the conditions of a barrier packet. All must hold; for barrier-OR, any.
std::vector<Dependency> dependencies_of(const hsatool::Packet& packet);

struct InFlightPacket {
  hsatool::Packet packet{};
  uint64_t queue = 0;  ///< queue ID
  uint64_t index = 0;
  uint64_t agent = 0;
  std::shared_ptr<const Kernel> kernel;  ///< null: not a dispatch, or unknown kernel
  std::vector<Dependency> dependencies;
  std::vector<Block> blocks;  ///< the block of the arguments, then the blocks that the arguments refer to
  uint64_t kernarg = 0;       ///< address of checked arguments; 0: not checked
  uint64_t kernarg_hash = 0;

  bool is_barrier() const { return packet.type() != HSA_PACKET_TYPE_KERNEL_DISPATCH; }
  bool has_barrier_bit() const { return packet.header >> HSA_PACKET_HEADER_BARRIER & 1; }
  uint64_t completion_signal() const;
  /// Returns for example "dispatch of add.kd (packet 12 of queue 3)".
  std::string name() const;
};

/// Reads a signal's value; std::nullopt if the signal is not live.
using ValueOfSignal = std::function<std::optional<int64_t>(uint64_t signal)>;

class PacketGraph {
 public:
  static constexpr size_t kMostDependencies = 5;

  struct Node : InFlightPacket {
    Node(InFlightPacket added, uint64_t number) : InFlightPacket(std::move(added)), sequence(number) {}
    const uint64_t sequence;  ///< order of submission over all queues

    // Result of the last search that visited this node. A barrier-OR packet is held by one node per
    // dependency, other packets by a single node.
    uint64_t search = 0;
    bool is_found = false;
    bool is_listed = false;
    std::array<Node*, kMostDependencies> held_by{};
  };
  using Nodes = std::map<uint64_t, Node*>;  ///< by sequence: oldest first

  explicit PacketGraph(ValueOfSignal value_of) : value_of_(std::move(value_of)) {}

  /// Adds a packet after all others of its queue.
  Node& add(InFlightPacket&& packet);
  void remove(const Node& node);
  /// Returns null if the packet is not in flight.
  Node* find(uint64_t queue, uint64_t index);
  /// Returns the oldest packet of a queue, or null.
  Node* oldest(uint64_t queue);

  uint32_t completers_of(uint64_t signal) const;
  /// Returns the oldest packet that waits for the signal or completes it, or null.
  const Node* user_of(uint64_t signal) const;
  /// Returns whether the oldest packet of any queue can start.
  bool may_progress() const;

  /// Searches for packets that can only start after the node completed: with itself if it is in a cycle.
  void find_dependents(Node& node);
  /// Searches for packets that must complete before the node can start. All completers of a barrier-OR
  /// packet's signals count as prerequisites, as it is unknown which of them is the first.
  void find_prerequisites(Node& node);
  /// Returns whether the last search found the node.
  bool is_found(const Node& node) const { return node.search == search_ && node.is_found; }
  /// Returns the cycle of a node that find_dependents found from itself, starting with the node.
  std::vector<const Node*> cycle_of(Node& node);

 private:
  struct Queue {
    std::map<uint64_t, Node> nodes;  // by sequence
    // Bounds of the section that search number `search` covered. Within `all` it found every packet, within
    // `some` only those with the barrier bit (dependents) or the barrier packets (prerequisites).
    uint64_t search = 0;
    uint64_t all = 0;
    uint64_t some = 0;
  };
  struct Signal {
    Nodes completers, waiters;
    uint64_t search = 0;  // the last search that followed this signal
  };

  void begin_search(Node& node);
  void visit(Node& node) const;
  Queue& queue_of(const Node& node, uint64_t initial);
  void add_found(Node& node, Node& holder);
  void add_holder(Node& node, size_t dependency, Node& holder);
  void find_waiters(Node& node);
  void find_completers(Node& node);
  void find_later_in_queue(Node& node);
  void find_earlier_in_queue(Node& node);
  bool holds(const Dependency& dependency) const;
  bool is_blocked(const Node& node) const;

  const ValueOfSignal value_of_;
  uint64_t last_sequence_ = 0;
  uint64_t search_ = 0;
  std::vector<Node*> found_;  // nodes of the last search, its start node first
  std::map<uint64_t, Queue> queues_;
  std::unordered_map<uint64_t, Signal> signals_;
};

}  // namespace validate
