#include "plugins/vgpu/compiler/arguments.hpp"

#include "plugins/vgpu/exec/native/test_plans.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// gfx900; a load's second word is the offset.
constexpr uint32_t kLoad = 0xc0020203;                // s_load_dword s8, s[6:7], …
constexpr uint32_t kLoadPair = 0xc0060283;            // s_load_dwordx2 s[10:11], s[6:7], …
constexpr uint32_t kLoadByLoaded = 0xc0020305;        // s_load_dword s12, s[10:11], …
constexpr uint32_t kMovePointer = 0xbe860080;         // s_mov_b32 s6, 0
constexpr uint32_t kIfScc = 0xbf850002;               // s_cbranch_scc1 over two words
constexpr uint32_t kBackToLoad = 0xbf85fffd;          // s_cbranch_scc1 to the load of two words before
constexpr uint32_t kInvalidate[] = {0xc0800000, 0};   // s_dcache_inv
constexpr uint32_t kScalarStore[] = {0xc0420203, 0};  // s_store_dword s8, s[6:7], 0

using KernelArguments = PlanTest;

TEST_F(KernelArguments, AreLoadsThroughInitialPointers) {
  const Arguments found = find_arguments(*plan_of({kLoad, 0x10, kLoadPair, 0x18, kLoadByLoaded, 0}));
  ASSERT_EQ(found.regions.size(), 1u);
  EXPECT_EQ(found.regions[0].pointer, 6u);
  EXPECT_EQ(found.regions[0].first_load, 0u);
  EXPECT_EQ(found.regions[0].begin, 0x10);
  EXPECT_EQ(found.regions[0].end, 0x20);
  EXPECT_EQ(found.loads, (std::map<uint32_t, uint32_t>{{0, 0}, {1, 0}}))
      << "where a loaded pointer leads to may be written while the kernel runs";
}

TEST_F(KernelArguments, ExcludeLoadsAfterPointerIsWritten) {
  EXPECT_EQ(find_arguments(*plan_of({kLoad, 0, kMovePointer, kLoadPair, 0})).loads,
            (std::map<uint32_t, uint32_t>{{0, 0}}));
  // On one of two ways.
  EXPECT_TRUE(find_arguments(*plan_of({kIfScc, kMovePointer, kMovePointer, kLoad, 0})).loads.empty());
}

TEST_F(KernelArguments, ExcludeLoadsInLoops) {
  EXPECT_TRUE(find_arguments(*plan_of({kLoad, 0, kBackToLoad})).loads.empty())
      << "a loop may wait for what it loads";
}

TEST_F(KernelArguments, ExcludePointersOfConditionalLoads) {
  EXPECT_TRUE(find_arguments(*plan_of({kIfScc, kLoad, 0})).loads.empty());
  const Arguments found = find_arguments(*plan_of({kLoad, 0, kIfScc, kLoadPair, 8}));
  EXPECT_EQ(found.loads, (std::map<uint32_t, uint32_t>{{0, 0}, {2, 0}}));
  EXPECT_EQ(found.regions[0].end, 16);
}

TEST_F(KernelArguments, AreEmptyIfScalarMemoryChanges) {
  EXPECT_TRUE(find_arguments(*plan_of({kLoad, 0, kInvalidate[0], kInvalidate[1]})).loads.empty());
  EXPECT_TRUE(find_arguments(*plan_of({kLoad, 0, kScalarStore[0], kScalarStore[1]})).loads.empty());
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
