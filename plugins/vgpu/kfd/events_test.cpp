#include "plugins/vgpu/kfd/events.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/support/testing/failing_requests.hpp"

namespace rigel::vgpu {
namespace {

std::atomic<uint64_t>& slot(Events& events, uint32_t id) {
  return reinterpret_cast<std::atomic<uint64_t>*>((*events.page_for_mmap(KFD_EVENT_PAGE_BYTES))->host())[id];
}

struct Waited {
  Errno error;
  uint32_t result;
};

Waited wait_for(Events& events, uint32_t id, uint32_t timeout_ms, uint64_t* age = nullptr) {
  kfd_event_data data{};
  data.event_id = id;
  if (age != nullptr) data.last_event_age = *age;
  Waited waited{};
  waited.error = events.wait(&data, 1, false, timeout_ms, waited.result);
  if (age != nullptr) *age = data.last_event_age;
  return waited;
}

TEST(Events, SignalIdsAreLowestFreeSlots) {
  Events events;
  EXPECT_EQ(events.create(KFD_EVENT_SIGNAL, true)->id, 1u);
  EXPECT_EQ(events.create(KFD_EVENT_SIGNAL, true)->id, 2u);
  EXPECT_EQ(events.create(KFD_EVENT_MEMORY, false)->id, 0x40000000u);
  EXPECT_EQ(events.create(KFD_EVENT_MEMORY, false)->id, 0x40000001u);
  EXPECT_EQ(events.destroy(1), 0);
  EXPECT_EQ(events.destroy(0x40000000u), 0);
  EXPECT_EQ(events.create(KFD_EVENT_SIGNAL, true)->id, 1u) << "the lowest free one";
  EXPECT_EQ(events.create(KFD_EVENT_HW_EXCEPTION, false)->id, 0x40000000u);
}

TEST(Events, CreateFailsBeyondMappedSlots) {
  Events events;
  EXPECT_EQ(events.page_for_mmap(KFD_EVENT_PAGE_BYTES).error(), EINVAL) << "no event has made it";
  for (uint32_t i = 1; i < 256; ++i) ASSERT_TRUE(events.create(KFD_EVENT_SIGNAL, true));
  EXPECT_EQ(events.create(KFD_EVENT_SIGNAL, true).error(), ENOSPC) << "nothing is mapped";
  EXPECT_EQ(events.page_for_mmap(KFD_EVENT_PAGE_BYTES + 4096).error(), EINVAL);
  ASSERT_TRUE(events.page_for_mmap(KFD_EVENT_PAGE_BYTES));
  for (uint32_t i = 256; i < KFD_SIGNAL_EVENTS_MAX; ++i) ASSERT_TRUE(events.create(KFD_EVENT_SIGNAL, true));
  EXPECT_EQ(events.create(KFD_EVENT_SIGNAL, true).error(), ENOSPC);
}

TEST(Events, FirstWaitTakesAutoResetEvent) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  EXPECT_EQ(events.set(id), 0);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
}

TEST(Events, ManualResetEventStaysSetUntilReset) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, false)->id;
  events.set(id);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
  events.reset(id);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
}

TEST(Events, UnknownEventIsInvalid) {
  Events events;
  EXPECT_EQ(events.set(7), EINVAL);
  EXPECT_EQ(events.destroy(7), EINVAL);
  EXPECT_EQ(wait_for(events, 7, UINT32_MAX).error, EINVAL);
  EXPECT_TRUE(events.create(99, false)) << "as in the driver, one that nobody sets";
}

TEST(Events, DestroyFailsPendingWait) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  std::thread other([&] {
    // The wait has probably begun by then; it cannot be observed.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    events.destroy(id);
  });
  const Waited waited = wait_for(events, id, UINT32_MAX);
  other.join();
  // The event was destroyed during the wait or before it.
  EXPECT_TRUE(waited.error == EIO || waited.error == EINVAL);
  EXPECT_EQ(waited.result, KFD_WAIT_FAIL);
}

// Two waiters on one auto-reset event lose a wake-up; the second notices by the age.
TEST(Events, StaleAgeCompletesWait) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  uint64_t age = 1;
  events.set(id);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE) << "somebody else takes it";
  EXPECT_EQ(wait_for(events, id, 0, &age).result, KFD_WAIT_COMPLETE) << "we missed it, and hear so";
  EXPECT_EQ(age, 2u);
  EXPECT_EQ(wait_for(events, id, 0, &age).result, KFD_WAIT_TIMEOUT);
}

uint32_t result_on_another_thread(Events& events, uint32_t id) {
  uint32_t result = 0;
  std::thread([&] { result = wait_for(events, id, 0).result; }).join();
  return result;
}

TEST(Events, SecondWaiterWithoutAgeMissesSet) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  events.set(id);
  EXPECT_EQ(result_on_another_thread(events, id), KFD_WAIT_COMPLETE);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT) << "as with the driver";
}

