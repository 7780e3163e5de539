#include "core/image/handle_memory.hpp"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

namespace rigel {
namespace {

struct Pages {
  int held = 0;
  bool exhausted = false;

  HandleMemory::Source source() {
    return {[this](size_t size) -> Result<void*> {
              if (exhausted) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
              ++held;
              return std::aligned_alloc(4096, size);
            },
            [this](void* page) {
              --held;
              std::free(page);
            }};
  }
};

TEST(HandleMemory, GivesEverySlotToOne) {
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

TEST(HandleMemory, LetsASlotRestBeforeItIsUsedAgain) {
  Pages pages;
  HandleMemory memory(pages.source());
  uint32_t* const first = *memory.take();
  first[3] = 7;
  memory.give(first);
  for (int i = 0; i < 32; ++i) {
    const auto slot = memory.take();
    EXPECT_NE(*slot, first) << i;
    memory.give(*slot);
  }
  EXPECT_EQ(pages.held, 1) << "and needs no more memory for that";
}

TEST(HandleMemory, UsesWhatIsLeftWhenThereIsNoMore) {
  Pages pages;
  HandleMemory memory(pages.source());
  ASSERT_TRUE(memory.take());
  pages.exhausted = true;
  int taken = 1;
  while (memory.take()) ++taken;
  EXPECT_EQ(taken, 64);
}

}  // namespace
}  // namespace rigel
