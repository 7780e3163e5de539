// DispatchQueueTest of an open device: requests for scratch, and errors of the processor and of waves.
#include "backends/common/dispatch_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "api/support/testing/failing_requests.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/queue_error.hpp"
#include "backends/common/scratch_keeper.hpp"
#include "backends/common/scratch_need.hpp"
#include "backends/common/testing/backend_host.hpp"
#include "backends/common/testing/every_board.hpp"
#include "backends/common/trap_handler.hpp"

namespace rigel::gfx {
namespace {

using ::testing::ElementsAre;
using testing::eventually;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pair;

constexpr uint64_t kCookie = 42;
constexpr uint32_t kNoInstruction = 0xffffffff;

class DispatchQueueTest : public testing::EveryBoard {
 protected:
  void SetUp() override {
    EveryBoard::SetUp();
    host_ = std::make_unique<testing::BackendHost>(gpu());
    ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
    create(kCookie, queue_, info_);
  }
  void TearDown() override {
    queue_.reset();
    device_.reset();
    host_.reset();
  }
  void create(uint64_t cookie, std::unique_ptr<DispatchQueue>& queue, hsabe_queue_info_t& info,
              uint32_t private_bytes = UINT32_MAX, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI) {
    hsabe_queue_desc_t desc{};
    desc.struct_size = sizeof(desc);
    desc.cookie = cookie;
    desc.packets = 64;
    desc.type = type;
    desc.private_segment_size = private_bytes;
    desc.group_segment_size = UINT32_MAX;
    info = {};
    info.struct_size = sizeof(info);
    ASSERT_EQ(DispatchQueue::create(*device_, desc, &info), HSA_STATUS_SUCCESS) << host_->last_report();
    queue.reset(static_cast<DispatchQueue*>(info.queue));
  }
  amd_queue_t& amd() { return *static_cast<amd_queue_t*>(info_.amd_queue); }

  // s_endpgm and s_trap 2: gfx11 has other numbers.
  bool has_gfx11_code() { return gpu().facts().version.major >= 11; }
  uint32_t end() { return has_gfx11_code() ? 0xbfb00000 : 0xbf810000; }
  uint32_t trap_abort() { return has_gfx11_code() ? 0xbf900002 : 0xbf920002; }

  void* kernel(std::initializer_list<uint32_t> instructions) {
    auto* const words = static_cast<uint32_t*>(gpu().share(4096));
    // Its descriptor is that of a copy kernel, followed by the code.
    std::memcpy(words, gpu().family().generation->blit_code().data(), 64);
    words[2] = 0;
    words[4] = 256;
    words[14] = (words[14] & ~0xffu) | 1u << 2;  // s[0:1] is the queue, as for code that traps
    std::copy(instructions.begin(), instructions.end(), words + 64);
    return words;
  }
  /// Returns false if the call does not return.
  bool limit_is_set(uint64_t bytes) {
    std::atomic<bool> set{false};
    std::thread setter([&] {
      device_->scratch().set_limit(bytes);
      set = true;
    });
    const bool ended = eventually([&] { return set.load(); });
    if (!ended) queue_.reset();  // releases the scratch that is waited for
    setter.join();
    return ended;
  }
  bool has_trap_handler() const { return !device_->has_quirk(kQuirkNoWaveSave); }
  void launch(void* kernel, uint32_t private_bytes, const testing::VirtualSignal& done, uint32_t groups = 1) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = 64 * groups;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.private_segment_size = private_bytes;
    packet.kernel_object = reinterpret_cast<uint64_t>(kernel);
    packet.kernarg_address = kernel;
    packet.completion_signal = {done.handle()};
    auto* const slot = static_cast<std::byte*>(amd().hsa_queue.base_address) + index_ * 64;
    std::memcpy(slot + 4, reinterpret_cast<std::byte*>(&packet) + 4, 60);
    const uint32_t first = HSA_PACKET_TYPE_KERNEL_DISPATCH | 2u << 9 | 2u << 11 | 1u << 16;
    std::atomic_ref(*reinterpret_cast<uint32_t*>(slot)).store(first, std::memory_order_release);
    const uint64_t value =
        doorbell_value(aql_doorbell(gpu().family(), gpu().facts()), amd().hsa_queue.size, index_++);
    std::atomic_ref(const_cast<uint64_t&>(amd().write_dispatch_id)).store(index_, std::memory_order_release);
    if (gpu().family().doorbell == HSABE_DOORBELL_INDEX64) {
      std::atomic_ref(*static_cast<uint64_t*>(info_.doorbell)).store(value, std::memory_order_release);
    } else {
      std::atomic_ref(const_cast<uint64_t&>(amd().max_legacy_doorbell_dispatch_id_plus_1)).store(index_);
      std::atomic_ref(*static_cast<uint32_t*>(info_.doorbell))
          .store(static_cast<uint32_t>(value), std::memory_order_release);
    }
  }

