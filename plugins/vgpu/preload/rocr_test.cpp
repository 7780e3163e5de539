// The system's HSA runtime (ROCr) on all generations of boards: runs rocr_program.cpp, and checks that a
// killed program leaves nothing.
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

std::vector<std::string> command(const std::string& boards, const std::string& test,
                                 const std::string& seed = "1") {
  // By default, ROCr copies with kernels on gfx8.
  return {"env", "HSA_ENABLE_SDMA=1", vgpu_run(), "--gpu", boards, ROCR_PROGRAM, test, seed};
}

struct Board {
  const char* name;
  const char* gpu;
};
void PrintTo(const Board& board, std::ostream* out) {
  *out << board.gpu;
}

class RocrOnBoard : public ::testing::TestWithParam<Board> {
 protected:
  void run_test(const std::string& test, const std::string& seed = "1") {
    const ProgramResult result = run_program(command(GetParam().gpu, test, seed));
    EXPECT_EQ(result.status, 0) << test << " " << seed << ": " << result.out;
  }
  bool is_gfx8() const { return std::string(GetParam().name) == "gfx803"; }
};

TEST_P(RocrOnBoard, BarriersWaitForDependencies) {
  for (const char* seed : {"1", "2", "3"}) run_test("barriers", seed);
}

TEST_P(RocrOnBoard, AsyncHandlersRun) {
  run_test("handlers", "4");
}

TEST_P(RocrOnBoard, CopiesAnySizeAndOffset) {
  run_test("copies", "5");
}

TEST_P(RocrOnBoard, CopiesRectangles) {
  if (is_gfx8()) GTEST_SKIP() << "the copy engines of gfx8 have no packet for it";
  run_test("rectangles", "6");
}

TEST_P(RocrOnBoard, FaultHasAddress) {
  run_test("fault");
}

TEST_P(RocrOnBoard, FreedMemoryFaultsOnlyItsQueue) {
  run_test("gone");
  run_test("gone_signal");
}

TEST_P(RocrOnBoard, ProgramHandlesItsOwnFaults) {
  run_test("signals");
}

TEST_P(RocrOnBoard, CreatesAndDestroysQueues) {
  run_test("queues");
}

TEST_P(RocrOnBoard, InvalidPacketStopsOnlyItsQueue) {
  run_test("bad_packet");
}

INSTANTIATE_TEST_SUITE_P(, RocrOnBoard,
                         ::testing::Values(Board{"gfx803", "fiji"}, Board{"gfx900", "vega10"},
                                           Board{"gfx906", "vega20"}, Board{"gfx1010", "navi10"},
                                           Board{"gfx1030", "navi21"},
                                           Board{"small_bar", "vega10:bar=small"}),
                         [](const auto& row) { return std::string(row.param.name); });

// Returns all files of a process: targets of its descriptors and mappings.
std::vector<std::string> files_of(pid_t pid) {
  std::vector<std::string> files;
  for (const char* directory : {"fd", "map_files"}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/" + directory, error)) {
      const auto target = std::filesystem::read_symlink(entry.path(), error);
      if (!error) files.push_back(target.string());
    }
  }
  return files;
}

TEST(RocrKilled, LeavesNoFiles) {
  char directory[] = "/tmp/vgpu_killed.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto arguments = command("gfx900", "wait");
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("TMPDIR", directory, 1);
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
  // Named files would remain; anonymous ones are freed with their last descriptor. ROCr's user-mode driver
  // creates two names in /dev/shm, with any driver.
  int anonymous = 0;
  for (const std::string& file : files) {
    EXPECT_THAT(file, Not(StartsWith(directory)));
    anonymous += file.starts_with("/memfd:vgpu-buffer") ? 1 : 0;
    const bool is_from_rocr = file.find("hsakmt") != file.npos;
    if (is_from_rocr || file.ends_with(" (deleted)")) continue;
    EXPECT_THAT(file, Not(StartsWith("/dev/shm")));
  }
  EXPECT_GT(anonymous, 0) << "no buffers were seen: this looks in the wrong place";
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace rigel::vgpu
