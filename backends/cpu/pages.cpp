#include "backends/cpu/pages.hpp"

#include <sys/mman.h>

#include <span>

namespace rigel::cpu {
namespace {

int protection_of(uint32_t bits) {
  return ((bits & HSABE_PROTECT_READ) != 0 ? PROT_READ : PROT_NONE) |
         ((bits & HSABE_PROTECT_WRITE) != 0 ? PROT_WRITE : PROT_NONE) |
         ((bits & HSABE_PROTECT_EXECUTE) != 0 ? PROT_EXEC : PROT_NONE);
}

}  // namespace

PageRanges page_ranges(const hsabe_segment_t& segment, uint64_t page_size) {
  PageRanges result;
  const uint64_t pages = segment.size / page_size + (segment.size % page_size != 0 ? 1 : 0);
  constexpr uint64_t kSizeWithParts = offsetof(hsabe_segment_t, part_count) + sizeof segment.part_count;
  if (segment.struct_size < kSizeWithParts || segment.part_count == 0) {
    result.ranges.push_back({0, pages * page_size, PROT_READ | PROT_EXEC});
    return result;
  }
  std::vector<int> protections(pages, PROT_NONE);
  for (const hsabe_segment_part_t& part : std::span(segment.parts, segment.part_count)) {
    if (part.offset > segment.size || part.size > segment.size - part.offset) {
      result.problem = "a segment is outside the loaded image";
      return result;
    }
    if (part.size == 0) continue;
    for (uint64_t page = part.offset / page_size; page <= (part.offset + part.size - 1) / page_size; ++page) {
      protections[page] |= protection_of(part.protection);
    }
  }
  for (uint64_t page = 0; page < pages; ++page) {
    const int protection = protections[page];
    if ((protection & PROT_WRITE) != 0 && (protection & PROT_EXEC) != 0) {
      result.problem = "a page is both writable and executable; link with -z separate-code";
      return result;
    }
    if (result.ranges.empty() || result.ranges.back().protection != protection) {
      result.ranges.push_back({page * page_size, page * page_size, protection});
    }
    result.ranges.back().end += page_size;
  }
  return result;
}

}  // namespace rigel::cpu
