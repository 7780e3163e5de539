// Expected failures: tests that fail on some runtime, each with a reason. A listed test that fails counts as
// expected. A listed test that passes fails the run, so that the list stays correct. Ignores skipped tests.
//
// HSA_CONFORMANCE_EXPECTED is the path of the list. Each line is `<name or glob> <reason>`. Lines that start
// with # are comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace conformance {

struct ExpectedFailure {
  std::string pattern;
  std::string reason;
};

class Expectations {
 public:
  /// Reads the file. Returns an error message, or an empty string. Every line must have a reason.
  std::string read(const std::string& path);

  /// Returns the expected failure of a test ("Suite.Test/Agent"), or null.
  const ExpectedFailure* find(std::string_view test) const;

 private:
  std::vector<ExpectedFailure> failures_;
};

/// Runs all tests. Returns the exit code: 0 if exactly the expected tests failed.
int run_with_expectations(const Expectations& expectations);

}  // namespace conformance
