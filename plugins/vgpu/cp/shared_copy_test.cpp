#include "plugins/vgpu/cp/shared_copy.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/cp/gpu_memory.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/stream_copy.hpp"

namespace rigel::vgpu::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Threads that lend themselves to copies, and the number of successful calls.
class Helpers {
 public:
  explicit Helpers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!stop_) {
          if (lend_program_thread() != 0) {
            ++helped_;
          } else {
            std::this_thread::yield();
          }
        }
      });
    }
  }
  ~Helpers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t helped() const { return helped_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> helped_{0};
  std::vector<std::thread> threads_;
};

std::vector<std::byte> noise(size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::minstd_rand random(7);
  for (std::byte& b : data) b = static_cast<std::byte>(random() >> 8);
  return data;
}

TEST(SharedCopy, CompletesWithoutHelpers) {
  EXPECT_EQ(lend_program_thread(), 0);
  const std::vector<std::byte> from = noise(kMiB + 77);
  std::vector<std::byte> to(from.size());
  EXPECT_TRUE(copy_with_help(to.data(), from.data(), from.size(), 0));
  EXPECT_EQ(to, from);
  EXPECT_EQ(lend_program_thread(), 0);
}

TEST(SharedCopy, CompletesWithHelpers) {
  const std::vector<std::byte> from = noise(4 * kMiB);
  std::vector<std::byte> to(from.size() + 64);
  std::mt19937 random(1);
  const Helpers helpers(3);
  for (int i = 0; i < 2000 && (i < 20 || helpers.helped() < 20); ++i) {
    const size_t bytes = kSharedCopyBytes + random() % (from.size() - kSharedCopyBytes);
    const size_t at = random() % (from.size() - bytes + 1), shift = random() % 64;
    std::fill(to.begin(), to.end(), std::byte{0});
    ASSERT_TRUE(copy_with_help(to.data() + shift, from.data() + at, bytes, i % 2 * cached_copy_bytes()));
    ASSERT_EQ(std::memcmp(to.data() + shift, from.data() + at, bytes), 0) << bytes << " at " << at;
    ASSERT_EQ(std::count(to.data() + shift + bytes, to.data() + to.size(), std::byte{0}),
              static_cast<ptrdiff_t>(to.size() - shift - bytes));
    ASSERT_EQ(std::count(to.data(), to.data() + shift, std::byte{0}), static_cast<ptrdiff_t>(shift));
  }
  EXPECT_GE(helpers.helped(), 20u);
}

TEST(SharedCopy, RejectsOverlappingAndSmallRanges) {
  std::vector<std::byte> data = noise(kMiB);
  const std::vector<std::byte> before = data;
  EXPECT_FALSE(copy_with_help(data.data() + 1, data.data(), kMiB / 2, 0));
  EXPECT_FALSE(copy_with_help(data.data(), data.data() + 1, kMiB / 2, 0));
  EXPECT_FALSE(copy_with_help(data.data(), data.data() + kMiB / 2, kSharedCopyBytes - 1, 0));
  EXPECT_EQ(data, before);
}

// More copies at a time than there are slots.
TEST(SharedCopy, SeveralCopiesRunTogether) {
  const std::vector<std::byte> from = noise(kMiB);
  const Helpers helpers(1);
  std::vector<std::thread> engines;
  std::atomic<int> whole{0}, wrong{0};
  for (int e = 0; e < 6; ++e) {
    engines.emplace_back([&] {
      std::vector<std::byte> to(from.size());
      for (int i = 0; i < 50; ++i) {
        std::memset(to.data(), 0, to.size());
        // no slot: it would copy alone
        if (!copy_with_help(to.data(), from.data(), from.size(), 0)) continue;
        ++whole;
        if (to != from) ++wrong;
      }
    });
  }
  for (std::thread& engine : engines) engine.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(whole, 50);
}

TEST(SharedCopy, ReportsUnmappedMemoryFoundByAnyThread) {
  if (!catch_host_faults()) GTEST_SKIP() << "faults cannot be caught here";
  constexpr uint64_t kBytes = kMiB, kHole = kMiB - 64 * kPage;
  auto* const from = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(from, MAP_FAILED);
  std::memset(from, 1, kBytes);
  mprotect(from + kHole, kPage, PROT_NONE);
  FakeBus bus;
  bus.map_host(0x10000000, from, kBytes);
  const Buffer to = bus.allocate(kBytes);
  GpuMemory memory(bus, 3);
  const Helpers helpers(2);
  for (int i = 0; i < 300; ++i) {
    const GpuMemory::Scope scope(memory);
    ASSERT_FALSE(memory.copy(to.va, 0x10000000, kBytes));
    ASSERT_EQ(memory.fault().va & ~(kPage - 1), 0x10000000 + kHole);
    ASSERT_EQ(memory.fault().access, Access::kRead);
    ASSERT_EQ(memory.fault().queue_id, 3u);
    ASSERT_TRUE(memory.copy(to.va, 0x10000000, kHole));
  }
  munmap(from, kBytes);
}

// A signal handler runs on a lent thread only after the call, with errno and mask as before.
TEST(SharedCopy, PreservesStateOfLentThread) {
  const std::vector<std::byte> from = noise(4 * kMiB);
  std::vector<std::byte> to(from.size());
  std::atomic<bool> stop{false};
  std::thread engine([&] {
    while (!stop) copy_with_help(to.data(), from.data(), from.size(), 0);
  });
  sigset_t mine, now;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &mine, &before);
  for (int helped = 0; helped < 20;) {
    errno = 77;
    helped += lend_program_thread();
    ASSERT_EQ(errno, 77);
  }
  int cancelable = PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancelable);
  EXPECT_EQ(cancelable, PTHREAD_CANCEL_ENABLE);
  pthread_sigmask(SIG_SETMASK, &before, &now);
  EXPECT_TRUE(sigismember(&now, SIGUSR2));
  EXPECT_FALSE(sigismember(&now, SIGUSR1));
  stop = true;
  engine.join();
}

TEST(SharedCopy, WorksInForkedChild) {
  if (HSABE_SANITIZER == HSABE_SANITIZER_THREAD) GTEST_SKIP() << "no threads after fork";
  const std::vector<std::byte> from = noise(4 * kMiB);
  std::vector<std::byte> to(from.size());
  std::atomic<bool> stop{false};
  std::thread engine([&] {
    while (!stop) copy_with_help(to.data(), from.data(), from.size(), 0);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      forget_shared_copies();
      std::vector<std::byte> own(from.size());
      bool good = lend_program_thread() == 0;
      for (int n = 0; n < 8; ++n) good &= copy_with_help(own.data(), from.data(), from.size(), 0);
      _exit(good && own == from ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  engine.join();
}

}  // namespace
}  // namespace rigel::vgpu::testing
