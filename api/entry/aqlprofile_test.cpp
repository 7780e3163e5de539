// The extension is the runtime's, or that of AMD's library if it can be found.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr uint16_t kExtension = HSA_EXTENSION_AMD_AQLPROFILE;

/// Whether an agent supports the extension, by both queries.
bool has(hsa_agent_t agent, uint16_t extension) {
  bool supported = false;
  EXPECT_EQ(hsa_agent_extension_supported(extension, agent, 1, 0, &supported), HSA_STATUS_SUCCESS);
  uint8_t extensions[128] = {};
  EXPECT_EQ(hsa_agent_get_info(agent, HSA_AGENT_INFO_EXTENSIONS, extensions), HSA_STATUS_SUCCESS);
  EXPECT_EQ((extensions[extension / 8] >> extension % 8 & 1) != 0, supported) << extension;
  return supported;
}

hsa_agent_t first_agent() {
  hsa_agent_t agent{};
  hsa_iterate_agents(
      [](hsa_agent_t one, void* first) {
        *static_cast<hsa_agent_t*>(first) = one;
        return HSA_STATUS_INFO_BREAK;
      },
      &agent);
  return agent;
}

bool is_supported() {
  bool supported = false, listed = false;
  EXPECT_EQ(hsa_system_extension_supported(kExtension, 1, 0, &supported), HSA_STATUS_SUCCESS);
  uint8_t extensions[128] = {};
  EXPECT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_EXTENSIONS, extensions), HSA_STATUS_SUCCESS);
  listed = (extensions[kExtension / 8] >> kExtension % 8 & 1) != 0;
  EXPECT_EQ(listed, supported);
  EXPECT_FALSE(has(first_agent(), kExtension)) << "a CPU";
  return supported;
}

TEST(Extensions, AreConsistentInBothQueriesOfAgent) {
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  const hsa_agent_t agent = first_agent();
  EXPECT_TRUE(has(agent, HSA_EXTENSION_AMD_LOADER));
  EXPECT_FALSE(has(agent, HSA_EXTENSION_FINALIZER));
  has(agent, HSA_EXTENSION_IMAGES);
  EXPECT_EQ(hsa_agent_get_info(agent, HSA_AGENT_INFO_EXTENSIONS, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
}

int state_of_child = -1;

void fork_and_ask_there() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(hsa_init() == HSA_STATUS_SUCCESS && is_supported() ? 0 : 1);
  }
  waitpid(child, &state_of_child, 0);
}

TEST(Aqlprofile, UsesLibraryIfInstalled) {
  ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  hsa_ven_amd_aqlprofile_pfn_t table{};
  if (void* const installed = dlopen(kAqlProfileLib, RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(installed);
    hsa_shut_down();
    GTEST_SKIP() << "AMD's own library is installed here";
  }
  EXPECT_TRUE(is_supported());
  ASSERT_EQ(hsa_system_get_major_extension_table(kExtension, 1, sizeof table, &table), HSA_STATUS_SUCCESS);
  bool is_valid = true;
  const hsa_ven_amd_aqlprofile_event_t event{HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, 0, 4};
  EXPECT_EQ(table.hsa_ven_amd_aqlprofile_validate_event(first_agent(), &event, &is_valid),
            HSA_STATUS_ERROR_INVALID_AGENT);
  const char* reason = nullptr;
  EXPECT_EQ(table.hsa_ven_amd_aqlprofile_error_string(&reason), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(reason, "agent: has no performance counters");

  // The dynamic linker finds it by name from now on.
  void* const library = dlopen(RIGEL_TEST_AQLPROFILE, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  // A process that is forked during the load finds it, too.
  *static_cast<void (**)()>(dlsym(library, "rigel_test_when_asked")) = fork_and_ask_there;
  EXPECT_TRUE(is_supported());
  EXPECT_EQ(state_of_child, 0) << "it was forked while the library was asked for its version";
  EXPECT_EQ(hsa_system_get_major_extension_table(kExtension, 2, sizeof table, &table), HSA_STATUS_ERROR);
  ASSERT_EQ(hsa_system_get_major_extension_table(kExtension, 1, sizeof table, &table), HSA_STATUS_SUCCESS);
  const char* text = nullptr;
  ASSERT_NE(table.hsa_ven_amd_aqlprofile_error_string, nullptr);
  EXPECT_EQ(table.hsa_ven_amd_aqlprofile_error_string(&text), HSA_STATUS_SUCCESS);
  EXPECT_STREQ(text, "of the stand-in");
  EXPECT_EQ(table.hsa_ven_amd_aqlprofile_att_marker, nullptr) << "the library is older than that function";
  EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
}

}  // namespace
