// Faults of kernels and exhausted resources of a GPU: which callback is called with which status, and that no
// queue hangs and no packet is lost. docs/internals/gfx-backends.md lists the statuses. These tests are quick
// on boards with little memory (CMakeLists.txt).
#include <hsa/amd_hsa_queue.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ostream>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"
#include "support/used_up.hpp"

namespace conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool is_gpu(hsa_agent_t agent) {
  return agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU;
}

/// Waits until `count` reaches `least`. Returns false after kPatience.
template <class Number>
bool waited_for(const std::atomic<Number>& count, Number least = 1) {
  const auto deadline = steady_clock::now() + kPatience;
  while (count < least && steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  return count >= least;
}

class Fault : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && !is_gpu(agent())) GTEST_SKIP() << "not a GPU";
  }

  /// Whether waves report their queue with an error. On gfx8, an error may stop other queues too.
  bool errors_name_their_queue() const {
    return agent_info<Name>(agent(), HSA_AGENT_INFO_NAME).text[3] != '8';
  }

  /// Submits `packet` to a separate queue, which must stop with `status`.
  void expect_stop(const hsa_kernel_dispatch_packet_t& packet, hsa_status_t status) {
    ScopedQueue victim;
    victim.create(agent(), queue()->size);
    ASSERT_NE(victim.get(), nullptr);
    const ScopedSignal after(1);
    submit(victim.get(), packet);
    submit(victim.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, after, true));
    ASSERT_TRUE(waited_for(victim.errors().count)) << "nobody was told";
    EXPECT_EQ(victim.errors().status, status) << status_name(victim.errors().status);
    EXPECT_EQ(victim.errors().queue, victim.get());
    EXPECT_EQ(after.value(), 1) << "the packet behind it ran";
    victim.destroy();
    EXPECT_EQ(victim.errors().count, 1);
    expect_usable();
  }

  /// Checks that kernels run on a new queue, and on the fixture's queue unless the fault stopped that too.
  void expect_usable() {
    auto* const counter = shared<uint32_t>(1);
    const auto packet = dispatch_packet(kernels_.kernel("count"), kernarg(CountArgs{counter}), 64, 64);
    if (errors().count == 0) {
      EXPECT_TRUE(run(packet));
    } else {
      EXPECT_FALSE(errors_name_their_queue()) << "another queue stopped too";
      *counter += 64;
    }
    ScopedQueue other;
    other.create(agent(), queue()->size);
    ASSERT_NE(other.get(), nullptr);
    const ScopedSignal done(1);
    hsa_kernel_dispatch_packet_t again = packet;
    again.completion_signal = done;
    submit(other.get(), again);
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    EXPECT_EQ(*counter, 128u);
  }

  struct Name {
    char text[64];
  };
};

// A doorbell store can raise SIGSEGV on the storing thread (docs/internals/driver.md). The program's own
// handler must not be called, even if the thread blocks all signals.
TEST_P(Fault, DoorbellStoreIsInvisibleToSignalHandlerOfProgram) {
  static std::atomic<int> caught{0};
  struct sigaction handler {
  }, before{};
  handler.sa_handler = [](int signal) {
    if (++caught > 100) _exit(128 + signal);  // the store would be repeated forever
  };
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &mask);
  ASSERT_EQ(sigaction(SIGSEGV, &handler, &before), 0);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(milliseconds(5));  // lets the device fall asleep
    const ScopedSignal done(1);
    submit(queue(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  }
  EXPECT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  EXPECT_EQ(caught, 0);
}

TEST_P(Fault, IllegalInstructionStopsQueue) {
  expect_stop(dispatch_packet(kernels_.kernel("illegal"), kernarg(EmptyArgs{}), 1, 1),
              static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION));
}

TEST_P(Fault, TrapStopsQueue) {
  expect_stop(dispatch_packet(kernels_.kernel("trap"), kernarg(EmptyArgs{}), 1, 1),
              HSA_STATUS_ERROR_EXCEPTION);
}

