#include "plugins/vgpu/kfd/page_table.hpp"

#include <atomic>
#include <barrier>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/scopes.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kPage = kPageBytes;
constexpr uint64_t kMiB = 1 << 20;

// Host addresses are compared only, never accessed.
std::byte* host(uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

TEST(PageTable, IsEmptyInitially) {
  PageTable table;
  const Translation t = table.translate(0x1000, 8, Access::kRead);
  EXPECT_EQ(t.host, nullptr);
  EXPECT_EQ(t.reason, FaultReason::kNotPresent);
}

TEST(PageTable, TranslateKeepsPageOffset) {
  PageTable table;
  table.map(0x10000, 2 * kPage, host(0x7000000), {});
  const Translation t = table.translate(0x10123, 8, Access::kRead);
  EXPECT_EQ(t.host, host(0x7000123));
  EXPECT_EQ(t.bytes, 8u);
}

TEST(PageTable, RunEndsAtEndOfMapping) {
  PageTable table;
  table.map(0x10000, 2 * kPage, host(0x7000000), {});
  EXPECT_EQ(table.translate(0x10f00, 1 * kMiB, Access::kRead).bytes, 0x1100u);
}

TEST(PageTable, RunCoversContiguousHostMemory) {
  PageTable table;
  table.map(0x10000, kPage, host(0x7000000), {});
  table.map(0x11000, kPage, host(0x7001000), {});
  table.map(0x12000, kPage, host(0x9000000), {});
  EXPECT_EQ(table.translate(0x10000, 1 * kMiB, Access::kRead).bytes, 2 * kPage);
}

TEST(PageTable, RunEndsAtPageWithoutRight) {
  PageTable table;
  table.map(0x10000, kPage, host(0x7000000), {.write = true});
  table.map(0x11000, kPage, host(0x7001000), {});
  EXPECT_EQ(table.translate(0x10000, 2 * kPage, Access::kWrite).bytes, kPage);
  EXPECT_EQ(table.translate(0x10000, 2 * kPage, Access::kRead).bytes, 2 * kPage);
}

TEST(PageTable, FaultReasonNamesMissingRight) {
  PageTable table;
  table.map(0x10000, kPage, host(0x7000000), {});
  EXPECT_EQ(table.translate(0x10000, 4, Access::kWrite).reason, FaultReason::kReadOnly);
  EXPECT_EQ(table.translate(0x10000, 4, Access::kExecute).reason, FaultReason::kNoExecute);
  EXPECT_EQ(table.translate(0x11000, 4, Access::kWrite).reason, FaultReason::kNotPresent);
}

TEST(PageTable, AddressesBeyond48BitsAreNotPresent) {
  PageTable table;
  table.map((uint64_t{1} << 48) - kPage, kPage, host(0x7000000), {});
  EXPECT_EQ(table.translate((uint64_t{1} << 48) - 8, 64, Access::kRead).bytes, 8u);
  EXPECT_EQ(table.translate(uint64_t{1} << 48, 8, Access::kRead).host, nullptr);
  EXPECT_EQ(table.translate(UINT64_MAX, 8, Access::kRead).host, nullptr);
}

TEST(PageTable, LargeMappingIsOneRun) {
  PageTable table;
  const uint64_t bytes = uint64_t{3} << 30;
  table.map(0x40000000, bytes, host(0x7f0000001000), {.write = true});
  const Translation t = table.translate(0x40000000 + 5, bytes, Access::kWrite);
  EXPECT_EQ(t.host, host(0x7f0000001005));
  EXPECT_EQ(t.bytes, bytes - 5);
}

TEST(PageTable, UnmapSplitsLargeLeaves) {
  PageTable table;
  table.map(0x40000000, 4 * kMiB, host(0x7f0000000000), {});
  table.unmap(0x40000000 + kMiB, kPage);
  EXPECT_EQ(table.translate(0x40000000, 4 * kMiB, Access::kRead).bytes, kMiB);
  EXPECT_EQ(table.translate(0x40000000 + kMiB, 8, Access::kRead).host, nullptr);
  EXPECT_EQ(table.translate(0x40000000 + kMiB + kPage, 8, Access::kRead).host, host(0x7f0000101000));
}

using Translations = PageTable::Translations;

TEST(PageTable, RemapReportsStaleTranslations) {
  PageTable table;
  EXPECT_EQ(table.remap(0x10000, 4 * kPage, host(0x7000000), {}), Translations::kValid)
      << "nothing was there";
  EXPECT_EQ(table.remap(0x10000, 4 * kPage, host(0x7000000), {}), Translations::kValid) << "nothing changes";
  EXPECT_EQ(table.remap(0x11000, kPage, host(0x7001000), {.write = true}), Translations::kValid)
      << "a right more";
  EXPECT_EQ(table.translate(0x11000, 1, Access::kWrite).host, host(0x7001000));
  EXPECT_EQ(table.remap(0x10000, 4 * kPage, host(0x7000000), {}), Translations::kStale) << "a right less";
  EXPECT_EQ(table.translate(0x11000, 1, Access::kWrite).reason, FaultReason::kReadOnly);
  EXPECT_EQ(table.translate(0x10000, 4 * kPage, Access::kRead).bytes, 4 * kPage);
  EXPECT_EQ(table.remap(0x13000, kPage, host(0x9000000), {.write = true}), Translations::kStale)
      << "other memory";
  EXPECT_EQ(table.unmap(0x20000, kPage), Translations::kValid) << "nothing was there";
  EXPECT_EQ(table.unmap(0x13000, kPage), Translations::kStale);
}

TEST(PageTable, RemapChangesOnlyPartOfLargeLeaf) {
  PageTable table;
  table.map(0x40000000, 4 * kMiB, host(0x7f0000000000), {});
  EXPECT_EQ(table.remap(0x40000000 + kMiB, kPage, host(0x7f0000100000), {}), Translations::kValid);
  EXPECT_EQ(table.remap(0x40000000 + kMiB, kPage, host(0x7f0000100000), {.write = true}),
            Translations::kValid);
  EXPECT_EQ(table.translate(0x40000000, 4 * kMiB, Access::kRead).bytes, 4 * kMiB);
  EXPECT_EQ(table.translate(0x40000000 + kMiB, 4 * kMiB, Access::kWrite).bytes, kPage);
}

// A concurrent reader sees each page either as before or as after the remap.
TEST(PageTable, RemapIsAtomicPerPage) {
  PageTable table;
  constexpr uint64_t kVa = 0x40000000, kBytes = 4 * kMiB;
  table.map(kVa, kBytes, host(0x7f0000000000), {.write = true});
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::thread reader([&] {
    std::minstd_rand random(5);
    for (; !stop.load(std::memory_order_relaxed); reads.fetch_add(1, std::memory_order_relaxed)) {
      const uint64_t offset = random() % kBytes;
      ASSERT_EQ(table.translate(kVa + offset, 1, Access::kRead).host, host(0x7f0000000000 + offset));
      ASSERT_EQ(table.translate(kVa, kBytes, Access::kRead).bytes, kBytes) << "a hole in the middle";
    }
  });
  std::minstd_rand random(6);
  for (int i = 0; i < 2000 || reads.load(std::memory_order_relaxed) < 100; ++i) {
    const uint64_t first = random() % 1024, pages = 1 + random() % (1024 - first);
    table.remap(kVa + first * kPage, pages * kPage, host(0x7f0000000000 + first * kPage),
                {.write = random() % 2 == 0, .execute = random() % 2 == 0});
  }
  stop = true;
  reader.join();
}

TEST(PageTable, MatchesModelAfterRandomChanges) {
  PageTable table;
  std::map<uint64_t, uint64_t> model;  // page → host page
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t va = 0x40000000 + random() % 2048 * kPage;
    uint64_t pages = random() % 4 == 0 ? 512 + random() % 1024 : 1 + random() % 16;
    if (random() % 4 == 0) {
      const uint64_t to = 0x7f0000000000 + random() % 4096 * kPage;
      bool stale = false;
      for (uint64_t i = 0; i < pages; ++i) {
        const auto [it, is_new] = model.emplace(va + i * kPage, to + i * kPage);
        stale |= !is_new && it->second != to + i * kPage;
        it->second = to + i * kPage;
      }
      const Translations translations = table.remap(va, pages * kPage, host(to), {.write = true});
      ASSERT_EQ(translations, stale ? Translations::kStale : Translations::kValid) << "round " << round;
    } else if (random() % 2 == 0) {
      while (table.any_mapped(va, pages * kPage) && pages > 1) pages /= 2;
      if (table.any_mapped(va, pages * kPage)) continue;
      const uint64_t to = 0x7f0000000000 + random() % 4096 * kPage;
      table.map(va, pages * kPage, host(to), {.write = true});
      for (uint64_t i = 0; i < pages; ++i) model[va + i * kPage] = to + i * kPage;
    } else {
      table.unmap(va, pages * kPage);
      model.erase(model.lower_bound(va), model.lower_bound(va + pages * kPage));
    }
    const uint64_t probe = 0x40000000 + random() % 4096 * kPage;
    const Translation t = table.translate(probe, 1 << 30, Access::kRead);
    uint64_t run = 0;
    for (auto it = model.find(probe);
         it != model.end() && it->first == probe + run && it->second == model[probe] + run; ++it) {
      run += kPage;
    }
    ASSERT_EQ(t.bytes, run) << "round " << round;
    if (run != 0) {
      ASSERT_EQ(t.host, host(model[probe]));
    }
  }
}

