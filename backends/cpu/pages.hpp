// Protection of a loaded code object's pages, from the runtime's description of its parts. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

struct PageRange {
  uint64_t begin;  // offset in the segment, bytes
  uint64_t end;
  int protection;

  bool operator==(const PageRange&) const = default;
};

struct PageRanges {
  std::vector<PageRange> ranges;  // ascending, without gaps, up to the end of the segment's last page
  const char* problem = nullptr;  // null: none
};

/// A page has the combined rights of its parts; without parts it has none. A page that would be writable and
/// executable is an error. For a runtime without parts (1.0), everything is code and constants.
PageRanges page_ranges(const hsabe_segment_t& segment, uint64_t page_size);

}  // namespace rigel::cpu
