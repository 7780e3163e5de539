// The two things that this backend reads out of a code object itself: its notes, in the file, and how its
// pages are to be protected, in memory. Everything else about ELF is the runtime's loader's.
//
// Both take bytes that somebody else wrote: every offset and size is checked against the bounds given. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rigel::cpu {

struct Notes {
  bool found = false;             // there is at least one of ours
  uint32_t abi_major = 0;         // of all of ours: they agree
  uint64_t features = 0;          // that any of them asks for
  const char* problem = nullptr;  // why the file cannot be believed; null if it can
};

/// Reads the notes of .note.hsa_cpu from the program headers of an ELF file.
Notes read_notes(std::span<const std::byte> file) noexcept;

/// A range of whole pages and what may be done with it (PROT_ bits).
struct PageRange {
  uint64_t begin;  // offset into the image, bytes
  uint64_t end;
  int protection;

  bool operator==(const PageRange&) const = default;
};

struct PageRanges {
  std::vector<PageRange> ranges;
  std::string problem;  // empty: none
};

/// How to protect the pages of a loaded image, from the program headers at its beginning. An image that does
/// not begin with them is one range of code and constants. Never writable and executable at once.
PageRanges read_page_ranges(std::span<const std::byte> image, uint64_t page_size);

}  // namespace rigel::cpu
