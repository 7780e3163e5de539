// Shared virtual memory that queues use while its attributes change.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/client.hpp"
#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kPage = 4096;

/// Pages of the program that are mapped on GPUs by SVM only.
class Pages {
 public:
  explicit Pages(uint64_t bytes)
      : bytes_(bytes),
        at_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(at_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* get() const { return at_; }
  uint64_t va() const { return reinterpret_cast<uint64_t>(at_); }

 private:
  const uint64_t bytes_;
  std::byte* const at_;
};

template <class System>
int set(System& system, uint64_t va, uint64_t bytes, uint32_t type, uint32_t value) {
  struct {
    kfd_svm header;
    kfd_svm_attribute attribute;
  } a{{va, bytes, KFD_SVM_SET_ATTR, 1}, {type, value}};
  return system.call(KFD_NR_SVM, a);
}

TEST(KfdSvm, PrefetchKeepsTranslationsValid) {
  TestSystem t;
  t.acquire();
  const Pages pages(4 * kPage);
  ASSERT_EQ(set(t, pages.va(), 4 * kPage, KFD_SVM_ATTR_ACCESS, t.gpu_id()), 0);
  const uint64_t epoch = t.system->process().gpu(0).translation_epoch();
  for (const uint32_t location : {t.gpu_id(), 0u}) {
    EXPECT_EQ(set(t, pages.va() + kPage, kPage, KFD_SVM_ATTR_PREFETCH_LOC, location), 0);
    EXPECT_EQ(set(t, pages.va(), 4 * kPage, KFD_SVM_ATTR_PREFERRED_LOC, location), 0);
    EXPECT_EQ(t.translate(pages.va(), 4 * kPage, Access::kWrite).bytes, 4 * kPage);
  }
  EXPECT_EQ(set(t, pages.va(), 4 * kPage, KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_GPU_EXEC), 0);
  EXPECT_EQ(t.translate(pages.va(), 4 * kPage, Access::kExecute).bytes, 4 * kPage);
  EXPECT_EQ(t.system->process().gpu(0).translation_epoch(), epoch) << "nothing was taken away";
}

TEST(KfdSvm, RevokedAccessAffectsOnlyItsRange) {
  TestSystem t;
  t.acquire();
  const Pages pages(4 * kPage);
  const uint64_t va = pages.va();
  const uint64_t initial_epoch = t.system->process().gpu(0).translation_epoch();
  ASSERT_EQ(set(t, va, 4 * kPage, KFD_SVM_ATTR_ACCESS, t.gpu_id()), 0);
  ASSERT_EQ(set(t, va + kPage, kPage, KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_GPU_RO), 0);
  const uint64_t epoch = t.system->process().gpu(0).translation_epoch();
  EXPECT_NE(epoch, initial_epoch) << "translations for stores do not hold any more";
  EXPECT_EQ(t.translate(va, 4 * kPage, Access::kWrite).bytes, kPage);
  EXPECT_EQ(t.translate(va + kPage, 8, Access::kWrite).reason, FaultReason::kReadOnly);
  EXPECT_EQ(t.translate(va, 4 * kPage, Access::kRead).bytes, 4 * kPage);
  ASSERT_EQ(set(t, va + 2 * kPage, kPage, KFD_SVM_ATTR_NO_ACCESS, t.gpu_id()), 0);
  EXPECT_NE(t.system->process().gpu(0).translation_epoch(), epoch);
  EXPECT_EQ(t.translate(va, 4 * kPage, Access::kRead).bytes, 2 * kPage);
  EXPECT_EQ(t.translate(va + 2 * kPage, 8, Access::kRead).reason, FaultReason::kNotPresent);
  EXPECT_EQ(t.translate(va + 3 * kPage, kPage, Access::kWrite).bytes, kPage);
}

TEST(KfdSvm, ReplacedMemoryIsNotShared) {
  TestSystem t;
  t.acquire();
  const Pages pages(8 * kPage), others(8 * kPage);
  std::byte* const p = pages.get();
  const auto share = [&](const Pages& range) {
    ASSERT_EQ(set(t, range.va(), 8 * kPage, KFD_SVM_ATTR_ACCESS, t.gpu_id()), 0);
  };
  const auto shared = [&](const std::byte* page) {
    return t.translate(reinterpret_cast<uint64_t>(page), kPage, Access::kRead).bytes == kPage;
  };
  void* out = nullptr;
  share(pages);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  EXPECT_NE(t.system->mmap(p, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0, &out), 0);
  EXPECT_TRUE(shared(p)) << "what is refused takes nothing away";
  ASSERT_EQ(t.system->mmap(p, 2 * kPage, PROT_READ | PROT_WRITE, kFlags, -1, 0, &out), 0);
  EXPECT_FALSE(shared(p) || shared(p + kPage));
  EXPECT_TRUE(shared(p + 2 * kPage));

  share(pages);
  ASSERT_EQ(t.system->mremap(p, 8 * kPage, 6 * kPage, 0, nullptr, &out), 0);
  EXPECT_EQ(out, p);
  EXPECT_TRUE(shared(p) && shared(p + 5 * kPage));
  EXPECT_FALSE(shared(p + 6 * kPage) || shared(p + 7 * kPage));

  // The mapping grows in place or stays unchanged; then it moves to a range that contains shared memory.
  ASSERT_EQ(::mmap(p + 6 * kPage, 2 * kPage, PROT_READ, kFlags, -1, 0), p + 6 * kPage);
  EXPECT_EQ(t.system->mremap(p, 6 * kPage, 8 * kPage, 0, nullptr, &out), -ENOMEM);
  EXPECT_NE(t.system->mremap(p, 6 * kPage, ~uint64_t{0}, MREMAP_MAYMOVE, nullptr, &out), 0);
  EXPECT_EQ(t.system->mremap(p, 6 * kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, p + kPage, &out), -EINVAL);
  EXPECT_TRUE(shared(p) && shared(p + 5 * kPage));
  share(others);
  ASSERT_EQ(
      t.system->mremap(p, 6 * kPage, 6 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, others.get() + kPage, &out),
      0);
  EXPECT_FALSE(shared(p) || shared(p + 5 * kPage));
  EXPECT_TRUE(shared(others.get()) && shared(others.get() + 7 * kPage));
  EXPECT_FALSE(shared(others.get() + kPage) || shared(others.get() + 6 * kPage));
}

TEST(KfdSvm, UserptrBufferFollowsReplacedMemory) {
  TestSystem t;
  t.acquire();
  const auto shared = t.share(2 * kPage);
  void* out = nullptr;
  ASSERT_EQ(t.system->mmap(shared.address, 2 * kPage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &out),
            0);
  EXPECT_EQ(t.translate(reinterpret_cast<uint64_t>(shared.address), 2 * kPage, Access::kWrite).bytes,
            2 * kPage);
  EXPECT_EQ(t.map(shared.handle, 0, false), 0);
  EXPECT_EQ(t.free(shared.handle), 0);
  ASSERT_EQ(t.system->munmap(shared.address, 2 * kPage), 0);
}

int set_xnack(TestSystem& system, int32_t mode) {
  kfd_set_xnack_mode a{mode};
  return system.call(KFD_NR_SET_XNACK_MODE, a);
}

TEST(KfdXnack, NeedsChipsWithSettingPerProcess) {
  TestSystem vega("gfx906:vram=64M"), mixed("gfx90a:vram=64M,gfx906:vram=64M"), mi300("gfx942:vram=64M");
  EXPECT_EQ(set_xnack(vega, 1), -EPERM);
  EXPECT_EQ(set_xnack(mixed, 1), -EPERM);
  EXPECT_EQ(set_xnack(mi300, 1), 0);
  kfd_set_xnack_mode query{-1};
  EXPECT_EQ(mi300.call(KFD_NR_SET_XNACK_MODE, query), 0);
  EXPECT_EQ(query.xnack_enabled, 1);
}

TEST(KfdXnack, GpuAccessesProgramMemory) {
  TestSystem t("gfx90a:vram=64M");
  t.acquire();
  const Pages pages(4 * kPage);
  const uint64_t va = pages.va();
  EXPECT_EQ(t.translate(va, kPage, Access::kRead).reason, FaultReason::kNotPresent);
  ASSERT_EQ(set_xnack(t, 1), 0);
  const Translation found = t.translate(va + 8, 3 * kPage, Access::kWrite);
  EXPECT_EQ(found.host, pages.get() + 8);
  EXPECT_EQ(found.bytes, 3 * kPage);
  EXPECT_EQ(t.translate(va, kPage, Access::kExecute).reason, FaultReason::kNotPresent);
  EXPECT_EQ(t.translate(8, 8, Access::kRead).reason, FaultReason::kNotPresent) << "null pointers fault";
  EXPECT_EQ(t.translate(uint64_t{1} << 47, 8, Access::kRead).reason, FaultReason::kNotPresent);
  ASSERT_EQ(set_xnack(t, 0), 0);
  EXPECT_EQ(t.translate(va, kPage, Access::kRead).reason, FaultReason::kNotPresent);
}

TEST(KfdXnack, BuffersKeepTheirMemory) {
  TestSystem t("gfx90a:vram=64M,gfx90a:vram=64M");
  t.acquire();
  ASSERT_EQ(set_xnack(t, 1), 0);
  const Pages pages(4 * kPage);
  const uint64_t va = pages.va();
  const uint64_t epoch = t.system->process().gpu(1).translation_epoch();
  ASSERT_EQ(t.translate(va, 4 * kPage, Access::kRead, 1).bytes, 4 * kPage);
  const auto buffer = t.allocate(KFD_MEM_GTT | KFD_MEM_WRITABLE, kPage, va + kPage);
  ASSERT_EQ(buffer.error, 0);
  ASSERT_EQ(t.map(buffer.handle), 0);
  EXPECT_NE(t.system->process().gpu(1).translation_epoch(), epoch);
  EXPECT_NE(t.translate(va + kPage, 8, Access::kRead).host, pages.get() + kPage);
  EXPECT_EQ(t.translate(va, 4 * kPage, Access::kRead).bytes, kPage);
  EXPECT_EQ(t.translate(va + kPage, 8, Access::kRead, 1).reason, FaultReason::kNotPresent)
      << "the buffer is mapped on the other GPU only";
}

TEST(KfdXnack, RangesAreAccessibleWithoutAttribute) {
  TestSystem t("gfx90a:vram=64M");
  t.acquire();
  ASSERT_EQ(set_xnack(t, 1), 0);
  const Pages pages(2 * kPage);
  ASSERT_EQ(set(t, pages.va(), 2 * kPage, KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_GPU_RO), 0);
  EXPECT_EQ(t.translate(pages.va(), kPage, Access::kRead).bytes, kPage);
  EXPECT_EQ(t.translate(pages.va(), kPage, Access::kWrite).reason, FaultReason::kReadOnly);
}

// free() unmaps memory without notifying the driver, and the runtime reserves the addresses again.
TEST(KfdSvm, FreedRangeCanBeAllocatedAgain) {
  TestSystem t;
  t.acquire();
  const Pages pages(4 * kPage);
  const uint64_t va = pages.va();
  ASSERT_EQ(set(t, va, 4 * kPage, KFD_SVM_ATTR_ACCESS, t.gpu_id()), 0);
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 2 * kPage, va).error, -EADDRINUSE);
  // libc's mmap, which the driver does not intercept.
  ASSERT_EQ(::mmap(pages.get(), 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            pages.get());
  EXPECT_EQ(t.allocate(KFD_MEM_GTT, 4 * kPage, va).error, -EADDRINUSE) << "half of it is still the program's";
  const auto gtt = t.allocate(KFD_MEM_GTT, 2 * kPage, va);
  ASSERT_EQ(gtt.error, 0);
  EXPECT_EQ(t.map(gtt.handle), 0);
  EXPECT_NE(t.translate(va, 8, Access::kRead).host, pages.get());
  EXPECT_EQ(t.translate(va + 2 * kPage, 8, Access::kRead).host, pages.get() + 2 * kPage) << "and stays so";
}

