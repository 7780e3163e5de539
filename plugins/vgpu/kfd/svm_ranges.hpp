// The attributes of shared virtual memory: page ranges from the SVM ioctl, split and merged so that each
// range has one set of attributes.
//
// Threads: under the process's memory lock.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <map>

#include "hsa_plugin/kfd_abi.h"

namespace rigel::vgpu {

struct SvmAttributes {
  uint32_t preferred = KFD_SVM_LOCATION_UNDEFINED;
  uint32_t prefetch = KFD_SVM_LOCATION_UNDEFINED;
  uint32_t flags = KFD_SVM_FLAG_HOST_ACCESS | KFD_SVM_FLAG_COHERENT;
  uint8_t granularity = 9;
  std::bitset<64> access;                    ///< GPUs (by index) that may get access, perhaps by migration.
  std::bitset<64> in_place;                  ///< GPUs (by index) that access the memory where it is.
  uint32_t place = KFD_SVM_LOCATION_SYSMEM;  ///< Location that tools see; the memory does not move.
  bool operator==(const SvmAttributes&) const = default;
};

class SvmRanges {
 public:
  struct Range {
    uint64_t end_page;
    SvmAttributes attributes;
  };

  /// Calls `change(attributes, first, end)` for every range in [first, end). Gaps become ranges with the
  /// attributes `initial` first.
  template <class Change>
  void update(uint64_t first, uint64_t end, const SvmAttributes& initial, Change&& change) {
    split(first);
    split(end);
    for (uint64_t page = first; page < end;) {
      auto it = ranges_.lower_bound(page);
      if (it == ranges_.end() || it->first != page) {
        const uint64_t gap_end = it == ranges_.end() ? end : std::min(end, it->first);
        it = ranges_.emplace_hint(it, page, Range{gap_end, initial});
      }
      change(it->second.attributes, it->first, it->second.end_page);
      page = it->second.end_page;
    }
    merge(first, end);
  }

  /// Calls `visitor(first, end, attributes)` for every range and gap (null attributes) of [first, end).
  template <class Visitor>
  void visit(uint64_t first, uint64_t end, Visitor&& visitor) const {
    for (uint64_t page = first; page < end;) {
      auto it = ranges_.upper_bound(page);
      if (it != ranges_.begin()) {
        const auto before = std::prev(it);
        if (before->second.end_page > page) {
          const uint64_t stop = std::min(end, before->second.end_page);
          visitor(page, stop, &before->second.attributes);
          page = stop;
          continue;
        }
      }
      const uint64_t stop = it == ranges_.end() ? end : std::min(end, it->first);
      visitor(page, stop, static_cast<const SvmAttributes*>(nullptr));
      page = stop;
    }
  }

  bool overlaps(uint64_t first, uint64_t end) const;
  /// Removes [first, end), because the program has unmapped it.
  void erase(uint64_t first, uint64_t end);
  bool empty() const { return ranges_.empty(); }
  size_t size() const { return ranges_.size(); }

 private:
  void split(uint64_t page);
  void merge(uint64_t first, uint64_t end);
  std::map<uint64_t, Range> ranges_;  // by first page
};

}  // namespace rigel::vgpu
