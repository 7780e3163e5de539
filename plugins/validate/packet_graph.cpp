#include "plugins/validate/packet_graph.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace validate {
namespace {

bool is_or(const InFlightPacket& packet) {
  return packet.packet.type() == HSA_PACKET_TYPE_BARRIER_OR;
}

// Of two packets of a queue.
bool waits(const InFlightPacket& later, const InFlightPacket& earlier) {
  return earlier.is_barrier() || later.has_barrier_bit();
}

}  // namespace

uint64_t InFlightPacket::completion_signal() const {
  return packet.as<hsa_kernel_dispatch_packet_t>().completion_signal.handle;  // the last field of all packets
}

std::string InFlightPacket::name() const {
  std::string what = "packet";
  switch (packet.type()) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      what = kernel == nullptr ? "dispatch" : fmt::format("dispatch of {}", kernel->name);
      break;
    case HSA_PACKET_TYPE_BARRIER_AND:
      what = "barrier-AND";
      break;
    case HSA_PACKET_TYPE_BARRIER_OR:
      what = "barrier-OR";
      break;
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      what = "barrier-value";
      break;
    default:
      break;
  }
  return fmt::format("{} (packet {} of queue {})", what, index, queue);
}

std::vector<uint64_t> dependencies_of(const hsatool::Packet& packet) {
  std::vector<uint64_t> out;
  if (packet.type() != HSA_PACKET_TYPE_BARRIER_AND && packet.type() != HSA_PACKET_TYPE_BARRIER_OR) return out;
  for (const hsa_signal_t signal : packet.as<hsa_barrier_and_packet_t>().dep_signal) {
    if (signal.handle != 0) out.push_back(signal.handle);
  }
  return out;
}

// --- What there is -----------------------------------------------------------------------------------------

PacketGraph::Node& PacketGraph::add(InFlightPacket&& packet) {
  const uint64_t place = ++places_;
  auto& nodes = queues_[packet.queue].nodes;
  Node& node = nodes.try_emplace(nodes.end(), place, std::move(packet), place)->second;
  if (node.completion_signal() != 0) signals_[node.completion_signal()].completers.emplace(place, &node);
  for (const uint64_t signal : node.dependencies) signals_[signal].waiters.emplace(place, &node);
  return node;
}

void PacketGraph::remove(const Node& node) {
  const auto forget = [&](uint64_t signal, Nodes Signal::*list) {
    const auto entry = signals_.find(signal);
    if (entry == signals_.end()) return;
    (entry->second.*list).erase(node.place);
    if (entry->second.completers.empty() && entry->second.waiters.empty()) signals_.erase(entry);
  };
  forget(node.completion_signal(), &Signal::completers);
  for (const uint64_t signal : node.dependencies) forget(signal, &Signal::waiters);
  const auto queue = queues_.find(node.queue);
  auto& nodes = queue->second.nodes;
  nodes.erase(nodes.find(node.place));
  if (nodes.empty()) queues_.erase(queue);
}

PacketGraph::Node* PacketGraph::find(uint64_t queue, uint64_t index) {
  const auto entry = queues_.find(queue);
  if (entry == queues_.end()) return nullptr;
  auto& nodes = entry->second.nodes;
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.second.index == index; });
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
    if (!nodes->empty() && (oldest == nullptr || nodes->begin()->first < oldest->place))
      oldest = nodes->begin()->second;
  }
  return oldest;
}

bool PacketGraph::is_blocked(const Node& node) const {
  const auto is_held = [&](uint64_t signal) { return value_of_(signal) != 0; };
  const auto& signals = node.dependencies;
  return is_or(node) ? !signals.empty() && std::all_of(signals.begin(), signals.end(), is_held)
                     : std::any_of(signals.begin(), signals.end(), is_held);
}

bool PacketGraph::may_progress() const {
  // What is behind a barrier packet that is held does not begin.
  return std::any_of(queues_.begin(), queues_.end(),
                     [&](const auto& queue) { return !is_blocked(queue.second.nodes.begin()->second); });
}

