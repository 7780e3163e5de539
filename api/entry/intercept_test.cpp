// Packets in an intercepted queue of the CPU agent: observed, changed, dropped, added, delayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa_api_trace.h>
#include <hsa_backend/sanitizer.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/entry/testing/submission.hpp"
#include "api/entry/testing/tool_chain.hpp"

namespace {

using rigel::testing::barrier;
using rigel::testing::cpu_agent;
using rigel::testing::enqueue;
using rigel::testing::make_signal;
using rigel::testing::ring;
using rigel::testing::submit;
using rigel::testing::ToolChain;
using rigel::testing::wait_until;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Packet = hsa_barrier_and_packet_t;
using Writer = std::function<void(const Packet*, uint64_t)>;
using Handler = std::function<void(const Packet*, uint64_t count, uint64_t index, const Writer&)>;

constexpr uint32_t kSize = 512;  // the agent's ring has twice the size

class InterceptQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chain_.open(), HSA_STATUS_SUCCESS);
    amd_ = static_cast<const HsaApiTable*>(chain_.recorder.tables)->amd_ext_;
    ASSERT_EQ(amd_->hsa_amd_queue_intercept_create_fn(cpu_agent(), kSize, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                      nullptr, UINT32_MAX, UINT32_MAX, &queue_),
              HSA_STATUS_SUCCESS);
  }
  void TearDown() override {
    if (queue_ != nullptr) destroy();
  }

  void destroy() { EXPECT_EQ(hsa_queue_destroy(std::exchange(queue_, nullptr)), HSA_STATUS_SUCCESS); }

  void add(Handler& handler) {
    const auto call = [](const void* packets, uint64_t count, uint64_t index, void* data,
                         hsa_amd_queue_intercept_packet_writer write) {
      (*static_cast<Handler*>(data))(
          static_cast<const Packet*>(packets), count, index,
          [write](const Packet* what, uint64_t how_many) { write(what, how_many); });
    };
    ASSERT_EQ(amd_->hsa_amd_queue_intercept_register_fn(queue_, call, &handler), HSA_STATUS_SUCCESS);
  }

  ToolChain chain_{{.name = "tables", .more = R"("intercept": ["hsa_init"])"}};
  const AmdExtTable* amd_ = nullptr;
  hsa_queue_t* queue_ = nullptr;
};

