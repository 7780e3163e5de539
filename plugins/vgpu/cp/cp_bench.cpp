// Costs of the command processors: round trip of a barrier packet, packet throughput, and copies compared
// with memcpy.
#include <chrono>
#include <thread>

#include <benchmark/benchmark.h>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/command_processor.hpp"
#include "plugins/vgpu/cp/fake_bus.hpp"

namespace rigel::vgpu::testing {
namespace {

/// A device with worker threads, one AQL queue, one SDMA queue and a signal.
struct Device {
  static constexpr uint32_t kPackets = 4096;
  static constexpr uint64_t kSdmaBytes = 1 << 20;

  FakeBus bus;
  NoShaderCores none;
  CommandProcessor cp{DeviceConfig{}, bus, none};
  Buffer ring = bus.allocate(kPackets * 64), queue = bus.allocate(kPage), signal = bus.allocate(kPage);
  Buffer sdma_ring = bus.allocate(kSdmaBytes), sdma_pointers = bus.allocate(kPage);
  uint64_t next = 0, sdma_next = 0;

  Device() {
    for (uint32_t i = 0; i < kPackets; ++i) *ring.at<uint16_t>(i * 64ull) = aql::kInvalidHeader;
    *queue.at<uint32_t>(aql::kQueueReadIndexOffset) = aql::kQueueReadIndex;
    QueueConfig config;
    config.queue_id = 1;
    config.ring_va = ring.va;
    config.ring_bytes = kPackets * 64;
    config.read_pointer_va = queue.va + aql::kQueueReadIndex;
    cp.create_queue(config);
    config = {};
    config.queue_id = 2;
    config.kind = QueueKind::kSdma;
    config.ring_va = sdma_ring.va;
    config.ring_bytes = kSdmaBytes;
    config.read_pointer_va = sdma_pointers.va;
    cp.create_queue(config);
  }

  std::atomic_ref<int64_t> value() { return std::atomic_ref<int64_t>(*signal.at<int64_t>(8)); }
  uint64_t read_index() {
    return std::atomic_ref<uint64_t>(*queue.at<uint64_t>(aql::kQueueReadIndex))
        .load(std::memory_order_acquire);
  }
  void barrier(bool signals) {
    uint32_t* words = ring.at<uint32_t>(next % kPackets * 64);
    std::memset(words + 1, 0, 60);
    if (signals) std::memcpy(words + 14, &signal.va, 8);
    std::atomic_ref<uint32_t>(words[0]).store(HSA_PACKET_TYPE_BARRIER_AND, std::memory_order_release);
    ++next;
  }
  void sdma(const uint32_t* words, size_t count) {
    if (kSdmaBytes - sdma_next % kSdmaBytes < count * 4) {  // pad to the end with NOPs
      while (sdma_next % kSdmaBytes != 0) *sdma_ring.at<uint32_t>(sdma_next % kSdmaBytes) = 0, sdma_next += 4;
    }
    std::memcpy(sdma_ring.at<uint32_t>(sdma_next % kSdmaBytes), words, count * 4);
    sdma_next += count * 4;
  }
  void wait_for_signal() {
    while (value().load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }
  /// Copies in packets of at most 0x3fffe0 bytes, as runtimes do, then decrements the signal.
  void copy(const Buffer& to, const Buffer& from, uint64_t bytes) {
    value().store(1, std::memory_order_relaxed);
    constexpr uint64_t kLargest = 0x3fffe0;
    for (uint64_t at = 0; at < bytes; at += kLargest) {
      const uint64_t piece = std::min(bytes - at, kLargest);
      const uint64_t source = from.va + at, target = to.va + at;
      const uint32_t words[] = {1,
                                static_cast<uint32_t>(piece - 1),
                                0,
                                static_cast<uint32_t>(source),
                                static_cast<uint32_t>(source >> 32),
                                static_cast<uint32_t>(target),
                                static_cast<uint32_t>(target >> 32)};
      sdma(words, std::size(words));
    }
    const uint64_t va = signal.va + 8;
    const uint32_t done[] = {10 | 47u << 25,
                             static_cast<uint32_t>(va),
                             static_cast<uint32_t>(va >> 32),
                             UINT32_MAX,
                             UINT32_MAX,
                             0,
                             0,
                             0};
    sdma(done, std::size(done));
    cp.ring_doorbell(2, sdma_next);
    wait_for_signal();
  }
};

void barrier_round_trip(benchmark::State& state) {
  Device device;
  for (auto _ : state) {
    device.value().store(1, std::memory_order_relaxed);
    device.barrier(true);
    device.cp.ring_doorbell(1, device.next - 1);
    device.wait_for_signal();
  }
}
BENCHMARK(barrier_round_trip)->UseRealTime();

void barrier_wake_up(benchmark::State& state) {
  Device device;
  for (auto _ : state) {
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    state.ResumeTiming();
    device.value().store(1, std::memory_order_relaxed);
    device.barrier(true);
    device.cp.ring_doorbell(1, device.next - 1);
    device.wait_for_signal();
  }
}
BENCHMARK(barrier_wake_up)->UseRealTime()->Iterations(300);

void barriers_in_bulk(benchmark::State& state) {
  Device device;
  const bool signals = state.range(0) != 0;
  for (auto _ : state) {
    while (device.next - device.read_index() >= Device::kPackets) __builtin_ia32_pause();
    device.barrier(signals);
    if (device.next % 64 == 0) device.cp.ring_doorbell(1, device.next - 1);
  }
  device.cp.ring_doorbell(1, device.next - 1);
  while (device.read_index() != device.next) __builtin_ia32_pause();
}
BENCHMARK(barriers_in_bulk)->ArgName("signal")->Arg(0)->Arg(1)->UseRealTime();

void doorbell(benchmark::State& state) {
  Device device;
  for (auto _ : state) device.cp.ring_doorbell(7, 0);
}
BENCHMARK(doorbell);

void sdma_copy(benchmark::State& state) {
  Device device;
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const Buffer from = device.bus.allocate(bytes), to = device.bus.allocate(bytes);
  std::memset(from.host, 1, bytes);
  std::memset(to.host, 2, bytes);
  for (auto _ : state) device.copy(to, from, bytes);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}
BENCHMARK(sdma_copy)->ArgName("bytes")->Arg(4096)->Arg(1 << 20)->Arg(256 << 20)->UseRealTime();

void host_memcpy(benchmark::State& state) {
  FakeBus bus;
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const Buffer from = bus.allocate(bytes), to = bus.allocate(bytes);
  std::memset(from.host, 1, bytes);
  std::memset(to.host, 2, bytes);
  for (auto _ : state) {
    std::memcpy(to.host, from.host, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}
BENCHMARK(host_memcpy)->ArgName("bytes")->Arg(4096)->Arg(1 << 20)->Arg(256 << 20)->UseRealTime();

}  // namespace
}  // namespace rigel::vgpu::testing
