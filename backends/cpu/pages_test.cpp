#include "backends/cpu/pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace rigel::cpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kRead = HSABE_PROTECT_READ, kWrite = HSABE_PROTECT_WRITE, kExecute = HSABE_PROTECT_EXECUTE;

hsabe_segment_part_t part(uint64_t offset, uint64_t size, uint32_t protection) {
  return {sizeof(hsabe_segment_part_t), offset, size, protection, 0};
}

PageRanges pages_of(uint64_t size, const std::vector<hsabe_segment_part_t>& parts) {
  return page_ranges({sizeof(hsabe_segment_t), 0, nullptr, size, parts.data(), parts.size()}, kPage);
}

TEST(CpuPages, HaveRightsOfParts) {
  const PageRanges pages =
      pages_of(0x7100, {part(0, 0x400, kRead), part(0x1000, 0x1800, kRead | kExecute),
                        part(0x3f00, 0x100, kRead), part(0x6000, 0x1100, kRead | kWrite)});
  EXPECT_EQ(pages.problem, nullptr);
  EXPECT_EQ(pages.ranges, (std::vector<PageRange>{{0, 0x1000, PROT_READ},
                                                  {0x1000, 0x3000, PROT_READ | PROT_EXEC},
                                                  {0x3000, 0x4000, PROT_READ},
                                                  {0x4000, 0x6000, PROT_NONE},
                                                  {0x6000, 0x8000, PROT_READ | PROT_WRITE}}));
}

TEST(CpuPages, HaveCombinedRights) {
  EXPECT_EQ(pages_of(0x1000, {part(0, 0x800, kRead), part(0x800, 0x800, kRead | kWrite)}).ranges,
            (std::vector<PageRange>{{0, 0x1000, PROT_READ | PROT_WRITE}}));
}

TEST(CpuPages, AreNeverWritableAndExecutable) {
  EXPECT_NE(pages_of(0x1000, {part(0, 0x1000, kRead | kWrite | kExecute)}).problem, nullptr);
  EXPECT_NE(pages_of(0x1000, {part(0, 0x800, kRead | kExecute), part(0x800, 0x100, kRead | kWrite)}).problem,
            nullptr);
}

TEST(CpuPages, MustBeInsideImage) {
  EXPECT_NE(pages_of(0x1000, {part(0, 0x2000, kRead)}).problem, nullptr);
  EXPECT_NE(pages_of(0x1000, {part(0x1001, 0, kRead)}).problem, nullptr);
  EXPECT_NE(pages_of(0x1000, {part(0x10, UINT64_MAX, kRead)}).problem, nullptr);
  EXPECT_EQ(pages_of(0x1000, {part(0x1000, 0, kRead)}).problem, nullptr);
}

TEST(CpuPages, WithoutPartsAreCode) {
  const std::vector<PageRange> code{{0, 0x2000, PROT_READ | PROT_EXEC}};
  EXPECT_EQ(pages_of(5000, {}).ranges, code);
  const hsabe_segment_part_t unseen = part(0, 0x1000, kRead);
  const hsabe_segment_t old{offsetof(hsabe_segment_t, parts), 0, nullptr, 5000, &unseen, 1};
  EXPECT_EQ(page_ranges(old, kPage).ranges, code);
}

}  // namespace
}  // namespace rigel::cpu
