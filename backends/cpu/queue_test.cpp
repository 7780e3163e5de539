// Valid and invalid packets, as submitted by an application.
#include "backends/cpu/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/testing/kernels.hpp"
#include "backends/cpu/testing/rig.hpp"

namespace rigel::cpu {
namespace {

using namespace testing;

class CpuQueue : public ::testing::Test {
 protected:
  CpuQueue() {
    rig.load(TEST_KERNELS);
    rig.load(TEST_C_KERNELS);
  }

  uint64_t signal(int64_t value) {
    signals_.push_back(rig.host.create_signal(value));
    return signals_.back();
  }
  ~CpuQueue() override {
    for (const uint64_t handle : signals_) rig.host.destroy_signal(handle);
  }

  Packet append(AppendArgs& args, uint64_t completion = 0) {
    return kernel_packet(rig.kernel("append"), &args, {}, {}, completion);
  }

  Packet barrier(hsa_packet_type_t type, std::vector<uint64_t> dependencies, uint64_t completion) {
    Packet packet{};
    packet.header = header_of(type);
    for (size_t i = 0; i < dependencies.size(); ++i)
      packet.barrier_and.dep_signal[i].handle = dependencies[i];
    packet.barrier_and.completion_signal.handle = completion;
    return packet;
  }

  Packet barrier_value(uint64_t dependency, hsa_signal_condition_t condition, int64_t value, int64_t mask,
                       uint64_t completion) {
    Packet packet{};
    packet.header = header_of(HSA_PACKET_TYPE_VENDOR_SPECIFIC);
    packet.barrier_value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
    packet.barrier_value.signal.handle = dependency;
    packet.barrier_value.value = value;
    packet.barrier_value.mask = mask;
    packet.barrier_value.cond = condition;
    packet.barrier_value.completion_signal.handle = completion;
    return packet;
  }

  // Expects that the queue stops at this packet with this status, while other queues continue.
  void expect_error(const Packet& packet, hsa_status_t status) {
    SCOPED_TRACE(status);
    TestQueue bystander(rig);
    TestQueue queue(rig);
    ASSERT_TRUE(queue.run(rig.kernel("empty"), nullptr, {}));
    const uint64_t behind = signal(1);
    const uint64_t index = queue.submit(packet);
    Packet next = kernel_packet(rig.kernel("empty"), nullptr, {}, {}, behind);
    queue.submit(next);
    EXPECT_EQ(rig.host.wait_for_error(queue.cookie()), status);
    EXPECT_TRUE(bystander.run(rig.kernel("empty"), nullptr, {}));
    EXPECT_EQ(FakeHost::load(behind), 1);
    EXPECT_EQ(queue.read_index(), index);
    EXPECT_EQ(queue.slot(index).header, packet.header) << "the packet stays to be looked at";
  }

  // Time for an incorrect action of another thread.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  Rig rig{{"threads", 2}};

