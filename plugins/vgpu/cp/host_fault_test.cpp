#include "plugins/vgpu/cp/host_fault.hpp"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/cp/fault_mark.hpp"
#include "plugins/vgpu/cp/gpu_memory.hpp"

namespace rigel::vgpu::testing {
namespace {

// Two pages; tests unmap or protect the second.
class HostFault : public ::testing::Test {
 protected:
  HostFault() {
    if (!catch_host_faults()) return;
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~HostFault() override { munmap(pages_, 2 * kPage); }
  void SetUp() override {
    if (pages_ == nullptr) GTEST_SKIP() << "faults cannot be caught here";
  }
  void unmap_second_page() { mprotect(pages_ + kPage, kPage, PROT_NONE); }
  void make_read_only() { mprotect(pages_ + kPage, kPage, PROT_READ); }
  template <class T>
  T* word(uint64_t offset) {
    return reinterpret_cast<T*>(pages_ + offset);
  }

  std::byte* pages_ = nullptr;
};

TEST_F(HostFault, GuardedAccessesSucceedOnMappedMemory) {
  *word<uint64_t>(8) = 7;
  uint64_t seen = 0;
  bool done = false;
  EXPECT_TRUE(guarded_load(word<uint64_t>(8), seen));
  EXPECT_EQ(seen, 7u);
  EXPECT_TRUE(guarded_store(word<uint16_t>(16), uint16_t{0x1234}));
  EXPECT_EQ(*word<uint32_t>(16), 0x1234u);
  EXPECT_TRUE(guarded_store(word<uint8_t>(17), uint8_t{0x56}));
  EXPECT_EQ(*word<uint32_t>(16), 0x5634u);
  EXPECT_TRUE(guarded_subtract(word<uint64_t>(8), uint64_t{9}));
  EXPECT_EQ(*word<uint64_t>(8), ~uint64_t{1});
  EXPECT_TRUE(guarded_compare_exchange(word<uint64_t>(8), seen, uint64_t{1}, done));
  EXPECT_FALSE(done);
  EXPECT_EQ(seen, ~uint64_t{1});
  EXPECT_TRUE(guarded_compare_exchange(word<uint64_t>(8), seen, uint64_t{1}, done));
  EXPECT_TRUE(done);
  EXPECT_EQ(*word<uint64_t>(8), 1u);
}

TEST_F(HostFault, GuardedCopiesOfEveryLengthAreComplete) {
  std::array<unsigned char, 200> from, to;
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i + 1);
  for (size_t bytes = 0; bytes <= 130; ++bytes) {
    const size_t at = bytes % 17;
    std::memset(pages_, 0, 256);
    to.fill(0);
    ASSERT_TRUE(guarded_write(pages_ + at, from.data() + 3, bytes));
    ASSERT_EQ(std::memcmp(pages_ + at, from.data() + 3, bytes), 0) << bytes;
    ASSERT_EQ(pages_[at + bytes], std::byte{0}) << bytes;
    ASSERT_TRUE(guarded_read(to.data(), pages_ + at, bytes));
    ASSERT_EQ(std::memcmp(to.data(), from.data() + 3, bytes), 0) << bytes;
    ASSERT_EQ(to[bytes], 0) << bytes;
  }
}

TEST_F(HostFault, ReportsAddressOfUnmappedMemory) {
  unmap_second_page();
  uint64_t wide = 0;
  bool done = false;
  EXPECT_FALSE(guarded_load(word<uint64_t>(kPage + 8), wide));
  EXPECT_EQ(last_host_fault().address, pages_ + kPage + 8);
  EXPECT_EQ(last_host_fault().access, Access::kRead);
  EXPECT_EQ(last_host_fault().reason, FaultReason::kNotPresent);
  EXPECT_FALSE(guarded_store(word<uint32_t>(kPage + 4), 1u));
  EXPECT_EQ(last_host_fault().access, Access::kWrite);
  EXPECT_FALSE(guarded_subtract(word<uint64_t>(kPage), uint64_t{1}));
  EXPECT_FALSE(guarded_compare_exchange(word<uint32_t>(kPage), *word<uint32_t>(0), 1u, done));
  char bytes[64];
  EXPECT_FALSE(guarded_read(bytes, pages_ + kPage - 32, sizeof bytes));
  EXPECT_EQ(last_host_fault().address, pages_ + kPage);
  EXPECT_FALSE(guarded_write(pages_ + kPage - 3, bytes, 8));
  const auto is_expected = [&](const std::byte* at) { return at >= pages_ && at < pages_ + 2 * kPage; };
  EXPECT_FALSE(guarded([&] { std::memset(pages_, 1, 2 * kPage); }, is_expected));
  EXPECT_TRUE(guarded([&] { std::memset(pages_, 2, kPage); }, is_expected)) << "and it works again";
}

TEST_F(HostFault, GuardsNest) {
  unmap_second_page();
  const auto is_expected = [&](const std::byte* at) {
    return at >= pages_ + kPage && at < pages_ + 2 * kPage;
  };
  int steps = 0;
  EXPECT_FALSE(guarded(
      [&] {
        EXPECT_FALSE(guarded([&] { *word<volatile int>(kPage) = 1; }, is_expected));
        ++steps;
        *word<volatile int>(kPage) = 2;
        ++steps;
      },
      is_expected));
  EXPECT_EQ(steps, 1);
}

TEST_F(HostFault, ThreadsCatchFaultsConcurrently) {
  unmap_second_page();
  std::array<std::thread, 4> threads;
  std::array<int, 4> faults{};
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&, t] {
      for (uint32_t i = 0; i < 1000; ++i) {
        uint32_t value = 0;
        const uint64_t at = kPage + (t * 64 + i * 4) % kPage;
        const bool right =
            !guarded_load(word<uint32_t>(at), value) && last_host_fault().address == pages_ + at;
        faults[t] += right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : faults) EXPECT_EQ(count, 1000);
}

TEST_F(HostFault, GpuMemoryReportsFaultOfQueue) {
  FakeBus bus;
  bus.map_host(0x40000, pages_, 2 * kPage);
  const Buffer other = bus.allocate(2 * kPage);
  GpuMemory memory(bus, 5);
  const GpuMemory::Scope scope(memory);
  ASSERT_TRUE(memory.store<uint32_t>(0x41010, 3));
  make_read_only();
  uint32_t value = 0;
  EXPECT_TRUE(memory.load(0x41010, value));
  EXPECT_FALSE(memory.store<uint32_t>(0x41010, 4));
  EXPECT_EQ(memory.fault().va, 0x41010u);
  EXPECT_EQ(memory.fault().reason, FaultReason::kReadOnly);
  EXPECT_EQ(memory.fault().queue_id, 5u);
  unmap_second_page();
  EXPECT_FALSE(memory.load(0x41010, value));
  EXPECT_FALSE(memory.fetch_sub<uint64_t>(0x41018, 1));
  EXPECT_EQ(memory.fault().va, 0x41018u);
  EXPECT_EQ(memory.fault().access, Access::kWrite);
  uint64_t old = 0;
  EXPECT_FALSE(memory.modify<uint64_t>(0x41020, old, [](uint64_t v) { return v + 1; }));
  char bytes[256];
  EXPECT_FALSE(memory.read(0x40f80, bytes, sizeof bytes));
  EXPECT_EQ(memory.fault().va, 0x41000u);
  EXPECT_FALSE(memory.write(0x41001, bytes, 3));
  EXPECT_FALSE(memory.copy(other.va, 0x40000, 2 * kPage));
  EXPECT_EQ(memory.fault().va / kPage, 0x41u) << "copies begin where they like";
  EXPECT_EQ(memory.fault().access, Access::kRead);
  EXPECT_FALSE(memory.copy(0x40000, other.va, 2 * kPage));
  EXPECT_EQ(memory.fault().access, Access::kWrite);
  EXPECT_FALSE(memory.fill(0x40800, 0x01020304, kPage));
  EXPECT_EQ(memory.fault().va / kPage, 0x41u);
}

// Faults outside of guards ----------------------------------------------------------------------------------

sigjmp_buf program_jump;
void* volatile programs_fault = nullptr;

void programs_handler(int, siginfo_t* info, void*) {
  programs_fault = info->si_addr;
  siglongjmp(program_jump, 1);
}

TEST_F(HostFault, ProgramHandlerReceivesOtherFaults) {
  unmap_second_page();
  struct sigaction action {
  }, before{}, now{};
  action.sa_sigaction = programs_handler;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(program_sigaction(SIGSEGV, &action, &before), 0);
  EXPECT_TRUE(host_faults_are_caught());
  for (int i = 1; i <= 30; ++i) {
    programs_fault = nullptr;
    if (sigsetjmp(program_jump, 1) == 0) *word<volatile int>(kPage + 4 * static_cast<uint64_t>(i)) = 1;
    EXPECT_EQ(programs_fault, pages_ + kPage + 4 * i);
    uint32_t value = 0;
    EXPECT_FALSE(guarded_load(word<uint32_t>(kPage), value)) << "and ours are still ours";
  }
  ASSERT_EQ(program_sigaction(SIGSEGV, nullptr, &now), 0);
  EXPECT_EQ(now.sa_sigaction, programs_handler);
  ASSERT_EQ(program_sigaction(SIGSEGV, &before, nullptr), 0);
}

volatile sig_atomic_t usr1_count = 0;
sigset_t mask_in_handler;

// The handler of stores may hold locks that the program's handler needs to ring a doorbell.
TEST_F(HostFault, ProgramHandlersAreBlockedInStoreWatcher) {
  make_read_only();
  usr1_count = 0;
  const auto before = signal(SIGUSR1, [](int) { usr1_count = usr1_count + 1; });
  static int count_inside;
  count_inside = -1;
  const auto open = [](void* page, std::byte*, StoppedStore) {
    pthread_kill(pthread_self(), SIGUSR1);
    count_inside = usr1_count;
    return mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0;
  };
  ASSERT_TRUE(watch_stores(pages_ + kPage, kPage, {open, pages_ + kPage}));
  *word<volatile uint64_t>(kPage) = 3;
  EXPECT_EQ(count_inside, 0);
  for (int i = 0; i < 1000 && usr1_count == 0; ++i) usleep(1000);  // sanitizers deliver signals later
  EXPECT_EQ(usr1_count, 1);
  unwatch_stores(pages_ + kPage);
  signal(SIGUSR1, before);
}

TEST_F(HostFault, ProgramHandlerRunsWithItsMask) {
  unmap_second_page();
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_in_handler);
    siglongjmp(program_jump, 1);
  };
  sigaddset(&action.sa_mask, SIGUSR1);
  ASSERT_EQ(program_sigaction(SIGSEGV, &action, &before), 0);
  sigset_t mine, old, now;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mine, &old);
  if (sigsetjmp(program_jump, 1) == 0) *word<volatile int>(kPage) = 1;
  EXPECT_TRUE(sigismember(&mask_in_handler, SIGUSR1));
  EXPECT_TRUE(sigismember(&mask_in_handler, SIGUSR2));
  EXPECT_FALSE(sigismember(&mask_in_handler, SIGALRM));
  EXPECT_FALSE(sigismember(&mask_in_handler, SIGBUS));
  pthread_sigmask(SIG_SETMASK, &old, &now);
  EXPECT_TRUE(sigismember(&now, SIGUSR2));
  EXPECT_FALSE(sigismember(&now, SIGUSR1));
  ASSERT_EQ(program_sigaction(SIGSEGV, &before, nullptr), 0);
}