// Scopes make freeing memory safe: a reader in a scope never sees memory that was freed after
// wait_until_quiet().
TEST(Scopes, WaitUntilQuietExcludesReaders) {
  PageTable table;
  Scopes scopes;
  std::vector<uint64_t> cells(512 * 2, 0);
  auto* const memory =
      reinterpret_cast<uint64_t*>((reinterpret_cast<uintptr_t>(cells.data()) + kPage - 1) / kPage * kPage);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> seen{0};
  std::vector<std::thread> readers;
  *memory = 1;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const uint32_t scope = scopes.enter();
        const Translation t = table.translate(0x1000, 8, Access::kRead);
        if (t.host != nullptr) {
          EXPECT_EQ(*reinterpret_cast<volatile uint64_t*>(t.host), 1u);  // plain: ThreadSanitizer checks it
          seen.fetch_add(1, std::memory_order_relaxed);
        }
        scopes.leave(scope);
      }
    });
  }
  for (int i = 0; i < 200 || seen.load(std::memory_order_relaxed) < 10; ++i) {
    table.map(0x1000, kPage, reinterpret_cast<std::byte*>(memory), {});
    if (i % 64 == 0) std::this_thread::yield();
    table.unmap(0x1000, kPage);
    scopes.wait_until_quiet();
    *memory = 0;  // "freed"
    *memory = 1;
  }
  stop = true;
  for (auto& reader : readers) reader.join();
}

TEST(Scopes, ManyThreadsEnterConcurrently) {
  Scopes scopes;
  constexpr uint32_t kThreads = 384;
  std::barrier all_are_in(kThreads);
  std::vector<std::thread> workers;
  for (uint32_t i = 0; i < kThreads; ++i) {
    workers.emplace_back([&] {
      const uint32_t scope = scopes.enter();
      all_are_in.arrive_and_wait();
      scopes.leave(scope);
    });
  }
  for (auto& worker : workers) worker.join();
  scopes.wait_until_quiet();
}

TEST(Scopes, TwoObjectsAreIndependentOnOneThread) {
  Scopes first_gpu, second_gpu;
  const uint32_t first = first_gpu.enter();
  uint32_t second = second_gpu.enter();
  second_gpu.leave(second);
  second = second_gpu.enter();
  first_gpu.leave(first);
  first_gpu.wait_until_quiet();
  std::atomic<bool> quiet{false};
  std::thread waiter([&] {
    second_gpu.wait_until_quiet();
    quiet = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(quiet) << "the second GPU's scope has not ended";
  second_gpu.leave(second);
  waiter.join();
}

}  // namespace
}  // namespace rigel::vgpu