  std::unique_ptr<testing::BackendHost> host_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DispatchQueue> queue_;
  hsabe_queue_info_t info_{};
  uint64_t index_ = 0;
};

TEST_P(DispatchQueueTest, RunKernels) {
  const testing::VirtualSignal done(gpu(), 3);
  void* const code = kernel({end()});
  for (int i = 0; i < 3; ++i) launch(code, 0, done);
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_THAT(host_->queue_errors(), IsEmpty());
}

TEST_P(DispatchQueueTest, AllocateScratchOnRequest) {
  const testing::VirtualSignal done(gpu(), 2);
  void* const code = kernel({end()});
  launch(code, 100, done);
  launch(code, 500, done);  // within the limit on all boards, so that the queue keeps it
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_GE(amd().scratch_wave64_lane_byte_size, 500u / (64 / device_->family.wave_size));
  // The waves of an engine, or an equal share for each engine.
  const ScratchDevice slots = scratch_device(*device_);
  const uint32_t waves = amd().compute_tmpring_size & 0xfff;
  EXPECT_TRUE(slots.tmpring.counts_engine || waves % slots.engines == 0) << waves;
  EXPECT_GT(waves, 0u);
  // An address, or an offset in the device's pool.
  EXPECT_EQ(amd().scratch_backing_memory_location >> 32 == 0, gpu().family().generation->scratch_by_pool);
  EXPECT_THAT(host_->queue_errors(), IsEmpty());
}

TEST_P(DispatchQueueTest, ReportScratchEvents) {
  const testing::VirtualSignal done(gpu(), 2);
  void* const code = kernel({end()});
  launch(code, 0, done);
  launch(code, 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  const auto events = host_->scratch_events();
  ASSERT_EQ(events.size(), 2u);
  for (const hsabe_scratch_event_t& event : events) {
    EXPECT_EQ(event.queue_cookie, kCookie);
    EXPECT_EQ(event.what, HSABE_SCRATCH_GIVEN);
    EXPECT_EQ(event.packet, 1u);
  }
  EXPECT_EQ(events[0].ended, 0);
  EXPECT_NE(events[1].ended, 0);
  EXPECT_EQ(events[1].use_once, 0);
  EXPECT_EQ(events[1].bytes, amd().scratch_backing_memory_byte_size);
  EXPECT_GE(events[1].bytes, events[1].waves * device_->family.wave_size * 100);
}

TEST_P(DispatchQueueTest, AllocateHintedScratchForAllSlotsOrNone) {
  const auto device = scratch_device(*device_);
  for (const uint32_t hint : {16u, 2048u, 300'000u}) {
    std::unique_ptr<DispatchQueue> queue;
    hsabe_queue_info_t info{};
    create(kCookie + 1, queue, info, hint);
    const auto& hinted = *static_cast<const amd_queue_t*>(info.amd_queue);
    const auto need = scratch_need(device, {.private_bytes = hint});
    const bool kept = need && need->device_bytes <= kDefaultScratchLimit;
    EXPECT_EQ(queue->scratch_bytes() != 0, kept) << hint;
    EXPECT_EQ(hinted.scratch_wave64_lane_byte_size, kept ? need->lane_bytes : 0) << hint;
    const uint32_t counted_engines = device.tmpring.counts_engine ? device.engines : 1;
    EXPECT_EQ(hinted.compute_tmpring_size & 0xfff, kept ? need->device_waves / counted_engines : 0) << hint;
    EXPECT_EQ(hinted.queue_properties & AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE, 0u) << hint;
  }
}

TEST_P(DispatchQueueTest, CooperativeKernelsGetScratchForAllWavesOrFail) {
  if (device_->facts.gws_count == 0) GTEST_SKIP() << "the chip has no cooperative queues";
  constexpr uint32_t kGroups = 40, kPrivateBytes = 2000;
  const auto need = scratch_need(
      scratch_device(*device_), {{64 * kGroups, 1, 1}, {64, 1, 1}, kPrivateBytes, device_->family.wave_size});
  ASSERT_LT(need->dispatch_waves, need->device_waves);
  void* const code = kernel({end()});
  const testing::VirtualSignal done(gpu(), 3);
  host_->set_largest_block(need->dispatch_bytes * 3 / 4);
  launch(code, kPrivateBytes, done, kGroups);
  ASSERT_TRUE(eventually([&] { return done.value() == 2; })) << "others run with fewer";

  for (const bool enough : {true, false}) {
    queue_.reset();
    index_ = 0;
    create(kCookie, queue_, info_, UINT32_MAX, HSA_QUEUE_TYPE_COOPERATIVE);
    host_->set_largest_block(enough ? (need->dispatch_bytes + 0xffff) & ~uint64_t{0xffff}
                                    : need->dispatch_bytes * 3 / 4);
    launch(code, kPrivateBytes, done, kGroups);
    ASSERT_TRUE(eventually([&] { return done.value() == 1 && (enough || !host_->queue_errors().empty()); }));
    EXPECT_EQ(queue_->stopped(), !enough);
  }
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, HSA_STATUS_ERROR_OUT_OF_RESOURCES)));
  std::vector<uint64_t> waves;
  for (const hsabe_scratch_event_t& event : host_->scratch_events())
    if (event.what == HSABE_SCRATCH_GIVEN && event.ended != 0) waves.push_back(event.waves);
  EXPECT_THAT(waves, ElementsAre(Lt(need->dispatch_waves), need->dispatch_waves, 0));
}

