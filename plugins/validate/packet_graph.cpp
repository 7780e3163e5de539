#include "plugins/validate/packet_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

namespace validate {
namespace {

bool is_or(const InFlightPacket& packet) {
  return packet.packet.type() == HSA_PACKET_TYPE_BARRIER_OR;
}

// Both packets are in the same queue.
bool waits(const InFlightPacket& later, const InFlightPacket& earlier) {
  return earlier.is_barrier() || later.has_barrier_bit();
}

}  // namespace

uint64_t InFlightPacket::completion_signal() const {
  // The last field of every packet type.
  return packet.as<hsa_kernel_dispatch_packet_t>().completion_signal.handle;
}

std::string InFlightPacket::name() const {
  std::string type_name = "packet";
  switch (packet.type()) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      type_name = kernel == nullptr ? "dispatch" : fmt::format("dispatch of {}", kernel->name);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
      type_name = "barrier-AND";
      break;
    case HSA_PACKET_TYPE_BARRIER_OR:
      type_name = "barrier-OR";
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      type_name = "barrier-value";
      break;
    default:
      break;
  }
  return fmt::format("{} (packet {} of queue {})", type_name, index, queue);
}

// --- Dependencies ------------------------------------------------------------------------------------------

bool Dependency::holds(int64_t now) const {
  now &= mask;
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return now == value;
    case HSA_SIGNAL_CONDITION_NE:
      return now != value;
    case HSA_SIGNAL_CONDITION_LT:
      return now < value;
    case HSA_SIGNAL_CONDITION_GTE:
      return now >= value;
    default:
      return true;  // invalid condition: the packet puts the queue into the error state
  }
}

uint64_t Dependency::completions(int64_t now) const {
  if (holds(now)) return 0;
  const auto above = static_cast<uint64_t>(now & mask) - static_cast<uint64_t>(value);
  uint64_t count = 0;
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      if ((now & mask) > value) count = above;
      break;
    case HSA_SIGNAL_CONDITION_NE:
      count = 1;
      break;
    case HSA_SIGNAL_CONDITION_LT:
      count = above + 1;
      break;
    default:
      break;
  }
  // With a mask, the effect of a second completion on the masked bits is unknown.
  return mask == -1 ? count : std::min<uint64_t>(count, 1);
}

std::vector<Dependency> dependencies_of(const hsatool::Packet& packet) {
  std::vector<Dependency> out;
  switch (packet.type()) {
    case HSA_PACKET_TYPE_BARRIER_AND:
    case HSA_PACKET_TYPE_BARRIER_OR:
      for (const hsa_signal_t signal : packet.as<hsa_barrier_and_packet_t>().dep_signal) {
        if (signal.handle != 0) out.push_back({signal.handle});
      }
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC: {
      const auto& barrier = packet.as<hsa_amd_barrier_value_packet_t>();
      if (barrier.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE && barrier.signal.handle != 0)
        out.push_back({barrier.signal.handle, barrier.cond, barrier.value, barrier.mask});
      break;
    }
    default:
      break;
  }
  return out;
}

// --- Nodes -------------------------------------------------------------------------------------------------

PacketGraph::Node& PacketGraph::add(InFlightPacket&& packet) {
  const uint64_t sequence = ++last_sequence_;
  auto& nodes = queues_[packet.queue].nodes;
  Node& node = nodes.try_emplace(nodes.end(), sequence, std::move(packet), sequence)->second;
  if (node.completion_signal() != 0) signals_[node.completion_signal()].completers.emplace(sequence, &node);
  for (const Dependency& dependency : node.dependencies)
    signals_[dependency.signal].waiters.emplace(sequence, &node);
  return node;
}

void PacketGraph::remove(const Node& node) {
  const auto forget = [&](uint64_t signal, Nodes Signal::*list) {
    const auto entry = signals_.find(signal);
    if (entry == signals_.end()) return;
    (entry->second.*list).erase(node.sequence);
    if (entry->second.completers.empty() && entry->second.waiters.empty()) signals_.erase(entry);
  };
  forget(node.completion_signal(), &Signal::completers);
  for (const Dependency& dependency : node.dependencies) forget(dependency.signal, &Signal::waiters);
  const auto queue = queues_.find(node.queue);
  auto& nodes = queue->second.nodes;
  nodes.erase(nodes.find(node.sequence));
  if (nodes.empty()) queues_.erase(queue);
}

PacketGraph::Node* PacketGraph::find(uint64_t queue, uint64_t index) {
  const auto entry = queues_.find(queue);
  if (entry == queues_.end()) return nullptr;
  auto& nodes = entry->second.nodes;
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.second.index == index; });
  return node == nodes.end() ? nullptr : &node->second;
}

PacketGraph::Node* PacketGraph::oldest(uint64_t queue) {
  const auto entry = queues_.find(queue);
  return entry == queues_.end() ? nullptr : &entry->second.nodes.begin()->second;
}

uint32_t PacketGraph::completers_of(uint64_t signal) const {
  const auto entry = signals_.find(signal);
  return entry == signals_.end() ? 0 : static_cast<uint32_t>(entry->second.completers.size());
}

const PacketGraph::Node* PacketGraph::user_of(uint64_t signal) const {
  const auto entry = signals_.find(signal);
  if (entry == signals_.end()) return nullptr;
  const Node* oldest = nullptr;
  for (const Nodes* const nodes : {&entry->second.completers, &entry->second.waiters}) {
    if (!nodes->empty() && (oldest == nullptr || nodes->begin()->first < oldest->sequence))
      oldest = nodes->begin()->second;
  }
  return oldest;
}