TEST(Events, LateWaiterIsNotifiedOnceOfTakenSet) {
  Events events(Latecomers::kHear);
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT) << "never set";
  for (int i = 0; i < 3; ++i) {
    events.set(id);
    EXPECT_EQ(result_on_another_thread(events, id), KFD_WAIT_COMPLETE) << "it is taken";
    EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
    EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
  }
}

TEST(Events, LateWaiterIsNotifiedOfSetThatWokeAnother) {
  Events events(Latecomers::kHear);
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  std::thread other([&] { EXPECT_EQ(wait_for(events, id, UINT32_MAX).result, KFD_WAIT_COMPLETE); });
  events.set(id);  // before or during the other's wait
  other.join();
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
}

#if HSABE_SANITIZER == HSABE_SANITIZER_NONE
TEST(Events, SetWakesWaiterWithoutMemory) {
  Events events(Latecomers::kHear);
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  std::thread waiter([&] { EXPECT_EQ(wait_for(events, id, 10000).result, KFD_WAIT_COMPLETE); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it probably waits by then
  request_that_fails = 0;
  EXPECT_NO_THROW(EXPECT_EQ(events.set(id), 0));
  request_that_fails = -1;
  waiter.join();
}
#endif

TEST(Events, WaitWithAgeConsumesNotification) {
  Events events(Latecomers::kHear);
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  uint64_t age = 1;
  for (int i = 0; i < 3; ++i) {
    events.set(id);
    EXPECT_EQ(result_on_another_thread(events, id), KFD_WAIT_COMPLETE) << "it is taken";
    EXPECT_EQ(wait_for(events, id, 0, &age).result, KFD_WAIT_COMPLETE) << "the age that was brought is old";
    EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT) << "the age has told of it";
  }
}

TEST(Events, LatestAgeConsumesNotification) {
  Events events(Latecomers::kHear);
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  events.set(id);
  uint64_t age = 1;
  std::thread other([&] { EXPECT_EQ(wait_for(events, id, 0, &age).result, KFD_WAIT_COMPLETE); });
  other.join();
  // The other thread has received the age and passed it to this one.
  EXPECT_EQ(wait_for(events, id, 0, &age).result, KFD_WAIT_TIMEOUT);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
  events.set(id);
  EXPECT_EQ(result_on_another_thread(events, id), KFD_WAIT_COMPLETE);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE) << "a set of later is news";
}

// As in ROCr's queue destruction: one thread sets an event for another and then waits for it itself. The two
// answer each other alternately, so a lost wake-up leaves both asleep.
TEST(Events, SetterThatWaitsDoesNotBlockLateWaiter) {
  Events events(Latecomers::kHear);
  const uint32_t shared = events.create(KFD_EVENT_SIGNAL, true)->id;
  const uint32_t request = events.create(KFD_EVENT_SIGNAL, true)->id;
  constexpr int kRounds = 2000;
  std::atomic<int> asked{0}, answered{0};
  std::thread handlers([&] {
    for (int seen = 0; seen < kRounds;) {
      if (const int latest = asked.load(); latest != seen) {
        seen = latest;
        answered.store(latest);
        events.set(shared);
        continue;
      }
      kfd_event_data data[2]{};
      data[0].event_id = request;
      data[1].event_id = shared;
      uint32_t result = 0;
      events.wait(data, 2, false, UINT32_MAX, result);
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    asked.store(i);
    events.set(request);
    while (answered.load() != i) {
      std::this_thread::yield();  // delays the wait after the check of the signal
      wait_for(events, shared, UINT32_MAX);
    }
  }
  handlers.join();
}

TEST(Events, InterruptSetsEventOfWrittenSlot) {
  Events events;
  const uint32_t a = events.create(KFD_EVENT_SIGNAL, true)->id;
  const uint32_t b = events.create(KFD_EVENT_SIGNAL, true)->id;
  slot(events, b).store(b, std::memory_order_release);
  events.interrupt(b, 32);
  EXPECT_EQ(wait_for(events, a, 0).result, KFD_WAIT_TIMEOUT);
  EXPECT_EQ(wait_for(events, b, 0).result, KFD_WAIT_COMPLETE);
  EXPECT_EQ(slot(events, b).load(), ~uint64_t{0});
}

TEST(Events, InterruptWithoutWrittenSlotIsIgnored) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  events.interrupt(id, 32);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_TIMEOUT);
}

TEST(Events, InterruptWithInvalidIdSearchesSlots) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  slot(events, id).store(1, std::memory_order_release);
  events.interrupt(0xfff, 8);
  EXPECT_EQ(wait_for(events, id, 0).result, KFD_WAIT_COMPLETE);
}

TEST(Events, MemoryFaultSetsMemoryEvent) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_MEMORY, false)->id;
  kfd_memory_exception fault{};
  fault.va = 0x1234000;
  fault.not_present = 1;
  EXPECT_TRUE(events.memory_fault(fault));
  kfd_event_data data{};
  data.event_id = id;
  uint32_t result = 0;
  EXPECT_EQ(events.wait(&data, 1, false, 0, result), 0);
  EXPECT_EQ(data.memory_exception.va, 0x1234000u);
  EXPECT_EQ(data.memory_exception.not_present, 1u);
}

