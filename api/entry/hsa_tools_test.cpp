// Tools of ROCr's ABI, from HSA_TOOLS_LIB, the configuration and rocprofiler-register.
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdlib>
#include <string>

namespace {

class HsaTools : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"HSA_TOOLS_LIB", "RIGEL_TEST_TOOL", "RIGEL_TEST_REGISTER"}) ::unsetenv(name);
    ::setenv("HSA_TOOLS_DISABLE_REGISTER", "1", 1);
    take_notes();
  }
  static std::string take_notes() {
    const char* const notes = std::getenv("RIGEL_TEST_NOTES");
    std::string out = notes == nullptr ? "" : notes;
    ::unsetenv("RIGEL_TEST_NOTES");
    return out;
  }
  // What a signal of value 1 seems to be worth.
  static int64_t loaded() {
    hsa_signal_t signal{};
    EXPECT_EQ(hsa_signal_create(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
    const int64_t value = hsa_signal_load_relaxed(signal);
    hsa_signal_destroy(signal);
    return value;
  }
};

TEST_F(HsaTools, ReplaceEntriesFromOnLoadToOnUnload) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnLoad;");
    EXPECT_EQ(loaded(), 2);
    EXPECT_EQ(take_notes(), "load;");
    ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnUnload;");
  }
  ::unsetenv("HSA_TOOLS_LIB");
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 1);
  hsa_shut_down();
}

TEST_F(HsaTools, AreToldOfThoseThatCouldNotBeLoaded) {
  ::setenv("HSA_TOOLS_LIB", "libnowhere.so \"lib of two words.so\" libhsa_tool.so libhsa_tool.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "failed libnowhere.so;failed lib of two words.so;OnLoad;");
  hsa_shut_down();
}

TEST_F(HsaTools, ThatRefuseOrThrowLeaveTheTablesAsTheyWere) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  for (const char* behaviour : {"refuses", "throws"}) {
    ::setenv("RIGEL_TEST_TOOL", behaviour, 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(loaded(), 1) << behaviour;
    hsa_shut_down();
    EXPECT_EQ(take_notes(), "") << behaviour;
  }
}

TEST_F(HsaTools, Of2025TakeTheTablesAsFarAsTheyKnowThem) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::setenv("RIGEL_TEST_TOOL", "of 2025", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "of 2025;OnLoad;");
  EXPECT_EQ(loaded(), 2);
  hsa_shut_down();
}

TEST_F(HsaTools, GetTheirTablesByTheRegisterFirst) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::setenv("RIGEL_TEST_REGISTER", "1", 1);
  ::unsetenv("HSA_TOOLS_DISABLE_REGISTER");
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 101);
  EXPECT_EQ(take_notes(), "");
  hsa_shut_down();

  ::unsetenv("RIGEL_TEST_REGISTER");  // which has no tools then
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 2);
  hsa_shut_down();
}

#ifdef RIGEL_TEST_ROCM5
TEST_F(HsaTools, OfRocm5GetTheTablesOfRocm5) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool_rocm5.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "OnLoad;");
  EXPECT_EQ(loaded(), 2);
  EXPECT_EQ(take_notes(), "load;");
  // Which lies elsewhere in the table than it did then.
  uint32_t value = 0;
  hsa_amd_agent_memory_pool_get_info({0}, {0}, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value);
  EXPECT_EQ(take_notes(), "pool info;");
  hsa_shut_down();
}
#endif

}  // namespace
