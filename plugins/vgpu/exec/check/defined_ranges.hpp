// Ranges of device memory that have no undefined bytes, for one worker: compiled code accesses them without a
// call (WaveMemory). The record of undefined bytes is MemoryShadow.
//
// Threads: one worker. Memory that another worker makes undefined counts as defined until refresh().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/exec/check/memory_shadow.hpp"

namespace rigel::vgpu::exec {

class DefinedRanges {
 public:
  /// Sets the record of allocations; null: all memory counts as defined. Returns false if ranges that were
  /// returned before may be invalid.
  bool set(check::Allocations* allocations);
  /// Returns false if ranges that were returned before may be invalid, because memory became undefined.
  bool refresh();
  bool is_on() const { return allocations_ != nullptr; }

  /// Narrows [begin, end), which contains `va`, to defined memory around it. Returns false if the page of
  /// `va` has undefined bytes. `contents`: returns a page's memory, or null.
  template <class Contents>
  bool narrow(uint64_t va, uint64_t& begin, uint64_t& end, Contents contents) {
    for (const Range& range : known_) {
      if (va - range.begin < range.end - range.begin) return clip(range, begin, end);
    }
    const Filled& filled = filled_at(va);
    Range found{filled.begin, filled.end};
    if (filled.fill != 0) {
      const auto is_defined = [&](uint64_t number) { return page_is_defined(number, filled, contents); };
      const uint64_t page = va / MemoryShadow::kPage;
      if (!is_defined(page)) return false;
      uint64_t first = page, last = page;
      while (page - first < kMostPages && first * MemoryShadow::kPage > filled.begin && is_defined(first - 1))
        --first;
      while (last - page < kMostPages && (last + 1) * MemoryShadow::kPage < filled.end &&
             is_defined(last + 1))
        ++last;
      found.begin = std::max(filled.begin, first * MemoryShadow::kPage);
      found.end = std::min(filled.end, (last + 1) * MemoryShadow::kPage);
    }
    known_[next_known_++ % kKnown] = found;
    return clip(found, begin, end);
  }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  // An allocation's bytes, or other addresses.
  struct Filled {
    uint64_t begin = 0, end = 0;
    uint64_t serial = 0;
    uint32_t fill = 0;  // 0: it counts as defined.
  };
  struct KnownPage {
    uint64_t number = ~uint64_t{0};
    uint64_t serial = 0;
    MemoryShadow::Page* page = nullptr;
  };

  static bool clip(const Range& range, uint64_t& begin, uint64_t& end) {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    return true;
  }
  const Filled& filled_at(uint64_t va);
  template <class Contents>
  bool page_is_defined(uint64_t number, const Filled& filled, Contents contents) {
    KnownPage& known = pages_[number % kPages];
    const auto content = [&] { return contents(number * MemoryShadow::kPage); };
    if (known.number != number || known.serial != filled.serial) {
      if (content() == nullptr) return false;
      known = {number, filled.serial,
               &MemoryShadow::of_process().page(number, filled.serial, filled.fill, content)};
    }
    return known.page->allocation() == filled.serial && known.page->is_defined();
  }
  void forget();

  static constexpr uint64_t kMostPages = 256;  // that are searched in each direction
  static constexpr size_t kKnown = 16, kFilled = 8, kPages = 256;
  check::Allocations* allocations_ = nullptr;
  uint64_t version_ = 0, epoch_ = 0;
  std::array<Range, kKnown> known_;
  size_t next_known_ = 0;
  std::array<Filled, kFilled> filled_;
  size_t next_filled_ = 0;
  std::array<KnownPage, kPages> pages_;
};

}  // namespace rigel::vgpu::exec