// --- Searches ----------------------------------------------------------------------------------------------

void PacketGraph::begin_search(Node& node) {
  ++search_;
  found_.assign(1, &node);
}

void PacketGraph::come_to(Node& node) const {
  if (node.search == search_) return;
  node.search = search_;
  node.is_found = node.is_listed = false;
  node.held_by = {};
}

void PacketGraph::found(Node& node, Node& holds_it) {
  come_to(node);
  if (std::exchange(node.is_found, true)) return;
  node.held_by[0] = &holds_it;
  found_.push_back(&node);
}

void PacketGraph::found_by_signal(Node& node, uint64_t signal, Node& holds_it) {
  if (!is_or(node)) return found(node, holds_it);
  come_to(node);
  bool by_all = true;
  for (size_t i = 0; i < node.dependencies.size(); ++i) {
    if (node.dependencies[i] == signal) node.held_by[i] = &holds_it;
    by_all &= node.held_by[i] != nullptr;
  }
  if (by_all) found(node, *node.held_by[0]);
}

void PacketGraph::find_waiters(Node& node) {
  const uint64_t signal = node.completion_signal();
  const auto entry = signals_.find(signal);
  if (entry == signals_.end() || std::exchange(entry->second.search, search_) == search_) return;
  if (entry->second.waiters.empty() || value_of_(signal) == 0) return;
  for (const auto& [place, waiter] : entry->second.waiters) found_by_signal(*waiter, signal, node);
}

void PacketGraph::find_completers(Node& node) {
  for (const uint64_t handle : node.dependencies) {
    Signal& signal = signals_.at(handle);
    if (signal.search == search_ || value_of_(handle) == 0) continue;
    signal.search = search_;
    for (const auto& [place, completer] : signal.completers) found(*completer, node);
  }
}

PacketGraph::Queue& PacketGraph::queue_of(const Node& node, uint64_t nothing) {
  Queue& queue = queues_.at(node.queue);
  if (std::exchange(queue.search, search_) != search_) queue.all = queue.some = nothing;
  return queue;
}

void PacketGraph::find_behind_in_queue(Node& node) {
  Queue& queue = queue_of(node, UINT64_MAX);
  const uint64_t end = std::min(queue.all, queue.some);
  // All of them wait for a barrier packet, and of those behind another packet some.
  uint64_t& known = node.is_barrier() ? queue.all : queue.some;
  const uint64_t until = node.is_barrier() ? queue.all : end;
  if (node.place >= until) return;
  for (auto other = queue.nodes.upper_bound(node.place); other != queue.nodes.end() && other->first <= until;
       ++other) {
    if (waits(other->second, node)) found(other->second, node);
  }
  known = node.place;
}

void PacketGraph::find_before_in_queue(Node& node) {
  Queue& queue = queue_of(node, 0);
  // With the barrier bit it waits for all of them, and else for some.
  uint64_t& known = node.has_barrier_bit() ? queue.all : queue.some;
  const uint64_t until = node.has_barrier_bit() ? queue.all : std::max(queue.all, queue.some);
  if (node.place <= until) return;
  for (auto other = queue.nodes.lower_bound(node.place);
       other != queue.nodes.begin() && std::prev(other)->first >= until;) {
    --other;
    if (waits(node, other->second)) found(other->second, node);
  }
  known = node.place;
}

void PacketGraph::find_those_after(Node& node) {
  begin_search(node);
  for (size_t i = 0; i < found_.size(); ++i) {
    find_waiters(*found_[i]);
    find_behind_in_queue(*found_[i]);
  }
}

void PacketGraph::find_those_before(Node& node) {
  begin_search(node);
  for (size_t i = 0; i < found_.size(); ++i) {
    find_completers(*found_[i]);
    find_before_in_queue(*found_[i]);
  }
}

std::vector<const PacketGraph::Node*> PacketGraph::circle_of(Node& node) {
  std::vector<const Node*> out;
  const auto list = [&](Node& one) {
    if (!std::exchange(one.is_listed, true)) out.push_back(&one);
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