bool PacketGraph::holds(const Dependency& dependency) const {
  const auto now = value_of_(dependency.signal);
  return !now || dependency.holds(*now);
}

bool PacketGraph::is_blocked(const Node& node) const {
  const auto is_fulfilled = [&](const Dependency& dependency) { return holds(dependency); };
  const auto& all = node.dependencies;
  return is_or(node) ? !all.empty() && std::none_of(all.begin(), all.end(), is_fulfilled)
                     : !std::all_of(all.begin(), all.end(), is_fulfilled);
}

bool PacketGraph::may_progress() const {
  // Only the oldest packet matters: packets after a blocked barrier packet do not start.
  return std::any_of(queues_.begin(), queues_.end(),
                     [&](const auto& queue) { return !is_blocked(queue.second.nodes.begin()->second); });
}

// --- Searches ----------------------------------------------------------------------------------------------

void PacketGraph::begin_search(Node& node) {
  ++search_;
  found_.assign(1, &node);
}

void PacketGraph::visit(Node& node) const {
  if (node.search == search_) return;
  node.search = search_;
  node.is_found = node.is_listed = false;
  node.held_by = {};
}

void PacketGraph::add_found(Node& node, Node& holder) {
  visit(node);
  if (std::exchange(node.is_found, true)) return;
  node.held_by[0] = &holder;
  found_.push_back(&node);
}

void PacketGraph::add_holder(Node& node, size_t dependency, Node& holder) {
  if (!is_or(node)) return add_found(node, holder);
  visit(node);
  node.held_by[dependency] = &holder;
  const auto end = node.held_by.begin() + static_cast<std::ptrdiff_t>(node.dependencies.size());
  if (std::find(node.held_by.begin(), end, nullptr) == end) add_found(node, *node.held_by[0]);
}

// A packet depends on each completer of a signal only if it needs all of them.
void PacketGraph::find_waiters(Node& node) {
  const uint64_t handle = node.completion_signal();
  const auto entry = signals_.find(handle);
  if (entry == signals_.end()) return;
  Signal& signal = entry->second;
  if (signal.waiters.empty() || std::exchange(signal.search, search_) == search_) return;
  const auto now = value_of_(handle);
  if (!now) return;
  for (const auto& [sequence, waiter] : signal.waiters) {
    for (size_t i = 0; i < waiter->dependencies.size(); ++i) {
      const Dependency& dependency = waiter->dependencies[i];
      if (dependency.signal == handle && dependency.completions(*now) >= signal.completers.size())
        add_holder(*waiter, i, node);
    }
  }
}

void PacketGraph::find_completers(Node& node) {
  for (const Dependency& dependency : node.dependencies) {
    Signal& signal = signals_.at(dependency.signal);
    if (signal.search == search_ || holds(dependency)) continue;
    signal.search = search_;
    for (const auto& [sequence, completer] : signal.completers) add_found(*completer, node);
  }
}

PacketGraph::Queue& PacketGraph::queue_of(const Node& node, uint64_t initial) {
  Queue& queue = queues_.at(node.queue);
  if (std::exchange(queue.search, search_) != search_) queue.all = queue.some = initial;
  return queue;
}

void PacketGraph::find_later_in_queue(Node& node) {
  Queue& queue = queue_of(node, UINT64_MAX);
  const uint64_t end = std::min(queue.all, queue.some);
  // All later packets wait for a barrier packet. For other packets, only those with the barrier bit wait.
  uint64_t& bound = node.is_barrier() ? queue.all : queue.some;
  const uint64_t limit = node.is_barrier() ? queue.all : end;
  if (node.sequence >= limit) return;
  for (auto other = queue.nodes.upper_bound(node.sequence);
       other != queue.nodes.end() && other->first <= limit; ++other) {
    if (waits(other->second, node)) add_found(other->second, node);
  }
  bound = node.sequence;
}

void PacketGraph::find_earlier_in_queue(Node& node) {
  Queue& queue = queue_of(node, 0);
  // With the barrier bit the packet waits for all earlier packets, otherwise only for barrier packets.
  uint64_t& bound = node.has_barrier_bit() ? queue.all : queue.some;
  const uint64_t limit = node.has_barrier_bit() ? queue.all : std::max(queue.all, queue.some);
  if (node.sequence <= limit) return;
  for (auto other = queue.nodes.lower_bound(node.sequence);
       other != queue.nodes.begin() && std::prev(other)->first >= limit;) {
    --other;
    if (waits(node, other->second)) add_found(other->second, node);
  }
  bound = node.sequence;
}

void PacketGraph::find_dependents(Node& node) {
  begin_search(node);
  for (size_t i = 0; i < found_.size(); ++i) {
    find_waiters(*found_[i]);
    find_later_in_queue(*found_[i]);
  }
}

void PacketGraph::find_prerequisites(Node& node) {
  begin_search(node);
  for (size_t i = 0; i < found_.size(); ++i) {
    find_completers(*found_[i]);
    find_earlier_in_queue(*found_[i]);
  }
}

std::vector<const PacketGraph::Node*> PacketGraph::cycle_of(Node& node) {
  std::vector<const Node*> out;
  const auto list = [&](Node& member) {
    if (!std::exchange(member.is_listed, true)) out.push_back(&member);
  };
  list(node);
  for (size_t i = 0; i < out.size(); ++i) {
    for (Node* const other : out[i]->held_by) {
      if (other != nullptr) list(*other);
    }
  }
  return out;
}

}  // namespace validate
