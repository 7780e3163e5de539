// Programs that break and keep the rules of signals (3xx): see validate_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "plugins/validate/testing/program.hpp"

namespace validate::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(V301IsBroken, ByWaitThatNothingEnds) {
  Program program(R"("stall_seconds": 1)");
  const hsa_signal_t signal = program.signal();
  std::atomic<bool> begun{false};
  std::thread waiter([&] {
    begun = true;
    wait(signal);
  });
  while (!begun) std::this_thread::yield();
  // This thread must also wait until the report arrives: a thread that does not wait could store to the
  // signal.
  std::vector<uint32_t> reported;
  const hsa_signal_t other = program.signal();
  std::thread helper([&] {  // unknown to the tool, as it has not called the API
    while (reported.empty()) {
      reported = Program::take_numbers();
      std::this_thread::yield();
    }
    hsa_signal_store_screlease(signal, 0);
    hsa_signal_store_screlease(other, 0);
  });
  wait(other);
  waiter.join();
  helper.join();
  EXPECT_THAT(reported, Each(301));
  EXPECT_THAT(reported, Not(IsEmpty()));
  hsa_signal_destroy(signal);
  hsa_signal_destroy(other);
  Program::take_reports();
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V301IsKept, ByWaitsEndedByThreadsAndKernels) {
  Program program(R"("stall_seconds": 1)");
  const hsa_signal_t signal = program.signal();
  std::thread waiter([&] { wait(signal); });
  // Longer than the stall time. This thread does not wait for a signal, so it could still store to one.
  std::this_thread::sleep_for(std::chrono::milliseconds(1600));
  hsa_signal_store_screlease(signal, 0);
  waiter.join();
  hsa_queue_t* const queue = program.queue();
  hsa_signal_store_relaxed(signal, 1);
  HeldKernel kernel(program, queue, signal);
  std::thread other([&] {  // unknown to the tool, as it has not called the API
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
    kernel.release();
  });
  wait(signal);
  other.join();
  hsa_amd_memory_pool_free(kernel.args());
  hsa_amd_memory_pool_free(kernel.words());
  hsa_queue_destroy(queue);
  hsa_signal_destroy(signal);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V301IsKept, ByWaitsEndedByHandlers) {
  Program program(R"("stall_seconds": 1)");
  const hsa_signal_t signal = program.signal(), due = program.signal();
  // Longer than the stall time.
  static constexpr auto kLong = std::chrono::milliseconds(1600);
  const auto handler = [](hsa_signal_value_t, void* data) {
    std::this_thread::sleep_for(kLong);
    hsa_signal_store_screlease({reinterpret_cast<uint64_t>(data)}, 0);
    return false;
  };
  const auto function = [](void* data) {
    std::this_thread::sleep_for(kLong);
    hsa_signal_store_screlease({reinterpret_cast<uint64_t>(data)}, 0);
  };
  auto* const data = reinterpret_cast<void*>(signal.handle);
  ASSERT_EQ(hsa_amd_signal_async_handler(due, HSA_SIGNAL_CONDITION_EQ, 0, handler, data), HSA_STATUS_SUCCESS);
  hsa_signal_store_screlease(due, 0);
  wait(signal);
  hsa_signal_store_relaxed(signal, 1);
  ASSERT_EQ(hsa_amd_async_function(function, data), HSA_STATUS_SUCCESS);
  wait(signal);
  EXPECT_EQ(hsa_amd_signal_async_handler({1}, HSA_SIGNAL_CONDITION_EQ, 0, handler, data),
            HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(104));
  hsa_signal_destroy(signal);
  hsa_signal_destroy(due);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V301IsBroken, ByWaitThatHandlerDidNotEnd) {
  Program program(R"("stall_seconds": 1)");
  const hsa_signal_t signal = program.signal();
  static std::atomic<bool> called{false};
  called = false;
  const auto function = [](void* data) {
    hsa_signal_load_relaxed({reinterpret_cast<uint64_t>(data)});
    called = true;
  };
  ASSERT_EQ(hsa_amd_async_function(function, reinterpret_cast<void*>(signal.handle)), HSA_STATUS_SUCCESS);
  std::vector<uint32_t> reported;
  std::thread helper([&] {  // unknown to the tool, as it has not called the API
    while (reported.empty()) {
      reported = Program::take_numbers();
      std::this_thread::yield();
    }
    hsa_signal_store_screlease(signal, 0);
  });
  wait(signal);
  helper.join();
  EXPECT_TRUE(called);
  EXPECT_THAT(reported, Each(301));
  hsa_signal_destroy(signal);
  Program::take_reports();
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V302IsBroken, ByBarriersWaitingForEachOther) {
  Program program;
  hsa_queue_t* const one = program.queue();
  hsa_queue_t* const other = program.queue();
  const hsa_signal_t a = program.signal(), b = program.signal();
  submit(one, barrier(a, {b}));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  submit(other, barrier(b, {a}));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(302));
  hsa_signal_store_screlease(a, 0);
  wait(b);
  hsa_queue_destroy(one);
  hsa_queue_destroy(other);
  hsa_signal_destroy(a);
  hsa_signal_destroy(b);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V302IsBroken, ByBarrierWaitingForLaterPacketOfQueue) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t a = program.signal();
  submit(queue, barrier({0}, {a}));
  submit(queue, barrier(a));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(302));
  hsa_signal_store_screlease(a, 0);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(a);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V302IsBroken, ByBarrierValuePacketWaitingForLaterPacket) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t a = program.signal();
  submit(queue, barrier_value(a));
  submit(queue, barrier(a));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(302));
  hsa_signal_store_screlease(a, 0);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(a);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V302IsKept, ByOrBarrierWithSignalOutsideOfCycle) {
  Program program;
  hsa_queue_t* const one = program.queue();
  hsa_queue_t* const other = program.queue();
  const hsa_signal_t a = program.signal(), b = program.signal(), c = program.signal();
  submit(one, barrier(a, {b, c}, HSA_PACKET_TYPE_BARRIER_OR));
  submit(other, barrier(b, {a}));
  hsa_signal_store_screlease(c, 0);
  wait(b);
  hsa_queue_destroy(one);
  hsa_queue_destroy(other);
  for (const hsa_signal_t signal : {a, b, c}) hsa_signal_destroy(signal);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V302IsBroken, ByOrBarrierWithAllSignalsInCycle) {
  Program program;
  std::vector<hsa_queue_t*> queues;
  const auto submit_apart = [&](const hsa_barrier_and_packet_t& packet) {
    submit(queues.emplace_back(program.queue()), packet);
  };
  const hsa_signal_t a = program.signal(), b = program.signal(), c = program.signal(), d = program.signal(),
                     e = program.signal();
  submit_apart(barrier(a, {b, c}, HSA_PACKET_TYPE_BARRIER_OR));
  submit_apart(barrier(b, {d}));
  submit_apart(barrier(c, {d}));
  submit_apart(barrier(d, {e}));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  submit_apart(barrier(e, {a}));
  const auto reports = Program::take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].rule, 302u);
  for (const hsa_queue_t* const queue : queues)
    EXPECT_THAT(reports[0].text, HasSubstr("(packet 0 of queue " + std::to_string(queue->id) + ")"));
  for (hsa_queue_t* const queue : queues) hsa_queue_destroy(queue);
  for (const hsa_signal_t signal : {a, b, c, d, e}) hsa_signal_destroy(signal);
  EXPECT_THAT(program.end(), IsEmpty());
}

