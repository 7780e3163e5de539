// Packets on their way to devices, and which of them wait for which: by completion signals, by barrier packets and by
// the barrier bit.
//
// One thread at a time. A search comes to each packet and each signal once, and walks each stretch of a queue once, so
// that its time is linear in what it finds.
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

/// What a packet waits for: (value of the signal & mask) condition value.
struct Dependency {
  uint64_t signal = 0;
  hsa_signal_condition32_t condition = HSA_SIGNAL_CONDITION_EQ;
  int64_t value = 0;
  int64_t mask = -1;

  bool holds(int64_t now) const;
  /// How many packets have to complete the signal until it holds, one after another, each of which takes 1 from its
  /// value; 0: none, or it never comes of that.
  uint64_t completions(int64_t now) const;
};
/// All of them, or any if it is a barrier-OR packet.
std::vector<Dependency> dependencies_of(const hsatool::Packet& packet);

struct InFlightPacket {
  hsatool::Packet packet{};
  uint64_t queue = 0;  ///< its id
  uint64_t index = 0;
  uint64_t agent = 0;
  std::shared_ptr<const Kernel> kernel;  ///< null: no dispatch, or of a kernel that is not known
  std::vector<Dependency> dependencies;
  std::vector<Block> blocks;  ///< of memory whose addresses it is given, that of its arguments first
  uint64_t kernarg = 0;       ///< 0: the tool does not look at it
  uint64_t kernarg_hash = 0;

  bool is_barrier() const { return packet.type() != HSA_PACKET_TYPE_KERNEL_DISPATCH; }
  bool has_barrier_bit() const { return packet.header >> HSA_PACKET_HEADER_BARRIER & 1; }
  uint64_t completion_signal() const;
  /// "dispatch of add.kd (packet 12 of queue 3)".
  std::string name() const;
};

/// What a signal's value is; nothing if it does not live.
using ValueOfSignal = std::function<std::optional<int64_t>(uint64_t signal)>;

class PacketGraph {
 public:
  static constexpr size_t kMostDependencies = 5;

  struct Node : InFlightPacket {
    Node(InFlightPacket what, uint64_t where) : InFlightPacket(std::move(what)), place(where) {}
    const uint64_t place;  ///< grows from packet to packet

    // What the search has found that came here last. A barrier-OR packet is held by something for each of its signals,
    // and others by one thing.
    uint64_t search = 0;
    bool is_found = false;
    bool is_listed = false;
    std::array<Node*, kMostDependencies> held_by{};
  };
  using Nodes = std::map<uint64_t, Node*>;  ///< by place: the oldest first

  explicit PacketGraph(ValueOfSignal value_of) : value_of_(std::move(value_of)) {}

  /// Behind all others of its queue.
  Node& add(InFlightPacket&& packet);
  void remove(const Node& node);
  /// Null: it is not here.
  Node* find(uint64_t queue, uint64_t index);
  /// Of a queue; null: there is none.
  Node* oldest(uint64_t queue);

  uint32_t completers_of(uint64_t signal) const;
  /// The oldest packet that waits for the signal or completes it; null: there is none.
  const Node* user_of(uint64_t signal) const;
  /// Whether the oldest packet of any queue can begin.
  bool may_progress() const;

  /// Searches for packets that may only begin when the node has ended. It is found itself if it waits for itself.
  void find_those_after(Node& node);
  /// Searches for packets that must have ended before the node may begin. One behind a barrier-OR packet counts as
  /// behind all that completes one of its signals: which of them is the first is not known.
  void find_those_before(Node& node);
  /// By the last search.
  bool is_found(const Node& node) const { return node.search == search_ && node.is_found; }
  /// What holds a node that find_those_after has found from itself: the node, what it waits for, and so on.
  std::vector<const Node*> circle_of(Node& node);

 private:
  struct Queue {
    std::map<uint64_t, Node> nodes;  // by place
    // How far the search has come that was here last: at all packets, and at those of which only some count.
    uint64_t search = 0;
    uint64_t all = 0;
    uint64_t some = 0;
  };
  struct Signal {
    Nodes completers, waiters;
    uint64_t search = 0;  // the last one that has gone on from here
  };

  void begin_search(Node& node);
  void come_to(Node& node) const;
  Queue& queue_of(const Node& node, uint64_t nothing);
  void found(Node& node, Node& holds_it);
  void is_held(Node& node, size_t dependency, Node& holds_it);
  void find_waiters(Node& node);
  void find_completers(Node& node);
  void find_behind_in_queue(Node& node);
  void find_before_in_queue(Node& node);
  bool holds(const Dependency& dependency) const;
  bool is_blocked(const Node& node) const;

  const ValueOfSignal value_of_;
  uint64_t places_ = 0;
  uint64_t search_ = 0;
  std::vector<Node*> found_;  // by the last search, with where it began at first
  std::map<uint64_t, Queue> queues_;
  std::unordered_map<uint64_t, Signal> signals_;
};

}  // namespace validate
