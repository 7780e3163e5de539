// Every SIMD level is either available or skipped with a reason, so that no level is left untested unnoticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "plugins/vgpu/exec/level_test_support.hpp"

namespace rigel::vgpu::exec {
namespace {

/// Returns the CPU's flags from /proc/cpuinfo; empty if it does not list them.
std::set<std::string> flags_of_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  return flags;
}

bool processor_has(SimdLevel level) {
  const std::set<std::string> flags = flags_of_processor();
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) { return flags.contains(name); });
  };
  switch (level) {
    case SimdLevel::kBaseline:
      return true;
    case SimdLevel::kAvx2:
      return has({"avx2", "fma", "f16c", "bmi1", "bmi2"});
    case SimdLevel::kAvx512:
      return has({"avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  }
  return false;
}

class SimdLevels : public ::testing::TestWithParam<SimdLevel> {};
INSTANTIATE_TEST_SUITE_P(All, SimdLevels, ::testing::ValuesIn(testing::kLevels), testing::LevelName{});

TEST_P(SimdLevels, AreAvailableOrHaveReason) {
  const auto levels = simd_levels();
  const bool is_available = std::find(levels.begin(), levels.end(), GetParam()) != levels.end();
  const std::string_view why = why_absent(GetParam());
  EXPECT_EQ(is_available, why.empty()) << "a level was left out without a word";
  if (is_available) return;
  EXPECT_TRUE(why.find("the CPU") == why.npos || !processor_has(GetParam())) << why;
  GTEST_SKIP() << why;
}

}  // namespace
}  // namespace rigel::vgpu::exec
