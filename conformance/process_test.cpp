// Many processes that use one GPU at the same time. Each has a queue, kernels and copies, although there are
// fewer copy engines than processes. The processes run this program; environment variables select their role.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

extern char** environ;

namespace conformance {
namespace {

constexpr const char* kReadyVariable = "HSA_CONFORMANCE_READY";  // a file descriptor
constexpr const char* kGoVariable = "HSA_CONFORMANCE_GO";

class OneOfMany : public DispatchTest {
 protected:
  void SetUp() override {
    if (std::getenv(kReadyVariable) == nullptr) GTEST_SKIP() << "a part of ManyProcesses";
    DispatchTest::SetUp();
  }

  void copy_there_and_back(hsa_agent_t host, void* local, uint32_t* from, uint32_t* to, size_t bytes) {
    std::fill(to, to + bytes / 4, 0);
    const ScopedSignal there(1), back(1);
    const hsa_signal_t first = there;
    ASSERT_HSA(hsa_amd_memory_async_copy(local, agent(), from, host, bytes, 0, nullptr, there));
    ASSERT_HSA(hsa_amd_memory_async_copy(to, host, local, agent(), bytes, 1, &first, back));
    ASSERT_TRUE(wait_for(back, HSA_SIGNAL_CONDITION_LT, 1));
    ASSERT_EQ(back.value(), 0);
    ASSERT_TRUE(std::equal(from, from + bytes / 4, to));
  }
};

TEST_P(OneOfMany, RunsKernelsAndCopies) {
  constexpr uint32_t kWords = 50'000;
  hsa_agent_t host{};
  for (const hsa_agent_t other : all_agents()) {
    if (agent_info<hsa_device_type_t>(other, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) host = other;
  }
  const PoolMemory local = allocate(local_pool(agent()), kWords * 4, agent());
  auto* const from = shared<uint32_t>(kWords);
  auto* const to = shared<uint32_t>(kWords);
  for (uint32_t i = 0; i < kWords; ++i) from[i] = i * static_cast<uint32_t>(getpid());
  copy_there_and_back(host, local.get(), from, to, kWords * 4);
  ASSERT_FALSE(HasFatalFailure());
  // From here on this process has a queue and, if one was free, a copy engine.
  const char byte = 'r';
  ASSERT_EQ(write(std::atoi(std::getenv(kReadyVariable)), &byte, 1), 1);
  char unused = 0;
  ASSERT_EQ(read(std::atoi(std::getenv(kGoVariable)), &unused, 1), 0);
  for (int round = 0; round < 5; ++round) {
    for (uint32_t i = 0; i < kWords; ++i) from[i] += 7 * i + static_cast<uint32_t>(round);
    copy_there_and_back(host, local.get(), from, to, kWords * 4);
    std::fill(to, to + kWords, 0);
    ASSERT_TRUE(
        run(dispatch_packet(kernels_.kernel("scale"), kernarg(ScaleArgs{from, to, kWords, 0}), kWords, 256)));
    for (uint32_t i = 0; i < kWords; ++i) ASSERT_EQ(to[i], from[i] * 3) << i;
  }
  EXPECT_EQ(errors().count, 0);
}

INSTANTIATE_FOR_AGENTS(OneOfMany);

class ManyProcesses : public testing::TestWithParam<AgentParam> {};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_reading();
    close_writing();
  }
  void close_reading() {
    if (ends[0] >= 0) close(std::exchange(ends[0], -1));
  }
  void close_writing() {
    if (ends[1] >= 0) close(std::exchange(ends[1], -1));
  }
  int ends[2] = {-1, -1};
};

TEST_P(ManyProcesses, SixteenRunConcurrently) {
  constexpr int kProcesses = 16;
  if (std::getenv(kReadyVariable) != nullptr) GTEST_SKIP() << "one of them";
  Pipe ready, go;
  // Descriptors of the children's pipe ends. All others are close-on-exec: a pipe closes with its user.
  constexpr int kReady = 200, kGo = 201;
  const std::string filter = "--gtest_filter=*OneOfMany.*/" + GetParam().name;
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    // Without GoogleTest's own: a part of this program's tests may be selected.
    if (!std::string_view(*variable).starts_with("GTEST_")) environment.emplace_back(*variable);
  }
  environment.push_back(std::string(kReadyVariable) + "=" + std::to_string(kReady));
  environment.push_back(std::string(kGoVariable) + "=" + std::to_string(kGo));
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string name = "/proc/self/exe", argument = filter, brief = "--gtest_brief=1";
  char* const arguments[] = {name.data(), argument.data(), brief.data(), nullptr};

  std::vector<pid_t> children;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ready.ends[1], kReady);
  posix_spawn_file_actions_adddup2(&files, go.ends[0], kGo);
  for (int i = 0; i < kProcesses; ++i) {
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", &files, nullptr, arguments, variables.data()), 0);
    children.push_back(child);
  }
  posix_spawn_file_actions_destroy(&files);
  ready.close_writing();
  int count = 0;
  char byte = 0;
  while (count < kProcesses && read(ready.ends[0], &byte, 1) == 1) ++count;
  EXPECT_EQ(count, kProcesses) << "the others failed before all had begun";
  go.close_writing();
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << child;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ManyProcesses);
INSTANTIATE_TEST_SUITE_P(, ManyProcesses, testing::ValuesIn(list_agents()), name_of_agent);

}  // namespace
}  // namespace conformance
