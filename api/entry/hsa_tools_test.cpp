// Tools of ROCr's ABI, from HSA_TOOLS_LIB, the configuration and rocprofiler-register.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa_rigel/hsa_ven_rigel_report.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HsaTools : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"HSA_TOOLS_LIB", "HSA_TOOLS_REPORT_LOAD_FAILURE", "HSA_TOOLS_ROCPROFILER_V1_TOOLS",
          "HSA_TOOLS_TABLE", "RIGEL_TEST_TOOL", "RIGEL_TEST_REGISTER"})
      ::unsetenv(name);
    ::setenv("HSA_TOOLS_DISABLE_REGISTER", "1", 1);
    take_notes();
  }
  static std::string take_notes() {
    const char* const notes = std::getenv("RIGEL_TEST_NOTES");
    std::string out = notes == nullptr ? "" : notes;
    ::unsetenv("RIGEL_TEST_NOTES");
    return out;
  }
  // Returns the loaded value of a signal with value 1.
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
  for (int round = 0; round < 2; ++round) {
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

TEST_F(HsaTools, CanCallKeptEntriesAfterShutDown) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  void* const tool = ::dlopen("libhsa_tool.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(tool, nullptr);
  const auto free_as_kept = reinterpret_cast<hsa_status_t (*)(void*)>(::dlsym(tool, "free_as_kept"));
  const auto load_as_kept =
      reinterpret_cast<hsa_signal_value_t (*)(hsa_signal_t)>(::dlsym(tool, "load_as_kept"));
  ASSERT_NE(free_as_kept, nullptr);
  ASSERT_NE(load_as_kept, nullptr);
  int nothing = 0;
  EXPECT_EQ(free_as_kept(&nothing), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  ASSERT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(free_as_kept(&nothing), HSA_STATUS_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(load_as_kept({}), 0);
  ::dlclose(tool);
}

TEST_F(HsaTools, ReportReplacedEntries) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  hsa_ven_rigel_report_1_pfn_t report{};
  ASSERT_EQ(hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof report, &report),
            HSA_STATUS_SUCCESS);
  std::vector<std::string> functions;
  const auto note = [](const hsa_ven_rigel_tool_t* tool, void* data) {
    auto& all = *static_cast<std::vector<std::string>*>(data);
    for (uint64_t i = 0; i < tool->function_count; ++i) all.emplace_back(tool->functions[i]);
    return HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(report.hsa_ven_rigel_iterate_tools(note, &functions), HSA_STATUS_SUCCESS);
  EXPECT_THAT(functions,
              UnorderedElementsAre("hsa_signal_load_relaxed", "hsa_amd_agent_memory_pool_get_info"));
  hsa_shut_down();
}

TEST_F(HsaTools, ReceiveNamesOfMissingTools) {
  ::setenv("HSA_TOOLS_LIB", "libnowhere.so \"lib of two words.so\" libhsa_tool.so libhsa_tool.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "failed libnowhere.so;failed lib of two words.so;OnLoad;");
  hsa_shut_down();
}

// In a child, because the library stays loaded and declares itself a tool by its priority.
TEST_F(HsaTools, ReceiveNamesOfFailedTools) {
  const auto test = [] {
    ::setenv("HSA_TOOLS_LIB", "libhsa_tool_5.so libhsa_tool.so", 1);
    ::setenv("RIGEL_TEST_TOOL", "another refuses", 1);
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnLoad 5;OnLoad 5;failed libhsa_tool_5.so;OnLoad;");
    EXPECT_EQ(loaded(), 2);
    hsa_shut_down();
    ::_exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(test(), ExitedWithCode(0), "");
}

// Parsed as by ROCr. A tool returns the names of missing libraries when it is unloaded.
TEST_F(HsaTools, ListSupportsQuotes) {
  const std::pair<const char*, const char*> lists[] = {
      {"a b", "failed a;failed b;"},         {R"("a b" c)", "failed a b;failed c;"},
      {R"(a\ b c)", "failed a b;failed c;"}, {R"("a""b")", "failed a;failed b;"},
      {R"("a"b)", "failed a;failed b;"},     {R"(\"a b\")", R"(failed "a;failed b";)"},
      {R"(a\\b)", R"(failed a\b;)"},         {"it's his", "failed it's;failed his;"},
      {"  a   b  ", "failed a;failed b;"},   {R"("" a)", "failed a;"},
  };
  for (const auto& [list, failed] : lists) {
    ::setenv("HSA_TOOLS_LIB", (std::string(list) + " libhsa_tool.so").c_str(), 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), std::string(failed) + "OnLoad;") << list;
    hsa_shut_down();
    take_notes();
  }
  // A quote or a backslash at the end.
  for (const char* list : {"\"libhsa_tool.so", "libhsa_tool.so\"", "libhsa_tool.so \\"}) {
    ::setenv("HSA_TOOLS_LIB", list, 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnLoad;") << list;
    hsa_shut_down();
    take_notes();
  }
}

TEST_F(HsaTools, FailuresAreLoggedUnlessDisabled) {
  ::setenv("HSA_TOOLS_LIB", "libnowhere.so", 1);
  ::unsetenv("HSA_LOADER_DEBUG");
  const auto log = [](const char* report) {
    report == nullptr ? ::unsetenv("HSA_TOOLS_REPORT_LOAD_FAILURE")
                      : ::setenv("HSA_TOOLS_REPORT_LOAD_FAILURE", report, 1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    hsa_shut_down();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log(nullptr), HasSubstr("libnowhere.so"));
  EXPECT_THAT(log("1"), HasSubstr("libnowhere.so"));
  EXPECT_THAT(log("0"), IsEmpty());
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
}

// In a child, because the libraries stay loaded.
TEST_F(HsaTools, LoadedLibrariesAreToolsByPriority) {
  const auto test = [] {
    for (const char* name : {"libhsa_tool_7.so", "libhsa_tool_3.so", "libhsa_tool_5.so"})
      EXPECT_NE(::dlopen(name, RTLD_NOW), nullptr);
    ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so libhsa_tool_5.so", 1);
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnLoad;OnLoad 5;OnLoad 3;OnLoad 7;");
    hsa_shut_down();
    EXPECT_EQ(take_notes(), "OnUnload 7;OnUnload 3;OnUnload 5;OnUnload;");

    // A tool that has failed is not loaded again for its priority. The runtime offers it the current tables
    // and those of ROCm 5, like any tool.
    ::setenv("HSA_TOOLS_LIB", "libhsa_tool_5.so", 1);
    ::setenv("RIGEL_TEST_TOOL", "refuses", 1);
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(take_notes(), "OnLoad 5;OnLoad 5;OnLoad 3;OnLoad 3;OnLoad 7;OnLoad 7;");
    hsa_shut_down();
    ::_exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(test(), ExitedWithCode(0), "");
}

TEST_F(HsaTools, FailedToolsLeaveTablesUnchanged) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  for (const char* behaviour : {"refuses", "throws"}) {
    ::setenv("RIGEL_TEST_TOOL", behaviour, 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(loaded(), 1) << behaviour;
    hsa_shut_down();
    EXPECT_EQ(take_notes(), "") << behaviour;
  }
}

TEST_F(HsaTools, ToolOf2025CopiesItsPartOfTables) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::setenv("RIGEL_TEST_TOOL", "of 2025", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "of 2025;OnLoad;");
  EXPECT_EQ(loaded(), 2);
  hsa_shut_down();
}

// Returns a ROCm 5 tool's record of two calls whose slots have moved since.
std::string seen_by(const char* library, const char* table) {
  ::setenv("HSA_TOOLS_LIB", library, 1);
  table == nullptr ? ::unsetenv("HSA_TOOLS_TABLE") : ::setenv("HSA_TOOLS_TABLE", table, 1);
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  uint32_t value = 0;
  hsa_amd_agent_memory_pool_get_info({0}, {0}, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value);
  hsa_amd_queue_cu_get_mask(nullptr, 32, &value);
  hsa_shut_down();
  const std::string notes = std::getenv("RIGEL_TEST_NOTES");
  ::unsetenv("RIGEL_TEST_NOTES");
  return notes;
}

TEST_F(HsaTools, UsersOfRocm5RoctracerGetRocm5Tables) {
  EXPECT_EQ(seen_by("libtool_of_48.so", nullptr), "OnLoad;pool info;queue mask;");
  EXPECT_EQ(seen_by("libtool_of_48.so", "either"), "OnLoad;pool info;queue mask;");
  EXPECT_EQ(seen_by("libtool_of_48.so", "current"), "OnLoad;") << "the user knows better";
}

TEST_F(HsaTools, EnvironmentSelectsTables) {
  EXPECT_EQ(seen_by("libtool_of_51.so", "rocm5.5"), "OnLoad;pool info;queue mask;");
  EXPECT_EQ(seen_by("libtool_of_48.so", "rocm5"), "OnLoad;pool info;queue mask;");
  ::unsetenv("HSA_LOADER_DEBUG");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(seen_by("libtool_of_48.so", "rocm4"), "OnLoad;pool info;queue mask;");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("HSA_TOOLS_TABLE: unknown layout 'rocm4'"));
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
}

TEST_F(HsaTools, RegisterIsCalledFirst) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::setenv("RIGEL_TEST_REGISTER", "1", 1);
  ::unsetenv("HSA_TOOLS_DISABLE_REGISTER");
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 101);
  EXPECT_EQ(take_notes(), "");
  hsa_shut_down();

  ::unsetenv("RIGEL_TEST_REGISTER");  // without tools
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 2);
  hsa_shut_down();
}

TEST_F(HsaTools, AreLoadedWithRegisterOnRequest) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::setenv("RIGEL_TEST_REGISTER", "1", 1);
  ::unsetenv("HSA_TOOLS_DISABLE_REGISTER");
  ::setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(loaded(), 102);
  hsa_shut_down();
}