// The tool holds its only lock during a search, which blocks all packets of the process.
TEST(V302CheckIsFast, WithThousandsOfPacketsInFlight) {
  constexpr int kPackets = 8000;
  Program program;
  hsa_queue_t* const deep = program.queue(16384);
  hsa_queue_t* const other = program.queue();
  const hsa_signal_t gate = program.signal(), last = program.signal(), end = program.signal();
  const auto with_the_bit = [](hsa_signal_t completion, std::initializer_list<hsa_signal_t> dependencies) {
    auto packet = barrier(completion, dependencies);
    packet.header |= 1 << HSA_PACKET_HEADER_BARRIER;
    return packet;
  };
  const auto seconds_for = [](hsa_queue_t* queue, const hsa_barrier_and_packet_t& packet) {
    const auto begin = std::chrono::steady_clock::now();
    submit(queue, packet);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  submit(deep, barrier({0}, {gate}));
  for (int i = 0; i < kPackets; ++i) submit(deep, with_the_bit({0}, {}));
  submit(deep, with_the_bit(last, {}));
  EXPECT_LT(seconds_for(other, with_the_bit(end, {last})), 1.) << "it waits for all of them";
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  EXPECT_LT(seconds_for(other, with_the_bit(gate, {})), 1.) << "all of them wait for it";
  EXPECT_THAT(Program::take_numbers(), ElementsAre(302));
  hsa_signal_store_screlease(gate, 0);
  wait(end);
  hsa_queue_destroy(deep);
  hsa_queue_destroy(other);
  for (const hsa_signal_t signal : {gate, last, end}) hsa_signal_destroy(signal);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V303IsBroken, ByTwoPacketsWithSignalOfValueOne) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), done = program.signal(1);
  submit(queue, barrier(done, {gate}));
  submit(queue, barrier(done));
  EXPECT_THAT(Program::take_numbers(), ElementsAre(303));
  hsa_signal_store_screlease(gate, 0);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  hsa_signal_destroy(done);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V303IsKept, BySignalWhoseValueCountsPackets) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), done = program.signal(3);
  for (int i = 0; i < 3; ++i) submit(queue, barrier(done, {gate}));
  hsa_signal_store_screlease(gate, 0);
  wait(done);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  hsa_signal_destroy(done);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V304IsBroken, ByDestroyingSignalOfPacketInFlight) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), done = program.signal();
  submit(queue, barrier(done, {gate}));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  hsa_signal_destroy(done);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(304));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V304IsBroken, ByDestroyingSignalOfWaitingBarrierValuePacket) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), watched = program.signal();
  submit(queue, barrier({0}, {gate}));  // blocks the queue, so that the next packet is not executed
  submit(queue, barrier_value(watched));
  EXPECT_THAT(Program::take_numbers(), IsEmpty());
  hsa_signal_destroy(watched);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(304));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V304IsBroken, InQueueWhoseDestructionFailed) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  const hsa_signal_t gate = program.signal(), done = program.signal();
  submit(queue, barrier(done, {gate}));
  EXPECT_NE(hsa_amd_counted_queue_release(queue), HSA_STATUS_SUCCESS);
  hsa_signal_destroy(done);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(304));
  ring(queue, 1);
  EXPECT_THAT(Program::take_numbers(), ElementsAre(205));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  EXPECT_THAT(program.end(), IsEmpty());
}

