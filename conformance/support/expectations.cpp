#include "support/expectations.hpp"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace conformance {
namespace {

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

}  // namespace

std::string Expectations::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return "cannot read " + path;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t end = line.find_first_of(" \t", begin);
    const size_t reason = end == std::string::npos ? end : line.find_first_not_of(" \t", end);
    if (reason == std::string::npos)
      return path + ":" + std::to_string(number) + ": an expectation without a reason";
    failures_.push_back({line.substr(begin, end - begin), line.substr(reason)});
  }
  return {};
}

const ExpectedFailure* Expectations::find(std::string_view test) const {
  const std::string name(test);
  for (const ExpectedFailure& failure : failures_) {
    if (fnmatch(failure.pattern.c_str(), name.c_str(), 0) == 0) return &failure;
  }
  return nullptr;
}

int run_with_expectations(const Expectations& expectations) {
  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  int unexpected = 0;
  int tests_failed = 0;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!test.should_run() || test.result()->Skipped()) continue;
      const bool failed = test.result()->Failed();
      const ExpectedFailure* expected = expectations.find(full_name(test));
      tests_failed += failed ? 1 : 0;
      if (expected == nullptr) {
        unexpected += failed ? 1 : 0;
      } else if (failed) {
        std::printf("[EXPECTED ] %s failed: %s\n", full_name(test).c_str(), expected->reason.c_str());
      } else {
        std::printf("[UNEXPECTED] %s passed, though it was expected to fail: %s\n", full_name(test).c_str(),
                    expected->reason.c_str());
        ++unexpected;
      }
    }
  }
  if (unexpected != 0) return 1;
  // A failure outside of tests, for example in SetUpTestSuite, cannot be expected.
  return result != 0 && tests_failed == 0 ? 1 : 0;
}

}  // namespace conformance