TEST_F(HsaTools, AreLoadedIfRegisterFails) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool.so", 1);
  ::unsetenv("HSA_TOOLS_DISABLE_REGISTER");
  for (const char* how : {"fails", "throws", "is full"}) {
    ::setenv("RIGEL_TEST_REGISTER", how, 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(loaded(), 2) << how;
    hsa_shut_down();
  }
}

// It has room for the tables of a few runtimes. Users with tools are warned if there is none.
TEST_F(HsaTools, FullRegisterIsReported) {
  ::unsetenv("HSA_TOOLS_DISABLE_REGISTER");
  ::unsetenv("HSA_LOADER_DEBUG");
  const auto log = [](const char* what) {
    what == nullptr ? ::unsetenv("RIGEL_TEST_REGISTER") : ::setenv("RIGEL_TEST_REGISTER", what, 1);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    hsa_shut_down();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log(nullptr), IsEmpty());
  EXPECT_THAT(log("is full"), IsEmpty());
  EXPECT_THAT(log("1"), IsEmpty());
  EXPECT_THAT(log("is full"), HasSubstr("librocprofiler-register.so.0"));
  ::setenv("HSA_LOADER_DEBUG", "none", 1);
}

TEST_F(HsaTools, RegisterCanBeDisabled) {
  ::setenv("RIGEL_TEST_REGISTER", "1", 1);
  for (const auto& [value, wanted] : {std::pair("1", 1), {"0", 101}}) {
    ::setenv("HSA_TOOLS_DISABLE_REGISTER", value, 1);
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    EXPECT_EQ(loaded(), wanted) << value;
    hsa_shut_down();
  }
}

#ifdef RIGEL_TEST_INSTALLED_ROCR
// Debian 12 has ROCr 5.2.3, whose tables have another layout; Debian 13 has 6.1.2.
TEST_F(HsaTools, SystemRocrToolGetsItsLayout) {
  ::setenv("HSA_TOOLS_LIB", "libhsa_tool_installed.so", 1);
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  EXPECT_EQ(take_notes(), "OnLoad;");
  EXPECT_EQ(loaded(), 2);
  EXPECT_EQ(take_notes(), "load;");
  // At a different position in ROCm 5's table.
  uint32_t value = 0;
  hsa_amd_agent_memory_pool_get_info({0}, {0}, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &value);
  EXPECT_EQ(take_notes(), "pool info;");
  hsa_shut_down();
}
#endif

}  // namespace