TEST_P(DispatchQueueTest, ReleaseScratchWhenStopped) {
  const testing::VirtualSignal done(gpu(), 1);
  void* const code = kernel({end()});
  launch(code, 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  // A packet that never runs: the queue does not become idle.
  EXPECT_EQ(queue_->inactivate(), HSA_STATUS_SUCCESS);
  launch(code, 0, done);
  ASSERT_NE(queue_->scratch_bytes(), 0u);
  ASSERT_TRUE(limit_is_set(0));
  EXPECT_EQ(queue_->scratch_bytes(), 0u);
  EXPECT_EQ(done.value(), 0);
}

TEST_P(DispatchQueueTest, ToolsCanAllocateAndSetLimitInCallback) {
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  std::unique_ptr<DispatchQueue> other;
  hsabe_queue_info_t info{};
  create(kCookie + 1, other, info, 16);
  ASSERT_NE(other->scratch_bytes(), 0u);
  std::atomic<int> told{0};
  host_->set_on_scratch([&](const hsabe_scratch_event_t& event) {
    EXPECT_EQ(event.what, HSABE_SCRATCH_RECLAIMED);
    ++told;
    EXPECT_FALSE(device_->scratch().reclaim()) << "what an allocation would ask for";
    EXPECT_EQ(device_->scratch().set_limit(0), HSA_STATUS_SUCCESS);
  });
  ASSERT_TRUE(limit_is_set(1));
  EXPECT_EQ(told, 4);
  EXPECT_EQ(queue_->scratch_bytes() + other->scratch_bytes(), 0u);
  EXPECT_EQ(device_->scratch().limit(), 0u);
}

// A caller that is informed that no queue has scratch gives up.
TEST_P(DispatchQueueTest, KeepScratchUntilItIsFreed) {
  std::unique_ptr<DispatchQueue> other;
  hsabe_queue_info_t info{};
  create(kCookie + 1, other, info, 16);
  ASSERT_NE(other->scratch_bytes(), 0u);
  std::thread asker;
  std::atomic<bool> nobody_has_any{false};
  host_->set_before_freeing([&] {
    asker = std::thread([&] { nobody_has_any = !device_->scratch().others_hold(*queue_); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(nobody_has_any);
  });
  other.reset();
  ASSERT_TRUE(asker.joinable());
  asker.join();
  EXPECT_TRUE(nobody_has_any);
}

TEST_P(DispatchQueueTest, KeepScratchIfDriverKeepsThemMapped) {
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  std::unique_ptr<DispatchQueue> other;
  hsabe_queue_info_t info{};
  create(kCookie + 1, other, info);
  EXPECT_TRUE(device_->scratch().others_hold(*other));
  host_->refuse_updates();
  ASSERT_TRUE(limit_is_set(0));
  EXPECT_NE(queue_->scratch_bytes(), 0u);
  EXPECT_FALSE(device_->scratch().others_hold(*other));
  EXPECT_THAT(host_->queue_errors(), IsEmpty());
}

TEST_P(DispatchQueueTest, AvoidCallsThatNewerDriversReject) {
  queue_.reset();
  device_.reset();
  host_->set_interface(17);
  ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
  create(kCookie, queue_, info_);
  const bool doubled = device_->has_quirk(kQuirkRingDoubled);
  const testing::VirtualSignal done(gpu(), 2);
  void* const code = kernel({end()});
  launch(code, 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 1; }));
  EXPECT_EQ(queue_->set_priority(HSABE_PRIORITY_HIGH), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(limit_is_set(0));
  EXPECT_EQ(queue_->scratch_bytes() != 0, doubled) << "it cannot be taken from a ring that is mapped twice";
  EXPECT_EQ(host_->updates() == 0, doubled);
  // It can still be stopped.
  EXPECT_EQ(queue_->inactivate(), HSA_STATUS_SUCCESS);
  launch(code, 0, done);
  ASSERT_TRUE(limit_is_set(0));
  EXPECT_EQ(queue_->scratch_bytes(), 0u);
  EXPECT_EQ(host_->failed_updates(), 0);
  EXPECT_EQ(done.value(), 1);
}

TEST_P(DispatchQueueTest, StopIfDriverDoesNotResumeThem) {
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 100, done);
  ASSERT_TRUE(eventually([&] { return done.value() == 0; }));
  host_->refuse_updates(2);
  ASSERT_TRUE(limit_is_set(0));
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, HSA_STATUS_ERROR)));
}