TEST_F(InterceptQueueTest, ForwardsPacketsWithoutHandlers) {
  const hsa_signal_t done = make_signal(1000);
  for (int i = 0; i < 1000; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, ShowsPacketsOnceAndInOrder) {
  std::vector<uint64_t> seen;
  Handler note = [&](const Packet* packets, uint64_t count, uint64_t index, const Writer& write) {
    for (uint64_t i = 0; i < count; ++i) seen.push_back(index + i);
    write(packets, count);
  };
  add(note);
  const hsa_signal_t done = make_signal(1000);
  for (int i = 0; i < 1000; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  std::vector<uint64_t> all(1000);
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(seen, all);
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, CallsLastHandlerFirst) {
  std::vector<int> order;
  Handler first = [&](const Packet* p, uint64_t n, uint64_t, const Writer& write) {
    order.push_back(1);
    write(p, n);
  };
  Handler last = [&](const Packet* p, uint64_t n, uint64_t, const Writer& write) {
    order.push_back(2);
    write(p, n);
  };
  add(first);
  add(last);
  const hsa_signal_t done = make_signal(1);
  submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_THAT(order, ElementsAre(2, 1));
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, KeepsSurplusPackets) {
  Handler many = [](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    for (uint64_t i = 0; i < count; ++i) {
      for (int copy = 0; copy < 200; ++copy) write(&packets[i], 1);  // more than the ring's size
    }
  };
  add(many);
  const hsa_signal_t done = make_signal(100 * 200);
  for (int i = 0; i < 100; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, ContinuesWhenFullRingHasRoom) {
  Handler twice = [](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    for (uint64_t i = 0; i < count; ++i) {
      write(&packets[i], 1);
      write(&packets[i], 1);
    }
  };
  add(twice);
  const hsa_signal_t gate = make_signal(1);
  const hsa_signal_t done = make_signal(2 * kSize);
  Packet waits = barrier(done, gate);
  waits.header |= 1 << HSA_PACKET_HEADER_BARRIER;
  submit(queue_, waits);
  for (uint32_t i = 1; i < kSize; ++i) submit(queue_, barrier(done));  // without ringing the doorbell
  hsa_signal_store_screlease(gate, 0);
  EXPECT_TRUE(wait_until(done, 0));
  hsa_signal_destroy(gate);
  hsa_signal_destroy(done);
}

// The agent's ring is larger than the application's, and full. Room at its start must be used while the agent
// still processes its end.
TEST_F(InterceptQueueTest, ContinuesBeforeFullRingIsEmpty) {
  constexpr uint64_t kPackets = 3 * kSize - 8, kHeldUp = 2 * kSize - 16;
  Handler pass = [](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    write(packets, count);
  };
  add(pass);
  const hsa_signal_t first_gate = make_signal(1);
  const hsa_signal_t second_gate = make_signal(1);
  const hsa_signal_t done = make_signal(kPackets);
  for (uint64_t i = 0; i < kPackets; ++i) {
    submit(queue_,
           i == 0 ? barrier(done, first_gate) : barrier(done, i == kHeldUp ? second_gate : hsa_signal_t{}));
  }
  EXPECT_LT(hsa_queue_load_read_index_scacquire(queue_), kPackets);
  hsa_signal_store_screlease(first_gate, 0);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (hsa_queue_load_read_index_scacquire(queue_) < kPackets && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(queue_), kPackets);
  EXPECT_EQ(hsa_signal_load_scacquire(second_gate), 1);
  hsa_signal_store_screlease(second_gate, 0);
  EXPECT_TRUE(wait_until(done, 0));
  for (const hsa_signal_t signal : {first_gate, second_gate, done}) hsa_signal_destroy(signal);
}

TEST_F(InterceptQueueTest, BlockedHandlerBlocksItsQueueOnly) {
  std::atomic<bool> reached{false};
  std::atomic<bool> over{false};
  Handler hold = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    reached = true;
    reached.notify_all();
    over.wait(false);
    write(packets, count);
  };
  add(hold);
  hsa_queue_t* other = nullptr;
  ASSERT_EQ(amd_->hsa_amd_queue_intercept_create_fn(cpu_agent(), kSize, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                    nullptr, UINT32_MAX, UINT32_MAX, &other),
            HSA_STATUS_SUCCESS);
  const hsa_signal_t done = make_signal(2);
  const hsa_signal_t done_by_other = make_signal(1);
  std::thread held([&] { submit(queue_, barrier(done)); });
  reached.wait(false);
  submit(queue_, barrier(done));  // returns at once: the blocked thread moves the packet
  submit(other, barrier(done_by_other));
  EXPECT_TRUE(wait_until(done_by_other, 0));
  EXPECT_EQ(hsa_signal_load_scacquire(done), 2);
  over = true;
  over.notify_all();
  held.join();
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_EQ(hsa_queue_destroy(other), HSA_STATUS_SUCCESS);
  for (const hsa_signal_t signal : {done, done_by_other}) hsa_signal_destroy(signal);
}

TEST_F(InterceptQueueTest, DropsAndRewrites) {
  const hsa_signal_t other = make_signal(500);
  Handler odd_ones_elsewhere = [&](const Packet* packets, uint64_t count, uint64_t index,
                                   const Writer& write) {
    for (uint64_t i = 0; i < count; ++i) {
      if ((index + i) % 2 == 0) continue;
      Packet changed = packets[i];
      changed.completion_signal = other;
      write(&changed, 1);
    }
  };
  add(odd_ones_elsewhere);
  const hsa_signal_t done = make_signal(1000);
  for (int i = 0; i < 1000; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(other, 0));
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1000);
  hsa_signal_destroy(other);
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, DelaysPackets) {
  std::vector<Packet> held;
  Handler by_ten = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    held.insert(held.end(), packets, packets + count);
    if (held.size() < 10) return;
    write(held.data(), held.size());
    held.clear();
  };
  add(by_ten);
  const hsa_signal_t done = make_signal(1000);
  for (int i = 0; i < 999; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 10));
  submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, MarkersReceiveIndexOfNextPacket) {
  static std::vector<uint64_t> places;
  places.clear();
  Handler mark = [](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    for (uint64_t i = 0; i < count; ++i) {
      amd_aql_intercept_marker_t marker{};
      marker.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
      marker.format = AMD_AQL_FORMAT_INTERCEPT_MARKER;
      marker.callback = [](const amd_aql_intercept_marker_s* packet, hsa_queue_t* queue, uint64_t place) {
        if (queue->size != 0 && packet->user_data[0] == 42) places.push_back(place);
      };
      marker.user_data[0] = 42;
      write(reinterpret_cast<const Packet*>(&marker), 1);
      write(&packets[i], 1);
    }
  };
  add(mark);
  const hsa_signal_t done = make_signal(4);
  for (int i = 0; i < 4; ++i) submit(queue_, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 3));
  hsa_signal_destroy(done);
}

