// Any bytes are either a code object's notes and pages or a problem that has a name.
#include "backends/cpu/elf_image.hpp"

#include <sys/mman.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kPage = 4096;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  rigel::cpu::read_notes(bytes);
  const auto pages = rigel::cpu::read_page_ranges(bytes, kPage);
  if (!pages.problem.empty()) return 0;
  const uint64_t end = (size + kPage - 1) / kPage * kPage;
  for (const auto& range : pages.ranges) {
    const bool whole = range.begin % kPage == 0 && range.end % kPage == 0;
    const bool writable = (range.protection & PROT_WRITE) != 0,
               executable = (range.protection & PROT_EXEC) != 0;
    if (!whole || range.begin > range.end || range.end > end || (writable && executable)) std::abort();
  }
  return 0;
}
