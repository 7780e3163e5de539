#include "core/driver/kfd_probe.hpp"

#include <gtest/gtest.h>

namespace rigel {
namespace {

TEST(KfdProbe, SaysThatNoDriverIsThere) {
  const KfdProbe probe = probe_kfd("/dev/no-such-device");
  EXPECT_EQ(probe.answer, KfdProbe::Answer::kAbsent);
}

TEST(KfdProbe, TellsADeviceThatIsNoKfd) {
  const KfdProbe probe = probe_kfd("/dev/null");
  EXPECT_EQ(probe.answer, KfdProbe::Answer::kNotKfd);
  EXPECT_NE(probe.text.find("not an amdkfd device"), std::string::npos);
}

TEST(KfdProbe, TellsAFolderFromADevice) {
  const KfdProbe probe = probe_kfd("/");
  EXPECT_EQ(probe.answer, KfdProbe::Answer::kForbidden);
  EXPECT_FALSE(probe.text.empty());
}

}  // namespace
}  // namespace rigel
