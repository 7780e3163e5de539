#include "core/image/handle_memory.hpp"

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rigel {
namespace {

struct Pages {
  int held = 0;
  int limit = 1000;

  HandleMemory::Source source() {
    return {[this](size_t size) -> Result<void*> {
              if (held == limit) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
              ++held;
              return std::aligned_alloc(4096, size);
            },
            [this](void* page) {
              --held;
              std::free(page);
            }};
  }
};

TEST(HandleMemory, GivesEachSlotOnce) {
  Pages pages;
  {
    HandleMemory memory(pages.source());
    std::set<uint32_t*> slots;
    for (int i = 0; i < 200; ++i) {
      const auto slot = memory.take();
      ASSERT_TRUE(slot);
      EXPECT_TRUE(slots.insert(*slot).second) << i;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(*slot) % 64, 0u);
      for (size_t word = 0; word < HandleMemory::kSlotWords; ++word) EXPECT_EQ((*slot)[word], 0u);
      (*slot)[0] = (*slot)[HandleMemory::kSlotWords - 1] = ~0u;
    }
    EXPECT_GE(pages.held, 4);
  }
  EXPECT_EQ(pages.held, 0);
}

TEST(HandleMemory, DelaysReuseOfSlot) {
  Pages pages;
  HandleMemory memory(pages.source());
  uint32_t* const first = *memory.take();
  first[3] = 7;
  memory.give(first);
  EXPECT_EQ(first[3], 7u) << "who uses it too late finds what was there";
  for (int i = 0; i < 32; ++i) {
    const auto slot = memory.take();
    EXPECT_NE(*slot, first) << i;
    memory.give(*slot);
  }
  EXPECT_EQ(pages.held, 1) << "and needs no more memory for that";
}

static_assert(noexcept(std::declval<HandleMemory&>().give(nullptr)));

TEST(HandleMemory, ReusesSlotsInOrderOfRelease) {
  Pages pages;
  HandleMemory memory(pages.source());
  std::vector<uint32_t*> slots;
  pages.limit = 1;
  while (const auto slot = memory.take()) slots.push_back(*slot);
  std::swap(slots.front(), slots.back());
  for (uint32_t* const slot : slots) memory.give(slot);
  for (uint32_t* const slot : slots) EXPECT_EQ(*memory.take(), slot);
  EXPECT_FALSE(memory.take());
}

TEST(HandleMemory, UsesLastSlotsWithoutMemory) {
  Pages pages;
  HandleMemory memory(pages.source());
  ASSERT_TRUE(memory.take());
  pages.limit = 1;
  int taken = 1;
  while (memory.take()) ++taken;
  EXPECT_EQ(taken, 64);
}

}  // namespace
}  // namespace rigel
