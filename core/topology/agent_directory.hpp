// The agents by number, their nodes, and the links between nodes.
//
// *Threads:* filled while the runtime starts, before any other thread has access; constant afterwards, except
// for the coherency types, which any thread may change.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "api/support/status.hpp"

namespace rigel {

/// A set of agents, by their index in the directory.
class AgentSet {
 public:
  static constexpr size_t kCapacity = 256;

  void add(size_t index) noexcept { words_[index / 64] |= uint64_t{1} << index % 64; }
  bool has(size_t index) const noexcept { return (words_[index / 64] >> index % 64 & 1) != 0; }
  bool empty() const noexcept { return *this == AgentSet{}; }

  AgentSet& operator|=(const AgentSet& other) noexcept {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  AgentSet& operator&=(const AgentSet& other) noexcept {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  friend bool operator==(const AgentSet&, const AgentSet&) = default;

  size_t count() const noexcept {
    size_t total = 0;
    for (const uint64_t word : words_) total += static_cast<size_t>(__builtin_popcountll(word));
    return total;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * 64 + static_cast<size_t>(__builtin_ctzll(word)));
      }
    }
  }

 private:
  std::array<uint64_t, kCapacity / 64> words_{};
};

struct AgentFacts {
  hsa_agent_t handle{};
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  uint32_t node = 0;  ///< node number in the topology
  uint64_t hive = 0;  ///< devices with the same hive, other than 0, share a coherent fabric
};

/// The path from an agent's node to another node. Details apply to the whole path, which is reported as one
/// hop.
struct LinkFacts {
  uint32_t hops = 0;
  hsa_amd_memory_pool_link_info_t info{};
};

class AgentDirectory {
 public:
  struct Entry {
    AgentFacts facts;
    size_t index = 0;
    mutable std::atomic<hsa_amd_coherency_type_t> coherency{HSA_AMD_COHERENCY_TYPE_NONCOHERENT};
  };

  /// Returns false if the directory is full or already has the handle.
  bool add(const AgentFacts& facts) {
    if (entries_.size() == AgentSet::kCapacity || find(facts.handle) != nullptr) return false;
    Entry& entry = entries_.emplace_back();
    entry.facts = facts;
    entry.index = entries_.size() - 1;
    if (facts.type == HSA_DEVICE_TYPE_CPU) hosts_.add(entry.index);
    return true;
  }

  void add_link(uint32_t from_node, uint32_t to_node, const LinkFacts& link) {
    links_[{from_node, to_node}] = link;
  }

  const Entry* find(hsa_agent_t agent) const noexcept {
    for (const Entry& entry : entries_) {
      if (entry.facts.handle.handle == agent.handle) return &entry;
    }
    return nullptr;
  }
  /// Returns the set of `count` agents from a program, or INVALID_AGENT.
  Result<AgentSet> find(const hsa_agent_t* agents, size_t count) const {
    AgentSet set;
    for (size_t i = 0; i < count; ++i) {
      const Entry* const entry = find(agents[i]);
      if (entry == nullptr) return error(HSA_STATUS_ERROR_INVALID_AGENT);
      set.add(entry->index);
    }
    return set;
  }
  /// Returns the set of all agents.
  AgentSet all() const noexcept {
    AgentSet set;
    for (size_t i = 0; i < entries_.size(); ++i) set.add(i);
    return set;
  }

  /// Returns the path between two nodes; null if they are the same or no path is known.
  const LinkFacts* link(uint32_t from_node, uint32_t to_node) const noexcept {
    if (from_node == to_node) return nullptr;
    const auto found = links_.find({from_node, to_node});
    return found == links_.end() ? nullptr : &found->second;
  }

  /// Returns the CPU agent at the minimum NUMA distance from a node, the first of several. Returns the first
  /// CPU agent if no path is known, and null if there is none.
  const AgentFacts* nearest_host(uint32_t node) const noexcept {
    const AgentFacts* nearest = nullptr;
    uint32_t least = UINT32_MAX;
    hosts_.for_each([&](size_t index) {
      const AgentFacts& host = entries_[index].facts;
      const LinkFacts* const way = link(node, host.node);
      const uint32_t distance = way == nullptr ? UINT32_MAX : way->info.numa_distance;
      if (nearest != nullptr && distance >= least) return;
      nearest = &host;
      least = distance;
    });
    return nearest;
  }

  size_t size() const noexcept { return entries_.size(); }
  const AgentFacts& operator[](size_t index) const noexcept { return entries_[index].facts; }
  /// All CPU agents.
  const AgentSet& hosts() const noexcept { return hosts_; }

  // Functions of the API. Coherency types are deprecated and without effect on every device since Kaveri, but
  // can be read back.

  Status coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type) const {
    const Entry* const entry = find(agent);
    if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (type == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (entry->facts.type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_ERROR_INVALID_AGENT;
    *type = entry->coherency.load(std::memory_order_relaxed);
    return HSA_STATUS_SUCCESS;
  }
  Status coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type) const {
    const Entry* const entry = find(agent);
    if (entry == nullptr) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (type != HSA_AMD_COHERENCY_TYPE_COHERENT && type != HSA_AMD_COHERENCY_TYPE_NONCOHERENT)
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (entry->facts.type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_ERROR_INVALID_AGENT;
    entry->coherency.store(type, std::memory_order_relaxed);
    return HSA_STATUS_SUCCESS;
  }

 private:
  std::deque<Entry> entries_;
  std::map<std::pair<uint32_t, uint32_t>, LinkFacts> links_;
  AgentSet hosts_;
};

}  // namespace rigel
