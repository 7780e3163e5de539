// How much memory is allocated over time. Threads' records come ring by ring: one that frees may be read before the
// one that has allocated. So changes are kept for a while, and told in the order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trace {

class AllocatedMemory {
 public:
  void allocated(uint64_t time, uint64_t address, uint64_t bytes, uint64_t pool) {
    changes_.push_back({time, address, true, {bytes, pool}});
  }
  void freed(uint64_t time, uint64_t address) { changes_.push_back({time, address, false, {}}); }

  /// Tells of what changed before that time: `changed(time, pool, more or fewer bytes)`.
  template <class Changed>
  void tell_until(uint64_t time, Changed&& changed);

 private:
  struct Allocation {
    uint64_t bytes;
    uint64_t pool;
  };
  struct Change {
    uint64_t time;
    uint64_t address;
    bool is_allocated;
    Allocation allocation;
  };

  std::vector<Change> changes_;
  std::unordered_map<uint64_t, Allocation> allocations_;  // by address
};

template <class Changed>
void AllocatedMemory::tell_until(uint64_t time, Changed&& changed) {
  const auto later =
      std::partition(changes_.begin(), changes_.end(), [time](const Change& one) { return one.time < time; });
  std::sort(changes_.begin(), later, [](const Change& a, const Change& b) { return a.time < b.time; });
  std::for_each(changes_.begin(), later, [&](const Change& one) {
    // One that is allocated twice was freed by a call that is not in the trace.
    if (const auto found = allocations_.find(one.address); found != allocations_.end()) {
      changed(one.time, found->second.pool, -static_cast<int64_t>(found->second.bytes));
      allocations_.erase(found);
    }
    if (!one.is_allocated) return;
    allocations_.emplace(one.address, one.allocation);
    changed(one.time, one.allocation.pool, static_cast<int64_t>(one.allocation.bytes));
  });
  changes_.erase(changes_.begin(), later);
}

}  // namespace trace
