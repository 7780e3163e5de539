// Programs with GPU code for other GPUs.
#include "plugins/vgpu/preload/fat_binary.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/preload/run_program.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string number(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string bundle_of(const std::vector<std::string>& names) {
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__" + number(names.size());
  for (const std::string& name : names) bundle += number(4096) + number(0) + number(name.size()) + name;
  return bundle;
}

std::vector<std::string> targets_of(const std::string& bundle) {
  return bundle_targets(reinterpret_cast<const std::byte*>(bundle.data()));
}

TEST(FatBinary, ListsTargetsOfBundle) {
  EXPECT_THAT(targets_of(bundle_of({"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-",
                                    "hip-amdgcn-amd-amdhsa-gfx900", "openmp-nvptx64-nvidia-cuda-sm_70"})),
              ElementsAre("gfx906:xnack-", "gfx900"));
  EXPECT_THAT(targets_of("CCOB, compressed, and long enough to be looked at"), IsEmpty());
  EXPECT_THAT(targets_of("__CLANG_OFFLOAD_BUNDLE__" + number(1) + number(0) + number(0) + number(UINT64_MAX)),
              IsEmpty());
}

TEST(FatBinary, ReportsGpusWithoutCode) {
  const std::vector<GpuName> gpus = {{"vega10", "gfx900"}, {"navi21", "gfx1030"}, {"vega10", "gfx900"}};
  EXPECT_EQ(missing_code("a", {"gfx900", "gfx1030"}, gpus), "");
  EXPECT_EQ(missing_code("a", {}, gpus), "") << "no GPU code at all, or compressed";
  EXPECT_EQ(missing_code("a", {"gfx906"}, {}), "") << "no GPU";
  EXPECT_EQ(missing_code("./a", {"gfx1030", "gfx906"}, gpus),
            "./a: contains GPU code for gfx1030, gfx906, but none for gfx900 (vega10); compile with "
            "--offload-arch=gfx900, or select another GPU with vgpu-run --gpu");
}

TEST(FatBinary, UsesVersionOverrideOfEnvironment) {
  std::map<std::string, std::string> variables;
  const auto variable = [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(gfx_by_environment("gfx1032", 1, variable), "gfx1032");
  variables["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  EXPECT_EQ(gfx_by_environment("gfx1032", 1, variable), "gfx1030");
  variables["HSA_OVERRIDE_GFX_VERSION_2"] = "9.0.12";
  EXPECT_EQ(gfx_by_environment("gfx1032", 1, variable), "gfx1030");
  EXPECT_EQ(gfx_by_environment("gfx1032", 2, variable), "gfx90c");
  for (const char* wrong : {"10.3", "10.3.0x", "gfx1030"}) {
    variables["HSA_OVERRIDE_GFX_VERSION"] = wrong;
    EXPECT_EQ(gfx_by_environment("gfx1032", 1, variable), "gfx1032") << wrong;
  }
}

TEST(FatBinary, WarningMatchesDocumentation) {
  std::ifstream page(REPORTS_PAGE);
  const std::string text(std::istreambuf_iterator<char>(page), {});
  EXPECT_THAT(
      text, HasSubstr("\n" + missing_code("./a.out", {"gfx906", "gfx1030"}, {{"vega10", "gfx900"}}) + "\n"));
}

ProgramResult run(const std::string& gpus, const std::vector<std::string>& targets) {
  const char* const path = std::getenv("VGPU_RUN");
  std::vector<std::string> command = {path == nullptr ? "vgpu-run" : path, "--gpu", gpus, FAT_BINARY_PROGRAM};
  command.insert(command.end(), targets.begin(), targets.end());
  return run_program(command);
}

TEST(HipProgram, WarnsAboutMissingCode) {
  const ProgramResult result = run("gfx900,gfx906", {"gfx906", "gfx1030"});
  EXPECT_THAT(result.out, HasSubstr("contains GPU code for gfx906, gfx1030, but none for gfx900 (vega10)"));
}

TEST(HipProgram, PrintsNoWarningIfCodeFits) {
  EXPECT_THAT(run("gfx906", {"gfx906", "gfx1030"}).out, Not(HasSubstr("contains GPU code")));
  EXPECT_THAT(run("none", {"gfx906"}).out, Not(HasSubstr("contains GPU code")));
  ::setenv("HSA_OVERRIDE_GFX_VERSION", "10.3.0", 1);
  EXPECT_THAT(run("navi23", {"gfx1030"}).out, Not(HasSubstr("contains GPU code")));
  ::unsetenv("HSA_OVERRIDE_GFX_VERSION");
}

}  // namespace
}  // namespace rigel::vgpu
