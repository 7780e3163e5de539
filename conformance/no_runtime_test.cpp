// The status of every function before hsa_init and after the last hsa_shut_down.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/optional_function.hpp"
#include "support/session.hpp"
#include "support/status.hpp"

#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>

namespace conformance {
namespace {

enum class Outcome { kMissing, kNoStatus, kStatus };

struct CallResult {
  Outcome outcome = Outcome::kMissing;
  hsa_status_t status = HSA_STATUS_SUCCESS;
};

template <class Result, class... Args>
CallResult call_with_zeros(Result (*function)(Args...)) {
  if (function == nullptr) return {};
  if constexpr (std::is_same_v<Result, hsa_status_t>) {
    return {Outcome::kStatus, function(std::remove_cv_t<Args>{}...)};
  } else {
    function(std::remove_cv_t<Args>{}...);
    return {Outcome::kNoStatus, {}};
  }
}

struct ApiFunction {
  const char* name;
  CallResult (*call)();

  friend void PrintTo(const ApiFunction& function, std::ostream* out) { *out << function.name; }
};

std::vector<ApiFunction> functions_that_need_a_runtime() {
  std::vector<ApiFunction> functions = {
#define FUNCTION(name) {#name, [] { return call_with_zeros(OPTIONAL_HSA(name)); }},
#include "functions.inc"
  };
  std::erase_if(functions, [](const ApiFunction& function) {
    const std::string_view name = function.name;
    return name == "hsa_init" || name == "hsa_status_string";
  });
  return functions;
}

std::string name_of_function(const testing::TestParamInfo<ApiFunction>& info) {
  return info.param.name;
}

// Calls the function in a child process, so that a crash fails only this test.
void expect_not_initialized(const ApiFunction& function) {
  enum { kAsExpected = 0, kAbsent = 2, kWrong = 3 };
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    const CallResult result = function.call();
    if (result.outcome == Outcome::kMissing) _exit(kAbsent);
    const bool wrong =
        result.outcome == Outcome::kStatus && result.status != HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (wrong) {
      const std::string name = status_name(result.status) + "\n";
      if (write(STDERR_FILENO, name.data(), name.size()) < 0) _exit(kWrong);
    }
    _exit(wrong ? kWrong : kAsExpected);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFEXITED(state)) << "it ends the process with signal " << WTERMSIG(state);
  if (WEXITSTATUS(state) == kAbsent) GTEST_SKIP() << "not exported by this runtime";
  EXPECT_EQ(WEXITSTATUS(state), kAsExpected)
      << "it answers something else than HSA_STATUS_ERROR_NOT_INITIALIZED";
}

class BeforeInit : public testing::TestWithParam<ApiFunction> {};

TEST_P(BeforeInit, ReturnsNotInitialized) {
  expect_not_initialized(GetParam());
}

INSTANTIATE_TEST_SUITE_P(, BeforeInit, testing::ValuesIn(functions_that_need_a_runtime()), name_of_function);

class AfterShutDown : public testing::TestWithParam<ApiFunction> {};

TEST_P(AfterShutDown, ReturnsNotInitialized) {
  {
    const Session session;
    if (session.status() != HSA_STATUS_SUCCESS) GTEST_SKIP() << "hsa_init: " << status_name(session.status());
  }
  expect_not_initialized(GetParam());
}

INSTANTIATE_TEST_SUITE_P(, AfterShutDown, testing::ValuesIn(functions_that_need_a_runtime()),
                         name_of_function);

}  // namespace
}  // namespace conformance
