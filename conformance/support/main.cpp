// The main function of the conformance programs.
#include <gtest/gtest.h>
#include <hsa_backend/sanitizer.h>

#include <cstdio>
#include <cstdlib>

#include "support/expectations.hpp"

#if HSABE_SANITIZER == HSABE_SANITIZER_THREAD
// The tests fork, and a child may initialize a runtime that starts threads.
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}
#endif

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
