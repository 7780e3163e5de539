// Debian's HIP on the virtual GPU, with ROCr and on this runtime. ROCr loads code objects, HIP's own among them, with a kernel: where there
// are no shader cores HIP cannot begin.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

std::string vgpu_run() {
  const char* const path = std::getenv("VGPU_RUN");
  return path == nullptr ? "vgpu-run" : path;
}

class HipOn : public ::testing::TestWithParam<const char*> {
 protected:
  void passes(const std::string& what) {
    for (const char* runtime : {"system", "rigel"}) {
      const ProgramResult result =
          run_program({vgpu_run(), "--runtime", runtime, "--gpu", GetParam(), HIP_PROGRAM, what}, 240);
      if (result.out.find("no shader cores") != std::string::npos) {
        GTEST_SKIP() << "this build of the virtual GPU runs no kernels on " << GetParam();
      }
      EXPECT_EQ(result.status, 0) << runtime << ": " << result.out;
    }
  }
};

TEST_P(HipOn, CopiesInEveryDirection) {
  passes("copies");
}

TEST_P(HipOn, StreamsAndEventsKeepTheirOrder) {
  passes("streams");
}

// HIP up to 5.x ends the process when an agent lists memory that it does not expect.
TEST(Hip, CountsNoDevicesWhereThereIsNoGpu) {
  for (const char* runtime : {"system", "rigel"}) {
    const ProgramResult result =
        run_program({vgpu_run(), "--runtime", runtime, "--gpu", "none", HIP_PROGRAM, "no_gpu"});
    EXPECT_EQ(result.status, 0) << runtime << ": " << result.out;
  }
}

// Where a driver is loaded ROCr's hsa_init succeeds, and HIP of ROCm 5.2 crashes; so that is not asked here.
TEST(Hip, AnswersWithErrorsWhereThereIsNoGpu) {
  for (const std::vector<std::string>& run :
       {std::vector<std::string>{vgpu_run(), "--runtime", "rigel", "--gpu", "none"},
        {"env", "LD_LIBRARY_PATH=" RIGEL_LIBRARIES}}) {
    std::vector<std::string> command = run;
    command.insert(command.end(), {HIP_PROGRAM, "memory_without_gpu"});
    if (run[0] == "env" && access("/dev/kfd", F_OK) == 0) continue;
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << run[0] << ": " << result.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , HipOn, ::testing::Values("gfx803", "gfx900", "gfx900:bar=small", "gfx906", "gfx1010", "gfx1030"),
    [](const auto& row) {
      const std::string board = row.param;
      return board.substr(0, board.find(':')) + (board.ends_with("small") ? "_small_bar" : "");
    });

}  // namespace
}  // namespace rigel::vgpu