TEST(Events, WaitForAllNeedsAllEvents) {
  Events events;
  kfd_event_data data[2]{};
  for (auto& d : data) d.event_id = events.create(KFD_EVENT_SIGNAL, false)->id;
  events.set(data[0].event_id);
  uint32_t result = 0;
  events.wait(data, 2, true, 0, result);
  EXPECT_EQ(result, KFD_WAIT_TIMEOUT);
  events.wait(data, 2, false, 0, result);
  EXPECT_EQ(result, KFD_WAIT_COMPLETE);
  std::thread other([&] { events.set(data[1].event_id); });
  events.wait(data, 2, true, UINT32_MAX, result);
  other.join();
  EXPECT_EQ(result, KFD_WAIT_COMPLETE);
}

// Waits for all of `ids` on a separate thread, which sleeps when the constructor returns.
class SleepingWait {
 public:
  SleepingWait(Events& events, std::initializer_list<uint32_t> ids) : data_(ids.size()) {
    std::transform(ids.begin(), ids.end(), data_.begin(), [](uint32_t id) {
      kfd_event_data entry{};
      entry.event_id = id;
      return entry;
    });
    thread_ = std::thread([&] {
      tid_.store(gettid());
      waited_.error =
          events.wait(data_.data(), static_cast<uint32_t>(data_.size()), true, UINT32_MAX, waited_.result);
    });
    while (tid_.load() == 0 || !sleeps()) std::this_thread::yield();
  }
  Waited end() {
    thread_.join();
    return waited_;
  }

 private:
  bool sleeps() const {
    std::ifstream file("/proc/self/task/" + std::to_string(tid_.load()) + "/stat");
    std::string number, name, state;
    file >> number >> name >> state;
    return state == "S";
  }

  std::vector<kfd_event_data> data_;
  Waited waited_{};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;
};

// A wait for all consumes the first set of its event; it does not consume the next one.
TEST(Events, WaitForAllConsumesOneSetOnly) {
  Events events;
  const uint32_t a = events.create(KFD_EVENT_SIGNAL, true)->id;
  const uint32_t b = events.create(KFD_EVENT_SIGNAL, true)->id;
  for (const bool is_set_before : {true, false}) {  // whether the first set comes before or during the wait
    if (is_set_before) events.set(a);
    SleepingWait wait(events, {a, b});
    if (!is_set_before) events.set(a);
    events.set(a);
    EXPECT_EQ(wait_for(events, a, 0).result, KFD_WAIT_COMPLETE) << is_set_before;
    events.set(b);
    EXPECT_EQ(wait.end().result, KFD_WAIT_COMPLETE);
    EXPECT_EQ(wait_for(events, a, 0).result, KFD_WAIT_TIMEOUT);
  }
}

TEST(Events, DestroyOfConsumedEventFailsWaitForAll) {
  Events events;
  const uint32_t a = events.create(KFD_EVENT_SIGNAL, true)->id;
  const uint32_t b = events.create(KFD_EVENT_SIGNAL, true)->id;
  events.set(a);
  SleepingWait wait(events, {a, b});
  events.destroy(a);
  events.set(b);
  const Waited waited = wait.end();
  EXPECT_EQ(waited.error, EIO);
  EXPECT_EQ(waited.result, KFD_WAIT_FAIL);
}

// The maximum number of entries of one call, all for one event.
TEST(Events, WaitAcceptsMaximumEntriesOfOneEvent) {
  for (const Latecomers latecomers : {Latecomers::kSleep, Latecomers::kHear}) {
    Events events(latecomers);
    std::vector<kfd_event_data> data(65536);
    for (auto& d : data) d.event_id = 1;
    const auto count = static_cast<uint32_t>(data.size());
    ASSERT_EQ(events.create(KFD_EVENT_SIGNAL, true)->id, 1u);
    uint32_t result = 0;
    EXPECT_EQ(events.wait(data.data(), count, false, 1, result), 0);
    EXPECT_EQ(result, KFD_WAIT_TIMEOUT);
    std::thread setter([&] {
      while (events.set(1) == 0) std::this_thread::yield();
    });
    for (const bool all : {true, false}) {
      EXPECT_EQ(events.wait(data.data(), count, all, UINT32_MAX, result), 0);
      EXPECT_EQ(result, KFD_WAIT_COMPLETE);
    }
    events.destroy(1);
    setter.join();
  }
}

TEST(Events, WaiterWithAgesMissesNoSet) {
  Events events;
  const uint32_t id = events.create(KFD_EVENT_SIGNAL, true)->id;
  constexpr int kSets = 500;
  std::thread setter([&] {
    for (int i = 0; i < kSets; ++i) events.set(id);
  });
  uint64_t age = 1;
  while (age < kSets + 1) ASSERT_EQ(wait_for(events, id, 10000, &age).result, KFD_WAIT_COMPLETE);
  setter.join();
}

}  // namespace
}  // namespace rigel::vgpu