// Gives this thread an alternate signal stack during its lifetime.
class AlternateStack {
 public:
  AlternateStack() : memory_(kBytes) {
    const stack_t mine{memory_.data(), 0, kBytes};
    sigaltstack(&mine, &before_);
  }
  ~AlternateStack() { sigaltstack(&before_, nullptr); }
  static bool is_in_use() {
    stack_t now{};
    sigaltstack(nullptr, &now);
    return (now.ss_flags & SS_ONSTACK) != 0;
  }

 private:
  static constexpr size_t kBytes = 128 * 1024;
  std::vector<std::byte> memory_;
  stack_t before_{};
};

volatile bool handler_was_on_alternate_stack = false;

void handler_that_records_its_stack(int) {
  handler_was_on_alternate_stack = AlternateStack::is_in_use();
  siglongjmp(program_jump, 1);
}

TEST_F(HostFault, ProgramHandlerRunsOnItsStack) {
  unmap_second_page();
  const AlternateStack stack;
  struct sigaction action {
  }, before{};
  action.sa_handler = handler_that_records_its_stack;
  ASSERT_EQ(program_sigaction(SIGSEGV, nullptr, &before), 0);
  for (const int flags : {0, SA_ONSTACK, 0}) {
    action.sa_flags = flags;
    ASSERT_EQ(program_sigaction(SIGSEGV, &action, nullptr), 0);
    handler_was_on_alternate_stack = flags == 0;
    if (sigsetjmp(program_jump, 1) == 0) *word<volatile int>(kPage) = 1;
    EXPECT_EQ(handler_was_on_alternate_stack, flags == SA_ONSTACK);
    uint32_t value = 0;
    EXPECT_FALSE(guarded_load(word<uint32_t>(kPage), value)) << "and ours are still ours";
  }
  ASSERT_EQ(program_sigaction(SIGSEGV, &before, nullptr), 0);
}