TEST_P(DispatchQueueTest, StopWithoutScratch) {
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 3'000'000, done);  // more than a wave's maximum
  ASSERT_TRUE(eventually([&] { return !host_->queue_errors().empty(); }));
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, HSA_STATUS_ERROR_OUT_OF_RESOURCES)));
  EXPECT_TRUE(queue_->stopped());
  const auto events = host_->scratch_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].bytes, 0u);
}

TEST_P(DispatchQueueTest, StopOnTrap) {
  if (!has_trap_handler()) GTEST_SKIP() << "the chip has no trap handler";
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({trap_abort(), end()}), 0, done);
  ASSERT_TRUE(eventually([&] { return !host_->queue_errors().empty(); }));
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, HSA_STATUS_ERROR_EXCEPTION)));
}

TEST_P(DispatchQueueTest, StopOnIllegalInstruction) {
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({kNoInstruction, end()}), 0, done);
  ASSERT_TRUE(eventually([&] { return !host_->queue_errors().empty(); }));
  EXPECT_THAT(host_->queue_errors(),
              ElementsAre(Pair(kCookie, static_cast<hsabe_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION))));
}

TEST_P(DispatchQueueTest, StopOnDriverException) {
  queue_.reset();
  device_.reset();
  host_->report_exceptions();
  ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
  create(kCookie, queue_, info_);
  const uint64_t signal = host_->watched().back();
  const auto report = [&](uint32_t exception) {
    host_->get()->signal->subtract(host_->get()->self, signal, -(int64_t{1} << (exception - 1)));
  };
  report(31);  // a new queue is not an error
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 0, done);
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_FALSE(queue_->stopped());
  report(30);
  ASSERT_TRUE(eventually([&] { return !host_->queue_errors().empty(); }));
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, HSA_STATUS_ERROR)));
}

// The driver reuses the number of a destroyed queue.
TEST_P(DispatchQueueTest, IgnoreErrorsOfPreviousQueueWithSameNumber) {
  const uint64_t before = amd().queue_inactive_signal.handle;
  std::unique_ptr<DispatchQueue> next;
  hsabe_queue_info_t next_info{};
  host_->set_after_destroying([&] {
    create(kCookie + 1, next, next_info);
    host_->stop_queue(before, kInactiveIllegalInstruction);
  });
  queue_.reset();
  ASSERT_NE(next, nullptr);
  queue_ = std::move(next);
  info_ = next_info;
  const testing::VirtualSignal done(gpu(), 1);
  launch(kernel({end()}), 0, done);
  EXPECT_TRUE(eventually([&] { return done.value() == 0; }));
  EXPECT_THAT(host_->queue_errors(), IsEmpty());
}