// An error of the program that must not crash it. The remaining packets are lost.
TEST_F(InterceptQueueTest, SurvivesDestructionInHandler) {
  bool passed = false;
  Handler behind = [&](const Packet*, uint64_t, uint64_t, const Writer&) { passed = true; };
  Handler destroys = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    destroy();
    write(packets, count);
  };
  add(behind);
  add(destroys);
  const hsa_signal_t done = make_signal(1);
  submit(queue_, barrier(done));
  EXPECT_EQ(queue_, nullptr);
  EXPECT_FALSE(passed);
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, SurvivesDestructionInMarker) {
  Handler mark = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    amd_aql_intercept_marker_t marker{};
    marker.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
    marker.format = AMD_AQL_FORMAT_INTERCEPT_MARKER;
    marker.user_data[0] = reinterpret_cast<uint64_t>(this);
    marker.callback = [](const amd_aql_intercept_marker_s* packet, hsa_queue_t*, uint64_t) {
      reinterpret_cast<InterceptQueueTest_SurvivesDestructionInMarker_Test*>(packet->user_data[0])->destroy();
    };
    write(reinterpret_cast<const Packet*>(&marker), 1);
    write(packets, count);
  };
  add(mark);
  submit(queue_, barrier({0}));
  EXPECT_EQ(queue_, nullptr);
}

// The handler of one queue submits to another, whose handler destroys the first.
TEST_F(InterceptQueueTest, SurvivesDestructionInHandlerOfOtherQueue) {
  hsa_queue_t* const outer = queue_;
  Handler submits = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    submit(queue_, *packets);
    write(packets, count);
  };
  add(submits);
  ASSERT_EQ(amd_->hsa_amd_queue_intercept_create_fn(cpu_agent(), kSize, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                    nullptr, UINT32_MAX, UINT32_MAX, &queue_),
            HSA_STATUS_SUCCESS);
  Handler destroys = [&](const Packet* packets, uint64_t count, uint64_t, const Writer& write) {
    EXPECT_EQ(hsa_queue_destroy(outer), HSA_STATUS_SUCCESS);
    write(packets, count);
  };
  add(destroys);
  const hsa_signal_t done = make_signal(1);
  submit(outer, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));  // the inner queue has completed the packet
  hsa_signal_destroy(done);
}

// Ten million packets, each of which decrements a signal; some are rewritten to decrement another.
TEST_F(InterceptQueueTest, KeepsPacketsOfManyProducers) {
  constexpr int kThreads = 4;
  constexpr int64_t kEach = HSABE_SANITIZER == HSABE_SANITIZER_NONE ? 2'500'000 : 20'000;
  constexpr int64_t kRewritten = kThreads * kEach / 4;
  const hsa_signal_t done = make_signal(kThreads * kEach - kRewritten);
  const hsa_signal_t rewritten = make_signal(kRewritten);
  std::atomic<uint64_t> seen{0};
  uint64_t next = 0;
  bool in_order = true;
  Handler churn = [&](const Packet* packets, uint64_t count, uint64_t index, const Writer& write) {
    in_order = in_order && index == next;
    next = index + count;
    for (uint64_t i = 0; i < count; ++i) {
      ++seen;
      Packet added = barrier({0});
      if ((index + i) % 3 == 0) write(&added, 1);  // added
      Packet packet = packets[i];
      if ((index + i) % 4 == 0) packet.completion_signal = rewritten;
      if ((index + i) % 5 == 0) {  // dropped, and completed for the agent
        hsa_signal_subtract_screlease(packet.completion_signal, 1);
        continue;
      }
      write(&packet, 1);
    }
  };
  add(churn);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < kEach; ++i) submit(queue_, barrier(done));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_TRUE(wait_until(rewritten, 0));
  EXPECT_EQ(seen.load(), uint64_t{kThreads} * kEach);
  EXPECT_TRUE(in_order);
  hsa_signal_destroy(rewritten);
  hsa_signal_destroy(done);
}

