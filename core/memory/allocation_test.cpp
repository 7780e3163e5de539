// Allocating, freeing, and data of allocations.
#include <gtest/gtest.h>
#include <hsa_backend/hsa_backend.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <set>
#include <thread>

#include "core/memory/memory_fixture.hpp"

namespace rigel {
namespace {

using testing::kCpu0;
using testing::kGpu0;

class Allocation : public ::testing::Test {
 protected:
  Allocation() {
    testing::add_agents(memory);
    testing::add_hosts(memory);
    pool = testing::fine_pool(memory);
  }

  unsigned char* allocate(size_t size, uint32_t flags = 0) {
    void* ptr = nullptr;
    EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, size, flags, &ptr), HSA_STATUS_SUCCESS) << size;
    return static_cast<unsigned char*>(ptr);
  }

  hsa_amd_pointer_info_t info(const void* ptr) {
    hsa_amd_pointer_info_t answer{};
    answer.size = sizeof answer;
    EXPECT_EQ(memory.pointers.pointer_info(ptr, &answer, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
    return answer;
  }

  testing::TestMemory memory;
  hsa_amd_memory_pool_t pool{};
};

TEST_F(Allocation, IsWritablePageAlignedAndZeroed) {
  std::vector<unsigned char*> all;
  for (const size_t size : {size_t{1}, size_t{64}, size_t{4096}, size_t{4097}, size_t{65536}, size_t{1} << 20,
                            (size_t{1} << 20) + 1, size_t{2} << 20, size_t{5} << 20}) {
    unsigned char* ptr = allocate(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(ptr) % 4096, 0u);
    EXPECT_TRUE(std::all_of(ptr, ptr + size, [](unsigned char byte) { return byte == 0; })) << size;
    std::memset(ptr, 0xa5, size);
    all.push_back(ptr);
  }
  for (auto* ptr : all) EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, RegionsAllocateAsPools) {
  void* ptr = nullptr;
  ASSERT_EQ(memory.heaps.memory_allocate({pool.handle}, 100, &ptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info(ptr).sizeInBytes, 100u);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, SystemMemoryIsZeroedAndPrefersNode) {
  for (const auto& [node, owner] :
       {std::pair{0u, testing::kCpu0}, {1u, testing::kCpu1}, {7u, testing::kCpu0}}) {
    const auto block = memory.heaps.allocate_system(100, node);
    ASSERT_TRUE(block);
    EXPECT_EQ(memory.pointers.locate(*block).owner.handle, owner.handle) << "node " << node;
    auto* const bytes = static_cast<unsigned char*>(*block);
    EXPECT_EQ(std::count(bytes, bytes + 100, 0), 100);
    std::memset(bytes, 0xff, 100);  // reused memory is zeroed as well
    EXPECT_EQ(memory.pointers.memory_free(*block), HSA_STATUS_SUCCESS);
  }
}

TEST_F(Allocation, ChecksArguments) {
  void* ptr = nullptr;
  EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, 0, 0, &ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, 1, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_pool_allocate({0}, 1, 0, &ptr),
            static_cast<hsa_status_t>(HSA_STATUS_ERROR_INVALID_MEMORY_POOL));
  EXPECT_EQ(memory.heaps.memory_allocate({pool.handle}, 0, &ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_allocate({pool.handle}, 1, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.heaps.memory_allocate({12345}, 1, &ptr), HSA_STATUS_ERROR_INVALID_REGION);
}

TEST_F(Allocation, RejectsSizesAbovePoolLimit) {
  void* ptr = nullptr;
  for (const size_t size : {2 * testing::kNodeBytes + 1, size_t{1} << 63, ~size_t{0}, ~size_t{0} - 4095}) {
    EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, size, 0, &ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION)
        << size;
    EXPECT_EQ(memory.heaps.memory_allocate({pool.handle}, size, &ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION)
        << size;
  }
}

TEST_F(Allocation, FailsWhenKernelIsOutOfMemory) {
  testing::TestMemory large;
  testing::add_agents(large);
  large.heaps.add_host_heaps({{.agent = kCpu0, .numa_node = 0, .size = size_t{1} << 50}});
  void* ptr = nullptr;
  EXPECT_EQ(large.heaps.memory_pool_allocate(testing::fine_pool(large), size_t{1} << 49, 0, &ptr),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

/// A provider with limited memory. While `throws`, setting access fails.
class ScarceProvider final : public MemoryProvider {
 public:
  explicit ScarceProvider(size_t bytes, const bool& throws) : left_(bytes), throws_(throws) {}
  Result<Backing> map(const BlockRequest& request) override {
    if (request.size > left_) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    auto backing = host_.map(request);
    if (backing) left_ -= request.size;
    return backing;
  }
  void unmap(const Backing& backing) noexcept override {
    left_ += backing.size;
    host_.unmap(backing);
  }
  Status set_access(const Backing&, const AgentSet&) override {
    if (throws_) throw std::bad_alloc();
    return HSA_STATUS_SUCCESS;
  }

 private:
  HostProvider host_{0};
  size_t left_;
  const bool& throws_;
};
constexpr bool kNeverThrows = false;

TEST_F(Allocation, UsesLastPagesOfHeap) {
  constexpr size_t kBytes = kUnitSize + 3 * kPageBytes;  // a slab, and less than another
  testing::TestMemory scarce;
  testing::add_agents(scarce);
  scarce.heaps.add_heap({.owner = kGpu0,
                         .location = HSA_AMD_MEMORY_POOL_LOCATION_GPU,
                         .size = kBytes,
                         .allocation_limit = kBytes},
                        std::make_unique<ScarceProvider>(kBytes, kNeverThrows));
  const hsa_amd_memory_pool_t scarce_pool = testing::pool_of(scarce, kGpu0, 0);
  for (int round = 0; round < 2; ++round) {
    std::set<void*> pages;
    void* ptr = nullptr;
    Status status = HSA_STATUS_SUCCESS;
    while ((status = scarce.heaps.memory_pool_allocate(scarce_pool, kPageBytes, 0, &ptr)) ==
           HSA_STATUS_SUCCESS)
      EXPECT_TRUE(pages.insert(ptr).second);
    EXPECT_EQ(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    EXPECT_EQ(pages.size(), kBytes / kPageBytes);
    for (void* page : pages) EXPECT_EQ(scarce.pointers.memory_free(page), HSA_STATUS_SUCCESS);
  }
}

TEST_F(Allocation, RegionAllocationIsFreedIfDeviceAccessFails) {
  constexpr size_t kBytes = 4 * kUnitSize;
  bool throws = true;
  testing::TestMemory scarce;
  testing::add_agents(scarce);
  const Heap& heap = scarce.heaps.add_heap({.owner = kCpu0, .size = kBytes, .allocation_limit = kBytes},
                                           std::make_unique<ScarceProvider>(kBytes, throws));
  void* ptr = nullptr;
  for (const Status expected : {HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_SUCCESS}) {
    EXPECT_EQ(scarce.heaps.memory_allocate(heap.region(), kBytes, &ptr), expected);
    EXPECT_EQ(ptr != nullptr, expected == HSA_STATUS_SUCCESS);
    throws = false;
  }
  EXPECT_EQ(scarce.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, RejectsUnsupportedFlags) {
  void* ptr = nullptr;
  EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, 64, HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG, &ptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT)
      << "nobody can promise that of ordinary memory";
  EXPECT_EQ(memory.heaps.memory_pool_allocate(pool, 64, 1u << 31, &ptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(memory.heaps.memory_pool_allocate(pool, 64, HSA_AMD_MEMORY_POOL_PCIE_FLAG, &ptr),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

#if defined(__x86_64__)
TEST_F(Allocation, ExecutableMemoryCanBeExecuted) {
  unsigned char* code = allocate(64, HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG);
  const unsigned char return_42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  std::memcpy(code, return_42, sizeof return_42);
  EXPECT_EQ(reinterpret_cast<int (*)()>(code)(), 42);
  EXPECT_EQ(memory.pointers.memory_free(code), HSA_STATUS_SUCCESS);
}
#endif

TEST_F(Allocation, FreeIgnoresNull) {
  EXPECT_EQ(memory.pointers.memory_free(nullptr), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, FreeRejectsOtherThanStartOfLiveAllocation) {
  int local = 0;
  unsigned char* small = allocate(8192);
  unsigned char* large = allocate(3 << 20);
  for (void* ptr : {static_cast<void*>(&local), static_cast<void*>(small + 1),
                    static_cast<void*>(small + 4096), static_cast<void*>(small + 8192),
                    static_cast<void*>(large + 4096), static_cast<void*>(large + (3 << 20)),
                    reinterpret_cast<void*>(8), reinterpret_cast<void*>(~uintptr_t{0})}) {
    EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION) << ptr;
  }
  EXPECT_EQ(memory.pointers.memory_free(small), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(small), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(memory.pointers.memory_free(large), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(large), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(Allocation, FreeRejectsMemoryOfOtherManager) {
  testing::TestMemory other;
  testing::add_agents(other);
  testing::add_hosts(other);
  unsigned char* ptr = allocate(4096);
  EXPECT_EQ(other.pointers.memory_free(ptr), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(Allocation, MatchesMapUnderRandomUse) {
  std::mt19937_64 random(7);
  struct Live {
    size_t size;
    unsigned char stamp;
  };
  std::map<unsigned char*, Live> reference;
  const std::vector<hsa_amd_memory_pool_t> pools{
      pool, testing::pool_of(memory, kCpu0, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)};
  size_t live_bytes = 0;
  for (int step = 0; step < 20000; ++step) {
    const bool grow = reference.empty() || (live_bytes < (64 << 20) && random() % 5 < 3);
    if (grow) {
      // Sizes of every magnitude up to 4 MiB.
      const size_t size = 1 + random() % (size_t{1} << (1 + random() % 22));
      void* raw = nullptr;
      ASSERT_EQ(memory.heaps.memory_pool_allocate(pools[random() % 2], size, 0, &raw), HSA_STATUS_SUCCESS);
      auto* ptr = static_cast<unsigned char*>(raw);
      const auto next = reference.lower_bound(ptr);
      if (next != reference.end()) {
        ASSERT_LE(ptr + size, next->first);
      }
      if (next != reference.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second.size, ptr);
      }
      const auto stamp = static_cast<unsigned char>(random());
      ptr[0] = ptr[size - 1] = stamp;
      reference[ptr] = {size, stamp};
      live_bytes += size;
    } else {
      auto victim = reference.begin();
      std::advance(victim, random() % std::min<size_t>(reference.size(), 64));
      const auto [ptr, live] = *victim;
      ASSERT_EQ(ptr[0], live.stamp);
      ASSERT_EQ(ptr[live.size - 1], live.stamp);
      const auto middle = info(ptr + random() % live.size);
      ASSERT_EQ(middle.type, HSA_EXT_POINTER_TYPE_HSA);
      ASSERT_EQ(middle.agentBaseAddress, ptr);
      ASSERT_EQ(middle.sizeInBytes, live.size);
      ASSERT_EQ(info(ptr + live.size).agentBaseAddress == ptr, false);
      ASSERT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
      ASSERT_NE(info(ptr).type, HSA_EXT_POINTER_TYPE_HSA);
      live_bytes -= live.size;
      reference.erase(victim);
    }
  }
  for (const auto& [ptr, live] : reference) EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

constexpr size_t kMany = 1'000'000;

TEST_F(Allocation, MillionAllocationsReleaseAllMemory) {
  std::vector<unsigned char*> all(kMany);
  const size_t before = testing::resident_bytes();
  for (auto& ptr : all) ptr = allocate(4096);
  for (size_t i = 0; i < all.size(); i += 97) {
    const auto answer = info(all[i] + 1000);
    ASSERT_EQ(answer.agentBaseAddress, all[i]);
    ASSERT_EQ(answer.sizeInBytes, 4096u);
  }
  for (size_t i = 0; i < all.size(); i += 5) all[i][0] = 1;
  const size_t during = testing::resident_bytes();
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  for (auto* ptr : all) ASSERT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  const size_t after = testing::resident_bytes();
  EXPECT_GT(during - before, kMany / 5 * 4096);
  if (HSABE_SANITIZER == HSABE_SANITIZER_THREAD)
    GTEST_SKIP() << "the shadow of memory that was touched stays with ThreadSanitizer";
  EXPECT_LT(after - std::min(before, after), size_t{64} << 20);
}

TEST_F(Allocation, ThreadsAllocateQueryAndFreeConcurrently) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 4000;
  std::vector<std::thread> threads;
  std::atomic<bool> go{false};
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      while (!go.load()) std::this_thread::yield();
      std::mt19937 random(static_cast<unsigned>(id));
      std::vector<std::pair<unsigned char*, size_t>> mine;
      for (int step = 0; step < kSteps; ++step) {
        if (mine.size() < 32 && random() % 2 == 0) {
          const size_t size = 1 + random() % (random() % 16 == 0 ? 3u << 20 : 20000u);
          unsigned char* ptr = allocate(size);
          ptr[0] = static_cast<unsigned char>(id);
          EXPECT_EQ(memory.pointers.pointer_info_set_userdata(ptr, ptr), HSA_STATUS_SUCCESS);
          mine.emplace_back(ptr, size);
        } else if (!mine.empty()) {
          const size_t at = random() % mine.size();
          const auto [ptr, size] = mine[at];
          const auto answer = info(ptr + random() % size);
          EXPECT_EQ(answer.agentBaseAddress, ptr);
          EXPECT_EQ(answer.sizeInBytes, size);
          EXPECT_EQ(answer.userData, ptr);
          EXPECT_EQ(ptr[0], id);
          EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
          mine[at] = mine.back();
          mine.pop_back();
        }
      }
      for (const auto& [ptr, size] : mine) EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
    });
  }
  go = true;
  for (auto& thread : threads) thread.join();
}

TEST_F(Allocation, QueryDuringFreeIsCorrectOrUnknown) {
  std::atomic<unsigned char*> shared{nullptr};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done.load()) {
      unsigned char* ptr = shared.load();
      if (ptr == nullptr) continue;
      const auto answer = info(ptr + 5000);
      if (answer.type == HSA_EXT_POINTER_TYPE_UNKNOWN) continue;
      // The address is inside the current allocation, and the fields are consistent.
      const auto base = static_cast<unsigned char*>(answer.agentBaseAddress);
      EXPECT_LE(base, ptr + 5000);
      EXPECT_LT(ptr + 5000, base + answer.sizeInBytes);
      EXPECT_EQ(answer.sizeInBytes, base == ptr ? 8192u : answer.sizeInBytes);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    unsigned char* ptr = allocate(8192);
    shared = ptr;
    EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
    if (i % 64 == 0) memory.heaps.trim();
  }
  done = true;
  reader.join();
}

TEST_F(Allocation, OneOfTwoThreadsFreesAllocation) {
  for (int i = 0; i < 500; ++i) {
    unsigned char* ptr = allocate(i % 2 == 0 ? 4096 : 3 << 20);
    std::atomic<int> freed{0};
    const auto race = [&] { freed += memory.pointers.memory_free(ptr) == HSA_STATUS_SUCCESS ? 1 : 0; };
    std::thread other(race);
    race();
    other.join();
    EXPECT_EQ(freed, 1);
  }
}

struct Notes {
  testing::TestMemory* memory;
  std::vector<std::pair<void*, hsa_status_t>> seen;
};

void note(void* ptr, void* data) {
  auto* notes = static_cast<Notes*>(data);
  notes->seen.emplace_back(ptr, notes->memory->pointers.memory_free(ptr));
}

TEST_F(Allocation, DeallocationCallbacksRunOnceAtFree) {
  unsigned char* ptr = allocate(8192);
  Notes notes{&memory, {}};
  EXPECT_EQ(memory.pointers.register_deallocation_callback(ptr, note, &notes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.register_deallocation_callback(ptr + 100, note, &notes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  ASSERT_EQ(notes.seen.size(), 2u);
  EXPECT_EQ(notes.seen[0].first, ptr);
  EXPECT_EQ(notes.seen[1].first, ptr + 100);
  EXPECT_EQ(notes.seen[0].second, HSA_STATUS_ERROR_INVALID_ALLOCATION)
      << "it cannot be freed from its callback";

  unsigned char* next = allocate(8192);
  EXPECT_EQ(memory.pointers.memory_free(next), HSA_STATUS_SUCCESS);
  EXPECT_EQ(notes.seen.size(), 2u) << "the next allocation at the address has no callbacks";
}

TEST_F(Allocation, MemoryIsUnchangedDuringDeallocationCallbacks) {
  using testing::kGpu1;
  unsigned char* ptr = allocate(8192);
  ASSERT_EQ(memory.pointers.agents_allow_access(1, &kGpu0, nullptr, ptr), HSA_STATUS_SUCCESS);
  struct Context {
    testing::TestMemory& manager;
    bool ran = false;
  } context{memory};
  const auto look = [](void* address, void* data) {
    auto& [manager, ran] = *static_cast<Context*>(data);
    const Placement placement = manager.pointers.locate(address);
    EXPECT_EQ(placement.type, HSA_EXT_POINTER_TYPE_HSA);
    EXPECT_EQ(placement.size, 8192u);
    EXPECT_TRUE(manager.pointers.reach(kGpu0, address, 8192));
    EXPECT_EQ(manager.pointers.agents_allow_access(1, &kGpu1, nullptr, address), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(manager.pointers.reach(kGpu1, address, 8192));
    EXPECT_EQ(manager.pointers.register_deallocation_callback(address, note, nullptr),
              HSA_STATUS_ERROR_INVALID_ALLOCATION)
        << "nobody would call it";
    ran = true;
  };
  ASSERT_EQ(memory.pointers.register_deallocation_callback(ptr, look, &context), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(context.ran);
  EXPECT_EQ(info(ptr).type, HSA_EXT_POINTER_TYPE_UNKNOWN);

  unsigned char* next = allocate(8192);
  EXPECT_EQ(next, ptr);
  EXPECT_FALSE(memory.pointers.reach(kGpu1, next, 8192)) << "the agent has no access to the next allocation";
  EXPECT_EQ(memory.pointers.memory_free(next), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, DeallocationCallbacksCanAllocateAndFree) {
  unsigned char* ptr = allocate(8192);
  struct Context {
    testing::TestMemory& memory;
    hsa_amd_memory_pool_t pool;
    void* fresh = nullptr;
  } context{memory, pool};
  const auto callback = [](void*, void* data) {
    auto& self = *static_cast<Context*>(data);
    EXPECT_EQ(self.memory.heaps.memory_pool_allocate(self.pool, 8192, 0, &self.fresh), HSA_STATUS_SUCCESS);
  };
  ASSERT_EQ(memory.pointers.register_deallocation_callback(ptr, callback, &context), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  EXPECT_NE(context.fresh, ptr) << "the address must not be used again while it is announced";
  EXPECT_EQ(memory.pointers.memory_free(context.fresh), HSA_STATUS_SUCCESS);
}

TEST_F(Allocation, DeallocationCallbacksCanBeDeregistered) {
  unsigned char* ptr = allocate(4096);
  Notes notes{&memory, {}};
  EXPECT_EQ(memory.pointers.deregister_deallocation_callback(ptr, note), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(memory.pointers.register_deallocation_callback(ptr, note, &notes), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.deregister_deallocation_callback(ptr + 1, note),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.deregister_deallocation_callback(ptr, note), HSA_STATUS_SUCCESS);
  EXPECT_EQ(memory.pointers.deregister_deallocation_callback(ptr, note), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(notes.seen.empty());
}

TEST_F(Allocation, DeallocationCallbacksRequireAllocation) {
  int local = 0;
  EXPECT_EQ(memory.pointers.register_deallocation_callback(&local, note, nullptr),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(memory.pointers.register_deallocation_callback(nullptr, note, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  unsigned char* ptr = allocate(1);
  EXPECT_EQ(memory.pointers.register_deallocation_callback(ptr, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(memory.pointers.memory_free(ptr), HSA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace rigel
