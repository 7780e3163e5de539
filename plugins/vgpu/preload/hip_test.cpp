// Debian's HIP on the virtual GPU, with ROCr and with this runtime. ROCr and HIP load code objects with a
// kernel, so HIP needs shader cores.
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

class HipOnBoard : public ::testing::TestWithParam<const char*> {
 protected:
  void run_test(const std::string& test) {
    for (const char* runtime : {"system", "rigel"}) {
      const ProgramResult result =
          run_program({vgpu_run(), "--runtime", runtime, "--gpu", GetParam(), HIP_PROGRAM, test}, 240);
      if (result.out.find("no shader cores") != std::string::npos) {
        GTEST_SKIP() << "this build of the virtual GPU runs no kernels on " << GetParam();
      }
      EXPECT_EQ(result.status, 0) << runtime << ": " << result.out;
    }
  }
};

TEST_P(HipOnBoard, CopiesInAllDirections) {
  run_test("copies");
}

TEST_P(HipOnBoard, StreamsAndEventsKeepOrder) {
  run_test("streams");
}

// HIP up to 5.x aborts if an agent lists unexpected memory.
TEST(Hip, CountsNoDevicesWithoutGpu) {
  for (const char* runtime : {"system", "rigel"}) {
    const ProgramResult result =
        run_program({vgpu_run(), "--runtime", runtime, "--gpu", "none", HIP_PROGRAM, "no_gpu"});
    EXPECT_EQ(result.status, 0) << runtime << ": " << result.out;
  }
}

// With a driver loaded, ROCr's hsa_init succeeds, and HIP of ROCm 5.2 crashes; this case is not tested.
TEST(Hip, ReturnsErrorsWithoutGpu) {
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
    , HipOnBoard, ::testing::Values("gfx803", "gfx900", "gfx900:bar=small", "gfx906", "gfx1010", "gfx1030"),
    [](const auto& row) {
      const std::string board = row.param;
      return board.substr(0, board.find(':')) + (board.ends_with("small") ? "_small_bar" : "");
    });

}  // namespace
}  // namespace rigel::vgpu