 private:
  std::vector<uint64_t> signals_;
};

TEST_F(CpuQueue, DescribesItself) {
  TestQueue queue(rig, 128, HSA_QUEUE_TYPE_SINGLE);
  const hsa_queue_t& face = queue.amd().hsa_queue;
  EXPECT_EQ(face.type, uint32_t{HSA_QUEUE_TYPE_SINGLE});
  EXPECT_EQ(face.features, uint32_t{HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH});
  EXPECT_EQ(face.size, 128u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(face.base_address) % 64, 0u);
  EXPECT_EQ(queue.amd().read_dispatch_id_field_base_byte_offset, 128u);
  for (uint64_t i = 0; i < 128; ++i) EXPECT_EQ(queue.slot(i).header, HSA_PACKET_TYPE_INVALID);
  TestQueue other(rig);
  EXPECT_NE(other.amd().hsa_queue.id, face.id);
}

TEST_F(CpuQueue, RejectsSizeThatIsNotPowerOfTwo) {
  EXPECT_THROW(TestQueue(rig, 48), std::runtime_error);
  EXPECT_THROW(TestQueue(rig, 0), std::runtime_error);
  EXPECT_THROW(TestQueue(rig, 2 * kQueueMaxPackets), std::runtime_error);
  EXPECT_THROW(TestQueue(rig, 64, 7), std::runtime_error);
}

TEST_F(CpuQueue, CreateFailsWithoutMemory) {
  rig.host.out_of_memory = true;
  EXPECT_THROW(TestQueue(rig, 64), std::runtime_error);
  rig.host.out_of_memory = false;
}

TEST_F(CpuQueue, DestroyReleasesEverything) {
  const int signals = rig.host.live_signals(), allocations = rig.host.live_allocations();
  { TestQueue queue(rig); }
  EXPECT_EQ(rig.host.live_signals(), signals);
  EXPECT_EQ(rig.host.live_allocations(), allocations);
}

TEST_F(CpuQueue, RunsKernel) {
  TestQueue queue(rig);
  uint64_t next = 0, order[1] = {};
  alignas(16) AppendArgs args{&next, order, 42};
  EXPECT_TRUE(queue.run(append(args)));
  EXPECT_EQ(next, 1u);
  EXPECT_EQ(order[0], 42u);
}

TEST_F(CpuQueue, ReleasesSlotBeforePacketRuns) {
  TestQueue queue(rig);
  ASSERT_TRUE(queue.run(rig.kernel("empty"), nullptr, {}));
  EXPECT_EQ(queue.slot(0).header, HSA_PACKET_TYPE_INVALID);
  EXPECT_EQ(queue.read_index(), 1u);
}

TEST_F(CpuQueue, WrapsAtSize) {
  for (const uint32_t size : {1u, 2u, 16u}) {
    TestQueue queue(rig, size);
    constexpr uint64_t kCount = 100;
    uint64_t next = 0;
    std::vector<uint64_t> order(kCount);
    struct alignas(16) Aligned : AppendArgs {};
    std::vector<Aligned> args;
    for (uint64_t i = 0; i < kCount; ++i) args.push_back({{&next, order.data(), i}});
    const uint64_t done = signal(kCount);
    for (auto& each : args) queue.submit(append(each, done));
    ASSERT_TRUE(rig.host.wait_equal(done, 0));
    for (uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(order[i], i) << "queue of " << size;
    EXPECT_EQ(queue.read_index(), kCount);
  }
}

TEST_F(CpuQueue, WaitsForUnwrittenPacket) {
  TestQueue queue(rig);
  uint64_t next = 0, order[2] = {9, 9};
  alignas(16) AppendArgs first{&next, order, 0}, second{&next, order, 1};
  const uint64_t done = signal(2);
  const uint64_t a = queue.reserve(), b = queue.reserve();
  queue.write(b, append(second, done));
  queue.ring(b);
  settle();
  EXPECT_EQ(FakeHost::load(done), 2);
  queue.write(a, append(first, done));
  queue.ring(a);
  ASSERT_TRUE(rig.host.wait_equal(done, 0));
  EXPECT_EQ(order[0], 0u);
  EXPECT_EQ(order[1], 1u);
}

TEST_F(CpuQueue, WakesForRepeatedDoorbellValue) {
  TestQueue queue(rig);
  for (int i = 0; i < 3; ++i) {
    const uint64_t done = signal(1);
    const uint64_t index = queue.reserve();
    settle();  // until the thread sleeps
    queue.write(index, kernel_packet(rig.kernel("empty"), nullptr, {}, {}, done));
    queue.ring(0);
    EXPECT_TRUE(rig.host.wait_equal(done, 0));
  }
}

TEST_F(CpuQueue, AcceptsPacketsOfManyProducers) {
  constexpr int kProducers = 4;
  constexpr uint64_t kEach = 500;
  TestQueue queue(rig, 16);
  uint64_t items = 0, groups = 0;
  alignas(16) CountArgs args{&items, &groups};
  const uint64_t done = signal(kProducers * kEach);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        queue.submit(kernel_packet(rig.kernel("count"), &args, {10}, {4}, done));
      }
    });
  }
  for (auto& producer : producers) producer.join();
  ASSERT_TRUE(rig.host.wait_equal(done, 0));
  EXPECT_EQ(items, kProducers * kEach * 10);
  EXPECT_EQ(groups, kProducers * kEach * 3);
}

