// hsa_init of a process that has exhausted the driver's events or its file descriptors, and hsa_init after a
// failed one. For Rigel, whose hsa_init omits devices that lack resources.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa_plugin/kfd_abi.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "support/agents.hpp"
#include "support/queues.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

std::string report() {
  hsa_ven_rigel_report_1_pfn_t table{};
  std::string text;
  if (hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof table, &table) ==
      HSA_STATUS_SUCCESS) {
    table.hsa_ven_rigel_discovery_report(
        HSA_VEN_RIGEL_REPORT_TEXT,
        [](const char* lines, size_t size, void* to) {
          static_cast<std::string*>(to)->assign(lines, size);
          return HSA_STATUS_SUCCESS;
        },
        &text);
  }
  return text;
}

std::vector<hsa_agent_t> gpus() {
  std::vector<hsa_agent_t> found;
  for (const hsa_agent_t agent : all_agents()) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU)
      found.push_back(agent);
  }
  return found;
}

void expect_to_work(hsa_agent_t gpu) {
  ScopedQueue queue;
  queue.create(gpu, 64);
  if (queue.get() == nullptr) return;
  const ScopedSignal done(1);
  submit(queue.get(), barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
}

/// Takes all events that the driver has for this process.
class ExhaustedEvents {
 public:
  ExhaustedEvents() : driver_(open("/dev/kfd", O_RDWR | O_CLOEXEC)) {
    if (driver_ < 0) return;
    kfd_create_event event{};
    while (ioctl(driver_, _IOWR('K', KFD_NR_CREATE_EVENT, kfd_create_event), &event) == 0) {
      events_.push_back(event.event_id);
      event = {};
    }
    problem_ = errno;
  }
  ~ExhaustedEvents() {
    for (const uint32_t number : events_) {
      kfd_event_ref event{number, 0};
      EXPECT_EQ(ioctl(driver_, _IOW('K', KFD_NR_DESTROY_EVENT, kfd_event_ref), &event), 0);
    }
    if (driver_ >= 0) close(driver_);
  }
  ExhaustedEvents(const ExhaustedEvents&) = delete;
  ExhaustedEvents& operator=(const ExhaustedEvents&) = delete;

  size_t count() const { return events_.size(); }
  int problem() const { return problem_; }

 private:
  const int driver_;
  std::vector<uint32_t> events_;
  int problem_ = 0;
};

class DriverLimits : public testing::Test {
 protected:
  void SetUp() override {
    const Session session;
    ASSERT_EQ(session.status(), HSA_STATUS_SUCCESS);
    if (report().empty()) GTEST_SKIP() << "not Rigel";
    gpus_ = gpus().size();
    if (gpus_ == 0 || access("/dev/kfd", R_OK) != 0) GTEST_SKIP() << "no GPU behind a driver";
  }

  /// Checks that all GPUs are present and work.
  void expect_healthy() {
    const Session session;
    ASSERT_EQ(session.status(), HSA_STATUS_SUCCESS);
    const auto found = gpus();
    ASSERT_EQ(found.size(), gpus_);
    for (const hsa_agent_t gpu : found) expect_to_work(gpu);
  }

  size_t gpus_ = 0;
};

TEST_F(DriverLimits, InitHidesGpusWithoutEvents) {
  expect_healthy();
  const size_t files = open_files();
  for (int round = 0; round < 2; ++round) {
    const ExhaustedEvents exhausted;
    ASSERT_GT(exhausted.count(), 1000u);
    EXPECT_EQ(exhausted.problem(), ENOSPC);
    const Session session;
    EXPECT_EQ(session.status(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(gpus().size(), 0u);
    EXPECT_FALSE(all_agents().empty()) << "the host is one";
    EXPECT_THAT(report(), testing::HasSubstr("events are not available"));
  }
  expect_healthy();
  EXPECT_EQ(open_files(), files);
}

// An initialized runtime creates no further events.
TEST_F(DriverLimits, GpusWorkIfEventsRunOutAfterInit) {
  const Session session;
  const ExhaustedEvents exhausted;
  ASSERT_GT(exhausted.count(), 1000u);
  for (const hsa_agent_t gpu : gpus()) expect_to_work(gpu);
}

TEST_F(DriverLimits, InitSucceedsAfterFailedInit) {
  expect_healthy();
  const size_t files = open_files();
  for (int round = 0; round < 3; ++round) {
    const char* const before = getenv("HSA_PLUGIN_CONFIG");
    const std::string config = before == nullptr ? "" : before;
    setenv("HSA_PLUGIN_CONFIG", "/nowhere/runtime.json", 1);
    EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_FILE, hsa_init());
    EXPECT_STATUS(HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_shut_down());
    if (before != nullptr) {
      setenv("HSA_PLUGIN_CONFIG", config.c_str(), 1);
    } else {
      unsetenv("HSA_PLUGIN_CONFIG");
    }
    expect_healthy();
    EXPECT_EQ(open_files(), files);
  }
}

// An hsa_init that lacks descriptors may omit devices or fail. The next one finds everything.
TEST_F(DriverLimits, InitIsPartialWithFewDescriptorsAndCompleteLater) {
  expect_healthy();
  const size_t files = open_files();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // RLIMIT_NOFILE limits the descriptor's value, so start from the lowest free one.
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  for (int spare = 0; spare < 24; ++spare) {
    SCOPED_TRACE(spare);
    const rlimit low{static_cast<rlim_t>(next + spare), limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    const hsa_status_t status = hsa_init();
    if (status == HSA_STATUS_SUCCESS) {
      EXPECT_LE(gpus().size(), gpus_);
      EXPECT_HSA(hsa_shut_down());
    }
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_TRUE(status == HSA_STATUS_SUCCESS || status == HSA_STATUS_ERROR_OUT_OF_RESOURCES)
        << status_name(status);
    EXPECT_EQ(open_files(), files);
    if (spare % 6 == 5) expect_healthy();
    if (HasFailure()) break;
  }
  expect_healthy();
}

}  // namespace
}  // namespace conformance
