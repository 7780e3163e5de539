#include "api/support/backend_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

namespace rigel {
namespace {

TEST(BackendReport, TakeClearsReport) {
  backend_report::keep("no memory");
  EXPECT_EQ(backend_report::take(), "no memory");
  EXPECT_EQ(backend_report::take(), "");
}

TEST(BackendReport, LaterReportReplacesEarlier) {
  backend_report::keep("a long first one");
  backend_report::keep("short");
  EXPECT_EQ(backend_report::take(), "short");
}

TEST(BackendReport, DroppedReportIsNotLogged) {
  backend_report::keep("an engine is not to be had");
  backend_report::drop();
  EXPECT_EQ(backend_report::take(), "");
}

TEST(BackendReport, IsThreadLocal) {
  backend_report::keep("here");
  std::thread([] { EXPECT_EQ(backend_report::take(), ""); }).join();
  EXPECT_EQ(backend_report::take(), "here");
}

TEST(BackendReport, IsTruncated) {
  backend_report::keep(std::string(5000, 'x'));
  EXPECT_EQ(backend_report::take(), std::string(1024, 'x'));
}

// Called where exceptions are not allowed, for example at the start of a copy.
static_assert(noexcept(backend_report::refused("", 0)));

TEST(BackendReport, IsLoggedWithItsFailureOnly) {
  configure_log("debug");
  ::testing::internal::CaptureStderr();
  backend_report::keep("half a pair");
  EXPECT_EQ(backend_report::refused("no mask", HSA_STATUS_ERROR_INVALID_ARGUMENT),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(backend_report::refused("no priority", HSA_STATUS_ERROR), HSA_STATUS_ERROR);
  const std::string log = ::testing::internal::GetCapturedStderr();
  configure_log(nullptr);
  const size_t reason = log.find("no mask: half a pair");
  ASSERT_NE(reason, std::string::npos) << log;
  EXPECT_NE(log.find("no priority"), std::string::npos) << log;
  EXPECT_EQ(log.find("half a pair", reason + 12), std::string::npos) << log;
}

TEST(BackendReport, SettleLogsReportWithoutFailure) {
  ::testing::internal::CaptureStderr();
  backend_report::keep("no scratch memory");
  backend_report::settle();
  EXPECT_EQ(backend_report::take(), "");
  backend_report::settle();
  const std::string log = ::testing::internal::GetCapturedStderr();
  const size_t reason = log.find("no scratch memory");
  ASSERT_NE(reason, std::string::npos) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

}  // namespace
}  // namespace rigel