TEST_P(Fault, ManyFailingWavesReportOneError) {
  expect_stop(dispatch_packet(kernels_.kernel("trap"), kernarg(EmptyArgs{}), 4096, 64),
              HSA_STATUS_ERROR_EXCEPTION);
}

TEST_P(Fault, ErrorCallbackMayDestroyQueue) {
  static std::atomic<int> called;
  called = 0;
  hsa_queue_t* victim = nullptr;
  ASSERT_HSA(hsa_queue_create(
      agent(), 64, HSA_QUEUE_TYPE_MULTI,
      [](hsa_status_t, hsa_queue_t* source, void*) {
        EXPECT_HSA(hsa_queue_destroy(source));
        ++called;
      },
      nullptr, UINT32_MAX, UINT32_MAX, &victim));
  submit(victim, dispatch_packet(kernels_.kernel("trap"), kernarg(EmptyArgs{}), 1, 1));
  ASSERT_TRUE(waited_for(called));
  expect_usable();
}

// --- Page faults -----------------------------------------------------------------------------------------

struct FaultSeen {
  std::atomic<int> count = 0;
  hsa_amd_gpu_memory_fault_info_t info{};

  static hsa_status_t handler(const hsa_amd_event_t* event, void* data) {
    if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
    auto& self = *static_cast<FaultSeen*>(data);
    if (self.count == 0) self.info = event->memory_fault;
    ++self.count;
    return HSA_STATUS_SUCCESS;
  }
};

TEST_P(Fault, PageFaultCallsSystemEventHandler) {
  constexpr uint64_t kNowhere = 0x12345000;
  FaultSeen seen;
  ASSERT_HSA(hsa_amd_register_system_event_handler(FaultSeen::handler, &seen));
  ScopedQueue victim;
  victim.create(agent(), queue()->size);
  ASSERT_NE(victim.get(), nullptr);
  submit(victim.get(), dispatch_packet(kernels_.kernel("store"), kernarg(StoreArgs{kNowhere + 8}), 1, 1));
  ASSERT_TRUE(waited_for(seen.count));
  EXPECT_EQ(seen.info.agent.handle, agent().handle);
  EXPECT_EQ(seen.info.virtual_address & ~uint64_t{0xfff}, kNowhere);
  EXPECT_NE(seen.info.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, 0u);
  victim.destroy();
}

TEST_P(Fault, UnlockedMemoryFaults) {
  FaultSeen seen;
  ASSERT_HSA(hsa_amd_register_system_event_handler(FaultSeen::handler, &seen));
  std::vector<uint32_t> memory(1 << 20);
  hsa_agent_t gpu = agent();
  void* locked = nullptr;
  ASSERT_HSA(hsa_amd_memory_lock(memory.data(), memory.size() * sizeof(uint32_t), &gpu, 1, &locked));
  const auto address = reinterpret_cast<uint64_t>(locked) + (1 << 20);
  ScopedQueue victim;
  victim.create(agent(), queue()->size);
  ASSERT_NE(victim.get(), nullptr);
  const auto packet = dispatch_packet(kernels_.kernel("store"), kernarg(StoreArgs{address}), 1, 1);
  const ScopedSignal done(1);
  hsa_kernel_dispatch_packet_t first = packet;
  first.completion_signal = done;
  submit(victim.get(), first);
  ASSERT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(memory[1 << 18], 1u);
  ASSERT_HSA(hsa_amd_memory_unlock(memory.data()));
  submit(victim.get(), packet);
  ASSERT_TRUE(waited_for(seen.count));
  EXPECT_EQ(seen.info.virtual_address & ~uint64_t{0xfff}, address & ~uint64_t{0xfff});
  victim.destroy();
}

TEST_P(Fault, UnhandledPageFaultEndsProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        submit(queue(), dispatch_packet(kernels_.kernel("store"), kernarg(StoreArgs{0x12345000}), 1, 1));
        // The process must end during this time.
        std::this_thread::sleep_for(kPatience);
      },
      "[Mm]emory access fault.*0x12345");
}

// --- Exhausted resources ---------------------------------------------------------------------------------

