// The entry of the conformance programs.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "support/expectations.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  conformance::Expectations expectations;
  if (const char* path = std::getenv("HSA_CONFORMANCE_EXPECTED"); path != nullptr && *path != '\0') {
    if (const std::string problem = expectations.read(path); !problem.empty()) {
      std::fprintf(stderr, "HSA_CONFORMANCE_EXPECTED: %s\n", problem.c_str());
      return 2;
    }
  }
  return conformance::run_with_expectations(expectations);
}
