// How the pages of a loaded code object are protected: from what the runtime says of its parts. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include <hsa_backend/hsa_backend.hpp>

namespace rigel::cpu {

/// A range of whole pages and what may be done with it (PROT_ bits).
struct PageRange {
  uint64_t begin;  // offset into the segment, bytes
  uint64_t end;
  int protection;

  bool operator==(const PageRange&) const = default;
};

struct PageRanges {
  std::vector<PageRange> ranges;  // ascending, without gaps, up to the end of the segment's last page
  const char* problem = nullptr;  // null: none
};

/// A page may be used in every way that one of the parts in it may; one without a part in no way. A page that
/// would be writable and executable is a problem. A runtime that says nothing of parts (1.0) has code and
/// constants.
PageRanges page_ranges(const hsabe_segment_t& segment, uint64_t page_size);

}  // namespace rigel::cpu
