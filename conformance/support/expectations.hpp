// Failures that are known: tests that fail today on some runtime, each with its reason. A test that is listed
// and fails counts as expected; one that is listed and passes fails the run, so that the list cannot outlive
// its truth. A skipped test is neither: what an agent cannot do is not a failure.
//
// The list is the file that HSA_CONFORMANCE_EXPECTED names: a line a test, `<name or glob> <reason>`; #
// comments.
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
  /// Reads the file; a line without a reason is a problem, and problems are what is returned.
  std::string read(const std::string& path);

  /// The expectation for a test ("Suite.Test/Agent"), or null.
  const ExpectedFailure* find(std::string_view test) const;

 private:
  std::vector<ExpectedFailure> failures_;
};

/// Runs all tests and returns the program's exit code: 0 if every failure was expected and no expectation was
/// wrong.
int run_with_expectations(const Expectations& expectations);

}  // namespace conformance