// Attributes change in all ways that keep read and write access, while copies use the whole range.
TEST(KfdSvm, QueueUsesRangeWhileAttributesChange) {
  constexpr uint64_t kHalf = 1 << 20, kPages = 2 * kHalf / kPage;
  Client client("gfx900:vram=64M");
  const Client::Memory signals = client.share(kPage);
  const Pages pages(2 * kHalf);
  const uint32_t gpu = client.gpu_id(0);
  ASSERT_EQ(set(client, pages.va(), 2 * kHalf, KFD_SVM_ATTR_ACCESS, gpu), 0);
  kfd_create_event fault{};
  fault.event_type = KFD_EVENT_MEMORY;
  client.must(KFD_NR_CREATE_EVENT, fault, "CREATE_EVENT");
  const auto faulted = [&] {
    kfd_event_data data{};
    data.event_id = fault.event_id;
    kfd_wait_events w{reinterpret_cast<uint64_t>(&data), 1, 0, 0, 0};
    client.must(KFD_NR_WAIT_EVENTS, w, "WAIT_EVENTS");
    return w.wait_result == KFD_WAIT_COMPLETE;
  };

  std::atomic<bool> stop{false};
  std::atomic<int> copies{0};
  std::thread changer([&] {
    std::minstd_rand random(3);
    const std::pair<uint32_t, uint32_t> changes[] = {
        {KFD_SVM_ATTR_PREFETCH_LOC, gpu},
        {KFD_SVM_ATTR_PREFETCH_LOC, KFD_SVM_LOCATION_SYSMEM},
        {KFD_SVM_ATTR_PREFERRED_LOC, gpu},
        {KFD_SVM_ATTR_PREFERRED_LOC, KFD_SVM_LOCATION_UNDEFINED},
        {KFD_SVM_ATTR_ACCESS, gpu},
        {KFD_SVM_ATTR_ACCESS_IN_PLACE, gpu},
        {KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_GPU_EXEC},
        {KFD_SVM_ATTR_CLR_FLAGS, KFD_SVM_FLAG_GPU_EXEC},
        {KFD_SVM_ATTR_CLR_FLAGS, KFD_SVM_FLAG_COHERENT},
        {KFD_SVM_ATTR_SET_FLAGS, KFD_SVM_FLAG_COHERENT | KFD_SVM_FLAG_GPU_READ_MOSTLY},
        {KFD_SVM_ATTR_GRANULARITY, 4},
        {KFD_SVM_ATTR_GRANULARITY, 9},
    };
    while (!stop.load(std::memory_order_relaxed)) {
      const auto& [type, value] = changes[random() % std::size(changes)];
      const uint64_t first = random() % kPages, count = 1 + random() % (kPages - first);
      EXPECT_EQ(set(client, pages.va() + first * kPage, count * kPage, type, value), 0);
    }
  });
  {
    ClientQueue queue(client, 0, true, true);
    const ClientSignal done(signals, 0);
    for (int i = 0; i < 200 && !faulted(); ++i) {
      std::memset(pages.get(), i, kHalf);
      done.value().store(1, std::memory_order_relaxed);
      queue.copy(pages.va() + kHalf, pages.va(), kHalf, done);
      while (done.value().load(std::memory_order_acquire) > 0 && !faulted()) std::this_thread::yield();
      if (std::memcmp(pages.get(), pages.get() + kHalf, kHalf) == 0) copies.fetch_add(1);
    }
    stop = true;
    changer.join();
  }
  EXPECT_FALSE(faulted());
  EXPECT_EQ(copies.load(), 200);
  client.release(signals);
}

}  // namespace
}  // namespace rigel::vgpu
