#include "api/support/status.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rigel {
namespace {

template <class T>
Result<T> failing() {
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "no");
}

template <class T>
void expect_failure() {
  const Result<T> result = failing<T>();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST(Result, FailureHasNoValue) {
  expect_failure<void>();
  expect_failure<std::string>();
  expect_failure<bool>();
  expect_failure<int>();
  expect_failure<uint64_t>();
  expect_failure<double>();
}

TEST(Result, FailureConvertsToStatus) {
  const auto status = []() -> Status { return fail(HSA_STATUS_ERROR_INVALID_QUEUE, "queue {}", 1); };
  EXPECT_EQ(status(), HSA_STATUS_ERROR_INVALID_QUEUE);
  static_assert(!std::is_convertible_v<Failure, int>);
}

}  // namespace
}  // namespace rigel