TEST_F(CpuQueue, PassesDispatchToKernel) {
  TestQueue queue(rig);
  ASSERT_TRUE(queue.run(rig.kernel("empty"), nullptr, {}));
  DispatchRecord record{};
  alignas(16) RecordDispatchArgs args{&record};
  const uint64_t done = signal(1);
  Packet packet = kernel_packet(rig.kernel("record_dispatch"), &args, {6, 1}, {6, 1}, done);
  packet.kernel.setup = 2;
  packet.kernel.group_segment_size = 100;
  packet.kernel.private_segment_size = 64;
  queue.submit(packet);
  ASSERT_TRUE(rig.host.wait_equal(done, 0));
  EXPECT_EQ(record.packet_id, 1u);
  EXPECT_EQ(record.dimensions, 2u);
  EXPECT_EQ(record.group_segment_size, 100u);
  EXPECT_EQ(record.completion_signal, done);
  EXPECT_EQ(record.queue, &queue.amd().hsa_queue);
  EXPECT_EQ(record.group_segment % 64, 0u);
  EXPECT_EQ(record.private_segment % 64, 0u);
}

// ---------------------------------------------------------------------------------------------------------
// Agent dispatch

TEST_F(CpuQueue, CallsAgentFunctions) {
  TestQueue queue(rig);
  uint64_t sum = 0;
  Packet packet{};
  packet.header = header_of(HSA_PACKET_TYPE_AGENT_DISPATCH);
  packet.agent.type = 0x8001;
  packet.agent.return_address = &sum;
  for (uint64_t i = 0; i < 4; ++i) packet.agent.arg[i] = 1u << i;
  EXPECT_TRUE(queue.run(packet));
  EXPECT_EQ(sum, 15u);
  packet.agent.return_address = nullptr;
  EXPECT_TRUE(queue.run(packet));
}