TEST_P(Fault, FullRingLosesNoPackets) {
  const auto largest = agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MAX_SIZE);
  for (const uint32_t size : {agent_info<uint32_t>(agent(), HSA_AGENT_INFO_QUEUE_MIN_SIZE), 1024u, largest}) {
    ScopedQueue full;
    full.create(agent(), size);
    ASSERT_NE(full.get(), nullptr);
    for (int round = 0; round < 3; ++round) {
      const ScopedSignal gate(1);
      const ScopedSignal left(size - 1);
      hsa_barrier_and_packet_t first = barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, {0}, true);
      first.dep_signal[0] = gate;
      submit(full.get(), first);
      for (uint32_t i = 1; i < size; ++i)
        submit(full.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, left, true));
      // Packets after the gate would be taken incorrectly during this time.
      std::this_thread::sleep_for(milliseconds(1));
      const uint64_t used =
          hsa_queue_load_write_index_relaxed(full.get()) - hsa_queue_load_read_index_scacquire(full.get());
      EXPECT_EQ(used, size) << "it is full";
      EXPECT_EQ(left.value(), size - 1);
      hsa_signal_store_screlease(gate, 0);
      ASSERT_TRUE(wait_for(left, HSA_SIGNAL_CONDITION_EQ, 0)) << size << ": " << left.value() << " left";
    }
    EXPECT_EQ(full.errors().count, 0);
  }
}

