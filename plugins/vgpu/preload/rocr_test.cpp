// The HSA runtime that the system has (ROCr), on every generation of boards: what rocr_program.cpp checks,
// and what is left of a program that is killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::Not;
using ::testing::StartsWith;

std::string vgpu_run() {
  const char* const path = std::getenv("VGPU_RUN");
  return path == nullptr ? "vgpu-run" : path;
}

std::vector<std::string> command(const std::string& boards, const std::string& what,
                                 const std::string& seed = "1") {
  // By default ROCr uses kernels on gfx8 where it could use copy engines.
  return {"env", "HSA_ENABLE_SDMA=1", vgpu_run(), "--gpu", boards, ROCR_PROGRAM, what, seed};
}

struct Board {
  const char* name;
  const char* gpu;
};
void PrintTo(const Board& board, std::ostream* out) {
  *out << board.gpu;
}

class RocrOn : public ::testing::TestWithParam<Board> {
 protected:
  void passes(const std::string& what, const std::string& seed = "1") {
    const ProgramResult result = run_program(command(GetParam().gpu, what, seed));
    EXPECT_EQ(result.status, 0) << what << " " << seed << ": " << result.out;
  }
  bool old() const { return std::string(GetParam().name) == "gfx803"; }
};

TEST_P(RocrOn, BarriersOfARandomGraphWaitForTheirDependencies) {
  for (const char* seed : {"1", "2", "3"}) passes("barriers", seed);
}

TEST_P(RocrOn, EveryAsynchronousHandlerRuns) {
  passes("handlers", "4");
}

TEST_P(RocrOn, CopyEnginesMoveEverySizeAtEveryOffset) {
  passes("copies", "5");
}

TEST_P(RocrOn, CopyEnginesMoveRectangles) {
  if (old()) GTEST_SKIP() << "the copy engines of gfx8 have no packet for it";
  passes("rectangles", "6");
}

TEST_P(RocrOn, AFaultIsReportedWithItsAddress) {
  passes("fault");
}

TEST_P(RocrOn, MemoryThatFreeGivesBackIsAFaultOfItsQueueAlone) {
  passes("gone");
  passes("gone_signal");
}

TEST_P(RocrOn, TheProgramsOwnFaultsAreItsOwn) {
  passes("signals");
}

TEST_P(RocrOn, QueuesComeAndGo) {
  passes("queues");
}

TEST_P(RocrOn, AQueueThatErrsEndsAlone) {
  passes("bad_packet");
}

INSTANTIATE_TEST_SUITE_P(, RocrOn,
                         ::testing::Values(Board{"gfx803", "fiji"}, Board{"gfx900", "vega10"},
                                           Board{"gfx906", "vega20"}, Board{"gfx1010", "navi10"},
                                           Board{"gfx1030", "navi21"},
                                           Board{"small_bar", "vega10:bar=small"}),
                         [](const auto& row) { return std::string(row.param.name); });

// All files that a process has: what its descriptors and its mappings are of.
std::vector<std::string> files_of(pid_t pid) {
  std::vector<std::string> files;
  for (const char* folder : {"fd", "map_files"}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/" + folder, error)) {
      const auto target = std::filesystem::read_symlink(entry.path(), error);
      if (!error) files.push_back(target.string());
    }
  }
  return files;
}

TEST(RocrKilled, NothingIsLeftBehind) {
  char folder[] = "/tmp/vgpu_killed.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto arguments = command("gfx900", "wait");
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("TMPDIR", folder, 1);
    dup2(ends[1], 1);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  ::close(ends[1]);
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1) << "the program ended";
  const auto files = files_of(pid);
  kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  ::close(ends[0]);
  EXPECT_TRUE(WIFSIGNALED(status));
  // What has a name would stay; what has none goes with the last who has it. ROCr's user-mode driver has two
  // names in /dev/shm of its own, on any driver.
  int anonymous = 0;
  for (const std::string& file : files) {
    EXPECT_THAT(file, Not(StartsWith(folder)));
    anonymous += file.starts_with("/memfd:vgpu-buffer") ? 1 : 0;
    const bool of_rocr = file.find("hsakmt") != file.npos;
    if (of_rocr || file.ends_with(" (deleted)")) continue;
    EXPECT_THAT(file, Not(StartsWith("/dev/shm")));
  }
  EXPECT_GT(anonymous, 0) << "no buffers were seen: this looks in the wrong place";
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rigel::vgpu