TEST_F(CpuQueue, StopsAtUnknownAgentFunction) {
  Packet packet{};
  packet.header = header_of(HSA_PACKET_TYPE_AGENT_DISPATCH);
  packet.agent.type = 0x8002;
  expect_error(packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

// ---------------------------------------------------------------------------------------------------------
// Barriers

TEST_F(CpuQueue, BarrierAndWaitsForAllDependencies) {
  TestQueue queue(rig);
  const uint64_t a = signal(1), b = signal(2), done = signal(1);
  queue.submit(barrier(HSA_PACKET_TYPE_BARRIER_AND, {a, 0, b}, done));
  rig.host.store(b, 0);
  settle();
  EXPECT_EQ(FakeHost::load(done), 1);
  rig.host.store(b, 5);  // it has been 0, which is sufficient
  rig.host.store(a, 0);
  EXPECT_TRUE(rig.host.wait_equal(done, 0));
}

TEST_F(CpuQueue, BarrierOrWaitsForOneDependency) {
  TestQueue queue(rig);
  const uint64_t a = signal(1), b = signal(1), done = signal(1);
  queue.submit(barrier(HSA_PACKET_TYPE_BARRIER_OR, {0, a, b}, done));
  settle();
  EXPECT_EQ(FakeHost::load(done), 1);
  rig.host.store(b, 0);
  EXPECT_TRUE(rig.host.wait_equal(done, 0));
}

TEST_F(CpuQueue, BarriersWithoutDependenciesComplete) {
  TestQueue queue(rig);
  EXPECT_TRUE(queue.run(barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, 0)));
  EXPECT_TRUE(queue.run(barrier(HSA_PACKET_TYPE_BARRIER_OR, {}, 0)));
  EXPECT_TRUE(queue.run(barrier_value(0, HSA_SIGNAL_CONDITION_EQ, 1, 1, 0)));
}

TEST_F(CpuQueue, BarriersDelayLaterPackets) {
  TestQueue queue(rig);
  uint64_t next = 0, order[1] = {};
  alignas(16) AppendArgs args{&next, order, 1};
  const uint64_t dependency = signal(1), done = signal(1);
  queue.submit(barrier(HSA_PACKET_TYPE_BARRIER_AND, {dependency}, 0));
  Packet packet = append(args, done);
  packet.header &= static_cast<uint16_t>(~(1u << HSA_PACKET_HEADER_BARRIER));
  queue.submit(packet);
  settle();
  EXPECT_EQ(FakeHost::load(done), 1);
  rig.host.store(dependency, 0);
  EXPECT_TRUE(rig.host.wait_equal(done, 0));
}

TEST_F(CpuQueue, NegativeDependencyIsNotSatisfied) {
  TestQueue queue(rig);
  const uint64_t dependency = signal(-1), done = signal(1);
  queue.submit(barrier(HSA_PACKET_TYPE_BARRIER_AND, {dependency}, done));
  settle();
  EXPECT_EQ(FakeHost::load(done), 1);
  rig.host.store(dependency, 0);
  EXPECT_TRUE(rig.host.wait_equal(done, 0));
}

TEST_F(CpuQueue, BarrierValueComparesWithMask) {
  struct Case {
    hsa_signal_condition_t condition;
    int64_t value, mask, no, yes;
  };
  for (const Case& row : {Case{HSA_SIGNAL_CONDITION_EQ, 0x20, 0xf0, 0x1f, 0x2f},
                          Case{HSA_SIGNAL_CONDITION_NE, 0x20, 0xf0, 0x2f, 0x1f},
                          Case{HSA_SIGNAL_CONDITION_LT, 0x20, 0xf0, 0x12f, 0x11f},
                          Case{HSA_SIGNAL_CONDITION_GTE, 0x20, 0xf0, 0x110, 0x25},
                          Case{HSA_SIGNAL_CONDITION_LT, 0, -1, 0, -1}}) {
    TestQueue queue(rig);
    const uint64_t dependency = signal(row.no), done = signal(1);
    queue.submit(barrier_value(dependency, row.condition, row.value, row.mask, done));
    settle();
    EXPECT_EQ(FakeHost::load(done), 1) << row.condition;
    rig.host.store(dependency, row.no + 0x1000);  // a change, but not the expected one
    if ((row.mask & 0x1000) == 0) {
      settle();
      EXPECT_EQ(FakeHost::load(done), 1) << row.condition;
    }
    rig.host.store(dependency, row.yes);
    EXPECT_TRUE(rig.host.wait_equal(done, 0)) << row.condition;
  }
}

TEST_F(CpuQueue, ResolvesBarrierGraphsAcrossQueues) {
  // Packet i of queue q depends on packets of any queue with smaller indices, so random graphs have no
  // cycles.
  constexpr size_t kQueues = 4, kPackets = 60;
  uint32_t state = 12345;
  const auto draw = [&state](uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<TestQueue>> queues;
    for (size_t q = 0; q < kQueues; ++q) queues.push_back(std::make_unique<TestQueue>(rig, 64));
    std::vector<std::vector<uint64_t>> done(kQueues, std::vector<uint64_t>(kPackets));
    for (auto& row : done) {
      for (auto& each : row) each = signal(1);
    }
    std::vector<std::pair<size_t, Packet>> packets;
    for (size_t i = 0; i < kPackets; ++i) {
      for (size_t q = 0; q < kQueues; ++q) {
        std::vector<uint64_t> dependencies(5);
        for (auto& dependency : dependencies) {
          if (i > 0 && draw(3) != 0) dependency = done[draw(kQueues)][draw(static_cast<uint32_t>(i))];
        }
        switch (draw(4)) {
          case 0:
            packets.emplace_back(q, kernel_packet(rig.kernel("empty"), nullptr, {32}, {8}, done[q][i]));
            break;
          case 1:
            packets.emplace_back(q, barrier(HSA_PACKET_TYPE_BARRIER_OR, dependencies, done[q][i]));
            break;
          case 2:
            packets.emplace_back(
                q, barrier_value(dependencies[0], HSA_SIGNAL_CONDITION_LT, 1, INT64_MAX, done[q][i]));
            break;
          default:
            packets.emplace_back(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, dependencies, done[q][i]));
        }
      }
    }
    // Last queue first, so that dependencies mostly come later than their barriers.
    for (size_t q = kQueues; q-- > 0;) {
      for (const auto& [queue, packet] : packets) {
        if (queue == q) queues[q]->submit(packet);
      }
    }
    for (const auto& row : done) {
      for (const uint64_t each : row) ASSERT_TRUE(rig.host.wait_equal(each, 0));
    }
  }
  EXPECT_EQ(rig.host.error_count(), 0u);
}