TEST_F(InterceptQueueTest, RejectsInvalidRequests) {
  hsa_queue_t* plain = nullptr;
  ASSERT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &plain),
            HSA_STATUS_SUCCESS);
  const auto nothing = [](const void*, uint64_t, uint64_t, void*, hsa_amd_queue_intercept_packet_writer) {};
  EXPECT_EQ(amd_->hsa_amd_queue_intercept_register_fn(plain, nothing, nullptr),
            HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ(amd_->hsa_amd_queue_intercept_register_fn(queue_, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_destroy(plain);
  EXPECT_EQ(amd_->hsa_amd_queue_intercept_create_fn(cpu_agent(), 100, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr,
                                                    UINT32_MAX, UINT32_MAX, &plain),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(InterceptQueue, ErrorCallbackCanShutDown) {
  static std::atomic<bool> over;
  over = false;
  ToolChain chain{{.name = "tables", .more = R"("intercept": ["hsa_init"])"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  const auto end = [](hsa_status_t status, hsa_queue_t*, void*) {
    EXPECT_NE(status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
    over = true;
    over.notify_all();
  };
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(static_cast<const HsaApiTable*>(chain.recorder.tables)
                ->amd_ext_->hsa_amd_queue_intercept_create_fn(cpu_agent(), kSize, HSA_QUEUE_TYPE_MULTI, end,
                                                              nullptr, UINT32_MAX, UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  Packet wrong{};
  wrong.header = 200;  // an invalid packet type
  submit(queue, wrong);
  over.wait(false);
  // Time for the callback's thread to release the queue.
  EXPECT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  chain.close();
}

// --- Tools of Rigel's ABI ----------------------------------------------------------------------------------

TEST(Packets, PassToolsInConfiguredOrder) {
  ToolChain chain{{.name = "a", .options = R"("packets": true)", .more = R"("intercept": ["hsa_init"])"},
                  {.name = "b", .options = R"("packets": true)", .more = R"("intercept": ["hsa_init"])"},
                  {.name = "c", .more = R"("intercept": ["hsa_init"])"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  chain.recorder.take();
  const hsa_signal_t done = make_signal(2);
  submit(queue, barrier(done));
  submit(queue, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_THAT(chain.recorder.take(), ElementsAre("a packet 0", "b packet 0", "a packet 1", "b packet 1"));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
}

// Submits four packets at once and returns the second tool's view of them.
std::vector<std::string> seen_behind(const std::string& behaviour, hsa_signal_value_t to_be_done) {
  ToolChain chain{
      {.name = "a",
       .options = R"("packets": true, ")" + behaviour + R"(": true)",
       .more = R"("intercept": ["hsa_init"])"},
      {.name = "b",
       .options = R"("packets": true, "activities": true)",
       .more = R"("intercept": ["hsa_init"])"},
  };
  EXPECT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_queue_t* queue = nullptr;
  EXPECT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  const hsa_signal_t done = make_signal(to_be_done);
  chain.recorder.take();
  uint64_t last = 0;
  for (int i = 0; i < 4; ++i) last = enqueue(queue, barrier(done));
  ring(queue, last);
  EXPECT_TRUE(wait_until(done, 0));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  std::vector<std::string> packets, ends;
  for (const std::string& line : chain.recorder.take()) {
    if (line.starts_with("b packet")) packets.push_back(line);
    if (line.starts_with("b done")) ends.push_back(line);
  }
  packets.insert(packets.end(), ends.begin(), ends.end());
  return packets;
}

TEST(Packets, KeepIndicesWhenForwardedSeparately) {
  EXPECT_THAT(seen_behind("one_by_one", 4),
              ElementsAre("b packet 0", "b packet 1", "b packet 2", "b packet 3", "b done 0", "b done 1",
                          "b done 2", "b done 3"));
}

TEST(Packets, AddedByToolHaveLastIndex) {
  EXPECT_THAT(seen_behind("half_more", 6),
              ElementsAre("b packet 0", "b packet 1", "b packet 2", "b packet 3", "b packet 3", "b packet 3",
                          "b done 0", "b done 1", "b done 2", "b done 3", "b done 3", "b done 3"));
}

TEST(Packets, ContinueAfterForwardedPartIfToolThrows) {
  EXPECT_THAT(seen_behind("throw_at_second", 4),
              ElementsAre("b packet 0", "b packet 1", "b packet 2", "b packet 3", "b done 0", "b done 1",
                          "b done 2", "b done 3"));
}

TEST(Packets, ContinueIfToolThrows) {
  ToolChain chain{{.name = "a",
                   .options = R"("packets": true, "throw_in_submit": true)",
                   .more = R"("intercept": ["hsa_init"])"},
                  {.name = "b", .options = R"("packets": true)", .more = R"("intercept": ["hsa_init"])"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  const hsa_signal_t done = make_signal(2);
  chain.recorder.take();
  submit(queue, barrier(done));
  submit(queue, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_THAT(chain.recorder.take(), ElementsAre("b packet 0", "b packet 1"));
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
}

TEST(Packets, CanBeObservedTogetherWithCopies) {
  ToolChain chain{{.name = "a",
                   .options = R"("activities": true, "copy_in_wants": true)",
                   .more = R"("intercept": ["hsa_init"])"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  chain.recorder.take();
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("a copy of 100"));
  hsa_queue_destroy(queue);
}

TEST(Activities, AreReportedBeforeApplicationSignal) {
  ToolChain chain{{.name = "a", .options = R"("activities": true)", .more = R"("intercept": ["hsa_init"])"}};
  ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
  hsa_queue_t* queue = nullptr;
  ASSERT_EQ(hsa_queue_create(cpu_agent(), kSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  chain.recorder.take();
  const hsa_signal_t done = make_signal(1);
  submit(queue, barrier(done));
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_THAT(chain.recorder.take(), ElementsAre("a done 0"));

  hsa_queue_destroy(queue);
  char from[100] = "what is copied";
  char to[100] = {};
  hsa_signal_store_relaxed(done, 1);
  ASSERT_EQ(hsa_amd_memory_async_copy(to, cpu_agent(), from, cpu_agent(), sizeof from, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_TRUE(wait_until(done, 0));
  EXPECT_STREQ(to, from);
  EXPECT_THAT(chain.recorder.take(), ElementsAre("a copy of 100"));
  hsa_amd_profiling_async_copy_time_t time{};
  EXPECT_EQ(hsa_amd_profiling_get_async_copy_time(done, &time), HSA_STATUS_SUCCESS);
  EXPECT_LE(time.start, time.end);

  EXPECT_NE(hsa_amd_memory_async_copy(nullptr, cpu_agent(), from, cpu_agent(), sizeof from, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_THAT(chain.recorder.take(), IsEmpty());

  // A zero-byte copy leaves its signal unchanged, with and without tools. A sanitizer's allocator reports 0.
  const auto bytes_in_use = [] { return ::mallinfo2().uordblks; };
  const size_t before = bytes_in_use();
  hsa_signal_store_relaxed(done, 1);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(hsa_amd_memory_async_copy(to, cpu_agent(), from, cpu_agent(), 0, 0, nullptr, done),
              HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(hsa_signal_load_scacquire(done), 1);
  EXPECT_LT(bytes_in_use(), before + (1 << 20)) << "something is kept for each of them";
  EXPECT_THAT(chain.recorder.take(), IsEmpty());
  hsa_signal_destroy(done);
}

// Without waiting for the copies: some end before the tool, some after it.
TEST(Activities, AreNotReportedToUnloadedTool) {
  ToolChain chain{{.name = "a", .options = R"("activities": true)", .more = R"("intercept": ["hsa_init"])"}};
  std::vector<char> from(1 << 20);
  std::vector<std::vector<char>> to(16, from);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(chain.open(), HSA_STATUS_SUCCESS);
    const hsa_signal_t done = make_signal(static_cast<hsa_signal_value_t>(to.size()));
    for (auto& copy : to) {
      ASSERT_EQ(hsa_amd_memory_async_copy(copy.data(), cpu_agent(), from.data(), cpu_agent(), from.size(), 0,
                                          nullptr, done),
                HSA_STATUS_SUCCESS);
    }
    chain.close();
    EXPECT_EQ(chain.recorder.take().back(), "a unload");
  }
}

}  // namespace