TEST_P(Fault, QueueLimitReturnsStatusUntilQueueIsDestroyed) {
  const auto create = [&](hsa_queue_t*& queue) {
    return hsa_queue_create(agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                            &queue);
  };
  size_t counts[2];
  for (size_t& count : counts) {
    std::vector<hsa_queue_t*> queues;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    while (queues.size() < 2000) {
      hsa_queue_t* queue = nullptr;
      if ((status = create(queue)) != HSA_STATUS_SUCCESS) break;
      queues.push_back(queue);
    }
    EXPECT_STATUS(HSA_STATUS_ERROR_OUT_OF_RESOURCES, status);
    ASSERT_FALSE(queues.empty());
    // The last queue works, and so does a queue that replaces a destroyed one.
    const ScopedSignal done(2);
    submit(queues.back(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_HSA(hsa_queue_destroy(queues.front()));
    EXPECT_HSA(create(queues.front()));
    submit(queues.front(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    for (hsa_queue_t* queue : queues) EXPECT_HSA(hsa_queue_destroy(queue));
    count = queues.size();
  }
  EXPECT_EQ(counts[0], counts[1]) << "some did not come back";
}

TEST_P(Fault, SignalsMayOutnumberDriverEvents) {
  constexpr size_t kSignals = 6000;
  std::vector<ScopedSignal> signals;
  static std::atomic<size_t> handled;
  handled = 0;
  for (size_t i = 0; i < kSignals; ++i) {
    signals.emplace_back(1);
    ASSERT_HSA(hsa_amd_signal_async_handler(
        signals[i], HSA_SIGNAL_CONDITION_LT, 1,
        [](hsa_signal_value_t, void*) {
          ++handled;
          return false;
        },
        nullptr));
  }
  for (const ScopedSignal& signal : signals)
    submit(queue(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, signal));
  EXPECT_TRUE(waited_for(handled, kSignals)) << handled << " of them";
}

class ExhaustedMemory : public Fault {
 protected:
  void SetUp() override {
    Fault::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    local_ = local_pool(agent());
    if (pool_info<size_t>(local_, HSA_AMD_MEMORY_POOL_INFO_SIZE) > size_t{1} << 30)
      GTEST_SKIP() << "the board has too much memory to use up";
  }

  hsa_amd_memory_pool_t local_{};
};

TEST_P(ExhaustedMemory, AllocationFailsUntilMemoryIsFreed) {
  size_t first = 0;
  for (int round = 0; round < 2; ++round) {
    const ExhaustedPool exhausted(local_);
    EXPECT_STATUS(HSA_STATUS_ERROR_OUT_OF_RESOURCES, exhausted.status());
    EXPECT_GT(exhausted.bytes(), 0u);
    if (round == 0) first = exhausted.bytes();
    EXPECT_EQ(exhausted.bytes(), first) << "some did not come back";
    expect_usable();
  }
}

TEST_P(ExhaustedMemory, CopiesAndCodeLoadingWork) {
  constexpr size_t kBytes = 300'000;
  PoolMemory local = allocate(local_, kBytes, agent());
  ExhaustedPool exhausted(local_);
  std::vector<unsigned char> from(kBytes), to(kBytes);
  for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<unsigned char>(i * 13 + (i >> 8));
  EXPECT_HSA(hsa_memory_copy(local.get(), from.data(), kBytes));
  EXPECT_HSA(hsa_memory_copy(to.data(), local.get(), kBytes));
  EXPECT_EQ(from, to);

  std::string reason;
  const auto code = find_code_object(agent(), reason);
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  ASSERT_HSA(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  ASSERT_HSA(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                       &executable));
  const auto loaded = hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr);
  EXPECT_STATUS_IN(loaded, HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  if (loaded != HSA_STATUS_SUCCESS) {
    exhausted.release();
    EXPECT_HSA(hsa_executable_load_agent_code_object(executable, agent(), reader, nullptr, nullptr));
  }
  EXPECT_HSA(hsa_executable_freeze(executable, nullptr));
  EXPECT_HSA(hsa_executable_destroy(executable));
  EXPECT_HSA(hsa_code_object_reader_destroy(reader));
}

TEST_P(ExhaustedMemory, QueueCreationFailsOrQueueWorks) {
  ExhaustedPool exhausted(local_);
  std::vector<hsa_queue_t*> queues;
  hsa_status_t status = HSA_STATUS_SUCCESS;
  for (int i = 0; i < 20 && status == HSA_STATUS_SUCCESS; ++i) {
    hsa_queue_t* queue = nullptr;
    status =
        hsa_queue_create(agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue);
    if (status == HSA_STATUS_SUCCESS) queues.push_back(queue);
  }
  EXPECT_STATUS_IN(status, HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  for (hsa_queue_t* queue : queues) {
    const ScopedSignal done(1);
    submit(queue, barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    EXPECT_HSA(hsa_queue_destroy(queue));
  }
  exhausted.release();
  expect_usable();
}

TEST_P(ExhaustedMemory, PrivateMemoryStopsQueueOnlyIfNoneIsFree) {
  constexpr uint32_t kItems = 5000;
  auto* const sums = shared<uint32_t>(kItems);
  auto packet = dispatch_packet(kernels_.kernel("keep"), kernarg(KeepArgs{sums, kItems, 0}), kItems, 64);
  packet.private_segment_size = 100'000;  // 48 MiB for eight waves
  {
    const ExhaustedPool exhausted(local_);
    ScopedQueue victim;
    victim.create(agent(), 64);
    if (victim.get() != nullptr) {
      submit(victim.get(), packet);
      ASSERT_TRUE(waited_for(victim.errors().count));
      EXPECT_EQ(victim.errors().status, HSA_STATUS_ERROR_OUT_OF_RESOURCES)
          << status_name(victim.errors().status);
    }
  }
  // With a little memory, fewer waves run at the same time.
  void* reserve = nullptr;
  ASSERT_HSA(hsa_amd_memory_pool_allocate(local_, 80 << 20, 0, &reserve));
  {
    const ExhaustedPool exhausted(local_);
    EXPECT_HSA(hsa_amd_memory_pool_free(reserve));
    ASSERT_TRUE(run(packet));
    for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(sums[i], sum_of_kept(i)) << i;
    EXPECT_EQ(errors().count, 0);
  }
  std::fill(sums, sums + kItems, 0);
  ASSERT_TRUE(run(packet));
  for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(sums[i], sum_of_kept(i)) << i;
}

INSTANTIATE_FOR_AGENTS(Fault);
INSTANTIATE_FOR_AGENTS(ExhaustedMemory);

}  // namespace
}  // namespace conformance
