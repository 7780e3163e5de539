// Blocks of memory by address: what the program has allocated, and which agents may access it.
//
// Any function, any thread. Lookups share a lock.
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

/// A memory pool or a region, as far as rules ask.
struct Pool {
  uint64_t agent = 0;
  bool on_host = false;  ///< of a CPU agent: the tool itself may read it
  bool coarse = false;
  bool is_pool = false;  ///< which says who has access from the beginning
};

struct Block {
  uint64_t base = 0;
  uint64_t size = 0;
  const Pool* pool = nullptr;     ///< null: not known
  std::vector<uint64_t> allowed;  ///< agents, by hsa_amd_agents_allow_access
  Event made;
  Event freed;
  bool contains(uint64_t address) const { return address - base < size; }
};

class MemoryMap {
 public:
  void add(Block block);
  /// False: no block begins there.
  bool remove(uint64_t base, const Event& freed);
  /// The call that was to free it has failed.
  void restore(uint64_t base);
  /// Only these agents, and that of the pool, have access from here on.
  void allow(uint64_t address, std::span<const hsa_agent_t> agents);

  std::optional<Block> find(uint64_t address) const;
  /// A block that is gone, and was at the address; nothing has been allocated there since.
  std::optional<Block> find_freed(uint64_t address) const;
  /// The blocks that any of the words is an address in, each once.
  std::vector<Block> find_all(std::span<const uint64_t> words) const;

 private:
  const Block* find_locked(uint64_t address) const RIGEL_REQUIRES_SHARED(mutex_);

  mutable rigel::SharedMutex mutex_;
  std::map<uint64_t, Block> blocks_ RIGEL_GUARDED_BY(mutex_);  // by base
  std::deque<Block> freed_ RIGEL_GUARDED_BY(mutex_);           // the oldest first
};

}  // namespace validate
