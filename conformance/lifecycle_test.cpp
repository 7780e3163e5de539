// hsa_init and hsa_shut_down: references and threads. A test must not leave a reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/session.hpp"
#include "support/status.hpp"

#include <hsa/hsa_ext_amd.h>

namespace conformance {
namespace {

class Lifecycle : public testing::Test {
 protected:
  void SetUp() override {
    const Session session;
    if (session.status() != HSA_STATUS_SUCCESS) GTEST_SKIP() << "hsa_init: " << status_name(session.status());
  }

  static hsa_status_t query() {
    uint16_t major = 0;
    return hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  }
};

TEST_F(Lifecycle, CallsWorkBetweenInitAndShutDown) {
  ASSERT_HSA(hsa_init());
  EXPECT_HSA(query());
  EXPECT_HSA(hsa_shut_down());
  EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, query());
}

TEST_F(Lifecycle, EveryInitNeedsOneShutDown) {
  for (int i = 0; i < 5; ++i) ASSERT_HSA(hsa_init());
  for (int i = 0; i < 4; ++i) {
    EXPECT_HSA(hsa_shut_down());
    EXPECT_HSA(query());
  }
  EXPECT_HSA(hsa_shut_down());
  EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, query());
}

TEST_F(Lifecycle, RejectsSurplusShutDown) {
  EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  ASSERT_HSA(hsa_init());
  EXPECT_HSA(hsa_shut_down());
  EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
  ASSERT_HSA(hsa_init());
  EXPECT_HSA(query());
  EXPECT_HSA(hsa_shut_down());
}

TEST_F(Lifecycle, RestartsManyTimes) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_HSA(hsa_init());
    ASSERT_HSA(query());
    ASSERT_HSA(hsa_shut_down());
  }
}

TEST_F(Lifecycle, ThreadsInitialiseAndShutDownConcurrently) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&failures] {
      for (int i = 0; i < 1000; ++i) {
        hsa_signal_t signal{};
        bool good = hsa_init() == HSA_STATUS_SUCCESS;
        good = good && query() == HSA_STATUS_SUCCESS;
        good = good && hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS;
        good = good && hsa_signal_load_relaxed(signal) == 1;
        good = good && hsa_signal_destroy(signal) == HSA_STATUS_SUCCESS;
        good = hsa_shut_down() == HSA_STATUS_SUCCESS && good;
        if (!good) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, query());
}

// hsa_shut_down waits for the handler, so hsa_init must not wait for hsa_shut_down.
TEST_F(Lifecycle, HandlerMayInitialiseDuringLastShutDown) {
  struct Meeting {
    std::atomic<bool> begun = false, done = false;
    std::atomic<hsa_status_t> status = HSA_STATUS_ERROR;
  };
  const auto handler = [](hsa_signal_value_t, void* data) {
    auto& meeting = *static_cast<Meeting*>(data);
    meeting.begun = true;
    // Time for the other thread to enter hsa_shut_down.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    meeting.status = hsa_init();
    if (meeting.status == HSA_STATUS_SUCCESS) hsa_shut_down();
    meeting.done = true;
    return false;
  };
  for (int i = 0; i < 20; ++i) {
    Meeting meeting;
    ASSERT_HSA(hsa_init());
    hsa_signal_t signal{};
    ASSERT_HSA(hsa_signal_create(1, 0, nullptr, &signal));
    ASSERT_HSA(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, handler, &meeting));
    hsa_signal_store_screlease(signal, 0);
    while (!meeting.begun) std::this_thread::yield();
    EXPECT_HSA(hsa_shut_down());
    while (!meeting.done) std::this_thread::yield();
    EXPECT_THAT(meeting.status.load(), testing::AnyOf(HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_OUT_OF_RESOURCES));
    EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, query());
  }
}

// The manual does not define fork. A child without the parent's threads must get a status at once, whatever
// the parent was doing, and the parent must not be affected.
TEST_F(Lifecycle, ForkedChildGetsNotInitialized) {
  ASSERT_HSA(hsa_init());
  hsa_signal_t signal{};
  ASSERT_HSA(hsa_signal_create(3, 0, nullptr, &signal));
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    _exit(query() == HSA_STATUS_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "the child saw something else: " << state;
  EXPECT_EQ(hsa_signal_load_relaxed(signal), 3);
  EXPECT_HSA(hsa_signal_destroy(signal));
  EXPECT_HSA(hsa_shut_down());
}

TEST_F(Lifecycle, ForkedChildStartsSeparateRuntime) {
  ASSERT_HSA(hsa_init());
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    hsa_signal_t signal{};
    bool good = hsa_init() == HSA_STATUS_SUCCESS && query() == HSA_STATUS_SUCCESS;
    good = good && hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS;
    good = good && hsa_signal_destroy(signal) == HSA_STATUS_SUCCESS;
    _exit(hsa_shut_down() == HSA_STATUS_SUCCESS && good ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "the child could not: " << state;
  EXPECT_HSA(query());
  EXPECT_HSA(hsa_shut_down());
}

TEST(StatusString, WorksBeforeInit) {
  const char* text = nullptr;
  EXPECT_HSA(hsa_status_string(HSA_STATUS_ERROR_NOT_INITIALIZED, &text));
  ASSERT_NE(text, nullptr);
  EXPECT_NE(*text, '\0');
}

}  // namespace
}  // namespace conformance
