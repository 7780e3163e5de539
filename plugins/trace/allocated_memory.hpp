// The allocated memory over time. Rings of threads are read one after another, so a free may be read before
// its allocation. Changes are therefore kept until report_until(), and reported in order of time.
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

  /// Reports the changes before `time`: calls `changed(time, pool, difference in bytes)`.
  template <class Changed>
  void report_until(uint64_t time, Changed&& changed);

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
void AllocatedMemory::report_until(uint64_t time, Changed&& changed) {
  // Changes with the same time stay in their order.
  const auto later = std::stable_partition(changes_.begin(), changes_.end(),
                                           [time](const Change& change) { return change.time < time; });
  std::stable_sort(changes_.begin(), later, [](const Change& a, const Change& b) { return a.time < b.time; });
  std::for_each(changes_.begin(), later, [&](const Change& change) {
    // A second allocation of an address implies a free that is not in the trace.
    if (const auto found = allocations_.find(change.address); found != allocations_.end()) {
      changed(change.time, found->second.pool, -static_cast<int64_t>(found->second.bytes));
      allocations_.erase(found);
    }
    if (!change.is_allocated) return;
    allocations_.emplace(change.address, change.allocation);
    changed(change.time, change.allocation.pool, static_cast<int64_t>(change.allocation.bytes));
  });
  changes_.erase(changes_.begin(), later);
}

}  // namespace trace