// ---------------------------------------------------------------------------------------------------------
// Invalid packets

TEST_F(CpuQueue, StopsAtUnknownPacketTypes) {
  for (const unsigned type : {6u, 7u, 200u, 255u}) {
    Packet packet{};
    packet.header = static_cast<uint16_t>(type);
    expect_error(packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  }
}

TEST_F(CpuQueue, StopsAtUnknownVendorFormats) {
  for (const unsigned format : {0u, 1u, 3u, 0xfeu}) {
    Packet packet = barrier_value(0, HSA_SIGNAL_CONDITION_EQ, 0, 0, 0);
    packet.barrier_value.header.AmdFormat = static_cast<hsa_amd_packet_type8_t>(format);
    expect_error(packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  }
}

TEST_F(CpuQueue, StopsAtUnalignedSignals) {
  const uint64_t odd = signal(1) + 8;
  Packet packet = kernel_packet(rig.kernel("empty"), nullptr, {}, {}, odd);
  expect_error(packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  expect_error(barrier(HSA_PACKET_TYPE_BARRIER_AND, {odd}, 0), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  expect_error(barrier(HSA_PACKET_TYPE_BARRIER_OR, {0, odd}, 0), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  expect_error(barrier_value(odd, HSA_SIGNAL_CONDITION_EQ, 0, -1, 0), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

TEST_F(CpuQueue, StopsAtUnknownBarrierValueCondition) {
  expect_error(barrier_value(signal(0), static_cast<hsa_signal_condition_t>(4), 0, -1, 0),
               HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

TEST_F(CpuQueue, StopsAtInvalidKernelObjects) {
  const uint64_t real = rig.kernel("empty");
  for (const uint64_t object :
       {uint64_t{0}, uint64_t{64}, real + 8, ~uint64_t{63}, uint64_t{0xdead0000beef0040}}) {
    Packet packet = kernel_packet(real, nullptr, {});
    packet.kernel.kernel_object = object;
    expect_error(packet, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  }
}

TEST_F(CpuQueue, StopsAtInvalidDimensions) {
  const uint64_t kernel = rig.kernel("empty");
  const auto expect_bad = [&](auto change) {
    Packet packet = kernel_packet(kernel, nullptr, {8, 8, 8}, {2, 2, 2});
    change(packet.kernel);
    expect_error(packet, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  };
  expect_bad([](auto& packet) { packet.setup = 0; });
  expect_bad([](auto& packet) { packet.setup = 2; });  // z is more than 1
  expect_bad([](auto& packet) { packet.setup = 1; });
  expect_bad([](auto& packet) { packet.grid_size_x = 0; });
  expect_bad([](auto& packet) { packet.grid_size_y = 0; });
  expect_bad([](auto& packet) { packet.grid_size_z = 0; });
  expect_bad([](auto& packet) { packet.workgroup_size_x = 0; });
  expect_bad([](auto& packet) { packet.workgroup_size_y = 0; });
  expect_bad([](auto& packet) { packet.workgroup_size_z = 0; });
  expect_bad([](auto& packet) { packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = UINT32_MAX; });
}

TEST_F(CpuQueue, StopsAtTooLargeWorkgroup) {
  Packet packet =
      kernel_packet(rig.kernel("empty"), nullptr, {kWorkgroupMaxSize * 2}, {kWorkgroupMaxSize + 1});
  expect_error(packet, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  packet = kernel_packet(rig.kernel("empty"), nullptr, {65535, 65535, 65535}, {65535, 65535, 65535});
  packet.kernel.grid_size_z = 1;
  packet.kernel.workgroup_size_z = 1;
  expect_error(packet, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(CpuQueue, StopsAtUnsupportedWorkgroupSize) {
  ItemRecord record{};
  alignas(16) RecordIdsArgs args{&record};
  expect_error(kernel_packet(rig.kernel("record_ids_4x3x2"), &args, {4, 3, 2}, {4, 3, 1}),
               HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
}

TEST_F(CpuQueue, StopsAtInvalidGroupMemory) {
  DispatchRecord record{};
  alignas(16) RecordDispatchArgs args{&record};
  Packet packet = kernel_packet(rig.kernel("record_dispatch"), &args, {});
  packet.kernel.group_segment_size = kGroupSegmentSize + 1;
  expect_error(packet, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  packet.kernel.group_segment_size = 31;
  expect_error(packet, HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(CpuQueue, StopsAtInvalidPrivateMemory) {
  DispatchRecord record{};
  alignas(16) RecordDispatchArgs args{&record};
  Packet packet = kernel_packet(rig.kernel("record_dispatch"), &args, {});
  packet.kernel.private_segment_size = kPrivateSegmentMax + 1;
  expect_error(packet, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  packet.kernel.private_segment_size = 47;
  expect_error(packet, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

TEST_F(CpuQueue, StopsAtMissingOrUnalignedKernelArguments) {
  uint64_t next = 0, order[1];
  alignas(16) AppendArgs args{&next, order, 1};
  expect_error(kernel_packet(rig.kernel("append"), nullptr, {}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  expect_error(kernel_packet(rig.kernel("append"), reinterpret_cast<char*>(&args) + 8, {}),
               HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(next, 0u);
}

TEST_F(CpuQueue, StopsAtUnloadedKernel) {
  Rig own{{"threads", 1}};
  const size_t image = own.load(TEST_KERNELS);
  TestQueue queue(own);
  ASSERT_TRUE(queue.run(own.kernel("empty"), nullptr, {}));
  const Packet packet = kernel_packet(own.kernel("empty"), nullptr, {});
  own.unload(image);
  queue.submit(packet);
  EXPECT_EQ(own.host.wait_for_error(queue.cookie()), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

// ---------------------------------------------------------------------------------------------------------
// Destruction

class Busy {
 public:
  explicit Busy(Rig& rig) : rig_(rig) {}
  Packet packet(Extent grid, uint64_t completion = 0) {
    return kernel_packet(rig_.kernel("wait_for_flag"), &args_, grid, {}, completion);
  }
  void wait_until_entered(uint32_t count = 1) {
    while (__atomic_load_n(&entered_, __ATOMIC_ACQUIRE) < count) std::this_thread::yield();
  }
  uint32_t entered() { return __atomic_load_n(&entered_, __ATOMIC_ACQUIRE); }
  void release() { __atomic_store_n(&flag_, 1, __ATOMIC_RELEASE); }

 private:
  Rig& rig_;
  uint32_t flag_ = 0, entered_ = 0;
  alignas(16) WaitForFlagArgs args_{&flag_, &entered_};
};

TEST_F(CpuQueue, DestroyWaitsForRunningKernel) {
  auto queue = std::make_unique<TestQueue>(rig);
  Busy busy(rig);
  const uint64_t behind = signal(1);
  queue->submit(busy.packet({}));
  queue->submit(kernel_packet(rig.kernel("empty"), nullptr, {}, {}, behind));
  busy.wait_until_entered();
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    queue.reset();
    destroyed = true;
  });
  settle();
  EXPECT_FALSE(destroyed);
  busy.release();
  destroyer.join();
  EXPECT_EQ(FakeHost::load(behind), 1) << "what was not begun is dropped";
}

TEST_F(CpuQueue, DestroyDropsPendingWorkgroups) {
  auto queue = std::make_unique<TestQueue>(rig);
  Busy busy(rig);
  const uint64_t done = signal(1);
  queue->submit(busy.packet({1'000'000}, done));
  busy.wait_until_entered();
  std::thread destroyer([&] { queue.reset(); });
  settle();
  busy.release();
  destroyer.join();
  EXPECT_LT(busy.entered(), 1'000'000u);
  EXPECT_EQ(FakeHost::load(done), 1);
}

TEST_F(CpuQueue, DestroyInterruptsEveryWait) {
  const uint64_t never = signal(1);
  for (const Packet& packet :
       {barrier(HSA_PACKET_TYPE_BARRIER_AND, {never}, 0), barrier(HSA_PACKET_TYPE_BARRIER_OR, {never}, 0),
        barrier_value(never, HSA_SIGNAL_CONDITION_EQ, 7, -1, 0)}) {
    for (const bool asleep : {false, true}) {
      TestQueue queue(rig);
      queue.submit(packet);
      if (asleep) settle();
    }
  }
  for (const bool asleep : {false, true}) {
    TestQueue idle(rig);
    if (asleep) settle();
  }
}

TEST_F(CpuQueue, DestroyWorksAfterError) {
  TestQueue queue(rig);
  Packet packet{};
  packet.header = 99;
  queue.submit(packet);
  ASSERT_TRUE(rig.host.wait_for_error(queue.cookie()));
}

TEST_F(CpuQueue, InactivateStopsPermanently) {
  TestQueue queue(rig);
  ASSERT_TRUE(queue.run(rig.kernel("empty"), nullptr, {}));
  EXPECT_EQ(rig.backend().queue->inactivate(queue.handle()), HSA_STATUS_SUCCESS);
  const uint64_t done = signal(1);
  queue.submit(kernel_packet(rig.kernel("empty"), nullptr, {}, {}, done));
  settle();
  EXPECT_EQ(FakeHost::load(done), 1);
  EXPECT_EQ(rig.host.error_count(), 0u);
}

TEST_F(CpuQueue, ReportsErrorOnce) {
  TestQueue queue(rig);
  Packet packet{};
  packet.header = 99;
  for (int i = 0; i < 3; ++i) queue.submit(packet);
  ASSERT_TRUE(rig.host.wait_for_error(queue.cookie()));
  settle();
  EXPECT_EQ(rig.host.error_count(), 1u);
}

// ---------------------------------------------------------------------------------------------------------
// Profiling, priority

TEST_F(CpuQueue, RecordsTimesWithProfiling) {
  TestQueue queue(rig);
  const auto stamps = [&](Packet packet) {
    const uint64_t done = signal(1);
    packet.kernel.completion_signal.handle = done;
    queue.submit(packet);
    EXPECT_TRUE(rig.host.wait_equal(done, 0));
    const auto* const memory = reinterpret_cast<const amd_signal_t*>(done);
    return std::pair(memory->start_ts, memory->end_ts);
  };
  const Packet packet = kernel_packet(rig.kernel("empty"), nullptr, {});
  EXPECT_EQ(stamps(packet), (std::pair<uint64_t, uint64_t>(0, 0)));

  ASSERT_EQ(rig.backend().queue->set_profiling(queue.handle(), 1), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(queue.amd().queue_properties & AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
  const uint64_t before = system_time_ns();
  const auto first = stamps(packet);
  const auto second = stamps(barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, 0));
  const uint64_t after = system_time_ns();
  EXPECT_LE(before, first.first);
  EXPECT_LE(first.first, first.second);
  EXPECT_LE(first.second, second.first);
  EXPECT_LE(second.first, second.second);
  EXPECT_LE(second.second, after);

  ASSERT_EQ(rig.backend().queue->set_profiling(queue.handle(), 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(stamps(packet), (std::pair<uint64_t, uint64_t>(0, 0)));
}

TEST_F(CpuQueue, AcceptsPriorities) {
  TestQueue queue(rig);
  for (const uint32_t priority : {HSABE_PRIORITY_LOW, HSABE_PRIORITY_NORMAL, HSABE_PRIORITY_HIGH}) {
    EXPECT_EQ(rig.backend().queue->set_priority(queue.handle(), priority), HSA_STATUS_SUCCESS);
    EXPECT_TRUE(queue.run(rig.kernel("empty"), nullptr, {}));
  }
  EXPECT_EQ(rig.backend().queue->set_priority(queue.handle(), 3), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace rigel::cpu
