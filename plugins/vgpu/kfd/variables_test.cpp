#include "plugins/vgpu/kfd/variables.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "plugins/vgpu/kfd/system.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

TEST(Variables, ValidVariablesAreAccepted) {
  const char* const environment[] = {
      "HOME=/",         "VGPU_GPUS=gfx900", "VGPU_THREADS=1024", "VGPU_SIMD=avx2", "VGPU_SIGNALS=0",
      "VGPU_COMPILER=", "VGPU_CACHE=avx2",  "VGPU_SLICES=7",     "VGPU_NOTHING",   "VGPU_EVENTS=exact",
      nullptr};
  EXPECT_THAT(useless_variables(environment), IsEmpty());
  EXPECT_THAT(useless_variables(nullptr), IsEmpty());
}

TEST(Variables, InvalidValuesAndNamesAreReportedWithSuggestion) {
  const char* const environment[] = {"VGPU_THREADS=0",   "VGPU_THREADS=2x", "VGPU_SIMD=avx1",
                                     "VGPU_COMPILER=on", "VGPU_THREAD=2",   nullptr};
  EXPECT_THAT(useless_variables(environment),
              ElementsAre("VGPU_THREADS: invalid value '0'; use a number from 1 to 1024",
                          "VGPU_THREADS: invalid value '2x'; use a number from 1 to 1024",
                          "VGPU_SIMD: invalid value 'avx1'; did you mean 'avx2'?",
                          "VGPU_COMPILER: invalid value 'on'; use beforehand or off",
                          "VGPU_THREAD: unknown variable; did you mean 'VGPU_THREADS'?"));
}

TEST(Variables, AreCheckedWhenSystemIsCreated) {
  std::string log;
  const auto write = [](void* self, LogCategory, std::string_view line) {
    static_cast<std::string*>(self)->append(line).append("\n");
  };
  ::setenv("VGPU_SIMD", "avx1", 1);
  Diagnostics diagnostics;
  EXPECT_NE(make_system({}, diagnostics, {write, &log}), nullptr);
  ::unsetenv("VGPU_SIMD");
  EXPECT_EQ(log, "VGPU_SIMD: invalid value 'avx1'; did you mean 'avx2'?\n");
}

TEST(Variables, DocumentedVariablesAreKnown) {
  std::ifstream page(RIGEL_TEST_DOCS "/reference/variables.md", std::ios::binary);
  bool is_in_section = false;
  int count = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_in_section = line == "## Virtual GPU";
    if (!is_in_section || !line.starts_with("| `VGPU_")) continue;
    const std::string cell = line.substr(2, line.find(" | ") - 2);
    for (size_t at = cell.find("`VGPU_"); at != cell.npos; at = cell.find("`VGPU_", at + 1)) {
      ++count;
      const std::string name = cell.substr(at + 1, cell.find('`', at + 1) - at - 1), misspelt = name + "X=1";
      const char* const environment[] = {misspelt.c_str(), nullptr};
      EXPECT_THAT(useless_variables(environment), ElementsAre(EndsWith("did you mean '" + name + "'?")));
    }
  }
  EXPECT_GT(count, 20) << "the table was not found";
}

}  // namespace
}  // namespace rigel::vgpu