TEST_F(HostFault, ResetActionKeepsFlags) {
  unmap_second_page();
  struct sigaction action {
  }, before{}, now{};
  action.sa_sigaction = programs_handler;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
  ASSERT_EQ(program_sigaction(SIGSEGV, &action, &before), 0);
  if (sigsetjmp(program_jump, 1) == 0) *word<volatile int>(kPage) = 1;
  ASSERT_EQ(program_sigaction(SIGSEGV, &before, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  EXPECT_EQ(now.sa_flags, action.sa_flags);
}

volatile int* volatile unmapped_word = nullptr;

// Returns memory whose access raises SIGBUS.
void* map_past_end_of_file() {
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  return mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, empty, 0);
}

TEST_F(HostFault, FaultInHandlerKillsUnlessNodefer) {
  unmap_second_page();
  struct sigaction action {};
  action.sa_handler = [](int) {
    static int calls = 0;
    if (++calls == 3) _exit(3);
    *unmapped_word = 1;
  };
  const auto fault_with = [&](int signal, int flags, bool marked) {
    if (marked) mark_fault_handlers();
    unmapped_word = word<volatile int>(kPage);
    if (signal == SIGBUS) unmapped_word = static_cast<volatile int*>(map_past_end_of_file());
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, signal);
    action.sa_flags = flags;
    program_sigaction(signal, &action, nullptr);
    *unmapped_word = 1;
  };
  for (const int signal : {SIGSEGV, SIGBUS}) {
    for (const bool marked : {false, true}) {
      EXPECT_EXIT(fault_with(signal, 0, marked), ::testing::KilledBySignal(signal), "");
      EXPECT_EXIT(fault_with(signal, SA_NODEFER, marked), ::testing::ExitedWithCode(3), "");
    }
  }
}

