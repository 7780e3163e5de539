// Address ranges that may overlap, and lookup of those that contain an address. For ranges such as locked
// memory of the application, for which the address map of 2 MiB units is too coarse.
//
// Ranges are grouped by the power of two of their length. In each group, a range that contains an address
// starts less than twice the group's length below it, so a lookup visits only nearby ranges in each non-empty
// group: O(log n) for each, for all mixtures of lengths.
//
// *Threads:* not thread-safe; the owner holds a lock.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace rigel {

template <class T>
class RangeMap {
 public:
  struct Entry {
    uintptr_t start;
    size_t size;  ///< in bytes, at least 1
    T value;
  };

  /// Inserts an entry, whose address is stable until it is erased.
  Entry& insert(uintptr_t start, size_t size, T value) {
    Group& group = groups_[group_of(size)];
    occupied_ |= uint64_t{1} << group_of(size);
    ++count_;
    return group.emplace(start, Entry{start, size, std::move(value)})->second;
  }

  /// Erases an entry from `insert` or a visit.
  void erase(const Entry& entry) {
    const size_t index = group_of(entry.size);
    Group& group = groups_[index];
    for (auto at = group.lower_bound(entry.start); at != group.end() && at->first == entry.start; ++at) {
      if (&at->second != &entry) continue;
      group.erase(at);
      if (group.empty()) occupied_ &= ~(uint64_t{1} << index);
      --count_;
      return;
    }
  }

  /// Calls visit(Entry&) for every range that contains `address`, in no particular order.
  template <class Visit>
  void visit_around(uintptr_t address, Visit visit) {
    for (uint64_t left = occupied_; left != 0; left &= left - 1) {
      const auto index = static_cast<size_t>(std::countr_zero(left));
      Group& group = groups_[index];
      for (auto at = group.upper_bound(address); at != group.begin();) {
        --at;
        const uintptr_t distance = address - at->first;
        if (distance >> index > 1) break;
        if (distance < at->second.size) visit(at->second);
      }
    }
  }

  /// Calls visit(Entry&) for every range that starts at `start`.
  template <class Visit>
  void visit_starting(uintptr_t start, Visit visit) {
    for (uint64_t left = occupied_; left != 0; left &= left - 1) {
      const auto [begin, end] = groups_[static_cast<size_t>(std::countr_zero(left))].equal_range(start);
      for (auto at = begin; at != end; ++at) visit(at->second);
    }
  }

  template <class Visit>
  void visit_all(Visit visit) {
    for (Group& group : groups_) {
      for (auto& [start, entry] : group) visit(entry);
    }
  }

  size_t size() const noexcept { return count_; }

 private:
  using Group = std::multimap<uintptr_t, Entry>;

  static size_t group_of(size_t size) noexcept { return static_cast<size_t>(std::bit_width(size)) - 1; }

  std::array<Group, 64> groups_;
  uint64_t occupied_ = 0;  // bit i: group i has entries
  size_t count_ = 0;
};

}  // namespace rigel