TEST(V304IsKept, ByDestroyingSignalOfCompletedPacket) {
  Program program;
  hsa_queue_t* const queue = program.queue();
  for (int i = 0; i < 100; ++i) {
    const hsa_signal_t gate = program.signal(), done = program.signal();
    submit(queue, barrier(done, {gate}));
    hsa_signal_store_screlease(gate, 0);
    wait(done);
    hsa_signal_destroy(done);
    hsa_signal_destroy(gate);
  }
  hsa_queue_destroy(queue);
  EXPECT_THAT(program.end(), IsEmpty());
}

// The functions that create queues, called with an error callback.
struct QueueCreation {
  const char* name;
  hsa_queue_t* (*make)(Program&, void (*)(hsa_status_t, hsa_queue_t*, void*), void*);
};

class FailedQueues : public ::testing::TestWithParam<QueueCreation> {};

TEST_P(FailedQueues, UseNoSignalsSoV304IsKept) {
  Program program(R"("off": ["207", "213"])");
  std::atomic<hsa_queue_t*> failed{nullptr};
  hsa_queue_t* const queue = GetParam().make(
      program,
      [](hsa_status_t, hsa_queue_t* which, void* data) {
        *static_cast<std::atomic<hsa_queue_t*>*>(data) = which;
      },
      &failed);
  ASSERT_NE(queue, nullptr);
  const hsa_signal_t gate = program.signal(), done = program.signal();
  submit(queue, barrier({0}, {gate}));
  fail(queue);
  submit(queue, barrier(done));
  hsa_signal_store_screlease(gate, 0);
  while (failed == nullptr) std::this_thread::yield();
  EXPECT_EQ(failed, queue);
  hsa_signal_destroy(done);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(gate);
  EXPECT_THAT(program.end(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    , FailedQueues,
    ::testing::Values(QueueCreation{"ByQueueCreate",
                                    [](Program& program, auto* callback, void* data) {
                                      hsa_queue_t* queue = nullptr;
                                      hsa_queue_create(program.agent(), 64, HSA_QUEUE_TYPE_MULTI, callback,
                                                       data, UINT32_MAX, UINT32_MAX, &queue);
                                      return queue;
                                    }},
                      QueueCreation{"ByDescriptors",
                                    [](Program& program, auto* callback, void* data) {
                                      hsa_amd_queue_create_desc_t wanted[2]{};
                                      wanted[1].version = HSA_AMD_QUEUE_CREATE_DESC_VERSION;
                                      wanted[1].queue_size_bytes = 64 * 64;
                                      wanted[1].callback = callback;
                                      wanted[1].callback_data = data;
                                      wanted[0].queue = reinterpret_cast<hsa_queue_t*>(1);
                                      hsa_amd_queue_create(program.agent(), wanted, 2);
                                      EXPECT_EQ(wanted[0].queue, nullptr) << "it has no version";
                                      EXPECT_EQ(wanted[1].callback, callback);
                                      EXPECT_EQ(wanted[1].callback_data, data);
                                      return wanted[1].queue;
                                    }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace validate::testing