[[gnu::noinline]] int overflow_stack(int depth) {  // NOLINT(misc-no-recursion)
  volatile std::byte frame[4096];
  frame[0] = std::byte{1};
  return depth < 0 ? 0 : overflow_stack(depth + 1) + static_cast<int>(frame[0]);
}

TEST_F(HostFault, StackOverflowIsHandledOnAlternateStack) {
  struct sigaction action {};
  action.sa_handler = [](int) { _exit(AlternateStack::is_in_use() ? 3 : 4); };
  const auto overflow_with = [&](int flags) {
    action.sa_flags = flags;
    program_sigaction(SIGSEGV, &action, nullptr);
    const AlternateStack stack;
    overflow_stack(0);
  };
  EXPECT_EXIT(overflow_with(SA_ONSTACK), ::testing::ExitedWithCode(3), "");
  EXPECT_DEATH(overflow_with(0), "") << "there is no stack for the handler";
}

TEST_F(HostFault, UnexpectedFaultEndsProcess) {
  unmap_second_page();
  EXPECT_DEATH(guarded([&] { *word<volatile int>(kPage) = 1; }, [](const std::byte*) { return false; }), "");
  EXPECT_DEATH(*word<volatile int>(kPage) = 1, "");
  EXPECT_DEATH(raise(SIGSEGV), "");
}

// The watcher made the page writable and left before the handler could ask it.
TEST_F(HostFault, StoreToPageMadeWritableIsRepeated) {
  make_read_only();
  const auto let_go = [](void* page, std::byte*, StoppedStore) {
    mprotect(page, kPage, PROT_READ | PROT_WRITE);
    return false;
  };
  ASSERT_TRUE(watch_stores(pages_ + kPage, kPage, {let_go, pages_ + kPage}));
  *word<volatile uint64_t>(kPage + 8) = 5;
  EXPECT_EQ(*word<uint64_t>(kPage + 8), 5u);
  EXPECT_TRUE(host_faults_are_caught());
  unwatch_stores(pages_ + kPage);
}

TEST_F(HostFault, WatcherCanRepeatStore) {
  make_read_only();
  struct Seen {
    std::byte* page;
    std::byte* address = nullptr;
    int count = 0;
  } seen{pages_ + kPage};
  const auto open = [](void* context, std::byte* address, StoppedStore) {
    auto* const s = static_cast<Seen*>(context);
    s->address = address;
    ++s->count;
    return mprotect(s->page, kPage, PROT_READ | PROT_WRITE) == 0;
  };
  ASSERT_TRUE(watch_stores(pages_ + kPage, kPage, {open, &seen}));
  *word<volatile uint64_t>(kPage + 24) = 99;
  EXPECT_EQ(*word<uint64_t>(kPage + 24), 99u);
  EXPECT_EQ(seen.address, pages_ + kPage + 24);
  EXPECT_EQ(seen.count, 1);
  unwatch_stores(pages_ + kPage);
  make_read_only();
  EXPECT_DEATH(*word<volatile int>(kPage) = 1, "");
}

}  // namespace
}  // namespace rigel::vgpu::testing
