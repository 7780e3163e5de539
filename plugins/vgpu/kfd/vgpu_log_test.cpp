#include "plugins/vgpu/kfd/vgpu_log.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu {
namespace {

std::string said_by(const char* words, const char* path) {
  ::testing::internal::CaptureStderr();
  const Log log(words, path);
  return ::testing::internal::GetCapturedStderr();
}

constexpr const char* kNowhere = "/dev/null/log";

TEST(Log, SaysThatItsFileCannotBeOpened) {
  EXPECT_NE(said_by("", kNowhere).find("VGPU_LOG_FILE=/dev/null/log: ENOTDIR"), std::string::npos);
  EXPECT_EQ(said_by("", "/dev/null"), "");
}

TEST(Log, SaysNothingWhereNoWarningsAreWanted) {
  EXPECT_EQ(said_by("none", kNowhere), "");
}

}  // namespace
}  // namespace rigel::vgpu