TEST_P(DispatchQueueTest, AreRegisteredWithTrapHandler) {
  TrapHandler* const traps = device_->traps();
  ASSERT_EQ(traps != nullptr, has_trap_handler());
  if (traps == nullptr) GTEST_SKIP() << "the chip has no trap handler";
  EXPECT_NE(amd().queue_properties & AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER, 0u);
  if (gpu().family().generation->waves_know_queues) {
    const auto& table = *static_cast<const TrapData*>(traps->data());
    const auto queues = [&] { return std::count(std::begin(table.queues), std::end(table.queues), &amd()); };
    EXPECT_EQ(queues(), 1);
    queue_.reset();
    EXPECT_EQ(std::count(std::begin(table.queues), std::end(table.queues), nullptr), kTrapDoorbells);
    return;
  }
  // An error without a queue stops all queues, once.
  std::unique_ptr<DispatchQueue> other;
  hsabe_queue_info_t info;
  create(kCookie + 1, other, info);
  const uint64_t signal = static_cast<const TrapDataGfx8*>(traps->data())->unattributed_signal;
  host_->get()->signal->store(host_->get()->self, signal, kInactiveIllegalInstruction);
  ASSERT_TRUE(eventually([&] { return host_->queue_errors().size() == 2; }));
  host_->get()->signal->store(host_->get()->self, signal, kInactiveIllegalInstruction);
  // Time for an incorrect second report, which cannot be waited for.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  constexpr auto kIllegal = static_cast<hsabe_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_THAT(host_->queue_errors(), ElementsAre(Pair(kCookie, kIllegal), Pair(kCookie + 1, kIllegal)));
  EXPECT_TRUE(queue_->stopped() && other->stopped());
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST_P(DispatchQueueTest, FailedOnesAreNotRegisteredWithTrapHandler) {
  if (!has_trap_handler() || !gpu().family().generation->waves_know_queues) GTEST_SKIP();
  hsabe_queue_desc_t desc{};
  desc.struct_size = sizeof(desc);
  desc.packets = 64;
  desc.private_segment_size = desc.group_segment_size = UINT32_MAX;
  int left = -1;
  for (int request = 0; left < 0; ++request) {
    SCOPED_TRACE(request);
    queue_.reset();
    device_.reset();  // has had a queue, and therefore memory to register one
    ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
    const auto& table = *static_cast<const TrapData*>(device_->traps()->data());
    hsabe_queue_info_t info{};
    info.struct_size = sizeof(info);
    request_that_fails = request;
    const auto status =
        hsabe::guarded(host_->get(), [&] { return DispatchQueue::create(*device_, desc, &info); });
    left = std::exchange(request_that_fails, -1);
    if (status == HSA_STATUS_SUCCESS) queue_.reset(static_cast<DispatchQueue*>(info.queue));
    EXPECT_EQ(std::count(std::begin(table.queues), std::end(table.queues), nullptr),
              kTrapDoorbells - (queue_ != nullptr));
  }
}

TEST_P(DispatchQueueTest, AreDestroyedWithoutMemory) {
  int left = -1;
  for (int request = 0; left < 0; ++request) {
    SCOPED_TRACE(request);
    queue_.reset();
    device_.reset();  // with the memory of ended queues
    ASSERT_EQ(Device::open(gpu().family(), host_->get(), gpu().node(), device_), HSA_STATUS_SUCCESS);
    create(kCookie, queue_, info_);
    request_that_fails = request;
    queue_.reset();
    left = std::exchange(request_that_fails, -1);
  }
}
#endif

TEST_P(DispatchQueueTest, AcceptMasksOfComputeUnits) {
  const uint32_t pair = 0x3, single = 0x1;
  EXPECT_EQ(queue_->set_cu_mask(32, &pair), HSA_STATUS_SUCCESS);
  EXPECT_EQ(queue_->set_cu_mask(32, &single),
            gpu().family().generation->cu_pairs ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_SUCCESS);
}

RIGEL_ON_EVERY_BOARD(DispatchQueueTest);

}  // namespace
}  // namespace rigel::gfx
