// Four threads with two queues each on three GPUs use all functions concurrently: packets that wait for other
// threads' packets, copies, destruction of busy queues, buffers, events, exports. Runs for one second, or
// VGPU_STRESS_SECONDS; meant for sanitizers.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

constexpr size_t kThreads = 4, kSignals = 32;
constexpr uint64_t kBufferBytes = 256 << 10;

class Worker {
 public:
  Worker(Client& client, size_t index, const Client::Memory& thread_signals, unsigned seed)
      : client_(client),
        index_(index),
        thread_signals_(thread_signals),
        random_(seed + static_cast<unsigned>(index)),
        signals_(client.share(kSignals * 64)),
        from_(client.share(kBufferBytes)),
        to_(client.share(kBufferBytes)) {
    make_queues();
  }
  ~Worker() {
    aql_.reset();
    sdma_.reset();
    for (const Client::Memory& use_buffer : {signals_, from_, to_}) client_.release(use_buffer);
  }

  void step() {
    switch (random_below(7)) {
      case 0:
      case 1:
        return submit_barriers();
      case 2:
      case 3:
        return copy_by_sdma();
      case 4:
        return destroy_while_busy();
      case 5:
        return use_buffer();
      default:
        return use_event();
    }
  }
  uint64_t steps() const { return steps_; }

 private:
  uint32_t random_below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  ClientSignal signal(size_t i) const { return {signals_, i}; }

  void make_queues() {
    const uint32_t gpu = random_below(client_.gpu_count());
    aql_ = std::make_unique<ClientQueue>(client_, gpu, false, random_below(2) == 0);
    sdma_ = std::make_unique<ClientQueue>(client_, gpu, true, random_below(2) == 0);
  }

  // Packets that wait for each other and for signals of other threads that are 0 already.
  void submit_barriers() {
    const size_t count = 1 + random_below(kSignals - 1);
    for (size_t i = 0; i < count; ++i) signal(i).value().store(1, std::memory_order_relaxed);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t other = ClientSignal(thread_signals_, random_below(kThreads)).handle();
      const uint64_t predecessor = i == 0 ? 0 : signal(random_below(static_cast<uint32_t>(i))).handle();
      aql_->barrier({predecessor, other}, signal(i).handle(), random_below(2) == 0);
    }
    for (size_t i = 0; i < count; ++i) signal(i).wait("a barrier");
    steps_ += count;
  }

  void copy_by_sdma() {
    const uint64_t bytes = 1 + random_below(kBufferBytes), salt = random_();
    for (uint64_t i = 0; i < bytes; ++i) from_.host[i] = static_cast<std::byte>((i * 7 + salt) >> 3);
    signal(0).value().store(1, std::memory_order_relaxed);
    sdma_->copy(to_.va(), from_.va(), bytes, signal(0));
    signal(0).wait("a copy");
    if (std::memcmp(from_.host, to_.host, bytes) != 0) fail("a copy is not what was copied");
    ++steps_;
  }

  void destroy_while_busy() {
    signal(0).value().store(1, std::memory_order_relaxed);  // never decremented
    for (uint32_t n = random_below(50); n > 0; --n) aql_->barrier({signal(0).handle()}, 0);
    signal(1).value().store(1, std::memory_order_relaxed);
    sdma_->copy(to_.va(), from_.va(), kBufferBytes, signal(1));
    aql_.reset();
    sdma_.reset();
    make_queues();
    ++steps_;
  }

  void use_buffer() {
    // Each thread uses a separate gigabyte of addresses.
    const uint64_t va = 0x100000000000 + (uint64_t{index_} << 30) + uint64_t{random_below(64)} * (4 << 20);
    const uint64_t bytes = (1 + uint64_t{random_below(256)}) * 4096;
    const bool vram = random_below(2) == 0;
    const uint32_t gpu = random_below(client_.gpu_count());
    const uint64_t handle = client_.allocate(
        gpu, (vram ? KFD_MEM_VRAM | KFD_MEM_PUBLIC : KFD_MEM_GTT) | KFD_MEM_WRITABLE, bytes, va);
    const uint64_t part = std::min(bytes, kBufferBytes);
    signal(0).value().store(2, std::memory_order_relaxed);
    sdma_->copy(va, from_.va(), part, signal(0));
    sdma_->copy(to_.va(), va, part, signal(0));
    signal(0).wait("a copy through a buffer");
    if (std::memcmp(from_.host, to_.host, part) != 0) fail("a buffer is not what was written");
    if (random_below(4) == 0) {
      kfd_export_dmabuf exported{handle, O_CLOEXEC | O_RDWR, 0};
      client_.must(KFD_NR_EXPORT_DMABUF, exported, "EXPORT_DMABUF");
      kfd_import_dmabuf import{va + (uint64_t{1} << 29), 0, client_.gpu_id(gpu), exported.dmabuf_fd};
      client_.must(KFD_NR_IMPORT_DMABUF, import, "IMPORT_DMABUF");
      ::close(static_cast<int>(exported.dmabuf_fd));
      client_.free(import.handle);
    }
    client_.free(handle);
    ++steps_;
  }

  void use_event() {
    kfd_create_event e{};
    e.auto_reset = random_below(2);
    client_.must(KFD_NR_CREATE_EVENT, e, "CREATE_EVENT");
    kfd_event_ref ref{e.event_id, 0};
    client_.must(KFD_NR_SET_EVENT, ref, "SET_EVENT");
    kfd_event_data data{};
    data.event_id = e.event_id;
    kfd_wait_events wait{reinterpret_cast<uint64_t>(&data), 1, 1, 1000, 0};
    client_.must(KFD_NR_WAIT_EVENTS, wait, "WAIT_EVENTS");
    if (wait.wait_result != KFD_WAIT_COMPLETE) fail("an event that was set is not");
    client_.must(KFD_NR_DESTROY_EVENT, ref, "DESTROY_EVENT");
    kfd_get_clock_counters clocks{};
    clocks.gpu_id = client_.gpu_id(0);
    client_.must(KFD_NR_GET_CLOCK_COUNTERS, clocks, "GET_CLOCK_COUNTERS");
    ++steps_;
  }

  Client& client_;
  const size_t index_;
  const Client::Memory& thread_signals_;  // one signal per thread, with the value 0
  std::mt19937_64 random_;
  const Client::Memory signals_, from_, to_;
  std::unique_ptr<ClientQueue> aql_, sdma_;
  uint64_t steps_ = 0;
};

TEST(VgpuStress, ThreadsUseQueuesAndMemoryConcurrently) {
  const char* const setting = std::getenv("VGPU_STRESS_SECONDS");
  const auto seconds = std::chrono::seconds(setting == nullptr ? 1 : std::atoi(setting));
  Client client("gfx900:vram=256M,gfx906:vram=256M,gfx1030:vram=256M");
  const Client::Memory thread_signals = client.share(kThreads * 64);
  const auto end = std::chrono::steady_clock::now() + seconds;
  std::array<uint64_t, kThreads> steps{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Worker worker(client, i, thread_signals,
                    static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
      while (std::chrono::steady_clock::now() < end) worker.step();
      steps[i] = worker.steps();
    });
  }
  for (std::thread& thread : threads) thread.join();
  client.release(thread_signals);
  for (const uint64_t n : steps) EXPECT_GT(n, 0u);
}

}  // namespace
}  // namespace rigel::vgpu
