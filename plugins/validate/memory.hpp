// Blocks of memory that the program allocated, by address, and the agents that may access them.
//
// *Threads:* any function, any thread. Lookups use a shared lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/object_registry.hpp"

namespace validate {

/// The properties of a memory pool or region that rules use.
struct Pool {
  uint64_t agent = 0;
  bool on_host = false;  ///< belongs to a CPU agent: the tool itself may read it
  bool coarse = false;
  bool is_pool = false;  ///< not a region: default access is known
};

struct Block {
  uint64_t base = 0;
  uint64_t size = 0;
  const Pool* pool = nullptr;     ///< null: unknown
  std::vector<uint64_t> allowed;  ///< agents with access by hsa_amd_agents_allow_access
  Event allocated;
  Event freed;
  bool contains(uint64_t address) const { return address - base < size; }
};

class MemoryMap {
 public:
  void add(Block block);
  /// Removes the block with this base address. Returns false if there is none.
  bool remove(uint64_t base, const Event& freed);
  /// Undoes `remove` after the freeing call failed.
  void restore(uint64_t base);
  /// Sets the agents with access, in addition to the agent of the pool.
  void allow(uint64_t address, std::span<const hsa_agent_t> agents);

  std::optional<Block> find(uint64_t address) const;
  /// Returns the freed block that contained the address, unless the address was allocated again.
  std::optional<Block> find_freed(uint64_t address) const;
  /// Returns the blocks that contain the words taken as addresses, without duplicates.
  std::vector<Block> find_all(std::span<const uint64_t> words) const;

 private:
  const Block* find_locked(uint64_t address) const RIGEL_REQUIRES_SHARED(mutex_);

  mutable rigel::SharedMutex mutex_;
  std::map<uint64_t, Block> blocks_ RIGEL_GUARDED_BY(mutex_);  // by base
  std::deque<Block> freed_ RIGEL_GUARDED_BY(mutex_);           // oldest first
};

}  // namespace validate
